# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Gathers the numbers of a URDF or MJCF that `arm.judgements` judges."""

from collections.abc import Collection, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from .document import CUBE_CORNERS, TENSOR_FROM_GEOMS, UrdfDocument
from .pinocchio_reading import (
    LinkShapes,
    pinocchio_model_of_document,
    shape_points_by_link,
)
from ..arm.judged_numbers import BodyNumbers, EffortLimit, FileNumbers, LinkNumbers
from ..arm.judgements import judge, Judgement
from ..arrays import Array

# A link that no shape shows counts as at least this large, relative to the length of the arm.
_MIN_REACH_TO_ARM_LENGTH = 0.05
# The joints near such a link count as at least this far apart, relative to the length of the arm.
_MIN_SPAN_TO_ARM_LENGTH = 0.1
_FALLBACK_REACH_M = 1e6  # [m] in place of the length of an arm without lengths


def judge_file(
    document: UrdfDocument, urdf_path: Path | None = None
) -> tuple[tuple[Judgement, ...], tuple[str, ...]]:
    """
    Return judgements of the numbers of a URDF or MJCF, and the names of meshes that were not read.

    Meshes are read only if `urdf_path` is given, and their densities are judged only if scipy is
    installed. Of links that no joint moves only the tensor is judged, by whether a body can have
    it: no torque depends on them.
    """
    numbers, unread = _file_numbers(document, urdf_path)
    return tuple(judge(numbers)), unread


def can_judge_densities() -> bool:
    """Return whether scipy is installed, which computes the volume of meshes."""
    return find_spec('scipy') is not None


def _file_numbers(
    document: UrdfDocument, urdf_path: Path | None
) -> tuple[FileNumbers, tuple[str, ...]]:
    """Return the numbers of a URDF or MJCF, and the names of meshes that were not read."""
    model = pinocchio_model_of_document(document)
    try:
        shapes = shape_points_by_link(model, document, urdf_path)
    except ValueError:  # a mesh is no mesh
        shapes = shape_points_by_link(model, document, None)
    bodies = []
    for joint in range(1, model.njoints):
        frames = [
            frame
            for frame in model.frames
            if frame.type == pin.BODY and frame.parentJoint == joint
        ]
        links = _links_with_mass(document, model, joint, frames, shapes)
        if not links:
            continue
        shown = [frame.name for frame in frames if frame.name in shapes.points]
        hulls: tuple[Array, ...] = ()
        if (
            can_judge_densities()
            and shapes.meshed_links.issuperset(shown)
            and shapes.unread_meshes.keys().isdisjoint(shown)
        ):
            hulls = tuple(np.vstack(shapes.points[name]) for name in shown)
        whole = model.inertias[joint]
        variance = float(0.5 * np.trace(whole.inertia) / whole.mass)
        bodies.append(BodyNumbers(tuple(links), float(whole.mass), variance, hulls))
    moving = {link.name for body in bodies for link in body.links}
    still = _still_links(document, moving)
    numbers = FileNumbers(
        bodies,
        still_links=[link for link in still if link.mass],
        links_without_mass=[link for link in still if not link.mass],
        effort_limits=[*_effort_limits(document, model)],
    )
    unread = dict.fromkeys(name for names in shapes.unread_meshes.values() for name in names)
    return numbers, tuple(unread)


def _still_links(document: UrdfDocument, moving_links: Collection[str]) -> list[LinkNumbers]:
    """Return the numbers of links with mass or tensor that are not among the moving ones."""
    return [
        LinkNumbers(
            name,
            document.inertial_words(name),
            link.mass,
            link.tensor,
            _FALLBACK_REACH_M * CUBE_CORNERS,
            reach=_FALLBACK_REACH_M,
        )
        for name, link in document.links.items()
        if name not in moving_links and link.has_inertia
    ]


class _Bounds(NamedTuple):
    """
    What bounds the mass of links that move as one, in the frame of their joint.

    `points` (K, 3) [m] enclose it, `text` says what they are of, and `reach` [m] is
    `LinkNumbers.reach`, but for the distance of a link's own centre of mass.
    """

    points: Array
    text: str
    reach: float


def _links_with_mass(
    document: UrdfDocument,
    model: pin.Model,
    joint_number: int,
    frames: Sequence[pin.Frame],
    shapes: LinkShapes,
) -> list[LinkNumbers]:
    """Return links with mass, and bounds, among `frames`, moved by the joint of that number."""
    next_placements = [model.jointPlacements[j] for j in model.children[joint_number]]
    places = [frame.placement.translation for frame in frames]
    places += [placement.translation for placement in next_placements]
    solids = [points for frame in frames for points in shapes.points.get(frame.name, ())]
    # A link of which nothing was read may be larger than what is fixed to it.
    has_hidden_link = any(
        frame.name in shapes.unread_meshes and frame.name not in shapes.points for frame in frames
    )
    if solids and not has_hidden_link:
        enclosing = np.vstack((*solids, *places))
        bounds = _Bounds(enclosing, 'its shapes and joints allow', _FALLBACK_REACH_M)
    else:
        bounds = _bounds_by_joints(model, joint_number, places)
    found = []
    for frame in frames:
        link = document.links[frame.name]
        if not link.mass:
            continue
        pose = frame.placement.homogeneous @ link.origin
        distance = float(np.linalg.norm(pose[:3, 3]))
        numbers = LinkNumbers(
            frame.name,
            document.inertial_words(frame.name),
            link.mass,
            link.tensor,
            enclosing_points=(bounds.points - pose[:3, 3]) @ pose[:3, :3],
            bounds_text=bounds.text,
            reach=max(bounds.reach, distance),
            center_to_joint_distance=distance,
            next_joint_distances=tuple(_length(placement) for placement in next_placements),
            joint_number=joint_number,
            joint_numbers_to_root=frozenset(model.supports[joint_number]),
            has_tensor_of_geoms=document.tensor_sources.get(frame.name) == TENSOR_FROM_GEOMS,
        )
        found.append(numbers)
    return found


def _bounds_by_joints(model: pin.Model, joint_number: int, places: Sequence[Array]) -> _Bounds:
    """
    Return a cube around a joint that is as large as the arm is near the joint.

    The arm is measured from two joints before the links that the joint moves to two behind them.
    `places` are the origins of these links and of the next joints in the joint's frame [m].
    """
    lengths = [_length(placement) for placement in model.jointPlacements]
    farthest_place = float(np.linalg.norm(places, axis=1).max())
    before = lengths[model.parents[joint_number]] + lengths[joint_number]
    behind = 0.0
    for child in model.children[joint_number]:
        after_child = max((lengths[j] for j in model.children[child]), default=0.0)
        behind = max(behind, lengths[child] + after_child)
    span = max(before + behind, farthest_place, _MIN_SPAN_TO_ARM_LENGTH * sum(lengths))
    reach = max(_MIN_REACH_TO_ARM_LENGTH * sum(lengths), lengths[joint_number], farthest_place)
    if not span:  # an arm without lengths
        span = _FALLBACK_REACH_M
        reach = _FALLBACK_REACH_M
    return _Bounds(CUBE_CORNERS * span, 'the distances of the joints near it allow', reach)


def _length(placement: pin.SE3) -> float:
    """Return the distance of a frame's origin from that of the frame in which it is placed [m]."""
    return float(np.linalg.norm(placement.translation))


def _effort_limits(document: UrdfDocument, model: pin.Model) -> Iterator[EffortLimit]:
    """Yield each stated effort limit, with the effort that holds the weight at zero."""
    q = pin.neutral(model)
    single = [joint.idx_q for joint in list(model.joints)[1:] if joint.nq == 1]
    q[single] = np.clip(0.0, model.lowerPositionLimit, model.upperPositionLimit)[single]
    weight = pin.computeGeneralizedGravity(model, model.createData(), q)
    for name, place in zip(list(model.names)[1:], list(model.joints)[1:]):
        joint = document.joints[name]
        if joint.limits is not None:
            needed = abs(float(weight[place.idx_v]))
            unit = joint.joint_kind.effort_unit
            yield EffortLimit(name, document.wording, joint.limits.effort, needed, unit)
