# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Functions for rotations, poses, twists and wrenches, most with any leading axes.

Twists are (v, omega), as in Pinocchio; the Panda notebook has (omega, v). For this notebook and
Kwon see docs/theory/references.md. Functions with `...` in shapes take stacks and keep their
leading axes.
"""

from enum import Enum

import numpy as np

from .arrays import Array, ArrayLike, as_array
from .errors import as_enum, InertiaError, RigidMotionError

# Below this angle (x - sin x)/x^3 is taken from its series, cut after x^4: the next term,
# x^6/362880, is below 2e-16. Above it cancellation in x - sin x causes a relative error of
# eps/x^2, which multiplication by [phi]^2 compensates.
_MAX_SERIES_ANGLE_RAD = 0.02
# If the cosine of the pitch is below _MIN_GIMBAL_COSINE, roll and yaw turn about parallel
# axes and only their sum or difference is defined.
_MIN_GIMBAL_COSINE = 1e-9
# Largest allowed error of an entry of R R^T = 1: above rounding errors, far below the error of a
# mistyped entry.
_ORTHONORMALITY_TOLERANCE = 1e-9


class JointKind(str, Enum):
    """The kind of a joint, whose position is an angle (revolute) or a length (prismatic)."""

    REVOLUTE = 'revolute'
    PRISMATIC = 'prismatic'

    @property
    def position_unit(self) -> str:
        """Unit of the joint's position, 'rad' if revolute, 'm' if prismatic."""
        return 'rad' if self is JointKind.REVOLUTE else 'm'

    @property
    def effort_unit(self) -> str:
        """Unit of the joint's effort, 'N m' if revolute, 'N' if prismatic."""
        return 'N m' if self is JointKind.REVOLUTE else 'N'


def cross(a: Array, b: Array) -> Array:
    """Return the cross products of two stacks of vectors, shape (..., 3)."""
    # For a few vectors numpy.cross spends most of its time on handling axes.
    out = np.empty(np.broadcast_shapes(a.shape, b.shape))
    out[..., 0] = a[..., 1] * b[..., 2] - a[..., 2] * b[..., 1]
    out[..., 1] = a[..., 2] * b[..., 0] - a[..., 0] * b[..., 2]
    out[..., 2] = a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    return out


def matvec(matrix: Array, vector: Array) -> Array:
    """Return the products of matrices (..., m, k) and vectors (..., k), shape (..., m)."""
    return np.asarray((matrix @ vector[..., None])[..., 0])


def hat(vector: ArrayLike) -> Array:
    """
    Return the skew-symmetric matrix of a vector (..., 3), or the 4 x 4 matrix of a twist (..., 6).

    Parameters
    ----------
    vector : array_like, shape (..., 3) or (..., 6)
        A rotation vector omega, or a twist (v, omega).

    Returns
    -------
    ndarray, shape (..., 3, 3) or (..., 4, 4)
        [omega] with [omega] x = omega x x, or [[omega], v; 0, 0] (Panda notebook,
        `Vector2Matrix_3x3` and `Twist2Matrix_4x4`).

    Raises
    ------
    RigidMotionError
        If the last axis is neither 3 nor 6 long.

    """
    values = np.asarray(vector, dtype=float)
    if values.shape[-1:] == (6,):
        out = np.zeros((*values.shape[:-1], 4, 4))
        out[..., :3, :3] = hat(values[..., 3:])
        out[..., :3, 3] = values[..., :3]
        return out
    if values.shape[-1:] != (3,):
        raise RigidMotionError(f'hat takes shape (..., 3) or (..., 6); got {values.shape}.')
    out = np.zeros((*values.shape, 3))
    x = values[..., 0]
    y = values[..., 1]
    z = values[..., 2]
    out[..., 2, 1] = x
    out[..., 0, 2] = y
    out[..., 1, 0] = z
    out[..., 1, 2] = -x
    out[..., 2, 0] = -y
    out[..., 0, 1] = -z
    return out


def exp3(phi: ArrayLike) -> Array:
    """Return the rotation exp([phi]) of a rotation vector (..., 3) [rad], shape (..., 3, 3)."""
    vector = np.asarray(phi, dtype=float)
    sine, versine, _ = _exponential_coefficients(vector)
    skew = hat(vector)
    return np.eye(3) + sine * skew + versine * (skew @ skew)  # Rodrigues' formula


def exp6(twist: ArrayLike, angle: ArrayLike = 1.0) -> Array:
    """
    Return the motion exp([xi] angle) of a twist xi = (v, omega), shape (..., 4, 4).

    Parameters
    ----------
    twist : array_like, shape (..., 6)
        (v, omega); omega of any length, zero for a translation.
    angle : array_like, shape (...)
        Factor on the twist: the position of a joint [rad or m].

    Notes
    -----
    With phi = omega angle: R = exp([phi]) and p = (1 + (1 - cos x)/x^2 [phi]
    + (x - sin x)/x^3 [phi]^2) v angle, x = |phi| (Murray, Li, Sastry 1994, eq. 2.36).

    """
    scaled = np.asarray(twist, dtype=float) * np.asarray(angle, dtype=float)[..., None]
    phi = scaled[..., 3:]
    sine, versine, rest = _exponential_coefficients(phi)
    skew = hat(phi)
    square = skew @ skew
    left = np.eye(3) + versine * skew + rest * square
    out = np.zeros((*scaled.shape[:-1], 4, 4))
    out[..., :3, :3] = np.eye(3) + sine * skew + versine * square
    out[..., :3, 3] = np.einsum('...ij,...j->...i', left, scaled[..., :3])
    out[..., 3, 3] = 1.0
    return out


def log3(rotation: ArrayLike) -> Array:
    """
    Return the rotation vector of a rotation, of length 0 to pi, shape (..., 3) [rad].

    `log3` inverts `exp3` for angles below pi. Of the two rotation vectors of a half turn `log3`
    returns one.
    """
    matrix = np.asarray(rotation, dtype=float)
    # `products` is 4 q q^T of the unit quaternion q = (w, v). The row of `products` with the
    # largest diagonal entry has no cancellation (Shepperd 1978).
    trace = np.trace(matrix, axis1=-2, axis2=-1)[..., None, None]
    products = np.empty((*matrix.shape[:-2], 4, 4))
    products[..., 0, 0] = 1.0 + trace[..., 0, 0]
    skew = matrix - np.swapaxes(matrix, -1, -2)
    axis = np.stack((skew[..., 2, 1], skew[..., 0, 2], skew[..., 1, 0]), axis=-1)
    products[..., 0, 1:] = products[..., 1:, 0] = axis
    products[..., 1:, 1:] = matrix + np.swapaxes(matrix, -1, -2) + (1.0 - trace) * np.eye(3)
    largest = np.argmax(np.diagonal(products, axis1=-2, axis2=-1), axis=-1)
    row = np.take_along_axis(products, largest[..., None, None], axis=-2)[..., 0, :]
    cosine = np.abs(row[..., 0])
    vector = np.copysign(1.0, row[..., :1]) * row[..., 1:]
    length = np.linalg.norm(vector, axis=-1)
    angle = 2.0 * np.arctan2(length, cosine)
    return vector * (angle / np.where(length == 0.0, 1.0, length))[..., None]


def _exponential_coefficients(phi: Array) -> tuple[Array, Array, Array]:
    """Return sin x/x, (1 - cos x)/x^2 and (x - sin x)/x^3 for x = |phi|, each (..., 1, 1)."""
    x = np.linalg.norm(phi, axis=-1)[..., None, None]
    small = x < _MAX_SERIES_ANGLE_RAD
    safe = np.where(small, 1.0, x)
    rest = np.where(small, 1 / 6 - x**2 / 120 + x**4 / 5040, (safe - np.sin(safe)) / safe**3)
    # numpy's sinc is sin(pi x)/(pi x) and handles zero; 1 - cos x = 2 sin^2(x/2) does not cancel.
    return np.sinc(x / np.pi), 0.5 * np.sinc(0.5 * x / np.pi) ** 2, rest


def adjoint(transform: ArrayLike) -> Array:
    """
    Return Ad(T), (..., 6, 6), which maps a body twist (v, omega) at pose T to the spatial twist.

    The twist is mapped to the reference frame of the pose T = (R, p); Ad(T) = [[R, [p] R], [0,
    R]]. If T is the pose of a body, Ad(T) maps its body twist to its spatial twist.
    """
    matrix = np.asarray(transform, dtype=float)
    rotation = matrix[..., :3, :3]
    origin = matrix[..., :3, 3]
    out = np.zeros((*matrix.shape[:-2], 6, 6))
    out[..., :3, :3] = out[..., 3:, 3:] = rotation
    out[..., :3, 3:] = hat(origin) @ rotation
    return out


def adjoint_inverse(transform: ArrayLike) -> Array:
    """Return Ad(T)^-1 = Ad(T^-1) = [[R^T, -R^T [p]], [0, R^T]], shape (..., 6, 6)."""
    return adjoint(inverse_transform(transform))


def ad(twist: Array) -> Array:
    """Return the matrix (..., 6, 6) of a twist V = (v, omega) that maps twists W to [V, W]."""
    out = np.zeros((*twist.shape, 6))
    out[..., :3, :3] = out[..., 3:, 3:] = hat(twist[..., 3:])
    out[..., :3, 3:] = hat(twist[..., :3])
    return out


def ad_dual(wrench: Array) -> Array:
    """Return the (..., 6, 6) ad*(F) of a wrench F for which ad(A)^T F = ad*(F) A (Kwon, (10))."""
    out = np.zeros((*wrench.shape, 6))
    out[..., :3, 3:] = out[..., 3:, :3] = hat(wrench[..., :3])
    out[..., 3:, 3:] = hat(wrench[..., 3:])
    return out


def joint_twist(axis: ArrayLike, point: ArrayLike, kind: JointKind = JointKind.REVOLUTE) -> Array:
    """
    Return a joint's unit twist (v, omega), (..., 6), from its axis and a point on the axis.

    Parameters
    ----------
    axis : array_like, shape (..., 3)
        Unit vector along the joint axis.
    point : array_like, shape (..., 3)
        Any point on the axis [m]; a prismatic joint does not need it.
    kind : JointKind
        Revolute: (-axis x point, axis) (Panda notebook, cell 8); prismatic: (axis, 0).

    """
    given = (np.asarray(one, dtype=float) for one in (axis, point))
    direction, foot = np.broadcast_arrays(*given)
    if as_enum(JointKind, kind, 'The kind of a joint', RigidMotionError) is JointKind.PRISMATIC:
        return np.concatenate((direction, np.zeros_like(direction)), axis=-1)
    return np.concatenate((-cross(direction, foot), direction), axis=-1)


def rpy_rotation(roll: float, pitch: float, yaw: float) -> Array:
    """Return the rotation (3, 3) Rz(yaw) Ry(pitch) Rx(roll) of URDF's fixed angles [rad]."""
    cr, cp, cy = np.cos((roll, pitch, yaw))
    sr, sp, sy = np.sin((roll, pitch, yaw))
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def inverse_transform(transform: ArrayLike) -> Array:
    """Return the inverse [[R^T, -R^T p], [0, 1]] of rigid transforms, shape (..., 4, 4)."""
    matrix = np.asarray(transform, dtype=float)
    back = np.swapaxes(matrix[..., :3, :3], -1, -2)
    out = np.zeros_like(matrix)
    out[..., :3, :3] = back
    out[..., :3, 3] = -np.einsum('...ij,...j->...i', back, matrix[..., :3, 3])
    out[..., 3, 3] = 1.0
    return out


def pose_from_xyz_rpy(xyz: ArrayLike, angles: ArrayLike) -> Array:
    """
    Return the pose (4, 4) with position xyz [m] and rotation Rz(yaw) Ry(pitch) Rx(roll).

    Parameters
    ----------
    xyz : array_like, shape (3,)
        Position [m].
    angles : array_like, shape (3,)
        Roll, pitch, yaw about the fixed axes x, y, z [rad], as URDF's <origin> has them.

    Returns
    -------
    ndarray, shape (4, 4)

    """
    pose = np.eye(4)
    pose[:3, :3] = rpy_rotation(*np.asarray(angles, dtype=float))
    pose[:3, 3] = np.asarray(xyz, dtype=float)
    return pose


def rpy_from_rotation(rotation: ArrayLike) -> Array:
    """Return roll, pitch, yaw [rad] of a (3, 3) rotation; yaw is 0 at a pitch of +-90 degrees."""
    R = np.asarray(rotation, dtype=float)
    cos_pitch = float(np.hypot(R[0, 0], R[1, 0]))
    pitch = np.arctan2(-R[2, 0], cos_pitch)
    if cos_pitch < _MIN_GIMBAL_COSINE:
        return np.array([np.arctan2(-R[1, 2], R[1, 1]), pitch, 0.0])
    return np.array([np.arctan2(R[2, 1], R[2, 2]), pitch, np.arctan2(R[1, 0], R[0, 0])])


def as_rigid_transform(
    transform: ArrayLike,
    name: str = 'A transform',
    error: type[Exception] = InertiaError,
) -> Array:
    """
    Return a transform, called `name`, as floats (4, 4); raise `error` if it is no rigid motion.

    Raises
    ------
    error
        If its shape is wrong, a number is not finite, the rotation is not orthonormal (to 1e-9) or
        not right-handed, or the last row is not (0, 0, 0, 1).

    """
    matrix = as_array(transform, (4, 4), name, error)
    rotation = matrix[:3, :3]
    rigid = (
        np.abs(rotation @ rotation.T - np.eye(3)).max() <= _ORTHONORMALITY_TOLERANCE
        and np.linalg.det(rotation) > 0.0
        and np.array_equal(matrix[3], (0, 0, 0, 1))
    )
    if not rigid:
        given = matrix.tolist()
        raise error(f'{name} must be a rigid motion [R, p; 0, 1], R a rotation; got {given}.')
    return matrix


def quarter_turns(angle: float) -> int | None:
    """Return an angle [rad] in quarter turns, modulo 4; None if it is no multiple of pi/2."""
    quarters = angle / (0.5 * np.pi)
    return round(quarters) % 4 if quarters == round(quarters) else None


def cos_sin(angle: float) -> tuple[float, float]:
    """Return cosine and sine of an angle [rad], exactly 0, 1 or -1 at multiples of pi/2."""
    quarters = quarter_turns(angle)
    if quarters is None:
        return float(np.cos(angle)), float(np.sin(angle))
    return ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[quarters]


def snapped_angle(angle: float, step: float, tolerance: float) -> float:
    """Return an angle [rad], or the nearest multiple of `step` if closer than `tolerance`."""
    multiple = round(angle / step) * step + 0.0
    return multiple if abs(angle - multiple) < tolerance else angle
