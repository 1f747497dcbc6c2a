# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""dJ/dt dq, operational-space inertia and derivatives of the forward dynamics, of any arm."""

import numpy as np
import pytest

import franka_dynamics as fd
from franka_dynamics.arm import JointKind
from franka_dynamics.dynamics.body_tree import BodyTree
from franka_dynamics.dynamics.derivatives import linearize
from franka_dynamics.validation.crosscheck import FORMULATIONS

from ..agreement import refuses
from ..arms import random_arm

GRAVITY = (1.0, -2.0, -9.0)
STEP = 1e-5  # errors of differences: STEP^2, and rounding / STEP


def case(seed, **kinds):
    """Return a random arm of six to eight joints (0: an FR3), two states of it and frames."""
    rng = np.random.default_rng(seed)
    arm = random_arm(rng, joints=int(rng.integers(6, 9)), **kinds)
    frames = ('flange', arm.n, int(rng.integers(1, arm.n)))
    if not seed:
        arm, frames = fd.load('fr3', hand='franka_hand'), (*frames, 'hand_tcp')
    return arm, fd.sample_states(arm, 2, seed), frames


def near(found, expected, rtol):
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=rtol * np.abs(expected).max())


@pytest.mark.parametrize('seed', range(6))
def test_bias_accelerations_are_the_jacobians_change(seed):
    arm, (q, dq, _), frames = case(seed)
    by_exponentials = fd.ExponentialsModel(arm, GRAVITY)
    for frame in frames:
        before, after = (by_exponentials.jacobian(q + h * dq, frame) for h in (-STEP, STEP))
        expected = np.einsum('sij,sj->si', (after - before) / (2.0 * STEP), dq)
        near(fd.Model(arm, GRAVITY).bias_acceleration(q, dq, frame), expected, 1e-8)


@pytest.mark.parametrize('seed', range(4))
def test_a_force_at_the_frame_accelerates_its_inertia(seed):
    # With enough sliding joints some arms cannot turn in every direction.
    arm, (q, dq, _), _ = case(seed, kinds=(JointKind.REVOLUTE,))
    force = np.random.default_rng(seed).normal(size=6)
    for make in FORMULATIONS.values():
        model = make(arm, GRAVITY)
        push = np.einsum('sij,i->sj', model.jacobian(q), force)
        rest = model.nonlinear_effects(q, dq)
        ddq = model.forward_dynamics(q, dq, rest + push)
        acceleration = np.einsum('sij,sj->si', model.jacobian(q), ddq)
        inertia = fd.Model(arm, GRAVITY).operational_space_inertia(q)
        np.testing.assert_array_equal(inertia, np.swapaxes(inertia, -1, -2))
        given = np.broadcast_to(force, acceleration.shape)
        near(np.einsum('sij,sj->si', inertia, acceleration), given, 1e-7)


def test_a_singular_posture_has_no_operational_space_inertia():
    with refuses(fd.FrankaDynamicsError, 'singular'):
        fd.Model('fer').operational_space_inertia(np.zeros(7))
    with refuses(fd.FrankaDynamicsError, 'six joints'):
        fd.Model('rpr').operational_space_inertia(np.full(3, 0.1))


@pytest.mark.parametrize('seed', range(2))
def test_acceleration_derivatives_are_those_of_the_tree_and_of_differences(seed):
    arm, (q, dq, ddq), _ = case(seed)
    model, other = fd.Model(arm), fd.NewtonEulerModel(arm)
    tau = other.inverse_dynamics(q, dq, ddq)
    found = model.forward_dynamics_derivatives(q, dq, tau)
    batch = fd.BatchModel(arm).forward_dynamics_derivatives(q, dq, tau)
    for k in range(2):
        here = linearize(BodyTree.from_description(arm), q[k], dq[k], tau[k])
        expected = here.A[arm.n :, : arm.n], here.A[arm.n :, arm.n :], here.B[arm.n :]
        for one, two, three in zip(found, batch, expected):
            near(one[k], three, 1e-9)
            near(two[k], three, 1e-9)
    slopes = [
        np.subtract(*(other.forward_dynamics(q, dq + h * unit, tau) for h in (STEP, -STEP)))
        for unit in np.eye(arm.n)
    ]
    near(found.by_velocity, np.stack(slopes, axis=-1) / (2.0 * STEP), 1e-5)
