# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What the nodes are given by the launch files, as ROS's own launch and rclpy read it."""

import pytest

from franka_dynamics.control.settings import DEFAULT_TARGET, TARGETS

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from franka_dynamics.ros.command_receiver import COMMAND_TOPIC

from . import launching
from .launching import has

COMMAND = '~/command'
DUMP = """
/feedforward:
  ros__parameters: {target: mujoco, robot_type: fer, arm_prefix: '', use_sim_time: true}
/simulation/feedforward:
  ros__parameters: {target: mujoco, robot_type: fer, arm_prefix: '', use_sim_time: true}
/left_feedforward:
  ros__parameters: {target: mujoco, robot_type: fer, arm_prefix: '', use_sim_time: true}
/simulation/simulator:
  ros__parameters: {robot_type: fer, arm_prefix: '', publish_clock: false}
"""


def test_the_executables_that_launch_finds_here_are_those_of_this_package(setup_script):
    scripts = setup_script['arguments']['entry_points']['console_scripts']
    named = set(launching.PACKAGES['franka_dynamics'])
    assert named <= {script.split(' = ')[0] for script in scripts}


HELD = {'held_until_commanded': True}
# The files of most targets have another number.
OWN = '/**:\n  ros__parameters: {min_input_rate: 70.0}\n'


@pytest.mark.parametrize(
    ('name', 'given', 'expected'),
    [
        ('feedforward', {'command_topic': 'effort_controller/commands'}, {'target': 'fci'}),
        ('franka_ros2', {}, {'target': 'fci', 'robot_type': 'fr3'}),
        ('gazebo', {'control': 'direct'}, {'target': 'gz_ros2_control', **HELD}),
        ('gazebo', {'control': 'ros2_control'}, {'target': 'gz_ros2_control', **HELD}),
        ('mujoco_ros2_control', {}, {'target': 'mujoco', 'use_sim_time': True, **HELD}),
    ],
)
def test_an_arm_of_others_has_its_guards(launched, tmp_path, name, given, expected):
    (tmp_path / 'own.yaml').write_text(OWN)
    node = launched(name, params_file=f'{tmp_path}/own.yaml', **given)['feedforward_node']
    has(node, min_input_rate=70.0, **expected)
    assert node.remappings[COMMAND] == 'effort_controller/commands'
    assert name == 'feedforward' or node.on_exit is not None


def test_every_target_has_a_file_and_by_default_nothing_moves(launched, tmp_path):
    (tmp_path / 'own.yaml').write_text(OWN)
    for target in ('', *TARGETS):
        given = {'target': target, 'params_file': f'{tmp_path}/own.yaml'}
        node = launched('feedforward', **given)['feedforward_node']
        has(node, target=target or DEFAULT_TARGET, min_input_rate=70.0)
        assert node.remappings[COMMAND] == COMMAND


@pytest.mark.parametrize(
    ('name', 'given', 'expected'),
    [
        ('feedforward', {'target': 'fci', 'use_sim_time': 'false'}, {'target': 'fci'}),
        ('simulation', {}, {'target': 'mujoco'}),
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
        has(processes['simulator_node'], **both, publish_clock=True)


def test_arguments_win_over_the_file_and_what_was_not_given_is_left_to_it(launched, tmp_path):
    both = tmp_path / 'both.yaml'
    both.write_text(
        '/left/feedforward:\n  ros__parameters: {target: gz_ros2_control}\n'
        '/right/feedforward:\n  ros__parameters: {robot_type: fr3v2, arm_prefix: mine_}\n'
    )
    given = {'params_file': str(both), 'namespace': 'right', 'robot_type': 'fr3'}
    states = 'franka/joint_states'
    node = launched('feedforward', **given, joint_states_topic=states)['feedforward_node']
    has(node, robot_type='fr3', arm_prefix='mine_', target='fci')
    assert node.remappings['joint_states'] == states
    assert node.remappings['__ns'] == '/right'


def test_both_nodes_of_the_simulation_have_one_arm_and_clock(launched):
    # A prefix that YAML would read as a boolean.
    processes = launched('simulation', robot_type='fr3', arm_prefix='on', namespace='left')
    simulator, node = processes['simulator_node'], processes['feedforward_node']
    for one in (simulator, node):
        assert one.remappings['__ns'] == '/left'
        assert (one.values['robot_type'], one.values['arm_prefix']) == ('fr3', 'on')
        assert one.on_exit is not None
    assert simulator.values['publish_clock'] is node.values['use_sim_time'] is True
    # Whatever a file says, and the arm listens where the torques go.
    assert node.values['target'] == 'mujoco'
    assert node.remappings[COMMAND] == COMMAND_TOPIC


SIMULATED = {
    'simulation': {'params_file'},
    'two_arms': {'left_params_file', 'right_params_file'},
    'gazebo': {'params_file'},
    'mujoco_ros2_control': {'params_file'},
}


@pytest.mark.parametrize('name', [*SIMULATED, 'franka_ros2'])
def test_a_simulated_arm_has_simulated_stamps_and_a_real_one_those_of_the_system(
    launched, tmp_path, name
):
    simulated = name in SIMULATED
    file = tmp_path / 'own.yaml'
    file.write_text(f'/**:\n  ros__parameters: {{use_sim_time: {str(not simulated).lower()}}}\n')
    found = launched.all(name, **dict.fromkeys(SIMULATED.get(name, {'params_file'}), str(file)))
    nodes = [one for one in found if one.executable == 'feedforward_node']
    assert [one.values['use_sim_time'] for one in nodes] == [simulated] * (
        1 + (name == 'two_arms')
    )
    for arm in (one for one in found if one.executable == 'simulator_node'):
        assert arm.values['publish_clock'] is True
        # Each of two arms has a clock of its own, in the namespace of its node.
        (node,) = (one for one in nodes if one.remappings['__ns'] == arm.remappings['__ns'])
        assert node.remappings['/clock'] == 'clock'


def test_two_arms_have_an_arm_and_a_prefix_each(launched):
    found = launched.all('two_arms', left_robot_type='fer')
    assert [
        (one.executable, one.remappings['__ns'], one.values['robot_type']) for one in found
    ] == [
        (executable, f'/simulation/{side}', arm)
        for side, arm in (('left', 'fer'), ('right', 'fr3'))
        for executable in ('simulator_node', 'feedforward_node')
    ]
    for one in found:
        assert one.values['arm_prefix'] == f'{one.remappings["__ns"].rpartition("/")[2]}_'
