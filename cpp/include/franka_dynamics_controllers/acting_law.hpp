// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// Which settings are requested, which act, and since when; a change acts by one ramp.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>

#include "franka_dynamics_controllers/control_law.hpp"
#include "franka_dynamics_controllers/core_table.hpp"
#include "franka_dynamics_controllers/state_check.hpp"

namespace franka_dynamics_controllers
{

/// Holds the control laws of the requested settings and of those by which torques go out, as
/// ActingLaw of franka_dynamics/control/acting_law.py does.
///
/// A torque changes in five ways: the law begins, another law acts, a law of one's own begins or
/// ends, a motion begins or ends and the offset with it, and a loop's resting torque becomes another.
/// Each brings a difference from the torque before, which fades in kRampDurationS. A change within this time adds
/// its difference to what is left.
class ActingLaw
{
public:
  const ControlLaw & requested() const noexcept {return requested_;}
  const ControlLaw & acting() const noexcept {return acting_;}
  /// Whether the law of the requested settings acts.
  bool is_requested_acting() const noexcept {return requested_number_ == acting_number_;}
  /// The law that acts next where no torque of a law is sent.
  const ControlLaw & candidate() const noexcept
  {
    return waits_for_ == Acting::waiting || is_requested_acting() ? acting_ : requested_;
  }
  /// Whether a usable state has agreed with settings, so that they say what carries the arm.
  bool have_agreed() const noexcept {return have_agreed_;}
  void set_agreed(bool have_agreed) noexcept {have_agreed_ = have_agreed;}

  /// Record a law of other settings, which does not act yet.
  void request(const ControlLaw & law) noexcept
  {
    requested_ = law;
    ++requested_number_;
  }

  /// Let the requested law act.
  void act() noexcept
  {
    if (last_number_ == acting_number_ && !is_requested_acting()) {
      former_ = acting_;  // by which the last torque was sent
    }
    acting_ = requested_;
    acting_number_ = requested_number_;
  }

  /// Take over what a row of the core's table says of the requested settings.
  void wait(Acting rule) noexcept
  {
    if (rule == Acting::requested) {
      waits_for_ = Acting::when_agreed;
    } else if (rule != Acting::same) {
      waits_for_ = rule;
    }
  }

  /// Let the next torque of the law begin a ramp at `torque` [N m].
  void begin(const Vector & torque) noexcept
  {
    end();
    start_torque_ = torque;
  }

  /// End the ramp, as the law's torques end.
  void end() noexcept
  {
    start_torque_.reset();
    last_number_.reset();
    former_.reset();
    offset_.fill(0.0);
    ramp_begin_ = -kInfinity;
  }

  /// The acting law's torque with what is left of the ramp at `now` [s]. `is_given` says whether
  /// the reference is a motion that was given with this state.
  Vector torque(
    const Arm & arm, const StateTerms & state, const std::optional<Desired> & reference,
    bool is_given, double now) noexcept
  {
    const std::size_t n = arm.n();
    Vector torque = acting_.torque(arm, state, reference ? &*reference : nullptr);
    const bool has_last = last_number_.has_value();
    const bool is_other_law = has_last && *last_number_ != acting_number_;
    const bool is_same_kind = is_own(reference) == is_own(last_) && is_given == was_given_;
    if (!has_last) {
      const Vector start = start_torque_.value_or(torque);
      if (all_finite(torque, n)) {
        add_to_ramp(n, difference(n, start, torque), now);
        torque = start;
      }
    } else {
      if (is_other_law || !is_same_kind) {
        const std::optional<Desired> & before = is_same_kind ? reference : last_;
        const Desired * const followed = before ? &*before : nullptr;
        const ControlLaw & law = is_other_law && former_ ? *former_ : acting_;
        const StateTerms terms = law.terms_at(state.stamp, {state.q, state.dq}, followed);
        const Vector change = difference(n, law.torque(arm, terms, followed), torque);
        // A motion that begins where the arm is held makes no step.
        if (is_other_law || is_own(reference) != is_own(last_) || largest_size(change, n) > 1e-9) {
          add_to_ramp(n, change, now);
        }
      }
      if (is_same_kind && reference.has_value() != last_.has_value()) {
        const ControlLaw & law = is_other_law && former_ ? *former_ : acting_;
        const Vector change =
          last_ ? law.offset : difference(n, Vector{}, law.offset);
        if (largest_size(change, n) > 0.0) {
          add_to_ramp(n, change, now);
        }
      }
      add_ramp(n, now, torque);
    }
    former_.reset();
    last_number_ = acting_number_;
    last_ = reference;
    was_given_ = is_given;
    return torque;
  }

  /// Let a difference from the torque before fade from `now` on [s].
  void add_to_ramp(std::size_t n, const Vector & change, double now) noexcept
  {
    if (!all_finite(change, n)) {
      return;
    }
    Vector left{};
    add_ramp(n, now, left);
    for (std::size_t i = 0; i < n; ++i) {
      offset_[i] = left[i] + change[i];
    }
    ramp_begin_ = now;
  }

  /// Add what is left of the ramp at `now` to a torque [N m].
  void add_ramp(std::size_t n, double now, Vector & torque) const noexcept
  {
    const double passed = now - ramp_begin_;
    if (passed >= kRampDurationS || std::isnan(passed)) {
      return;
    }
    const double share = std::min(1.0, 1.0 - passed / kRampDurationS);
    for (std::size_t i = 0; i < n; ++i) {
      torque[i] += share * offset_[i];
    }
  }

  ControlLaw & acting_for_states() noexcept {return acting_;}

private:
  static bool is_own(const std::optional<Desired> & reference) noexcept
  {
    return reference && reference->is_own_torque;
  }
  static Vector difference(std::size_t n, const Vector & a, const Vector & b) noexcept
  {
    Vector change{};
    for (std::size_t i = 0; i < n; ++i) {
      change[i] = a[i] - b[i];
    }
    return change;
  }

  ControlLaw requested_{};
  ControlLaw acting_{};
  unsigned requested_number_ = 0;
  unsigned acting_number_ = 0;
  Acting waits_for_ = Acting::when_agreed;
  bool have_agreed_ = false;
  std::optional<Vector> start_torque_{};
  // Of the last torque of a law, none if none was sent since it began: the law's number, the law if
  // another one acts now, and what was followed.
  std::optional<unsigned> last_number_{};
  std::optional<ControlLaw> former_{};
  std::optional<Desired> last_{};
  bool was_given_ = false;
  Vector offset_{};  // from the torque without a ramp [N m]
  double ramp_begin_ = -kInfinity;  // by the clock of `now` [s]
};

}  // namespace franka_dynamics_controllers
