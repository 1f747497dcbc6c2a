// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// Constants, targets and status words of the Python controller: written by `make generated`.
#pragma once

#include "franka_dynamics_controllers/dynamics.hpp"

namespace franka_dynamics_controllers
{

/// A receiver of the torques, and whether it adds gravity torque to them, so that only what its
/// model lacks is commanded.
struct Target
{
  const char * name;
  bool adds_gravity;
};

constexpr double kMaxTorqueRateNmS = 1000.0;
constexpr double kMaxStepS = 0.001;
constexpr double kMaxBrakingDecelerationRadS2 = 30.0;
constexpr double kBrakingTimeConstantS = 0.03;
constexpr double kRampDurationS = 0.2;
constexpr double kPositionToleranceRad = 0.2;
constexpr double kMaxPossibleVelocityRadS = 1000.0;
constexpr int kMinGoodStateCount = 20;
constexpr double kCommandTimeoutS = 0.05;
constexpr double kMinTimeConstantToAgeRatio = 3.0;
constexpr double kMinBrakingTimeS = 0.05;
constexpr double kMaxBrakedSpeedToLimit = 2.0;
constexpr double kMaxBrakingTimeS = 1.0;
constexpr double kMaxStoppedSpeedRadS = 0.04;
constexpr double kUnseenStopTimeConstantS = 0.1;
constexpr double kUnseenStopTimeS = 0.25;
constexpr double kMaxStartDistanceRad = 0.1;
constexpr double kMaxRestSpeedRadS = 0.02;
constexpr double kMinFrictionSpeedRadS = 0.005;
constexpr double kFrictionMarginStdCount = 2.0;
constexpr double kMaxFrictionLeadRadS = 0.05;
constexpr double kMaxStateGapS = 0.05;
constexpr double kMaxKpRatio = 25.0;
constexpr double kMaxKdRatio = 3.0;
constexpr double kMaxGravityMS2 = 30.0;
constexpr double kMinEarthGravityMS2 = 9.7;
constexpr double kMaxEarthGravityMS2 = 9.9;
constexpr double kMaxDirectionErrorRad = 0.005;
constexpr double kMinRotationRad = 1e-06;
constexpr double kMaxPayloadKg = 100.0;
constexpr double kMaxPayloadDistanceM = 1.0;
constexpr double kMinScale = 0.0;
constexpr double kMaxScale = 1.0;
constexpr Three kGravity{0.0, 0.0, -9.81};  // [m/s^2] base frame

constexpr Target kFci{"fci", true};
constexpr Target kFrankaGazebo{"franka_gazebo", true};
constexpr Target kGzRos2Control{"gz_ros2_control", false};
constexpr Target kMujoco{"mujoco", false};
constexpr Target kTargets[] = {kFci, kFrankaGazebo, kGzRos2Control, kMujoco};

/// What the arm is doing.
enum class State {waiting, following, braking, holding, stopped, fault};
constexpr const char * kStateWords[] = {
  "waiting",
  "following",
  "braking",
  "holding",
  "stopped",
  "fault",
};
constexpr const char * kStateSentences[] = {
  "waiting for a first command",
  "following",
  "no sender is followed any more: braking by the model",
  "holding the arm until a command comes",
  "stopped",
  "stopped by a fault",
};

/// Whether a command was accepted (heard), or why it was refused.
enum class Answer {heard, other_publisher, wrong_size, not_finite, out_of_bounds};
constexpr const char * kAnswerWords[] = {
  "heard",
  "other publisher",
  "wrong size",
  "not finite",
  "out of bounds",
};

}  // namespace franka_dynamics_controllers
