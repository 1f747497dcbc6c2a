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
  static constexpr std::size_t kOffset = 2;   ///< place of the offset in `coefficients`
  static constexpr std::size_t kSliding = 3;  ///< number of coefficients before the elements'
  static constexpr std::size_t kMaxElements = 8;
  static constexpr std::size_t kMost = kSliding + kMaxElements + 2;  ///< coefficients of a joint

  Kind kind = Kind::none;
  std::size_t elements = 0;      ///< number of Maxwell-slip elements of each joint
  bool falls_with_speed = false;  ///< whether there is a coefficient of that (linear)
  bool grows_with_load = false;  ///< whether the last coefficient is that of the load (linear)
  /// Of each joint amplitude, slope and offset (sigmoid), or viscous, Coulomb, offset, Maxwell-slip
  /// coefficients, and those of what falls with speed and grows with the load (linear), and their covariance.
  std::array<std::array<double, kMost>, kMaxJoints> coefficients{};
  std::array<std::array<std::array<double, kMost>, kMost>, kMaxJoints> covariance{};
  std::array<double, kMaxElements> reach{};  ///< of the elements [rad]
  double width = 1.0;                        ///< of the Coulomb friction's tanh [rad/s]
  double stribeck_speed = 1.0;               ///< at which 63 % of what falls has gone [rad/s]
  /// In place of a linear model's offset where the target adds gravity by its own model [N m].
  Vector receiver_offset{};

  /// The number of coefficients of a linear model.
  std::size_t count() const noexcept
  {
    return kSliding + elements + (falls_with_speed ? 1 : 0) + (grows_with_load ? 1 : 0);
  }

  /// The friction of a joint that falls with speed, where it has `sliding` = tanh(dq / width).
  double falling(double coefficient, double sliding, double dq) const noexcept
  {
    return coefficient * sliding * std::exp(-std::abs(dq) / stribeck_speed);
  }
};

/// An arm with its hand and payload, as the control cycle needs it.
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
  Vector stiction{};  ///< change of torque below which friction may hold a joint [N m]

  std::size_t n() const noexcept {return chain.n;}

  /// Whether the base's z axis is not vertical.
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

/// Set the least stiction, of an arm of which no friction is known.
inline void set_least_stiction(Arm & arm) noexcept
{
  for (std::size_t i = 0; i < arm.n(); ++i) {
    arm.stiction[i] = kMinStictionToLimit * arm.effort[i];
  }
}

/// The largest number in an arm; products of a few of them are finite.
constexpr double kMostOfAnArm = 1e6;

/// Whether a real body can have an inertia about its centre of mass: trace(I) / 2 1 - I is positive
/// semidefinite, of which no principal minor is negative but for rounding of numbers of a `size`.
constexpr bool is_real(const Rows & I, double size) noexcept
{
  // The second moment S = trace(I) / 2 1 - I. Its products are -I[0].y, -I[0].z and -I[1].z, which
  // occur in pairs; the determinant has the product of all three, and so the opposite sign there.
  const double half_trace = 0.5 * (I[0].x + I[1].y + I[2].z);
  const double xx = half_trace - I[0].x;
  const double yy = half_trace - I[1].y;
  const double zz = half_trace - I[2].z;
  const double xy = I[0].y;
  const double xz = I[0].z;
  const double yz = I[1].z;
  const double determinant =
    xx * (yy * zz - yz * yz) - xy * (xy * zz + xz * yz) - xz * (xy * yz + xz * yy);
  const double least = -1e-9 * size;
  // Each comparison is false for NaN.
  const bool first_minors = xx >= least && yy >= least && zz >= least;
  const bool second_minors = xx * yy - xy * xy >= least * size &&
    xx * zz - xz * xz >= least * size && yy * zz - yz * yz >= least * size;
  return first_minors && second_minors && determinant >= least * size * size;
}

/// Whether there can be such a body.
inline bool is_real(const Body & body) noexcept
{
  const auto & [mass, moment, inertia] = body;
  // Without a mass a first moment stays where it is, so that it makes the inertia impossible.
  const Three centre = mass > 0.0 ? 1.0 / mass * moment : moment;
  const Body at_centre = Pose{kIdentity, -1.0 * centre} * body;
  const double size = inertia[0].x + inertia[1].y + inertia[2].z;
  return mass >= 0.0 && mass + size <= kMostOfAnArm && is_real(at_centre.inertia, size);
}

/// Whether a pose has a position, and a matrix that is a rotation but for rounding.
inline bool is_real(const Pose & pose) noexcept
{
  const auto & [R, p] = pose;
  const Rows product = R * transposed(R);
  double error = dot(cross(R[0], R[1]), R[2]) - 1.0;  // of the determinant
  for (std::size_t i = 0; i < 3; ++i) {
    const Three difference = product[i] + -1.0 * kIdentity[i];
    error = std::sqrt(error * error + dot(difference, difference));
  }
  // Each comparison is false for NaN.
  return error <= 1e-6 && std::hypot(p.x, p.y, p.z) <= kMostOfAnArm;
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
    if (std::count(joints.begin(), joints.end(), joints[i]) > 1) {
      return joint + " is there twice";
    }
    if (!(arm.effort[i] > 0.0 && std::isfinite(arm.effort[i]))) {
      return joint + " has no torque limit, which a controller must know";
    }
    const double lowest_limit =
      std::min({arm.velocity[i], arm.acceleration[i], arm.effort_rate[i]});
    if (!(arm.lower[i] <= arm.upper[i] && lowest_limit > 0.0)) {
      return joint + " has limits that leave it no room";
    }
    if (!arm.within_range(i, arm.home[i])) {
      return joint + " has a home beyond its limits";
    }
    const bool has_rotor = link.rotor_inertia >= 0.0 && link.rotor_inertia <= kMostOfAnArm;
    if (!is_real(link.body) || !has_rotor) {
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
