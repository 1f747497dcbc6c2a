// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// Tells a driver that repeats an old joint state from an arm that stands still.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>

#include "franka_dynamics_controllers/state_check.hpp"

namespace franka_dynamics_controllers
{

/// What the positions of a joint state say, compared with those of the state before: they are new;
/// they repeat, and nothing says that the arm moves; they repeat, though the torque must move the
/// arm; they repeat, though a velocity says that the arm moves.
enum class Repetition {none, at_rest, frozen, old_state};

/// Watches the positions of joint states, as RepeatedPositions of
/// franka_dynamics/control/repeated_positions.py does.
class RepeatedPositions
{
public:
  Repetition latest() const noexcept {return latest_;}
  /// How long positions have repeated [s].
  double repeat_time() const noexcept {return repeat_time_;}
  /// For how long the torque of an own law must have moved an arm whose whole state repeats [s].
  double driven_time() const noexcept {return driven_time_;}

  void reset() noexcept {*this = RepeatedPositions();}

  /// Which torque was sent last, and what it should do: whether it is that of the law or the brake,
  /// whether of an own law, and whether the arm's brakes may still hold it.
  struct Sent
  {
    Vector torque;
    bool is_active;
    bool has_own_law;
    bool may_brakes_hold;
  };

  /// Record a new state of an arm; `before` are the positions before, nullptr if there are none,
  /// and `stiction` is the change of torque below which friction may hold a joint [N m].
  void record(
    std::size_t n, const StateSample & sample, const Vector * before, const Sent & sent,
    const Vector & stiction, bool is_reference_moving) noexcept
  {
    const Vector & last_torque = sent.torque;
    const double speed = largest_size(sample.dq, n);
    const bool repeats =
      before && std::equal(sample.q.begin(), sample.q.begin() + n, before->begin());
    if (!repeats) {
      repeated_since_ = sample.stamp;
      torque_before_ = last_torque;
      speed_then_ = speed;
      latest_ = Repetition::none;
    } else {
      const Repetition former = latest_;
      latest_ = kind(n, speed, last_torque, stiction, is_reference_moving);
      if (latest_ == Repetition::old_state && former != Repetition::old_state) {
        // An arm that rested until now may have been pushed: its rest was no repetition.
        repeated_since_ = sample.stamp;
      }
      // Where the clock of stamps was set back, repetitions count from there.
      repeated_since_ = std::min(repeated_since_, sample.stamp);
    }
    repeat_time_ = sample.stamp - repeated_since_;
    if (!(sent.is_active && repeats_whole(n, sample))) {
      torque_before_state_ = last_torque;
    }
    bool is_driven = false;
    for (std::size_t i = 0; sent.has_own_law && !sent.may_brakes_hold && i < n; ++i) {
      const double change = std::abs(last_torque[i] - torque_before_state_[i]);
      is_driven = is_driven || change > kDrivingTorqueToStiction * stiction[i];
    }
    // The clock of stamps may be set back.
    driven_since_ = is_driven ? std::min(driven_since_, sample.stamp) : sample.stamp;
    driven_time_ = sample.stamp - driven_since_;
    last_dq_ = sample.dq;
    last_effort_ = sample.effort;
  }

private:
  /// Whether all that a state measures repeats the state before bit for bit.
  bool repeats_whole(std::size_t n, const StateSample & sample) const noexcept
  {
    if (latest_ == Repetition::none || sample.effort.has_value() != last_effort_.has_value()) {
      return false;
    }
    const bool is_effort_old = !sample.effort ||
      std::equal(sample.effort->begin(), sample.effort->begin() + n, last_effort_->begin());
    return is_effort_old && std::equal(sample.dq.begin(), sample.dq.begin() + n, last_dq_.begin());
  }

  Repetition kind(
    std::size_t n, double speed, const Vector & last_torque, const Vector & stiction,
    bool is_reference_moving) const noexcept
  {
    // The velocity of the repeated state counts, too: the driver may set it to zero.
    const double fastest = std::max(speed, speed_then_);
    // An impossible velocity says nothing.
    if (fastest > kMinMotionSpeedRadS && fastest <= kMaxPossibleVelocityRadS) {
      return Repetition::old_state;
    }
    for (std::size_t i = 0; is_reference_moving && i < n; ++i) {
      if (std::abs(last_torque[i] - torque_before_[i]) > stiction[i]) {
        return Repetition::frozen;
      }
    }
    return Repetition::at_rest;
  }

  Repetition latest_ = Repetition::none;
  double repeat_time_ = 0.0;
  double driven_time_ = 0.0;
  double repeated_since_ = 0.0;  // stamp [s]
  double driven_since_ = 0.0;  // stamp [s]
  // The torque sent before the last state of which anything was new [N m], and what the last state
  // measured beside its positions.
  Vector torque_before_state_{};
  Vector last_dq_{};
  std::optional<Vector> last_effort_{};
  // Of the last state with new positions, the torque sent before [N m] and the speed [rad/s].
  Vector torque_before_{};
  double speed_then_ = 0.0;
};

}  // namespace franka_dynamics_controllers
