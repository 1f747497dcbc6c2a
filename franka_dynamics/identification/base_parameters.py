# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The minimum inertial parameters of an arm or a tree, by Gautier and Khalil 1990's direct method.

    found = base_parameters(load('fer'))
    found.names                                 # 'ZZR_1', 'XXR_2', 'XY_2', ...
    tau = found.regressor(q, dq, ddq) @ found.values()

From the tips to the base, what a link's motion does not tell from the link before is moved there;
what is left has an effect of its own, and a matrix maps the standard parameters to it. Two
methods say what is moved: `elimination` decides ranks of the energies' recursion, `closed_form`
reads it off the geometry. `numerical_base_parameters` checks both from the regressor alone.
docs/theory/base-parameters.md shows the methods and their proofs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import ArrayLike

from .closed_form import closed_form_steps
from .elimination import eliminations
from .regrouped_parameters import (
    cascade,
    gravity_vectors,
    RankGap,
    RegroupedParameters,
    Step,
)
from ..arm import ArmDescription, JointKind
from ..dynamics.body_tree import BodyTree
from ..dynamics.model import GRAVITY
from ..dynamics.regressor import (
    parameter_vector,
    torque_regressor,
    with_parameter_vector,
)
from ..errors import BaseParameterError
from ..typing import Array

NO_GRAVITY = (0.0, 0.0, 0.0)
# Base parameters for these three hold for every direction of gravity: an arm mounted at any tilt.
ANY_GRAVITY = ((9.81, 0.0, 0.0), (0.0, 9.81, 0.0), (0.0, 0.0, 9.81))


class Method(str, Enum):
    """How it is found what can be moved from a link to the one before."""

    ELIMINATION = 'elimination'  # ranks of the energies' recursion, any frames
    CLOSED_FORM = 'closed-form'  # (20), (21) and the geometry's special cases, joints along z


@dataclass(frozen=True, eq=False)
class BaseParameters(RegroupedParameters):
    """
    The base parameters of an arm's geometry under given gravity: which they are, and the map.

    With H = torque_regressor(...) and X = parameter_vector(...), H X = H[..., columns] @
    (matrix @ X) for every state: the regressor's columns stay, the parameters are regrouped.
    Nothing but the values depends on the arm's inertial set.
    """

    description: ArmDescription
    gravity: Array  # (k, 3), the vectors it holds for, and every combination of them
    rotor_inertia: bool  # whether the standard vector has 11 n entries or 10 n
    columns: tuple[int, ...]  # which standard parameter each base parameter keeps the place of
    matrix: Array  # (b, 10 n or 11 n)
    rank_gap: RankGap | None

    def values(self, description: ArmDescription | None = None) -> Array:
        """
        Return the base parameters' values, shape (b,) [kg m^2, kg m, kg].

        Parameters
        ----------
        description : ArmDescription, optional
            An arm of the same geometry with other inertias (a payload, another set); the one
            that was analysed if not given.

        Raises
        ------
        BaseParameterError
            If its geometry is another.

        """
        arm = self.description if description is None else description
        if not _same_geometry(arm, self.description):
            raise BaseParameterError(
                f'{arm.name} has another geometry than {self.description.name}, for which these '
                'base parameters were found: joints, rows, convention and the pose of the base '
                'must be the same. Find its own with base_parameters().'
            )
        return self.matrix @ parameter_vector(arm, rotor_inertia=self.rotor_inertia)

    def grouped(self, values: ArrayLike | None = None) -> ArmDescription:
        """
        Return the arm with the regrouped inertias in place of its links': most numbers are zero.

        It has the same torques under the gravity that this was found for, and none of its links
        is physical: it is for customised equations and `NewtonEulerModel`, not for simulators.

        Parameters
        ----------
        values : array_like, shape (b,), optional
            Base parameters; those of the description if not given.

        """
        vector = self.standard_vector(self.values() if values is None else values)
        return with_parameter_vector(self.description, vector)

    def regressor(
        self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike, gravity: ArrayLike | None = None
    ) -> Array:
        """
        Return the torque regressor's columns of the base parameters.

        Parameters
        ----------
        q, dq, ddq : array_like, shape (..., n)
            States in joint order.
        gravity : array_like, shape (3,), optional
            Gravity in the space frame [m/s^2]; needed only where this was found for several.

        Returns
        -------
        ndarray, shape (..., n, b)
            tau = regressor @ values.

        Raises
        ------
        BaseParameterError
            If gravity is missing, or outside what the parameters were found for.
        JointVectorError
            If a state is at fault.

        """
        gravity = self.covered(gravity)
        return torque_regressor(
            self.description,
            q,
            dq,
            ddq,
            gravity,
            rotor_inertia=self.rotor_inertia,
            columns=self.columns,
        )


@dataclass(frozen=True, eq=False)
class TreeBaseParameters(RegroupedParameters):
    """
    The base parameters of a tree of bodies, such as a torso with two arms.

    As `BaseParameters`; body i's ten parameters are in its own frame, and gravity, the poses of
    the roots and `values` are in the space frame of the tree.
    """

    tree: BodyTree
    gravity: Array
    rotor_inertia: bool
    columns: tuple[int, ...]
    matrix: Array
    rank_gap: RankGap | None

    def values(self, tree: BodyTree | None = None) -> Array:
        """
        Return the base parameters' values, shape (b,) [kg m^2, kg m, kg].

        Parameters
        ----------
        tree : BodyTree, optional
            A tree of the same geometry with other inertias; the one that was analysed if not
            given.

        Raises
        ------
        BaseParameterError
            If its geometry is another.

        """
        other = self.tree if tree is None else tree
        if not (
            other.parents == self.tree.parents
            and np.array_equal(other.placements, self.tree.placements)
            and np.array_equal(other.twists, self.tree.twists)
        ):
            raise BaseParameterError(
                'The tree has another geometry than the one for which these base parameters were '
                'found: parents, placements and twists must be the same. Find its own with '
                'tree_base_parameters().'
            )
        return self.matrix @ parameter_vector(other, rotor_inertia=self.rotor_inertia)

    def regressor(
        self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike, gravity: ArrayLike | None = None
    ) -> Array:
        """Return the columns of the base parameters, (..., n, b); as BaseParameters.regressor."""
        return torque_regressor(
            self.tree,
            q,
            dq,
            ddq,
            self.covered(gravity),
            rotor_inertia=self.rotor_inertia,
            columns=self.columns,
        )


def base_parameters(
    description: ArmDescription,
    gravity: ArrayLike = GRAVITY,
    *,
    rotor_inertia: bool | None = None,
    method: Method = Method.ELIMINATION,
) -> BaseParameters:
    """
    Return the base parameters of an arm (Gautier and Khalil 1990, sections 5-8).

    Parameters
    ----------
    description : ArmDescription
        A serial arm of revolute and prismatic joints, in either DH convention, its base as it
        is. The parameters stay in the description's own link frames; in the standard convention,
        whose joints do not turn about their link's own z, others of them go than the paper's.
    gravity : array_like, shape (3,) or (k, 3)
        Gravity in the space frame; several vectors ask for what suffices for all of them
        (ANY_GRAVITY: every direction), and NO_GRAVITY for none. Only the direction counts.
    rotor_inertia : bool, optional
        Whether each joint's rotor is one more parameter. If not given: if the arm has any.
    method : Method
        CLOSED_FORM takes modified rows only, for which the paper's relations are written.

    Returns
    -------
    BaseParameters
        Which they are, and the map from the standard parameters to them.

    Raises
    ------
    BaseParameterError
        If gravity has another shape or is not finite.
    TreeError
        If the closed form is asked for and the rows are in the standard convention.

    """
    vectors = gravity_vectors(gravity)
    if rotor_inertia is None:
        rotor_inertia = any(joint.rotor_inertia != 0.0 for joint in description.joints)
    columns, matrix, gap = _regrouped(description, vectors, rotor_inertia, method)
    return BaseParameters(description, vectors, rotor_inertia, columns, matrix, gap)


def tree_base_parameters(
    tree: BodyTree,
    gravity: ArrayLike = GRAVITY,
    *,
    rotor_inertia: bool | None = None,
    method: Method = Method.ELIMINATION,
) -> TreeBaseParameters:
    """
    Return the base parameters of a tree of bodies (Gautier and Khalil 1990, section 12).

    A leaf's parameters move to its antecedent by the same relations wherever it hangs; a body
    that carries several takes what each of them gives.

    Parameters
    ----------
    tree : BodyTree
        Every joint along the z of its body's frame; `with_axes_along_z` moves frames there.
    gravity, rotor_inertia, method
        As in `base_parameters`.

    Raises
    ------
    BaseParameterError
        If gravity has another shape or is not finite.
    TreeError
        If a joint is not along its frame's z.

    """
    vectors = gravity_vectors(gravity)
    if rotor_inertia is None:
        rotor_inertia = bool(tree.rotor_inertias.any())
    columns, matrix, gap = _regrouped(tree, vectors, rotor_inertia, method)
    return TreeBaseParameters(tree, vectors, rotor_inertia, columns, matrix, gap)


def upper_bound(description: ArmDescription) -> int:
    """
    Return the bound on the number of base parameters.

    Gautier and Khalil 1990, theorem 7, (23) corrected: 7 n_r + 4 n_t - 3, and one less where joint
    1 is revolute. Rotors are not counted.
    """
    revolute = [joint.kind is JointKind.REVOLUTE for joint in description.joints]
    return 7 * sum(revolute) + 4 * (len(revolute) - sum(revolute)) - 3 - int(revolute[0])


def _regrouped(
    arm: ArmDescription | BodyTree, gravity: Array, rotor_inertia: bool, method: Method
) -> tuple[tuple[int, ...], Array, RankGap | None]:
    """Return the columns that stay, the map, and how clear the rank decisions were."""
    gravity.setflags(write=False)
    gap: RankGap | None = None
    steps: Sequence[Step]
    if method is Method.CLOSED_FORM:
        steps = closed_form_steps(arm, gravity, rotor_inertia=rotor_inertia)
    else:
        found, gap = eliminations(arm, gravity, rotor_inertia=rotor_inertia)
        steps = [elimination.step for elimination in found]
    parents = arm.parents if isinstance(arm, BodyTree) else range(-1, arm.n - 1)
    return *cascade(steps, parents, rotor_inertia=rotor_inertia), gap


def _same_geometry(one: ArmDescription, other: ArmDescription) -> bool:
    return (
        one.convention is other.convention
        and [(joint.kind, joint.row) for joint in one.joints]
        == [(joint.kind, joint.row) for joint in other.joints]
        and np.array_equal(one.base, other.base)
    )
