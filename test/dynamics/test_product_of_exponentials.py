# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What is particular to the product of exponentials: zero configuration, twists, J_m, brackets."""

import numpy as np
import pytest

from franka_dynamics.arm import Convention, load
from franka_dynamics.arm.sampling import random_arm, sample_states
from franka_dynamics.dynamics.product_of_exponentials import ExponentialsModel

from ..arms import FRANKA_ORIGINS_AT_ZERO

ATOL = 1e-12  # m, m/s, kg m^2; ten times the largest seen
STEP, DIFFERENCES = 1e-6, 1e-8  # of central differences: step^2 and eps/step, times ten

every_convention = pytest.mark.parametrize('convention', list(Convention))


def case(convention, seed=6):
    arm = random_arm(np.random.default_rng(seed), joints=6, convention=convention)
    return arm, ExponentialsModel(arm), [stack[0] for stack in sample_states(arm, 1, seed)]


@pytest.mark.parametrize('arm', ['fer', 'fr3'])
def test_a_franka_arms_origins_at_zero_are_those_franka_gives(arm):
    model = ExponentialsModel(load(arm))
    np.testing.assert_allclose(
        model.zero_transforms[:, :3, 3], FRANKA_ORIGINS_AT_ZERO, rtol=0.0, atol=ATOL
    )
    np.testing.assert_array_equal(model.frames(np.zeros(7)), model.zero_transforms)


def test_the_fers_twists_at_zero_are_those_of_the_notebook():
    # omega_i and v_i = -omega_i x r_i of cells 7 and 8, in the notebook's names.
    z1, y3, x4, x5, y5, x7 = 0.333, -0.316, 0.0825, -0.0825, 0.384, 0.088
    up = z1 - y3
    twists = [
        (0, 0, 0, 0, 0, 1),
        (-z1, 0, 0, 0, 1, 0),
        (0, 0, 0, 0, 0, 1),
        (up, 0, -x4, 0, -1, 0),
        (0, -(x4 + x5), 0, 0, 0, 1),
        (up + y5, 0, 0, 0, -1, 0),
        (0, x7, 0, 0, 0, -1),
    ]
    np.testing.assert_allclose(
        ExponentialsModel(load('fer')).space_twists, twists, rtol=0.0, atol=ATOL
    )


@every_convention
def test_j_m_is_the_slope_of_the_centers_of_mass(convention):
    arm, model, (q, _, _) = case(convention)

    def centers(position):
        poses = model.frames(position)
        return np.array(
            [
                pose[:3, :3] @ link.center_of_mass + pose[:3, 3]
                for pose, link in zip(poses, arm.links)
            ]
        )

    jacobians = model.center_of_mass_jacobians(q)
    for j, unit in enumerate(np.eye(arm.n)):
        slope = (centers(q + STEP * unit) - centers(q - STEP * unit)) / (2.0 * STEP)
        np.testing.assert_allclose(jacobians[:, :3, j], slope, rtol=0.0, atol=DIFFERENCES)
