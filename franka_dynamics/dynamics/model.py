# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What every formulation of the dynamics can be asked."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arm import ArmDescription
from ..errors import FrameError, JointVectorError

GRAVITY = (0.0, 0.0, -9.81)  # [m/s^2] in the space frame, as FCI fixes it
REFERENCE_FRAMES = ('LOCAL', 'WORLD', 'LOCAL_WORLD_ALIGNED')
FLANGE = 'flange'


class DynamicsModel(Protocol):
    """
    The rigid-body dynamics tau = M(q) ddq + C(q, dq) dq + g(q) of a serial arm.

    All quantities are in SI units and joint order. Frames are numbered 1..n (the DH frame of
    each joint) and n + 1 (the flange); poses are in the space frame {S}. Twists are
    (v, omega). Every method takes arrays of shape (n,), returns a new array that the caller
    owns, and raises JointVectorError if a vector has another shape or is not finite.
    """

    description: ArmDescription

    def frames(self, q: ArrayLike) -> NDArray[np.float64]:
        """Return the poses of frames 1..n and of the flange in {S}, shape (n + 1, 4, 4)."""
        ...

    def jacobian(self, q: ArrayLike, frame: int | str = FLANGE,
                 reference_frame: str = 'LOCAL_WORLD_ALIGNED') -> NDArray[np.float64]:
        """Return the (6, n) Jacobian of a frame's twist (v, omega), in Pinocchio's terms."""
        ...

    def mass_matrix(self, q: ArrayLike) -> NDArray[np.float64]:
        """Return M(q), shape (n, n) [kg m^2], symmetric; rotor inertias on the diagonal."""
        ...

    def coriolis_matrix(self, q: ArrayLike, dq: ArrayLike) -> NDArray[np.float64]:
        """Return a C(q, dq), shape (n, n), with dM/dt = C + C^T."""
        ...

    def coriolis(self, q: ArrayLike, dq: ArrayLike) -> NDArray[np.float64]:
        """Return C(q, dq) dq, shape (n,) [N m]."""
        ...

    def gravity(self, q: ArrayLike) -> NDArray[np.float64]:
        """Return g(q), shape (n,) [N m]: the torque that holds the arm still."""
        ...

    def nonlinear_effects(self, q: ArrayLike, dq: ArrayLike) -> NDArray[np.float64]:
        """Return C(q, dq) dq + g(q), shape (n,) [N m]."""
        ...

    def inverse_dynamics(self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike,
                         ) -> NDArray[np.float64]:
        """Return M ddq + C dq + g, shape (n,) [N m]."""
        ...


def gravity_vector(gravity: ArrayLike) -> NDArray[np.float64]:
    """
    Return gravity as a float array of shape (3,) [m/s^2].

    Raises
    ------
    JointVectorError
        If it has another shape or is not finite.

    """
    vector = np.array(gravity, dtype=float)
    if vector.shape != (3,) or not np.isfinite(vector).all():
        raise JointVectorError(
            f'The gravity vector must be three finite numbers [m/s^2] in the space frame, such as '
            f'{GRAVITY}; got {np.asarray(gravity).tolist()}.')
    return vector


def frame_index(frame: int | str, n: int) -> int:
    """
    Return the place of a frame in what `frames` returns: 0..n - 1 for the joints, n the flange.

    Raises
    ------
    FrameError
        If `frame` is neither 1..n + 1 nor 'flange'.

    """
    number = n + 1 if frame == FLANGE else frame
    if not isinstance(number, (int, np.integer)) or not 1 <= number <= n + 1:
        raise FrameError(f'There is no frame {frame!r}: frames are 1..{n} (joints) and '
                         f'{n + 1} or {FLANGE!r}.')
    return int(number) - 1


def require_reference_frame(name: str) -> str:
    """Return `name` if it is one of REFERENCE_FRAMES, or raise FrameError."""
    if name not in REFERENCE_FRAMES:
        raise FrameError(f'There is no reference frame {name!r}; the choices are '
                         f'{", ".join(REFERENCE_FRAMES)}.')
    return name
