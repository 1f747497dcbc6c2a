# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Kinetic and potential energy, linear in the inertial parameters: E = DE X and U = DU X."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..arm import ArmDescription
from ..dynamics.body_tree import joint_twists
from ..dynamics.model import broadcast_states, GRAVITY, gravity_vector
from ..spatial import adjoint_inverse
from ..typing import Array


def energy_regressors(
    description: ArmDescription, q: ArrayLike, dq: ArrayLike, gravity: ArrayLike = GRAVITY
) -> tuple[Array, Array]:
    """
    Return DE and DU of Gautier and Khalil 1990, eq. 10 and 11.

    A body of mass m, first moment m c, inertia J and twist (v, omega), in its own frame, has the
    kinetic energy 1/2 omega' J omega + 1/2 m v' v + v' (omega x m c), and the potential energy -m
    g' p_c.

    Parameters
    ----------
    description : ArmDescription
        The arm; only its geometry is used.
    q, dq : array_like, shape (..., n)
        Positions and velocities in joint order [rad or m, and per s].
    gravity : array_like, shape (3,)
        Gravity in the space frame [m/s^2].

    Returns
    -------
    tuple of ndarray, each of shape (..., 10 n)
        DE and DU, their columns in the order of `dynamics.regressor.parameter_names`. U is zero
        for masses at the origin of the space frame. Rotors are not included; they would add 1/2
        Ia_i dq_i^2 to E and nothing to U.

    Raises
    ------
    JointVectorError
        If a vector has the wrong shape or a value is not finite.

    """
    position, velocity = broadcast_states(description, q=q, dq=dq)
    g, screws = gravity_vector(gravity), joint_twists(description)
    twist = np.zeros((*position.shape[:-1], 1, 6))
    frame = np.asarray(description.base, dtype=float)
    kinetics, potentials = [], []
    for i, pose in enumerate(description.joint_transforms(position)):
        seen = np.swapaxes(adjoint_inverse(pose), -1, -2)
        twist = twist @ seen + velocity[..., i, None, None] * screws[i]
        frame = frame @ pose
        v, w = twist[..., 0, :3], twist[..., 0, 3:]
        x, y, z = np.moveaxis(w, -1, 0)
        tensor = np.stack([x * x / 2, x * y, x * z, y * y / 2, y * z, z * z / 2], axis=-1)
        mass = 0.5 * np.sum(v * v, axis=-1, keepdims=True)
        kinetics.append(np.concatenate([tensor, np.cross(v, w), mass], axis=-1))
        moment = -np.einsum('...ij,i->...j', frame[..., :3, :3], g)
        held = -np.sum(frame[..., :3, 3] * g, axis=-1, keepdims=True)
        potentials.append(np.concatenate([np.zeros_like(tensor), moment, held], axis=-1))
    return np.concatenate(kinetics, axis=-1), np.concatenate(potentials, axis=-1)
