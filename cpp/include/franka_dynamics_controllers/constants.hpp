// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// Constants, targets and status words of the Python controller: written by `make generated`.
#pragma once

#include "franka_dynamics_controllers/dynamics.hpp"

namespace franka_dynamics_controllers
{

/// A receiver of the torques. Where it adds gravity torque to them, only what its model lacks is
/// commanded. `min_rotor_inertia` is that of its joints beyond the model [kg m^2].
struct Target
{
  const char * name;
  bool adds_gravity;
  bool efforts_contain_friction;
  double min_rotor_inertia;
};

constexpr double kMaxTorqueRateNmS = 1000.0;
constexpr double kMaxStepS = 0.001;
constexpr double kMaxBrakingDecelerationRadS2 = 30.0;
constexpr double kBrakingTimeConstantS = 0.03;
constexpr double kMaxGentleSpeedRadS = 0.5;
constexpr double kMinStatePeriodS = 0.0005;
constexpr double kMaxStatePeriodS = 0.01;
constexpr double kPeriodMarginFactor = 1.05;
constexpr int kMinGoodStateCount = 20;
constexpr double kMaxPossibleVelocityRadS = 1000.0;
constexpr double kRampDurationS = 0.2;
constexpr double kAssumedFrictionDampingNmsRad = 0.2;
constexpr double kPositionToleranceRad = 0.2;
constexpr double kMaxPossibleSpeedRatio = 2.0;
constexpr double kMaxPositionDriftRad = 0.02;
constexpr double kMaxVelocityDelayS = 0.005;
constexpr double kMaxStillPositionDriftRad = 0.005;
constexpr double kDriftTimeConstantS = 0.2;
constexpr double kMaxPossibleEffortToLimit = 3.0;
constexpr double kMaxStateAgeAtStartS = 0.015;
constexpr double kMaxReorderingTimeS = 1.0;
constexpr double kMaxDisturbanceRatio = 0.2;
constexpr double kMaxStartDisturbanceRatio = 0.1;
constexpr double kMaxWristDisturbanceRatio = 0.3125;
constexpr double kMaxWristTorqueLimitNm = 20.0;
constexpr double kMaxPickUpTimeS = 2.0;
constexpr double kMaxDisturbanceTimeS = 0.02;
constexpr double kMaxCountedPeriodS = 0.01;
constexpr double kMaxBrakeReleaseTimeS = 1.0;
constexpr int kMaxEffortEchoDelaySteps = 3;
constexpr double kMinExcessToGravity = 0.3;
constexpr double kMaxUnexplainedByLoad = 0.5;
constexpr double kMinAbsentWeights = 0.5;
constexpr double kMaxAbsentWeights = 2.5;
constexpr double kMinNamedLoadKg = 0.1;
constexpr double kMaxSpeedToLimit = 0.6;
constexpr double kMaxFollowSpeedToLimit = 1.15;
constexpr double kMaxOverspeedTimeS = 0.003;
constexpr double kDrivingTorqueToStiction = 2.0;
constexpr double kObserverBandwidthRadS = 120.0;
constexpr double kObserverDampingRatio = 0.71;
constexpr double kCommandTimeoutS = 0.05;
constexpr double kMinTimeConstantToAgeRatio = 8.0;
constexpr double kMinBrakingTimeS = 0.05;
constexpr double kMaxBrakedSpeedToLimit = 2.0;
constexpr double kMaxBrakingTimeS = 1.0;
constexpr double kMaxStoppedSpeedRadS = 0.04;
constexpr double kUnseenStopTimeConstantS = 0.1;
constexpr double kUnseenStopTimeS = 0.25;
constexpr double kMaxStartDistanceRad = 0.1;
constexpr double kStreamTimeoutS = 0.5;
constexpr double kMaxRestSpeedRadS = 0.02;
constexpr double kMinMotionSpeedRadS = 0.1;
constexpr double kMinFrictionSpeedRadS = 0.005;
constexpr double kFrictionMarginStdCount = 2.0;
constexpr double kMaxFrictionLeadRadS = 0.05;
constexpr double kMinStictionToLimit = 0.02;
constexpr double kStictionMarginFactor = 1.25;
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
constexpr double kDefaultMinInputRate = 200.0;
constexpr double kDefaultStateTimeout = 0.02;
constexpr double kDefaultMaxStateAge = 0.1;
constexpr double kMinScale = 0.0;
constexpr double kMaxScale = 1.0;
constexpr Three kGravity{0.0, 0.0, -9.81};  // [m/s^2] base frame

constexpr Target kFci{"fci", true, true, 0.05};
constexpr Target kFrankaGazebo{"franka_gazebo", true, false, 0.0};
constexpr Target kGzRos2Control{"gz_ros2_control", false, false, 0.0};
constexpr Target kMujoco{"mujoco", false, false, 0.05};
constexpr Target kTargets[] = {kFci, kFrankaGazebo, kGzRos2Control, kMujoco};

/// The words of each CoreState.
constexpr const char * kStateWords[] = {
  "silent",
  "running",
  "braking",
  "holding",
  "stopping",
};

/// What a receiver of torques does.
enum class ReceiverState {waiting, following, braking, holding, stopped, fault};
constexpr const char * kReceiverWords[] = {
  "waiting",
  "following",
  "braking",
  "holding",
  "stopped",
  "fault",
};
constexpr const char * kReceiverSentences[] = {
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
