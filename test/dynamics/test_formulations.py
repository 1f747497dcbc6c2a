# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
All formulations hold the same arm to be the same, whatever the arm.

Agreement to eps means |a - b| <= eps max(1, |a|) in every entry.
"""

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.dynamics.exponentials import ExponentialsModel
from franka_dynamics.dynamics.lagrangian import LagrangianModel
from franka_dynamics.dynamics.model import FLANGE, REFERENCE_FRAMES
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.dynamics.random_arms import random_arm
from franka_dynamics.dynamics.states import sample_states

AGREEMENT = 1e-11  # ten times the largest seen over 2,000 random arms (9e-13)
STATES = 10
OWN = (NewtonEulerModel, ExponentialsModel, LagrangianModel)
# How many of (q, dq, ddq) each quantity takes. Pinocchio's C is made of Christoffel symbols too.
QUANTITIES = {
    'frames': 1, 'jacobian': 1, 'center_of_mass': 1, 'potential_energy': 1, 'mass_matrix': 1,
    'gravity': 1, 'link_twists': 2, 'kinetic_energy': 2, 'coriolis': 2, 'coriolis_matrix': 2,
    'nonlinear_effects': 2, 'inverse_dynamics': 3, 'forward_dynamics': 3, 'joint_wrenches': 3,
}


def assert_agreement(actual, expected):
    np.testing.assert_allclose((actual - expected) / np.maximum(1.0, np.abs(expected)),
                               np.zeros_like(expected), rtol=0.0, atol=AGREEMENT)


def one_by_one(model, quantity, *arguments, **keywords):
    """Ask a model that takes single states for a stack of them."""
    return np.array([getattr(model, quantity)(*state, **keywords) for state in zip(*arguments)])


def random_case(seed):
    rng = np.random.default_rng(seed)
    arm = random_arm(rng)
    return arm, rng.normal(size=3) * 9.81, sample_states(arm, STATES, seed)


@pytest.mark.parametrize('own', OWN)
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=50, derandomize=True, deadline=None)
def test_given_any_arm_when_formulated_on_its_own_then_pinocchio_agrees(own, seed):
    arm, gravity, states = random_case(seed)
    backend, model = PinocchioModel(arm, gravity), own(arm, gravity)
    for quantity, inputs in QUANTITIES.items():
        actual = getattr(model, quantity)(*states[:inputs])
        assert_agreement(actual, one_by_one(backend, quantity, *states[:inputs]))


@pytest.mark.parametrize('own', OWN)
@pytest.mark.parametrize('reference_frame', REFERENCE_FRAMES)
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=15, derandomize=True, deadline=None)
def test_given_any_arm_when_any_frame_moves_then_the_jacobians_are_the_same(
        own, reference_frame, seed):
    arm, gravity, states = random_case(seed)
    backend, model = PinocchioModel(arm, gravity), own(arm, gravity)
    for frame in (*range(1, arm.n + 2), FLANGE):
        expected = np.array([backend.jacobian(q, frame, reference_frame) for q in states.q])
        assert_agreement(model.jacobian(states.q, frame, reference_frame), expected)


@pytest.mark.parametrize('own', OWN)
@pytest.mark.parametrize('quantity', ['inverse_dynamics', 'forward_dynamics'])
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=15, derandomize=True, deadline=None)
def test_given_a_wrench_on_the_flange_when_asked_then_every_formulation_feels_it(
        own, quantity, seed):
    arm, gravity, states = random_case(seed)
    wrench = np.random.default_rng(seed).normal(size=6) * 20.0
    backend, model = PinocchioModel(arm, gravity), own(arm, gravity)
    actual = getattr(model, quantity)(*states, wrench=wrench)
    assert np.abs(actual - getattr(model, quantity)(*states)).max() > 1e-3
    assert_agreement(actual, one_by_one(backend, quantity, *states, wrench=wrench))


@pytest.mark.parametrize('own', OWN)
@pytest.mark.parametrize(('arm', 'hand'), [
    ('fer', 'none'), ('fer', 'franka_hand'), ('fr3', 'none'), ('fr3', 'franka_hand')])
def test_given_a_franka_arm_when_formulated_on_its_own_then_pinocchio_agrees(own, arm, hand):
    description = load(arm, hand=hand)
    states = sample_states(description, 200, 7)
    backend, model = PinocchioModel(description), own(description)
    for quantity, inputs in QUANTITIES.items():
        actual = getattr(model, quantity)(*states[:inputs])
        assert_agreement(actual, one_by_one(backend, quantity, *states[:inputs]))
