# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The parameters of the simulator node."""

from __future__ import annotations

from typing import Any

import numpy as np

from .arm_parameters import ARM_PARAMETERS
from .parameters import ParameterSpec
from ..arm import ArmDescription
from ..control.settings import PAYLOAD_ORDER, Settings
from ..dynamics import GRAVITY
from ..errors import SettingsError
from ..simulation.arm_simulation import Push, SimulationSettings
from ..simulation.joint_elasticity import franka_elasticity

PACINGS = ('wall', 'lockstep', 'clock')

SIMULATOR_PARAMETERS = (
    *ARM_PARAMETERS,
    ParameterSpec(
        'start',
        'double_array',
        [],
        "Joint positions to start from; empty for the arm file's home pose.",
        read_only=True,
        unit='rad',
    ),
    ParameterSpec(
        'pacing',
        'string',
        'wall',
        'wall: 1 kHz of real time; lockstep: one step per '
        "command, as fast as the commands come; clock: as somebody else's /clock goes, "
        'with use_sim_time.',
        read_only=True,
        choices=PACINGS,
    ),
    ParameterSpec(
        'lockstep_timeout',
        'double',
        0.2,
        'In lockstep, a step without a command is made after this much real time.',
        read_only=True,
        minimum=1e-3,
        maximum=60.0,
        unit='s',
    ),
    ParameterSpec(
        'lockstep_rate',
        'double',
        0.0,
        'In lockstep, at most so many steps per second of real time: 1000 is never faster than a '
        'real arm, and leaves the processor to others. 0 steps as fast as commands come.',
        read_only=True,
        minimum=0.0,
        maximum=1e6,
        unit='Hz',
    ),
    ParameterSpec(
        'command_patience',
        'double',
        0.0,
        'With pacing wall, how long the physics '
        'waits when commands that have begun are late by 5 ms, at most 20 times in a '
        'row; a process that gets no processor then slows the simulated arm instead of '
        'dropping it. 0 waits for nobody, as a real arm does.',
        read_only=True,
        minimum=0.0,
        maximum=60.0,
        unit='s',
    ),
    ParameterSpec(
        'publish_clock',
        'bool',
        False,
        'Publish simulated time on /clock. Stamps then '
        'count from zero, as in lockstep; otherwise from the time of the start.',
        read_only=True,
    ),
    ParameterSpec(
        'gravity_vector',
        'double_array',
        list(GRAVITY),
        'Gravity of the simulated world in the base frame.',
        read_only=True,
        unit='m/s^2',
    ),
    ParameterSpec(
        'gravity_compensation',
        'bool',
        False,
        "Add g(q) of the bare arm inside the arm, as FCI's robot does.",
        read_only=True,
    ),
    ParameterSpec(
        'friction', 'bool', False, "Add the arm file's friction to the joints.", read_only=True
    ),
    ParameterSpec(
        'elastic_joints',
        'bool',
        False,
        'Put elastic, rippling gears between motors '
        "and links, as a Franka arm's: efforts then vibrate.",
        read_only=True,
    ),
    ParameterSpec(
        'sensor_delay',
        'double',
        0.0,
        'How late positions, velocities and efforts are measured.',
        read_only=True,
        minimum=0.0,
        maximum=0.1,
        unit='s',
    ),
    ParameterSpec(
        'position_noise',
        'double',
        0.0,
        'Standard deviation of measured positions.',
        read_only=True,
        minimum=0.0,
        unit='rad',
    ),
    ParameterSpec(
        'velocity_noise',
        'double',
        0.0,
        'Standard deviation of measured velocities.',
        read_only=True,
        minimum=0.0,
        unit='rad/s',
    ),
    ParameterSpec(
        'effort_noise',
        'double',
        0.0,
        'Standard deviation of measured efforts.',
        read_only=True,
        minimum=0.0,
        unit='N m',
    ),
    ParameterSpec('seed', 'integer', 0, 'Of the noise.', read_only=True, minimum=0),
    ParameterSpec(
        'payload',
        'double_array',
        [0.0] * len(PAYLOAD_ORDER),
        'What the flange carries, as the feedforward node takes it.',
        read_only=True,
    ),
    ParameterSpec(
        'push.force',
        'double_array',
        [0.0, 0.0, 0.0],
        'A force at the flange in the base frame.',
        read_only=True,
        unit='N',
    ),
    ParameterSpec(
        'push.start',
        'double',
        0.0,
        'When it begins to push, in simulated time.',
        read_only=True,
        minimum=0.0,
        unit='s',
    ),
    ParameterSpec(
        'push.duration',
        'double',
        0.0,
        'How long it pushes.',
        read_only=True,
        minimum=0.0,
        unit='s',
    ),
    ParameterSpec(
        'brake_release_after',
        'double',
        0.5,
        'How long commands must have come without a gap before the brakes open.',
        read_only=True,
        minimum=0.0,
        maximum=60.0,
        unit='s',
    ),
)


def simulation_settings(values: dict[str, Any], arm: ArmDescription) -> SimulationSettings:
    """Return the settings that parameter values stand for on an arm."""
    force = values['push.force']
    if len(force) != 3 or not np.isfinite(force).all():
        raise SettingsError(f'push.force must be three finite numbers [N]; got {list(force)}.')
    return SimulationSettings(
        start=np.array(values['start']) if len(values['start']) else None,
        gravity=tuple(values['gravity_vector']),
        payload=Settings(payload=tuple(values['payload'])).payload_inertia(),
        friction=values['friction'],
        elasticity=franka_elasticity(arm) if values['elastic_joints'] else None,
        sensor_delay=values['sensor_delay'],
        gravity_compensation=values['gravity_compensation'],
        position_noise=values['position_noise'],
        velocity_noise=values['velocity_noise'],
        effort_noise=values['effort_noise'],
        push=Push(tuple(force), values['push.start'], values['push.duration']),
        brake_release_after=values['brake_release_after'],
        seed=values['seed'],
    )
