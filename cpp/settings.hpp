// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// Settings of the feedforward (target, terms, payload, gains), and the checks that refuse them.
#ifndef @GUARD@_SETTINGS_HPP
#define @GUARD@_SETTINGS_HPP

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "@NAME@/arm.hpp"

namespace @NAME@
{

using Vector = std::array<double, kJoints>;
using Matrix = std::array<std::array<double, kJoints>, kJoints>;

inline bool all_finite(const Vector & values) noexcept
{
  return std::all_of(values.begin(), values.end(), [](double x) {return std::isfinite(x);});
}

/// Whether a joint can be at a position; an encoder may read up to kSlack past a limit.
inline bool within_range(std::size_t joint, double position) noexcept
{
  constexpr double kSlack = 0.2;  // [rad]
  return position >= kLower[joint] - kSlack && position <= kUpper[joint] + kSlack;
}

/// What the receiver of the commanded torques adds to them, and where commands start and stop.
struct Target
{
  bool receiver_adds_gravity;   ///< so only gravity torque that its model lacks is commanded
  bool receiver_adds_friction;  ///< so no friction torque may be commanded
  bool start_at_gravity;        ///< the first command is the gravity torque; otherwise zero
  bool stop_at_gravity;         ///< the stop sequence ends at the gravity torque; otherwise zero
};

constexpr Target kFci{true, true, false, false};           // the arm adds gravity and friction
constexpr Target kFrankaGazebo{true, false, false, false};  // franka_ros2's Gazebo plugin
constexpr Target kGzRos2Control{false, false, true, true};  // the simulator compensates nothing
constexpr Target kMujoco{false, false, true, true};

struct Settings
{
  Target target = kFci;
  bool gravity = true, coriolis = true, inertia = true;
  /// Friction torque at the reference's velocity, less its uncertainty (friction.hpp).
  bool friction = false;
  /// Coriolis and inertia torque at the reference's state instead of the measured one.
  bool at_reference = false;
  /// Gravity in the base frame [m/s^2]; targets that compensate gravity assume (0, 0, -9.81).
  std::array<double, 3> gravity_vector{0.0, 0.0, -9.81};
  /// Payload as for libfranka's setLoad, in the flange frame: mass [kg], centre of mass (3) [m],
  /// inertia about the centre of mass xx, xy, xz, yy, yz, zz [kg m^2].
  std::array<double, 10> payload{};
  bool payload_known_to_robot = true;
  double max_payload = 0.0;  ///< largest payload accepted [kg]; 0: the arm's rated load
  double scale = 1.0;        ///< factor on Coriolis, inertia and friction torque, 0 to 1
  double ramp_time = 0.2;    ///< time in which a step of the command is faded out [s]
  /// The torque given to update() comes from a controller upstream. If that torque ceases, the
  /// gravity torque that the target does not add is commanded here, even if `gravity` is false.
  bool torque_from_upstream = false;
  Vector kp{}, kd{};         ///< optional joint PD [N m/rad, N m s/rad]
  /// Largest distance of a joint from its reference [rad]; at more the arm is stopped (0: never).
  Vector max_tracking_error = filled(0.2);

  static constexpr Vector filled(double value) noexcept
  {
    Vector values{};
    for (std::size_t i = 0; i < kJoints; ++i) {
      values[i] = value;
    }
    return values;
  }
};

/// Why a payload is refused, or nullptr.
inline const char * refuse_payload(const Settings & s) noexcept
{
  // Bounds far above any arm's payload, to find masses in grams and lengths in millimetres.
  constexpr double kMostMass = 100.0, kMostLever = 1.0;
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
  if (mass > kMostMass) {
    return "payload: no arm carries more than 100 kg; are these grams?";
  }
  if (mass > (s.max_payload > 0.0 ? s.max_payload : kRatedLoad)) {
    return "payload: more than the rated load of @ARM@, or than max_payload";
  }
  if (std::hypot(s.payload[1], s.payload[2], s.payload[3]) > kMostLever) {
    return "payload: its centre of mass is more than 1 m from the flange; are these millimetres?";
  }
  for (std::size_t i = 4; i < s.payload.size(); ++i) {
    if (std::abs(s.payload[i]) > mass * kMostLever * kMostLever) {
      return "payload: its inertia is larger than that of any body within 1 m of its centre";
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
  // Largest gains relative to the torque limit [1/rad], [s/rad], as in the Python node.
  constexpr double kMostStiffness = 25.0, kMostDamping = 3.0;
  for (std::size_t i = 0; i < kJoints; ++i) {
    if (!(s.kp[i] >= 0.0 && s.kp[i] <= kMostStiffness * kEffort[i] &&
      s.kd[i] >= 0.0 && s.kd[i] <= kMostDamping * kEffort[i]))
    {
      return "kp and kd must be within 0 and 25 and 3 times the joint's torque limit";
    }
    if (!(s.max_tracking_error[i] >= 0.0)) {
      return "max_tracking_error must not be negative";
    }
  }
@BOUNDS@
  if (s.torque_from_upstream && (s.kp != Vector{} || s.kd != Vector{})) {
    return "kp and kd follow a motion; beside torques from upstream they must be 0";
  }
  double length = 0.0;
  for (double g : s.gravity_vector) {
    length += g * g;
    if (!(std::abs(g) <= 30.0)) {
      return "gravity_vector must be three numbers of at most 30 m/s^2";
    }
  }
  length = std::sqrt(length);
  if (s.target.receiver_adds_gravity && !(length >= 9.7 && length <= 9.9)) {
    return "the target compensates gravity by itself, with 9.81 m/s^2: the length of "
           "gravity_vector must be 9.7 to 9.9 m/s^2";
  }
  if ((kBaseInclined && s.target.receiver_adds_gravity) ||
    (kBaseRotated && (s.gravity_vector[0] != 0.0 || s.gravity_vector[1] != 0.0)))
  {
    return "the arm file rotates the base, and then this gravity_vector cannot be used with this "
           "target: leave the base unrotated there, and set gravity_vector in the base frame";
  }
  if (s.friction && kFriction == FrictionKind::none) {
    return "terms.friction is on, but the arm file had no friction model";
  }
  if (s.friction && s.target.receiver_adds_friction) {
    return "terms.friction is on, but the target compensates friction by itself; friction "
           "compensated twice can set the arm in motion";
  }
  return refuse_payload(s);
}

}  // namespace @NAME@

#endif  // @GUARD@_SETTINGS_HPP
