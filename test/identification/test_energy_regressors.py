# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Energies linear in the parameters (Gautier and Khalil 1990), and what is misprinted."""

import numpy as np
import pinocchio as pin
import pytest

from franka_dynamics.arm import Convention
from franka_dynamics.arm.sampling import sample_states
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.dynamics.regressor import parameter_vector
from franka_dynamics.identification.energy_regressors import energy_regressors

from ..arms import make_random_arm

TILTED = (3.0, -5.0, -7.0)
# Energies of up to 460 J; measured 2.1e-13 against Pinocchio.
RTOL_ENERGY, ATOL_ENERGY = 0.0, 5e-12


@pytest.mark.parametrize('convention', list(Convention))
@pytest.mark.parametrize('seed', range(15))
def test_energies_of_a_random_arm_equal_pinocchios(convention, seed):
    arm = make_random_arm(seed, convention=convention)
    q, dq, _ = sample_states(arm, 5, seed)
    kinetic, potential = energy_regressors(arm, q, dq, TILTED)
    model = PinocchioModel(arm, TILTED).model
    data = model.createData()
    expected = [
        (
            pin.computeKineticEnergy(model, data, *state),
            pin.computePotentialEnergy(model, data, state[0]),
        )
        for state in zip(q, dq)
    ]
    found = np.stack([kinetic, potential], axis=1) @ parameter_vector(arm)
    np.testing.assert_allclose(found, expected, rtol=RTOL_ENERGY, atol=ATOL_ENERGY)
