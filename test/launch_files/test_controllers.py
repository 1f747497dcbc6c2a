# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Controllers that the launch files load, and the packages that they ask for."""

from functools import partial
import logging
import os
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml

from franka_dynamics.arm import load
from franka_dynamics.cpp_package.package import controller_arm_text
from franka_dynamics.errors import SettingsError
from franka_dynamics.resources import share_directory

from .launching import has
from ..agreement import refuses

SHARE = share_directory()
COMMAND = '~/command'


def loaded(spawner):
    """Return the controller that a spawner loads last, and its parameters."""
    at = spawner.command.index('--param-file')
    controller = spawner.command[at - 1]
    text = Path(spawner.command[at + 1]).read_text('utf-8')
    return controller, yaml.safe_load(text)[f'/**/{controller}']['ros__parameters']


def test_mujoco_ros2_control_starts_with_torques_that_hold(launched, tmp_path):
    mujoco = pytest.importorskip('mujoco')
    pytest.importorskip('xacro')
    processes = launched('mujoco_ros2_control', robot_type='fr3v2', hand='franka_hand')
    text = processes['robot_state_publisher'].values['robot_description']
    system = ElementTree.fromstring(text).find('ros2_control')
    hardware = {one.get('name'): one.text for one in system.iter('param') if one.get('name')}
    assert system.findtext('hardware/plugin') == 'mujoco_ros2_control/MujocoSystemInterface'
    model = mujoco.MjModel.from_xml_path(hardware['mujoco_model'])
    data = mujoco.MjData(model)
    names = [joint.get('name') for joint in system.findall('joint')]
    for name in names:
        start, effort = (
            float(system.find(f"joint[@name='{name}']/state_interface[@name='{kind}']/param").text)
            for kind in ('position', 'effort')
        )
        data.qpos[model.joint(name).qposadr] = start
        data.actuator(name).ctrl = effort
    assert len(names) == model.nu == 7
    mujoco.mj_forward(model, data)
    np.testing.assert_allclose(data.qacc, 0.0, rtol=0.0, atol=1e-9)
    # MuJoCo gets as effort exactly the node's command.
    (file,) = tmp_path.glob('franka_dynamics_launch_*/controllers.yaml')
    controllers = yaml.safe_load(file.read_text('utf-8'))
    assert controllers['/**/effort_controller']['ros__parameters']['joints'] == names
    assert str(file) in processes['ros2_control_node'].command


@pytest.mark.parametrize('controller', ['torques', 'feedforward_trajectory_controller'])
@pytest.mark.parametrize(('robot_type', 'prefix'), [('fr3', ''), ('fr3v2', 'left_')])
def test_franka_ros2_loads_a_controller_of_the_arm_that_its_spawner_unloads(
    launched, controller, robot_type, prefix
):
    given = {'controller': controller, 'robot_type': robot_type, 'arm_prefix': prefix}
    # Two arms may have one controller manager, so names begin with the arm's prefix.
    controller = prefix + controller.replace('torques', 'effort_controller')
    processes = launched('franka_ros2', namespace='/left', receiver='effort_controller', **given)
    assert set(processes) == {'spawner', 'feedforward_node'}
    assert '--unload-on-kill' in processes['spawner'].command
    name, own = loaded(processes['spawner'])
    joints = [f'{prefix}{name}' for name in load(robot_type).joint_names]
    assert (name, own['joints'], list(own.get('gains', joints))) == (controller, joints, joints)
    node = processes['feedforward_node']
    has(node, robot_type=robot_type, arm_prefix=prefix)
    assert node.remappings['__node'] == f'{prefix}feedforward'
    topic = 'effort_controller/commands'
    assert node.remappings[COMMAND] == f'{prefix}{topic}'


PACKAGE = 'franka_dynamics_controllers'


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Return the package's entry in ament's index, which is not there yet."""
    # The robot description is no matter here, and xacro would need most of the time.
    (tmp_path / 'xacro').write_text('#!/bin/sh\necho none\n')
    (tmp_path / 'xacro').chmod(0o755)
    monkeypatch.setenv('PATH', str(tmp_path), prepend=os.pathsep)
    entry = tmp_path / 'share/ament_index/resource_index/packages' / PACKAGE
    entry.parent.mkdir(parents=True, exist_ok=True)
    return entry


@pytest.mark.parametrize(
    ('name', 'given', 'target'),
    [
        ('franka_ros2', {'arm_prefix': 'left_'}, 'fci'),
        ('gazebo', {'control': 'ros2_control'}, 'gz_ros2_control'),
        ('mujoco_ros2_control', {}, 'mujoco'),
    ],
)
def test_what_takes_the_torques_is_what_the_argument_names_whatever_is_installed(
    launched, installed, name, given, target, caplog, monkeypatch
):
    monkeypatch.setattr(logging.getLogger('launch.user'), 'handlers', [caplog.handler])
    launch = partial(launched, name, **given, robot_type='fr3')
    prefix = given.get('arm_prefix', '')
    for receiver in ('mine', PACKAGE):
        with refuses(SettingsError, f'{receiver} is not installed', 'codegen --package'):
            launch(receiver=receiver)
    installed.touch()
    assert (
        loaded(launch(receiver='effort_controller')['spawner'])[0] == f'{prefix}effort_controller'
    )
    assert f'WARNING: {prefix}effort_controller holds the last torque' in caplog.text
    processes = launch(receiver=PACKAGE)
    controller, values = loaded(processes['spawner'])
    assert controller == f'{prefix}receiver'
    assert values['type'] == f'{PACKAGE}/FeedforwardController'
    assert (values['target'], values['reference']) == (target, 'total_torque')
    text = Path(values['arm_file']).read_text('utf-8')
    assert text == controller_arm_text(load('fr3', prefix=prefix))
    assert processes['feedforward_node'].remappings[COMMAND] == f'{prefix}receiver/reference'


def test_without_a_receiver_nothing_is_started_for_a_real_arm_and_both_are_named(
    launched, installed
):
    forward = 'receiver:=effort_controller (it holds the last torque for ever'
    braking = f'receiver:={PACKAGE} (it then brakes the arm)'
    with refuses(SettingsError, forward, braking, 'franka-dynamics codegen --package'):
        launched('franka_ros2', robot_type='fr3')
    installed.touch()
    with refuses(SettingsError, forward, braking):
        launched('franka_ros2', robot_type='fr3')
    # A controller with its own feedback takes no torques every cycle.
    given = {'controller': 'feedforward_trajectory_controller'}
    assert 'spawner' in launched('franka_ros2', robot_type='fr3', **given)


@pytest.mark.parametrize('robot_type', ['panda', 'own'])
def test_franka_ros2_is_not_launched_for_a_fer(robot_type, launched, tmp_path):
    if robot_type == 'own':
        robot_type = str(tmp_path / 'my_fer.yaml')
        text = (SHARE / 'config' / 'arms' / 'fer.yaml').read_text(encoding='utf-8')
        Path(robot_type).write_text(text.replace('name: fer\n', 'name: mine\n'), encoding='utf-8')
    with refuses(RuntimeError, robot_type, 'FER'):
        launched('franka_ros2', robot_type=robot_type)
