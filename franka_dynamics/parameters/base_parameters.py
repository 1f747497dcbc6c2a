# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The minimum inertial parameters of an arm or a tree of bodies.

    found = base_parameters(load('fer'))
    found.names                                 # 'ZZR_1', 'XXR_2', 'XY_2', ...
    tau = found.regressor(q, dq, ddq) @ found.values()

Torques are linear in the standard parameters, ten for each body (Gautier and Khalil 1990, eq. 12),
but they do not depend on all of them separately. The torque regressor of random states, stacked,
is factored without pivoting (Gautier 1991, "Numerical calculation of the base inertial parameters
of robots"). The regressor's columns are ordered from the base outwards, and within a body in the
reverse of the order in which the direct method of Gautier and Khalil eliminates parameters. A
column that depends linearly on earlier columns is removed, and its parameter is added to the kept
parameters, with the coefficients of this dependence. docs/howto/courses.md compares both
methods.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from .relations import Relation, relations
from ..arm import ArmDescription, JointKind
from ..arm.inertia import PARAMETER_SYMBOLS
from ..arm_io import as_description
from ..arrays import Array, array_text, ArrayLike, as_array, NDArray
from ..constants import GRAVITY
from ..dynamics import regressor
from ..dynamics.body_tree import as_body_tree, BASE_BODY, BodyTree
from ..dynamics.model import as_gravity_vector
from ..dynamics.regressor import N_LINK_PARAMETERS, torque_regressor
from ..errors import BaseParameterError

NO_GRAVITY = (0.0, 0.0, 0.0)
# Base parameters for the three gravity vectors GRAVITY_BASIS_M_S2 hold for every direction of
# gravity, thus for any mounting of the arm.
GRAVITY_BASIS_M_S2 = ((9.81, 0.0, 0.0), (0.0, 9.81, 0.0), (0.0, 0.0, 9.81))
# Order in which a body's parameters are eliminated if there is a choice. Gautier and Khalil
# eliminate YY, mZ and m of a revolute joint's link, and the whole inertia tensor of a prismatic
# joint's link. The other parameters are ordered so that near the base the same parameters are kept
# as by Gautier and Khalil.
_ELIMINATION_ORDER = {
    JointKind.REVOLUTE: ('m', 'mZ', 'YY', 'mY', 'mX', 'YZ', 'XZ', 'XY', 'XX', 'ZZ'),
    JointKind.PRISMATIC: ('ZZ', 'YY', 'YZ', 'XZ', 'XY', 'XX', 'mZ', 'mX', 'mY', 'm'),
}
# The elimination order holds for a joint axis along its link's z. In a standard DH row with alpha
# = +-pi/2 the axis is along the link's y; in that case y and z of the order are exchanged.
_SYMBOL_WITH_Y_Z_SWAPPED = {
    'YY': 'ZZ',
    'ZZ': 'YY',
    'XY': 'XZ',
    'XZ': 'XY',
    'mY': 'mZ',
    'mZ': 'mY',
}
# Random states for the regressor.
_RANDOM_STATES_PER_JOINT = 8
_MIN_RANDOM_STATE_COUNT = 20
# Bound of their positions [rad, or in units of the arm's largest length] and of their velocities
# and accelerations.
_MAX_STATE_VALUE = 2.0
# A column of unit length depends on earlier columns if its component orthogonal to them is below
# _RANK_TOLERANCE. Independent columns have components down to 1e-5 in unusual geometries and 0.1
# in real arms; rounding errors are 1e-15.
_RANK_TOLERANCE = 1e-9
# For the shipped arms `ColumnGap.min_kept_norm` is at least 0.03 and `ColumnGap.max_dropped_norm`
# at most 1e-15, a rounding error. If one of the two lies between these bounds, a length in the DH
# rows is nearly zero or an angle is nearly a multiple of pi/2.
_MAX_DROPPED_NORM = 1e-12
_MIN_KEPT_NORM = 1e-5
# A coefficient is rounded if it is nearer to an integer than _ROUNDING_TO_COND times the condition
# number of the kept columns.
_ROUNDING_TO_COND = 1e-14
_MIN_LENGTH_UNIT_M = 1e-12  # [m]; smaller lengths are rounding errors of quarter turns
# Relative tolerance for a gravity vector to lie in the span of other gravity vectors.
_SPAN_TOLERANCE = 1e-9


@dataclass(frozen=True)
class ColumnGap:
    """
    The gap in size between kept and removed columns' components orthogonal to earlier columns.

    A regressor column is kept if its component orthogonal to the earlier columns is significant.
    `min_kept_norm` is the smallest orthogonal component of a kept column, relative to the longest
    column; `max_dropped_norm` is the largest orthogonal component of a removed column, relative to
    that column's length. The regressor is computed with the arm's largest length as unit.
    """

    min_kept_norm: float
    max_dropped_norm: float

    @property
    def is_clear(self) -> bool:
        """Whether every column clearly is or is not a combination of the earlier ones."""
        return self.min_kept_norm >= _MIN_KEPT_NORM and self.max_dropped_norm <= _MAX_DROPPED_NORM


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """
    The base parameters of an arm or tree, with their regressor columns and map from standard ones.

    With H = torque_regressor(...) and X = parameter_vector(...), H X = H[..., columns] @ (matrix @
    X) for every state: the regressor's columns stay, the parameters are regrouped. Columns and map
    do not depend on the inertias.

    `tree` is the analysed arm as a tree, or the analysed tree, whose bodies' parameters are in the
    bodies' frames. The parameters are valid for all linear combinations of the vectors `gravity`
    (k, 3) in the space frame. `rotor_inertia` says whether the vector of standard parameters
    includes rotor inertias: 11 n entries, else 10 n. `columns` has for each base parameter the
    index of the standard parameter whose column it keeps, and `matrix`, (b, 10 n) or (b, 11 n), is
    the map from the standard to the base parameters.
    """

    description: ArmDescription | BodyTree
    tree: BodyTree
    gravity: Array
    rotor_inertia: bool
    columns: tuple[int, ...]
    matrix: Array
    column_gap: ColumnGap
    json_fields = (
        'description',
        'gravity',
        'names',
        'relations',
        'standard_names',
        'matrix',
    )

    def __len__(self) -> int:
        """Return the number of base parameters."""
        return len(self.columns)

    @cached_property
    def standard_names(self) -> tuple[str, ...]:
        """Names of the standard parameters, in the order of the columns of `matrix`."""
        n = self.matrix.shape[1] // (N_LINK_PARAMETERS + int(self.rotor_inertia))
        return regressor.parameter_names(n, rotor_inertia=self.rotor_inertia)

    @cached_property
    def relations(self) -> tuple[Relation, ...]:
        """Each base parameter as a `Relation`, a weighted sum of standard parameters."""
        return relations(self.standard_names, self.columns, self.matrix)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of base parameters by Gautier and Khalil, such as XXR_2 (a sum) or XY_2."""
        return tuple(relation.name for relation in self.relations)

    @cached_property
    def unidentifiable_indices(self) -> tuple[int, ...]:
        """
        Indices of the standard parameters that have no effect on joint torques under `gravity`.

        See Gautier and Khalil 1990, equation 13.
        """
        return tuple(int(k) for k in np.flatnonzero(~self.matrix.any(axis=0)))

    @cached_property
    def eliminated_indices(self) -> tuple[int, ...]:
        """
        Indices of the standard parameters that are added to others to form base parameters.

        See Gautier and Khalil 1990, equations 14 and 15.
        """
        not_eliminated = {*self.columns, *self.unidentifiable_indices}
        return tuple(k for k in range(self.matrix.shape[1]) if k not in not_eliminated)

    def checked_gravity(self, gravity: ArrayLike | None) -> Array:
        """
        Return `gravity`, for None the only valid one; BaseParameterError if invalid or not unique.

        Raises BaseParameterError if `gravity` is None and the parameters hold for several vectors,
        or if `gravity` is outside the span of the vectors for which the parameters hold;
        JointVectorError if it is not three finite numbers.
        """
        if gravity is None:
            if len(self.gravity) > 1:
                raise BaseParameterError(
                    'These base parameters hold for several directions of gravity: give the '
                    'gravity vector of these torques.'
                )
            gravity = self.gravity[0]
        vector = as_gravity_vector(gravity)
        coefficients, *_ = np.linalg.lstsq(self.gravity.T, vector, rcond=None)
        outside_span = np.linalg.norm(vector - self.gravity.T @ coefficients)
        if outside_span > _SPAN_TOLERANCE * np.linalg.norm(vector):
            raise BaseParameterError(
                f'These base parameters were found for gravity along {self.gravity.tolist()}; '
                f'under {vector.tolist()} more parameters affect the torques. Compute them with '
                "base_parameters(arm, 'any'), or for that vector."
            )
        return vector

    def values(self, description: ArmDescription | BodyTree | None = None) -> Array:
        """
        Return the base parameters' values for an arm of this geometry, (b,) [kg m^2, kg m, kg].

        `description` is an arm or tree with other inertias (a payload, another set), by default
        the analysed arm or tree. Raises BaseParameterError if its geometry differs from that of
        the analysed arm or tree.
        """
        other = self.description if description is None else description
        if _geometry_values(other) != _geometry_values(self.description):
            other_name = getattr(other, 'name', 'a tree')
            analysed_name = getattr(self.description, 'name', 'a tree')
            raise BaseParameterError(
                f'{other_name} has another geometry than {analysed_name}, for which these base '
                'parameters were computed. An arm needs the same joints, DH rows, convention and '
                'base pose, a tree the same parents, placements and twists. Compute its own with '
                'base_parameters().'
            )
        return self.matrix @ regressor.parameter_vector(other, rotor_inertia=self.rotor_inertia)

    def regrouped_arm(self, values: ArrayLike | None = None) -> ArmDescription:
        """
        Return the arm whose links have the base parameters as inertias, all other ones zero.

        The torques stay the same under the gravity for which the parameters were computed. The
        links are not physical: use the arm to generate customised equations or in
        `NewtonEulerModel`, never in a simulator. `values` (b,) are by default those of the
        analysed arm.

        Raises BaseParameterError for values of another shape or that are no finite numbers, and
        for the parameters of a tree of bodies, which no arm has.
        """
        if not isinstance(self.description, ArmDescription):
            raise BaseParameterError(
                'These are the base parameters of a tree of bodies, and only an arm can be '
                'regrouped: compute them with base_parameters(arm).'
            )
        base_values = as_array(
            self.values() if values is None else values,
            (len(self),),
            f'The base parameters, ordered {", ".join(self.names[:3])}, ...,',
            BaseParameterError,
        )
        standard_parameters = np.zeros(self.matrix.shape[1])
        standard_parameters[list(self.columns)] = base_values
        return regressor.with_parameter_vector(self.description, standard_parameters)

    def regressor(
        self,
        q: ArrayLike,
        dq: ArrayLike,
        ddq: ArrayLike,
        gravity: ArrayLike | None = None,
    ) -> Array:
        """
        Return the regressor Y (..., n, b) of torques in the base parameters: tau = Y @ values.

        Y has shape (..., n, b) for states q, dq, ddq (..., n) in joint order. `gravity` (3,) is in
        the space frame [m/s^2], and required if the parameters hold for several vectors.

        Raises BaseParameterError if gravity is required and missing, or outside the span of the
        vectors for which the parameters were computed, and JointVectorError if a state has the
        wrong shape or is not finite.
        """
        return torque_regressor(
            self.tree,
            q,
            dq,
            ddq,
            self.checked_gravity(gravity),
            rotor_inertia=self.rotor_inertia,
            columns=self.columns,
        )

    def check_at_random_states(self) -> tuple[int, float]:
        """
        Return the regressor's rank and largest relative error of regrouping, at new random states.

        The rank is the number of significant singular values of the regressor H, and should be the
        number of base parameters. The error is the largest absolute entry of H - H[:, columns] @
        matrix, with the columns of H scaled to unit length, and should be a rounding error.
        """
        stacked = _stacked_regressor(self.tree, self.gravity, self.rotor_inertia, seed=1)
        si_units = parameter_scales(self.tree, rotor_inertia=self.rotor_inertia)  # (p,)
        base_units = si_units[list(self.columns)]
        scaled_matrix = self.matrix * si_units / base_units[:, None]
        norms = np.linalg.norm(stacked, axis=0)
        is_zero = norms <= _RANK_TOLERANCE * norms.max(initial=0.0)
        norms = np.where(is_zero, 1.0, norms)
        regrouped = stacked[:, self.columns] @ scaled_matrix
        errors = (stacked - regrouped) / norms
        singular_values = np.linalg.svd(stacked / norms, compute_uv=False)
        largest = max(singular_values.max(initial=0.0), 1.0)
        rank = int(np.sum(singular_values > _RANK_TOLERANCE * largest))
        return rank, float(np.abs(errors).max(initial=0.0))


def base_parameters(
    description: ArmDescription | BodyTree | str | Path,
    gravity: ArrayLike = GRAVITY,
    *,
    rotor_inertia: bool | None = None,
) -> BaseParameters:
    """
    Return the base parameters of an arm or a tree of bodies.

    Parameters
    ----------
    description : ArmDescription, BodyTree, str or Path
        A serial arm of revolute and prismatic joints in either DH convention, its name or its
        file; or a tree of bodies, such as a torso with two arms. Parameters are in the
        description's link frames. In the standard convention a joint does not turn about its own
        link's z, so that other parameters are eliminated than in the paper.
    gravity : array_like, shape (3,) or (k, 3)
        Gravity in the space frame, of which only the direction matters. Parameters for several
        vectors hold for all their combinations; 'any' stands for every direction.
    rotor_inertia : bool, optional
        Whether each joint's rotor inertia is one more parameter; by default only if some joint of
        the description has rotor inertia.

    Returns
    -------
    BaseParameters
        The base parameters, and the map from the standard parameters.

    Raises
    ------
    BaseParameterError
        If gravity has another shape or is not finite.

    """
    if not isinstance(description, BodyTree):
        description = as_description(description)
    vectors = as_gravity_vectors(gravity)
    vectors.setflags(write=False)
    tree = as_body_tree(description)
    with_rotors = bool(tree.rotor_inertias.any()) if rotor_inertia is None else rotor_inertia
    stacked = _stacked_regressor(tree, vectors, with_rotors, seed=0)  # (rows, p)
    body_orders = column_orders(tree, rotor_inertia=with_rotors)
    order = [column for body_order in body_orders for column in body_order]
    columns, coefficients, gap = independent_columns(stacked, order)
    # The regressor was computed in units of the arm's largest length.
    si_units = parameter_scales(tree, rotor_inertia=with_rotors)  # (p,)
    matrix = coefficients * si_units[columns][:, None] / si_units  # (b, p)
    matrix[:, columns] = np.eye(len(columns))
    matrix.setflags(write=False)
    return BaseParameters(description, tree, vectors, with_rotors, tuple(columns), matrix, gap)


def _geometry_values(arm: ArmDescription | BodyTree) -> tuple[Any, ...]:
    """Return the values that define the geometry of an arm or a tree, without inertias."""
    if isinstance(arm, BodyTree):
        return arm.parents, arm.placements.tolist(), arm.twists.tolist()
    return (
        arm.convention,
        arm.base.tolist(),
        [(joint.kind, joint.row) for joint in arm.joints],
    )


def independent_columns(matrix: Array, order: Sequence[int]) -> tuple[list[int], Array, ColumnGap]:
    """
    Return independent columns' indices, all columns' coefficients in these, and the rank gap.

    `matrix` (rows, p) has columns of comparable size, which are tested in `order` (p indices) for
    dependence on earlier columns. Returned are the indices of the b independent columns, `kept`;
    the coefficients (b, p) of matrix = matrix[:, kept] @ coefficients; and the gap between the
    kept and the removed columns.
    """
    norms = np.linalg.norm(matrix, axis=0)  # (p,)
    longest = norms.max(initial=0.0)
    # Columns of zeros belong to parameters that have no effect on torques.
    tested = np.array([k for k in order if norms[k] > _RANK_TOLERANCE * longest], int)
    # Of columns of unit length the diagonal of R has the components orthogonal to earlier ones.
    triangle = np.asarray(np.linalg.qr(matrix[:, tested] / norms[tested], mode='r'))
    orthogonal_norms = np.abs(np.diag(triangle))
    is_kept = orthogonal_norms > _RANK_TOLERANCE
    kept = tested[is_kept]
    norms_to_longest = orthogonal_norms * norms[tested] / longest
    gap = ColumnGap(
        min_kept_norm=float(norms_to_longest[is_kept].min(initial=1.0)),
        max_dropped_norm=float(orthogonal_norms[~is_kept].max(initial=0.0)),
    )
    tested_coefficients = _coefficients_of_kept(triangle, is_kept, norms[tested])
    by_index = np.argsort(kept)
    coefficients = np.zeros((len(kept), matrix.shape[1]))  # (b, p)
    coefficients[:, tested] = tested_coefficients[by_index]
    return kept[by_index].tolist(), coefficients, gap


def _coefficients_of_kept(triangle: Array, is_kept: NDArray[np.bool_], norms: Array) -> Array:
    """
    Return the coefficients with which kept columns make up all tested columns, (kept, tested).

    `triangle` is R of the tested columns' factorisation QR, with the columns scaled to unit length
    from their lengths `norms`. Q has no part in it. Coefficients that are integers but for
    rounding errors, as most are, become integers.
    """
    kept_triangle = triangle[:, is_kept]
    coefficients, *_ = np.linalg.lstsq(kept_triangle, triangle, rcond=None)
    condition = float(np.linalg.cond(kept_triangle) if is_kept.any() else 0)
    rounding = _ROUNDING_TO_COND * condition
    coefficients[np.abs(coefficients) < rounding] = 0.0
    coefficients *= norms / norms[is_kept][:, None]  # of the columns as they were, not unit ones
    nearest_integers = np.round(coefficients)
    is_integer = np.abs(coefficients - nearest_integers) < rounding
    return np.where(is_integer, nearest_integers, coefficients)


def _length_unit(tree: BodyTree) -> float:
    """Return the largest offset between joints [m], 1 if that is near 0, as unit of length."""
    behind_a_joint = [i for i, parent in enumerate(tree.parents) if parent != BASE_BODY]
    largest_offset = np.abs(tree.placements[behind_a_joint, :3, 3]).max(initial=0.0)
    # The linear part of a revolute joint's twist is as long as the axis is far from the origin.
    is_revolute = tree.twists[:, 3:].any(axis=1)
    largest_axis_distance = np.abs(tree.twists[is_revolute, :3]).max(initial=0.0)
    largest = float(max(largest_offset, largest_axis_distance))
    return largest if largest > _MIN_LENGTH_UNIT_M else 1.0


def scaled_tree(tree: BodyTree) -> BodyTree:
    """Return a tree with lengths in units of its largest offset, and no offset from the base."""
    unit = _length_unit(tree)
    placements = tree.placements.copy()
    twists = tree.twists.copy()
    placements[:, :3, 3] /= unit
    is_revolute = twists[:, 3:].any(axis=1)
    twists[is_revolute, :3] /= unit
    # Where the first links are mounted on the base does not affect torques, but a large distance
    # would blur rank decisions.
    placements[[parent == BASE_BODY for parent in tree.parents], :3, 3] = 0.0
    return replace(tree, placements=placements, twists=twists)


def gravity_directions(gravity: Array) -> Array:
    """Return unit vectors along gravity vectors (k, 3), without those of zero length."""
    norms = np.linalg.norm(gravity, axis=1)
    return np.asarray(gravity[norms > 0.0] / norms[norms > 0.0, None])


def _stacked_regressor(tree: BodyTree, gravity: Array, rotor_inertia: bool, seed: int) -> Array:
    """
    Return the regressor of `scaled_tree` at random states and unit gravities, as one matrix.

    Its shape is (gravities * states * joints, 10 n), or 11 n columns with `rotor_inertia`.
    """
    scaled = scaled_tree(tree)
    directions = gravity_directions(gravity)
    if not len(directions):
        directions = np.zeros((1, 3))
    state_count = max(_MIN_RANDOM_STATE_COUNT, _RANDOM_STATES_PER_JOINT * tree.n)
    rng = np.random.default_rng(seed)
    q, dq, ddq = _MAX_STATE_VALUE * rng.uniform(-1, 1, (3, state_count, tree.n))
    regressors = [
        torque_regressor(scaled, q, dq, ddq, direction, rotor_inertia=rotor_inertia)
        for direction in directions
    ]
    return np.concatenate(regressors).reshape(-1, regressors[0].shape[-1])


def parameter_scales(tree: BodyTree, *, rotor_inertia: bool) -> Array:
    """Return the factors (p,) that convert parameters in units of `_length_unit` to SI units."""
    unit = _length_unit(tree)
    # Six moments of inertia, three first moments and the mass of each body.
    bodies = np.tile([unit**2] * 6 + [unit] * 3 + [1.0], len(tree.twists))
    is_revolute = tree.twists[:, 3:].any(axis=1)
    rotors = np.where(is_revolute, unit**2, 1.0)
    return np.concatenate([bodies, rotors]) if rotor_inertia else bodies


def column_orders(tree: BodyTree, *, rotor_inertia: bool) -> list[list[int]]:
    """
    Return each body's parameter indices in the order of the test for independent columns.

    The indices are those of the tree's standard parameters. The order is the reverse of the
    elimination order; with `rotor_inertia` the rotor inertia of the body's joint comes last.
    """
    orders = []
    for body, twist in enumerate(tree.twists):
        is_revolute = twist[3:].any()
        axis = twist[3:] if is_revolute else twist[:3]
        joint_kind = JointKind.REVOLUTE if is_revolute else JointKind.PRISMATIC
        eliminated_first = list(_ELIMINATION_ORDER[joint_kind])
        if abs(axis[1]) > abs(axis[2]):
            eliminated_first = [_SYMBOL_WITH_Y_Z_SWAPPED.get(s, s) for s in eliminated_first]
        order = [
            N_LINK_PARAMETERS * body + PARAMETER_SYMBOLS.index(symbol)
            for symbol in reversed(eliminated_first)
        ]
        if rotor_inertia:
            order.append(N_LINK_PARAMETERS * tree.n + body)
        orders.append(order)
    return orders


def as_gravity_vectors(gravity: ArrayLike) -> Array:
    """
    Return given gravity vectors as an array (k, 3); 'any' stands for three along the axes.

    Raises BaseParameterError for a shape other than (3,) or (k, 3) and for values that are no
    finite numbers.
    """
    if isinstance(gravity, str) and gravity == 'any':
        return np.array(GRAVITY_BASIS_M_S2)
    try:
        vectors = np.array(gravity, dtype=float)
    except (TypeError, ValueError):  # text, or rows of different lengths
        vectors = np.array(np.nan)
    if (
        vectors.shape[-1:] != (3,)
        or vectors.ndim > 2
        or not np.isfinite(vectors).all()
        or vectors.size == 0
    ):
        raise BaseParameterError(
            f'Gravity must be three finite numbers [m/s^2] in the space frame, such as {GRAVITY}, '
            f"or a list of such vectors, or 'any'; got {array_text(gravity)}."
        )
    return np.atleast_2d(vectors)


def max_base_parameter_count(description: ArmDescription) -> int:
    """
    Return the largest possible number of an arm's base parameters, without rotor inertias.

    Gautier and Khalil 1990, theorem 7, with eq. 23 corrected: 7 n_r + 4 n_t - 3 for n_r revolute
    and n_t prismatic joints, and one less if joint 1 is revolute.
    """
    is_revolute = [joint.kind is JointKind.REVOLUTE for joint in description.joints]
    revolute_count = sum(is_revolute)
    prismatic_count = len(is_revolute) - revolute_count
    return 7 * revolute_count + 4 * prismatic_count - 3 - int(is_revolute[0])
