# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What the parameters of the simulator node stand for."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arm import ArmDescription
from ..control.settings import Settings
from ..errors import SettingsError
from ..simulation.arm_simulation import Push, SimulationSettings
from ..simulation.joint_elasticity import franka_elasticity


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
