// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// Where an arm was seen last, and how it is brought to rest from there while no state is believed.
#ifndef FRANKA_DYNAMICS_CONTROLLERS__UNSEEN_ARM_HPP_
#define FRANKA_DYNAMICS_CONTROLLERS__UNSEEN_ARM_HPP_

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "franka_dynamics_controllers/terms.hpp"

namespace franka_dynamics_controllers
{

class UnseenArm
{
public:
  /// Note a state that is believed.
  void see(const JointState & state) noexcept
  {
    seen_ = state;
    known_ = true;
    stops_ = false;
  }

  /// Forget where the arm was.
  void reset() noexcept {known_ = stops_ = false;}

  /// Bring an arm that moved when it was seen last to rest from there, at a time [s].
  void lose(double now) noexcept
  {
    const bool moved = std::any_of(
      seen_.dq.begin(), seen_.dq.end(),
      [](double speed) {return std::abs(speed) > kMaxRestSpeedRadS;});
    if (known_ && !stops_ && moved) {
      stops_ = true;
      begun_ = now;
    }
  }

  /// Whether the arm is being brought to rest at a time [s].
  bool stops(double now) const noexcept {return stops_ && now - begun_ < kUnseenStopTimeS;}

  /// Compute the torque that brings the arm to rest; velocities are taken to decay exponentially.
  void stopping_torque(const TermModel & terms, double now, Vector & tau) const noexcept
  {
    const double left = std::exp(-std::max(0.0, now - begun_) / kUnseenStopTimeConstantS);
    JointState at{};
    Vector slowing{}, coriolis{}, inertia{};
    for (std::size_t i = 0; i < kMaxJoints; ++i) {
      at.q[i] = seen_.q[i] + (1.0 - left) * kUnseenStopTimeConstantS * seen_.dq[i];
      at.dq[i] = left * seen_.dq[i];
      slowing[i] = -at.dq[i] / kUnseenStopTimeConstantS;
    }
    terms.gravity_to_command(at.q, tau);
    terms.coriolis(at, coriolis);
    terms.inertia(at.q, slowing, inertia);
    for (std::size_t i = 0; i < kMaxJoints; ++i) {
      tau[i] += coriolis[i] + inertia[i];
    }
  }

  /// Whether any state was believed, and the last position.
  bool known() const noexcept {return known_;}
  const Vector & q() const noexcept {return seen_.q;}

private:
  JointState seen_{};
  double begun_ = 0.0;  // [s]
  bool known_ = false, stops_ = false;
};

}  // namespace franka_dynamics_controllers

#endif  // FRANKA_DYNAMICS_CONTROLLERS__UNSEEN_ARM_HPP_
