// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// Settings of the feedforward (target, command, terms, payload, gains), and why they are refused.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string>

#include "franka_dynamics_controllers/arm.hpp"

namespace franka_dynamics_controllers
{

/// What a command from upstream consists of.
enum class Command
{
  motion,       ///< positions, velocities and accelerations of all joints
  torque,       ///< a torque for each joint, to which gravity and Coriolis torque are added
  total_torque, ///< a torque for each joint, to which nothing is added
  law           ///< the torque of a law of your own, to which all terms are added: friction at
                ///< the velocities and the inertia torque of the accelerations beside it
};

/// Who compensates the tilt of a tilted mount: nobody says so, the robot does (it is set in Desk),
/// or this controller does.
enum class Tilt {unsaid, robot, node};

struct Settings
{
  Target target = kFci;
  Command command = Command::motion;
  bool coriolis = true, inertia = true;
  /// Friction torque at the command's velocity, less its uncertainty (friction.hpp).
  bool friction = false;
  /// Gravity in the base frame [m/s^2]; a tilted mount says by itself where down is.
  Three gravity_vector = kGravity;
  Tilt mount_tilt_compensated_by = Tilt::unsaid;
  /// Payload as for libfranka's setLoad, in the flange frame: mass [kg], centre of mass (3) [m],
  /// inertia about the centre of mass xx, xy, xz, yy, yz, zz [kg m^2].
  std::array<double, 10> payload{};
  bool payload_known_to_robot = true;
  double scale = 1.0;  ///< factor on Coriolis, inertia and friction torque, 0 to 1
  Vector kp{}, kd{};   ///< optional joint PD [N m/rad, N m s/rad]

  /// The true gravity in the axes of the space frame [m/s^2].
  Three gravity(const Arm & arm) const noexcept
  {
    const bool mounted = arm.is_tilted() && gravity_vector == kGravity;
    return mounted ? gravity_vector : arm.mount * gravity_vector;
  }
  /// Whether gravity is not along the negative z axis of the base: the mount or gravity_vector may
  /// say so.
  bool is_tilted(const Arm & arm) const noexcept
  {
    const auto [x, y, z] = gravity(arm);
    return arm.is_tilted() || std::hypot(x, y) > kMinRotationRad * std::hypot(x, y, z) || z > 0.0;
  }
  /// The gravity that a robot compensates, in the axes of the space frame [m/s^2].
  Three gravity_of_robot(const Arm & arm) const noexcept
  {
    return mount_tilt_compensated_by == Tilt::robot ? gravity(arm) : arm.mount * kGravity;
  }
};

/// A number for a sentence.
inline std::string written(double number)
{
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6g", number);
  return text.data();
}

/// Why a payload is refused, or ''.
inline std::string refuse_payload(const Arm & arm, const std::array<double, 10> & payload)
{
  const auto & [mass, x, y, z, A, B, C, D, E, F] = payload;
  const auto finite = [](double v) {return std::isfinite(v);};
  const double most = mass * kMaxPayloadDistanceM * kMaxPayloadDistanceM;  // inertia
  if (!std::all_of(payload.begin(), payload.end(), finite)) {
    return "payload must be ten finite numbers in kg, m and kg m^2";
  }
  if (mass < 0.0) {return "payload: a mass cannot be negative";}
  if (mass == 0.0) {
    const bool empty = payload == std::array<double, 10>{};
    return empty ? "" : "payload has no mass but a centre of mass or an inertia";
  }
  if (mass > kMaxPayloadKg) {
    return "payload: no arm carries more than " + written(kMaxPayloadKg) + " kg; are these grams?";
  }
  if (mass > arm.rated_load) {
    return "payload: " + written(mass) + " kg are more than the rated load of " + arm.name + ", " +
           written(arm.rated_load) + " kg beside what it carries already";
  }
  if (std::hypot(x, y, z) > kMaxPayloadDistanceM) {
    return "payload: its centre of mass is more than " + written(kMaxPayloadDistanceM) +
           " m from the flange; are these millimetres?";
  }
  if (std::any_of(payload.begin() + 4, payload.end(), [=](double v) {return std::abs(v) > most;})) {
    return "payload: its inertia is larger than that of any body within " +
           written(kMaxPayloadDistanceM) + " m of its centre";
  }
  return is_real(symmetric({A, B, C, D, E, F}), A + D + F) ? "" :
         "payload: this inertia belongs to no real body (A + B >= C is violated)";
}

/// Why gravity_vector or mount_tilt_compensated_by is refused, or ''.
inline std::string refuse_gravity(const Arm & arm, const Settings & s)
{
  const auto & [x, y, z] = s.gravity_vector;
  const Three gravity = s.gravity(arm);
  const double length = std::hypot(x, y, z), sideways = std::hypot(gravity.x, gravity.y);
  const bool said = s.mount_tilt_compensated_by != Tilt::unsaid, tilted = arm.is_tilted();
  const bool adds = s.target.adds_gravity;
  const auto usual = [](double g) {return std::abs(g) <= kMaxGravityMS2;};  // NaN is not
  if (!usual(x) || !usual(y) || !usual(z)) {
    return "gravity_vector must be three numbers of at most " + written(kMaxGravityMS2) + " m/s^2";
  }
  if (adds && !(length >= kMinEarthGravityMS2 && length <= kMaxEarthGravityMS2)) {
    return "the target compensates gravity by itself: the length of gravity_vector must be " +
           written(kMinEarthGravityMS2) + " to " + written(kMaxEarthGravityMS2) + " m/s^2";
  }
  if (tilted && (gravity.z > 0.0 || sideways > kMaxDirectionErrorRad * length)) {
    return "the mount of " + arm.name + " is tilted and says where down is, in another direction "
           "than gravity_vector: leave gravity_vector out";
  }
  if (said && !adds) {
    return "mount_tilt_compensated_by is set, but the target compensates no gravity: leave it empty";
  }
  if (!said && adds && s.is_tilted(arm)) {
    const std::string cause = tilted ? "the mount of " + arm.name : "gravity_vector";
    return "the base is tilted, says " + cause + ", and the target compensates gravity for the "
           "mounting set in Desk: set mount_tilt_compensated_by to robot if this tilt is set there, "
           "or to node if Desk says upright";
  }
  return "";
}

/// Why a command from upstream leaves one of the settings without any effect, or ''.
inline std::string refuse_unused(const Settings & s)
{
  const bool torques = s.command == Command::torque, total = s.command == Command::total_torque;
  if ((torques || total) && s.friction) {
    return "terms.friction needs a velocity, and torques alone bring none: command torques with "
           "velocities and accelerations (reference: law) or a motion (reference: motion), or "
           "leave terms.friction out";
  }
  if (total && (s.scale != 1.0 || !s.coriolis || !s.inertia)) {
    return "nothing is added to total torques: leave scale and terms out, or take another "
           "reference than total_torque";
  }
  return "";
}

/// Why settings cannot be used on this arm, or ''.
inline std::string refuse(const Arm & arm, const Settings & s)
{
  for (std::size_t i = 0; i < arm.n(); ++i) {
    const double kp = kMaxKpRatio * arm.effort[i], kd = kMaxKdRatio * arm.effort[i];
    if (!(s.kp[i] >= 0.0 && s.kp[i] <= kp && s.kd[i] >= 0.0 && s.kd[i] <= kd)) {
      return "kp and kd of " + arm.joints[i] + " must be within 0 and " + written(kp) + " and " +
             written(kd) + ", " + written(kMaxKpRatio) + " and " + written(kMaxKdRatio) +
             " times its torque limit";
    }
    if (s.command != Command::motion && (s.kp[i] > 0.0 || s.kd[i] > 0.0)) {
      return "kp and kd follow a motion; beside torques from upstream they must be 0";
    }
  }
  if (!(s.scale >= kMinScale && s.scale <= kMaxScale)) {
    return "scale must be within " + written(kMinScale) + " and " + written(kMaxScale);
  }
  if (s.friction && arm.friction.kind == FrictionModel::Kind::none) {
    return "terms.friction is on, but " + arm.name + " has no friction model";
  }
  for (const auto & reason : {refuse_unused(s), refuse_gravity(arm, s)}) {
    if (!reason.empty()) {return reason;}
  }
  return refuse_payload(arm, s.payload);
}

}  // namespace franka_dynamics_controllers
