# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The parameters of the node that fills torques into goals of a trajectory controller."""

from __future__ import annotations

from typing import Any

from .arm_parameters import ARM_PARAMETERS
from .feedforward_parameters import LIVE_PARAMETERS, settings_from
from .parameters import ParameterSpec
from ..control.settings import Settings

_OF_TORQUES = (
    'target',
    'terms.gravity',
    'terms.coriolis',
    'terms.inertia',
    'terms.friction',
    'scale',
    'gravity_vector',
    'payload',
    'payload_known_to_robot',
    'max_payload',
)
# As of the feedforward node; read anew for every goal.
TORQUE_PARAMETERS = tuple(spec for spec in LIVE_PARAMETERS if spec.name in _OF_TORQUES)

TRAJECTORY_ACTION_PARAMETERS = (
    *ARM_PARAMETERS,
    *TORQUE_PARAMETERS,
    ParameterSpec(
        'controller_action',
        'string',
        'feedforward_trajectory_controller/follow_joint_trajectory',
        'The action of the joint_trajectory_controller that goals are passed on to.',
        read_only=True,
    ),
    ParameterSpec(
        'wait',
        'double',
        1.0,
        'How long a joint state, or a controller that is gone, is waited for.',
        read_only=True,
        minimum=0.1,
        maximum=60.0,
        unit='s',
    ),
)


def torque_settings(values: dict[str, Any]) -> Settings:
    """Return the settings that parameter values stand for; all others keep their defaults."""
    return settings_from({**{spec.name: spec.default for spec in LIVE_PARAMETERS}, **values})
