# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Which parameters of a link no motion tells from those of the link before.

Gautier and Khalil (1990) eliminate parameters of link j whose DE and DU are constant
combinations of others' (eq. 13-15): by the closed relations (20) and (21) where link j-1 moves
in general (theorem 1), "by hand" near the base. Here one criterion does both. A vector x of link
j's parameters can be moved into link j-1 (as x held still at some joint position, transfer^T x)
without any effect on the energies if and only if

    coupling and quadratic of f^j vanish on x for every twist that link j-1 can have, and
    [transfer(q_j) - transfer(0)]^T x has no energy as a part of link j-1, for all q_j.

Both are finite: f^j is linear in the twist, so that the span of all twists will do, and the
matrices are polynomials of low degree in cos q_j and sin q_j, or in q_j, so that a few positions
will do. docs/theory/base-parameters.md has the proof, and how (20), (21) and theorems 1-6 follow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple

import numpy as np

from .energy_regressors import base_potential, link_step, LinkStep, tree_link_step
from .regrouped_parameters import RankGap, Step
from ..arm import ArmDescription, JointKind
from ..arm.inertia import PARAMETER_SYMBOLS
from ..dynamics.body_tree import BASE, BodyTree, joint_twists
from ..dynamics.regressor import PER_LINK, ROTOR_SYMBOL
from ..dynamics.tree_rows import tree_rows
from ..spatial import twists_seen_from
from ..typing import Array

# What is eliminated first where there is a choice: the paper's YY, mZ, m of a revolute joint and
# the whole tensor of a prismatic one, then what leaves the usual parameters near the base.
_FIRST_TO_GO = {
    JointKind.REVOLUTE: ('Ia', 'm', 'mZ', 'YY', 'mY', 'mX', 'YZ', 'XZ', 'XY', 'XX', 'ZZ'),
    JointKind.PRISMATIC: ('Ia', 'ZZ', 'YY', 'YZ', 'XZ', 'XY', 'XX', 'mZ', 'mX', 'mY', 'm'),
}
_Y_FOR_Z = {'YY': 'ZZ', 'ZZ': 'YY', 'XY': 'XZ', 'XZ': 'XY', 'mY': 'mZ', 'mZ': 'mY'}
# Positions at which a function of degree 2 in cos q and sin q (or in q) must vanish in order to
# vanish everywhere. Four quarter turns alone would not see sin 2q.
_ANGLES = np.pi * np.array([0.0, 0.5, 1.0, 1.5, 0.25])
_LENGTHS = np.array([0.0, 1.0, -1.0])
# Entries are of order one, lengths being in units of the arm's largest: rounding is 1e-15.
_RANK_TOLERANCE = 1e-9
# A coefficient of a relation this near to a whole number is that number and rounding.
_WHOLE = 1e-14


@dataclass(frozen=True)
class Elimination:
    """What can be eliminated of one link's parameters, and where to."""

    step: Step
    general: bool  # theorem 1's condition: the link before has no combination without energy


class _Joint(NamedTuple):
    """One joint as the criterion sees it, lengths in units of the structure's largest."""

    parent: int
    kind: JointKind
    screw: Array  # (6,): the unit twist (v, omega) in the link's frame
    step: Callable[[Array], LinkStep]  # the energies' recursion at positions of the joint
    poses: Callable[[Array], Array]  # (..., 4, 4) of the link's frame in the antecedent's


class _RankDecisions:
    """Decides ranks, and remembers how close the decisions were."""

    def __init__(self) -> None:
        self._kept, self._dropped = [1.0], [0.0]

    def row_space(self, rows: Array) -> Array:
        """Return an orthonormal basis of what the rows span, shape (rank, columns)."""
        if not rows.size:
            return np.zeros((0, rows.shape[1]))
        _, values, basis = np.linalg.svd(rows, full_matrices=False)
        # Rows that are all tiny are no rows at all, so that a large first value scales only down.
        relative = values / max(values[0], 1.0)
        rank = int(np.sum(relative > _RANK_TOLERANCE))
        self._kept.extend(relative[:rank])
        self._dropped.extend(relative[rank:])
        return np.asarray(basis[:rank], dtype=float)

    def gap(self) -> RankGap:
        """Return the closest values on either side."""
        return RankGap(float(min(self._kept)), float(max(self._dropped)))


class _Reach(NamedTuple):
    """What the links up to some link can do: twists of its frame, combinations with energy."""

    twists: Array  # (k, 6): orthonormal, spanning every twist the link can have
    effects: Array  # (k, 10): orthonormal, zero on the parameters without any energy


def eliminations(
    arm: ArmDescription | BodyTree,
    gravity: Array,
    *,
    rotor_inertia: bool,
) -> tuple[list[Elimination], RankGap]:
    """
    Return for each link what can be moved to the link before it.

    Parameters
    ----------
    arm : ArmDescription or BodyTree
        The arm, or a tree whose joints lie along their frames' z; only its geometry is used.
    gravity : ndarray, shape (k, 3)
        Directions of gravity in the space frame, for all of which it must hold; zero rows are
        no gravity.
    rotor_inertia : bool
        Whether each joint's rotor is a parameter of its link.

    Returns
    -------
    tuple of list of Elimination and RankGap
        One elimination per link, and how clear the rank decisions were.

    Raises
    ------
    TreeError
        If a joint of a tree is not along its frame's z.

    """
    joints, unit = _tree_joints(arm) if isinstance(arm, BodyTree) else _arm_joints(arm)
    ranks = _RankDecisions()
    magnitudes = np.linalg.norm(gravity, axis=-1)
    # U is measured from the origin of frame 0: where the arm stands is a constant of U, and a far
    # place would blur the ranks.
    base = np.eye(4) if isinstance(arm, BodyTree) else np.asarray(arm.base, dtype=float)
    rows = base_potential(base, gravity[magnitudes > 0.0] / magnitudes[magnitudes > 0.0, None])
    rows[:, 9] = 0.0
    reaches = {BASE: _Reach(np.zeros((0, 6)), ranks.row_space(rows))}
    found = []
    for index, joint in enumerate(joints):
        elimination, reaches[index] = _eliminate(
            joint, reaches[joint.parent], rotor_inertia, ranks
        )
        found.append(_out_of_unit(elimination, unit, joint.kind))
    return found, ranks.gap()


def _eliminate(
    joint: _Joint,
    before: _Reach,
    rotor_inertia: bool,
    ranks: _RankDecisions,
) -> tuple[Elimination, _Reach]:
    """Return what goes from one link, and the reach of that link."""
    positions = _ANGLES if joint.kind is JointKind.REVOLUTE else _LENGTHS
    step = joint.step(positions)
    # Rows that vanish on parameter vectors without effect: f^j for every twist and position ...
    coupled = np.swapaxes(step.coupling @ before.twists.T, -1, -2).reshape(-1, PER_LINK)
    # ... and the energy of the vector as a part of the link before.
    carried = before.effects @ np.swapaxes(step.transfer, -1, -2)
    changes = (carried[1:] - carried[0]).reshape(-1, PER_LINK)
    conditions = np.concatenate((coupled, changes, step.quadratic[None]))
    if rotor_inertia:  # it shares 1/2 dq^2 with the link, and nothing else
        conditions = np.column_stack((conditions, np.zeros(len(conditions))))
        conditions[-1, PER_LINK] = 1.0
    places, within = _null_vectors(
        ranks.row_space(conditions),
        elimination_order(joint.kind, joint.screw, rotor_inertia=rotor_inertia),
    )
    onto = _clean(step.transfer[0].T @ within[:PER_LINK])
    rows = np.concatenate((coupled, step.quadratic[None], carried.reshape(-1, PER_LINK)))
    moved = twists_seen_from(joint.poses(positions), before.twists)
    twists = np.concatenate((moved.reshape(-1, 6), joint.screw[None]))
    reach = _Reach(ranks.row_space(twists), ranks.row_space(rows))
    return Elimination(Step(places, within, onto), len(before.effects) == PER_LINK), reach


def _arm_joints(description: ArmDescription) -> tuple[list[_Joint], float]:
    """Return an arm's joints, and the unit of length [m]."""
    unit = (
        max(
            (abs(length) for joint in description.joints for length in (joint.row.a, joint.row.d)),
            default=0.0,
        )
        or 1.0
    )
    scaled = replace(
        description,
        joints=tuple(
            replace(joint, row=replace(joint.row, a=joint.row.a / unit, d=joint.row.d / unit))
            for joint in description.joints
        ),
    )
    screws = joint_twists(scaled)

    def joint(index: int) -> _Joint:
        own = scaled.joints[index]

        def poses(positions: Array) -> Array:
            if own.kind is JointKind.REVOLUTE:
                return own.row.transform(scaled.convention, theta_offset=positions)
            return own.row.transform(scaled.convention, d_offset=positions)

        return _Joint(
            index - 1,
            own.kind,
            screws[index],
            lambda positions: link_step(scaled, index, positions),
            poses,
        )

    return [joint(index) for index in range(scaled.n)], unit


def _tree_joints(tree: BodyTree) -> tuple[list[_Joint], float]:
    """Return a tree's joints, and the unit of length [m]."""
    rows = tree_rows(tree)
    unit = (
        max((abs(length) for row in rows for length in (row.b, row.row.a, row.row.d)), default=0.0)
        or 1.0
    )
    scaled = [
        replace(row, b=row.b / unit, row=replace(row.row, a=row.row.a / unit, d=row.row.d / unit))
        for row in rows
    ]
    return [
        _Joint(
            row.parent,
            row.kind,
            tree.twists[i],
            lambda positions, row=row: tree_link_step(row, positions),  # type: ignore
            row.poses,
        )
        for i, row in enumerate(scaled)
    ], unit


def elimination_order(kind: JointKind, screw: Array, *, rotor_inertia: bool) -> list[int]:
    """
    Return the places of a link's parameters (Ia at 10), the first to be eliminated first.

    The paper's order is for a joint along its link's z. A standard row of some quarter turn
    leaves the joint along the link's y: there y and z change parts.
    """
    axis = screw.reshape(2, 3)[int(kind is JointKind.REVOLUTE)]
    order: tuple[str, ...] = _FIRST_TO_GO[kind]
    if abs(axis[1]) > abs(axis[2]):
        order = tuple(_Y_FOR_Z.get(symbol, symbol) for symbol in order)
    places = [(*PARAMETER_SYMBOLS, ROTOR_SYMBOL).index(symbol) for symbol in order]
    return [place for place in places if place < PER_LINK or rotor_inertia]


def _null_vectors(conditions: Array, order: list[int]) -> tuple[tuple[int, ...], Array]:
    """
    Return which parameters go, and the vectors that satisfy the conditions with one of them each.

    `conditions` are orthonormal rows. Column k of the result is 1 at places[k], 0 at the other
    places, and solves conditions @ column = 0. A parameter goes in its turn if the null space
    still reaches it well, without those gone before; a weak one waits until no better is left,
    for it would bring large coefficients.
    """
    rank, width = conditions.shape
    null = np.linalg.svd(conditions, full_matrices=True)[2][rank:].T  # (width, k)
    left = null.copy()
    gone: list[int] = []
    for threshold, place in product(10.0 ** -np.arange(1, 16), order):
        if len(gone) == width - rank:
            break
        if place not in gone and (reached := np.linalg.norm(left[place])) > threshold:
            direction = left[place] / reached
            left = left - np.outer(left @ direction, direction)
            gone.append(place)
    places = tuple(sorted(gone))
    within = _clean(null @ np.linalg.inv(null[list(places)]))
    within[list(places)] = np.eye(len(places))
    return places, within


def _clean(coefficients: Array) -> Array:
    """Return the coefficients with 0, 1, -1, ... exact, so that what vanishes is seen to."""
    whole = np.round(coefficients)
    return np.where(np.abs(coefficients - whole) < _WHOLE, whole, coefficients)


def _out_of_unit(elimination: Elimination, unit: float, kind: JointKind) -> Elimination:
    """Return the combinations in metres: a tensor scales as the length's square, mS as it."""
    step = elimination.step
    link = np.array([unit**2] * 6 + [unit] * 3 + [1.0])
    whole = np.append(link, unit**2 if kind is JointKind.REVOLUTE else 1.0)  # the rotor's behind
    going = whole[list(step.places)]
    own = whole[: len(step.within), None]
    return replace(
        elimination,
        step=Step(step.places, step.within * own / going, step.onto * link[:, None] / going),
    )
