// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// Where the flange is, and how it moves.
#pragma once

#include <array>
#include <cstddef>

#include "franka_dynamics_controllers/arm.hpp"

namespace franka_dynamics_controllers
{

/// The flange's pose in the space frame {S}, and its Jacobian in the axes of {S}: the velocity of its
/// origin and its angular velocity by each joint's velocity.
struct Flange
{
  Pose pose{};
  std::array<Three, kMaxJoints> linear{};
  std::array<Three, kMaxJoints> angular{};
};

/// The flange at the positions q.
inline Flange flange_at(const Arm & arm, const Vector & q) noexcept
{
  Flange flange;
  std::array<Pose, kMaxJoints> joints;
  Pose pose;
  for (std::size_t i = 0; i < arm.n(); ++i) {
    pose = pose * arm.chain.links[i].at(q[i]);
    joints[i] = pose;
  }
  flange.pose = pose * arm.flange;
  for (std::size_t i = 0; i < arm.n(); ++i) {
    const auto & [R, p] = joints[i];
    const Three axis{R[0].z, R[1].z, R[2].z};
    if (arm.chain.links[i].prismatic) {
      flange.linear[i] = axis;
    } else {
      flange.linear[i] = cross(axis, flange.pose.position + -1.0 * p);
      flange.angular[i] = axis;
    }
  }
  return flange;
}

}  // namespace franka_dynamics_controllers
