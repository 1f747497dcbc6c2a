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
  static constexpr std::size_t kSliding = 3, kMaxElements = 8;
  static constexpr std::size_t kMost = kSliding + kMaxElements + 1;

  Kind kind = Kind::none;
  std::size_t elements = 0;      ///< number of Maxwell-slip elements of each joint
  bool grows_with_load = false;  ///< whether the last coefficient is that of the load (linear)
  /// Of each joint amplitude, slope and offset (sigmoid), or viscous, Coulomb, offset, Maxwell-slip
  /// and the load's coefficients (linear), and their covariance.
  std::array<std::array<double, kMost>, kMaxJoints> coefficients{};
  std::array<std::array<std::array<double, kMost>, kMost>, kMaxJoints> covariance{};
  std::array<double, kMaxElements> reach{};  ///< of the elements [rad]
  double width = 1.0;                        ///< of the Coulomb friction's tanh [rad/s]
  /// In place of a linear model's offset where the target adds gravity by its own model [N m].
  Vector receiver_offset{};

  /// The number of coefficients of a linear model.
  std::size_t count() const noexcept {return kSliding + elements + (grows_with_load ? 1 : 0);}
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

/// The largest number in an arm; products of a few of them are finite.
constexpr double kMostOfAnArm = 1e6;

/// Whether a real body can have an inertia about its centre of mass: trace(I) / 2 1 - I is positive
/// semidefinite, of which no principal minor is negative but for rounding of numbers of a `size`.
constexpr bool is_real(const Rows & I, double size) noexcept
{
  const double half = 0.5 * (I[0].x + I[1].y + I[2].z), eps = -1e-9 * size;
  const double a = half - I[0].x, d = half - I[1].y, f = half - I[2].z;
  const double B = I[0].y, C = I[0].z, E = I[1].z;
  const double whole = a * (d * f - E * E) - B * (B * f + C * E) - C * (B * E + C * d);
  return a >= eps && d >= eps && f >= eps && a * d - B * B >= eps * size &&  // NaN is not
         a * f - C * C >= eps * size && d * f - E * E >= eps * size && whole >= eps * size * size;
}

/// Whether there can be such a body.
inline bool is_real(const Body & body) noexcept
{
  const auto & [mass, moment, inertia] = body;
  const Three centre = mass > 0.0 ? 1.0 / mass * moment : moment;
  const Body at_centre = Pose{kIdentity, -1.0 * centre} * body;
  const double size = inertia[0].x + inertia[1].y + inertia[2].z;
  return mass >= 0.0 && mass + size <= kMostOfAnArm && is_real(at_centre.inertia, size);
}

/// Whether a pose has a position, and a matrix that is a rotation but for rounding.
inline bool is_real(const Pose & pose) noexcept
{
  const auto & [R, p] = pose;
  const Rows one = R * transposed(R);
  double off = dot(cross(R[0], R[1]), R[2]) - 1.0;  // determinant
  for (std::size_t i = 0; i < 3; ++i) {
    const Three d = one[i] + -1.0 * kIdentity[i];
    off = std::sqrt(off * off + dot(d, d));
  }
  return off <= 1e-6 && std::hypot(p.x, p.y, p.z) <= kMostOfAnArm;  // NaN is not
}

/// Why an arm cannot be controlled, in a sentence that names the joint; '' if it can be.
inline std::string refuse(const Arm & arm)
{
  const auto & joints = arm.joints;
  if (joints.empty() || joints.size() > kMaxJoints || joints.size() != arm.n()) {
    return "name the arm's joints, 1 to 12, from base to tip";
  }
  if (!is_real(arm.flange) || !is_real(Pose{arm.mount, {}})) {
    return "the flange or the mount of " + arm.name + " is no rotation and position";
  }
  if (!is_real(arm.payload) || !(arm.rated_load >= 0.0)) {
    return "no arm has the payload or the rated load of " + arm.name;
  }
  double mass = 0.0;
  for (std::size_t i = 0; i < arm.n(); ++i) {
    const Link & link = arm.chain.links[i];
    const std::string joint = joints[i] + " of " + arm.name;
    if (std::count(joints.begin(), joints.end(), joints[i]) > 1) {return joint + " is there twice";}
    if (!(arm.effort[i] > 0.0 && std::isfinite(arm.effort[i]))) {
      return joint + " has no torque limit, which a controller must know";
    }
    const double least = std::min({arm.velocity[i], arm.acceleration[i], arm.effort_rate[i]});
    if (!(arm.lower[i] <= arm.upper[i] && least > 0.0)) {
      return joint + " has limits that leave it no room";
    }
    if (!arm.within_range(i, arm.home[i])) {return joint + " has a home beyond its limits";}
    if (!is_real(link.body) || !(link.rotor_inertia >= 0.0 && link.rotor_inertia <= kMostOfAnArm)) {
      return joint + " moves a link or a rotor that no real body can be";
    }
    if (!is_real(link.placement)) {
      return joint + " has a placement that is no rotation and position";
    }
    mass += link.body.mass;
  }
  return mass > 0.0 ? "" : "no link of " + arm.name + " has a mass";
}

}  // namespace franka_dynamics_controllers
