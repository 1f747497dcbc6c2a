# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Closed-form inverse kinematics of the RPR arm against the frames of its arm file."""

from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.errors import DescriptionError, UnreachableError
from franka_dynamics.rpr.kinematics import RprKinematics

ARM = load('rpr')
RPR = RprKinematics.from_description(ARM)
# The square roots of the inverse lose half the digits near the edge of the reach; away from it
# 1e-15 was measured for positions.
ATOL_INVERSE = 1e-12


def positions(count, seed=0):
    """Return joint positions at which C3 and w have either sign."""
    rng = np.random.default_rng(seed)
    return rng.uniform([-np.pi, -1.2, -np.pi], [np.pi, 0.8, np.pi], (count, 3))


def reached(q):
    """Return the flange's positions, by the recursion in DH frames, which knows no inverse."""
    return NewtonEulerModel(ARM).frames(q)[..., -1, :3, 3]


EDGE = (
    *((0.3, 0.1, np.pi / 2), (0.3, 0.1, -np.pi / 2), (1.0, -0.3, np.pi / 2)),
    (2.0, -0.3 - 0.4 * np.cos(0.5), 0.5),
)


@pytest.mark.parametrize(
    ('q', 'atol'),
    [
        *((q, ATOL_INVERSE) for q in positions(5, seed=3)),
        # At the edge of the workspace a position has an error of the root of the rounding, 1e-8.
        *((q, 1e-7) for q in EDGE),
    ],
)
def test_all_four_branches_reach_a_reached_position(q, atol):
    target = reached(q)
    branches = RPR.inverse(target)
    assert branches.shape == (4, 3)
    np.testing.assert_allclose(reached(branches), np.tile(target, (4, 1)), rtol=0.0, atol=atol)


@pytest.mark.parametrize(
    ('target', 'named'),
    [
        ((0.1, 0.1, 0.4), '0.141421 m .* a1 = 0.2 m'),
        ((0.5, 0.1, 0.71), ' 0.41 m, .* a3 = 0.4 m'),
        ((0.5, 0.1, -0.11), '-0.41 m, .* a3 = 0.4 m'),
    ],
)
def test_a_target_out_of_reach_says_by_which_length_it_is(target, named):
    with pytest.raises(UnreachableError, match=named):
        RPR.inverse(target)


@pytest.mark.parametrize(
    ('arm', 'named'),
    [(load('fer'), 'fer'), (replace(ARM, base=np.eye(4) + 0.1 * np.eye(4, k=3)), 'rpr.yaml')],
)
def test_another_arm_is_refused(arm, named):
    with pytest.raises(DescriptionError, match=named):
        RprKinematics.from_description(arm)


@pytest.mark.parametrize('seed', range(3))
def test_inverse_within_limits_gives_just_the_branches_within(seed):
    rng = np.random.default_rng(seed)
    lower = np.array([-2.0, -0.25, -1.0]) + rng.uniform(-0.3, 0.3, 3) * [1.0, 0.1, 1.0]
    upper = np.array([2.5, 0.25, 4.5])
    q = rng.uniform(lower, upper)
    q[2] = 4.0  # the inverse gives this angle less a whole turn, which is below the limit
    position = reached(q)
    found = RPR.inverse_within(position, lower, upper)
    for branch in found:
        assert ((lower <= branch + 1e-12) & (branch <= upper + 1e-12)).all()
        np.testing.assert_allclose(reached(branch), position, rtol=0.0, atol=1e-13)
    # q is among them, up to whole turns.
    away = np.abs(np.sin(0.5 * (found - q)[:, [0, 2]])).max(axis=1) + np.abs(found - q)[:, 1]
    assert away.min() < 1e-7
    margins = np.minimum(found - lower, upper - found) / (upper - lower)
    assert (np.diff(margins.min(axis=1)) <= 1e-12).all()


def test_a_point_beyond_the_limits_is_refused_naming_the_joint():
    # d2 of the nearest branch is sqrt(1.5^2 - a1^2) - a3 - 0.3.
    with pytest.raises(UnreachableError, match=r'd2 = 0\.7866.* -0\.3 to 0\.3'):
        RPR.inverse_within([1.5, 0.0, 0.3], ARM.limit('lower'), ARM.limit('upper'))
