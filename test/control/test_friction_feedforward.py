# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Friction feedforward is the offset at rest and never exceeds the arm's friction."""

import numpy as np
import pytest

from franka_dynamics.arm import load, MaxwellSlipFriction, ViscousCoulombFriction
from franka_dynamics.arm.friction import LinearFriction, slip_state_bounds
from franka_dynamics.control.terms import (
    FrictionFeedforward,
    MAX_REST_SPEED_RAD_S,
    MIN_FRICTION_SPEED_RAD_S,
)

from ..arms import random_covariance, slip_states

N = 3
REACH = np.array([0.004, 0.3])
ROUNDING_NM = 1e-12


def maxwell(coefficients, covariance=None):
    return MaxwellSlipFriction(*coefficients[:3], coefficients[3:], REACH, covariance=covariance)


def random_friction(rng, least=-0.1):
    """Return an identified friction: no coefficient is certain, some are not identifiable."""
    return maxwell(rng.uniform(least, 1.0, (5, N)), random_covariance(rng, N, 5))


def path(rng, count=400):
    """Return a random motion with turns, large and small, shape (count, N)."""
    steps = rng.normal(0.0, 1.0, (count, N)).cumsum(axis=0)
    return 0.004 * rng.uniform(0.1, 5.0, N) * steps


def commanded(known, q, dq, held=True):
    """Return the friction feedforward at each state of a motion, (k, n)."""
    feedforward, torques = FrictionFeedforward(known, held), []
    for step, (position, velocity) in enumerate(zip(q, dq)):
        feedforward.update(1e-3 * step, position)
        torques.append(feedforward.torque(velocity))
    return np.array(torques)


@pytest.mark.parametrize('uncertain', [False, True])
@pytest.mark.parametrize('seed', range(3))
def test_no_arm_within_two_deviations_is_overcompensated(seed, uncertain):
    # Given an identified friction, and a true one anywhere within two deviations of it.
    rng = np.random.default_rng(seed)
    known = random_friction(rng)
    errors = rng.normal(size=(N, 5, 1))
    errors *= 2.0 * uncertain / np.linalg.norm(errors, axis=1, keepdims=True)
    errors = (np.linalg.cholesky(known.covariance) @ errors)[..., 0].T
    true = maxwell(known.coefficients + errors)
    # When a motion is followed from an unknown state of the slip elements.
    q, dq = (1 + 9 * uncertain) * path(rng), rng.uniform(-1.0, 1.0, (400, N))
    z = slip_states(q, REACH, rng.uniform(-1.0, 1.0, (2, N)))
    found = commanded(known if uncertain else true, q, dq)
    # Then the command but for the offset acts along the motion, and never exceeds the friction.
    along = np.sign(dq) * (found - known.offset)
    taken = np.sign(dq) * ([true.torque(*state) for state in zip(dq, z)] - true.offset)
    # The margin is that of a state of the elements that is known.
    lower, upper = slip_state_bounds(q, REACH)
    judged = (lower == upper).all(axis=1) if uncertain else True
    over = along > np.maximum(taken, 0.0) + ROUNDING_NM
    assert (along >= -ROUNDING_NM).all() and not (over & judged).any()
    assert np.count_nonzero((along > 0.01) & judged) > 100  # it is not always zero


def test_all_but_two_deviations_of_the_sum_is_commanded():
    # Coefficients that are uncertain alone, and certain in the sum of a sliding joint.
    tight = 0.01 * np.eye(3)
    tight[1, 2] = tight[2, 1] = -0.01
    spread = np.zeros((1, 5, 5))
    spread[0][np.ix_([1, 3, 4], [1, 3, 4])] = tight
    known = maxwell([[0.0], [0.3], [0.05], [0.2], [0.1]], spread)
    q = 1e-3 * np.arange(1000)[:, None]  # all elements slip forwards
    found = commanded(known, q, np.full_like(q, 0.5))[-1, 0]  # tanh is 1 to the last bit
    assert found == pytest.approx(0.6 - 2.0 * 0.1 + 0.05, abs=ROUNDING_NM)


FRICTION_MODELS = [
    load('fer').friction,
    ViscousCoulombFriction(np.ones(7), np.ones(7), np.full(7, 0.5)),
    MaxwellSlipFriction(*np.ones((3, 7)), np.ones((2, 7)), REACH),
]


@pytest.mark.parametrize('friction', FRICTION_MODELS)
@pytest.mark.parametrize('held', [False, True])
def test_at_rest_nothing_is_pushed_by_noise(friction, held):
    rng = np.random.default_rng(0)
    q = rng.normal(0.0, 1e-4, (500, 7))  # ten times a resting arm's encoder noise
    dq = rng.uniform(-MIN_FRICTION_SPEED_RAD_S, MIN_FRICTION_SPEED_RAD_S, (500, 7))
    dq[-1] = MAX_REST_SPEED_RAD_S
    found = commanded(friction, q, dq, held)
    rests = isinstance(friction, LinearFriction) and held
    np.testing.assert_array_equal(found[:-1], np.broadcast_to(rests * friction.offset, (499, 7)))
    assert (found[-1] > 0.0).any()


def test_after_a_turn_the_elements_are_followed():
    # Coulomb friction changes sign at once; a slip element takes twice its reach.
    q = np.concatenate([np.linspace(0.0, 0.02, 100), np.linspace(0.02, 0.008, 100)])
    dq = np.repeat([0.5, -0.5], 100)
    slip = MaxwellSlipFriction(*np.zeros((3, 1)), [[1.0]], [0.004])
    torque = commanded(slip, q[:, None], dq[:, None])[:, 0]
    # After the turn the slip element still pulls along the motion: no friction is to be overcome.
    half = 100 + np.flatnonzero(q[100:] < 0.02 - 0.004)[0]
    np.testing.assert_array_equal(torque[101 : half - 1], 0.0)
    assert torque[[99, -1]] == pytest.approx([1.0, -1.0])


def test_along_a_trajectory_is_what_the_cycles_give():
    rng = np.random.default_rng(3)
    friction = random_friction(rng)
    q, dq = path(rng), rng.uniform(-1.0, 1.0, (400, N))
    along = FrictionFeedforward(friction).torque_along(q, dq)
    np.testing.assert_allclose(along, commanded(friction, q, dq), rtol=0.0, atol=ROUNDING_NM)
