// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// Reasons why torques end or do not begin, as codes with numbers, and their texts.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string>

#include "franka_dynamics_controllers/arm.hpp"
#include "franka_dynamics_controllers/reason_tables.hpp"

namespace franka_dynamics_controllers
{

/// A reason as a code and what its text names. The control cycle makes it, text_of() words it.
struct Reason
{
  ReasonCode code = ReasonCode::none;
  std::size_t joint = 0;
  const char * what = "";           ///< a quantity, or the text of the caller; it must last
  const char * target = "";         ///< name of the target
  std::array<double, 4> numbers{};  ///< in the order of the text
  // Of torques that the model does not explain.
  bool has_causes = false;
  Compared compared = Compared::sent_and_needed;
  Along along = Along::neither;
  bool has_own_torque = false;
  std::size_t stopped_joint = 0;  ///< that may have hit its stop, if it has a side
  int stop_side = 0;  ///< of the stop that a joint may have hit: 1 upper, -1 lower, 0 none
  double load = 0.0;  ///< that alone explains them [kg]; below zero: one that is absent; 0: none

  explicit operator bool() const noexcept {return code != ReasonCode::none;}

  static Reason of(ReasonCode code, const std::array<double, 4> & numbers = {}) noexcept
  {
    Reason reason;
    reason.code = code;
    reason.numbers = numbers;
    return reason;
  }
  static Reason of_joint(
    ReasonCode code, std::size_t joint, const std::array<double, 4> & numbers,
    const char * what = "") noexcept
  {
    Reason reason = of(code, numbers);
    reason.joint = joint;
    reason.what = what;
    return reason;
  }
  /// A reason of the caller; `text` is not copied, and must last.
  static Reason of_caller(const char * text) noexcept
  {
    Reason reason = of(ReasonCode::caller_text);
    reason.what = text;
    return reason;
  }
};

inline bool operator==(const Reason & a, const Reason & b) noexcept
{
  return a.code == b.code && a.joint == b.joint && a.what == b.what && a.numbers == b.numbers;
}

/// A cause that ended torques, or keeps them from beginning, with its reasons, the reaction to it
/// and the remedy; `last` is the latest reason, `first` the one that ended torques.
struct Ending
{
  Reason last{};
  Reaction reaction = Reaction::rest;
  Remedy remedy = Remedy::none;
  Reason first{};
  Cause cause = Cause::torque_awaited;  ///< of `last`

  static Ending by(Cause cause, const Reason & reason) noexcept
  {
    const CauseColumns & row = kCauses[static_cast<std::size_t>(cause)];
    return {reason, row.reaction, row.remedy, reason, cause};
  }
  static Ending of_state(const Reason & reason) noexcept {return by(cause_of(reason.code), reason);}

  /// Whether torques begin without start().
  bool begins_alone() const noexcept
  {
    return kRemedies[static_cast<std::size_t>(remedy)].begins_alone;
  }
  /// Whether this is a fault, which stays until it is cleared.
  bool is_fault() const noexcept {return kRemedies[static_cast<std::size_t>(remedy)].is_fault;}
  /// Whether a loop's resting torque is watched as the law's torques are.
  bool is_watched() const noexcept {return columns().is_watched;}

  /// The first reason, the harder remedy, and the reaction that lasts.
  Ending joined_with(const Ending & later) const noexcept
  {
    const bool keeps_reaction = reaction == Reaction::zero || !later.columns().replaces_former;
    return {later.last, keeps_reaction ? reaction : later.reaction,
      std::max(remedy, later.remedy), first, later.cause};
  }

private:
  const ReactionColumns & columns() const noexcept
  {
    return kReactions[static_cast<std::size_t>(reaction)];
  }
};

// Texts; for any thread but the control cycle's ------------------------------------------------

/// Two numbers as texts, with as many digits as distinguish them.
inline std::array<std::string, 2> distinct_texts(double value, double bound)
{
  std::array<std::string, 2> texts;
  for (int digits = 2; digits < 18; ++digits) {
    for (std::size_t k = 0; k < 2; ++k) {
      std::array<char, 40> text{};
      std::snprintf(text.data(), text.size(), "%.*g", digits, k == 0 ? value : bound);
      texts[k] = text.data();
    }
    if (texts[0] != texts[1] || value == bound) {
      break;
    }
  }
  return texts;
}

/// What is said of a load that alone explains an external torque, '' without one.
inline std::string load_text(double load)
{
  if (load == 0.0) {
    return "";
  }
  std::string text = load < 0.0 ? kAbsentLoad : kUndeclaredLoad;
  const std::size_t begin = text.find('{');
  const std::size_t end = text.find('}');
  std::array<char, 40> mass{};
  std::snprintf(mass.data(), mass.size(), load < 0.0 ? "%.2g" : "%.1f", std::abs(load));
  return text.replace(begin, end + 1 - begin, mass.data());
}

/// What is said of a joint that may have hit its stop, '' without one.
inline std::string stop_text(const Reason & reason, const Arm & arm)
{
  if (reason.stop_side == 0 || reason.stopped_joint >= arm.joints.size()) {
    return "";
  }
  std::string text = kJointAtStop;
  for (const auto & [place, word] : {
      std::pair<std::string, std::string>{"{joint}", arm.joints[reason.stopped_joint]},
      {"{side}", reason.stop_side > 0 ? "upper" : "lower"}})
  {
    text.replace(text.find(place), place.size(), word);
  }
  return text;
}

/// Probable causes of a torque that the model does not explain.
inline std::string causes_text(const Reason & reason, const Arm & arm)
{
  const std::string load = load_text(reason.load);
  if (!reason.has_causes) {
    return load;
  }
  constexpr std::size_t kDirections = 3;
  const std::size_t row = kDirections * static_cast<std::size_t>(reason.compared);
  std::string text = kCausesOfExcess[row + static_cast<std::size_t>(reason.along)];
  const std::string place = "{target}";
  if (const std::size_t at = text.find(place); at != std::string::npos) {
    text.replace(at, place.size(), reason.target);
  }
  if (!load.empty()) {
    text = load + ", or " + text;
  }
  if (reason.has_own_torque) {
    text = std::string(kCauseOfOwnTorque) + ", or " + text;
  }
  const std::string stop = stop_text(reason, arm);
  return stop.empty() ? text : stop + ", or " + text;
}

inline std::string text_of(const Reason & reason, const Arm & arm);

/// What a place in a reason's text that is no number says.
inline std::string named_text(const Reason & reason, const Arm & arm, const std::string & name)
{
  const bool slides = reason.joint < arm.n() && arm.chain.links[reason.joint].prismatic;
  if (name == "joint") {
    return reason.joint < arm.joints.size() ? arm.joints[reason.joint] : "";
  }
  if (name == "unit") {
    const bool is_torque = reason.code == ReasonCode::large_disturbance;
    return is_torque ? (slides ? "N" : "N m") : (slides ? "m" : "rad");
  }
  if (name == "excess") {
    Reason excess = reason;
    excess.code = ReasonCode::large_disturbance;
    return text_of(excess, arm);
  }
  if (name == "stop") {
    const std::string stop = stop_text(reason, arm);
    return stop.empty() ? "" : stop + ", or ";
  }
  if (name == "effort_unit") {
    return slides ? "N" : "N m";
  }
  if (name == "what" || name == "text") {
    return reason.what;
  }
  if (name == "kind") {
    return reason.compared == Compared::sent_and_needed ? "commanded" : "measured";
  }
  if (name == "other") {
    return reason.compared == Compared::measured_and_commanded ?
           std::string("what is commanded and target ") + reason.target + " adds" :
           "what its motion needs";
  }
  if (name == "causes" && reason.code == ReasonCode::joint_too_fast) {
    const std::string causes = causes_text(reason, arm);
    return causes.empty() ? "" : ": " + causes;
  }
  if (name == "causes") {
    return causes_text(reason, arm);
  }
  if (name == "advice") {
    return reason.code == ReasonCode::rare_states ?
           "pass on every state of the robot, with its time in seconds" :
           "take fresher states, and their ages by the clock of their stamps";
  }
  if (name == "remedy") {  // of kp: a larger kd, or where that would swing, too, a smaller kp
    const double gain = reason.numbers[3];
    const std::array<std::string, 2> size = distinct_texts(std::abs(gain), 0.0);
    return gain > 0.0 ? "a kd of at least " + size[0] : "a kp of at most " + size[0];
  }
  if (name == "torque" || name == "most") {
    const auto [size, most] = distinct_texts(std::abs(reason.numbers[0]), reason.numbers[1]);
    return name == "most" ? most : (reason.numbers[0] < 0.0 ? "-" : "+") + size;
  }
  return "";
}

/// A reason in words, '' for none.
inline std::string text_of(const Reason & reason, const Arm & arm)
{
  const std::string pattern = kReasonTexts[static_cast<std::size_t>(reason.code)];
  const bool has_torques = reason.code == ReasonCode::large_disturbance;
  std::string text;
  std::size_t next_number = 0;
  for (std::size_t at = 0; at < pattern.size(); ) {
    const std::size_t open = std::min(pattern.find('{', at), pattern.size());
    text.append(pattern, at, open - at);
    if (open == pattern.size()) {
      break;
    }
    const std::size_t close = pattern.find('}', open);
    const std::string place = pattern.substr(open + 1, close - open - 1);
    const std::size_t colon = place.find(':');
    const std::string name = place.substr(0, colon);
    const bool is_number = colon != std::string::npos || name == "good" || name == "needed";
    if (is_number && !has_torques && next_number < reason.numbers.size()) {
      const std::string format =
        "%" + (colon == std::string::npos ? std::string("g") : place.substr(colon + 1));
      std::array<char, 64> number{};
      // The formats are those of kReasonTexts, each of one floating-point number.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
      std::snprintf(number.data(), number.size(), format.c_str(), reason.numbers[next_number++]);
#pragma GCC diagnostic pop
      text += number.data();
    } else {
      text += named_text(reason, arm, name);
    }
    at = close + 1;
  }
  return text;
}

/// The first and the latest reason as one text, '' if there are none.
inline std::string text_of(const Ending & ending, const Arm & arm)
{
  const std::string first = text_of(ending.first, arm);
  const std::string last = text_of(ending.last, arm);
  if (first.empty() || last.empty() || first == last) {
    return first.empty() ? last : first;
  }
  return first + "; " + last;
}

}  // namespace franka_dynamics_controllers
