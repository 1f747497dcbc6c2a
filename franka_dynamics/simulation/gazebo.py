# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The model of an arm for Gazebo, its start pose, holding torques and topics.

Gazebo's own joint systems have no start position, so this module writes a model for them whose
joint positions are relative to the start pose. `ros.simulators.gazebo_direct_node`, the receiver
of torques for an arm without gz_ros2_control, adds the start pose to Gazebo's positions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
import xml.etree.ElementTree as ElementTree

import numpy as np

from ..arm import ArmDescription, Joint, JointKind
from ..arm.shapes import Shape
from ..arrays import Array, ArrayLike
from ..dynamics.newton_euler import NewtonEulerModel
from ..errors import SettingsError, short_text
from ..files import read_text
from ..urdf.writer import urdf_text, xml_text

WORLD_NAME = 'franka'  # in config/gazebo_world.sdf
MODEL_NAME = 'franka'  # of the arm
_STATE_PLUGIN = (
    'gz-sim-joint-state-publisher-system',
    'gz::sim::systems::JointStatePublisher',
)
_FORCE_PLUGIN = ('gz-sim-apply-joint-force-system', 'gz::sim::systems::ApplyJointForce')


def holding_torque(arm: ArmDescription) -> Array:
    """Return the torques (n,) [N m, N] that hold an arm in its start pose, `home_position`."""
    return NewtonEulerModel(arm).gravity(arm.home_position)


def shift_joint_zeros(arm: ArmDescription, zero_positions: ArrayLike) -> ArmDescription:
    """Return an arm whose joint positions are measured from `zero_positions`, (n,)."""
    start = arm.joint_vector(zero_positions, 'position')
    joints = tuple(_shifted_joint(joint, at) for joint, at in zip(arm.joints, start))
    return replace(arm, joints=joints, home=None if arm.home is None else arm.home - start)


def _shifted_joint(joint: Joint, q0: float) -> Joint:
    """Return a joint whose position is measured from the position `q0` [rad, m]."""
    name = 'theta' if joint.kind is JointKind.REVOLUTE else 'd'
    row = replace(joint.row, **{name: getattr(joint.row, name) + q0})
    limits = replace(joint.limits, lower=joint.limits.lower - q0, upper=joint.limits.upper - q0)
    return replace(joint, row=row, limits=limits)


def gazebo_urdf(
    arm: ArmDescription,
    start_q: ArrayLike,
    *,
    shapes: Mapping[int, Sequence[Shape]] | None = None,
) -> str:
    """
    Return a URDF of an arm fixed to the world, with Gazebo's joint state and force systems.

    `arm` is the arm with hand and payload. `start_q`, (n,), is the start pose [rad, m], which
    is position zero of the URDF; `shapes` are the shapes in each DH frame, by its number.
    """
    text = urdf_text(shift_joint_zeros(arm, start_q), root='world', shapes=shapes)
    robot = ElementTree.fromstring(text)
    systems = [
        (_STATE_PLUGIN, None),
        *((_FORCE_PLUGIN, name) for name in arm.joint_names),
    ]
    for (filename, name), joint in systems:
        gazebo = ElementTree.SubElement(robot, 'gazebo')
        plugin = ElementTree.SubElement(gazebo, 'plugin', filename=filename, name=name)
        if joint is not None:
            ElementTree.SubElement(plugin, 'joint_name').text = joint
    return xml_text(robot)


def world_with_arm(world_file: Path, urdf_file: Path) -> str:
    """
    Return the text of an SDF world that contains an arm from its start; raise SettingsError.

    At a reset Gazebo drops what was added to its world after the start, so an arm that is to
    survive one stands in the world's file. `world_file` has a world called WORLD_NAME, and
    `urdf_file` the arm. Raises SettingsError, with the file's name, if it has no such world.
    """
    try:
        sdf = ElementTree.fromstring(read_text(world_file))
    except ElementTree.ParseError as error:
        raise SettingsError(f'{world_file} is no SDF: {error}.') from error
    worlds = sdf.findall('world')
    world = next((element for element in worlds if element.get('name') == WORLD_NAME), None)
    if world is None:
        names = ', '.join(repr(element.get('name')) for element in worlds) or 'none'
        raise SettingsError(
            f'{world_file} has no world called {WORLD_NAME}, which topics and services are named '
            f'after: it has {short_text(names)}. Rename its world.'
        )
    include = ElementTree.SubElement(world, 'include')
    ElementTree.SubElement(include, 'name').text = MODEL_NAME
    ElementTree.SubElement(include, 'uri').text = urdf_file.absolute().as_uri()
    return xml_text(sdf)


def bridge_configuration(joint_names: Sequence[str] = ()) -> list[dict[str, str]]:
    """
    Return ros_gz_bridge's configuration for the clock and, with joint names, states and forces.

    Without joint names it has the clock alone. ROS topics are gazebo/joint_states and
    gazebo/<joint>/cmd_force, relative to the bridge's namespace.
    """
    rows = [
        {
            'ros_topic_name': '/clock',
            'gz_topic_name': '/clock',
            'ros_type_name': 'rosgraph_msgs/msg/Clock',
            'gz_type_name': 'gz.msgs.Clock',
            'direction': 'GZ_TO_ROS',
        }
    ]
    if joint_names:
        # Published by gz-sim's JointStatePublisher.
        rows.append(
            {
                'ros_topic_name': 'gazebo/joint_states',
                'gz_topic_name': f'/world/{WORLD_NAME}/model/{MODEL_NAME}/joint_state',
                'ros_type_name': 'sensor_msgs/msg/JointState',
                'gz_type_name': 'gz.msgs.Model',
                'direction': 'GZ_TO_ROS',
            }
        )
    for joint in joint_names:
        # Read by gz-sim's ApplyJointForce.
        rows.append(
            {
                'ros_topic_name': f'gazebo/{joint}/cmd_force',
                'gz_topic_name': f'/model/{MODEL_NAME}/joint/{joint}/cmd_force',
                'ros_type_name': 'std_msgs/msg/Float64',
                'gz_type_name': 'gz.msgs.Double',
                'direction': 'ROS_TO_GZ',
            }
        )
    return rows


def xacro_numbers(values: ArrayLike) -> str:
    """Return numbers with all digits, separated by blanks, as a xacro argument."""
    return ' '.join(repr(float(value)) for value in np.asarray(values, dtype=float))
