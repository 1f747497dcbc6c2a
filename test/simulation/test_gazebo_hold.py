# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The cycle that gz_ros2_control loses at its start, in MuJoCo, with the gains for it."""

from pathlib import Path

import numpy as np
import pytest
import yaml

from franka_dynamics.arm import load
from franka_dynamics.control.feedforward import FeedforwardController
from franka_dynamics.control.settings import Settings
from franka_dynamics.simulation.arm_simulation import ArmSimulation, SimulationSettings
from franka_dynamics.simulation.gazebo import start_of

GAINS = yaml.safe_load((Path(__file__).parents[2] / 'config' / 'gazebo_hold.yaml').read_text()
                       )['/**']['ros__parameters']
STEP = 1e-3
HELD = 600  # cycles before the start, in which the node settles
UNTIL_THE_NODE_IS_HEARD = 6  # cycles: one without torque, then the initial effort
MOST_RAD = 1e-3


def drift(arm, seconds, age, **gains):
    """Return the largest distance from the start of any joint, and the one at the end [rad]."""
    start = start_of(arm)
    simulation = ArmSimulation(arm, SimulationSettings(start=start.position,
                                                       brake_release_after=0.0))
    controller = FeedforwardController(arm, Settings(
        target='gz_ros2_control', **{name: tuple(row) for name, row in gains.items()}))
    controller.enable()
    states = [(start.position, np.zeros(arm.n))] * HELD
    commands = []
    for k in range(HELD + round(seconds / STEP)):
        late = max(k - age, 0)
        cycle = controller.cycle(STEP * k, *states[late], STEP * k)
        commands.append(cycle.command)
        if k >= HELD:
            since = k - HELD
            simulation.step(np.zeros(arm.n) if since == 0 else
                            start.torque if since < UNTIL_THE_NODE_IS_HEARD else cycle.command)
            reading = simulation.read()
            states.append((reading.position, reading.velocity))
    assert not simulation.braked
    away = np.abs([q - start.position for q, _ in states])
    return away.max(), away[-1].max()


@pytest.mark.parametrize(('name', 'hand', 'oldest'), [
    ('fer', 'none', 5), ('fer', 'franka_hand', 5), ('fr3', 'none', 4), ('fr3', 'franka_hand', 5)])
def test_given_a_lost_cycle_when_the_node_takes_over_then_the_arm_is_brought_back(
        name, hand, oldest):
    for age in (1, oldest):  # of the states the node sees [cycles]
        largest, last = drift(load(name, hand=hand), 2.0, age, **GAINS)
        assert largest < MOST_RAD
        assert last < 0.1 * MOST_RAD


def test_given_a_lost_cycle_when_ten_seconds_pass_then_only_with_the_gains_does_the_arm_stay():
    arm = load('fer', hand='franka_hand')
    largest, last = drift(arm, 10.0, 1, **GAINS)
    assert largest < MOST_RAD
    assert last < 1e-6
    without, _ = drift(arm, 10.0, 1)
    assert without > 100 * MOST_RAD
