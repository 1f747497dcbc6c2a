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

#include "franka_dynamics_controllers/state_check.hpp"
#include "franka_dynamics_controllers/terms.hpp"

namespace franka_dynamics_controllers
{

/// Brings a moving arm to rest, and holds it, as BrakingController of
/// franka_dynamics/control/stopping.py does. Its torque is
///
///   G + C dq + d - kp (q - q_b) - kd dq - M (1 - s) a
///
/// d is the torque that the model does not explain, as far as it does not keep a motion up, and q_b
/// the pose where braking began or, at rest, where the arm came to rest. a is the deceleration of a
/// critically damped joint with the time constant kBrakingTimeConstantS, of which kd gives the
/// share s already. Where states are old or rare, the time constant is longer, and gains are
/// softer. Without gains there is no pose q_b, and a only damps.
class BrakingController
{
public:
  /// The brake only damps.
  BrakingController() noexcept = default;
  /// The brake pulls to q_b, by gains; `disturbance` is d where braking begins [N m].
  BrakingController(const Vector & disturbance, const Vector & kp, const Vector & kd) noexcept
  : disturbance_(disturbance), kp_(kp), kd_(kd), pulls_to_pose_(true) {}

  bool at_rest() const noexcept {return at_rest_;}
  /// Why braking fails: a joint is too fast in spite of it.
  const Reason & failure() const noexcept {return failure_;}
  /// d [N m].
  const Vector & disturbance() const noexcept {return disturbance_;}

  /// Forget d, where the arm is not held any more.
  void forget_disturbance() noexcept {disturbance_.fill(0.0);}

  /// Compute the brake's torque [N m], `elapsed` seconds after the last one. `excess` is the torque
  /// that the model does not explain now [N m], `age` the age of the state [s].
  Vector torque(
    const Arm & arm, const StateTerms & state, const TermModel & terms, const Vector & excess,
    double elapsed, double age) noexcept
  {
    const auto & q = state.q;
    const auto & dq = state.dq;
    time_s_ += elapsed;
    record_speeds(arm, dq);
    Matrix M;
    mass_matrix(terms.chain, q, M);
    // States that are old, or come rarely, bear slower damping only, and softer gains.
    const double delay = age + std::max(0.0, elapsed - kMaxStepS);
    const double min_time_constant = kMinTimeConstantToAgeRatio * delay;
    const double time_constant = std::max(kBrakingTimeConstantS, min_time_constant);
    const double stiffness = 0.25 / (time_constant * time_constant);  // critically damped [1/s^2]
    const double max_deceleration = kMaxBrakingDecelerationRadS2;
    const Vector from_pose = move_stop_pose(arm, q, max_deceleration / stiffness);
    Vector tau{};
    terms.gravity_to_command(q, state.gravity, tau);
    follow_disturbance(arm, dq, excess, elapsed, tau);
    Vector slowing{};
    for (std::size_t i = 0; i < arm.n(); ++i) {
      const double inertia = M[i][i];
      // A joint that moves no mass has no gains: it slows down as the others take it along.
      const double damping_rate = inertia > 0.0 ? kd_[i] / inertia : 0.0;
      const double softness = std::max(1.0, min_time_constant * damping_rate);
      const double damping =
        std::clamp(dq[i] / time_constant, -max_deceleration, max_deceleration);
      const double pull = pulls_to_pose_ ? stiffness * from_pose[i] : 0.0;
      const double missing_share = 1.0 - std::min(1.0, damping_rate / softness * time_constant);
      slowing[i] = missing_share * (damping + pull);
      tau[i] += state.coriolis[i] - (kp_[i] * from_pose[i] + kd_[i] * dq[i]) / softness;
    }
    for (std::size_t i = 0; i < arm.n(); ++i) {
      for (std::size_t j = 0; j < arm.n(); ++j) {
        tau[i] -= M[i][j] * slowing[j];
      }
    }
    return tau;
  }

  /// Record where limits changed a desired torque into the sent one [N m].
  void record_limited_torque(const Vector & desired, const Vector & sent) noexcept
  {
    for (std::size_t i = 0; i < kMaxJoints; ++i) {
      is_held_back_[i] = desired[i] != sent[i];
    }
  }

private:
  /// Note whether the arm has come to rest, and which joint braking does not slow down.
  void record_speeds(const Arm & arm, const Vector & dq) noexcept
  {
    rest_count_ = largest_size(dq, arm.n()) < kMaxStoppedSpeedRadS ? rest_count_ + 1 : 0;
    const bool is_over = rest_count_ >= kMinGoodStateCount || time_s_ > kMaxBrakingTimeS;
    if (is_over && !at_rest_) {
      stop_pose_.reset();  // it is held where it came to rest
      at_rest_ = true;
    }
    failure_ = {};
    for (std::size_t i = 0; i < arm.n(); ++i) {
      const double speed = std::abs(dq[i]);
      if (time_s_ <= kMinBrakingTimeS) {  // the arm may still get faster
        max_first_speed_[i] = std::max(max_first_speed_[i], speed);
        continue;
      }
      const double max_speed = kMaxBrakedSpeedToLimit * arm.velocity[i];
      if (!failure_ && speed > std::max(max_speed, max_first_speed_[i])) {
        failure_ = Reason::of_joint(ReasonCode::braking_failed, i, {dq[i]});
      }
    }
  }

  /// Let d follow the unexplained torque, and add what is compensated of it: a compensation along a
  /// joint's motion would keep that up, and fades out with the speed.
  void follow_disturbance(
    const Arm & arm, const Vector & dq, const Vector & excess, double elapsed, Vector & tau)
  noexcept
  {
    const double share = std::min(1.0, elapsed / kBrakingTimeConstantS);
    for (std::size_t i = 0; i < arm.n(); ++i) {
      disturbance_[i] += share * (excess[i] - disturbance_[i]);
      const bool is_along = disturbance_[i] * dq[i] > 0.0;
      const double share_along = std::max(0.0, 1.0 - std::abs(dq[i]) / kMinMotionSpeedRadS);
      tau[i] += disturbance_[i] * (is_along ? share_along : 1.0);
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

  Vector disturbance_{};
  double time_s_ = 0.0;
  int rest_count_ = 0;  // slow states in a row
  Vector max_first_speed_{};  // in the first kMinBrakingTimeS [rad/s]
  std::optional<Vector> stop_pose_{};  // where the gains pull to
  Vector kp_{};
  Vector kd_{};
  std::array<bool, kMaxJoints> is_held_back_{};  // by limits of the last torque
  bool pulls_to_pose_ = false;  // towards the stop pose, as with a motion's gains
  bool at_rest_ = false;
  Reason failure_{};
};

/// Knows where an arm was seen last, and brings it to rest from there by its model.
class OpenLoopStop
{
public:
  /// Note where the arm is seen at a time [s], and how fast; a stop goes on.
  void record_state(const Vector & q, const Vector & dq, double now) noexcept
  {
    seen_ = {q, dq};
    seen_at_ = now;
    known_ = true;
    begun_ = begun_ && stops(now);
  }

  /// Begin the stop at a time [s], if the arm moved when it was seen last.
  void begin_stop(std::size_t n, double now) noexcept
  {
    if (known_ && largest_size(seen_.dq, n) > kMaxRestSpeedRadS) {
      begun_ = true;
      begun_at_ = now;
      seen_at_ = now;  // the model sets out from there
    }
  }

  /// Forget where the arm was.
  void reset() noexcept {*this = OpenLoopStop();}

  /// Whether the arm was seen, and whether it is being stopped at a time [s]; not if that clock was
  /// set back.
  bool known() const noexcept {return known_;}
  bool stops(double now) const noexcept
  {
    return begun_ && now >= begun_at_ && now - begun_at_ < kUnseenStopTimeS;
  }

  /// Where the arm was seen last.
  const JointState & seen() const noexcept {return seen_;}

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

  /// The torque that stops the arm by its model [N m].
  Vector stopping_torque(const TermModel & terms, double now) const noexcept
  {
    const JointState at = probable_state(now);
    Vector slowing{};
    for (std::size_t i = 0; i < terms.chain.n; ++i) {
      slowing[i] = -at.dq[i] / kUnseenStopTimeConstantS;
    }
    Vector tau{};
    Vector coriolis{};
    Vector inertia{};
    terms.gravity_to_command(at.q, tau);
    terms.coriolis(at, coriolis);
    terms.inertia(at.q, slowing, inertia);
    for (std::size_t i = 0; i < terms.chain.n; ++i) {
      tau[i] += coriolis[i] + inertia[i];
    }
    return tau;
  }

private:
  JointState seen_{};
  double seen_at_ = 0.0;  // [s]
  double begun_at_ = 0.0;  // [s]
  bool known_ = false;
  bool begun_ = false;
};

}  // namespace franka_dynamics_controllers
