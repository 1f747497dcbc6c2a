// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// What the feedforward is asked to do: target, terms, payload, gains, and when that is refused.
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

/// Whether a joint can be there; an encoder may read a little past a limit.
inline bool within_range(std::size_t joint, double position) noexcept
{
  constexpr double kSlack = 0.2;  // [rad]
  return position >= kLower[joint] - kSlack && position <= kUpper[joint] + kSlack;
}

/// What a commanded torque means to whoever receives it.
struct Target
{
  bool receiver_adds_gravity;   ///< then only the difference to the true gravity is commanded
  bool receiver_adds_friction;  ///< then friction may not be commanded
  bool start_at_gravity;        ///< the first command; otherwise zero
  bool stop_at_gravity;         ///< where the stop sequence ends; otherwise zero
};

constexpr Target kFci{true, true, false, false};           // the real arm compensates both itself
constexpr Target kFrankaGazebo{true, false, false, false};  // franka_ros2's Gazebo plugin: gravity
constexpr Target kGzRos2Control{false, false, true, true};  // nobody else compensates anything
constexpr Target kMujoco{false, false, true, true};

struct Settings
{
  Target target = kFci;
  bool gravity = true, coriolis = true, inertia = true;
  /// Friction of the reference's velocity, as far as it is certain (see friction.hpp).
  bool friction = false;
  /// Coriolis and inertia torque at the reference's state instead of the measured one.
  bool at_reference = false;
  /// Gravity in the base frame [m/s^2]; targets that compensate gravity assume (0, 0, -9.81).
  std::array<double, 3> gravity_vector{0.0, 0.0, -9.81};
  /// As libfranka's setLoad: mass, centre of mass (3) in the flange frame, inertia about it in the
  /// order xx, xy, xz, yy, yz, zz.
  std::array<double, 10> payload{};
  bool payload_known_to_robot = true;
  double max_payload = 0.0;  ///< [kg] instead of the arm's rated load; 0: the rated load holds
  double scale = 1.0;        ///< of Coriolis, inertia and friction torque, 0 to 1
  double ramp_time = 0.2;    ///< in which a step of the command is faded out [s]
  /// The torque given to update() is a controller's upstream: should it cease, this one carries
  /// what gravity the target leaves to us, even if `gravity` is off.
  bool torque_from_upstream = false;
  Vector kp{}, kd{};         ///< optional joint PD [N m/rad, N m s/rad]
  /// How far a joint may be from its reference before the arm is stopped [rad]; 0: not checked.
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

/// A payload that no arm carries, or nullptr.
inline const char * refuse_payload(const Settings & s) noexcept
{
  // Far beyond any arm, so that slips of the unit are found: grams, millimetres.
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
  // A real body: half the trace times 1, less the inertia, is positive semidefinite.
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
  // [1/rad], [s/rad] Gains in shares of the torque limit, as the node bounds them.
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
    return "the target compensates gravity itself: only the direction of gravity_vector can "
           "differ (9.7 to 9.9 m/s^2 in all)";
  }
  if (s.friction && kFriction == FrictionKind::none) {
    return "terms.friction is on, but the arm file had no friction model";
  }
  if (s.friction && s.target.receiver_adds_friction) {
    return "terms.friction is on, but the target compensates friction itself; adding it twice can "
           "drive the arm by itself";
  }
  return refuse_payload(s);
}

}  // namespace @NAME@

#endif  // @GUARD@_SETTINGS_HPP
