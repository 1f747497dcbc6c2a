# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Files for Gazebo: a model whose zero is the start pose, torques, topics, a world."""

import xml.etree.ElementTree as ElementTree

import numpy as np
import pinocchio as pin
import pytest

from franka_dynamics.arm import load
from franka_dynamics.control.default_gains import default_gains
from franka_dynamics.control.settings import Settings
from franka_dynamics.dynamics.model import GRAVITY
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.dynamics.sampling import sample_states
from franka_dynamics.resources import share_directory
from franka_dynamics.simulation import gazebo
from franka_dynamics.simulation.arm_simulation import ArmSimulation, SimulationSettings

from ..control.closed_loop import core

TORQUE = 1e-12  # N m; 6e-14 was seen
CONFIG = share_directory() / 'config'


@pytest.mark.parametrize('arm', ['fer', 'fr3', 'rpr'])
def test_the_direct_models_zero_is_the_start_pose_by_pinocchio(arm):
    description = load(arm)
    start = gazebo.gazebo_start(description).position + 0.05
    model = pin.buildModelFromXML(gazebo.gazebo_urdf(description, start))
    q, dq, ddq = sample_states(description, 50, 0)
    expected = NewtonEulerModel(description).inverse_dynamics(q, dq, ddq)
    states = zip(q - start, dq, ddq)
    actual = [pin.rnea(model, model.createData(), *state) for state in states]
    np.testing.assert_allclose(actual, expected, rtol=0.0, atol=TORQUE)
    found = model.lowerPositionLimit, model.upperPositionLimit
    moved = [description.limit(limit) - start for limit in ('lower', 'upper')]
    np.testing.assert_allclose(found, moved, rtol=0.0, atol=1e-14)


def test_a_start_is_home_with_pinocchios_gravity_torque():
    description = load('fr3', hand='franka_hand')
    start = gazebo.gazebo_start(description)
    np.testing.assert_array_equal(start.position, description.home)
    expected = PinocchioModel(description).gravity(description.home)
    np.testing.assert_allclose(start.torque, expected, rtol=0.0, atol=TORQUE)


def test_the_worlds_gravity_and_name_are_ours():
    world = ElementTree.parse(CONFIG / 'gazebo_world.sdf').find('world')
    assert world.get('name') == gazebo.WORLD
    assert tuple(float(word) for word in world.findtext('gravity').split()) == GRAVITY


# The cycle that gz_ros2_control loses at its start, in MuJoCo, with the gains for it. ------------

STEP = 1e-3
HELD = 600  # cycles before the start, in which the node settles
UNTIL_THE_NODE_IS_HEARD = 6  # cycles: one without torque, then the initial effort
MOST_RAD = 0.03  # 0.028 of a bare fr3's last joint with states 20 ms old; the others 0.019


def test_the_node_brings_the_arm_back_after_a_lost_cycle():
    # The states are 20 cycles old. The slowest motion decays by 0.47 1/s.
    arm, seconds, age = load('fr3'), 2.0, 20
    start = gazebo.gazebo_start(arm)
    simulation = ArmSimulation(arm, SimulationSettings(brake_release_after=0.0))
    kp, kd = map(tuple, default_gains(arm))
    controller = core(Settings('gz_ros2_control', kp=kp, kd=kd), arm=arm)
    states = [(start.position, np.zeros(arm.n))] * HELD
    for k in range(HELD + round(seconds / STEP)):
        late = max(k - age, 0)
        torque = controller.step(*states[late], STEP * k)
        if k >= HELD:
            lost, heard = k == HELD, k >= HELD + UNTIL_THE_NODE_IS_HEARD
            held = 0.0 * start.torque if lost else start.torque
            simulation.step(torque if heard else held)
            reading = simulation.read()
            states.append((reading.position, reading.velocity))
    assert not simulation.braked
    away = np.abs([q - start.position for q, _ in states])
    assert away.max() < MOST_RAD
    assert away[-1].max() < 0.7 * away.max()
