// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// How a moving arm is brought to rest: by its joint states, or by its model while none can be used.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "franka_dynamics_controllers/terms.hpp"

namespace franka_dynamics_controllers
{

/// Brings a moving arm to rest by a PD torque towards the pose where braking began and by M(q) a,
/// as far as kd damps less: a is that of a critically damped joint with the time constant
/// kBrakingTimeConstantS, or longer and with softer gains in a slow loop. Without a motion's gains
/// there is no pose, and a only damps. An arm at rest is held where it came to rest.
class BrakingController
{
public:
  BrakingController() noexcept = default;
  explicit BrakingController(const Settings & settings) noexcept
  : kp_(settings.kp), kd_(settings.kd), pulls_(settings.command == Command::motion) {}

  bool at_rest() const noexcept {return at_rest_;}
  /// Whether a joint is too fast in spite of braking.
  bool fails() const noexcept {return fails_;}

  /// Compute the brake's torque, `elapsed` seconds after the last one.
  void torque(
    const Arm & arm, const JointState & state, const TermModel & terms, double elapsed,
    Vector & tau) noexcept
  {
    const auto & [q, dq] = state;
    time_ += elapsed;
    const bool comes_to_rest = note_rest_and_failure(arm, dq);
    // Time constant that suits a loop whose cycle is longer than expected [s].
    const double slow_loop_time = kMinTimeConstantToAgeRatio * std::max(0.0, elapsed - kMaxStepS);
    const double decay_time = std::max(kBrakingTimeConstantS, slow_loop_time);
    const double stiffness = 0.25 / (decay_time * decay_time);  // critically damped [1/s^2]
    // Further away the stop pose yields: there a would reach its bound, and the arm stays where it
    // was pushed to.
    const double max_away = kMaxBrakingDecelerationRadS2 / stiffness;
    Matrix M;
    mass_matrix(terms.chain, q, M);
    Vector acceleration{};  // a
    Vector pd_torque{};
    for (std::size_t i = 0; i < arm.n(); ++i) {
      const bool is_held_back = !at_rest_ && held_back_[i];
      const bool pose_moves = !begun_ || comes_to_rest || is_held_back;
      const double away =
        pose_moves ? 0.0 : std::clamp(q[i] - stop_pose_[i], -max_away, max_away);
      stop_pose_[i] = q[i] - away;
      // Share of the gains that a slow loop can have without becoming unstable.
      const double share = 1.0 / std::max(1.0, slow_loop_time * kd_[i] / M[i][i]);
      const double kd = share * kd_[i];
      pd_torque[i] = share * kp_[i] * away + kd * dq[i];
      // Share of the damping that kd leaves to a.
      const double missing = 1.0 - std::min(1.0, kd * decay_time / M[i][i]);
      const double damping = std::clamp(
        dq[i] / decay_time, -kMaxBrakingDecelerationRadS2, kMaxBrakingDecelerationRadS2);
      acceleration[i] = -missing * ((pulls_ ? stiffness * away : 0.0) + damping);
    }
    begun_ = true;
    terms.inertia(q, acceleration, tau);
    for (std::size_t i = 0; i < arm.n(); ++i) {tau[i] -= pd_torque[i];}
  }

  /// Note where limits changed a desired torque into the sent one.
  void record_limited_torque(const Vector & desired, const Vector & sent) noexcept
  {
    for (std::size_t i = 0; i < kMaxJoints; ++i) {held_back_[i] = desired[i] != sent[i];}
  }

private:
  /// Note whether the arm rests, and whether braking fails; return whether it comes to rest now.
  bool note_rest_and_failure(const Arm & arm, const Vector & dq) noexcept
  {
    const bool is_slow = std::all_of(
      dq.begin(), dq.end(), [](double speed) {return std::abs(speed) < kMaxStoppedSpeedRadS;});
    slow_state_count_ = is_slow ? slow_state_count_ + 1 : 0;
    const bool rests = slow_state_count_ >= kMinGoodStateCount || time_ > kMaxBrakingTimeS;
    const bool comes_to_rest = rests && !at_rest_;
    at_rest_ = at_rest_ || rests;
    fails_ = false;
    for (std::size_t i = 0; i < arm.n(); ++i) {
      const double speed = std::abs(dq[i]);
      if (time_ <= kMinBrakingTimeS) {  // the arm may still get faster
        first_speed_[i] = std::max(first_speed_[i], speed);
      } else {
        const double max_speed =
          std::max(kMaxBrakedSpeedToLimit * arm.velocity[i], first_speed_[i]);
        fails_ = fails_ || speed > max_speed;
      }
    }
    return comes_to_rest;
  }

  double time_ = 0.0;  // [s]
  Vector first_speed_{};  // largest in kMinBrakingTimeS [rad/s]
  Vector stop_pose_{};  // where the gains pull to
  Vector kp_{};
  Vector kd_{};
  std::array<bool, kMaxJoints> held_back_{};  // by limits of the last torque
  int slow_state_count_ = 0;  // in a row
  bool pulls_ = false;  // towards the stop pose, as with a motion's gains
  bool begun_ = false;
  bool at_rest_ = false;
  bool fails_ = false;
};

/// Knows where an arm was seen last, and brings it to rest from there by its model.
class OpenLoopStop
{
public:
  /// Note where the arm is seen at a time [s], and how fast; a stop goes on.
  void record_state(const JointState & state, double now) noexcept
  {
    seen_ = state;
    seen_at_ = now;
    known_ = true;
    begun_ = begun_ && stops(now);
  }

  /// Begin the stop at a time [s], if the arm moved when it was seen last.
  void begin_stop(double now) noexcept
  {
    const auto & dq = seen_.dq;
    begun_ = known_ && std::any_of(
      dq.begin(), dq.end(), [](double speed) {return std::abs(speed) > kMaxRestSpeedRadS;});
    begun_at_ = now;
    seen_at_ = now;
  }

  /// Forget where the arm was.
  void reset() noexcept {*this = OpenLoopStop();}

  /// Whether the arm was seen, and whether it is being stopped at a time [s].
  bool known() const noexcept {return known_;}
  bool stops(double now) const noexcept {return begun_ && now - begun_at_ < kUnseenStopTimeS;}

  /// Where the arm probably is at a time [s]: in a stop its velocity decays exponentially.
  JointState probable_state(double now) const noexcept
  {
    if (!begun_) {return seen_;}
    JointState at{};
    const double left = std::exp(-std::max(0.0, now - seen_at_) / kUnseenStopTimeConstantS);
    for (std::size_t i = 0; i < kMaxJoints; ++i) {
      at.q[i] = seen_.q[i] + (1.0 - left) * kUnseenStopTimeConstantS * seen_.dq[i];
      at.dq[i] = left * seen_.dq[i];
    }
    return at;
  }

  /// Compute the torque that stops the arm.
  void stopping_torque(const TermModel & terms, double now, Vector & tau) const noexcept
  {
    const JointState at = probable_state(now);
    Vector slowing{};
    Vector coriolis{};
    Vector inertia{};
    for (std::size_t i = 0; i < kMaxJoints; ++i) {
      slowing[i] = -at.dq[i] / kUnseenStopTimeConstantS;
    }
    terms.gravity_to_command(at.q, tau);
    terms.coriolis(at, coriolis);
    terms.inertia(at.q, slowing, inertia);
    for (std::size_t i = 0; i < kMaxJoints; ++i) {tau[i] += coriolis[i] + inertia[i];}
  }

private:
  JointState seen_{};
  double seen_at_ = 0.0;  // [s]
  double begun_at_ = 0.0;  // [s]
  bool known_ = false;
  bool begun_ = false;
};

}  // namespace franka_dynamics_controllers
