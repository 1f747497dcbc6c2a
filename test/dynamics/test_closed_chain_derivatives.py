# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Kwon's (14), corrected, against differences of (13); and the motors' derivatives."""

import numpy as np
import pytest

from franka_dynamics.dynamics.closed_chain import ClosedChain
from franka_dynamics.dynamics.closed_chain_derivatives import (
    motor_derivatives,
    reduced_torque_derivative,
)
from franka_dynamics.dynamics.derivatives import tree_motion

from .mechanisms import five_bar_meshes, spherical_five_bar
from .trees import random_link
from ..agreement import differences

FIVE_BAR = spherical_five_bar()
N, ACTIVE, PASSIVE = 5, [0, 3], [1, 2, 4]
STEP = 1e-3
# Central differences of fourth order: truncation 1e-12 times fifth derivatives, rounding 1e-13;
# 3e-13 measured for entries up to 3 N m.
ATOL = 1e-11


@pytest.fixture(scope='module')
def motion():
    """Return a motion of the five-bar in the middle of its workspace."""
    return FIVE_BAR.motion(FIVE_BAR.assemble([0.4, -0.3], np.zeros(N)), [1.0, -0.7], [2.0, 1.5])


@pytest.fixture(scope='module')
def equation_13(motion):
    """Return the derivative of (13) by lambda, every joint of the tree on its own."""

    def torque(change):
        tree = FIVE_BAR.tree.with_twist_corrections(change[:36].reshape(6, 6))
        chain = ClosedChain(tree, ACTIVE, FIVE_BAR.loops)
        q, dq, ddq = (
            getattr(motion, name) + part
            for name, part in zip(('q', 'dq', 'ddq'), change[36:].reshape(3, N))
        )
        tau = tree_motion(tree, q, dq, ddq).tau
        return tau[ACTIVE] + chain.passive_jacobian(q).T @ tau[PASSIVE]

    return differences(torque, 9 * N + 6, STEP)


def test_the_five_bars_torque_derivative_is_the_slope_of_13(motion, equation_13):
    np.testing.assert_allclose(
        reduced_torque_derivative(FIVE_BAR, motion).full, equation_13, rtol=0.0, atol=ATOL
    )


def motor_torque(motion, change, tree=FIVE_BAR.tree):
    """Return the motors' torques with the loops closed anew."""
    chain = ClosedChain(tree, ACTIVE, FIVE_BAR.loops)
    q, dq, ddq = (
        getattr(motion, name)[ACTIVE] + part
        for name, part in zip(('q', 'dq', 'ddq'), change.reshape(3, 2))
    )
    return chain.inverse_dynamics(chain.motion(chain.assemble(q, motion.q), dq, ddq))


def test_five_bar_motor_derivatives_agree_with_differences(motion):
    expected = differences(lambda change: motor_torque(motion, change), 6, STEP)
    actual = motor_derivatives(FIVE_BAR, motion)
    np.testing.assert_allclose(
        np.hstack((actual.by_q, actual.by_dq, actual.by_ddq)), expected, rtol=0.0, atol=ATOL
    )
    np.testing.assert_allclose(actual.by_ddq, FIVE_BAR.mass_matrix(motion.q), rtol=0.0, atol=1e-15)


def test_five_bar_derivatives_by_twists_agree_with_differences(motion):
    # Turning the axes about the origin keeps the mechanism spherical and movable.
    def torque(change):
        eta = np.zeros((6, 6))
        eta[:, 3:] = change.reshape(6, 3)
        return motor_torque(motion, np.zeros(6), FIVE_BAR.tree.with_twist_corrections(eta))

    expected = differences(torque, 18, STEP).reshape(2, 6, 3)
    actual = motor_derivatives(FIVE_BAR, motion).by_eta[..., 3:]
    np.testing.assert_allclose(actual, expected, rtol=0.0, atol=ATOL)
    assert np.abs(actual[:, :5]).max() > 0.1


def test_parameter_derivatives_give_other_bodies_motor_torques(motion):
    rng = np.random.default_rng(0)
    other = spherical_five_bar([random_link(rng) for _ in five_bar_meshes()])
    new, old = (
        np.array([link.parameters() for link in chain.tree.inertias])
        for chain in (other, FIVE_BAR)
    )
    by = motor_derivatives(FIVE_BAR, motion).by_parameters
    expected = other.inverse_dynamics(motion) - FIVE_BAR.inverse_dynamics(motion)
    found = np.einsum('ajk,jk->a', by, new - old)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-13)
