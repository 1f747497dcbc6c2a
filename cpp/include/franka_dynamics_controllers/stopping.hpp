// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// How a moving arm is brought to rest: by its joint states, or by its model while none can be used.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>

#include "franka_dynamics_controllers/terms.hpp"

namespace franka_dynamics_controllers
{

/// Brings a moving arm to rest, and holds it, as BrakingController of
/// franka_dynamics/control/stopping.py does. Its torque, without G + C dq and with d = 0, is
///
///   - kp (q - q_b) - kd dq - M (1 - s) a
///
/// q_b is the pose where braking began or, at rest, where the arm came to rest. a is the
/// deceleration of a critically damped joint with the time constant kBrakingTimeConstantS, of which
/// kd gives the share s already. In a slow loop the time constant is longer, and gains are softer.
/// Without a motion's gains there is no pose q_b, and a only damps.
class BrakingController
{
public:
  BrakingController() noexcept = default;
  explicit BrakingController(const Settings & settings) noexcept
  : kp_(settings.kp), kd_(settings.kd), pulls_to_pose_(settings.command == Command::motion) {}

  bool at_rest() const noexcept {return at_rest_;}
  /// Whether a joint is too fast in spite of braking.
  bool fails() const noexcept {return fails_;}

  /// Compute the brake's torque `tau` [N m], `elapsed` seconds after the last one.
  void torque(
    const Arm & arm, const JointState & state, const TermModel & terms, double elapsed,
    Vector & tau) noexcept
  {
    const auto & [q, dq] = state;
    time_s_ += elapsed;
    record_speeds(arm, dq);
    Matrix M;
    mass_matrix(terms.chain, q, M);
    // States that come rarely bear slower damping only, and softer gains.
    const double delay = std::max(0.0, elapsed - kMaxStepS);
    const double min_time_constant = kMinTimeConstantToAgeRatio * delay;
    const double time_constant = std::max(kBrakingTimeConstantS, min_time_constant);
    const double stiffness = 0.25 / (time_constant * time_constant);  // critically damped [1/s^2]
    const double max_deceleration = kMaxBrakingDecelerationRadS2;
    const Vector from_pose = move_stop_pose(arm, q, max_deceleration / stiffness);
    Vector pd_torque{};
    Vector deceleration{};
    for (std::size_t i = 0; i < arm.n(); ++i) {
      const double inertia = M[i][i];
      const double kept_share = 1.0 / std::max(1.0, min_time_constant * kd_[i] / inertia);
      const double kp = kept_share * kp_[i];
      const double kd = kept_share * kd_[i];
      pd_torque[i] = kp * from_pose[i] + kd * dq[i];
      const double damping =
        std::clamp(dq[i] / time_constant, -max_deceleration, max_deceleration);
      const double pull = pulls_to_pose_ ? stiffness * from_pose[i] : 0.0;
      const double missing_share = 1.0 - std::min(1.0, kd * time_constant / inertia);  // 1 - s
      deceleration[i] = missing_share * (pull + damping);
    }
    Vector inertia_torque{};
    terms.inertia(q, deceleration, inertia_torque);
    for (std::size_t i = 0; i < arm.n(); ++i) {
      tau[i] = -inertia_torque[i] - pd_torque[i];
    }
  }

  /// Record where limits changed a desired torque into the sent one [N m].
  void record_limited_torque(const Vector & desired, const Vector & sent) noexcept
  {
    for (std::size_t i = 0; i < kMaxJoints; ++i) {
      is_held_back_[i] = desired[i] != sent[i];
    }
  }

private:
  /// Note whether the arm has come to rest, and whether braking fails to slow a joint down.
  void record_speeds(const Arm & arm, const Vector & dq) noexcept
  {
    const bool is_slow = std::all_of(
      dq.begin(), dq.end(), [](double speed) {return std::abs(speed) < kMaxStoppedSpeedRadS;});
    rest_count_ = is_slow ? rest_count_ + 1 : 0;
    const bool is_over = rest_count_ >= kMinGoodStateCount || time_s_ > kMaxBrakingTimeS;
    if (is_over && !at_rest_) {
      stop_pose_.reset();  // it is held where it came to rest
      at_rest_ = true;
    }
    fails_ = false;
    for (std::size_t i = 0; i < arm.n(); ++i) {
      const double speed = std::abs(dq[i]);
      if (time_s_ <= kMinBrakingTimeS) {  // the arm may still get faster
        max_first_speed_[i] = std::max(max_first_speed_[i], speed);
        continue;
      }
      const double max_speed = kMaxBrakedSpeedToLimit * arm.velocity[i];
      fails_ = fails_ || speed > std::max(max_speed, max_first_speed_[i]);
    }
  }

  /// Move the pose that the arm is pulled to; return how far the arm is from it.
  ///
  /// The pose is where braking began, and later where the arm came to rest. It moves with the arm
  /// in two cases: a joint that is being braked takes it along while a limit holds its torque back,
  /// and so does a joint that is pushed further away than `max_distance`.
  Vector move_stop_pose(const Arm & arm, const Vector & q, double max_distance) noexcept
  {
    if (!stop_pose_) {  // braking begins, or the arm has come to rest
      stop_pose_ = q;
    }
    Vector from_pose{};
    for (std::size_t i = 0; i < arm.n(); ++i) {
      double & pose = (*stop_pose_)[i];
      if (!at_rest_ && is_held_back_[i]) {
        pose = q[i];
      }
      from_pose[i] = std::clamp(q[i] - pose, -max_distance, max_distance);
      pose = q[i] - from_pose[i];
    }
    return from_pose;
  }

  double time_s_ = 0.0;
  int rest_count_ = 0;  // slow states in a row
  Vector max_first_speed_{};  // in the first kMinBrakingTimeS [rad/s]
  std::optional<Vector> stop_pose_{};  // where the gains pull to
  Vector kp_{};
  Vector kd_{};
  std::array<bool, kMaxJoints> is_held_back_{};  // by limits of the last torque
  bool pulls_to_pose_ = false;  // towards the stop pose, as with a motion's gains
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
    if (!begun_) {
      return seen_;
    }
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
    for (std::size_t i = 0; i < kMaxJoints; ++i) {
      tau[i] += coriolis[i] + inertia[i];
    }
  }

private:
  JointState seen_{};
  double seen_at_ = 0.0;  // [s]
  double begun_at_ = 0.0;  // [s]
  bool known_ = false;
  bool begun_ = false;
};

}  // namespace franka_dynamics_controllers
