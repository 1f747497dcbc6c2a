# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Twists of links in their own DH frames, for stacks of states.

A twist is (v, omega): the velocity of the frame's origin and the angular velocity, both in the
axes of the frame. A joint's unit twist in its link's frame does not depend on its position,
whichever DH convention and kind: that is what the recursions of this folder rest on.
"""

from __future__ import annotations

import numpy as np

from ..arm import ArmDescription, Convention, JointKind
from ..typing import Array


def joint_screws(description: ArmDescription) -> Array:
    """
    Return each joint's unit twist (v, omega) in the frame of the link it moves, shape (n, 6).

    In the modified convention the axis is z of the link's frame. In the standard one it is z of
    the frame before, which the row leaves at the constant place Tx(a) Rx(alpha) behind the axis.
    """
    screws = np.zeros((description.n, 6))
    for i, joint in enumerate(description.joints):
        axis, lever = np.array([0.0, 0.0, 1.0]), np.zeros(3)
        if description.convention is Convention.STANDARD:
            # The row at rest holds axis and lever in constant terms of a and alpha.
            step = joint.row.transform(Convention.STANDARD)
            axis, lever = step[2, :3], step[:3, :3].T @ step[:3, 3]
        if joint.kind is JointKind.REVOLUTE:
            screws[i, :3], screws[i, 3:] = np.cross(axis, lever), axis
        else:
            screws[i, :3] = axis
    return screws


def to_child(transform: Array, twists: Array) -> Array:
    """
    Return twists of frame {i-1}, shape (..., k, 6), as the twists of a frame {i} fixed to it.

    `transform` is the pose of {i} in {i-1}, shape (..., 4, 4).
    """
    rotation, origin = transform[..., :3, :3], transform[..., None, :3, 3]
    v, omega = twists[..., :3], twists[..., 3:]
    moved = np.empty(np.broadcast_shapes(twists.shape, (*transform.shape[:-2], 1, 6)))
    moved[..., :3] = (v + np.cross(omega, origin)) @ rotation
    moved[..., 3:] = omega @ rotation
    return moved


def momentum_matrix(twist: Array) -> Array:
    """
    Return P with P X = (linear, angular momentum about the origin), shape (..., 6, 10).

    X are a link's parameters in the order of seed 002, eq. (3), and `twist` is the link's,
    shape (..., 6): linear momentum m v + omega x mS, angular J omega + mS x v. Fed with an
    acceleration, (dv/dt, domega/dt), it gives the part of the wrench linear in it.
    """
    v, omega = twist[..., :3], twist[..., 3:]
    out = np.zeros((*twist.shape[:-1], 6, 10))
    out[..., :3, 6:9] = skew(omega)
    out[..., :3, 9] = v
    out[..., 3:, :6] = tensor_columns(omega)
    out[..., 3:, 6:9] = -skew(v)
    return out


def skew(vector: Array) -> Array:
    """Return the matrices of the cross product by `vector`, shape (..., 3, 3)."""
    out = np.zeros((*vector.shape[:-1], 3, 3))
    x, y, z = vector[..., 0], vector[..., 1], vector[..., 2]
    out[..., 0, 1], out[..., 0, 2], out[..., 1, 2] = -z, y, -x
    out[..., 1, 0], out[..., 2, 0], out[..., 2, 1] = z, -y, x
    return out


def tensor_columns(vector: Array) -> Array:
    """Return L with L (XX, XY, XZ, YY, YZ, ZZ) = J vector, shape (..., 3, 6)."""
    out = np.zeros((*vector.shape[:-1], 3, 6))
    x, y, z = vector[..., 0], vector[..., 1], vector[..., 2]
    out[..., 0, 0], out[..., 0, 1], out[..., 0, 2] = x, y, z
    out[..., 1, 1], out[..., 1, 3], out[..., 1, 4] = x, y, z
    out[..., 2, 2], out[..., 2, 4], out[..., 2, 5] = x, y, z
    return out
