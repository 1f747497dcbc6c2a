# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The parameters of the node that drives a robot over FCI."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .arm_parameters import ARM_PARAMETERS
from .feedforward_parameters import LIVE_PARAMETERS, settings_from
from .parameters import ParameterSpec
from ..control.settings import Settings
from ..control.supervision import SupervisionLimits

STATES_ONLY, COMMAND, FEEDFORWARD = 'states_only', 'command', 'feedforward'
_TARGET = 'fci'
_TELLS_GRAVITY = ('target', 'terms.friction')  # both are the robot's own

# What may change while it runs, in control feedforward.
FCI_LIVE_PARAMETERS = tuple(spec for spec in LIVE_PARAMETERS if spec.name not in _TELLS_GRAVITY)

FCI_PARAMETERS = (
    # libfranka's bindings speak to the FR3 generation; a FER needs libfranka older than 0.10.
    *(replace(spec, default='fr3') if spec.name == 'robot_type' else spec
      for spec in ARM_PARAMETERS),
    ParameterSpec('robot_ip', 'string', '', "Host name or IP address of the robot's control "
                  'unit.', read_only=True),
    ParameterSpec('control', 'string', COMMAND, 'states_only: nothing is commanded; command: '
                  'follow ~/command; feedforward: compute the feedforward torques inside the '
                  'control loop.', read_only=True, choices=(STATES_ONLY, COMMAND, FEEDFORWARD)),
    ParameterSpec('autostart', 'bool', True, 'Allow torques without being asked by ~/enable.',
                  read_only=True),
    ParameterSpec('command_timeout', 'double', 0.02, 'Silence of ~/command after which the torque '
                  'ramps to zero.', read_only=True, minimum=1e-3, maximum=1.0, unit='s'),
    ParameterSpec('enforce_realtime', 'bool', False, 'Let libfranka refuse to control without '
                  'real-time scheduling.', read_only=True),
    ParameterSpec('connect_timeout', 'double', 10.0, 'How long the robot may take to answer the '
                  'first connection.', read_only=True, minimum=0.1, maximum=600.0, unit='s'),
    ParameterSpec('recovery_samples', 'integer', 20, 'Good states in a row before feedforward '
                  'torque is given (again).', read_only=True, minimum=2, maximum=10000),
    ParameterSpec('crosscheck_states', 'integer', 300, 'Random states at which the two models '
                  'must agree, and at which the model is compared with the one that libfranka '
                  'loads.', read_only=True, minimum=10, maximum=100000),
    *FCI_LIVE_PARAMETERS,
)


def fci_settings_from(values: dict[str, Any]) -> Settings:
    """Return the live settings; the target is the robot, which adds gravity and friction."""
    return settings_from({**values, 'target': _TARGET, 'terms.friction': False})


def fci_supervision_from(values: dict[str, Any]) -> SupervisionLimits:
    """Return the limits for states that come with every cycle and carry the robot's own time."""
    # The robot answers for the stream (it stops after 20 lost packets in a row) and the loop for
    # its silence; what is left to watch are the values.
    return SupervisionLimits(min_input_rate=200.0, state_timeout=0.02, max_state_age=0.0,
                             recovery_samples=values['recovery_samples'])
