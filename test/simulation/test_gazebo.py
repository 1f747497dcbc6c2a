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
import yaml

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


def test_bridged_topics_are_those_of_gazebos_systems():
    names = load('fr3').joint_names
    table = gazebo.bridges(names)
    assert [entry['gz_topic_name'] for entry in table[:2]] == [
        '/clock',
        '/world/franka/model/franka/joint_state',
    ]
    forces = {entry['ros_topic_name']: entry for entry in table[2:]}
    assert set(forces) == {f'gazebo/{name}/cmd_force' for name in names}
    one = forces['gazebo/fr3_joint3/cmd_force']
    assert (one['gz_topic_name'], one['direction'], one['ros_type_name'], one['gz_type_name']) == (
        '/model/franka/joint/fr3_joint3/cmd_force',
        'ROS_TO_GZ',
        'std_msgs/msg/Float64',
        'gz.msgs.Double',
    )
    assert gazebo.bridges() == table[:1]


def test_the_controllers_names_and_rates_fit_world_and_launch():
    table = yaml.safe_load(gazebo.controllers_text(['a', 'b']))
    manager = table['controller_manager']['ros__parameters']
    effort = table['effort_controller']['ros__parameters']
    assert effort == {
        'type': 'forward_command_controller/ForwardCommandController',
        'joints': ['a', 'b'],
        'interface_name': 'effort',
    }
    step = float(ElementTree.parse(CONFIG / 'gazebo_world.sdf').findtext('.//max_step_size'))
    assert manager['update_rate'] * step == 1.0


def test_the_worlds_gravity_and_name_are_ours():
    world = ElementTree.parse(CONFIG / 'gazebo_world.sdf').find('world')
    assert world.get('name') == gazebo.WORLD
    assert tuple(float(word) for word in world.findtext('gravity').split()) == GRAVITY


def test_numbers_written_for_xacro_are_not_rounded():
    values = [0.1, -1 / 3, 1e-17]
    np.testing.assert_array_equal([float(word) for word in gazebo.numbers(values).split()], values)


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
