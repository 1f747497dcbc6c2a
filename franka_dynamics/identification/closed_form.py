# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The closed form of regrouping: which parameters of a link go, read off the geometry alone.

Gautier and Khalil 1990, (20) for a revolute joint and (21) for a prismatic one hold wherever the
link before moves in general. Which links near the base lose more is decided here by the rules
that Khalil and Dombre 2002 (section 9.4) give for serial arms and trees, completed for the cases
they leave out; docs/theory/base-parameters.md derives them. No rank is decided and no matrix is
inverted, so that it checks `elimination`, with which it shares neither relation nor criterion.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .regrouped_parameters import Step
from .regrouping_relations import (
    Entry,
    first_moment_regrouping,
    Letters,
    prismatic_regrouping,
    revolute_regrouping,
    turned_back,
)
from ..arm import ArmDescription, JointKind
from ..arm.inertia import PARAMETER_SYMBOLS
from ..dynamics.body_tree import BASE, BodyTree
from ..dynamics.regressor import PER_LINK
from ..dynamics.tree_rows import serial_rows, tree_rows, TreeRow
from ..typing import Array

_PLACE = {symbol: place for place, symbol in enumerate(PARAMETER_SYMBOLS)}
_ROTOR = PER_LINK
# Sines of angles, and lengths in units of the arm's largest, below which lines are parallel or
# meet.
_SAME = 1e-9
# Of the first moment along one direction that goes, the first of mZ, mX, mY that reaches this far
# along it is eliminated: the others' factors then stay below ten.
_REACHES = 0.1


@dataclass(frozen=True)
class Regrouping:
    """
    What goes from one link, and where to.

    `places` are the parameters that go, among XX, ..., m (0..9) and, with rotors, Ia (10). Column
    k of `within` (11 rows) is what link j loses with a unit of places[k], that unit included;
    column k of `onto` (10 rows) is what the antecedent gains. Entries are numbers or letters.
    """

    places: tuple[int, ...]
    within: NDArray[np.object_]
    onto: NDArray[np.object_]


@dataclass(frozen=True)
class Freedom:
    """
    What the joints up to a link let it do, in the link's own frame.

    `turning` counts the directions about which it turns: 0, 1, or 2 for more. A link that only
    slides has its slides' `directions` (k, 3) and `gravity` (k, 3). One that turns about a single
    direction has that as `directions` (1, 3) and in `letters`; its `point` (3,) lies on the axis
    if that is a fixed line, along which the link may slide (`slides_along`), and is None if it
    moves across; `across` and `along` say whether gravity has such parts. For any other link
    `point` is the fixed one of a spherical motion, or None, `height` its place on the link's own
    axis in letters, and `across` is any gravity.
    """

    turning: int
    directions: Array
    gravity: Array
    point: Array | None = None
    slides_along: bool = False
    across: bool = False
    along: bool = False
    letters: tuple[Entry, Entry, Entry] = (0, 0, 0)
    height: Entry = 0


def closed_form_steps(
    arm: ArmDescription | BodyTree,
    gravity: Array,
    *,
    rotor_inertia: bool,
) -> list[Step]:
    """
    Return for each link what moves to its antecedent.

    Parameters
    ----------
    arm : ArmDescription or BodyTree
        An arm in modified rows, or a tree whose joints lie along their frames' z.
    gravity : ndarray, shape (k, 3)
        Directions of gravity in the space frame; zero rows are no gravity.
    rotor_inertia : bool
        Whether each joint's rotor is a parameter of its link.

    Raises
    ------
    TreeError
        If the arm has standard rows, or a joint of the tree is not along its frame's z.

    """
    rows, base = structure(arm)
    found = regroupings(
        rows,
        gravity @ base[:3, :3],
        [Letters.of(row) for row in rows],
        rotor_inertia=rotor_inertia,
    )
    height = PER_LINK + int(rotor_inertia)
    return [
        Step(each.places, each.within[:height].astype(float), each.onto.astype(float))
        for each in found
    ]


def structure(arm: ArmDescription | BodyTree) -> tuple[tuple[TreeRow, ...], Array]:
    """Return the rows of an arm or a tree, and the pose of the frame that roots start from."""
    if isinstance(arm, BodyTree):
        return tree_rows(arm), np.eye(4)
    return serial_rows(arm), np.asarray(arm.base, dtype=float)


def regroupings(
    rows: Sequence[TreeRow], gravity: Array, letters: Sequence[Letters], *, rotor_inertia: bool
) -> list[Regrouping]:
    """
    Return what goes from each link, in the numbers or letters given for the rows.

    Parameters
    ----------
    rows : sequence of TreeRow
        The geometry in numbers, on which every decision is made.
    gravity : ndarray, shape (k, 3)
        In the frame that the roots start from; zero rows are no gravity.
    letters : sequence of Letters
        The entries of the same rows, as numbers or letters.
    rotor_inertia : bool
        Whether each joint's rotor is a parameter.

    """
    unit = (
        max((abs(length) for row in rows for length in (row.b, row.row.a, row.row.d)), default=0.0)
        or 1.0
    )
    magnitudes = np.linalg.norm(gravity, axis=-1)
    directions = gravity[magnitudes > 0.0] / magnitudes[magnitudes > 0.0, None]
    freedoms = {BASE: Freedom(0, np.zeros((0, 3)), directions)}
    found = []
    for index, (row, entries) in enumerate(zip(rows, letters)):
        before, pose = freedoms[row.parent], row.poses()
        found.append(_regrouping(row.kind, before, pose, entries, unit, rotor_inertia))
        freedoms[index] = _through_joint(row.kind, before, pose, entries, unit)
    return found


def _regrouping(
    kind: JointKind,
    before: Freedom,
    pose: Array,
    letters: Letters,
    unit: float,
    rotor_inertia: bool,
) -> Regrouping:
    """
    Return what goes from one link; `before` is what its antecedent is free to do.

    `pose` is that of the link's frame in the antecedent's at position zero.
    """
    build = _Eliminations()
    if kind is JointKind.REVOLUTE:
        _regroup_revolute(build, before, pose, letters, unit)
    else:
        _regroup_prismatic(build, before, pose, letters)
    if rotor_inertia:
        _regroup_rotor(build, kind, before, pose, letters)
    return build.result()


class _Eliminations:
    """Collects which parameters go."""

    def __init__(self) -> None:
        self._columns: dict[int, tuple[list[Entry], list[Entry]]] = {}

    def goes(self, symbol: str, onto: Iterable[Entry] | None = None, **within: Entry) -> None:
        """Let a parameter go, with what else of its own link, to what of the antecedent's."""
        place = _PLACE.get(symbol, _ROTOR)
        own: list[Entry] = [0] * (PER_LINK + 1)
        own[place] = 1
        for name, factor in within.items():
            own[_PLACE[name]] = factor
        self._columns[place] = own, [0] * PER_LINK if onto is None else list(onto)

    def result(self) -> Regrouping:
        places = tuple(sorted(self._columns))
        within = np.array([self._columns[place][0] for place in places], dtype=object)
        onto = np.array([self._columns[place][1] for place in places], dtype=object)
        return Regrouping(places, within.reshape(-1, PER_LINK + 1).T, onto.reshape(-1, PER_LINK).T)


def _regroup_revolute(
    build: _Eliminations, before: Freedom, pose: Array, letters: Letters, unit: float
) -> None:
    yy, mz, m = revolute_regrouping(letters).T
    z = pose[:3, 2]
    if before.turning == 2 or not _parallel(before, z):
        build.goes('YY', yy, XX=1)
        build.goes('mZ', mz)
        build.goes('m', m)
        if _meets(before, pose, unit) and not before.across and not before.along:
            # Still a spherical motion, without weight: the first moment about its centre is not
            # seen.
            height = _height(before, pose, letters)
            build.goes('mX', XZ=-height)
            build.goes('mY', YZ=-height)
        return
    # All turns so far are about one direction: of the tensor only ZZ acts (theorem 3).
    for symbol in ('XX', 'XY', 'XZ', 'YZ'):
        build.goes(symbol)
    build.goes('YY', yy)
    build.goes('mZ', mz)
    build.goes('m', m)
    if before.turning == 0:
        still = not _across(before.directions, z) and not _across(before.gravity, z)
    else:
        still = (
            before.point is not None
            and not before.across
            and _distance(before.point - pose[:3, 3], z) <= _SAME * unit
        )
    if still:
        build.goes('mX')
        build.goes('mY')


def _regroup_prismatic(
    build: _Eliminations, before: Freedom, pose: Array, letters: Letters
) -> None:
    tensor = prismatic_regrouping(letters)
    for symbol, onto in zip(PARAMETER_SYMBOLS[:6], tensor.T):
        build.goes(symbol, onto)
    if before.turning == 2:
        return
    first = first_moment_regrouping(letters).T
    if before.turning == 0 or _parallel(before, pose[:3, 2]):
        for symbol, onto in zip(('mX', 'mY', 'mZ'), first):
            build.goes(symbol, onto)
        return
    # A slide across the only axis: the first moment along that axis has no effect.
    number = pose[:3, :3].T @ before.directions[0]
    letter = turned_back(letters, before.letters)
    place = next(k for k in (2, 0, 1) if abs(number[k]) > _REACHES)
    names = ('mX', 'mY', 'mZ')
    others = {
        names[k]: letter[k] / letter[place]
        for k in range(3)
        if k != place and abs(number[k]) > _SAME
    }
    build.goes(names[place], **others)


def _regroup_rotor(
    build: _Eliminations, kind: JointKind, before: Freedom, pose: Array, letters: Letters
) -> None:
    """Let Ia join ZZ, or m of a slide, where the link's own motion is all of that inertia."""
    z = pose[:3, 2]
    if kind is JointKind.REVOLUTE:
        if before.turning == 0 or (
            before.turning == 1 and abs(float(before.directions[0] @ z)) <= _SAME
        ):
            build.goes('Ia', ZZ=-1)
        return
    m = first_moment_regrouping(letters)[:, 3]
    if before.turning == 0:
        alone = not (np.abs(np.concatenate((before.directions, before.gravity)) @ z) > _SAME).any()
    else:
        alone = (
            before.turning == 1
            and _parallel(before, z)
            and not before.slides_along
            and not before.along
        )
    if alone:
        build.goes('Ia', -m, m=-1)


def _through_joint(
    kind: JointKind, before: Freedom, pose: Array, letters: Letters, unit: float
) -> Freedom:
    """Return what a link is free to do, from what its antecedent is."""
    back = pose[:3, :3].T
    z, own = pose[:3, 2], np.array([0.0, 0.0, 1.0])
    if before.turning == 0:
        slides, gravity = before.directions @ back.T, before.gravity @ back.T
        if kind is JointKind.PRISMATIC:
            return Freedom(0, np.vstack((slides, own)), gravity)
        along = bool((np.abs(slides @ own) > _SAME).any())
        return Freedom(
            1,
            own[None],
            gravity,
            None if _across(slides, own) else np.zeros(3),
            along,
            _across(gravity, own),
            bool((np.abs(gravity @ own) > _SAME).any()),
            (0, 0, 1),
        )
    if before.turning == 2:
        meets = kind is JointKind.REVOLUTE and _meets(before, pose, unit)
        return replace(
            before,
            point=_center(before, pose) if meets else None,
            height=_height(before, pose, letters),
        )
    directions = before.directions @ back.T
    turned = replace(before, directions=directions, letters=turned_back(letters, before.letters))
    point = None if before.point is None else back @ (before.point - pose[:3, 3])
    parallel = _parallel(before, z)
    if kind is JointKind.PRISMATIC:
        slides_along = before.slides_along or abs(float(before.directions[0] @ z)) > _SAME
        return replace(turned, point=point if parallel else None, slides_along=slides_along)
    if parallel:
        stays = point is not None and _distance(point, own) <= _SAME * unit
        return replace(turned, point=point if stays else None)
    return replace(
        turned,
        turning=2,
        across=before.across or before.along,
        height=_height(before, pose, letters),
        point=_center(before, pose) if _meets(before, pose, unit) else None,
    )


def _parallel(before: Freedom, z: Array) -> bool:
    """Return whether a joint is parallel to the one direction of turning so far, if any."""
    return not _across(before.directions, z) if before.turning == 1 else True


def _across(vectors: Array, z: Array) -> bool:
    """Return whether any of the unit vectors (k, 3) has a part across a direction."""
    return bool((np.linalg.norm(np.cross(vectors, z), axis=-1) > _SAME).any())


def _distance(point: Array, z: Array) -> float:
    """Return how far a point is from the line through the origin along a unit vector."""
    return float(np.linalg.norm(np.cross(point, z)))


def _meets(before: Freedom, pose: Array, unit: float) -> bool:
    """Return whether a revolute joint leaves its link a spherical motion."""
    if before.point is None or (before.turning == 1 and before.slides_along):
        return False
    z, start = pose[:3, 2], pose[:3, 3] - before.point
    if before.turning == 2:
        return _distance(start, z) <= _SAME * unit
    normal = np.cross(before.directions[0], z)
    return abs(float(start @ normal)) <= _SAME * unit * float(np.linalg.norm(normal))


def _center(before: Freedom, pose: Array) -> Array:
    """Return where the axes that are known to meet do so, in the link's frame, on its z."""
    assert before.point is not None
    start, z = pose[:3, 3] - before.point, pose[:3, 2]
    if before.turning == 2:
        return np.array([0.0, 0.0, -float(start @ z)])
    # The point of the joint's axis that lies on the line along the one direction.
    axis = before.directions[0]
    across, offset = z - (z @ axis) * axis, start - (start @ axis) * axis
    return np.array([0.0, 0.0, -float(offset @ across) / float(across @ across)])


def _height(before: Freedom, pose: Array, letters: Letters) -> Entry:
    """Return the centre's place on the link's axis: where its row leaves the common normal."""
    if before.turning == 2 and not _across(pose[None, :3, 2], np.array([0.0, 0.0, 1.0])):
        return (before.height - letters.b) * letters.cos_alpha - letters.d
    return -letters.d
