// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// Settings of the feedforward, and why they are refused: target, command, terms, gravity, payload
// and gains.
#pragma once

#include <cmath>
#include <cstddef>
#include <string>

#include "franka_dynamics_controllers/arm.hpp"
#include "franka_dynamics_controllers/payload.hpp"
#include "franka_dynamics_controllers/text.hpp"

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

/// Whether measured torques contain joint friction: as those of the target do, or said here.
enum class EffortFriction {automatic, included, excluded};

/// Which joint states can be used, and who calls; they stay while torques are computed.
struct StateLimits
{
  double period = kMaxStepS;                       ///< expected between two joint states [s]
  double min_input_rate = kDefaultMinInputRate;    ///< lowest rate of joint states [Hz]
  double state_timeout = kDefaultStateTimeout;     ///< longest time without a state [s]
  double max_state_age = kDefaultMaxStateAge;      ///< [s]; 0: ages are not used
  EffortFriction effort_friction = EffortFriction::automatic;
  bool held_until_commanded = false;  ///< brakes carry the arm until the first torque comes
  bool in_loop = true;                ///< each torque is applied, also in State::silent
};

/// What torques are to be computed, and for whom. refuse() checks the fields together.
struct Settings
{
  Target target = kFci;  ///< who receives the torques
  Command command = Command::motion;

  /// Whether each joint state is compared with the model before a torque goes out. Without the guard
  /// values must be possible, and no more.
  bool guard = true;

  // Terms that are added to the part of the gravity torque that the target does not add.
  bool coriolis = true;
  bool inertia = true;
  bool friction = false;  ///< at the command's velocity, less its uncertainty (friction.hpp)
  /// The friction model's offset, `receiver_offset` for a target that adds gravity: constant while
  /// a motion or a law is commanded, and no part of `scale`.
  bool offset = false;

  Three gravity_vector = kGravity;  ///< in the base frame [m/s^2]
  Tilt mount_tilt_compensated_by = Tilt::unsaid;

  Payload payload{};  ///< beside what the arm carries already
  bool payload_known_to_robot = true;

  double scale = 1.0;  ///< factor on Coriolis, inertia and friction torque, 0 to 1
  double friction_scale = 1.0;  ///< further factor on friction alone, 0 to 1

  // Optional joint PD.
  Vector kp{};  ///< [N m/rad or N/m]
  Vector kd{};  ///< [N m s/rad or N s/m]

  /// The true gravity in the axes of the space frame {S} [m/s^2]. A tilted mount says where down
  /// is: if gravity_vector is left out (kGravity), gravity is that of {S} and not of the base.
  Three gravity_in_space(const Arm & arm) const noexcept
  {
    const bool is_left_to_mount = arm.is_tilted() && gravity_vector == kGravity;
    return is_left_to_mount ? gravity_vector : arm.mount * gravity_vector;
  }

  /// Whether gravity is not along the negative z axis of the base: the mount or gravity_vector may
  /// say so.
  bool is_tilted(const Arm & arm) const noexcept
  {
    const auto [x, y, z] = gravity_in_space(arm);
    const bool is_sideways = std::hypot(x, y) > kMinRotationRad * std::hypot(x, y, z);
    return arm.is_tilted() || is_sideways || z > 0.0;
  }

  /// The gravity that a compensating robot assumes, in the axes of {S} [m/s^2].
  Three gravity_assumed_by_receiver(const Arm & arm) const noexcept
  {
    const bool knows_tilt = mount_tilt_compensated_by == Tilt::robot;
    return knows_tilt ? gravity_in_space(arm) : arm.mount * kGravity;
  }
};

/// Why gains are refused, or ''.
inline std::string refuse_gains(const Arm & arm, const Settings & settings)
{
  for (std::size_t i = 0; i < arm.n(); ++i) {
    const double kp = settings.kp[i];
    const double kd = settings.kd[i];
    const double max_kp = kMaxKpRatio * arm.effort[i];
    const double max_kd = kMaxKdRatio * arm.effort[i];
    // Each comparison is false for NaN.
    const bool are_within_range = kp >= 0.0 && kp <= max_kp && kd >= 0.0 && kd <= max_kd;
    if (!are_within_range) {
      return "kp and kd of " + arm.joints[i] + " must be within 0 and " + as_text(max_kp) +
             " and " + as_text(max_kd) + ", " + as_text(kMaxKpRatio) + " and " +
             as_text(kMaxKdRatio) + " times its torque limit";
    }
    if (settings.command != Command::motion && (kp > 0.0 || kd > 0.0)) {
      return "kp and kd follow a motion; beside torques from upstream they must be 0";
    }
  }
  return "";
}

/// Why terms or their scale are refused, or ''; also if the command leaves one without effect.
inline std::string refuse_terms(const Arm & arm, const Settings & settings)
{
  if (!(settings.scale >= kMinScale && settings.scale <= kMaxScale)) {
    return "scale must be within " + as_text(kMinScale) + " and " + as_text(kMaxScale);
  }
  if (!(settings.friction_scale >= kMinScale && settings.friction_scale <= kMaxScale)) {
    return "friction_scale must be within " + as_text(kMinScale) + " and " + as_text(kMaxScale);
  }
  if (settings.friction && arm.friction.kind == FrictionModel::Kind::none) {
    return "terms.friction is on, but " + arm.name + " has no friction model";
  }
  if (settings.offset && arm.friction.kind != FrictionModel::Kind::linear) {
    return "terms.offset is on, but " + arm.name + " has no friction model with an offset";
  }
  const bool is_total = settings.command == Command::total_torque;
  const bool has_velocity = !is_total && settings.command != Command::torque;
  if (settings.friction && !has_velocity) {
    return "terms.friction needs a velocity, and torques alone bring none: command torques with "
           "velocities and accelerations (reference: law) or a motion (reference: motion), or "
           "leave terms.friction out";
  }
  const bool has_all_terms = settings.scale == 1.0 && settings.coriolis && settings.inertia &&
    !settings.offset;
  if (is_total && !has_all_terms) {
    return "nothing is added to total torques: leave scale and terms out, or take another "
           "reference than total_torque";
  }
  return "";
}

/// Why gravity_vector is refused beside the arm's mount and the target, or ''.
inline std::string refuse_gravity(const Arm & arm, const Settings & settings)
{
  const auto & [x, y, z] = settings.gravity_vector;
  const auto is_usual = [](double g) {return std::abs(g) <= kMaxGravityMS2;};  // false for NaN
  if (!is_usual(x) || !is_usual(y) || !is_usual(z)) {
    return "gravity_vector must be three numbers of at most " + as_text(kMaxGravityMS2) + " m/s^2";
  }
  const double length = std::hypot(x, y, z);
  const bool is_on_earth = length >= kMinEarthGravityMS2 && length <= kMaxEarthGravityMS2;
  if (settings.target.adds_gravity && !is_on_earth) {
    return "the target compensates gravity by itself: the length of gravity_vector must be " +
           as_text(kMinEarthGravityMS2) + " to " + as_text(kMaxEarthGravityMS2) + " m/s^2";
  }
  const Three gravity = settings.gravity_in_space(arm);
  const bool is_sideways = std::hypot(gravity.x, gravity.y) > kMaxDirectionErrorRad * length;
  if (arm.is_tilted() && (is_sideways || gravity.z > 0.0)) {
    return "the mount of " + arm.name + " is tilted and says where down is, in another direction "
           "than gravity_vector: leave gravity_vector out";
  }
  return "";
}

/// Why mount_tilt_compensated_by is refused, or ''.
inline std::string refuse_mount_tilt(const Arm & arm, const Settings & settings)
{
  const bool is_said = settings.mount_tilt_compensated_by != Tilt::unsaid;
  const bool adds_gravity = settings.target.adds_gravity;
  if (is_said && !adds_gravity) {
    return "mount_tilt_compensated_by is set, but the target compensates no gravity: leave it "
           "empty";
  }
  if (is_said || !adds_gravity || !settings.is_tilted(arm)) {
    return "";
  }
  const std::string cause = arm.is_tilted() ? "the mount of " + arm.name : "gravity_vector";
  return "the base is tilted, says " + cause + ", and the target compensates gravity for the "
         "mounting set in Desk: set mount_tilt_compensated_by to robot if this tilt is set there, "
         "or to node if Desk says upright";
}

/// Why settings cannot be used on this arm, or ''.
inline std::string refuse(const Arm & arm, const Settings & settings)
{
  const std::string reasons[] = {
    refuse_gains(arm, settings),
    refuse_terms(arm, settings),
    refuse_gravity(arm, settings),
    refuse_mount_tilt(arm, settings),
    refuse_payload(arm, settings.payload),
  };
  for (const std::string & reason : reasons) {
    if (!reason.empty()) {
      return reason;
    }
  }
  return "";
}

}  // namespace franka_dynamics_controllers
