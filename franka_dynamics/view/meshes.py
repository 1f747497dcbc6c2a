# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Meshes that show an arm, from a URDF file or from the URDF that this package writes."""

from collections.abc import Sequence
from dataclasses import dataclass
import os
from pathlib import Path
import re
from typing import Any
import xml.etree.ElementTree as ElementTree

import numpy as np

from ..arm import ArmDescription
from ..arm.shapes import load_hand_shapes, load_shapes
from ..arrays import Array
from ..errors import FrankaDynamicsError
from ..urdf.pinocchio_reading import urdf_for_pinocchio
from ..urdf.writer import add_tag, urdf_text

_MAX_MESSAGE_LENGTH = 300  # characters of a library's error message
_PACKAGE_URL_PATTERN = re.compile(r'package://([^/"\']+)/')


class MeshesError(FrankaDynamicsError):
    """The visual meshes of a URDF cannot be shown."""


@dataclass(frozen=True, eq=False)
class ArmMeshes:
    """
    The visual meshes of an arm, as Pinocchio's models of its joints and its geometry.

    `model` is that of the joints, `visual_model` that of the geometry. `velocity_indices` are
    those of the arm's joints in a velocity of `model`.
    """

    model: Any
    visual_model: Any
    velocity_indices: Sequence[int]

    def configuration(self, q: Array) -> Array:
        """Return Pinocchio's configuration vector for positions q (n,), other joints at zero."""
        import pinocchio as pin

        # A continuous joint's configuration is its cosine and sine, so q is added as a motion.
        motion = np.zeros(self.model.nv)
        motion[self.velocity_indices] = q
        return np.asarray(pin.integrate(self.model, pin.neutral(self.model), motion))


def arm_meshes(arm: ArmDescription) -> ArmMeshes:
    """
    Return what shows an arm: the meshes of franka_description or, without it, simple shapes.

    A hand is always shown by simple shapes.
    """
    folder = f'franka_description/meshes/robot_arms/{arm.name}'
    shares = ros_share_folders()
    installed = any((share / folder).is_dir() for share in shares)
    shapes = {} if installed else load_shapes(arm.name)
    flange = arm.flange_transform()
    hand_shapes = (shape.expressed_in(flange) for shape in load_hand_shapes(arm.hand))
    shapes[arm.n] = (*shapes.get(arm.n, ()), *hand_shapes)  # the hand is part of the last link
    robot = ElementTree.fromstring(urdf_text(arm, shapes=shapes))
    if installed:
        for link in robot.iter('link'):
            name = re.search(r'link[0-7]$', str(link.get('name')))
            if name:
                geometry = add_tag(add_tag(link, 'visual'), 'geometry')
                add_tag(geometry, 'mesh', filename=f'package://{folder}/visual/{name[0]}.dae')
    return _read_meshes(ElementTree.tostring(robot, encoding='unicode'), arm.joint_names, shares)


def urdf_meshes(
    urdf: str, joint_names: Sequence[str], package_folders: Sequence[Path] | None = None
) -> ArmMeshes:
    """
    Return the visual meshes and shapes of a URDF, placed by Pinocchio.

    `urdf` is its text, xacro expanded, `joint_names` are the arm's joints from base to tip, and
    `package_folders` contain each package in a folder of its name (default: the share folders of
    AMENT_PREFIX_PATH). Raises MeshesError if the text is no URDF, lacks a joint or shows nothing,
    or if a package is not installed.
    """
    places = ros_share_folders() if package_folders is None else package_folders
    for name in sorted(set(_PACKAGE_URL_PATTERN.findall(urdf))):
        if not any((folder / name).is_dir() for folder in places):
            raise MeshesError(
                f'package {name[:_MAX_MESSAGE_LENGTH]}, which has the meshes, is not installed '
                'here: source the workspace that has it.'
            )
    meshes = _read_meshes(urdf, joint_names, places)
    if meshes.visual_model.ngeoms == 0:
        raise MeshesError('the URDF has no mesh.')
    return meshes


def _read_meshes(urdf: str, joint_names: Sequence[str], folders: Sequence[Path]) -> ArmMeshes:
    """Return the meshes of a URDF; raise MeshesError if it cannot be read or lacks a joint."""
    import pinocchio as pin

    try:
        urdf = ElementTree.tostring(urdf_for_pinocchio(urdf), encoding='unicode')
        model = pin.buildModelFromXML(urdf)
        visual = pin.buildGeomFromUrdfString(
            model,
            urdf,
            pin.GeometryType.VISUAL,
            package_dirs=[str(folder) for folder in folders],
        )
    except (ValueError, RuntimeError, ElementTree.ParseError) as error:
        raise MeshesError(f'the meshes cannot be read: {_coal_error_text(error)}.') from error
    absent = [name for name in joint_names if not model.existJointName(name)]
    if absent:
        raise MeshesError(f'the URDF has no joint {absent[0]}.')
    velocity_indices = [model.joints[model.getJointId(name)].idx_v for name in joint_names]
    for item in visual.geometryObjects:
        if hasattr(item.geometry, 'num_tris'):
            # As triangles without a file: the viewer would keep the colours of a .dae file.
            item.geometry.buildConvexRepresentation(False)
            item.geometry = item.geometry.convex
            item.meshPath = ''
    return ArmMeshes(model, visual, velocity_indices)


def ros_share_folders() -> list[Path]:
    """Return the existing share folders of the prefixes in AMENT_PREFIX_PATH."""
    prefixes = os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep)
    shares = [Path(prefix, 'share') for prefix in prefixes if prefix]
    return [folder for folder in shares if folder.is_dir()]


def _coal_error_text(error: Exception) -> str:
    """Return the message of an error of the library coal without its source code line."""
    message = ' '.join(str(error).split()).rpartition('message: ')[2].partition(' Hint: ')[0]
    return message[:_MAX_MESSAGE_LENGTH].rstrip('. ')
