// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// How a moving arm is brought to rest: while its states are seen, and while none is believed.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>

#include "franka_dynamics_controllers/terms.hpp"

namespace franka_dynamics_controllers
{

/// Brings a moving arm to rest by a PD torque towards the pose where braking began and by M(q) a,
/// as far as kd damps less: a is that of a critically damped joint with the time constant
/// kBrakingTimeConstantS, or longer and with softer gains in a slow loop. Without a motion's gains
/// there is no pose, and a only damps.
class BrakingController
{
public:
  BrakingController() noexcept = default;
  explicit BrakingController(const Settings & settings) noexcept
  : kp_(settings.kp), kd_(settings.kd), pulls_(settings.command == Command::motion) {}

  bool at_rest() const noexcept {return at_rest_;}
  /// Whether something else drives the arm: it gets faster.
  bool driven() const noexcept {return gaining_ >= kRunawayDetectionTimeS;}

  /// Compute the brake's torque, `elapsed` seconds after the last one.
  void torque(
    const Arm & arm, const JointState & state, const TermModel & terms, double elapsed,
    Vector & tau) noexcept
  {
    const auto & [q, dq] = state;
    const double late = kMinTimeConstantToAgeRatio * std::max(0.0, elapsed - kMaxStepS);
    const double decay = std::max(kBrakingTimeConstantS, late);
    const double stiffness = 0.25 / (decay * decay);  // critically damped [1/s^2]
    // It yields where a would reach its bound, and the arm stays where it was pushed to.
    constexpr double kMost = kMaxBrakingDecelerationRadS2;
    const double yields = kMost / stiffness;
    Matrix M;
    mass_matrix(terms.chain, q, M);
    Vector slowing{}, pull{};
    watch(arm, dq, elapsed);
    for (std::size_t i = 0; i < arm.n(); ++i) {
      const bool moved = !begun_ || (!at_rest_ && held_back_[i] != 0.0);
      const double away = moved ? 0.0 : std::clamp(q[i] - stop_pose_[i], -yields, yields);
      stop_pose_[i] = q[i] - away;
      const double soft = 1.0 / std::max(1.0, late * kd_[i] / M[i][i]);
      const double kd = soft * kd_[i];
      pull[i] = soft * kp_[i] * away + kd * dq[i];
      const double missing = 1.0 - std::min(1.0, kd * decay / M[i][i]);
      const double damps = std::clamp(dq[i] / decay, -kMost, kMost);
      slowing[i] = -missing * ((pulls_ ? stiffness * away : 0.0) + damps);
    }
    begun_ = true;
    terms.inertia(q, slowing, tau);
    const double least = *std::min_element(arm.effort.begin(), arm.effort.begin() + arm.n());
    drives_ = false;
    for (std::size_t i = 0; i < arm.n(); ++i) {
      tau[i] -= pull[i];
      drives_ = drives_ || std::abs(tau[i]) > kMaxStartDisturbanceRatio * least;
    }
  }

  /// Note what limits made of a desired torque.
  void limit(const Vector & desired, const Vector & sent) noexcept
  {
    std::transform(
      desired.begin(), desired.end(), sent.begin(), held_back_.begin(), std::minus<double>());
    for (std::size_t i = 0; !turned_known_ && i < kMaxJoints; ++i) {
      turned_[i] = std::max(kMaxDisturbanceTimeS, std::abs(held_back_[i]) / kMaxTorqueRateNmS);
    }
    turned_known_ = true;
  }

private:
  void watch(const Arm & arm, const Vector & dq, double elapsed) noexcept
  {
    time_ += elapsed;
    const bool slow = std::all_of(
      dq.begin(), dq.end(), [](double speed) {return std::abs(speed) < kMaxStoppedSpeedRadS;});
    resting_ = slow ? resting_ + 1 : 0;
    at_rest_ = at_rest_ || resting_ >= kMinGoodStateCount || time_ > kMaxBrakingTimeS;
    bool gains = false;
    for (std::size_t i = 0; i < arm.n(); ++i) {
      const double speed = std::abs(dq[i]), most = kMaxSpeedIncreaseRatio * arm.velocity[i];
      const bool turning = !turned_known_ || time_ < turned_[i];
      gains = gains || (drives_ && !turning && !at_rest_ && speed > speed_[i] + most);
      speed_[i] = turning ? std::max(speed_[i], speed) : speed_[i];
    }
    gaining_ = gains ? gaining_ + elapsed : 0.0;
  }

  double time_ = 0.0, gaining_ = 0.0;  // [s]
  Vector speed_{}, stop_pose_{};  // largest at first [rad/s]; where the gains pull to
  Vector kp_{}, kd_{};
  Vector held_back_{};  // by limits from the last torque [N m]
  Vector turned_{};  // when the torque of each joint has been turned at its rate limit [s]
  int resting_ = 0;
  bool pulls_ = false, begun_ = false, at_rest_ = false, turned_known_ = false;
  bool drives_ = false;  // whether the last torque is large enough to drive a joint
};

/// Knows where an arm was seen last, and brings it to rest from there by the model. A joint whose
/// position is not believed goes on from its last one by its velocity, if that is possible and not
/// bit for bit that of the state before. A joint with an impossible velocity is where it is seen,
/// and its last velocity decays.
class UnseenArm
{
public:
  /// Note a state of a time [s]; an arm that was never seen as a whole has none.
  void record(const Arm & arm, const JointState & state, double now) noexcept
  {
    const auto & [q, dq] = state;
    Joints possible{}, seen{};
    bool whole = true;
    for (std::size_t i = 0; i < arm.n(); ++i) {
      possible[i] = std::abs(dq[i]) <= kMaxPossibleSpeedRatio * arm.velocity[i];  // no NaN
      seen[i] = arm.within_range(i, q[i]);
      whole = whole && possible[i] && seen[i];
    }
    const JointState before = whole ? state : probable(now);
    known_ = known_ || whole;
    for (std::size_t i = 0; i < arm.n(); ++i) {
      by_velocity_[i] = possible[i] && !seen[i] && dq[i] != given_[i];
      given_[i] = dq[i];
      if (known_ && (seen[i] || by_velocity_[i])) {
        last_.q[i] = seen[i] ? q[i] : before.q[i];
        last_.dq[i] = possible[i] ? dq[i] : before.dq[i];
        when_[i] = now;
      }
    }
    stops_ = stops_ && (!whole || faster(last_.dq, kMaxStoppedSpeedRadS));
  }

  /// Forget where the arm was.
  void reset() noexcept {*this = UnseenArm();}

  /// Bring an arm to rest that moved when it was seen last, or of which only some joints are lost,
  /// at a time [s].
  void begin_stop(double now, bool partly_seen) noexcept
  {
    stops_ = known_ && (partly_seen || faster(last_.dq, kMaxRestSpeedRadS));
    begun_ = now;
    when_.fill(now);
  }

  /// End the stop of an arm at its resting torque, unless it `may_fall` and probably moves.
  void end_stop(bool may_fall, double now) noexcept
  {
    stops_ = stops_ && may_fall && faster(probable(now).dq, kMaxStoppedSpeedRadS);
  }

  /// Whether the arm is being brought to rest at a time [s]. Where the target adds no gravity, a
  /// joint that is not seen may fall, and the others are slowed as long as they are seen. An arm
  /// that is seen again is slowed until it rests.
  bool stops(const Arm & arm, bool adds_gravity, double now) const noexcept
  {
    if (!stops_ || now - begun_ < kUnseenStopTimeS) {return stops_;}
    bool any = false, all = true, whole = true, moves = false;
    for (std::size_t i = 0; i < arm.n(); ++i) {
      const bool seen = now - when_[i] < kMaxStateGapS;
      any = any || seen;
      all = all && seen;
      whole = whole && seen && !by_velocity_[i];
      moves = moves || (seen && std::abs(last_.dq[i]) > kMaxRestSpeedRadS);
    }
    moves = moves && now - begun_ < kMaxBrakingTimeS;  // a wrong model is let go
    return adds_gravity ? all && moves : (any && !whole) || moves;
  }

  /// Compute the torque that brings the arm to rest; velocities are taken to decay exponentially.
  void stopping_torque(const TermModel & terms, double now, Vector & tau) const noexcept
  {
    const JointState at = probable(now);
    Vector slowing{}, coriolis{}, inertia{};
    for (std::size_t i = 0; i < kMaxJoints; ++i) {
      slowing[i] = -at.dq[i] / kUnseenStopTimeConstantS;
    }
    terms.gravity_to_command(at.q, tau);
    terms.coriolis(at, coriolis);
    terms.inertia(at.q, slowing, inertia);
    for (std::size_t i = 0; i < kMaxJoints; ++i) {tau[i] += coriolis[i] + inertia[i];}
  }

  /// Whether any state was believed, and the probable state at a time [s].
  bool known() const noexcept {return known_;}
  JointState probable(double now) const noexcept
  {
    JointState at{};
    for (std::size_t i = 0; i < kMaxJoints; ++i) {
      const double left = std::exp(-std::max(0.0, now - when_[i]) / kUnseenStopTimeConstantS);
      at.q[i] = last_.q[i] + (1.0 - left) * kUnseenStopTimeConstantS * last_.dq[i];
      at.dq[i] = left * last_.dq[i];
    }
    return at;
  }

private:
  using Joints = std::array<bool, kMaxJoints>;

  static bool faster(const Vector & dq, double least) noexcept
  {
    return std::any_of(
      dq.begin(), dq.end(), [least](double speed) {return std::abs(speed) > least;});
  }

  JointState last_{};
  Vector when_{}, given_{};  // [s] when each joint was seen last; velocities of the last state
  Joints by_velocity_{};
  double begun_ = 0.0;  // [s]
  bool known_ = false, stops_ = false;
};

}  // namespace franka_dynamics_controllers
