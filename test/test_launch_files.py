# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Everything the launch files name exists, and what is asked for is what the nodes are given."""

from pathlib import Path
import re
import subprocess
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml

import franka_dynamics
from franka_dynamics.control.settings import DEFAULT_TARGET, TARGETS
from franka_dynamics.errors import SettingsError
from franka_dynamics.resources import share_directory
from franka_dynamics.ros.parameter_tables import table

from . import launching

SHARE = share_directory()
FEEDFORWARD, SIMULATION = (
    SHARE / 'launch' / f'{name}.launch.py' for name in ('feedforward', 'simulation')
)
LAUNCH_FILES = [FEEDFORWARD, SIMULATION]
GAZEBO, MUJOCO, TWO_ARMS = (
    SHARE / 'launch' / f'{name}.launch.py'
    for name in ('gazebo', 'mujoco_ros2_control', 'two_arms')
)
ALL = sorted((SHARE / 'launch').glob('*.launch.py'))
PARTS = Path(franka_dynamics.__file__).parent / 'ros' / 'launch_parts.py'


@pytest.fixture(params=LAUNCH_FILES, ids=lambda path: path.name.split('.')[0])
def description(request, monkeypatch):
    return launching.load(request.param, monkeypatch)


@pytest.fixture
def feedforward(monkeypatch):
    """Return a function that launches the node alone."""
    description = launching.load(FEEDFORWARD, monkeypatch)
    return lambda **given: launching.run(description, **given)[0]


@pytest.fixture
def simulation(monkeypatch):
    """Return a function that launches the simulation: the simulated arm and the node."""
    description = launching.load(SIMULATION, monkeypatch)
    return lambda **given: {node.executable: node for node in launching.run(description, **given)}


@pytest.mark.parametrize('path', [*ALL, PARTS], ids=lambda path: path.name.split('.')[0])
def test_every_launch_file_compiles_and_its_executables_exist(path, setup_script):
    scripts = setup_script['arguments']['entry_points']['console_scripts']
    named = re.findall(
        r"package=(?:'franka_dynamics'|PACKAGE),\s*executable='(\w+)'",
        path.read_text(encoding='utf-8'),
    )
    assert set(named) <= {script.split(' = ')[0] for script in scripts}
    compile(path.read_text(encoding='utf-8'), str(path), 'exec')


def test_launched_parameters_are_declared_ones(description):
    everything = {
        'robot_type': 'fr3',
        'arm_prefix': 'left_',
        'target': 'mujoco',
        'use_sim_time': 'true',
    }
    given = {
        name: value
        for name, value in everything.items()
        if name in launching.arguments(description)
    }
    for node in launching.run(description, **given):
        declared = {spec.name for spec in table(node.executable.removesuffix('_node'))} | {
            'use_sim_time'
        }
        assert set(node.parameters) <= declared
        assert node.parameters['robot_type'] == 'fr3'


def test_every_target_has_a_file_and_by_default_nothing_moves(monkeypatch, feedforward):
    declared = launching.arguments(launching.load(FEEDFORWARD, monkeypatch))
    assert declared['target'].kwargs['choices'] == ['', *TARGETS]
    for target in ('', *TARGETS):
        node = feedforward(target=target)
        (file,) = node.files
        assert file.endswith(f'/{target or DEFAULT_TARGET}.yaml')
        assert (SHARE / file.removeprefix('<share of franka_dynamics>/')).is_file()
        assert node.parameters == ({'target': target} if target else {})
        assert node.remappings['~/command'] == '~/command'


def test_launched_files_and_arguments_win_in_their_order(feedforward, tmp_path):
    own = tmp_path / 'own.yaml'
    own.write_text('/**:\n  ros__parameters:\n    scale: 0.5\n')
    node = feedforward(params_file=str(own), robot_type='fr3')
    assert node.order == (node.files[0], str(own), 'arguments')
    # Then what was not given is left to the file.
    assert node.parameters == {'robot_type': 'fr3'}


def test_a_node_has_the_topics_given_and_its_keeper_the_same(monkeypatch, tmp_path):
    # A file for two arms: the keeper was told the target of the first, whose stop holds gravity.
    both = tmp_path / 'both.yaml'
    both.write_text(
        '/left/feedforward:\n  ros__parameters: {target: gz_ros2_control}\n'
        '/right/feedforward:\n  ros__parameters: {target: fci}\n'
    )
    node, keeper = launching.run(
        launching.load(FEEDFORWARD, monkeypatch),
        params_file=str(both),
        namespace='right',
        command_topic='effort_controller/commands',
        joint_states_topic='franka/joint_states',
    )
    assert node.remappings == {
        '~/command': 'effort_controller/commands',
        'joint_states': 'franka/joint_states',
    }
    assert (keeper.executable, keeper.namespace, keeper.parameters) == ('keeper_node', 'right', {})
    assert keeper.remappings == {'~/command': node.remappings['~/command']}


@pytest.mark.parametrize('path', ALL, ids=lambda path: path.name.split('.')[0])
@pytest.mark.parametrize('content', [None, '', '/**:\n  robot_type: fer\n'])
def test_a_file_that_is_no_use_starts_nothing(path, content, monkeypatch, tmp_path):
    description = launching.load(path, monkeypatch)
    given = tmp_path / 'typo.yaml'
    if content is not None:
        given.write_text(content)
    files = [
        name
        for name in launching.arguments(description)
        if name.endswith('_file') or name == 'world'
    ]
    assert files
    for argument in files:
        if argument in ('controllers_file', 'world') and content not in (None, ''):
            continue  # another reader judges it
        # Of two arms the first would have been started when the second is looked at.
        named = f'(left_|right_)?{argument}' if path == TWO_ARMS else argument
        with pytest.raises(SettingsError, match=rf'^{named}: .*typo.yaml.* Nothing is started'):
            launching.run(description, **{argument: str(given)})


@pytest.fixture
def everything(monkeypatch, tmp_path):
    """Return a function: a launch file's nodes by executable; several spawners in one."""

    def launch(path, **given):
        monkeypatch.setattr('tempfile.mkdtemp', lambda prefix: str(tmp_path))
        monkeypatch.setattr(
            launching.FindPackageShare, 'perform', lambda self, context: str(SHARE)
        )
        description = launching.load(path, monkeypatch)
        context = launching.context_of(launching.arguments(description), given)
        function = description.args[0][-1].kwargs['function']
        monkeypatch.setitem(function.__globals__, 'require_packages', lambda *_: None)
        nodes = [one for one in function(context) if isinstance(one, launching.Node)]
        return {one.kwargs['executable']: one.kwargs for one in nodes}

    return launch


@pytest.mark.parametrize(
    ('path', 'given', 'target', 'parameters'),
    [
        (GAZEBO, {'control': 'direct'}, 'gz_ros2_control', {}),
        (GAZEBO, {'control': 'ros2_control'}, 'gz_ros2_control', {}),
        (MUJOCO, {}, 'mujoco', {'use_sim_time': True, 'target': 'mujoco'}),
    ],
)
def test_a_simulation_under_ros2_control_has_its_guards(
    everything, path, given, target, parameters
):
    nodes = everything(path, **given)
    keeper, node = nodes['keeper_node'], nodes['feedforward_node']
    (file, last) = node['parameters']
    assert Path(file).name == f'{target}.yaml' and Path(file).is_file()
    assert last == {'robot_type': 'fr3', 'hand': 'none', 'take_over': True, **parameters}
    assert 'parameters' not in keeper
    assert dict(keeper['remappings']) == dict(node['remappings'])
    assert isinstance(node['on_exit'], launching.Shutdown)


def test_mujoco_ros2_control_starts_with_torques_that_hold(everything, tmp_path):
    mujoco = pytest.importorskip('mujoco')
    xacro = pytest.importorskip('xacro')
    nodes = everything(MUJOCO, robot_type='fr3v2', hand='franka_hand')
    assert isinstance(nodes['ros2_control_node']['on_exit'], launching.Shutdown)
    words = nodes['robot_state_publisher']['parameters'][0]['robot_description'].args[0].args[0]
    mappings = dict(word.strip('"').split(':=') for word in words if ':=' in str(word))
    robot = ElementTree.fromstring(
        xacro.process_file(str(SHARE / 'urdf' / 'franka.urdf.xacro'), mappings=mappings).toxml()
    )
    system = robot.find('ros2_control')
    hardware = {one.get('name'): one.text for one in system.iter('param') if one.get('name')}
    assert system.findtext('hardware/plugin') == 'mujoco_ros2_control/MujocoSystemInterface'
    assert hardware['headless'] == 'false'
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
    controllers = yaml.safe_load((tmp_path / 'controllers.yaml').read_text('utf-8'))
    assert controllers['effort_controller']['ros__parameters']['joints'] == names
    assert nodes['ros2_control_node']['parameters'][1] == str(tmp_path / 'controllers.yaml')


def test_franka_ros2_is_launched_with_its_guards(monkeypatch):
    monkeypatch.setattr(launching.FindPackageShare, 'perform', lambda self, context: str(SHARE))
    description = launching.load(SHARE / 'launch' / 'franka_ros2.launch.py', monkeypatch)
    context = launching.context_of(launching.arguments(description), {'namespace': '/left'})
    everything = description.args[0][-1].kwargs['function']
    monkeypatch.setitem(everything.__globals__, 'require_packages', lambda *_: None)
    starts = [
        one.args[0].kwargs['on_exit']
        for one in everything(context)
        if type(one).__name__ == 'RegisterEventHandler'
    ]
    assert len(starts) == 2  # one for each controller there is
    for start in starts:
        # Without its controller nothing is started.
        (end,) = start(SimpleNamespace(returncode=1, process_name='spawner'), context)
        assert isinstance(end, launching.Shutdown)
        nodes = {
            one.kwargs['executable']: one.kwargs
            for one in start(SimpleNamespace(returncode=0, process_name='spawner'), context)
        }
        keeper, node = nodes['keeper_node'], nodes['feedforward_node']
        # The target stays, whatever a file says.
        assert node['parameters'][-1]['target'] == 'fci'
        assert 'parameters' not in keeper
        assert dict(keeper['remappings'])['~/command'] == dict(node['remappings'])['~/command']
        assert {launching.performed(one['namespace'], context) for one in (keeper, node)} == {
            '/left'
        }
        # When the node ends, its controller is deactivated, and then all ends.
        (deactivation,) = node['on_exit']
        assert deactivation.kwargs['executable'] == 'unspawner'
        arguments = [launching.performed(one, context) for one in deactivation.kwargs['arguments']]
        assert arguments == [
            'effort_controller',
            '--controller-manager',
            '/left/controller_manager',
        ]
        assert isinstance(deactivation.kwargs['on_exit'], launching.Shutdown)


@pytest.mark.parametrize('robot_type', ['panda', 'own'])
def test_franka_ros2_is_not_launched_for_a_fer(robot_type, monkeypatch, tmp_path):
    if robot_type == 'own':
        robot_type = str(tmp_path / 'my_fer.yaml')
        text = (SHARE / 'config' / 'arms' / 'fer.yaml').read_text(encoding='utf-8')
        Path(robot_type).write_text(text.replace('name: fer\n', 'name: mine\n'), encoding='utf-8')
    monkeypatch.setattr(launching.FindPackageShare, 'perform', lambda self, context: str(SHARE))
    description = launching.load(SHARE / 'launch' / 'franka_ros2.launch.py', monkeypatch)
    with pytest.raises(RuntimeError, match=r'is a FER .*fer\.md .* Nothing is started'):
        launching.run(description, robot_type=robot_type)


@pytest.mark.parametrize(
    ('name', 'packages'),
    [
        ('gazebo', 'ros-jazzy-ros-gz-sim ros-jazzy-ros-gz-bridge'),
        ('mujoco_ros2_control', 'ros-jazzy-mujoco-ros2-control ros-jazzy-controller-manager'),
        ('franka_ros2', 'ros-jazzy-controller-manager'),
    ],
)
def test_missing_gazebo_or_controllers_name_the_apt_line(name, packages, monkeypatch, tmp_path):
    monkeypatch.delenv('ROS_DISTRO', raising=False)
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path))
    monkeypatch.setattr(launching.FindPackageShare, 'perform', lambda self, context: str(SHARE))
    description = launching.load(SHARE / 'launch' / f'{name}.launch.py', monkeypatch)
    with pytest.raises(
        RuntimeError, match=f'sudo apt install {packages}.*docs/howto/[a-z_0-9]+.md'
    ):
        launching.run(description)


def test_both_nodes_of_the_simulation_have_one_arm_and_clock(simulation):
    from franka_dynamics.ros.simulator_node import COMMAND_TOPIC

    nodes = simulation(robot_type='fr3', arm_prefix='on', use_sim_time='true', namespace='left')
    simulator, node = nodes['simulator_node'], nodes['feedforward_node']
    for one in nodes.values():
        assert one.namespace == 'left'
        assert (one.parameters['robot_type'], one.parameters['arm_prefix']) == ('fr3', 'on')
    assert simulator.parameters['publish_clock'] is node.parameters['use_sim_time'] is True
    # Whatever a file says, and the arm listens where the torques go.
    assert (node.order[-1], node.parameters['target']) == ('arguments', 'mujoco')
    assert (simulator.remappings, node.remappings) == ({}, {'~/command': COMMAND_TOPIC})
    assert all(one.ends_all for one in nodes.values())


@pytest.mark.parametrize('path', LAUNCH_FILES, ids=lambda path: path.name.split('.')[0])
def test_ros_own_launch_takes_the_file_and_shows_its_arguments(path):
    pytest.importorskip('ros2launch', reason="ROS's own ros2launch is not installed")
    shown = subprocess.run(
        ['ros2', 'launch', str(path), '--show-args'], capture_output=True, text=True, check=True
    )
    assert "'robot_type':" in shown.stdout
