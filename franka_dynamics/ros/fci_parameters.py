# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The parameters of the node that drives a robot over FCI."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .arm_parameters import ARM_PARAMETERS
from .feedforward_parameters import LIVE_PARAMETERS, settings_from
from .parameters import ParameterSpec
from ..control.settings import Settings
from ..control.supervision import SupervisionLimits
from ..errors import SettingsError
from ..fci.connection import CollisionThresholds
from ..typing import Array

STATES_ONLY, COMMAND, FEEDFORWARD = 'states_only', 'command', 'feedforward'
_TARGET = 'fci'
_TELLS_GRAVITY = ('target', 'terms.friction')  # both are the robot's own

_COLLISION = CollisionThresholds()
_LONGEST_GAP_S = 0.2

# What may change while it runs, in control feedforward.
FCI_LIVE_PARAMETERS = tuple(spec for spec in LIVE_PARAMETERS if spec.name not in _TELLS_GRAVITY)

FCI_PARAMETERS = (
    # libfranka's bindings work with the FR3 generation; a FER needs libfranka older than 0.10.
    *(
        replace(spec, default='fr3') if spec.name == 'robot_type' else spec
        for spec in ARM_PARAMETERS
    ),
    ParameterSpec(
        'robot_ip',
        'string',
        '',
        "Host name or IP address of the robot's control unit.",
        read_only=True,
    ),
    ParameterSpec(
        'control',
        'string',
        COMMAND,
        'states_only: nothing is commanded; command: '
        'follow ~/command; feedforward: compute the feedforward torques inside the '
        'control loop.',
        read_only=True,
        choices=(STATES_ONLY, COMMAND, FEEDFORWARD),
    ),
    ParameterSpec(
        'autostart',
        'bool',
        False,
        'Allow torques without being asked by ~/enable, once the check at rest has passed.',
        read_only=True,
    ),
    ParameterSpec(
        'preflight_torque',
        'double_array',
        [4.0, 4.0, 4.0, 4.0, 1.5, 1.5, 1.5],
        'Largest difference of tau_J and g(q) at rest, joint by joint, and of g(q) '
        "from the robot's own model, at which torque may be commanded.",
        read_only=True,
        unit='N m',
    ),
    ParameterSpec(
        'lower_torque_thresholds',
        'double_array',
        list(_COLLISION.lower_torque),
        'External torque of each joint above which the robot reports a contact '
        "(libfranka's set_collision_behavior).",
        read_only=True,
        unit='N m',
    ),
    ParameterSpec(
        'upper_torque_thresholds',
        'double_array',
        list(_COLLISION.upper_torque),
        'External torque of each joint above which the robot stops by itself.',
        read_only=True,
        unit='N m',
    ),
    ParameterSpec(
        'lower_force_thresholds',
        'double_array',
        list(_COLLISION.lower_force),
        'External force (x, y, z) and moment (x, y, z) on the end effector above which '
        'the robot reports a contact.',
        read_only=True,
        unit='N, N m',
    ),
    ParameterSpec(
        'upper_force_thresholds',
        'double_array',
        list(_COLLISION.upper_force),
        'External force and moment on the end effector above which the robot stops by itself.',
        read_only=True,
        unit='N, N m',
    ),
    ParameterSpec(
        'command_timeout',
        'double',
        0.02,
        'Silence of ~/command after which the torque ramps to zero.',
        read_only=True,
        minimum=1e-3,
        maximum=1.0,
        unit='s',
    ),
    ParameterSpec(
        'enforce_realtime',
        'bool',
        False,
        'Let libfranka refuse to control without real-time scheduling.',
        read_only=True,
    ),
    ParameterSpec(
        'connect_timeout',
        'double',
        10.0,
        'How long the robot may take to answer the first connection.',
        read_only=True,
        minimum=0.1,
        maximum=600.0,
        unit='s',
    ),
    ParameterSpec(
        'recovery_samples',
        'integer',
        20,
        'Good states in a row before feedforward torque is given (again).',
        read_only=True,
        minimum=2,
        maximum=10000,
    ),
    ParameterSpec(
        'crosscheck_states',
        'integer',
        300,
        'Random states at which the two models '
        'must agree, and at which the model is compared with the one that libfranka '
        'loads.',
        read_only=True,
        minimum=10,
        maximum=100000,
    ),
    ParameterSpec(
        'crosscheck_period',
        'double',
        1.0,
        'How often the running model is compared with the independent one; 0 for never.',
        read_only=True,
        minimum=0.0,
        maximum=3600.0,
        unit='s',
    ),
    *FCI_LIVE_PARAMETERS,
)


def collision_thresholds_from(values: dict[str, Any]) -> CollisionThresholds:
    """Return what the robot is to be told about collisions; SettingsError if it is malformed."""
    return CollisionThresholds(
        **{
            name: tuple(values[f'{name}_thresholds'])
            for name in ('lower_torque', 'upper_torque', 'lower_force', 'upper_force')
        }
    )


def preflight_torque_from(values: dict[str, Any]) -> Array:
    """Return the thresholds of the check at rest, shape (7,) [N m]; SettingsError if malformed."""
    threshold = np.asarray(values['preflight_torque'], dtype=float)
    if threshold.shape != (7,) or not ((threshold > 0.0) & (threshold < np.inf)).all():
        raise SettingsError(
            'preflight_torque must be 7 positive finite numbers, one per joint; '
            f'got {threshold.tolist()[:8]}.'
        )
    return threshold


def require_same_gravity(before: Settings, after: Settings) -> None:
    """
    Refuse a change by which other gravity torque would be commanded than was checked at rest.

    Raises
    ------
    SettingsError
        Naming what would change.

    """
    changed = [
        name
        for name in ('gravity_vector', 'payload', 'payload_known_to_robot')
        if getattr(before, name) != getattr(after, name)
    ]
    if changed:
        raise SettingsError(
            f'{" and ".join(changed)} cannot change while torques are commanded, because the '
            'check at rest would not cover it; call ~/enable with false first.'
        )


def fci_settings_from(values: dict[str, Any]) -> Settings:
    """Return the live settings; the target is the robot, which adds gravity and friction."""
    return settings_from({**values, 'target': _TARGET, 'terms.friction': False})


def fci_supervision_from(values: dict[str, Any]) -> SupervisionLimits:
    """Return the limits for states that come with every cycle and carry the robot's own time."""
    # The robot itself stops after 20 lost packets in a row, and libfranka after a second of
    # silence; a state that is read is fresh. What is left to watch are the values.
    return SupervisionLimits(
        min_input_rate=200.0,
        state_timeout=_LONGEST_GAP_S,
        max_state_age=0.0,
        recovery_samples=values['recovery_samples'],
    )
