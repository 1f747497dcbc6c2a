# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Launch files: what they give the nodes, controllers and packages, and the pages' commands."""

from functools import partial
import logging
import os
from pathlib import Path
import re
import shlex
import sys
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml

from franka_dynamics.arm import load
from franka_dynamics.arm_io import save
from franka_dynamics.control.settings import RECEIVER_PROFILES
from franka_dynamics.cpp_package.package import controller_arm_text
from franka_dynamics.errors import SettingsError
from franka_dynamics.files import share_directory
from franka_dynamics.ros import COMMAND_TOPIC

from .launching import has
from ..agreement import refuses

pytest.importorskip('rclpy', reason='ROS 2 is not installed')


COMMAND = '~/command'
# Values that no launch file gives; `/**` is how a file of a user's own mostly begins.
OWN = {'/**': {'period': 0.014}}
FORWARD = {'receiver': 'effort_controller'}
LEFT = {'arm_prefix': 'left_'}
HAND = {'hand': 'franka_hand'}
REAL = {'target': 'fci', 'use_sim_time': False}
SIMULATED = {'target': 'mujoco', 'use_sim_time': True}
GAZEBO = {'target': 'gz_ros2_control', 'use_sim_time': True}


def parameter_file(path, sections):
    """Write a parameter file; return its name."""
    # Copies, because rcl takes no aliases of YAML.
    content = {name: {'ros__parameters': dict(one)} for name, one in sections.items()}
    path.write_text(yaml.safe_dump(content))
    return str(path)


@pytest.mark.parametrize(
    ('name', 'given', 'expected'),
    [
        (
            'feedforward',
            {**LEFT, 'target': 'fci', 'use_sim_time': 'false'},
            {**LEFT, **REAL},
        ),
        ('franka_ros2', {**LEFT, **FORWARD}, {**LEFT, **REAL}),
        ('simulation', LEFT, {**LEFT, **SIMULATED}),
        ('two_arms', {'arm_prefix': 'a_'}, SIMULATED),
        (
            'gazebo',
            {'control': 'direct', 'hand': 'franka_hand'},
            {'hand': 'franka_hand', **GAZEBO},
        ),
        ('gazebo', {'control': 'ros2_control'}, GAZEBO),
        ('mujoco_ros2_control', {}, SIMULATED),
    ],
)
def test_arguments_win_over_a_file_for_the_node(all_launched, tmp_path, name, given, expected):
    # As `ros2 param dump` writes it. ROS prefers an exact name to /** whatever the order.
    wrong = {
        'robot_type': 'fer',
        'arm_prefix': '',
        'use_sim_time': not expected['use_sim_time'],
    }
    wrong['target'] = 'mujoco' if expected['target'] == 'fci' else 'fci'
    arm = {'robot_type': 'fer', 'arm_prefix': '', 'publish_clock': False}
    spaces = ['/simulation', '/simulation/left', '/simulation/right']
    names = [
        '/feedforward',
        '/left_feedforward',
        *(f'{one}/feedforward' for one in spaces),
    ]
    files = {
        'params_file': parameter_file(tmp_path / 'node.yaml', OWN | dict.fromkeys(names, wrong)),
        'simulator_params_file': parameter_file(
            tmp_path / 'arm.yaml', {f'{one}/simulator': arm for one in spaces}
        ),
    }
    files['robot_type'] = 'fr3'
    if name not in ('simulation', 'two_arms'):
        del files['simulator_params_file']
    if name == 'two_arms':
        files = {f'{side}_{one}': v for side in ('left', 'right') for one, v in files.items()}
    if name == 'feedforward':
        given = {**given, 'command_topic': COMMAND_TOPIC}
    found = all_launched(name, **files, **given)
    nodes = [one for one in found if one.executable == 'feedforward_node']
    for node in nodes:
        has(node, robot_type='fr3', period=0.014, **expected)
        prefix = 'left_' if name == 'franka_ros2' else ''
        assert node.remappings[COMMAND] == f'{prefix}{COMMAND_TOPIC}'
        assert node.on_exit is not None
    arms = [one for one in found if one.executable == 'simulator_node']
    assert (len(nodes), len(arms)) == {'two_arms': (2, 2), 'simulation': (1, 1)}.get(name, (1, 0))
    for one in arms:
        # Each of two arms has a clock of its own, in the namespace of its node.
        (node,) = (node for node in nodes if node.remappings['__ns'] == one.remappings['__ns'])
        assert node.remappings['/clock'] == 'clock' and one.on_exit is not None
        has(
            one,
            robot_type='fr3',
            publish_clock=True,
            arm_prefix=node.values['arm_prefix'],
        )


def test_every_target_has_a_file_and_by_default_nothing_moves(launched, tmp_path, monkeypatch):
    parameter_file(tmp_path / 'own.yaml', OWN)
    monkeypatch.setenv('HOME', str(tmp_path))
    own = {'params_file': '~/own.yaml'}  # no shell expands it behind :=
    for target in ('', *RECEIVER_PROFILES):
        node = launched('feedforward', target=target, **own)['feedforward_node']
        has(node, target=target or 'fci', period=0.014)
        assert node.remappings[COMMAND] == COMMAND


def test_what_was_not_given_is_left_to_the_file(launched, tmp_path):
    both = {
        '/left/feedforward': {'target': 'gz_ros2_control'},
        '/right/feedforward': {'robot_type': 'fr3v2', 'arm_prefix': 'mine_'},
    }
    given = {
        'params_file': parameter_file(tmp_path / 'both.yaml', both),
        'namespace': 'right',
    }
    states = 'franka/joint_states'
    node = launched('feedforward', **given, robot_type='fr3', joint_states_topic=states)
    node = node['feedforward_node']
    has(node, robot_type='fr3', arm_prefix='mine_', target='fci')
    assert node.remappings['joint_states'] == states and node.remappings['__ns'] == '/right'


def test_a_prefix_that_yaml_would_read_as_a_boolean_stays_a_text(launched):
    processes = launched('simulation', robot_type='fr3', arm_prefix='on', namespace='left')
    for name in ('simulator_node', 'feedforward_node'):
        assert processes[name].remappings['__ns'] == '/left'
        has(processes[name], robot_type='fr3', arm_prefix='on')


def test_two_arms_have_an_arm_and_a_prefix_each(all_launched):
    found = all_launched('two_arms', left_robot_type='fer')
    expected = [
        (node, f'/simulation/{side}', arm, f'{side}_')
        for side, arm in (('left', 'fer'), ('right', 'fr3'))
        for node in ('simulator_node', 'feedforward_node')
    ]
    names = 'robot_type', 'arm_prefix'
    for one, row in zip(found, expected, strict=True):
        assert (
            one.executable,
            one.remappings['__ns'],
            *map(one.values.get, names),
        ) == row


def test_a_urdf_gives_mount_and_masses_to_arms_and_nodes(all_launched):
    for name, count in (('simulation', 2), ('two_arms', 4)):
        found = all_launched(name, urdf_file='/some/duo.urdf')
        assert len(found) == count
        for one in found:
            assert one.values['model_source'] == '/some/duo.urdf'


@pytest.mark.parametrize('name', ['simulation', 'two_arms'])
def test_the_node_knows_the_friction_of_its_simulated_arm(all_launched, tmp_path, name):
    ideal = {'/**': {'ideal': True}}
    own = {'/**': {'terms': {'friction': False}, 'model_source': 'description'}}
    side = 'left_' if name == 'two_arms' else ''
    for argument, sections, expected in (
        (None, {}, ('simulated_arm', True)),
        ('simulator_params_file', ideal, (None, None)),
        ('params_file', own, ('description', False)),
        ('urdf_file', {}, ('/some/arm.urdf', None)),
    ):
        given = {}
        if argument == 'urdf_file':
            given = {argument: '/some/arm.urdf'}
        elif argument:
            file = parameter_file(tmp_path / f'{argument}.yaml', sections)
            given = {f'{side}{argument}': file}
        found = all_launched(name, **given)
        node = next(one for one in found if one.executable == 'feedforward_node')
        assert tuple(map(node.values.get, ('model_source', 'terms.friction'))) == expected


FILES = {
    'feedforward': ['params_file'],
    'franka_ros2': ['params_file', 'controllers_file'],
    'gazebo': ['params_file', 'world'],
    'mujoco_ros2_control': ['params_file'],
    'simulation': ['params_file', 'simulator_params_file'],
    'two_arms': ['left_params_file', 'right_simulator_params_file'],
}


@pytest.mark.parametrize('name', FILES)
def test_a_file_that_is_not_there_starts_nothing(name, launched, tmp_path):
    for argument in FILES[name]:
        given = FORWARD if name == 'franka_ros2' else {}
        with refuses(SettingsError, argument.split('_', 1)[-1], f'{tmp_path}/typo.yaml'):
            launched(name, **given, **{argument: f'{tmp_path}/typo.yaml'})


def test_a_launch_file_without_mujoco_tells_how_to_install_it(launched, monkeypatch):
    monkeypatch.setitem(sys.modules, 'mujoco', None)
    # apt's numpy must stay the one that apt's rclpy and Pinocchio were built for.
    with refuses(SettingsError, 'pip install --target', f'numpy=={np.__version__}', 'PYTHONPATH'):
        launched('simulation')


def test_gazebo_directly_takes_an_arm_file(launched, tmp_path):
    file = str(tmp_path / 'mine.yaml')
    save(load('fr3'), file, source='a test')
    processes = launched('gazebo', robot_type=file)
    for node in ('gazebo_direct_node', 'feedforward_node'):
        has(processes[node], robot_type=file)
    description = processes['robot_state_publisher'].values['robot_description']
    assert all(f'"{link}"' in description for link in ('world', 'fr3_link7'))


pytest.importorskip('launch', reason="ROS's own launch is not installed")

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / 'README.md', *sorted((ROOT / 'docs').rglob('*.md'))]


def commands():
    """Return every ros2 command of the pages, as words after ros2, by what is written there."""
    found = {}
    for page in PAGES:
        text = page.read_text(encoding='utf-8')
        blocks = '\n'.join(re.findall(r'```(?:sh)?\n(.*?)```', text, re.S)).replace('\\\n', ' ')
        for line in (*blocks.splitlines(), *re.findall(r'`(ros2 [^`]+)`', text)):
            if not line.strip().startswith('ros2 '):
                continue
            line = line.partition(' > ')[0]  # the shell, not ros2, reads a redirection
            words = shlex.split(re.sub(r'\$\([^)]*\)', 'VALUE', line), comments=True)
            # `ros2 param` or `ros2 param load` alone is a name, not a command.
            if len(words) > 3:
                found[' '.join(words)] = words[1:]
    return found


COMMANDS = commands()
OF_LAUNCH, OF_RUN = (
    [text for text, words in COMMANDS.items() if words[:2] == [verb, 'franka_dynamics']]
    for verb in ('launch', 'run')
)


@pytest.mark.parametrize('text', OF_LAUNCH)
def test_a_launch_command_of_a_page_gives_arguments_that_exist(text):
    from launch.launch_description_sources import (
        get_launch_description_from_python_launch_file,
    )

    name, *given = [word for word in COMMANDS[text][2:] if not word.startswith('--')]
    description = get_launch_description_from_python_launch_file(str(ROOT / 'launch' / name))
    declared = {one.name: one for one in description.get_launch_arguments()}
    for argument, value in (word.split(':=') for word in given):
        choices = declared[argument].choices
        assert choices is None or value in choices


@pytest.mark.parametrize('text', OF_RUN)
def test_a_run_command_of_a_page_names_a_command_of_this_package(text, setup_script):
    scripts = setup_script['arguments']['entry_points']['console_scripts']
    assert COMMANDS[text][2] in {script.split(' = ')[0] for script in scripts}


SHARE = share_directory()


def loaded(spawner):
    """Return the controller that a spawner loads, and its parameters."""
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
def test_franka_ros2_loads_what_it_unloads(launched, controller, robot_type, prefix):
    given = {'controller': controller, 'robot_type': robot_type, 'arm_prefix': prefix}
    # Two arms may have one controller manager, so names begin with the arm's prefix.
    controller = prefix + controller.replace('torques', 'effort_controller')
    given |= {'receiver': 'effort_controller'} if given['controller'] == 'torques' else {}
    processes = launched('franka_ros2', namespace='/left', **given)
    assert set(processes) == {'spawner', 'feedforward_node'}
    program, manager, controller_name = processes['spawner'].command[2:5]
    assert program == 'franka_dynamics.ros.clients.loaded_controller'
    assert (manager, controller_name) == ('/left/controller_manager', controller)
    name, own = loaded(processes['spawner'])
    joints = [f'{prefix}{name}' for name in load(robot_type).joint_names]
    assert (name, own['joints'], list(own.get('gains', joints))) == (
        controller,
        joints,
        joints,
    )
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
def test_torques_go_to_the_receiver_that_the_argument_names(
    launched, installed, name, given, target, caplog, monkeypatch
):
    monkeypatch.setattr(logging.getLogger('launch.user'), 'handlers', [caplog.handler])
    launch = partial(launched, name, **given, robot_type='fr3')
    prefix = given.get('arm_prefix', '')
    for receiver in ('mine', PACKAGE):
        with refuses(SettingsError, f'{receiver} is not installed', 'codegen --package'):
            launch(receiver=receiver)
    installed.touch()
    name, *_ = loaded(launch(receiver='effort_controller')['spawner'])
    assert name == f'{prefix}effort_controller'
    assert f'WARNING: {prefix}effort_controller ' in caplog.text
    processes = launch(receiver=PACKAGE)
    controller, values = loaded(processes['spawner'])
    assert controller == f'{prefix}receiver'
    assert values['type'] == f'{PACKAGE}/FeedforwardController'
    assert (values['target'], values['reference']) == (target, 'total_torque')
    text = Path(values['arm_file']).read_text('utf-8')
    assert text == controller_arm_text(load('fr3', prefix=prefix))
    assert processes['feedforward_node'].remappings[COMMAND] == f'{prefix}receiver/reference'


@pytest.mark.parametrize(
    ('name', 'given'), [('gazebo', {'control': 'ros2_control'}), ('mujoco_ros2_control', {})]
)
def test_a_simulator_lets_the_joints_go_once_the_node_waits_for_that_alone(
    all_launched, installed, name, given
):
    found = all_launched(name, **given, namespace='left')
    torques, states = (one for one in found if one.executable == 'spawner')
    assert loaded(torques)[0] == 'effort_controller' and '--inactive' in torques.command
    assert 'joint_state_broadcaster' in states.command and '--inactive' not in states.command
    (node,) = (one for one in found if one.executable == 'feedforward_node')
    (activation,) = (
        one for one in found if 'franka_dynamics.ros.clients.awaited_controller' in one.command
    )
    assert activation.command[3:] == [
        '/left/feedforward',
        '/left/controller_manager',
        'effort_controller',
    ]
    # Each starts once the one before has ended well, the last two together.
    places = [found.index(one) for one in (torques, states, node, activation)]
    assert places == sorted(places)


TILT = {'gravity_vector': [4.0, 0.0, -8.9], 'mount_tilt_compensated_by': 'node'}
LOAD = {'payload': [1.0, 0.0, 0.0, 0.1, *[0.0] * 6], 'payload_known_to_robot': False}


@pytest.mark.parametrize(
    'section',
    ['/**', '/left/left_feedforward', '/**/left_feedforward', '/*/left_feedforward'],
)
def test_the_controller_that_brakes_gets_the_nodes_load_and_tilt(
    launched, installed, tmp_path, section
):
    installed.touch()
    sections = {'/elsewhere/feedforward': {'scale': 0.5, 'payload': [2.0] * 10}}
    given = {
        'params_file': parameter_file(tmp_path / 'own.yaml', {**sections, section: TILT | LOAD})
    }
    where = {'arm_prefix': 'left_', 'namespace': 'left', 'receiver': PACKAGE}
    _, values = loaded(launched('franka_ros2', **where, **given)['spawner'])
    assert values == values | TILT | LOAD and 'scale' not in values and 'arm_file' in values


def test_a_braking_controller_reads_the_urdf_of_its_node(launched, installed, tmp_path):
    installed.touch()
    file = parameter_file(tmp_path / 'own.yaml', {'/**': {'model_source': 'robot_description'}})
    processes = launched('franka_ros2', receiver=PACKAGE, params_file=file)
    _, values = loaded(processes['spawner'])
    assert 'arm_file' not in values and values['joints'] == list(load('fr3').joint_names)


def test_without_a_receiver_nothing_is_started_for_a_real_arm(launched, installed):
    forward = 'receiver:=effort_controller (it holds the last torque if the node is killed'
    braking = f'receiver:={PACKAGE} (it then brakes the arm)'
    with refuses(SettingsError, forward, braking, 'franka-dynamics codegen --package'):
        launched('franka_ros2', robot_type='fr3')
    installed.touch()
    with refuses(SettingsError, forward, braking):
        launched('franka_ros2', robot_type='fr3')
    # A controller with its own feedback takes no torques every cycle.
    given = {'controller': 'feedforward_trajectory_controller'}
    assert 'spawner' in launched('franka_ros2', robot_type='fr3', **given)
    with refuses(SettingsError, 'receiver:=effort_controller', 'controller:=torques'):
        launched('franka_ros2', robot_type='fr3', receiver='effort_controller', **given)


@pytest.mark.parametrize('robot_type', ['panda', 'own'])
def test_franka_ros2_is_not_launched_for_a_fer(robot_type, launched, tmp_path):
    if robot_type == 'own':
        robot_type = str(tmp_path / 'my_fer.yaml')
        text = (SHARE / 'config' / 'arms' / 'fer.yaml').read_text(encoding='utf-8')
        Path(robot_type).write_text(text.replace('name: fer\n', 'name: mine\n'), encoding='utf-8')
    with refuses(RuntimeError, robot_type, 'FER'):
        launched('franka_ros2', robot_type=robot_type)
