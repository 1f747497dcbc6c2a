# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The cycle that gz_ros2_control loses at its start, in MuJoCo, with the gains for it."""

import numpy as np

from franka_dynamics.arm import load
from franka_dynamics.control.default_gains import default_gains
from franka_dynamics.control.feedforward import FeedforwardController
from franka_dynamics.control.settings import Settings
from franka_dynamics.simulation.arm_simulation import ArmSimulation, SimulationSettings
from franka_dynamics.simulation.gazebo import start_of

STEP = 1e-3
HELD = 600  # cycles before the start, in which the node settles
UNTIL_THE_NODE_IS_HEARD = 6  # cycles: one without torque, then the initial effort
MOST_RAD = 0.03  # 0.028 of a bare fr3's last joint with states 20 ms old; the others 0.019


def drift(arm, seconds, age):
    """Return the largest distance from the start of any joint, and the one at the end [rad]."""
    start = start_of(arm)
    simulation = ArmSimulation(
        arm, SimulationSettings(start=start.position, brake_release_after=0.0)
    )
    controller = FeedforwardController(
        arm,
        Settings('gz_ros2_control', **dict(zip(('kp', 'kd'), map(tuple, default_gains(arm))))),
    )
    controller.enable()
    states = [(start.position, np.zeros(arm.n))] * HELD
    for k in range(HELD + round(seconds / STEP)):
        late = max(k - age, 0)
        cycle = controller.update(STEP * k, *states[late], STEP * k)
        if k >= HELD:
            since = k - HELD
            simulation.step(
                np.zeros(arm.n)
                if since == 0
                else start.torque
                if since < UNTIL_THE_NODE_IS_HEARD
                else cycle.command
            )
            reading = simulation.read()
            states.append((reading.position, reading.velocity))
    assert not simulation.braked
    away = np.abs([q - start.position for q, _ in states])
    return away.max(), away[-1].max()


def test_the_node_brings_the_arm_back_after_a_lost_cycle():
    # With states 20 cycles old; the slowest motion decays by 0.47 1/s.
    largest, last = drift(load('fr3'), 2.0, 20)
    assert largest < MOST_RAD
    assert last < 0.7 * largest
