# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Every launch file compiles; under ROS's own launch its nodes are given what was asked for."""

from functools import partial
import os
from pathlib import Path
import re
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml

import franka_dynamics
from franka_dynamics.arm import load
from franka_dynamics.codegen.cpp_package import cpp_package
from franka_dynamics.control.settings import DEFAULT_TARGET, TARGETS
from franka_dynamics.errors import SettingsError
from franka_dynamics.resources import share_directory
from franka_dynamics.ros.parameter_tables import table

from . import launching

SHARE = share_directory()
ALL = sorted((SHARE / 'launch').glob('*.launch.py'))
PARTS = sorted((Path(franka_dynamics.__file__).parent / 'ros').glob('launch_*.py'))
COMMAND = '~/command'
OF_ROS = {'use_sim_time', 'start_type_description_service'}
INCLUDING = """
from launch import LaunchDescription
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
def generate_launch_description():
    source = PythonLaunchDescriptionSource('{file}')
    return LaunchDescription([IncludeLaunchDescription(source)])
"""
DUMP = """
/feedforward:
  ros__parameters: {target: mujoco, robot_type: fer, arm_prefix: '', use_sim_time: true}
/simulator:
  ros__parameters: {robot_type: fer, arm_prefix: '', publish_clock: true}
"""


@pytest.mark.parametrize('path', [*ALL, *PARTS], ids=lambda path: path.name.split('.')[0])
def test_every_launch_file_compiles_and_its_executables_exist(path, setup_script):
    scripts = setup_script['arguments']['entry_points']['console_scripts']
    text = path.read_text(encoding='utf-8')
    named = {f'{name}_node' for name in re.findall(r"own_node\(\s*'(\w+)'", text)}
    assert named <= {script.split(' = ')[0] for script in scripts}
    compile(text, str(path), 'exec')


@pytest.fixture
def launched(monkeypatch, tmp_path):
    """Return a function: what a launch file starts, by executable; of two alike the last."""
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(launching.ament_prefix(tmp_path)))
    monkeypatch.setattr('tempfile.tempdir', str(tmp_path))

    def launch(name, **given):
        found = launching.started(SHARE / 'launch' / f'{name}.launch.py', monkeypatch, **given)
        for one in found:
            if one.executable.removesuffix('_node') in ('feedforward', 'simulator'):
                declared = {spec.name for spec in table(one.executable.removesuffix('_node'))}
                assert set(one.values) <= declared | OF_ROS
        return {one.executable: one for one in found}

    return launch


def has(process, **expected):
    """Assert that ROS gives a process these parameters."""
    assert {name: process.values.get(name) for name in expected} == expected


@pytest.mark.parametrize(
    ('name', 'given', 'target', 'own'),
    [
        ('feedforward', {'command_topic': 'effort_controller/commands'}, 'fci', {}),
        ('franka_ros2', {}, 'fci', {'robot_type': 'fr3'}),
        ('gazebo', {'control': 'direct'}, 'gz_ros2_control', {'held_until_commanded': True}),
        ('gazebo', {'control': 'ros2_control'}, 'gz_ros2_control', {'held_until_commanded': True}),
        (
            'mujoco_ros2_control',
            {},
            'mujoco',
            {'held_until_commanded': True, 'use_sim_time': True},
        ),
    ],
)
def test_an_arm_of_others_has_its_guards(launched, tmp_path, name, given, target, own):
    file = tmp_path / 'own.yaml'
    file.write_text('/**:\n  ros__parameters: {scale: 0.5}\n')
    processes = launched(name, params_file=str(file), **given)
    node = processes['feedforward_node']
    has(node, target=target, scale=0.5, **own)
    assert node.remappings[COMMAND] == 'effort_controller/commands'
    assert name == 'feedforward' or node.on_exit is not None


def test_every_target_has_a_file_and_by_default_nothing_moves(launched):
    for target in ('', *TARGETS):
        processes = launched('feedforward', target=target)
        node = processes['feedforward_node']
        assert node.values['target'] == (target or DEFAULT_TARGET)
        assert node.remappings[COMMAND] == COMMAND


@pytest.mark.parametrize(
    ('name', 'given', 'expected'),
    [
        ('feedforward', {'target': 'fci', 'use_sim_time': 'false'}, {'target': 'fci'}),
        ('simulation', {'use_sim_time': 'false'}, {'target': 'mujoco'}),
        ('franka_ros2', {}, {'target': 'fci'}),
        ('gazebo', {'hand': 'franka_hand'}, {'hand': 'franka_hand', 'target': 'gz_ros2_control'}),
        ('mujoco_ros2_control', {}, {'target': 'mujoco', 'held_until_commanded': True}),
    ],
)
def test_arguments_win_over_a_file_that_names_the_node(launched, tmp_path, name, given, expected):
    # As `ros2 param dump` writes it. ROS prefers an exact name to /** whatever the order.
    file = tmp_path / 'dump.yaml'
    file.write_text(DUMP)
    prefix = {} if name in ('gazebo', 'mujoco_ros2_control') else {'arm_prefix': 'left_'}
    files = {'params_file': str(file)}
    if name == 'simulation':
        files['simulator_params_file'] = str(file)
    processes = launched(name, robot_type='fr3', **prefix, **files, **given)
    both = {'robot_type': 'fr3', **prefix}
    has(processes['feedforward_node'], **both, **expected)
    if name == 'simulation':
        has(processes['simulator_node'], **both, publish_clock=False)


def test_arguments_win_over_the_file_and_what_was_not_given_is_left_to_it(launched, tmp_path):
    both = tmp_path / 'both.yaml'
    both.write_text(
        '/left/feedforward:\n  ros__parameters: {target: gz_ros2_control}\n'
        '/right/feedforward:\n  ros__parameters: {robot_type: fr3v2, arm_prefix: mine_}\n'
    )
    processes = launched(
        'feedforward',
        params_file=str(both),
        namespace='right',
        robot_type='fr3',
        command_topic='effort_controller/commands',
        joint_states_topic='franka/joint_states',
    )
    node = processes['feedforward_node']
    has(node, robot_type='fr3', arm_prefix='mine_', target='fci')
    assert node.remappings['joint_states'] == 'franka/joint_states'
    assert node.remappings['__ns'] == '/right'


FILES = {
    'feedforward': ['params_file'],
    'franka_ros2': ['params_file', 'controllers_file'],
    'gazebo': ['params_file', 'world'],
    'mujoco_ros2_control': ['params_file'],
    'simulation': ['params_file', 'simulator_params_file'],
    # Of two arms the first would have been started when the second is looked at.
    'two_arms': ['params_file', 'left_params_file', 'right_simulator_params_file'],
}


@pytest.mark.parametrize('name', FILES)
def test_a_file_that_is_no_use_starts_nothing(name, launched, tmp_path):
    (tmp_path / 'typo.yaml').write_text('/**:\n  robot_type: fer\n')
    for argument in FILES[name]:
        # Another reader judges what is in the files that are not of a node of ours.
        folder = '/nowhere' if argument in ('controllers_file', 'world') else tmp_path
        said = rf'^(left_|right_)?{argument}: .*typo.yaml.* Nothing is started'
        with pytest.raises(SettingsError, match=said):
            launched(name, **{argument: f'{folder}/typo.yaml'})


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
    # What MuJoCo is given as effort is what the node commands.
    (file,) = tmp_path.glob('franka_dynamics_launch_*/controllers.yaml')
    controllers = yaml.safe_load(file.read_text('utf-8'))
    assert controllers['effort_controller']['ros__parameters']['joints'] == names
    assert str(file) in processes['ros2_control_node'].command


@pytest.mark.parametrize('controller', ['torques', 'feedforward_trajectory_controller'])
@pytest.mark.parametrize(('robot_type', 'prefix'), [('fr3', ''), ('fr3v2', 'left_')])
def test_franka_ros2_loads_a_controller_of_the_arm_and_unloads_it(
    launched, tmp_path, controller, robot_type, prefix
):
    given = {'controller': controller, 'robot_type': robot_type, 'arm_prefix': prefix}
    given['namespace'] = '/left'
    controller = controller.replace('torques', 'effort_controller')
    unload = ['franka_dynamics.ros.controller_unloading', '/left/controller_manager', controller]
    # An old controller that cannot be unloaded starts nothing.
    (first,) = launched('franka_ros2', returncode=1, **given).values()
    assert first.command[2:] == unload
    processes = launched('franka_ros2', **given)
    assert set(processes) == {first.executable, 'spawner', 'feedforward_node'}
    spawner = processes['spawner'].command
    assert spawner[1] == controller
    file = Path(spawner[spawner.index('--param-file') + 1])
    own = yaml.safe_load(file.read_text('utf-8'))[f'/**/{controller}']['ros__parameters']
    joints = [f'{prefix}{name}' for name in load(robot_type).joint_names]
    assert own['joints'] == joints
    assert list(own.get('gains', joints)) == joints
    node = processes['feedforward_node']
    has(node, controller=controller, robot_type=robot_type, arm_prefix=prefix)
    # What launch starts after the node, however it ended.
    (after,) = node.on_exit
    assert [''.join(part.text for part in word) for word in after.cmd[2:]] == unload


@pytest.mark.parametrize(
    ('name', 'target'),
    [('franka_ros2', 'fci'), ('gazebo', 'gz_ros2_control'), ('mujoco_ros2_control', 'mujoco')],
)
def test_a_generated_package_takes_the_torques_where_it_is_installed(
    launched, tmp_path, name, target
):
    index = tmp_path / 'share/ament_index/resource_index/packages'
    for package in ('fr3_feedforward', 'fr3_franka_hand_feedforward'):
        file = tmp_path / 'share' / package / 'config' / 'receiver.yaml'
        file.parent.mkdir(parents=True)
        file.write_text(cpp_package(load('fr3'), package)['config/receiver.yaml'])
    control = {'control': 'ros2_control'} if name == 'gazebo' else {}
    prefix = {'arm_prefix': 'left_'} if name == 'franka_ros2' else {}
    given = {'robot_type': 'fr3', **control, **prefix}
    launch = partial(launched, name)
    assert launch(**given)['spawner'].command[1] == 'effort_controller'
    (index / 'fr3_feedforward').touch()
    (index / 'fr3_franka_hand_feedforward').touch()
    # Somebody may want the forward controller all the same.
    assert launch(**given, receiver='none')['spawner'].command[1] == 'effort_controller'
    (index / 'forward_command_controller').unlink()  # which only the forward controller needs
    with pytest.raises(RuntimeError, match='ros-jazzy-forward-command-controller'):
        launch(**given, receiver='none')
    processes = launch(**given)
    command = processes['spawner'].command
    assert command[1] == 'receiver'
    values = yaml.safe_load(Path(command[command.index('--param-file') + 1]).read_text('utf-8'))
    values = values['/**/receiver']['ros__parameters']
    assert values['type'] == 'fr3_feedforward/FeedforwardController'
    assert values['joints'] == list(load('fr3', prefix=prefix.get('arm_prefix', '')).joint_names)
    assert (values['target'], values['reference']) == (target, 'total_torque')
    assert processes['feedforward_node'].remappings[COMMAND] == 'receiver/reference'
    if name != 'franka_ros2':  # whose payload the robot knows: an arm with a hand is another model
        command = launch(**given, hand='franka_hand')['spawner'].command
        text = Path(command[command.index('--param-file') + 1]).read_text('utf-8')
        assert 'fr3_franka_hand_feedforward/FeedforwardController' in text
    with pytest.raises(SettingsError, match='was generated for fr3_joint1 and so on, not for'):
        launch(robot_type='fr3v2', receiver='fr3_feedforward', **control)
    with pytest.raises(RuntimeError, match='mine is not installed: franka-dynamics codegen'):
        launch(robot_type='fr3', receiver='mine', **control)


@pytest.mark.parametrize('robot_type', ['panda', 'own'])
def test_franka_ros2_is_not_launched_for_a_fer(robot_type, launched, tmp_path):
    if robot_type == 'own':
        robot_type = str(tmp_path / 'my_fer.yaml')
        text = (SHARE / 'config' / 'arms' / 'fer.yaml').read_text(encoding='utf-8')
        Path(robot_type).write_text(text.replace('name: fer\n', 'name: mine\n'), encoding='utf-8')
    with pytest.raises(RuntimeError, match=r'is a FER .*fer\.md .* Nothing is started'):
        launched('franka_ros2', robot_type=robot_type)


@pytest.mark.parametrize(
    ('name', 'packages'),
    [
        ('gazebo', 'ros-jazzy-ros-gz-sim ros-jazzy-ros-gz-bridge'),
        ('mujoco_ros2_control', 'ros-jazzy-mujoco-ros2-control ros-jazzy-controller-manager'),
        ('franka_ros2', 'ros-jazzy-controller-manager ros-jazzy-forward-command-controller'),
    ],
)
def test_missing_gazebo_or_controllers_name_the_apt_line(name, packages, monkeypatch, tmp_path):
    monkeypatch.delenv('ROS_DISTRO', raising=False)
    prefix = launching.ament_prefix(tmp_path, {'franka_dynamics': ()})
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(prefix))
    with pytest.raises(
        RuntimeError, match=f'sudo apt install {packages}.*docs/howto/[a-z_0-9]+.md'
    ):
        launching.started(SHARE / 'launch' / f'{name}.launch.py', monkeypatch)


def test_both_nodes_of_the_simulation_have_one_arm_and_clock(launched):
    from franka_dynamics.ros.simulator_node import COMMAND_TOPIC

    # A prefix that YAML would take for a truth.
    processes = launched('simulation', robot_type='fr3', arm_prefix='on', namespace='left')
    simulator, node = processes['simulator_node'], processes['feedforward_node']
    for one in (simulator, node):
        assert one.remappings['__ns'] == '/left'
        assert (one.values['robot_type'], one.values['arm_prefix']) == ('fr3', 'on')
        assert type(one.on_exit).__name__ == 'Shutdown'
    assert simulator.values['publish_clock'] is node.values['use_sim_time'] is True
    # Whatever a file says, and the arm listens where the torques go.
    assert node.values['target'] == 'mujoco'
    assert node.remappings[COMMAND] == COMMAND_TOPIC


def test_two_arms_have_an_arm_and_a_prefix_each_and_the_wall_clock(monkeypatch, tmp_path):
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(launching.ament_prefix(tmp_path)))
    path = SHARE / 'launch' / 'two_arms.launch.py'
    found = launching.started(path, monkeypatch, robot_type='fr3', right_robot_type='fer')
    assert [
        (
            one.executable,
            one.remappings['__ns'],
            one.values['robot_type'],
            one.values['arm_prefix'],
        )
        for one in found
    ] == [
        (executable, f'/{side}', arm, f'{side}_')
        for side, arm in (('left', 'fr3'), ('right', 'fer'))
        for executable in ('simulator_node', 'feedforward_node')
    ]
    assert not any(one.values.get('publish_clock', False) for one in found)
    assert not any(one.values.get('use_sim_time', False) for one in found)


@pytest.fixture
def ros2_launch(tmp_path):
    """Return a function: what `ros2 launch` says of a file and arguments, and its status."""
    pytest.importorskip('ros2launch', reason="ROS's own ros2cli and ros2launch are not installed")
    prefix = launching.ament_prefix(tmp_path)
    environment = {**os.environ, 'PYTHONPATH': os.pathsep.join(filter(None, sys.path))}
    environment['AMENT_PREFIX_PATH'] = launching.search_path(prefix)

    def run(*words):
        command = [
            sys.executable,
            '-c',
            'from ros2cli.cli import main; exit(main())',
            'launch',
            *words,
        ]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout + done.stderr

    return run


@pytest.mark.parametrize('name', [path.name for path in ALL])
def test_an_argument_that_nobody_declared_is_refused(ros2_launch, name):
    for words in (['franka_dynamics', name], [str(SHARE / 'launch' / name)]):
        status, said = ros2_launch(*words, 'robot_typ:=fr3')
        assert status == 1
        assert f'{name} has no argument robot_typ (robot_type?)' in said


def test_a_file_that_includes_ours_may_have_arguments_of_its_own(ros2_launch, tmp_path):
    path = tmp_path / 'own.launch.py'
    path.write_text(INCLUDING.format(file=SHARE / 'launch' / 'feedforward.launch.py'))
    status, said = ros2_launch(str(path), 'robot_typ:=fr3', 'robot_type:=fr3v2')
    assert status == 0, said
    assert 'feedforward_node' in said


def test_two_arms_show_no_argument_that_the_nodes_do_not_get(ros2_launch):
    status, said = ros2_launch('franka_dynamics', 'two_arms.launch.py', '--show-args')
    assert status == 0
    assert "'left_robot_type'" in said
    assert 'use_sim_time' not in said
