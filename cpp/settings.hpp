// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// Settings of the feedforward (target, command, terms, payload, gains), and the checks that refuse
// them.
#ifndef @GUARD@_SETTINGS_HPP
#define @GUARD@_SETTINGS_HPP

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "@NAME@/arm.hpp"
#include "@NAME@/constants.hpp"

namespace @NAME@
{

using Vector = std::array<double, kJoints>;
using Matrix = std::array<std::array<double, kJoints>, kJoints>;

inline bool all_finite(const Vector & values) noexcept
{
  return std::all_of(values.begin(), values.end(), [](double x) {return std::isfinite(x);});
}

/// Whether a joint can be at a position.
inline bool within_range(std::size_t joint, double position) noexcept
{
  return std::isfinite(position) && position >= kLower[joint] - kPositionToleranceRad &&
         position <= kUpper[joint] + kPositionToleranceRad;
}

/// What a command from upstream consists of.
enum class Command
{
  motion,       ///< positions, velocities and accelerations of all joints
  torque,       ///< a torque for each joint, to which the model's torque is added
  total_torque  ///< a torque for each joint, to which nothing is added
};

struct Settings
{
  Target target = kFci;
  Command command = Command::motion;
  bool coriolis = true, inertia = true;
  /// Friction torque at the reference's velocity, less its uncertainty (friction.hpp).
  bool friction = false;
  /// Gravity in the base frame [m/s^2]; targets that compensate gravity assume kGravity.
  std::array<double, 3> gravity_vector = kGravity;
  /// Payload as for libfranka's setLoad, in the flange frame: mass [kg], centre of mass (3) [m],
  /// inertia about the centre of mass xx, xy, xz, yy, yz, zz [kg m^2].
  std::array<double, 10> payload{};
  bool payload_known_to_robot = true;
  double scale = 1.0;  ///< factor on Coriolis, inertia and friction torque, 0 to 1
  Vector kp{}, kd{};   ///< optional joint PD [N m/rad, N m s/rad]
};

/// Why a payload is refused, or nullptr.
inline const char * refuse_payload(const Settings & s) noexcept
{
  for (double x : s.payload) {
    if (!std::isfinite(x)) {
      return "payload must be ten finite numbers in kg, m and kg m^2";
    }
  }
  const double mass = s.payload[0];
  if (mass < 0.0) {
    return "payload: a mass cannot be negative";
  }
  if (mass == 0.0) {
    const bool empty = std::all_of(
      s.payload.begin(), s.payload.end(), [](double x) {return x == 0.0;});
    return empty ? nullptr : "payload has no mass but a centre of mass or an inertia";
  }
  if (mass > kMaxPayloadKg) {
    return "payload: no arm carries more than @MAX_PAYLOAD_KG@ kg; are these grams?";
  }
  if (mass > kRatedLoad) {
    return "payload: more than the rated load of @ARM@";
  }
  if (std::hypot(s.payload[1], s.payload[2], s.payload[3]) > kMaxPayloadDistanceM) {
    return "payload: its centre of mass is more than @MAX_PAYLOAD_DISTANCE_M@ m from the flange; are these millimetres?";
  }
  for (std::size_t i = 4; i < s.payload.size(); ++i) {
    if (std::abs(s.payload[i]) > mass * kMaxPayloadDistanceM * kMaxPayloadDistanceM) {
      return "payload: its inertia is larger than that of any body within @MAX_PAYLOAD_DISTANCE_M@ m of its centre";
    }
  }
  // Of a real body trace(I) / 2 1 - I is positive semidefinite: no principal minor is negative.
  const double A = s.payload[4], D = s.payload[7], F = s.payload[9];
  const double B = s.payload[5], C = s.payload[6], E = s.payload[8];
  const double half = 0.5 * (A + D + F), eps = 1e-12 * std::max(1.0, half);
  const double a = half - A, d = half - D, f = half - F;
  const double minors[] = {a, d, f, a * d - B * B, a * f - C * C, d * f - E * E,
    a * (d * f - E * E) - B * (B * f + C * E) - C * (B * E + C * d)};
  for (double minor : minors) {
    if (!(minor >= -eps)) {
      return "payload: this inertia belongs to no real body (A + B >= C is violated)";
    }
  }
  return nullptr;
}

/// Why settings cannot be used on this arm, or nullptr.
inline const char * refuse(const Settings & s) noexcept
{
  for (std::size_t i = 0; i < kJoints; ++i) {
    if (!(s.kp[i] >= 0.0 && s.kp[i] <= kMaxKpRatio * kEffort[i] &&
      s.kd[i] >= 0.0 && s.kd[i] <= kMaxKdRatio * kEffort[i]))
    {
      return "kp and kd must be within 0 and @MAX_KP_RATIO@ and @MAX_KD_RATIO@ times the joint's torque limit";
    }
  }
@BOUNDS@
  if (s.command != Command::motion && (s.kp != Vector{} || s.kd != Vector{})) {
    return "kp and kd follow a motion; beside torques from upstream they must be 0";
  }
  double length = 0.0;
  for (double g : s.gravity_vector) {
    length += g * g;
    if (!(std::abs(g) <= kMaxGravityMS2)) {
      return "gravity_vector must be three numbers of at most @MAX_GRAVITY_M_S2@ m/s^2";
    }
  }
  length = std::sqrt(length);
  if (s.target.adds_gravity && !(length >= kMinEarthGravityMS2 && length <= kMaxEarthGravityMS2)) {
    return "the target compensates gravity by itself, with @EARTH_GRAVITY@ m/s^2: the length of "
           "gravity_vector must be @MIN_EARTH_GRAVITY_M_S2@ to @MAX_EARTH_GRAVITY_M_S2@ m/s^2";
  }
  if ((kBaseInclined && s.target.adds_gravity) ||
    (kBaseRotated && (s.gravity_vector[0] != 0.0 || s.gravity_vector[1] != 0.0)))
  {
    return "the arm file or URDF rotates the base, and then this gravity_vector cannot be used with "
           "this target: generate from an upright base, and set gravity_vector in the base frame";
  }
  if (s.friction && kFriction == FrictionKind::none) {
    return "terms.friction is on, but the arm file had no friction model";
  }
  return refuse_payload(s);
}

}  // namespace @NAME@

#endif  // @GUARD@_SETTINGS_HPP
