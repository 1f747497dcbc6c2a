# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Exponentials and adjoints against scipy's matrix exponential, scipy's rotations."""

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from franka_dynamics.errors import InertiaError, RigidMotionError
from franka_dynamics.spatial import (
    adjoint,
    adjoint_inverse,
    bracket,
    exp3,
    exp6,
    hat,
    inverse_transform,
    log3,
    rigid_transform,
    rpy,
)

ATOL = 1e-13  # 20 times the largest difference seen (5e-15 over angles up to 9 rad)
# Zero, the series, both sides of where the series takes over, ordinary angles, a half and a
# whole turn.
ANGLES = (0.0, 1e-300, 1e-9, 1e-4, 0.0199999, 0.0200001, 0.5, np.pi, 2 * np.pi, 9.0)


def random_twist(seed, angle=None):
    twist = np.random.default_rng(seed).normal(size=6)
    if angle is not None:
        twist[3:] *= angle / np.linalg.norm(twist[3:])
    return twist


@pytest.mark.parametrize('angle', ANGLES)
def test_exp6_is_the_matrix_exponential_of_a_twist(angle):
    twist = random_twist(2, angle)
    np.testing.assert_allclose(exp6(twist), expm(hat(twist)), rtol=0.0, atol=ATOL)


def test_exp6_of_a_stack_of_angles_takes_each_on_its_own():
    twist, angles = random_twist(5, 1.0), np.array([[0.0, 1e-7, 0.3], [-2.0, 3.0, 4.0]])
    stack = exp6(twist, angles)
    assert stack.shape == (2, 3, 4, 4)
    for i in np.ndindex(2, 3):
        np.testing.assert_allclose(stack[i], expm(angles[i] * hat(twist)), rtol=0.0, atol=ATOL)


def test_a_wrong_shape_is_named_by_hat():
    with pytest.raises(RigidMotionError, match=r'takes shape .* got \(4'):
        hat(np.zeros(4))


def test_the_adjoint_transforms_twists_by_conjugation():
    pose, twist = exp6(random_twist(8)), random_twist(9)
    conjugated = pose @ hat(twist) @ np.linalg.inv(pose)
    np.testing.assert_allclose(hat(adjoint(pose) @ twist), conjugated, rtol=0.0, atol=ATOL)


def test_inverses_are_the_matrix_inverses():
    pose = exp6(random_twist(11))
    inverse = np.linalg.inv(adjoint(pose))
    np.testing.assert_allclose(adjoint_inverse(pose), inverse, rtol=0.0, atol=ATOL)
    np.testing.assert_allclose(inverse_transform(pose), np.linalg.inv(pose), rtol=0.0, atol=ATOL)


def test_the_bracket_of_twists_is_their_matrices_commutator():
    a, b = random_twist(13), random_twist(14)
    commutator = hat(a) @ hat(b) - hat(b) @ hat(a)
    np.testing.assert_allclose(hat(bracket(a, b)), commutator, rtol=0.0, atol=ATOL)


def test_roll_pitch_yaw_agrees_with_scipys_matrix():
    angles = (0.4, -1.1, 2.3)
    expected = Rotation.from_euler('xyz', angles).as_matrix()  # lower case: about fixed axes
    np.testing.assert_allclose(rpy(*angles), expected, rtol=0.0, atol=ATOL)


@pytest.mark.parametrize('angle', (0.0, 1e-300, 1e-9, 1e-4, 0.5, 3.0, 3.14, np.pi - 1e-9))
def test_the_logarithm_of_a_rotation_gives_its_vector_back(angle):
    omega = random_twist(4, angle)[3:]
    np.testing.assert_allclose(log3(exp3(omega)), omega, rtol=1e-15, atol=ATOL)


@pytest.mark.parametrize(
    'axis', [random_twist(0, 1.0)[3:], random_twist(1, 1.0)[3:], *np.eye(3)], ids=range(5)
)
def test_the_logarithm_of_a_half_turn_is_a_half_turn_about_its_axis(axis):
    turn = 2.0 * np.outer(axis, axis) - np.eye(3)
    vector = log3(np.array([turn, exp3(0.3 * axis)]))
    # Either way round: both are the same rotation.
    np.testing.assert_allclose(
        np.outer(vector[0], vector[0]), np.pi**2 * np.outer(axis, axis), rtol=0.0, atol=ATOL
    )
    np.testing.assert_allclose(vector[1], 0.3 * axis, rtol=0.0, atol=ATOL)


def test_only_a_rigid_motion_passes_and_unchanged():
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = rpy(0.3, -1.2, 2.5), (0.1, 0.2, 0.3)
    np.testing.assert_array_equal(rigid_transform(pose), pose)
    for place, value in (
        ((0, 0), pose[0, 0] + 1e-6),
        ((3, 3), 2.0),
        ((3, 0), 1e-12),
        ((1, 1), np.inf),
    ):
        other = pose.copy()
        other[place] = value
        with pytest.raises(InertiaError, match='must be a rigid motion'):
            rigid_transform(other)
    with pytest.raises(InertiaError, match='must be a rigid motion'):
        rigid_transform(np.diag([1.0, 1.0, -1.0, 1.0]))
    for shape in ((3, 3), (2, 4, 4)):
        with pytest.raises(InertiaError, match=r'needs shape \(4, 4\)'):
            rigid_transform(np.zeros(shape))
