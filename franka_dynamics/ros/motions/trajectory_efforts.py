# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Computes the feedforward torques of a whole motion, for joint_trajectory_controller."""

import numpy as np

from ...arrays import Array
from ...control.control_law import ControlLaw
from ...control.limits import MAX_STEP_S, MAX_TORQUE_RATE_NM_S
from ...motion.trajectory import (
    MAX_ROUNDING_ERROR,
    ReferencePoint,
    rest_states,
    Trajectory,
)


def trajectory_efforts(law: ControlLaw, trajectory: Trajectory) -> Array:
    """
    Return a law's feedforward torques at a trajectory's k points, (k, n) [N m], within limits.

    Maxwell-slip friction depends on the displacement, so it is computed for the whole motion at
    once.
    """
    q = trajectory.positions
    dq = trajectory.velocities
    points = [ReferencePoint(*state) for state in trajectory.states]
    terms = [law.terms.terms_at(0.0, point.q, point.dq, point) for point in points]
    loads = np.array([state_terms.rigid_torque for state_terms in terms])
    frictions = law.terms.friction.torque_along(q, dq, loads)
    efforts = [law.feedforward_torque(*pair) + law.terms.offset for pair in zip(terms, frictions)]
    limit = law.arm.limit('effort')
    return np.clip(np.array(efforts), -limit, limit)


def motion_with_efforts(law: ControlLaw, motion: Trajectory) -> tuple[Trajectory, Array]:
    """
    Return the motion, made to end without acceleration, and feedforward torques (k, n) [N m].

    joint_trajectory_controller repeats the last point, effort included, until another goal comes.
    A motion that ends while decelerating, as MoveIt's plans do, would leave the torque M ddq on
    the arm at rest. It gets one more point at rest at the same position, after the time that the
    change of torque takes at MAX_TORQUE_RATE_NM_S.
    """
    if np.abs(motion.accelerations[-1]).max() < MAX_ROUNDING_ERROR:
        return motion, trajectory_efforts(law, motion)
    end = motion.times[-1:]
    rest = rest_states(motion.positions[-1:])
    efforts = trajectory_efforts(law, motion.extended_by(end + MAX_STEP_S, rest))
    duration = np.abs(efforts[-1] - efforts[-2]).max() / MAX_TORQUE_RATE_NM_S
    return motion.extended_by(end + max(MAX_STEP_S, duration), rest), efforts
