# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Goals of a trajectory controller: filled with torques, or refused."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.interpolate import CubicHermiteSpline

from franka_dynamics.arm import load
from franka_dynamics.control.control_law import ControlLaw
from franka_dynamics.control.reference_request import TrajectoryRequest
from franka_dynamics.control.settings import Settings
from franka_dynamics.control.trajectory_goal import (
    code_of_refusal,
    fill,
    GoalError,
    with_accelerations,
)
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.errors import ReferenceRefusedError

ARM = load('fr3')
LAW = ControlLaw(ARM, Settings(target='fci'))
TIMES = np.linspace(0.0, 2.0, 21)
# A motion from rest to rest, known in closed form.
PHASE = 0.5 * np.pi * TIMES
Q = ARM.home + 0.1 * (1.0 - np.cos(2.0 * PHASE))[:, None]
DQ = np.repeat(0.1 * np.pi * np.sin(2.0 * PHASE)[:, None], 7, axis=1)
DDQ = np.repeat(0.1 * np.pi**2 * np.cos(2.0 * PHASE)[:, None], 7, axis=1)
DQ[[0, -1]] = 0.0
GOAL = TrajectoryRequest(ARM.joint_names, TIMES, Q, DQ, DDQ)


def test_torques_are_inverse_dynamics_and_the_start_is_kept():
    filled = fill(GOAL, LAW, 5.0, Q[0])
    expected = NewtonEulerModel(ARM, (0.0, 0.0, 0.0)).inverse_dynamics(Q, DQ, DDQ)
    np.testing.assert_allclose(filled.efforts, expected, rtol=0.0, atol=1e-9)
    assert filled.start == 0.0
    assert fill(replace(GOAL, start=6.0), LAW, 5.0, Q[0]).start == 6.0


@pytest.mark.parametrize(
    'kept', [{'accelerations': None}, dict.fromkeys(('velocities', 'accelerations'))]
)
def test_missing_accelerations_are_found(kept):
    # At an end that begins with an acceleration they cannot be: there the arm is at rest.
    filled = fill(replace(GOAL, **kept), LAW, 5.0, Q[0])
    inner = slice(4, -4)
    np.testing.assert_allclose(filled.motion.accelerations[inner], DDQ[inner], rtol=0.0, atol=0.04)
    assert np.abs(filled.efforts[inner]).max() > 0.5


def test_completed_accelerations_are_means_of_scipys_cubics():
    full = with_accelerations(replace(GOAL, accelerations=None))
    spline = CubicHermiteSpline(TIMES, Q, DQ)
    near = 1e-9
    both = [spline(TIMES[1:-1] + side * near, 2) for side in (-1.0, 1.0)]
    np.testing.assert_allclose(full.accelerations[1:-1], np.mean(both, axis=0), atol=1e-6)
    assert not full.accelerations[[0, -1]].any()
    assert full.velocities is DQ  # and positions are kept
    assert full.positions is Q


@pytest.mark.parametrize(
    ('changes', 'code', 'words'),
    [
        (
            {'joint_names': ('a', *ARM.joint_names[1:])},
            GoalError.INVALID_JOINTS,
            'exactly the joints',
        ),
        ({'positions': Q * np.nan}, GoalError.INVALID_GOAL, 'not finite'),
        ({'start': 1.0}, GoalError.OLD_HEADER_TIMESTAMP, 'ago'),
        (
            {'times': TIMES / 10.0, 'velocities': None, 'accelerations': None},
            GoalError.INVALID_GOAL,
            'limits',
        ),
    ],
)
def test_what_references_refuse_is_refused_with_its_code(changes, code, words):
    request = replace(GOAL, **changes)
    with pytest.raises(ReferenceRefusedError, match=words):
        fill(request, LAW, 5.0, Q[0])
    assert code_of_refusal(request, ARM, 5.0) is code


def test_one_point_at_time_zero_is_no_goal():
    with pytest.raises(ReferenceRefusedError, match='a step'):
        fill(TrajectoryRequest(ARM.joint_names, np.zeros(1), Q[:1]), LAW, 5.0, Q[0])


def test_one_later_point_is_led_to():
    goal = TrajectoryRequest(ARM.joint_names, np.array([2.0]), Q[:1] + 0.2)
    filled = fill(goal, LAW, 5.0, Q[0])
    np.testing.assert_allclose(filled.motion.positions[[0, -1]], [Q[0], Q[0] + 0.2], atol=1e-12)
