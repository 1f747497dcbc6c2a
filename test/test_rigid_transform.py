# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Rigid motions pass unchanged; everything else is refused."""

import numpy as np
import pytest

from franka_dynamics.errors import InertiaError
from franka_dynamics.spatial import rigid_transform, rpy

POSE = np.eye(4)
POSE[:3, :3], POSE[:3, 3] = rpy(0.3, -1.2, 2.5), (0.1, 0.2, 0.3)


def changed(row, column, value):
    pose = POSE.copy()
    pose[row, column] = value
    return pose


def test_a_rigid_motion_is_returned_unchanged():
    np.testing.assert_array_equal(rigid_transform(POSE), POSE)


@pytest.mark.parametrize(
    'matrix',
    [
        np.diag([1.0, 1.0, -1.0, 1.0]),
        changed(0, 0, POSE[0, 0] + 1e-6),
        changed(3, 3, 2.0),
        changed(3, 0, 1e-12),
        changed(1, 1, np.inf),
    ],
)
def test_the_matrix_of_no_rigid_motion_is_shown(matrix):
    with pytest.raises(InertiaError, match='must be a rigid motion'):
        rigid_transform(matrix)


@pytest.mark.parametrize('shape', [(3, 3), (2, 4, 4), (16,)])
def test_given_another_shape_when_checked_then_it_is_named(shape):
    with pytest.raises(InertiaError, match=r'needs shape \(4, 4\)'):
        rigid_transform(np.zeros(shape))
