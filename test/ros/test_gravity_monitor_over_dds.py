# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Who compensates gravity, told over DDS from what a driver measures."""

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel

FER = load('fer')
GRAVITY = NewtonEulerModel(FER).gravity(FER.home)
SUBJECT = 'feedforward: Gravity compensation'


@pytest.fixture(scope='module')
def world(node_world):
    return node_world(robot_type='fer', target='fci')


def test_a_falling_arm_that_its_target_should_carry_warns(world):
    # One joint state every millisecond of a fall from rest, from the independent model.
    model = NewtonEulerModel(FER)
    fall = np.linalg.solve(model.mass_matrix(FER.home), -GRAVITY)

    def told():
        for k in range(25):
            dq = fall * 1e-3 * k
            world.arm.send(
                1,
                position=list(FER.home + 0.5 * fall * (1e-3 * k) ** 2),
                velocity=list(dq),
                effort=[1e-3] * 7,
            )
        return world.probe.says(SUBJECT, 'should carry the arm, but nobody does')

    world.probe.until(told, 'the warning')
    assert world.probe.diagnostics[SUBJECT][0] == 1
