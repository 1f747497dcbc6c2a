# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The regressor H of joint torques tau = H(q, dq, ddq) X, linear in inertial parameters X.

A recursion computes Gautier and Khalil 1990, eq. 12: each body's wrench is linear in the body's
ten parameters; this wrench times a joint's unit twist, both in the body's frame, is the body's
share of the joint's torque. Functions for a body tree also take an arm, as a tree without
branches. `torque_regressor` takes stacks of states, arrays of shape (..., n), and processes long
stacks in blocks.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .body_tree import as_body_tree, RobotLike
from .derivatives import TreeKinematics
from .model import as_gravity_vector, broadcast_states
from ..arm import ArmDescription, LinkInertia
from ..arm.inertia import PARAMETER_SYMBOLS
from ..arrays import Array, ArrayLike, as_array
from ..constants import GRAVITY
from ..errors import BaseParameterError, InertiaError, short_repr
from ..spatial import cross, hat

ROTOR_SYMBOL = 'Ia'
N_LINK_PARAMETERS = len(PARAMETER_SYMBOLS)
# States in a block of the regressor: enough that NumPy's cost per call hardly matters, and few
# enough that a block's arrays stay in a processor's cache (about 1 MB at seven joints).
STATES_PER_BLOCK = 128


def parameter_names(robot: RobotLike | int, *, rotor_inertia: bool = False) -> tuple[str, ...]:
    """
    Return the names of the standard inertial parameters, in the order of `parameter_vector`.

    The names are XX_1, XY_1, XZ_1, YY_1, YZ_1, ZZ_1, mX_1, mY_1, mZ_1, m_1, XX_2, ..., m_n, and
    with `rotor_inertia` also Ia_1, ..., Ia_n. `robot` may also be the number of links.

    Returns
    -------
    tuple of str
        10 n names, with `rotor_inertia` 11 n.

    """
    n = int(robot) if isinstance(robot, (int, np.integer)) else as_body_tree(robot).n
    names = [f'{symbol}_{link}' for link in range(1, n + 1) for symbol in PARAMETER_SYMBOLS]
    if rotor_inertia:
        names += [f'{ROTOR_SYMBOL}_{joint}' for joint in range(1, n + 1)]
    return tuple(names)


def parameter_vector(robot: RobotLike, *, rotor_inertia: bool = False) -> Array:
    """
    Return the standard inertial parameters X, (10 n,), with rotors (11 n,) (Gautier, Khalil (4)).

    X has the order of `parameter_names`; the source is Gautier and Khalil 1990.

    Returns
    -------
    ndarray, shape (10 n,) or (11 n,)
        The parameters about the origins and in the axes of the DH frames [kg, kg m, kg m^2].

    """
    if isinstance(robot, ArmDescription):
        bodies = robot.links
        rotors = np.array([joint.rotor_inertia for joint in robot.joints])
    else:
        tree = as_body_tree(robot)
        bodies = tree.inertias
        rotors = tree.rotor_inertias
    links = np.concatenate([body.parameters() for body in bodies])
    return np.concatenate((links, rotors)) if rotor_inertia else links


def parameter_transform(rotation: Array, origin: ArrayLike) -> Array:
    """
    Return the matrix from a body's ten parameters in frame B to those in frame A, (10, 10).

    `rotation` (3, 3) and `origin` (3,) are B's pose in A, numbers or symbols. The inertia tensor
    J about B's origin is moved to A by R J R' + tr(s) 1 - s with s = h p' + p h' + m p p', p the
    origin, m the mass and h = R first moment.
    """
    p = np.asarray(origin)
    columns = []
    for xx, xy, xz, yy, yz, zz, *first, mass in np.eye(N_LINK_PARAMETERS, dtype=int).tolist():
        tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        h = rotation @ first
        shift = np.outer(h, p) + np.outer(p, h) + mass * np.outer(p, p)
        moved = rotation @ tensor @ rotation.T + np.trace(shift) * np.eye(3, dtype=int) - shift
        columns.append([*moved[np.triu_indices(3)], *(h + mass * p), mass])
    return np.array(columns).T


def with_parameter_vector(description: ArmDescription, vector: ArrayLike) -> ArmDescription:
    """
    Return the arm with inertial parameters from a vector in the order of `parameter_names`.

    Parameters
    ----------
    description : ArmDescription
        The arm whose geometry, names and limits are kept.
    vector : array_like, shape (10 n,) or (11 n,)
        Standard parameters, which need not be physically consistent, because regrouped ones may
        not be. A vector of length 10 n leaves the rotor inertias as they are.

    Raises
    ------
    InertiaError
        If the vector has another shape or a value is not finite.

    """
    n = description.n
    words = f'The parameters of {description.name}, ten per link ({", ".join(PARAMETER_SYMBOLS)}),'
    words += ' then rotor inertias or none,'
    values = as_array(vector, (None,), words, InertiaError, finite=False)
    with_rotors = len(values) == (N_LINK_PARAMETERS + 1) * n
    length = (N_LINK_PARAMETERS + int(with_rotors)) * n
    values = as_array(values, (length,), words, InertiaError)
    rows = values[: N_LINK_PARAMETERS * n].reshape(n, N_LINK_PARAMETERS)
    links = tuple(LinkInertia.from_parameters(row) for row in rows)
    joints = description.joints
    if with_rotors:
        rotors = values[N_LINK_PARAMETERS * n :].tolist()
        pairs = zip(joints, rotors)
        joints = tuple(replace(joint, rotor_inertia=rotor) for joint, rotor in pairs)
    return replace(description, joints=joints, links=links)


def torque_regressor(
    robot: RobotLike,
    q: ArrayLike,
    dq: ArrayLike,
    ddq: ArrayLike,
    gravity: ArrayLike = GRAVITY,
    *,
    rotor_inertia: bool = False,
    columns: Sequence[int] | None = None,
) -> Array:
    """
    Return the regressor H, tau = H X for standard parameters X (Gautier, Khalil 1990, (12)).

    Parameters
    ----------
    robot : ArmDescription, BodyTree, str or Path
        Only the geometry is used. Joints are revolute or prismatic, an arm's DH rows standard or
        modified.
    q, dq, ddq : array_like, shape (..., n)
        Positions, velocities and accelerations in joint order (rad or m, and per s, s^2).
    gravity : array_like, shape (3,)
        Gravity in the space frame [m/s^2].
    rotor_inertia : bool
        Append n columns for the rotor inertias Ia_1..Ia_n, whose torque is Ia_i ddq_i.
    columns : sequence of int, optional
        Indices of the columns to return, in this order, such as `BaseParameters.columns`. Memory
        for the other columns is needed for one block of states only.

    Returns
    -------
    ndarray, shape (..., n, p)
        Without `columns` p is 10 n (11 n with rotors), in the order of `parameter_names`; with
        `columns` p is their number.

    Raises
    ------
    JointVectorError
        If a last dimension is not n, shapes do not broadcast, or a value is not finite.
    BaseParameterError
        If a column does not exist, or is named twice.

    """
    tree = as_body_tree(robot)
    states = broadcast_states(tree, q=q, dq=dq, ddq=ddq)
    gravity_vector = as_gravity_vector(gravity)
    n = tree.n
    joints = np.arange(n)
    column_count = (N_LINK_PARAMETERS + int(rotor_inertia)) * n
    hint = '' if rotor_inertia else '; rotor inertias have columns with rotor_inertia=True'
    chosen = as_column_indices(columns, column_count, hint)
    flat = [values.reshape(-1, n) for values in states]
    out = np.zeros((len(flat[0]), n, column_count if chosen is None else len(chosen)))
    for start in range(0, len(out), STATES_PER_BLOCK):
        block = slice(start, min(start + STATES_PER_BLOCK, len(out)))
        motion = TreeKinematics(tree, [values[block] for values in flat], gravity_vector)
        wrenches = wrench_regressor(motion.V, motion.dV)
        own_twists = np.zeros((block.stop - start, n, 6, n))
        own_twists[:, joints, :, joints] = tree.twists[:, None, :]
        # By virtual work, body i's share of a joint's torque is the joint's unit twist, in body
        # i's frame, times body i's wrench.
        twists_at_bodies = tree.sweep_outward(motion.adjoint_inverse, own_twists)
        shares = np.swapaxes(twists_at_bodies, -1, -2) @ wrenches
        rows = np.moveaxis(shares, 1, 2).reshape(-1, n, N_LINK_PARAMETERS * n)
        if rotor_inertia:
            rows = np.concatenate((rows, flat[2][block][..., None] * np.eye(n)), axis=-1)
        out[block] = rows if chosen is None else rows[..., list(chosen)]
    return out.reshape(*states[0].shape, out.shape[-1])


def momentum_regressor(twist: Array) -> Array:
    """
    Return P (..., 6, 10) that maps a body's inertial parameters phi to linear, angular momentum.

    phi are a body's `LinkInertia.parameters()`, with mass m, first moment h and inertia J about
    the frame's origin; `twist` is its (v, omega), shape (..., 6). The momenta are m v + omega x h
    and J omega + h x v.
    """
    v = twist[..., :3]
    omega = twist[..., 3:]
    out = np.zeros((*twist.shape, 10))
    out[..., :3, 9] = v
    out[..., :3, 6:9] = hat(omega)
    out[..., 3:, 6:9] = -hat(v)
    out[..., 3:, :6] = _inertia_regressor(omega)
    return out


def wrench_regressor(velocity: Array, acceleration: Array) -> Array:
    """
    Return A (..., 6, 10) that maps inertial parameters phi to the (force, moment) of a motion.

    The force is m a + domega x h + omega x (omega x h), the moment J domega + omega x J omega +
    h x a, with phi, m, h and J as in `momentum_regressor`. `velocity` is the twist (v, omega) and
    `acceleration` its component-wise derivative (dv, domega) in the body's axes; the acceleration
    of the frame's origin is a = dv + omega x v.
    """
    v = velocity[..., :3]
    omega = velocity[..., 3:]
    classical = np.array(acceleration)
    classical[..., :3] += cross(omega, v)
    out = momentum_regressor(classical)
    turn = hat(omega)
    out[..., :3, 6:9] += turn @ turn
    out[..., 3:, :6] += turn @ _inertia_regressor(omega)
    return out


def _inertia_regressor(vector: Array) -> Array:
    """Return L (..., 3, 6), L (xx, xy, xz, yy, yz, zz) = J `vector` for any inertia tensor J."""
    out = np.zeros((*vector.shape[:-1], 3, 6))
    x = vector[..., 0]
    y = vector[..., 1]
    z = vector[..., 2]
    out[..., 0, 0] = x
    out[..., 0, 1] = y
    out[..., 0, 2] = z
    out[..., 1, 1] = x
    out[..., 1, 3] = y
    out[..., 1, 4] = z
    out[..., 2, 2] = x
    out[..., 2, 4] = y
    out[..., 2, 5] = z
    return out


def as_column_indices(
    columns: Sequence[int] | None, column_count: int, hint: str = ''
) -> tuple[int, ...] | None:
    """
    Return regressor column indices as a checked tuple, or None, which stands for all columns.

    `hint` is added to the message of the error.

    Raises
    ------
    BaseParameterError
        If a column is not one of 0..column_count - 1, or is named twice.

    """
    if columns is None:
        return None
    chosen = np.asarray(columns)
    are_integers = not chosen.size or np.issubdtype(chosen.dtype, np.integer)
    if chosen.ndim == 1 and are_integers:
        existing = {*chosen.tolist()} & {*range(column_count)}
        if len(existing) == chosen.size:
            return tuple(chosen.tolist())
    raise BaseParameterError(
        f'columns is {short_repr(columns)}; give different numbers from 0 to {column_count - 1}'
        f'{hint}.'
    )
