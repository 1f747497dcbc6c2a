# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Energies linear in the parameters (Gautier and Khalil 1990), and what is misprinted."""

import numpy as np
import pinocchio as pin
import pytest

from franka_dynamics.arm import (
    Convention,
    load,
)
from franka_dynamics.arm.sampling import sample_states
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.dynamics.regressor import parameter_vector
from franka_dynamics.identification.energy_regressors import energy_regressors

from ..arms import make_random_arm

TILTED = (3.0, -5.0, -7.0)
# Energies of up to 460 J; measured 2.1e-13 against Pinocchio.
RTOL_ENERGY, ATOL_ENERGY = 0.0, 5e-12
# Central differences of an energy of some 100 J with a step of 1e-5: 1e-16 * 100 / 1e-5.
STEP, ATOL_DIFFERENCE = 1e-5, 1e-7
CONVENTIONS = list(Convention)


@pytest.mark.parametrize('convention', CONVENTIONS)
@pytest.mark.parametrize('seed', range(15))
def test_energies_of_a_random_arm_equal_pinocchios(convention, seed):
    arm = make_random_arm(seed, convention=convention)
    q, dq, _ = sample_states(arm, 5, seed)
    kinetic, potential = energy_regressors(arm, q, dq, TILTED)
    model = PinocchioModel(arm, TILTED).model
    data = model.createData()
    expected = np.array(
        [
            (
                pin.computeKineticEnergy(model, data, *state),
                pin.computePotentialEnergy(model, data, state[0]),
            )
            for state in zip(q, dq)
        ]
    )
    np.testing.assert_allclose(
        kinetic @ parameter_vector(arm), expected[:, 0], rtol=RTOL_ENERGY, atol=ATOL_ENERGY
    )
    np.testing.assert_allclose(
        potential @ parameter_vector(arm), expected[:, 1], rtol=RTOL_ENERGY, atol=ATOL_ENERGY
    )


def test_lagranges_equation_on_the_energies_gives_torques():
    # Eq. (5) with dq = 0: -dE/dq vanishes, and d/dt(dE/d(dq)) = M ddq with M from E.
    arm = load('fer')
    q = sample_states(arm, 1, 2).q[0]
    X = parameter_vector(arm)

    def kinetic(dq):
        return energy_regressors(arm, q, dq)[0] @ X

    def potential(at):
        return energy_regressors(arm, at, np.zeros(7))[1] @ X

    units = np.eye(7)
    mass = np.array([[kinetic(a + b) - kinetic(a) - kinetic(b) for b in units] for a in units])
    slope = np.array(
        [(potential(q + STEP * e) - potential(q - STEP * e)) / (2.0 * STEP) for e in units]
    )
    model = NewtonEulerModel(arm)
    np.testing.assert_allclose(mass, model.mass_matrix(q), rtol=0.0, atol=ATOL_ENERGY)
    np.testing.assert_allclose(slope, model.gravity(q), rtol=0.0, atol=ATOL_DIFFERENCE)
