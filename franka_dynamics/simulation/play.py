# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Plays a trajectory on the simulated arm and records it, without ROS, faster than real time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from .arm_simulation import ArmSimulation, SimulationSettings
from .mujoco_model import TIMESTEP_S
from ..arm import ArmDescription
from ..dynamics.pinocchio_model import PinocchioModel
from ..errors import SettingsError
from ..recordings.recording import Recording
from ..typing import Array

# Gains of the computed-torque controller [1/s^2, 1/s], critically damped
_STIFFNESS, _DAMPING = 900.0, 60.0
_EVERY = 5  # steps between two recorded states
_FIRST_STAMP_NS = 1_700_000_000_000_000_000


def play(
    arm: ArmDescription,
    motion: Callable[[float], tuple[Array, Array, Array]],
    duration: float,
    settings: SimulationSettings | None = None,
) -> Recording:
    """
    Let the simulated arm follow a motion by computed torque, and record its states at 200 Hz.

    The controller knows the arm but not the settings' payload and friction, and reads the same
    noisy sensors that are recorded. `motion` returns the desired position, velocity and
    acceleration, each of shape (n,), at a time [s], for `duration` seconds. `arm` is without
    payload; the simulated arm starts at the motion's first position, and its brakes open with the
    first command. Raises SettingsError if a joint deviates from the motion by more than half a
    radian.
    """
    chosen = SimulationSettings() if settings is None else settings
    simulated = ArmSimulation(arm, replace(chosen, start=motion(0.0)[0], brake_release_after=0.0))
    model = PinocchioModel(arm, chosen.gravity)
    rows = []
    for step in range(round(duration / TIMESTEP_S) + 1):
        reading = simulated.read()
        desired = motion(reading.time)
        if np.abs(desired[0] - reading.position).max() > 0.5:
            raise SettingsError(
                f'The simulated arm deviated from the motion by more than 0.5 rad at '
                f'{reading.time:.2f} s; the motion is too fast, or the payload too heavy.'
            )
        away, slower = desired[0] - reading.position, desired[1] - reading.velocity
        acceleration = desired[2] + _STIFFNESS * away + _DAMPING * slower
        simulated.step(model.inverse_dynamics(reading.position, reading.velocity, acceleration))
        if step % _EVERY == 0:
            # The effort is read after the step, because effort is the torque during the step.
            after = simulated.read()
            rows.append((reading.position, reading.velocity, after.effort))
    return recorded('simulated', arm, rows, _EVERY * TIMESTEP_S)


def recorded(
    source: str, arm: ArmDescription, rows: Sequence[tuple[Array, Array, Array]], period: float
) -> Recording:
    """Return rows (q, dq, effort), (n,) each, `period` seconds apart, as a recording."""
    q, dq, effort = (np.array(column) for column in zip(*rows))
    stamps = _FIRST_STAMP_NS + np.round(np.arange(len(q)) * period * 1e9).astype(np.int64)
    return Recording(source, '/joint_states', arm.joint_names, stamps, q, dq, effort)
