# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The parameters of the small nodes: keeper, reference player, trajectory action."""

from __future__ import annotations

from typing import Any

from .arm_parameters import ARM_PARAMETERS
from .feedforward_parameters import LIVE_PARAMETERS, settings_from
from .parameters import ParameterSpec
from ..control.settings import DEFAULT_TARGET, Settings, TARGETS

KEEPER_PARAMETERS = (
    ParameterSpec(
        'target',
        'string',
        DEFAULT_TARGET,
        'As of the node that commands; it decides '
        'where the stop sequence ends: at zero, or at the gravity torque that the node '
        'published last.',
        read_only=True,
        choices=tuple(TARGETS),
    ),
    ParameterSpec(
        'silence',
        'double',
        0.1,
        'Silence of the commands after which a node whose '
        'process is still there, or cannot be seen from here, counts as stalled; at least 0.02. '
        '0 for never: where time is simulated it may stand still, and then silence says nothing.',
        read_only=True,
        minimum=0.0,
        maximum=10.0,
        unit='s',
    ),
)


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


PLAYER_PARAMETERS = (
    *ARM_PARAMETERS,
    ParameterSpec(
        'duration',
        'double',
        12.0,
        'Length of the motion.',
        read_only=True,
        minimum=0.1,
        maximum=600.0,
        unit='s',
    ),
    ParameterSpec(
        'amplitude',
        'double',
        0.5,
        'Largest deflection of a joint; less where a limit demands it.',
        read_only=True,
        minimum=1e-3,
        maximum=3.0,
        unit='rad',
    ),
    ParameterSpec(
        'lead_in',
        'double',
        1.0,
        'Time to be led from where the arm stands to where the motion begins.',
        read_only=True,
        minimum=0.01,
        maximum=60.0,
        unit='s',
    ),
    ParameterSpec(
        'settle',
        'double',
        2.0,
        'Time after the end of the motion before the error is taken.',
        read_only=True,
        minimum=0.0,
        maximum=60.0,
        unit='s',
    ),
    ParameterSpec(
        'tolerance',
        'double',
        0.05,
        'Largest error of a joint at the end; beyond it the exit status is 1. 0 only reports it.',
        read_only=True,
        minimum=0.0,
        maximum=10.0,
        unit='rad',
    ),
    ParameterSpec(
        'wait',
        'double',
        20.0,
        'How long to wait for the arm, for a listener, and for joint states.',
        read_only=True,
        minimum=0.1,
        maximum=600.0,
        unit='s',
    ),
)
