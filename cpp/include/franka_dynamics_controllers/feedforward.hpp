// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// Feedforward torques of one arm, without ROS: follows motions or torques from upstream, brakes the
// arm when they cease, and keeps the limits of torque and torque rate.
//
// Real-time safe: no allocation, no lock, no exception and no system call in cycle() and apply().
// SI units; arrays in joint order. tau = M(q) ddq + C(q, dq) dq + g(q).
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "franka_dynamics_controllers/control_law.hpp"
#include "franka_dynamics_controllers/stopping.hpp"

namespace franka_dynamics_controllers
{

/// A command from upstream: a motion's q, dq and ddq, a torque, or a torque with the dq and ddq at
/// which friction and inertia torque count (Command::law).
struct Reference : Motion
{
  Vector torque{};
};

// Why torques ended.
constexpr const char * kStatesLost = "a joint state is missing or not finite";
constexpr const char * kStateImpossible = "a joint's position or velocity is impossible";
constexpr const char * kBrakingFailed =
  "a joint is too fast in spite of braking: torques do not act as they are sent";
constexpr const char * kTorqueNotFinite = "the computed torque is not finite";

/// Computes each control cycle's torque. One object per arm. One thread calls it; any thread may
/// read state(), fault(), latched() and timeouts().
///
/// It does what the docstring of franka_dynamics/control/core_step.py says, with these differences:
/// it has no momentum observer, so that d is zero and nothing is unexplained, no stamps and ages of
/// states, and no list of states before a start. Its states have the names of the Python receiver
/// (State in constants.hpp):
///
///   waiting    no torque before the first command or, with motions, the first usable state
///              (SILENT)
///   following  the law, or the torques from upstream (RUNNING)
///   braking    the brake, once torques cease (BRAKING)
///   holding    the brake holds the arm, if the target adds no gravity (HOLDING)
///   stopped    zero torque, if it does (SILENT)
///   fault      a stop by the model, then the resting torque (STOPPING, SILENT)
///
/// A fault is a needed joint state that is missing or not finite, which time may mend: after
/// kMinGoodStateCount possible states in a row commands are followed again, and without a command
/// the arm is braked. Latched until restart() or, if commands are total torques, the next command,
/// are an impossible state and braking that fails. If commands are total torques, no model stops
/// the arm, because following needs no joint state.
class Feedforward
{
public:
  /// The arm must be one that refuse() accepts.
  explicit Feedforward(const Arm & arm)
  : arm_(arm) {law_.configure(arm_, Settings{});}

  /// Use other settings from the next cycle on; a step of a motion's torque is faded out. Returns
  /// '', or why the settings are refused; the present settings then stay in use. Allocates.
  std::string configure(const Settings & settings)
  {
    std::string reason = refuse(arm_, settings);
    if (reason.empty() && !apply(settings)) {
      return "target and command cannot change after the first torque; restart() before";
    }
    return reason;
  }

  /// Use settings that refuse() accepts; for the control cycle. Returns false if they would change
  /// target or command after the first torque.
  bool apply(const Settings & settings) noexcept
  {
    const Settings & now = law_.settings;
    if (state_ != State::waiting && (settings.command != now.command ||
      settings.target.adds_gravity != now.target.adds_gravity)) {return false;}
    if (!changed_) {
      before_ = law_;
      changed_ = true;
    }
    law_.configure(arm_, settings);
    return true;
  }

  const Arm & arm() const noexcept {return arm_;}
  const Settings & settings() const noexcept {return law_.settings;}
  const TermModel & terms() const noexcept {return law_.terms;}
  State state() const noexcept {return state_;}
  /// Why the state is State::fault; else nullptr.
  const char * fault() const noexcept {return state_ == State::fault ? why_.load() : nullptr;}
  /// Whether good states do not end the fault.
  bool latched() const noexcept {return latched_;}
  /// How often torques ceased while they were followed.
  std::uint64_t timeouts() const noexcept {return timeouts_;}

  /// Forget everything but the settings, as before the first cycle.
  void restart() noexcept
  {
    state_ = State::waiting;
    changed_ = keeps_ = follows_ = false;
    latched_ = false;
    unseen_.reset();
    good_ = 0;
    last_.fill(0.0);
    law_.friction.restart();
  }

  /// Compute the torque `tau` [N m] of a cycle, `elapsed` seconds after the last cycle; a negative
  /// time or NaN counts as zero. Returns false while there is no torque to send.
  ///
  /// `measured` is nullptr if the joint states could not be read, `given` is nullptr if there is no
  /// command. An arm that awaits motions is held from the first cycle on.
  bool cycle(
    double elapsed, const JointState * measured, const Reference * given, Vector & tau) noexcept
  {
    // After kMaxBrakingTimeS a braked arm counts as held, and a ramp is over.
    const double seconds = elapsed > 0.0 ? std::min(elapsed, kMaxBrakingTimeS) : 0.0;
    clock_ += seconds;
    const bool finite = measured && all_finite(measured->q) && all_finite(measured->dq);
    const bool usable = finite && possible(*measured);
    good_ = usable ? std::min(good_ + 1, kMinGoodStateCount) : 0;
    if (usable) {
      std::copy_n(measured->q.begin(), arm_.n(), now_.q.begin());
      std::copy_n(measured->dq.begin(), arm_.n(), now_.dq.begin());
      law_.friction.follow(arm_, clock_, now_.q);
      // Where no joint state is needed no model stops the arm: its velocity is not kept.
      unseen_.record(blind() ? JointState{now_.q, {}} : now_, clock_);
    }
    decide(given, finite, usable);
    if (state_ == State::waiting) {return false;}
    Vector desired = goal_;
    const bool stops = state_ == State::fault && unseen_.stops(clock_);
    if (stops) {
      unseen_.stopping_torque(law_.terms, clock_, desired);
    } else if (state_ == State::fault) {
      desired = goal_ = resting();
    } else if (state_ == State::following) {
      follow(given, desired);
    } else if (state_ == State::braking || state_ == State::holding) {
      slow(seconds, desired);
    }
    if (!all_finite(desired)) {
      fail(kTorqueNotFinite, true);
      desired = goal_;
    }
    limit(desired, seconds);
    tau = last_;
    return true;
  }

  /// Brake the arm in the next cycles, until a command is given.
  void brake() noexcept
  {
    if (state_ == State::following || (state_ == State::fault && !latched_)) {
      leave(State::braking);
      brake_ = BrakingController(law_.settings);
    }
  }

  /// End at once, without further cycles: `tau` is the resting torque. Returns false if there was
  /// no torque.
  bool end(Vector & tau) noexcept
  {
    const bool sent = state_ != State::waiting;
    goal_ = last_ = tau = resting();
    leave(State::stopped);
    return sent;
  }

private:
  bool all_finite(const Vector & values) const noexcept
  {
    return std::all_of(
      values.begin(), values.begin() + arm_.joints.size(), [](double x) {return std::isfinite(x);});
  }

  bool possible(const JointState & measured) const noexcept
  {
    for (std::size_t i = 0; i < arm_.n(); ++i) {
      if (!arm_.within_range(i, measured.q[i]) ||
        std::abs(measured.dq[i]) > kMaxPossibleVelocityRadS) {return false;}
    }
    return true;
  }

  bool holds() const noexcept {return !law_.settings.target.adds_gravity;}
  /// Whether no state is needed to follow commands.
  bool blind() const noexcept {return law_.settings.command == Command::total_torque;}

  /// Change the state as the command and the joint state ask.
  void decide(const Reference * given, bool finite, bool usable) noexcept
  {
    const bool moves = law_.settings.command == Command::motion;
    const bool asked = given || (moves && state_ == State::waiting);
    const bool cleared = state_ != State::fault ||
      (!latched_ && good_ >= kMinGoodStateCount);
    if (asked && ((usable && cleared) || blind())) {
      if (state_ != State::following) {begin();}
    } else if (state_ == State::following && !given && !moves) {
      ++timeouts_;
      brake();
    } else if (state_ == State::fault && cleared) {
      brake();
    }
    const bool needed = state_ == State::braking || state_ == State::holding ||
      (state_ == State::following && !blind());
    if (needed && !usable) {
      unseen_.begin(clock_);
      fail(finite ? kStateImpossible : kStatesLost, finite);
    }
  }

  void begin() noexcept
  {
    if (state_ == State::waiting) {last_ = resting();}
    from_ = last_;
    if (unseen_.known() && state_ != State::braking && state_ != State::holding) {
      law_.terms.gravity_to_command(now_.q, from_);
    }
    state_ = State::following;
    begins_ = true;
    changed_ = false;
  }

  void leave(State state) noexcept
  {
    state_ = state;
    keeps_ = follows_ = false;
  }

  void fail(const char * why, bool latched) noexcept
  {
    why_ = why;
    latched_ = latched;
    goal_ = resting();
    leave(State::fault);
  }

  /// Set the torque nearest to `desired` within the torque limits that may follow the last one
  /// after `elapsed` seconds, of which at most kMaxStepS counts.
  void limit(const Vector & desired, double elapsed) noexcept
  {
    for (std::size_t i = 0; i < arm_.n(); ++i) {
      const double within = std::clamp(desired[i], -arm_.effort[i], arm_.effort[i]);
      const double rate = std::min(arm_.effort_rate[i], kMaxTorqueRateNmS);
      const double step = rate * std::min(elapsed, kMaxStepS);
      last_[i] = std::clamp(within, last_[i] - step, last_[i] + step);
    }
    brake_.limit(desired, last_);
  }

  /// The torque at which the arm stays if nothing is computed any more.
  Vector resting() const noexcept
  {
    if (!holds() || !unseen_.known()) {
      return holds() ? last_ : Vector{};
    }
    Vector torque{};
    law_.terms.gravity_to_command(unseen_.probable(clock_).q, torque);
    for (std::size_t i = 0; i < arm_.n(); ++i) {
      torque[i] = std::clamp(torque[i], -arm_.effort[i], arm_.effort[i]);
    }
    return torque;
  }

  /// Compute the torque that follows a command.
  void follow(const Reference * given, Vector & tau) noexcept
  {
    const Command command = law_.settings.command;
    if (command == Command::total_torque) {
      std::copy_n(given->torque.begin(), arm_.n(), tau.begin());
      return;
    }
    if (command == Command::torque) {
      law_.torque(arm_, now_, nullptr, tau);
      for (std::size_t i = 0; i < arm_.n(); ++i) {tau[i] += given->torque[i];}
      return;
    }
    if (command == Command::law) {
      follow_law(*given, tau);
      return;
    }
    const Motion was = kept_;
    const bool kept = keeps_, turns = (given != nullptr) != follows_;
    const bool released = changed_ && keeps_ && !given && pulled();
    keeps_ = keeps_ && !released;  // a person may have guided the arm away
    if (given) {
      kept_ = *given;
      keeps_ = true;
    } else if (turns) {  // perhaps in mid-motion
      kept_.dq.fill(0.0);
      kept_.ddq.fill(0.0);
    }
    follows_ = given != nullptr;
    const Motion * const reference = keeps_ ? &kept_ : nullptr;
    law_.torque(arm_, now_, reference, tau);
    if (turns || changed_) {
      // What the former settings and reference would give now.
      Vector otherwise{};
      (changed_ ? before_ : law_).torque(
        arm_, now_, turns || released ? (kept ? &was : nullptr) : reference, otherwise);
      glide(tau, &otherwise);
    } else {
      glide(tau, nullptr);
    }
    changed_ = false;
    if (law_.has_gains && !keeps_) {
      kept_ = {now_.q, {}, {}};
      keeps_ = true;
    }
  }

  /// Compute the torque of somebody else's law with this model's terms.
  void follow_law(const Reference & given, Vector & tau) noexcept
  {
    law_.torque(arm_, now_, &given, tau);
    add(tau, given.torque);
    Vector otherwise{};
    if (changed_) {
      before_.torque(arm_, now_, &given, otherwise);
      add(otherwise, given.torque);
    }
    glide(tau, changed_ ? &otherwise : nullptr);
    changed_ = false;
  }

  /// Whether kp grows at a joint that had none, or is far from the position that is kept.
  bool pulled() const noexcept
  {
    for (std::size_t i = 0; i < arm_.n(); ++i) {
      const double before = before_.settings.kp[i];
      const bool far = std::abs(kept_.q[i] - now_.q[i]) > kMaxStartDistanceRad;
      if (law_.settings.kp[i] > before && (before == 0.0 || far)) {return true;}
    }
    return false;
  }

  /// Add an offset that prevents a step and fades out in kRampDurationS: at a start the difference to
  /// the torque `from_`, at a change that to the torque `otherwise`.
  void glide(Vector & desired, const Vector * otherwise) noexcept
  {
    double left = std::max(0.0, 1.0 - (clock_ - since_) / kRampDurationS);
    if (begins_ || otherwise) {
      for (std::size_t i = 0; i < arm_.n(); ++i) {
        offset_[i] = begins_ ?
          from_[i] - desired[i] : left * offset_[i] + ((*otherwise)[i] - desired[i]);
      }
      since_ = clock_;
      left = 1.0;
      begins_ = false;
    }
    for (std::size_t i = 0; i < arm_.n(); ++i) {desired[i] += left * offset_[i];}
  }

  /// Compute the torque that brakes the arm and then holds it, or ends at zero.
  void slow(double seconds, Vector & tau) noexcept
  {
    Vector slowing{}, coriolis{};
    brake_.torque(arm_, now_, law_.terms, seconds, slowing);
    law_.terms.gravity_to_command(now_.q, tau);
    law_.terms.coriolis(now_, coriolis);
    add(tau, coriolis);
    add(tau, slowing);
    if (brake_.fails()) {
      fail(kBrakingFailed, true);
      tau = goal_;
    } else if (brake_.at_rest() && holds()) {
      state_ = State::holding;
    } else if (brake_.at_rest()) {
      state_ = State::stopped;
      goal_ = tau = Vector{};
    }
  }

  const Arm arm_;
  ControlLaw law_{}, before_{};
  BrakingController brake_{};
  Motion kept_{};     // the last reference, or the position that is held
  JointState now_{};  // the last one that was possible
  Vector last_{}, goal_{}, from_{}, offset_{};
  double clock_ = 0.0;  // [s] sum of the cycles' times, because system clocks can be set back
  double since_ = -std::numeric_limits<double>::infinity();
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
  std::atomic<State> state_{State::waiting};
  std::atomic<const char *> why_{nullptr};
  std::atomic<bool> latched_{false};
  std::atomic<std::uint64_t> timeouts_{0};
  OpenLoopStop unseen_{};
  int good_ = 0;          // number of possible states in a row
  bool keeps_ = false;    // whether `kept_` is valid
  bool follows_ = false;  // whether `kept_` was given in the last cycle
  bool begins_ = false, changed_ = false;  // start, and change of settings, since the last cycle
};

}  // namespace franka_dynamics_controllers
