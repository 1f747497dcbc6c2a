// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// Finds joints that are too fast, for longer than a wrong joint state lasts.
#pragma once

#include <cmath>
#include <cstddef>

#include "franka_dynamics_controllers/reasons.hpp"
#include "franka_dynamics_controllers/reference.hpp"
#include "franka_dynamics_controllers/terms.hpp"

namespace franka_dynamics_controllers
{

/// Finds joints of an arm that are too fast, as SpeedWatcher of
/// franka_dynamics/control/speed_watcher.py does.
class SpeedWatcher
{
public:
  /// Forget fast joints and motions of the reference.
  void reset() noexcept {*this = SpeedWatcher();}

  /// Whether for kMaxOverspeedTimeS a joint was too fast; `elapsed` is the time since the state
  /// before [s].
  Reason check(
    const Arm & arm, const StateTerms & state, double elapsed, const Desired * reference) noexcept
  {
    if (reference && reference->is_moving(arm.n())) {
      motion_stamp_ = state.stamp;
    }
    const bool is_following = state.stamp - motion_stamp_ < kStreamTimeoutS;
    const double speed_to_limit = is_following ? kMaxFollowSpeedToLimit : kMaxSpeedToLimit;
    std::size_t joint = 0;
    double largest = -1.0;
    for (std::size_t i = 0; i < arm.n(); ++i) {
      const double ratio = std::abs(state.dq[i]) / (speed_to_limit * arm.velocity[i]);
      if (ratio > largest) {
        largest = ratio;
        joint = i;
      }
    }
    overspeed_time_ = largest > 1.0 ? overspeed_time_ + elapsed : 0.0;
    if (overspeed_time_ < kMaxOverspeedTimeS) {
      return {};
    }
    return Reason::of_joint(
      ReasonCode::joint_too_fast, joint,
      {state.dq[joint], speed_to_limit * arm.velocity[joint], kMaxSpeedToLimit,
        kMaxFollowSpeedToLimit});
  }

private:
  double overspeed_time_ = 0.0;         // how long a joint has been too fast [s]
  double motion_stamp_ = -kInfinity;    // stamp at which the reference moved last [s]
};

}  // namespace franka_dynamics_controllers
