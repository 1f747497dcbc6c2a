# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Friction feedforward is zero at rest and never exceeds the arm's friction."""

import numpy as np
import pytest

from franka_dynamics.arm import load, MaxwellSlipFriction, ViscousCoulombFriction
from franka_dynamics.control.terms import FrictionFeedforward, FULL_SPEED, REST_SPEED

from ..arms import slip_states

N = 3
REACH = np.array([0.004, 0.3])
ROUNDING_NM = 1e-12


def maxwell(coefficients, deviations=None):
    return MaxwellSlipFriction(*coefficients[:4], coefficients[4:], REACH, deviations=deviations)


def random_friction(rng, least=-0.1):
    """Return an identified friction: no coefficient is certain, some are not identifiable."""
    return maxwell(rng.uniform(least, 1.0, (6, N)), rng.uniform(0.0, 0.1, (6, N)))


def path(rng, count=400):
    """Return a random motion with turns, large and small, shape (count, N)."""
    steps = rng.normal(0.0, 1.0, (count, N)).cumsum(axis=0)
    return 0.004 * rng.uniform(0.1, 5.0, N) * steps


@pytest.mark.parametrize('seed', range(3))
def test_no_arm_within_two_deviations_is_overcompensated(seed):
    # Given an identified friction, and a true one anywhere within two deviations of it.
    rng = np.random.default_rng(seed)
    known = random_friction(rng)
    true = maxwell(known.coefficients + rng.uniform(-2.0, 2.0, (6, N)) * known.deviations)
    # When a motion is followed from an unknown state of the slip elements.
    q = path(rng)
    z = slip_states(q, REACH, rng.uniform(-1.0, 1.0, (2, N)))
    feedforward = FrictionFeedforward(known)
    pushed = 0
    for step, (position, state) in enumerate(zip(q, z)):
        feedforward.follow(1e-3 * step, position)
        dq = rng.uniform(-1.0, 1.0, N)
        command, taken = feedforward.torque(dq), true.torque(dq, state)
        # Then the command acts along the motion, and never exceeds the arm's own friction.
        assert (command * np.sign(dq) >= 0.0).all()
        assert (command * np.sign(dq) <= np.maximum(taken * np.sign(dq), 0.0) + ROUNDING_NM).all()
        pushed += np.count_nonzero(command)
    assert pushed > 100  # the feedforward is not always zero


@pytest.mark.parametrize('seed', range(3))
def test_a_corner_of_the_deviations_is_compensated_exactly(seed):
    # The bound is tight: for the arm of least friction all of its friction is commanded.
    rng = np.random.default_rng(seed)
    known = random_friction(rng, least=0.5)
    least = maxwell(known.coefficients - 2.0 * known.deviations)
    feedforward = FrictionFeedforward(known)
    for step in range(1000):  # all elements slip forwards
        feedforward.follow(1e-3 * step, np.full(N, 1e-3 * step))
    dq = rng.uniform(0.3, 1.0, N)  # thirty widths: tanh is 1 to the last bit
    np.testing.assert_allclose(
        feedforward.torque(dq), least.torque(dq), rtol=0.0, atol=ROUNDING_NM
    )


@pytest.mark.parametrize(
    'friction',
    [
        load('fer').friction,
        ViscousCoulombFriction(np.ones(7), np.ones(7), np.full(7, 0.5)),
        MaxwellSlipFriction(*np.ones((4, 7)), np.ones((2, 7)), REACH),
    ],
)
def test_at_rest_nothing_is_pushed_by_noise(friction):
    rng = np.random.default_rng(0)
    feedforward = FrictionFeedforward(friction)
    for step in range(500):
        # Ten times a resting arm's encoder noise.
        feedforward.follow(1e-3 * step, rng.normal(0.0, 1e-4, 7))
        np.testing.assert_array_equal(
            feedforward.torque(rng.uniform(-REST_SPEED, REST_SPEED, 7)), np.zeros(7)
        )
    assert (feedforward.torque(np.full(7, FULL_SPEED)) > 0.0).any()


def test_along_a_trajectory_is_what_the_cycles_give():
    rng = np.random.default_rng(3)
    friction = random_friction(rng)
    q, dq = path(rng), rng.uniform(-1.0, 1.0, (400, N))
    feedforward = FrictionFeedforward(friction)
    cycles = []
    for step, position in enumerate(q):
        feedforward.follow(1e-3 * step, position)
        cycles.append(feedforward.torque(dq[step]))
    np.testing.assert_allclose(
        FrictionFeedforward(friction).torque_along(q, dq), cycles, rtol=0.0, atol=ROUNDING_NM
    )
