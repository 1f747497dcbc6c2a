# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The direct determination of the minimum inertial parameters (Gautier and Khalil 1990).

    direct_base_parameters(load('fer')).names   # 'ZZR_1', 'XXR_2', 'XY_2', ...

Kinetic and potential energy are linear in the parameters, E = DE X and U = DU X. DE and DU of a
link follow from those of the previous link (appendix of the paper, in its notation, with
misprints corrected; docs/theory/errata.md):

    DE^j = lambda^j DE^(j-1) + f^j        DU^j = lambda^j DU^(j-1)

A combination x of link j's parameters can be added to those of link j - 1, as lambda^j' x, if x
DE^j and x DU^j depend on neither q_j nor dq_j (conditions 13 to 15). If link j - 1 can have every
twist, the combinations x are relations (20) and (21) of Gautier and Khalil; near the base there
are more combinations. One pass from the last link to the first regroups all parameters. With
floats this pass gives the same map as `base_parameters`, with symbols (symbolic_parameters.py)
relations in the form of section 9 of Gautier and Khalil. Pinocchio computes DE and DU of whole
arms (`energy_regressors`).
"""

from collections.abc import Sequence
from dataclasses import replace
import math
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin

from . import base_parameters
from .base_parameters import BaseParameters, RankGap
from ..arm import ArmDescription, Convention, JointKind, LinkInertia
from ..arm.frames import to_modified_convention
from ..arm_io import ArmLike, as_description
from ..arrays import Array, ArrayLike
from ..dynamics.body_tree import as_body_tree
from ..dynamics.model import broadcast_states, GRAVITY
from ..dynamics.pinocchio_builder import PINOCCHIO_PARAMETER_ORDER
from ..dynamics.pinocchio_model import PinocchioModel
from ..dynamics.regressor import N_LINK_PARAMETERS
from ..errors import BaseParameterError
from ..spatial import cos_sin

# Number of random states of the arm, number of random positions and velocities of a joint in each
# state, and the bound of these positions and velocities [rad or the length unit of
# `regroupable_combinations`, and per s].
_STATE_COUNT = 20
_MOTION_COUNT = 2
_STATE_RANGE = 2.0
# Smaller coefficients, relative to the largest in the row, are set to zero.
_ROUNDING_RATIO = 1e-14


class ModifiedDH(NamedTuple):
    """A modified DH row by Gautier and Khalil, with cos, sin of alpha; d; cos, sin of theta; r."""

    ca: Any
    sa: Any
    d: Any
    ct: Any
    st: Any
    r: Any


def energy_transform(row: ModifiedDH) -> Array:
    """
    Return the matrix that transforms energies from frame j - 1 to frame j, (10, 10).

    It is lambda^j of the paper's appendix, of floats or symbols as in `row`.
    """
    C, S, d, c, s, r = row
    CS, CC, SS, cs, cc, ss = C * S, C * C, S * S, c * s, c * c, s * s
    dj1 = [
        [cc, cs * C, cs * S, ss * CC, ss * CS, ss * SS],
        [-2 * cs, (cc - ss) * C, (cc - ss) * S, 2 * cs * CC, 2 * cs * CS, 2 * cs * SS],
        [0, -c * S, c * C, -2 * s * CS, s * (CC - SS), 2 * s * CS],
        [ss, -cs * C, -cs * S, cc * CC, cc * CS, cc * SS],
        [0, s * S, -s * C, -2 * c * CS, c * (CC - SS), 2 * c * CS],
        [0, 0, 0, SS, -CS, CC],
    ]
    ds1_transposed = [
        [0, 0, 2 * r],
        [c * S * r - s * C * d, -c * C * d - s * S * r, S * d],
        [-c * C * r - s * S * d, -c * S * d + s * C * r, -C * d],
        [2 * (c * d + s * CS * r), 2 * (c * CS * r - s * d), 2 * CC * r],
        [s * r * (SS - CC), c * r * (SS - CC), 2 * CS * r],
        [2 * (c * d - s * CS * r), 2 * (-c * CS * r - s * d), 2 * SS * r],
    ]
    dm1 = [r * r, S * d * r, -C * d * r, CC * r * r + d * d, CS * r * r, SS * r * r + d * d]
    t = [[c, -s, 0, d], [s * C, c * C, -S, -r * S], [s * S, c * S, C, r * C], [0, 0, 0, 1]]
    left = [*dj1, *(list(line) for line in zip(*ds1_transposed)), dm1]
    right = [*([[0] * 4] * 6), *(list(line) for line in zip(*t))]
    return np.array([[*a, *b] for a, b in zip(left, right)])


def energy_increment(
    row: ModifiedDH, omega: Array, velocity: Array, dq: float, is_revolute: bool
) -> Array:
    """
    Return how the velocity of joint j changes link j's kinetic energy regressor, shape (10,).

    It is f^j of the paper's appendix, a part of DE^j. `row` is row j at the joint's position, `dq`
    the joint's velocity. `omega` and `velocity` (3,) are the angular and linear velocity of frame
    j - 1 in its own axes.
    """
    C, S, d, c, s, r = row
    out = np.zeros(10)
    if is_revolute:
        out[[2, 4, 5]] = np.array([[c, s * C, s * S], [-s, c * C, c * S], [0, -S, C]]) @ omega
        ds3 = [
            [-c * r, -c * S * d - s * C * r, c * C * d - s * S * r],
            [s * r, -c * C * r + s * S * d, -c * S * r - s * C * d],
        ]
        ds4 = [[-s, c * C, c * S], [-c, -s * C, -s * S]]
        out[6:8] = np.array(ds3) @ omega + np.array(ds4) @ velocity
    else:
        out[6:8] = np.array([[s, -c * C, -c * S], [c, s * C, s * S]]) @ omega
        out[9] = np.array([0, -C * d, -S * d]) @ omega + np.array([0, -S, C]) @ velocity
    out *= dq
    out[5 if is_revolute else 9] += 0.5 * dq**2
    return out


class RegroupableCombinations(NamedTuple):
    """
    Combinations of a link's parameters that can be added to those of the previous link.

    Their energy does not depend on q_j and dq_j. `indices` are those of the link's parameters (and
    of its joint's rotor inertia, if included) in the standard vector, `eliminated_indices` those
    of the eliminated parameters. Each column of `combinations`, shape (len(indices),
    len(eliminated)), is one combination x, with coefficient 1 for the eliminated parameter.
    """

    indices: list[int]
    eliminated_indices: list[int]
    combinations: Array


def direct_base_parameters(
    arm: ArmLike, gravity: ArrayLike = GRAVITY, *, rotor_inertia: bool | None = None
) -> BaseParameters:
    """
    Return the base parameters of an arm by the direct method.

    The direct method computes the links' energies from link to link; `base_parameters` factors the
    torque regressor instead. `arm` is an arm, or its name or file; `gravity` and `rotor_inertia`
    are as for `base_parameters`. The paper has modified DH rows. An arm with standard rows is
    converted, and the parameters are in the frames of the converted arm, the result's
    `description`.

    Raises BaseParameterError if gravity has another shape or is not finite.
    """
    arm = to_modified_convention(as_description(arm))
    steps, gap = regroupable_combinations(arm, gravity, rotor_inertia=rotor_inertia)
    columns, found = regrouping_map(arm, modified_dh_rows(arm), steps)
    matrix = found.astype(float)
    matrix[np.abs(matrix) <= _ROUNDING_RATIO * np.abs(matrix).max(axis=1, keepdims=True)] = 0.0
    matrix.setflags(write=False)
    rotors = matrix.shape[1] > N_LINK_PARAMETERS * arm.n
    vectors = base_parameters.as_gravity_vectors(gravity)
    return BaseParameters(arm, as_body_tree(arm), vectors, rotors, columns, matrix, gap)


def regrouping_map(
    arm: ArmDescription, rows: Sequence[ModifiedDH], steps: Sequence[RegroupableCombinations]
) -> tuple[tuple[int, ...], Array]:
    """
    Regroup parameters from tip to base; return the kept ones and the map to base parameters.

    Step b of Gautier and Khalil: from the last link to the first, each combination in `steps[j]`,
    times its eliminated parameter, is subtracted from link j's parameters and, multiplied by the
    transpose of lambda^j, added to those of link j - 1. The energy of a combination does not
    depend on the position of joint j, so lambda^j is taken at theta = 0 of a revolute joint, which
    gives relation (20), and at r = 0 of a prismatic joint, which gives (21).

    The kept parameters are b indices of standard parameters. The map (b, p) has entries of the
    type of the rows' entries (floats or symbols).
    """
    size = sum(len(step.indices) for step in steps)
    holds = np.eye(size, dtype=int).astype(object)  # row: regrouped, column: standard parameter
    for j in reversed(range(arm.n)):
        eliminated = holds[steps[j].eliminated_indices]
        holds[steps[j].indices] -= steps[j].combinations @ eliminated
        if j:
            revolute = arm.joints[j].kind is JointKind.REVOLUTE
            row = rows[j]._replace(ct=1, st=0) if revolute else rows[j]._replace(r=0)
            onto = energy_transform(row).T @ steps[j].combinations[:N_LINK_PARAMETERS]
            holds[N_LINK_PARAMETERS * (j - 1) : N_LINK_PARAMETERS * j] += onto @ eliminated
    lost = {index for step in steps for index in step.eliminated_indices}
    columns = tuple(index for index in range(size) if index not in lost)
    return columns, holds[list(columns)]


def modified_dh_rows(arm: ArmDescription) -> list[ModifiedDH]:
    """Return an arm's modified DH rows; raise BaseParameterError for another convention."""
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
    return [ModifiedDH(*cos_sin(row.alpha), row.a, *cos_sin(row.theta), row.d) for row in rows]


def regroupable_combinations(
    arm: ArmDescription, gravity: ArrayLike, *, rotor_inertia: bool | None = None
) -> tuple[list[RegroupableCombinations], RankGap]:
    """
    Return each link's combinations that can be regrouped, and the smallest rank gap.

    The combinations fulfil conditions (13) to (15). The rank gap has the links' smallest
    `smallest_kept` and largest `largest_dropped`. These are steps a and c of Gautier and Khalil,
    done numerically: the energy regressors DE and DU are evaluated at random states, with the
    arm's largest length as unit of length. Gautier and Khalil check the conditions only near the
    base, because later joints have no relations but eq. (20) and (21).
    """
    rows, vectors = modified_dh_rows(arm), base_parameters.as_gravity_vectors(gravity)
    if rotor_inertia is None:
        rotor_inertia = any(joint.rotor_inertia for joint in arm.joints)
    # The position of frame 1 relative to the base does not affect torques.
    unit = max([abs(length) for row in rows[1:] for length in (row.d, row.r)], default=0.0) or 1.0
    rows = [row._replace(d=row.d / unit, r=row.r / unit) for row in rows]
    steps, gaps = [], []
    for j, changes in enumerate(_energy_diffs(arm, rows, vectors)):
        revolute = arm.joints[j].kind is JointKind.REVOLUTE
        indices = list(range(N_LINK_PARAMETERS * j, N_LINK_PARAMETERS * (j + 1)))
        units = [unit**2] * 6 + [unit] * 3 + [1.0]
        if rotor_inertia:
            indices.append(N_LINK_PARAMETERS * arm.n + j)
            units.append(unit**2 if revolute else 1.0)
        order = base_parameters.column_order(arm.joints[j].kind, rotor_inertia=rotor_inertia)
        kept, shares, gap = base_parameters.independent_columns(changes[:, : len(indices)], order)
        eliminated = [k for k in range(len(indices)) if k not in kept]
        combinations = np.zeros((len(indices), len(eliminated)))
        combinations[eliminated, range(len(eliminated))] = 1.0
        scale = np.array(units)
        combinations[kept] = 0.0 - shares[:, eliminated] * scale[kept][:, None] / scale[eliminated]
        gone = [indices[k] for k in eliminated]
        steps.append(RegroupableCombinations(indices, gone, combinations))
        gaps.append(gap)
    return steps, RankGap(
        min(gap.smallest_kept for gap in gaps), max(gap.largest_dropped for gap in gaps)
    )


def _energy_diffs(arm: ArmDescription, rows: Sequence[ModifiedDH], gravity: Array) -> list[Array]:
    """
    Return by joint how its position and velocity change the energy regressors of its link.

    DE^j and DU^j are the regressors of link j's kinetic and potential energy. Each array has shape
    (rows, 11): for each random state of the arm and each random motion of joint j one row of DE^j,
    and one row of DU^j for each gravity vector other than zero. The rows are differences from q_j
    = dq_j = 0; the last column is for the rotor inertia.
    """
    sizes = np.linalg.norm(gravity, axis=1)
    base: Array = np.zeros((int(np.sum(sizes > 0.0)), 10))
    base[:, 6:9] = -gravity[sizes > 0.0] / sizes[sizes > 0.0, None] @ arm.base[:3, :3]  # DU^0
    rng = np.random.default_rng(0)
    found: list[list[Array]] = [[] for _ in rows]
    for _ in range(_STATE_COUNT):
        DE, DU, omega, velocity = np.zeros(10), base, np.zeros(3), np.zeros(3)
        for j, (row, joint) in enumerate(zip(rows, arm.joints)):
            revolute = joint.kind is JointKind.REVOLUTE
            motions = [(0.0, 0.0), *rng.uniform(-_STATE_RANGE, _STATE_RANGE, (_MOTION_COUNT, 2))]
            steps = [energy_transform(_row_at_q(row, q, revolute)) for q, _ in motions]
            DEs = []
            for step, (q, dq) in zip(steps, motions):
                moved = _row_at_q(row, q, revolute)
                added = energy_increment(moved, omega, velocity, dq, revolute)
                DEs.append(np.append(step @ DE + added, 0.5 * dq * dq))
            DUs = [np.pad(DU @ step.T, ((0, 0), (0, 1))) for step in steps]
            found[j] += [each - DEs[0] for each in DEs[1:]]
            found[j] += [line for each in DUs[1:] for line in each - DUs[0]]
            DE, DU, dq, step = DEs[-1][:10], DUs[-1][:, :10], motions[-1][1], steps[-1]
            # Eq. (7) and (8): the last four rows of lambda hold the frame's transposed rotation A'
            # and position P'.
            turn, offset = step[6:9, 6:9], step[9, 6:9]
            moving = np.array([0.0, 0.0, dq])
            velocity = turn @ (velocity + np.cross(omega, offset)) + (0.0 if revolute else moving)
            omega = turn @ omega + (moving if revolute else 0.0)
    return [np.array(each) for each in found]


def _row_at_q(row: ModifiedDH, q: float, revolute: bool) -> ModifiedDH:
    """Return a joint's modified DH row at position q [rad or m], which adds to theta or r."""
    if not revolute:
        return row._replace(r=row.r + q)
    c, s = math.cos(q), math.sin(q)
    return row._replace(ct=row.ct * c - row.st * s, st=row.st * c + row.ct * s)


def energy_regressors(
    description: ArmLike, q: ArrayLike, dq: ArrayLike, gravity: ArrayLike = GRAVITY
) -> tuple[Array, Array]:
    """
    Return the regressors DE and DU of kinetic and potential energy, (..., 10 n) each.

    They are those of Gautier and Khalil 1990, eq. 10 and 11. Pinocchio computes both. A body of
    mass m, first moment m c, inertia J about the origin of its frame and twist (v, omega), all in
    its own frame, has the kinetic energy 1/2 omega' J omega + 1/2 m v' v + v' (omega x m c) and,
    with its centre of mass at p_c in the space frame, the potential energy -m g' p_c.

    `description` is the arm, or its name or file; only its geometry is used. `q` and `dq` (..., n)
    are positions and velocities in joint order [rad or m, and per s], `gravity` (3,) is in the
    space frame [m/s^2].

    DE and DU have shape (..., 10 n), with columns in the order of
    `dynamics.regressor.parameter_names`. U is zero for masses at the origin of the space frame.
    Rotors are not included; they would add 1/2 Ia_i dq_i^2 to E and nothing to U. Raises
    JointVectorError if a vector has the wrong shape or a value is not finite.
    """
    description = as_description(description)
    links = (LinkInertia.zero(),) * description.n
    arm = PinocchioModel(replace(description, links=links), gravity)
    stacks = broadcast_states(description, q=q, dq=dq)
    shape = stacks[0].shape[:-1]
    found = np.zeros((2, *shape, description.n, N_LINK_PARAMETERS))
    for at in np.ndindex(shape):
        position, velocity = (stack[at] for stack in stacks)
        kinetic = pin.computeKineticEnergyRegressor(arm.model, arm.data, position, velocity)
        potential = pin.computePotentialEnergyRegressor(arm.model, arm.data, position)
        for energy, row in enumerate((kinetic, potential)):
            found[(energy, *at)][:, PINOCCHIO_PARAMETER_ORDER] = row.reshape(-1, N_LINK_PARAMETERS)
    # Pinocchio's columns are for parameters in the joints' frames. In the standard convention
    # these are not the DH frames.
    for i, (_, offset) in enumerate(description.joint_placements()):
        moved = [
            LinkInertia.from_parameters(one).expressed_in(offset).parameters()
            for one in np.eye(N_LINK_PARAMETERS)
        ]
        found[..., i, :] = found[..., i, :] @ np.transpose(moved)
    DE, DU = found.reshape(2, *shape, -1)
    return DE, DU
