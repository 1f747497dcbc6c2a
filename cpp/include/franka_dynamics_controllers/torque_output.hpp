// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// Keeps torques within the limits of torque and torque rate, and remembers the last ones.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "franka_dynamics_controllers/settings.hpp"

namespace franka_dynamics_controllers
{

/// The torque nearest to `desired` within the torque limits [N m].
inline Vector within_limits(const Arm & arm, const Vector & desired) noexcept
{
  Vector torque{};
  for (std::size_t i = 0; i < arm.n(); ++i) {
    torque[i] = std::clamp(desired[i], -arm.effort[i], arm.effort[i]);
  }
  return torque;
}

/// The torque nearest to `desired` within the torque limits that may follow on `last` after
/// `seconds` [N m]; `desired` must be finite. NaN counts as no time.
inline Vector limited_torque(
  const Arm & arm, const Vector & desired, const Vector & last, double seconds) noexcept
{
  Vector torque = within_limits(arm, desired);
  const double elapsed = seconds > 0.0 ? seconds : 0.0;
  for (std::size_t i = 0; i < arm.n(); ++i) {
    const double step = std::min(arm.effort_rate[i], kMaxTorqueRateNmS) * elapsed;
    torque[i] = std::clamp(torque[i], last[i] - step, last[i] + step);
  }
  return torque;
}

/// The torques of one arm that were sent, within its limits, as TorqueOutput of
/// franka_dynamics/control/torque_output.py has them.
class TorqueOutput
{
public:
  explicit TorqueOutput(const StateLimits & limits) noexcept
  : max_step_(limits.in_loop ? std::max(kMaxStepS, limits.period) : kMaxStepS),
    in_loop_(limits.in_loop) {}

  bool in_loop() const noexcept {return in_loop_;}
  /// How many of the last torques are known, at most kKept.
  std::size_t count() const noexcept {return count_;}
  /// The torque before the last `steps` ones; the oldest known one, if there are fewer.
  const Vector & before(std::size_t steps) const noexcept
  {
    const std::size_t back = std::min(steps, count_ - 1);
    return torques_[(next_ + kKept - 1 - back) % kKept];
  }
  /// The last one, zero if there is none.
  Vector last() const noexcept {return count_ > 0 ? before(0) : Vector{};}
  /// Whether the latest state or tick gave a new torque.
  bool is_new() const noexcept {return is_new_;}
  /// The clock was set back to `now`: the last torque was sent a cycle before.
  void set_clock(double now) noexcept {sent_at_ = now - kMaxStepS;}

  /// Discard the last torques, so that the rate of the next one is not limited.
  void reset() noexcept
  {
    count_ = 0;
    sent_at_ = -std::numeric_limits<double>::infinity();
    is_new_ = false;
    was_sent_by_clock_ = false;
  }

  /// Let the rate limit of a first torque begin at `torque`. A node's torque is a first one, too,
  /// if the last one was zero: nothing of it acts any more.
  void begin_at(const Arm & arm, const Vector & torque) noexcept
  {
    const Vector sent = last();
    const bool is_zero = std::all_of(
      sent.begin(), sent.begin() + arm.n(), [](double x) {return x == 0.0;});
    if (count_ == 0 || (!in_loop_ && is_zero)) {
      keep(within_limits(arm, torque));
    }
  }

  /// Send nothing new.
  Vector repeat_last() noexcept
  {
    is_new_ = false;
    return last();
  }

  /// Limit and send a torque at a joint state, at `now` [s], `elapsed` seconds after the state
  /// before by its stamp. That alone counts if both torques were sent at states whose arrival nobody
  /// gives; else the time by the clock of `now` counts, too, so that states that come in a burst do
  /// not move the torque by more than one.
  Vector send_at_state(
    const Arm & arm, const Vector & desired, double now, double elapsed, bool is_arrival_given)
  noexcept
  {
    const bool has_clock = was_sent_by_clock_ || is_arrival_given;
    was_sent_by_clock_ = false;
    return send(arm, desired, now, has_clock ? std::min(elapsed, now - sent_at_) : elapsed);
  }

  /// Limit and send a torque at `now` [s], without a joint state.
  Vector send_by_clock(const Arm & arm, const Vector & desired, double now) noexcept
  {
    was_sent_by_clock_ = true;
    return send(arm, desired, now, now - sent_at_);
  }

private:
  // Enough to find the one that acted when a state of the largest age, by default, was measured.
  static constexpr std::size_t kKept = 101;

  Vector send(const Arm & arm, const Vector & desired, double now, double seconds) noexcept
  {
    const Vector torque = count_ == 0 ? within_limits(arm, desired) :
      limited_torque(arm, desired, last(), std::min(seconds, max_step_));
    keep(torque);
    is_new_ = true;
    sent_at_ = now;
    return torque;
  }

  void keep(const Vector & torque) noexcept
  {
    torques_[next_] = torque;
    next_ = (next_ + 1) % kKept;
    count_ = std::min(count_ + 1, kKept);
  }

  double max_step_;  // [s]
  bool in_loop_;
  std::array<Vector, kKept> torques_{};
  std::size_t next_ = 0;
  std::size_t count_ = 0;
  double sent_at_ = -std::numeric_limits<double>::infinity();  // [s]
  bool is_new_ = false;
  bool was_sent_by_clock_ = false;
};

}  // namespace franka_dynamics_controllers
