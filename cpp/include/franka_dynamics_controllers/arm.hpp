// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// A serial arm: its links, limits and friction. SI units, a number for each joint from base to tip.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "franka_dynamics_controllers/constants.hpp"
#include "franka_dynamics_controllers/dynamics.hpp"

namespace franka_dynamics_controllers
{

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Joint friction, as the Python package's arm files have it.
struct FrictionModel
{
  enum class Kind {none, sigmoid, linear};
  static constexpr std::size_t kSliding = 3, kMaxElements = 8, kMost = kSliding + kMaxElements;

  Kind kind = Kind::none;
  std::size_t elements = 0;  ///< number of Maxwell-slip elements of each joint
  /// Of each joint amplitude, slope and offset (sigmoid), or viscous, Coulomb, offset and
  /// Maxwell-slip coefficients (linear), and their covariance.
  std::array<std::array<double, kMost>, kMaxJoints> coefficients{};
  std::array<std::array<std::array<double, kMost>, kMost>, kMaxJoints> covariance{};
  std::array<double, kMaxElements> reach{};  ///< of the elements [rad]
  double width = 1.0;                        ///< of the Coulomb friction's tanh [rad/s]
};

struct Arm
{
  std::string name;
  std::vector<std::string> joints;  ///< names
  Chain chain{};
  Pose flange{};           ///< in the frame of the last joint
  Body payload{};          ///< in the frame of the flange; the last link contains it
  Rows mount = kIdentity;  ///< rotation of the base, in whose axes gravity_vector is, in {S}
  Vector lower{}, upper{}, velocity{}, acceleration{}, effort{}, effort_rate{}, home{};
  double rated_load = kInfinity;  ///< [kg] on the flange
  FrictionModel friction{};

  std::size_t n() const noexcept {return chain.n;}

  bool is_tilted() const noexcept
  {
    const auto & [x, y, z] = mount[2];
    return std::max({std::abs(x), std::abs(y), std::abs(z - 1.0)}) > kMinRotationRad;
  }

  /// Whether a joint can be at a position.
  bool within_range(std::size_t joint, double position) const noexcept
  {
    return std::isfinite(position) && position >= lower[joint] - kPositionToleranceRad &&
           position <= upper[joint] + kPositionToleranceRad;
  }
};

/// Why an arm cannot be controlled, in a sentence that names the joint; '' if it can be.
inline std::string refuse(const Arm & arm)
{
  if (arm.joints.empty() || arm.joints.size() > kMaxJoints || arm.joints.size() != arm.n()) {
    return "the arm's joints must be 1 to " + std::to_string(kMaxJoints);
  }
  for (std::size_t i = 0; i < arm.n(); ++i) {
    const auto & [mass, moment, inertia] = arm.chain.links[i].body;
    const std::string joint = arm.joints[i] + " of " + arm.name;
    if (!(arm.effort[i] > 0.0 && std::isfinite(arm.effort[i]))) {
      return joint + " has no torque limit, which a controller must know";
    }
    const double least = std::min({arm.velocity[i], arm.acceleration[i], arm.effort_rate[i]});
    if (!(arm.lower[i] <= arm.upper[i] && least > 0.0)) {
      return joint + " has limits that leave it no room";
    }
    if (!(mass >= 0.0) || (mass == 0.0 && dot(moment, moment) > 0.0)) {
      return joint + " moves a link of an impossible mass";
    }
  }
  return "";
}

}  // namespace franka_dynamics_controllers
