# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Exponentials and adjoints against scipy's matrix exponential, scipy's rotations."""

import numpy as np
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from franka_dynamics import spatial
from franka_dynamics.errors import InertiaError, RigidMotionError

from .agreement import refuses

ATOL = 1e-13  # 20 times the largest difference seen (5e-15 over angles up to 9 rad)
# Zero, the series, both sides of its end, ordinary angles, a half and a whole turn.
ANGLES = (0.0, 1e-300, 1e-9, 1e-4, 0.0199999, 0.0200001, 0.5, np.pi, 2 * np.pi, 9.0)


def random_twist(seed, angle=None):
    twist = np.random.default_rng(seed).normal(size=6)
    if angle is not None:
        twist[3:] *= angle / np.linalg.norm(twist[3:])
    return twist


def test_exp6_of_a_stack_is_each_twists_matrix_exponential():
    twists = np.array([random_twist(2, angle) for angle in ANGLES]).reshape(2, 5, 6)
    factors = np.array([[0.5], [-2.0]])
    of_factors = spatial.exp6(twists, factors), factors[..., None] * twists
    for found, scaled in ((spatial.exp6(twists), twists), of_factors):
        expected = [[expm(spatial.hat(twist)) for twist in row] for row in scaled]
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=ATOL)


def test_adjoint_inverses_and_bracket_are_those_of_the_matrices():
    pose, (a, b) = spatial.exp6(random_twist(8)), (random_twist(9), random_twist(13))
    back = np.linalg.inv(pose)
    hat_a = spatial.hat(a)
    hat_b = spatial.hat(b)
    for found, expected in (
        (spatial.hat(spatial.adjoint(pose) @ a), pose @ hat_a @ back),
        (spatial.adjoint_inverse(pose), np.linalg.inv(spatial.adjoint(pose))),
        (spatial.inverse_transform(pose), back),
        (spatial.hat(spatial.ad(a) @ b), hat_a @ hat_b - hat_b @ hat_a),
    ):
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=ATOL)


def test_roll_pitch_yaw_agrees_with_scipys_matrix():
    angles = (0.4, -1.1, 2.3)
    expected = Rotation.from_euler('xyz', angles).as_matrix()  # lower case: about fixed axes
    np.testing.assert_allclose(spatial.rpy_rotation(*angles), expected, rtol=0.0, atol=ATOL)


def test_the_logarithm_of_a_rotation_gives_its_vector_back():
    angles = (0.0, 1e-300, 1e-9, 1e-4, 0.5, 3.0, 3.14, np.pi - 1e-9)
    omegas = np.array([random_twist(4, angle)[3:] for angle in angles])
    np.testing.assert_allclose(spatial.log3(spatial.exp3(omegas)), omegas, rtol=1e-15, atol=ATOL)


def test_the_logarithm_of_a_half_turn_is_about_its_axis():
    axes = np.array([random_twist(0, 1.0)[3:], random_twist(1, 1.0)[3:], *np.eye(3)])
    squares = axes[:, :, None] * axes[:, None, :]
    vectors = spatial.log3(2.0 * squares - np.eye(3))
    # Either way round: both are the same rotation.
    found = vectors[:, :, None] * vectors[:, None, :]
    np.testing.assert_allclose(found, np.pi**2 * squares, rtol=0.0, atol=ATOL)


def test_only_a_rigid_motion_passes_and_unchanged():
    pose = spatial.pose_from_xyz_rpy((0.1, 0.2, 0.3), (0.3, -1.2, 2.5))
    np.testing.assert_array_equal(spatial.as_rigid_transform(pose), pose)
    wrong = [np.diag([1.0, 1.0, -1.0, 1.0]), np.zeros((3, 3)), np.zeros((2, 4, 4))]
    for row, column, change in (
        (0, 0, 1e-6),
        (3, 3, 1.0),
        (3, 0, 1e-12),
        (1, 1, np.inf),
    ):
        wrong.append(pose.copy())
        wrong[-1][row, column] += change
    for other in wrong:
        with refuses(InertiaError, 'A transform'):
            spatial.as_rigid_transform(other)
    with refuses(RigidMotionError, '(4,)'):
        spatial.hat(np.zeros(4))
