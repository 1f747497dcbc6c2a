# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What is particular to the product of exponentials: zero configuration, twists, J_m, brackets."""

import numpy as np
import pytest

from franka_dynamics.arm import Convention, load
from franka_dynamics.arm.sampling import random_arm, sample_states
from franka_dynamics.dynamics.pinocchio_model import pinocchio_inertia, PinocchioModel
from franka_dynamics.dynamics.product_of_exponentials import ExponentialsModel, spatial_inertia
from franka_dynamics.spatial import adjoint, exp6

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
def test_twists_of_all_frames_agree_with_pinocchio(convention):
    arm, model, (q, dq, _) = case(convention)
    backend = PinocchioModel(arm)
    for frame in range(1, arm.n + 2):
        for reference in ('LOCAL', 'WORLD', 'LOCAL_WORLD_ALIGNED'):
            np.testing.assert_allclose(
                model.twist(q, dq, frame, reference),
                backend.jacobian(q, frame, reference) @ dq,
                rtol=0.0,
                atol=ATOL,
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


def test_a_transform_to_a_center_of_mass_is_a_pure_translation():
    arm, model, (q, _, _) = case(Convention.MODIFIED)
    transforms, poses = model.center_of_mass_transforms(q), model.frames(q)
    for transform, pose, link in zip(transforms, poses, arm.links):
        np.testing.assert_allclose(transform[:3, :3], np.eye(3), rtol=0.0, atol=ATOL)
        np.testing.assert_allclose(
            transform[:3, 3], pose[:3, :3] @ link.center_of_mass, rtol=0.0, atol=ATOL
        )


@every_convention
def test_slopes_of_m_by_brackets_agree_with_differences(convention):
    arm, model, (q, _, _) = case(convention)
    slopes = model.mass_matrix_derivatives(q)
    for k, unit in enumerate(np.eye(arm.n)):
        expected = (model.mass_matrix(q + STEP * unit) - model.mass_matrix(q - STEP * unit)) / (
            2.0 * STEP
        )
        np.testing.assert_allclose(slopes[..., k], expected, rtol=0.0, atol=100 * DIFFERENCES)


def test_a_links_spatial_inertia_agrees_with_pinocchio():
    link = load('fer').links[3]
    np.testing.assert_allclose(
        spatial_inertia(link), pinocchio_inertia(link).matrix(), rtol=0.0, atol=ATOL
    )


def test_a_spatial_inertia_is_moved_by_the_adjoint():
    link, pose = load('fer').links[3], exp6((0.1, -0.2, 0.3, 0.4, 0.5, -0.6))
    back = adjoint(np.linalg.inv(pose))
    np.testing.assert_allclose(
        spatial_inertia(link.expressed_in(pose)),
        back.T @ spatial_inertia(link) @ back,
        rtol=0.0,
        atol=ATOL,
    )
