# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What is particular to Lagrange: partial Jacobians, slopes of M, energies in closed form."""

import numpy as np
import pytest

from franka_dynamics.arm import Convention
from franka_dynamics.arm.sampling import random_arm, sample_states
from franka_dynamics.dynamics.lagrangian import LagrangianModel
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel

ATOL = 1e-12  # m; a hundred times the largest seen
STEP, DIFFERENCES = 1e-6, 1e-6  # of central differences of M: step^2 and eps/step, times ten


@pytest.mark.parametrize('convention', list(Convention))
def test_partial_jacobians_agree_with_pinocchio(convention):
    arm = random_arm(np.random.default_rng(3), joints=6, convention=convention)
    q = sample_states(arm, 1, 3).q[0]
    linear, angular = LagrangianModel(arm).partial_jacobians(q)
    backend = PinocchioModel(arm)
    poses = backend.frames(q)
    for i, link in enumerate(arm.links):
        jacobian = backend.jacobian(q, i + 1)
        # The velocity of a point of the link is that of the frame's origin plus omega x arm.
        arm_to_center = poses[i, :3, :3] @ link.center_of_mass
        expected = jacobian[:3] + np.cross(jacobian[3:].T, arm_to_center).T
        np.testing.assert_allclose(linear[i], expected, rtol=0.0, atol=ATOL)
        np.testing.assert_allclose(angular[i], jacobian[3:], rtol=0.0, atol=ATOL)


@pytest.mark.parametrize('convention', list(Convention))
def test_slopes_of_m_agree_with_differences_of_pinocchios_m(convention):
    arm = random_arm(np.random.default_rng(4), joints=6, convention=convention)
    q = sample_states(arm, 1, 4).q[0]
    model, backend = LagrangianModel(arm), PinocchioModel(arm)
    slopes = model.mass_matrix_derivatives(q)
    for k, unit in enumerate(np.eye(arm.n)):
        expected = (
            backend.mass_matrix(q + STEP * unit) - backend.mass_matrix(q - STEP * unit)
        ) / (2.0 * STEP)
        np.testing.assert_allclose(slopes[..., k], expected, rtol=0.0, atol=DIFFERENCES)
