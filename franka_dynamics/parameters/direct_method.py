# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The direct determination of the minimum inertial parameters (Gautier and Khalil 1990).

    direct_base_parameters(load('fer')).names   # 'ZZR_1', 'XXR_2', 'XY_2', ...

Kinetic and potential energy are linear in the parameters, E = DE X and U = DU X. DE and DU of a
link follow from those of the previous link, with f^j that of the joint's own velocity:

    DE^j = lambda^j DE^(j-1) + f^j        DU^j = lambda^j DU^(j-1)

A combination x of link j's parameters can be added to those of link j - 1, as lambda^j' x, if x
DE^j and x DU^j depend on neither q_j nor dq_j (conditions 13 to 15). If link j - 1 can have every
twist, the combinations x are relations (20) and (21) of Gautier and Khalil; near the base there
are more combinations. One pass from the last link to the first regroups all parameters. With
floats this pass gives the same map as `base_parameters`, with symbols (symbolic_parameters.py)
relations in the form of section 9 of Gautier and Khalil.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from . import base_parameters
from .base_parameters import BaseParameters, ColumnGap
from ..arm import ArmDescription, Convention, JointKind
from ..arm.frames import to_modified_convention
from ..arm_io import ArmLike, as_description
from ..arrays import Array, ArrayLike
from ..constants import GRAVITY
from ..dynamics.body_tree import as_body_tree, BodyTree
from ..dynamics.derivatives import TreeKinematics
from ..dynamics.model import as_gravity_vector, broadcast_states
from ..dynamics.regressor import momentum_regressor, N_LINK_PARAMETERS, parameter_transform
from ..errors import BaseParameterError
from ..spatial import cos_sin

# Random states of the arm, and of one joint in each of these.
_RANDOM_STATE_COUNT = 20
_JOINT_MOTIONS_PER_STATE = 2
# Bound of the joint's positions and velocities [rad or the length unit of
# `regroupable_combinations`, and per s].
_MAX_STATE_VALUE = 2.0
# Smaller coefficients, relative to the largest in the row, are set to zero.
_ROUNDOFF_TO_MAX = 1e-14


class KhalilDH(NamedTuple):
    """A modified DH row by Gautier and Khalil, with cos, sin of alpha; d; cos, sin of theta; r."""

    ca: Any
    sa: Any
    d: Any
    ct: Any
    st: Any
    r: Any


def energy_regressor_transform(row: KhalilDH) -> Array:
    """
    Return the matrix that transforms energy regressors from frame j - 1 to frame j, (10, 10).

    It is lambda^j of (16) to (19) in the paper, of floats or symbols as in `row`: the transpose
    transforms parameters from frame j to frame j - 1. A turn and a shift along z, then along x,
    are multiplied, so that symbols need no cos^2 + sin^2 = 1.
    """
    ca, sa, d, ct, st, r = row
    about_z = np.array([[ct, -st, 0], [st, ct, 0], [0, 0, 1]])
    about_x = np.array([[1, 0, 0], [0, ca, -sa], [0, sa, ca]])
    along_z = parameter_transform(about_z, [0, 0, r])
    along_x = parameter_transform(about_x, [d, 0, 0])
    return np.asarray((along_x @ along_z).T)


class RegroupableCombinations(NamedTuple):
    """
    Combinations of a link's parameters that can be added to those of the previous link.

    Their energy does not depend on q_j and dq_j. `parameter_indices` (k,) are those of the link's
    parameters (and of its joint's rotor inertia, if included) in the standard vector,
    `eliminated_indices` (m,) of the eliminated ones. Each column of `combinations`, (k, m), is one
    combination x, with coefficient 1 for the eliminated parameter.
    """

    parameter_indices: list[int]
    eliminated_indices: list[int]
    combinations: Array


def direct_base_parameters(
    arm: ArmLike, gravity: ArrayLike = GRAVITY, *, rotor_inertia: bool | None = None
) -> BaseParameters:
    """
    Return an arm's base parameters by the direct method of Gautier and Khalil (1990).

    The direct method computes the links' energies from link to link; `base_parameters` factors the
    torque regressor instead. `arm` is an arm, or its name or file; `gravity` and `rotor_inertia`
    are as for `base_parameters`. The paper has modified DH rows. An arm with standard rows is
    converted, and the parameters are in the frames of the converted arm, the result's
    `description`.

    Raises BaseParameterError if gravity has another shape or is not finite.
    """
    arm = to_modified_convention(as_description(arm))
    rows = modified_dh_rows(arm)
    steps, gap = regroupable_combinations(arm, gravity, rotor_inertia=rotor_inertia)
    columns, regrouping = regrouping_map(arm, rows, steps)
    matrix = regrouping.astype(float)  # (b, 10 n) or (b, 11 n)
    largest_in_row = np.abs(matrix).max(axis=1, keepdims=True)
    matrix[np.abs(matrix) <= _ROUNDOFF_TO_MAX * largest_in_row] = 0.0
    matrix.setflags(write=False)
    return BaseParameters(
        description=arm,
        tree=as_body_tree(arm),
        gravity=base_parameters.as_gravity_vectors(gravity),
        rotor_inertia=matrix.shape[1] > N_LINK_PARAMETERS * arm.n,
        columns=columns,
        matrix=matrix,
        column_gap=gap,
    )


def regrouping_map(
    arm: ArmDescription,
    rows: Sequence[KhalilDH],
    steps: Sequence[RegroupableCombinations],
) -> tuple[tuple[int, ...], Array]:
    """
    Return the kept parameters' indices and the map from standard to base parameters, (b, p).

    Step b of Gautier and Khalil: from the last link to the first, each combination in `steps[j]`,
    times its eliminated parameter, is subtracted from link j's parameters and, multiplied by the
    transpose of lambda^j, added to those of link j - 1. The energy of a combination does not
    depend on the position of joint j, so lambda^j is taken at theta = 0 of a revolute joint, which
    gives relation (20), and at r = 0 of a prismatic joint, which gives (21).

    The kept parameters are b indices of standard parameters. The map (b, p) has entries of the
    type of the rows' entries (floats or symbols).
    """
    standard_count = sum(len(step.parameter_indices) for step in steps)
    # Row: a regrouped parameter; column: what it has of a standard parameter.
    regrouping = np.eye(standard_count, dtype=int).astype(object)
    for j in reversed(range(arm.n)):
        step = steps[j]
        eliminated = regrouping[step.eliminated_indices]  # copied: the next line makes them zero
        regrouping[step.parameter_indices] -= step.combinations @ eliminated
        if j > 0:
            is_revolute = arm.joints[j].kind is JointKind.REVOLUTE
            row = rows[j]._replace(ct=1, st=0) if is_revolute else rows[j]._replace(r=0)
            of_link = step.combinations[:N_LINK_PARAMETERS]  # without the rotor inertia
            in_previous_frame = energy_regressor_transform(row).T @ of_link
            previous_link = slice(N_LINK_PARAMETERS * (j - 1), N_LINK_PARAMETERS * j)
            regrouping[previous_link] += in_previous_frame @ eliminated
    all_eliminated = {index for step in steps for index in step.eliminated_indices}
    columns = tuple(index for index in range(standard_count) if index not in all_eliminated)
    return columns, regrouping[list(columns)]


def modified_dh_rows(arm: ArmDescription) -> list[KhalilDH]:
    """Return an arm's modified DH rows; raise BaseParameterError for standard or Hayati ones."""
    if arm.convention is not Convention.MODIFIED:
        raise BaseParameterError(
            f'{arm.name} has standard DH rows, and the direct method needs modified ones: use '
            'base_parameters(arm), or convert the arm with to_modified_convention(arm) of '
            'franka_dynamics.arm.frames.'
        )
    rows = [joint.row for joint in arm.joints]
    if any(row.beta for row in rows):
        raise BaseParameterError(
            f'{arm.name} has nearly parallel axes, for which the direct method has no rules '
            '(beta): use base_parameters(arm).'
        )
    return [KhalilDH(*cos_sin(row.alpha), row.a, *cos_sin(row.theta), row.d) for row in rows]


def regroupable_combinations(
    arm: ArmDescription, gravity: ArrayLike, *, rotor_inertia: bool | None = None
) -> tuple[list[RegroupableCombinations], ColumnGap]:
    """
    Return each link's parameter combinations that can be regrouped, and the smallest rank gap.

    The combinations fulfil conditions (13) to (15). The rank gap has the links' smallest
    `min_kept_norm` and largest `max_dropped_norm`. These are steps a and c of Gautier and Khalil,
    done numerically: the energy regressors DE and DU are evaluated at random states, with the
    arm's largest length as unit of length. Gautier and Khalil check the conditions only near the
    base, because later joints have no relations but eq. (20) and (21).
    """
    tree = as_body_tree(arm)
    vectors = base_parameters.as_gravity_vectors(gravity)
    with_rotors = bool(tree.rotor_inertias.any()) if rotor_inertia is None else rotor_inertia
    si_units = base_parameters.parameter_scales(tree, rotor_inertia=with_rotors)  # (p,)
    orders = base_parameters.column_orders(tree, rotor_inertia=with_rotors)
    steps = []
    gaps = []
    for order, changes in zip(orders, _energy_regressor_changes(tree, vectors)):
        parameter_indices = sorted(order)
        # From here on the link's parameters are numbered from 0.
        link_order = [parameter_indices.index(k) for k in order]
        link_changes = changes[:, : len(order)]  # without the rotor inertia, if not included
        kept, coefficients, gap = base_parameters.independent_columns(link_changes, link_order)
        eliminated = [k for k in range(len(order)) if k not in kept]
        units = si_units[parameter_indices]
        # The change of an eliminated column is the sum of kept columns' changes times its
        # coefficients; the combination with these coefficients negated has no change.
        kept_shares = coefficients[:, eliminated] * units[kept][:, None] / units[eliminated]
        combinations = np.zeros((len(order), len(eliminated)))
        combinations[eliminated, range(len(eliminated))] = 1.0
        combinations[kept] = 0.0 - kept_shares
        eliminated_indices = [parameter_indices[k] for k in eliminated]
        steps.append(RegroupableCombinations(parameter_indices, eliminated_indices, combinations))
        gaps.append(gap)
    return steps, ColumnGap(
        min(gap.min_kept_norm for gap in gaps),
        max(gap.max_dropped_norm for gap in gaps),
    )


def _energy_regressor_changes(tree: BodyTree, gravity: Array) -> Iterator[Array]:
    """
    Yield for each joint the changes of its link's energy regressors that its motion causes.

    DE^j and DU^j are the regressors of link j's kinetic and potential energy. Each array has shape
    (rows, 11): for each random state of the arm and each random motion of joint j one row of DE^j,
    and one row of DU^j for each gravity vector other than zero. The rows are differences from q_j
    = dq_j = 0; the last column is for the rotor inertia.
    """
    scaled = base_parameters.scaled_tree(tree)
    directions = base_parameters.gravity_directions(gravity)
    # Positions and velocities, (2, motions of the joint, states of the arm, n).
    shape = (2, 1 + _JOINT_MOTIONS_PER_STATE, _RANDOM_STATE_COUNT, tree.n)
    drawn = np.random.default_rng(0).uniform(-_MAX_STATE_VALUE, _MAX_STATE_VALUE, shape)
    joint_motions = drawn.copy()
    joint_motions[:, 0] = 0.0  # the state from which differences are taken
    arm_states = drawn[:, :1]
    for j in range(tree.n):
        q, dq = np.where(np.arange(tree.n) == j, joint_motions, arm_states)
        regressors = _link_energy_regressors(scaled, q, dq, directions)
        # Kinetic, and potential under each gravity: (motions, states, 1 + gravities, 10).
        link_regressors = regressors[..., j, :, :]
        with_rotor = np.pad(link_regressors, [(0, 0), (0, 0), (0, 0), (0, 1)])
        with_rotor[..., 0, 10] = 0.5 * dq[..., j] ** 2
        yield (with_rotor[1:] - with_rotor[0]).reshape(-1, N_LINK_PARAMETERS + 1)


def _link_energy_regressors(tree: BodyTree, q: Array, dq: Array, gravity: Array) -> Array:
    """
    Return each body's regressors of kinetic energy and of potential energy under k gravities.

    They have shape (..., n, 1 + k, 10): DE, and DU for each of the k vectors `gravity` (k, 3). A
    body of mass m and momentum p has the kinetic energy V' p / 2, with V its twist, and the
    potential energy -m g' c with c its centre of mass in the space frame.
    """
    twists = TreeKinematics(tree, (q, dq, np.zeros_like(q)), np.zeros(3)).V  # (..., n, 6)
    regressors = np.zeros((*q.shape, 1 + len(gravity), N_LINK_PARAMETERS))
    regressors[..., :1, :] = 0.5 * twists[..., None, :] @ momentum_regressor(twists)
    # The columns of a pose, its three axes and its origin, belong to mX, mY, mZ and m.
    regressors[..., 1:, 6:] = -gravity @ tree.poses(q)[..., :3, :]
    return regressors


def energy_regressors(
    description: ArmLike, q: ArrayLike, dq: ArrayLike, gravity: ArrayLike = GRAVITY
) -> tuple[Array, Array]:
    """
    Return the regressors of kinetic and potential energy, DE and DU, (..., 10 n) each.

    They are those of Gautier and Khalil 1990, eq. 10 and 11. A body of mass m, first moment m c,
    inertia J about the origin of its frame and twist (v, omega), all in its own frame, has the
    kinetic energy 1/2 omega' J omega + 1/2 m v' v + v' (omega x m c) and, with its centre of mass
    at p_c in the space frame, the potential energy -m g' p_c.

    `description` is the arm, or its name or file; only its geometry is used. `q` and `dq` (..., n)
    are positions and velocities in joint order [rad or m, and per s], `gravity` (3,) is in the
    space frame [m/s^2].

    DE and DU have shape (..., 10 n), with columns in the order of
    `dynamics.regressor.parameter_names`. U is zero for masses at the origin of the space frame.
    Rotors are not included; they would add 1/2 Ia_i dq_i^2 to E and nothing to U. Raises
    JointVectorError if a vector has the wrong shape or a value is not finite.
    """
    tree = as_body_tree(as_description(description))
    position, velocity = broadcast_states(tree, q=q, dq=dq)
    vectors = as_gravity_vector(gravity)[None]
    by_body = _link_energy_regressors(tree, position, velocity, vectors)  # (..., n, 2, 10)
    DE, DU = np.moveaxis(by_body, -2, 0).reshape(2, *position.shape[:-1], -1)
    return DE, DU
