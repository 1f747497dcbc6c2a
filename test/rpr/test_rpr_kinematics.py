# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Closed-form kinematics of the RPR arm against the Newton-Euler model of its arm file."""

from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.errors import DescriptionError, UnreachableError
from franka_dynamics.rpr.kinematics import RprKinematics

ARM = load('rpr')
RPR = RprKinematics.from_description(ARM)
ATOL = 1e-14  # lengths below a metre, a handful of products
# The square roots of the inverse lose half the digits near the edge of the reach; away from it
# 1e-15 was measured for positions.
ATOL_INVERSE = 1e-12


def positions(count, seed=0):
    """Return joint positions at which C3 and w have either sign."""
    rng = np.random.default_rng(seed)
    return rng.uniform([-np.pi, -1.2, -np.pi], [np.pi, 0.8, np.pi], (count, 3))


def test_the_flange_pose_is_the_chain_of_dh_rows():
    q = positions(500)
    np.testing.assert_allclose(
        RPR.forward(q), NewtonEulerModel(ARM).frames(q)[:, -1], rtol=0.0, atol=ATOL
    )


def test_the_geometric_jacobian_is_the_general_one():
    q = positions(500, seed=1)
    np.testing.assert_allclose(
        RPR.geometric_jacobian(q), NewtonEulerModel(ARM).jacobian(q), rtol=0.0, atol=ATOL
    )


@pytest.mark.parametrize('q', positions(5, seed=3))
def test_all_four_branches_reach_a_reached_position(q):
    target = RPR.forward(q)[:3, 3]
    branches = RPR.inverse(target)
    assert branches.shape == (4, 3)
    np.testing.assert_allclose(
        RPR.forward(branches)[:, :3, 3], np.tile(target, (4, 1)), rtol=0.0, atol=ATOL_INVERSE
    )


@pytest.mark.parametrize(
    ('target', 'sentence'),
    [
        (
            (0.1, 0.1, 0.4),
            r'\(0.1, 0.1, 0.4\) m is out of reach: it is 0.141421 m from the vertical '
            r'axis, nearer than a1 = 0.2 m',
        ),
        ((0.5, 0.1, 0.71), r'height above the shoulder, 0.41 m, exceeds a3 = 0.4 m'),
        ((0.5, 0.1, -0.11), r'height above the shoulder, -0.41 m, exceeds a3 = 0.4 m'),
    ],
)
def test_a_target_out_of_reach_says_by_which_length_it_is(target, sentence):
    with pytest.raises(UnreachableError, match=sentence):
        RPR.inverse(target)


@pytest.mark.parametrize(
    'q',
    [
        (0.3, 0.1, np.pi / 2),
        (0.3, 0.1, -np.pi / 2),
        (1.0, -0.3, np.pi / 2),
        (2.0, -0.3 - 0.4 * np.cos(0.5), 0.5),
    ],
)
def test_rounding_at_the_edge_of_the_reach_does_not_refuse_it(q):
    target = RPR.forward(q)[:3, 3]
    reached = RPR.forward(RPR.inverse(target))[:, :3, 3]
    # At the edge of the workspace a position has an error of the root of the rounding, 1e-8.
    np.testing.assert_allclose(reached, np.tile(target, (4, 1)), rtol=0.0, atol=1e-7)


def test_given_another_arm_when_read_as_rpr_then_it_is_refused():
    with pytest.raises(DescriptionError, match='fer is no RPR manipulator: its joints are revol'):
        RprKinematics.from_description(load('fer'))
    tilted = np.eye(4)
    tilted[0, 3] = 0.1
    with pytest.raises(DescriptionError, match='not in the frames of Busellato 2023'):
        RprKinematics.from_description(replace(ARM, base=tilted))


@pytest.mark.parametrize('seed', range(3))
def test_inverse_within_limits_gives_just_the_branches_within(seed):
    rng = np.random.default_rng(seed)
    lower = np.array([-2.0, -0.25, -2.5]) + rng.uniform(-0.3, 0.3, 3) * [1.0, 0.1, 1.0]
    upper = np.array([2.5, 0.25, 4.5])
    q = rng.uniform(lower, upper)
    position = RPR.forward(q)[:3, 3]
    found = RPR.inverse_within(position, lower, upper)
    for branch in found:
        assert ((lower <= branch + 1e-12) & (branch <= upper + 1e-12)).all()
        np.testing.assert_allclose(RPR.forward(branch)[:3, 3], position, rtol=0.0, atol=1e-13)
    # q is among them, up to whole turns.
    away = np.abs(np.sin(0.5 * (found - q)[:, [0, 2]])).max(axis=1) + np.abs(found - q)[:, 1]
    assert away.min() < 1e-7
    margins = np.minimum(found - lower, upper - found) / (upper - lower)
    assert (np.diff(margins.min(axis=1)) <= 1e-12).all()


def test_a_point_beyond_the_limits_is_refused_naming_the_joint():
    with pytest.raises(UnreachableError, match=r'branch needs d2 = .*, outside -0\.3 to 0\.3'):
        RPR.inverse_within([1.5, 0.0, 0.3], ARM.limit('lower'), ARM.limit('upper'))
