# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A controller and a simulated arm in closed loop, which the tests share."""

import numpy as np

from franka_dynamics.arm import load
from franka_dynamics.control.feedforward import FeedforwardController
from franka_dynamics.control.limits import LONGEST_STEP_S
from franka_dynamics.control.settings import Settings
from franka_dynamics.simulation.arm_simulation import ArmSimulation, SimulationSettings

FER = load('fer')
MUJOCO = Settings(target='mujoco')
# Gains of a weak PD [N m/rad, N m s/rad].
KP, KD = (60.0, 60.0, 60.0, 60.0, 15.0, 15.0, 10.0), (6.0, 6.0, 6.0, 6.0, 1.0, 1.0, 0.5)


def commands_at_rest(controller, count, *, q=FER.home, begin=1.0, effort=None):
    """Return the commands of a controller that gets states of a resting arm, one per ms."""
    stamps = begin + LONGEST_STEP_S * np.arange(count)
    cycles = [controller.update(t, q, np.zeros(len(q)), t, effort=effort) for t in stamps.tolist()]
    return [cycle.command for cycle in cycles if cycle.command is not None]


class Loop:
    """A controller and a simulated arm, stepped in turn."""

    def __init__(
        self,
        settings=MUJOCO,
        *,
        description=FER,
        controller=None,
        measures=True,
        **simulation,
    ):
        simulation.setdefault('brake_release_after', 0.1)
        self.arm = ArmSimulation(description, SimulationSettings(**simulation))
        self.controller = FeedforwardController(description, settings, **(controller or {}))
        self.controller.enable()
        self.measures = measures  # whether the states carry an effort
        self.command, self.published = None, []
        self.fastest = 0.0  # largest speed of a joint so far [rad/s]

    def run(self, seconds, each=lambda reading, cycle: None):
        for _ in range(round(seconds / LONGEST_STEP_S)):
            reading = self.arm.read()
            cycle = self.controller.update(
                reading.time,
                reading.position,
                reading.velocity,
                reading.time,
                effort=reading.effort if self.measures else None,
            )
            self.controller.update_monitors(cycle)
            torque = cycle.command
            if torque is None:
                torque = self.controller.stop_step(LONGEST_STEP_S)
            if torque is not None:
                self.command = torque
                self.published.append(torque)
            self.arm.step(self.command, fresh=torque is not None)
            self.fastest = max(self.fastest, float(np.abs(self.arm.data.qvel).max()))
            each(reading, cycle)
        return self
