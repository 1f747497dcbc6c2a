# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What Gazebo is told: a model whose zero is the start pose, torques, topics, a world."""

import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree

import numpy as np
import pinocchio as pin
import pytest

from franka_dynamics.arm import load
from franka_dynamics.arm.sampling import sample_states
from franka_dynamics.arm.shapes import load_shapes
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


def test_a_start_is_home_with_pinocchios_gravity_torque():
    description = load('fr3', hand='franka_hand')
    start = gazebo.start_of(description)
    np.testing.assert_array_equal(start.position, description.home)
    expected = PinocchioModel(description).gravity(description.home)
    np.testing.assert_allclose(start.torque, expected, rtol=0.0, atol=TORQUE)


def test_limits_of_the_direct_model_move_with_its_zero():
    fer = load('fer')
    text = gazebo.direct_urdf(fer, fer.home)
    limit = ElementTree.fromstring(text).find("joint[@name='fer_joint4']/limit")
    np.testing.assert_allclose(
        [float(limit.get('lower')), float(limit.get('upper'))],
        np.array([-3.0718, -0.0698]) - fer.home[3],
        rtol=0.0,
        atol=1e-15,
    )


def test_the_worlds_gravity_and_name_are_ours():
    world = ElementTree.parse(CONFIG / 'gazebo_world.sdf').find('world')
    assert world.get('name') == gazebo.WORLD
    assert tuple(float(word) for word in world.findtext('gravity').split()) == GRAVITY


@pytest.mark.parametrize('what', ['world', 'model'])
def test_sdformat_finds_what_gazebo_reads_valid(what, tmp_path):
    tool = shutil.which('ign') or shutil.which('gz')
    if tool is None:
        pytest.skip('no sdformat command line (Debian: ignition-tools and libsdformat-dev)')
    path = CONFIG / 'gazebo_world.sdf'
    if what == 'model':
        fr3 = load('fr3')
        path = tmp_path / 'arm.urdf'
        path.write_text(
            gazebo.direct_urdf(fr3, fr3.home, shapes=load_shapes('fr3')), encoding='utf-8'
        )
    checked = subprocess.run(
        [tool, 'sdf', '-k', str(path)], capture_output=True, text=True, timeout=60, check=False
    )
    if checked.returncode == 1 and not re.search('sdf|Valid', checked.stdout + checked.stderr):
        pytest.skip('the installed ign or gz has no sdf verb (Debian: libsdformat-dev)')
    assert checked.stdout == 'Valid.\n'
    assert [line for line in checked.stderr.splitlines() if 'libignition-tools' not in line] == []
