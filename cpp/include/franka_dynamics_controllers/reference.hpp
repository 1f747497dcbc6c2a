// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// Commands from upstream, and the motion that an arm follows by them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "franka_dynamics_controllers/constants.hpp"

namespace franka_dynamics_controllers
{

/// A command from upstream: a motion's q, dq and ddq, a torque, or a torque with the dq and ddq at
/// which friction and inertia torque count (Command::law).
struct Reference : Motion
{
  Vector torque{};
};

/// What the law follows at a joint state: a point of a motion, or a torque of the caller's law.
struct Desired : Reference
{
  bool is_own_torque = false;

  /// Whether a joint of it is faster than one at rest.
  bool is_moving(std::size_t n) const noexcept
  {
    return std::any_of(
      dq.begin(), dq.begin() + n, [](double speed) {return std::abs(speed) > kMaxRestSpeedRadS;});
  }
};

}  // namespace franka_dynamics_controllers
