// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// Reasons why torques end or do not begin, with their words: the tables of
// franka_dynamics/control/ending.py, written by `make generated`.
#pragma once

#include "franka_dynamics_controllers/core_table.hpp"

namespace franka_dynamics_controllers
{

/// Why torques end or do not begin; `none` is no reason.
enum class ReasonCode {none, caller_text, no_state, states_awaited, few_states, silence, states_missing, rare_states, coarse_stamps, stale, stamp_ahead, stale_at_start, stamp_repeated, clock_set_back, value_not_finite, impossible_value, effort_not_n_m, position_leap, wrong_velocity, zero_velocities, frozen_positions, kp_too_large, kd_too_large, kp_pulls, large_disturbance, joint_too_fast, braking_failed, torque_not_finite, own_law_ceased, not_carried};
/// Their texts, with places for a name or a number in Python's format.
constexpr const char * kReasonTexts[] = {
  "",
  "{text}",
  "no joint state has come yet",
  "good joint states are awaited",
  "{good} of {needed} good joint states have come",
  "no new joint state for {silence:.0f} ms",
  "{gap:.0f} ms of joint states are missing",
  "joint states come at {rate:.0f} Hz, but {least:.0f} Hz are needed; {advice}",
  "the times of joint states come in steps of {step:.3g} ms, several states at a time: give each state its own time",
  "joint states are {age:.4g} ms old ({most:.0f} are allowed); {advice}",
  "joint states are {age:.4g} ms ahead of the clock ({most:.0f} allowed); {advice}",
  "joint states are {age:.0f} ms old ({most:.0f} are allowed at the first torque); {advice}",
  "the time of joint states does not go on ({stamp:g} s again)",
  "the clock of the joint states was set back",
  "the {what} of {joint} is {value:.4g}",
  "the {what} of {joint} is {value:.4g}, and can be {least:.4g} to {most:.4g}; check its driver, the order of the joints and the units (radians, N m)",
  "the effort of {joint} is {value:.4g}, more than {times:g} times its torque limit: {stop}efforts are not in {effort_unit} (currents in A or mA are not torques), or somebody else sends torques, too",
  "{joint} moved by {moved:.3g} {unit} in {gap:.3g} s, faster than it can; check its driver, the units of velocity and time, whether two sources send joint states, and whether a simulation runs slower than its stamps; where a simulation was set back, the controller must be reset, too",
  "{joint} is {moved:.3g} {unit} from where its velocity ({velocity:.3g} {unit}/s) takes it; check its driver, the units of velocity and time, whether two sources send joint states, and whether a simulation runs slower than its stamps; where a simulation was set back, the controller must be reset, too",
  "all velocities are zero; {joint} moved {moved:.3g} {unit}: check its driver",
  "all positions stand still bit for bit for {silence:.0f} ms, though the arm must move: its driver repeats an old state, or brakes hold it",
  "kp of {joint} is {kp:g}, its kd {kd:g}, and torques are {delay:.1f} ms late: the arm would swing; use {remedy}, or take fresher states",
  "kd makes velocities decay at {rate:.0f} 1/s, and torques are {delay:.1f} ms late: the arm would swing; use at most {share:.2g} of this kd, or take joint states at a higher rate; a simulated arm bears more if its description has the drives' inertia",
  "kp of {joint} cannot grow while this joint is more than {most:g} {unit} from the motion that is followed: it would be pulled there; end the motion first",
  "the {kind} torque of {joint} departs by {torque} {unit} from {other} ({most} are allowed): {causes}",
  "{joint} moves at {velocity:.2f} {unit}/s; at most {most:.2f} are allowed ({share:g} of its limit, {following:g} while a reference moves){causes}",
  "{joint} moves at {velocity:.2f} {unit}/s in spite of braking: torques do not act as they are sent",
  "the computed torque is not finite",
  "the torques of your own law have ceased while the arm moves",
  "g(q) does not carry the arm, which is held: {excess}; a further stop lets go of it",
};

/// The cause of what can be wrong with a joint state.
constexpr Cause cause_of(ReasonCode code) noexcept
{
  switch (code) {
    case ReasonCode::silence:
    case ReasonCode::states_missing:
    case ReasonCode::rare_states:
    case ReasonCode::coarse_stamps:
    case ReasonCode::stale:
    case ReasonCode::stamp_ahead:
    case ReasonCode::clock_set_back:
    case ReasonCode::value_not_finite:
      return Cause::states_lost;
    case ReasonCode::impossible_value:
    case ReasonCode::effort_not_n_m:
    case ReasonCode::position_leap:
    case ReasonCode::wrong_velocity:
    case ReasonCode::zero_velocities:
    case ReasonCode::frozen_positions:
      return Cause::state_impossible;
    default:
      return Cause::states_lost;
  }
}

/// The two torques that differ, and the direction in which they do.
enum class Compared {measured_and_commanded, measured_and_needed, sent_and_needed};
enum class Along {gravity, against_gravity, neither};
/// Probable causes of an excess torque, for each of Compared those of each of Along.
constexpr const char * kCausesOfExcess[] = {
  "g(q) or a load is added twice (the receiver, Desk?), the receiver still applies an earlier torque, or somebody else sends",
  "no torque arrives, or nobody adds the g(q) that target {target} expects",
  "somebody else sends torques, too, or the joints have another order",
  "a payload or hand that nobody declared, something touches the arm, or other units",
  "a load that is not there, a wrong gravity_vector, or efforts that lack gravity or are currents, as a UR's (let it publish joint states without efforts)",
  "target {target} (who adds g(q)?), payload, gravity_vector or the order of joints are wrong, or something touches the arm",
  "a payload or hand that nobody declared, or nobody adds the g(q) that target {target} expects",
  "the receiver adds g(q), which target {target} takes for missing, a load is not there, or gravity_vector is wrong",
  "target {target} (who adds g(q)?), payload, gravity_vector or the order of joints are wrong, or something touches the arm",
};
constexpr const char * kCauseOfOwnTorque =
  "the torque of your own law presses a joint against its stop or an obstacle";
/// A joint that is pressed towards a limit at which it is.
constexpr const char * kJointAtStop = "{joint} is at its {side} limit, and may have hit its stop";
/// A load [kg] that alone explains an external torque.
constexpr const char * kAbsentLoad = "{mass:.2g} kg are declared that the motion does not show";
constexpr const char * kUndeclaredLoad = "about {mass:.1f} kg at the flange that nobody declared";

}  // namespace franka_dynamics_controllers
