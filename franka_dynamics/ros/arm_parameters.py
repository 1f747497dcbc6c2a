# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The parameters by which every node is told its arm; names as in franka_ros2."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .parameters import ParameterSpec
from ..arm import ArmDescription, load
from ..arm.arm_file import AS_LISTED
from ..arm.consistency import REPAIRS
from ..errors import SettingsError

ARM_PARAMETERS = (
    ParameterSpec(
        'robot_type',
        'string',
        'fer',
        'A shipped arm (fer, fr3, fr3v2, fr3v2_1, ...) or the path of an arm file.',
        read_only=True,
    ),
    ParameterSpec(
        'inertial_set',
        'string',
        '',
        "Which of the arm file's inertial sets to use; empty for its default.",
        read_only=True,
    ),
    ParameterSpec(
        'hand',
        'string',
        AS_LISTED,
        'The hand on the flange: one of config/hands '
        '(franka_hand, ...), none, or as_listed for the one the inertial set was '
        'published with.',
        read_only=True,
    ),
    ParameterSpec(
        'repair',
        'string',
        '',
        'What becomes of links that no real body could be: '
        'empty refuses them, nearest_within_rounding replaces them by the nearest that '
        "one could, within the set's rounding (needs cvxpy).",
        read_only=True,
        choices=('', *REPAIRS),
    ),
    ParameterSpec(
        'arm_prefix',
        'string',
        '',
        'Put in front of every joint name, verbatim (no underscore is added).',
        read_only=True,
    ),
    ParameterSpec(
        'joint_names',
        'string_array',
        [],
        'Overrides the joint names that follow from robot_type and arm_prefix.',
        read_only=True,
    ),
)


def load_arm(values: dict[str, Any]) -> ArmDescription:
    """
    Return the arm that the parameters name.

    Raises
    ------
    DescriptionError
        If there is no such arm, set or hand, or its file is at fault.
    InertiaError
        If the repair asked for is impossible.
    SettingsError
        If joint_names does not fit the arm.

    """
    description = load(
        values['robot_type'],
        values['inertial_set'] or None,
        hand=values['hand'],
        prefix=values['arm_prefix'],
        repair=values['repair'] or None,
    )
    names = list(values['joint_names'])
    if not names:
        return description
    if len(names) != description.n or len(set(names)) != len(names):
        raise SettingsError(
            f'joint_names must be {description.n} different names, one per joint of '
            f'{description.name} from base to tip; got {names}.'
        )
    joints = tuple(replace(joint, name=name) for joint, name in zip(description.joints, names))
    return replace(description, joints=joints)


DESCRIPTION, URDF_FILE, ROBOT_DESCRIPTION = 'description', 'urdf_file', 'robot_description'

MODEL_PARAMETERS = (
    ParameterSpec(
        'model_source',
        'string',
        DESCRIPTION,
        'Where the model comes from: the arm '
        'file, a URDF file, or the robot_description topic. A URDF is itself '
        'compared with the DH-derived description first.',
        read_only=True,
        choices=(DESCRIPTION, URDF_FILE, ROBOT_DESCRIPTION),
    ),
    ParameterSpec(
        'urdf_file', 'string', '', 'Path of the URDF for model_source urdf_file.', read_only=True
    ),
    ParameterSpec(
        'robot_description_timeout',
        'double',
        30.0,
        'How long configure waits for robot_description.',
        read_only=True,
        minimum=0.1,
        maximum=3600.0,
        unit='s',
    ),
    ParameterSpec(
        'accept_unknown_inertials',
        'bool',
        False,
        'Accept a URDF whose inertials are physical, but those of no published set.',
        read_only=True,
    ),
)
