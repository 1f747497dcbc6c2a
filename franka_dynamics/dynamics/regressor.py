# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The dynamics as a matrix times the inertial parameters: tau = H(q, dq, ddq) X.

Gautier and Khalil 1990, eq. 12, by a recursion of our own: each link's wrench is linear in its ten
parameters, and a joint feels that wrench through its unit twist, carried from link to link. All
functions take stacks of states, arrays of shape (..., n), and work through long ones in blocks
that fit the cache.

The same for a tree of bodies.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .body_tree import BodyTree, joint_twists, wrench_matrix
from .closed_chain_derivatives import differentiate_by_parameters
from .model import broadcast_states, GRAVITY, gravity_vector, joint_stack
from ..arm import ArmDescription, LinkInertia
from ..arm.inertia import PARAMETER_SYMBOLS
from ..errors import BaseParameterError, InertiaError
from ..spatial import bracket, twists_seen_from
from ..typing import Array

ROTOR_SYMBOL = 'Ia'
PER_LINK = len(PARAMETER_SYMBOLS)

# Where each of the ten stands among Pinocchio's, (m, hx, hy, hz, xx, xy, yy, xz, yz, zz):
# pin.Inertia.toDynamicParameters() and the columns of pin.computeJointTorqueRegressor.
PLACE_IN_PINOCCHIO = (4, 5, 7, 6, 8, 9, 1, 2, 3, 0)


def parameter_names(n: int, *, rotor_inertia: bool = False) -> tuple[str, ...]:
    """Return the names XX_1, XY_1, ..., m_n of an arm's vector (and Ia_1, ..., Ia_n)."""
    names = [f'{symbol}_{link}' for link in range(1, n + 1) for symbol in PARAMETER_SYMBOLS]
    if rotor_inertia:
        names += [f'{ROTOR_SYMBOL}_{joint}' for joint in range(1, n + 1)]
    return tuple(names)


def parameter_vector(
    description: ArmDescription,
    *,
    rotor_inertia: bool = False,
) -> NDArray[np.float64]:
    """Return an arm's vector X of eq. (4), shape (10 n,), or (11 n,) with rotor inertias."""
    links = [link.parameters() for link in description.links]
    rotors = [[joint.rotor_inertia for joint in description.joints]] if rotor_inertia else []
    return np.concatenate(links + [np.array(values) for values in rotors])


def with_parameter_vector(description: ArmDescription, vector: ArrayLike) -> ArmDescription:
    """
    Return the arm with the links (and rotors) of a vector in the order of eq. (4).

    Parameters
    ----------
    description : ArmDescription
        The arm whose geometry, names and limits are kept.
    vector : array_like, shape (10 n,) or (11 n,)
        Standard parameters; with 10 n of them the rotor inertias are kept as well. They need not
        be physical: regrouped parameters are not.

    Raises
    ------
    InertiaError
        If the vector has another shape or a value is not finite.

    """
    values = np.asarray(vector, dtype=float)
    n = description.n
    if values.shape not in ((PER_LINK * n,), ((PER_LINK + 1) * n,)):
        raise InertiaError(
            f'The parameter vector of {description.name} has shape {values.shape}, expected '
            f'({PER_LINK * n},): ten per link in the order '
            f'{", ".join(PARAMETER_SYMBOLS)}; or '
            f'({(PER_LINK + 1) * n},) with one rotor inertia per joint behind them.'
        )
    if not np.isfinite(values).all():
        bad = int(np.flatnonzero(~np.isfinite(values))[0])
        name = parameter_names(n, rotor_inertia=True)[bad]
        raise InertiaError(
            f'{name} of {description.name} is {values[bad]}; every parameter must '
            'be a finite number.'
        )
    links = values[: PER_LINK * n].reshape(n, PER_LINK)
    joints = description.joints
    if len(values) > PER_LINK * n:
        joints = tuple(
            replace(joint, rotor_inertia=float(rotor))
            for joint, rotor in zip(joints, values[PER_LINK * n :])
        )
    return replace(
        description,
        joints=joints,
        links=tuple(LinkInertia.from_parameters(link) for link in links),
    )


# States worked on at once: enough to spread NumPy's cost per call, few enough that what a block
# holds besides the result (some 20 MB at seven joints) never matters.
_BLOCK = 2048


def torque_regressor(
    description: ArmDescription,
    q: ArrayLike,
    dq: ArrayLike,
    ddq: ArrayLike,
    gravity: ArrayLike = GRAVITY,
    *,
    rotor_inertia: bool = False,
    columns: Sequence[int] | None = None,
) -> Array:
    """
    Return H with tau = H X: torques linear in the standard parameters.

    Gautier and Khalil 1990, eq. 12.

    Parameters
    ----------
    description : ArmDescription
        The arm; only its geometry is used. Either convention, revolute and prismatic joints.
    q, dq, ddq : array_like, shape (..., n)
        Positions, velocities and accelerations in joint order (rad or m, and per s, s^2).
    gravity : array_like, shape (3,)
        Gravity in the space frame [m/s^2].
    rotor_inertia : bool
        Append n columns for the rotor inertias Ia_1..Ia_n, whose torque is Ia_i ddq_i.
    columns : sequence of int, optional
        Only these columns, in this order (`BaseParameters.columns`, say); the others are never
        held for more than a block of states.

    Returns
    -------
    ndarray, shape (..., n, p)
        p = 10 n (11 n with rotors), columns in the order of
        `parameter_names`; or len(columns).

    Raises
    ------
    JointVectorError
        If a last dimension is not n, shapes do not broadcast, or a value is not finite.
    BaseParameterError
        If a column does not exist.

    """
    states = broadcast_states(description, q=q, dq=dq, ddq=ddq)
    g = gravity_vector(gravity)
    n = description.n
    width = (PER_LINK + int(rotor_inertia)) * n
    chosen = _chosen(columns, width)
    flat = [values.reshape(-1, n) for values in states]
    out = np.zeros((len(flat[0]), n, width if chosen is None else len(chosen)))
    for block in _blocks(len(out)):
        part = out[block] if chosen is None else np.zeros((block.stop - block.start, n, width))
        _fill(part, description, flat[0][block], flat[1][block], flat[2][block], g)
        if rotor_inertia:
            joints = np.arange(n)
            part[:, joints, PER_LINK * n + joints] = flat[2][block]
        if chosen is not None:
            out[block] = part[:, :, chosen]
    return out.reshape(*states[0].shape, out.shape[-1])


def wrench_regressor(description: ArmDescription, q: ArrayLike) -> Array:
    """
    Return W with tau = H X + W w: the torques under a wrench at the flange.

    As in `DynamicsModel`, w = (force [N], moment about the flange's origin [N m]) is what the
    surroundings exert on the flange, in the axes of the space frame; W = -J^T.

    Parameters
    ----------
    description : ArmDescription
        The arm.
    q : array_like, shape (..., n)
        Joint positions [rad or m].

    Returns
    -------
    ndarray, shape (..., n, 6)

    Raises
    ------
    JointVectorError
        If the last dimension of q is not n or a value is not finite.

    """
    position = joint_stack(description, q, 'q')
    screws = joint_twists(description)
    carried = np.zeros((*position.shape[:-1], 0, 6))
    rotation = np.asarray(description.base)[:3, :3]
    for i, step in enumerate(description.joint_transforms(position)):
        carried = _carry(step, carried, screws[i])
        rotation = rotation @ step[..., :3, :3]
    flange = description.flange_transform()
    at_flange = twists_seen_from(flange, carried)
    back = np.swapaxes(rotation @ flange[:3, :3], -1, -2)
    return -np.concatenate((at_flange[..., :3] @ back, at_flange[..., 3:] @ back), axis=-1)


def _fill(
    out: Array, description: ArmDescription, q: Array, dq: Array, ddq: Array, gravity: Array
) -> None:
    """Fill the link columns of one block: `out` is (N, n, >= 10 n) and zero."""
    screws = joint_twists(description)
    count = len(q)
    carried = np.zeros((count, 0, 6))  # unit twists of joints 1..i in frame i
    velocity = np.zeros((count, 1, 6))
    # A base that accelerates upwards feels like gravity.
    up = -(np.asarray(description.base)[:3, :3].T @ gravity)
    acceleration = np.broadcast_to(np.concatenate((up, np.zeros(3))), (count, 1, 6))
    for i, step in enumerate(description.joint_transforms(q)):
        carried = _carry(step, carried, screws[i])
        rate = dq[:, i, None, None] * screws[i]
        velocity = twists_seen_from(step, velocity) + rate
        acceleration = (
            twists_seen_from(step, acceleration)
            + ddq[:, i, None, None] * screws[i]
            + bracket(velocity, rate)
        )
        wrench = wrench_matrix(velocity[:, 0], acceleration[:, 0])
        # A joint at or before link i feels the link's wrench by virtual work.
        out[:, : i + 1, PER_LINK * i : PER_LINK * (i + 1)] = carried @ wrench


def _carry(step: Array, carried: Array, screw: Array) -> Array:
    """Return the unit twists of the joints so far in the next frame, its own joint's added."""
    own = np.broadcast_to(screw, (*carried.shape[:-2], 1, 6))
    return np.concatenate((twists_seen_from(step, carried), own), axis=-2)


def _chosen(columns: Sequence[int] | None, width: int) -> list[int] | None:
    if columns is None:
        return None
    chosen = [int(column) for column in columns]
    for column in chosen:
        if not 0 <= column < width:
            raise BaseParameterError(
                f'Column {column} does not exist: the regressor has columns '
                f'0..{width - 1}. Rotor columns need rotor_inertia=True.'
            )
    return chosen


def _blocks(count: int) -> Iterator[slice]:
    """Yield the slices that cover 0..count."""
    for start in range(0, count, _BLOCK):
        yield slice(start, min(start + _BLOCK, count))


# States worked on at once: wrenches of all bodies by all parameters take 60 kB each at 15 joints.
_TREE_BLOCK = 256


def tree_regressor(
    tree: BodyTree,
    q: ArrayLike,
    dq: ArrayLike,
    ddq: ArrayLike,
    gravity: ArrayLike = GRAVITY,
    *,
    rotor_inertia: bool = False,
    columns: Sequence[int] | None = None,
) -> Array:
    """
    Return H with tau = H X for a tree, as `torque_regressor` does for an arm.

    Its parameters and errors are those of `torque_regressor`.

    Returns
    -------
    ndarray, shape (..., n, p)
        p = 10 n (11 n with rotors): XX, XY, XZ, YY, YZ, ZZ, mX, mY, mZ, m of each body about the
        origin and in the axes of its frame; or len(columns).

    """
    n = tree.n
    width = (PER_LINK + int(rotor_inertia)) * n
    chosen = list(range(width)) if columns is None else [int(column) for column in columns]
    for column in chosen:
        if not 0 <= column < width:
            raise BaseParameterError(
                f'Column {column} does not exist: the regressor has columns '
                f'0..{width - 1}. Rotor columns need rotor_inertia=True.'
            )
    states = np.broadcast_arrays(
        *(tree.joint_vector(values, name) for values, name in ((q, 'q'), (dq, 'dq'), (ddq, 'ddq')))
    )
    flat = [values.reshape(-1, n) for values in states]
    out = np.empty((len(flat[0]), n, len(chosen)))
    for start in range(0, len(out), _TREE_BLOCK):
        block = slice(start, start + _TREE_BLOCK)
        position, velocity, acceleration = (values[block] for values in flat)
        by = differentiate_by_parameters(tree, position, velocity, acceleration, gravity=gravity)
        full = by.tau.reshape(len(position), n, PER_LINK * n)
        if rotor_inertia:
            rotors = acceleration[:, :, None] * np.eye(n)
            full = np.concatenate((full, rotors), axis=-1)
        out[block] = full[:, :, chosen]
    return out.reshape(*states[0].shape, len(chosen))


def tree_parameter_vector(tree: BodyTree, *, rotor_inertia: bool = False) -> Array:
    """Return the bodies' parameters in the regressor's order, shape (10 n,) or (11 n,)."""
    vector = np.concatenate([body.parameters() for body in tree.inertias])
    return np.concatenate((vector, tree.rotor_inertias)) if rotor_inertia else vector
