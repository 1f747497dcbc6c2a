# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What Gazebo is told: a model whose zero is the start pose, torques, topics, a world."""

import xml.etree.ElementTree as ElementTree

import numpy as np
import pinocchio as pin
import pytest

from franka_dynamics.arm import load
from franka_dynamics.arm.sampling import sample_states
from franka_dynamics.dynamics.model import GRAVITY
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.resources import share_directory
from franka_dynamics.simulation import gazebo

TORQUE = 1e-12  # N m; 6e-14 was seen
CONFIG = share_directory() / 'config'


@pytest.mark.parametrize('arm', ['fer', 'fr3', 'rpr'])
def test_the_direct_models_zero_is_the_start_pose_by_pinocchio(arm):
    description = load(arm)
    start = gazebo.start_of(description)
    model = pin.buildModelFromXML(gazebo.direct_urdf(description, start.position))
    q, dq, ddq = sample_states(description, 50, 0)
    expected = NewtonEulerModel(description).inverse_dynamics(q, dq, ddq)
    states = zip(q - start.position, dq, ddq)
    actual = [pin.rnea(model, model.createData(), *state) for state in states]
    np.testing.assert_allclose(actual, expected, rtol=0.0, atol=TORQUE)
    for limit, found in zip(
        ('lower', 'upper'), (model.lowerPositionLimit, model.upperPositionLimit)
    ):
        moved = description.limit(limit) - start.position
        np.testing.assert_allclose(found, moved, rtol=0.0, atol=1e-15)


def test_a_start_is_home_with_pinocchios_gravity_torque():
    description = load('fr3', hand='franka_hand')
    start = gazebo.start_of(description)
    np.testing.assert_array_equal(start.position, description.home)
    expected = PinocchioModel(description).gravity(description.home)
    np.testing.assert_allclose(start.torque, expected, rtol=0.0, atol=TORQUE)


def test_the_worlds_gravity_and_name_are_ours():
    world = ElementTree.parse(CONFIG / 'gazebo_world.sdf').find('world')
    assert world.get('name') == gazebo.WORLD
    assert tuple(float(word) for word in world.findtext('gravity').split()) == GRAVITY
