# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Simulated robots, the node that drives them, and somebody who commands."""

import numpy as np
import pytest
from std_msgs.msg import Float64MultiArray

from .conftest import CROSSCHECK_STATES
from ..fci.simulated_robot import FrankaSim

FCI, MODEL = 'fci: FCI', 'fci: Model'
RATE_NM = 1.0  # 1000 N m/s in a cycle of 1 ms


@pytest.fixture
def robots(tmp_path):
    """Start simulated robots that end with the test."""
    running = []

    def start(**options):
        folder = tmp_path / f'robot{len(running)}'
        folder.mkdir()
        running.append(FrankaSim(folder, **options))
        return running[-1]

    yield start
    for robot in running:
        robot.kill()


@pytest.fixture
def start_fci(launch):
    """Start the node with torques allowed; a parameter of None is left to its default."""

    def start(robot, **parameters):
        given = {
            'robot_ip': robot if isinstance(robot, str) else robot.address,
            'autostart': True,
            'crosscheck_states': CROSSCHECK_STATES,
            # Patience for a slow machine, except where a test is about it.
            'command_timeout': 1.0,
            **parameters,
        }
        return launch(
            'fci_node', **{name: value for name, value in given.items() if value is not None}
        )

    return start


class Commander:
    """Publishes torques for the node to follow."""

    def __init__(self, probe):
        self._probe = probe
        self._publisher = probe.create_publisher(Float64MultiArray, 'fci/command', 1)

    def send(self, torque):
        self._publisher.publish(Float64MultiArray(data=[float(value) for value in torque]))
        self._probe.spin(0.002)

    def until(self, torque, done, what):
        def step():
            self.send(torque() if callable(torque) else torque)
            return done()

        self._probe.until(step, what)

    def until_controlling(self):
        self.until(np.zeros(7), lambda: self._probe.says(FCI, 'controlling'), 'control begins')


def pairs(probe, subject):
    return probe.diagnostics.get(subject, (0, '', {}))[2]


def assert_safe(torques):
    """Assert from the robot's side: torque from zero, within the rate."""
    np.testing.assert_allclose(torques[0], 0.0, rtol=0.0, atol=RATE_NM)
    assert np.abs(np.diff(torques, axis=0)).max() <= RATE_NM
