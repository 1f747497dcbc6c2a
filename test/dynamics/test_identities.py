# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What every formulation must satisfy by itself, whatever the others say."""

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.arm.sampling import random_arm, sample_states
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.dynamics.product_of_exponentials import ExponentialsModel

from .lagrangian import LagrangianModel
from ..agreement import assert_near

STEP = 1e-5  # [rad, m, s], of the central differences: their error is step^2 and eps/step
DIFFERENCES = 1e-6  # ten times the largest seen, of max(1, |a|)

FORMULATIONS = (PinocchioModel, NewtonEulerModel, ExponentialsModel, LagrangianModel)


def central(function, q):
    """Return the slopes of a function of q, last axis by q."""
    steps = STEP * np.eye(len(q))
    values = [(function(q + step) - function(q - step)) / (2.0 * STEP) for step in steps]
    return np.stack(values, axis=-1)


@pytest.mark.parametrize('formulation', FORMULATIONS)
@pytest.mark.parametrize('seed', range(4))
def test_c_and_g_are_slopes_of_the_mass_matrix_and_the_potential(formulation, seed):
    rng = np.random.default_rng(seed)
    arm = random_arm(rng) if seed else load('fer')
    model = formulation(arm, rng.normal(size=3) * 9.81)
    q, dq, _ = (stack[0] for stack in sample_states(arm, 1, seed))
    slopes = central(model.mass_matrix, q)  # dM_ij/dq_k, by Christoffel's symbols
    along, across = slopes @ dq, np.einsum('ikj,k->ij', slopes, dq)
    assert_near(model.coriolis_matrix(q, dq), 0.5 * (along + across - across.T), DIFFERENCES)
    assert_near(model.gravity(q), central(model.potential_energy, q), DIFFERENCES)
    np.testing.assert_array_equal(model.mass_matrix(q), model.mass_matrix(q).T)
