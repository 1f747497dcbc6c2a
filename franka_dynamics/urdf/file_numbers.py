# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Gathers the numbers of a URDF or MJCF that `arm.judgements` judges."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pinocchio as pin

from .document import CUBE_CORNERS, TENSOR_FROM_GEOMS, UrdfDocument
from .pinocchio_reading import pinocchio_model_of_document, shape_points_by_link
from ..arm.judged_numbers import BodyNumbers, EffortLimit, FileNumbers, LinkNumbers
from ..arm.judgements import judge, Judgement
from ..arrays import Array

_MIN_REACH_TO_ARM_LENGTH = 0.05  # of a link that no shape shows, relative to the length of the arm
_MIN_SPAN_TO_ARM_LENGTH = 0.1  # of joints near a link, relative to the length of the arm
_FALLBACK_REACH_M = 1e6  # [m] instead of the length of an arm without lengths


def judge_file(
    document: UrdfDocument, urdf_path: Path | None = None
) -> tuple[tuple[Judgement, ...], tuple[str, ...]]:
    """
    Return judgements of the numbers of a URDF or MJCF, and the names of meshes that were not read.

    Meshes are read only if `urdf_path` is given and scipy is installed. Of links that no joint
    moves only the tensor is judged, by whether a body can have it: no torque depends on them.
    """
    numbers, unread = _file_numbers(document, urdf_path)
    return tuple(judge(numbers)), unread


def _file_numbers(
    document: UrdfDocument, urdf_path: Path | None
) -> tuple[FileNumbers, tuple[str, ...]]:
    """Return the numbers of a URDF or MJCF, and the names of meshes that were not read."""
    model = pinocchio_model_of_document(document)
    urdf_path = urdf_path if find_spec('scipy') else None
    try:
        shapes, meshed, unread = shape_points_by_link(model, document, urdf_path)
    except ValueError:  # a mesh is no mesh
        shapes, meshed, unread = shape_points_by_link(model, document, None)
    bodies = []
    for k in range(1, model.njoints):
        frames = [one for one in model.frames if one.type == pin.BODY and one.parentJoint == k]
        links = _links_with_mass(document, model, k, frames, shapes, unread)
        if not links:
            continue
        shown = [one.name for one in frames if one.name in shapes]
        hulls: tuple[Array, ...] = ()
        if meshed.issuperset(shown) and unread.keys().isdisjoint(shown):
            hulls = tuple(np.vstack(shapes[name]) for name in shown)
        own = model.inertias[k]
        variance = float(0.5 * np.trace(own.inertia) / own.mass)
        bodies.append(BodyNumbers(tuple(links), float(own.mass), variance, hulls))
    moving = {link.name for body in bodies for link in body.links}
    still = [
        LinkNumbers(
            name,
            document.inertial_words(name),
            link.mass,
            link.tensor,
            _FALLBACK_REACH_M * CUBE_CORNERS,
            reach=_FALLBACK_REACH_M,
        )
        for name, link in document.links.items()
        if name not in moving and (link.mass or link.tensor.any())
    ]
    numbers = FileNumbers(
        bodies,
        still_links=[link for link in still if link.mass],
        links_without_mass=[link for link in still if not link.mass],
        effort_limits=[*_effort_limits(document, model)],
    )
    return numbers, tuple(dict.fromkeys(name for names in unread.values() for name in names))


def _links_with_mass(
    document: UrdfDocument,
    model: pin.Model,
    joint_number: int,
    frames: Sequence[pin.Frame],
    shapes: Mapping[str, Sequence[Array]],
    unread_links: Collection[str],
) -> list[LinkNumbers]:
    """Return links with mass, and bounds, among `frames`, moved by the joint of that number."""
    lengths = [float(np.linalg.norm(one.translation)) for one in model.jointPlacements]
    children = [*model.children[joint_number]]
    solids = [points for one in frames for points in shapes.get(one.name, ())]
    places = [one.placement.translation for one in frames]
    places += [model.jointPlacements[j].translation for j in children]
    bounds_text = 'its shapes and joints allow'
    reach = _FALLBACK_REACH_M
    enclosing = np.vstack((*solids, *places))
    # A link of which nothing was read may be larger than what is fixed to it.
    if not solids or any(one.name in unread_links and one.name not in shapes for one in frames):
        bounds_text = 'the distances of the joints near it allow'
        next_lengths = [[lengths[i] for i in behind] for behind in model.children]
        behind = (lengths[j] + max(next_lengths[j], default=0.0) for j in children)
        before = lengths[model.parents[joint_number]] + lengths[joint_number]
        span = max(
            before + max(behind, default=0.0),
            *np.linalg.norm(places, axis=1),
            _MIN_SPAN_TO_ARM_LENGTH * sum(lengths),
        )
        enclosing = CUBE_CORNERS * (span or _FALLBACK_REACH_M)
        if span:
            least = _MIN_REACH_TO_ARM_LENGTH * sum(lengths)
            reach = max(least, lengths[joint_number], *np.linalg.norm(places, axis=1))
    found = []
    for one in frames:
        link = document.links[one.name]
        if not link.mass:
            continue
        pose = one.placement.homogeneous @ link.origin
        distance = float(np.linalg.norm(pose[:3, 3]))
        numbers = LinkNumbers(
            one.name,
            document.inertial_words(one.name),
            link.mass,
            link.tensor,
            enclosing_points=(enclosing - pose[:3, 3]) @ pose[:3, :3],
            bounds_text=bounds_text,
            reach=max(reach, distance),
            center_to_joint_distance=distance,
            next_joint_distances=tuple(lengths[j] for j in children),
            joint_number=joint_number,
            joint_numbers_to_root=frozenset(model.supports[joint_number]),
            has_tensor_of_geoms=document.tensor_sources.get(one.name) == TENSOR_FROM_GEOMS,
        )
        found.append(numbers)
    return found


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
