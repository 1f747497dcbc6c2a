# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Meshes that show an arm: those of a URDF file, or of the URDF that this package generates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
import os
from pathlib import Path
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arm import ArmDescription
from ..arm.hand_file import NO_HAND
from ..arm.shapes import load_hand_shapes, load_shapes
from ..errors import FrankaDynamicsError
from ..typing import Array
from ..urdf.writer import urdf_text

_MAX_CHARACTERS = 300  # characters of a library's error message
_PACKAGE = re.compile(r'package://([^/"\']+)/')


class MeshesError(FrankaDynamicsError):
    """The visual meshes of a URDF cannot be shown."""


@dataclass(frozen=True, eq=False)
class LinkMesh:
    """
    A triangle mesh with vertices (N, 3) [m] and faces (M, 3), fixed to a joint of the URDF.

    `parent` is Pinocchio's number of this joint, `pose` (4, 4) the mesh's pose in its frame.
    `joint`, from 1, is the arm's joint whose torque colours the mesh; a mesh with `joint` 0, such
    as the base's, keeps its colour.
    """

    joint: int
    parent: int
    pose: Array
    vertices: Array
    faces: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ArmMeshes:
    """An arm's meshes; `frames` maps positions (n,) to the poses of the URDF's joint frames."""

    meshes: tuple[LinkMesh, ...]
    frames: Callable[[Array], Sequence[Array]]

    def poses(self, q: Array) -> list[Array]:
        """Return each mesh's pose (4, 4) in the URDF's root link."""
        frames = self.frames(q)
        return [frames[mesh.parent] @ mesh.pose for mesh in self.meshes]


def shape_meshes(arm: ArmDescription) -> ArmMeshes:
    """Return the simple shapes in the URDF that this package generates for an arm."""
    shapes = load_shapes(arm.name)
    if shapes and arm.hand not in (NO_HAND, ''):
        hand = (shape.expressed_in(arm.flange_transform()) for shape in load_hand_shapes())
        shapes[arm.n] = (*shapes.get(arm.n, ()), *hand)
    return _meshes(urdf_text(arm, shapes=shapes), arm.joint_names, [])


def urdf_meshes(
    text: str, joint_names: Sequence[str], folders: Sequence[Path] | None = None
) -> ArmMeshes:
    """
    Return the visual meshes and shapes of a URDF, placed by Pinocchio.

    `text` is the URDF, xacro expanded, `joint_names` are the arm's joints from base to tip, and
    `folders` contain each package in a folder of its name (default: the share folders of
    AMENT_PREFIX_PATH). Raises MeshesError if the text is no URDF, lacks a joint or shows nothing,
    or if a package is not installed.
    """
    places = package_folders() if folders is None else folders
    for name in sorted(set(_PACKAGE.findall(text))):
        if not any((folder / name).is_dir() for folder in places):
            raise MeshesError(
                f'package {name[:_MAX_CHARACTERS]}, which has the meshes, is not installed here: '
                'source the workspace that has it.'
            )
    found = _meshes(text, joint_names, places)
    if not found.meshes:
        raise MeshesError('the URDF has no mesh.')
    return found


def _meshes(text: str, joint_names: Sequence[str], folders: Sequence[Path]) -> ArmMeshes:
    import pinocchio as pin

    try:
        model = pin.buildModelFromXML(text)
        visual = pin.buildGeomFromUrdfString(
            model, text, pin.GeometryType.VISUAL, package_dirs=[str(folder) for folder in folders]
        )
    except (ValueError, RuntimeError) as error:
        raise MeshesError(f'the meshes cannot be read: {_short(error)}.') from error
    absent = [name for name in joint_names if not model.existJointName(name)]
    if absent:
        raise MeshesError(f'the URDF has no joint {absent[0]}.')
    numbers = [model.getJointId(name) for name in joint_names]
    rows = [model.joints[number].idx_v for number in numbers]
    joint_of = {number: i for i, number in enumerate(numbers, 1)}
    meshes = tuple(
        LinkMesh(
            joint_of.get(item.parentJoint, 0),
            item.parentJoint,
            item.placement.homogeneous,
            *_triangles(item.geometry),
        )
        for item in visual.geometryObjects
    )
    data = model.createData()

    def frames(q: Array) -> list[Array]:
        # A continuous joint's configuration is its cosine and sine, so q is added as a motion.
        motion = np.zeros(model.nv)
        motion[rows] = q
        pin.forwardKinematics(model, data, pin.integrate(model, pin.neutral(model), motion))
        return [pose.homogeneous for pose in data.oMi]

    return ArmMeshes(meshes, frames)


def package_folders() -> list[Path]:
    """Return the existing share folders of the prefixes in AMENT_PREFIX_PATH."""
    prefixes = os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep)
    shares = [Path(prefix, 'share') for prefix in prefixes if prefix]
    return [folder for folder in shares if folder.is_dir()]


def _triangles(geometry: Any) -> tuple[Array, NDArray[np.int64]]:
    """Return vertices and faces of one of coal's meshes, boxes, cylinders or spheres."""
    from trimesh import creation

    if hasattr(geometry, 'num_tris'):
        triangles = [geometry.tri_indices(k) for k in range(geometry.num_tris)]
        faces = np.array([[corners[k] for k in range(3)] for corners in triangles], dtype=np.int64)
        return np.array(geometry.vertices(), dtype=float), faces.reshape(-1, 3)
    if hasattr(geometry, 'halfSide'):
        mesh = creation.box(2.0 * geometry.halfSide)
    elif hasattr(geometry, 'halfLength'):
        mesh = creation.cylinder(radius=geometry.radius, height=2.0 * geometry.halfLength)
    else:
        mesh = creation.icosphere(radius=geometry.radius)
    return np.asarray(mesh.vertices), np.asarray(mesh.faces)


def _short(error: Exception) -> str:
    """Return the error message of the coal library, without the line of its own source code."""
    message = ' '.join(str(error).split()).rpartition('message: ')[2].partition(' Hint: ')[0]
    return message[:_MAX_CHARACTERS].rstrip('. ')
