# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""NodeClient: motions, parameters and faults of a node."""

from concurrent.futures import ThreadPoolExecutor
import math

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
import pytest
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from franka_dynamics.cli.main import main
from franka_dynamics.errors import SettingsError
from franka_dynamics.ros.node_client import NodeClient, NodeClientError
from franka_dynamics.ros.qos import REFERENCE_STATE_QOS
from franka_dynamics.ros.trajectories import read_trajectory_file


@pytest.fixture
def play(probe):
    """Return a function that plays a motion to a fake node and returns how it ended."""
    motions = probe.collect(JointTrajectory, 'feedforward/reference', reliable=True)
    reports = probe.create_publisher(
        DiagnosticArray, 'feedforward/reference_state', REFERENCE_STATE_QOS
    )

    def tell(state, mark):
        pairs = {'state': state, 'reason': 'as told', 'frame_id': mark}
        values = [KeyValue(key=key, value=value) for key, value in pairs.items()]
        reports.publish(DiagnosticArray(status=[DiagnosticStatus(values=values)]))

    def played():
        with NodeClient('feedforward') as client:
            return client.play(JointTrajectory(points=[JointTrajectoryPoint()]))

    def play(*answers):
        """Report states, each of this motion or of another one."""
        tell('refused', '')
        with ThreadPoolExecutor(1) as pool:
            future, told = pool.submit(played), False
            while not future.done():
                probe.spin()
                if motions and not told:
                    for state, own in answers:
                        tell(state, motions[0].header.frame_id if own else 'another')
                    told = True
            return future.result()

    return play


def test_a_motion_before_it_interrupted_says_nothing(play):
    assert play(('interrupted', False), ('accepted', True), ('finished', True)) == 'finished'


def test_a_motion_before_it_finished_says_nothing(play):
    with pytest.raises(NodeClientError, match='the motion was refused: as told'):
        play(('accepted', False), ('finished', False), ('refused', True))


def test_without_reports_nothing_is_sent(probe):
    motions = probe.collect(JointTrajectory, 'feedforward/reference', reliable=True)

    def played():
        with NodeClient('feedforward', patience=1.0) as client:
            client.play(JointTrajectory(points=[JointTrajectoryPoint()]))

    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(played)
        while not future.done():
            probe.spin()
        with pytest.raises(NodeClientError, match='nothing was sent'):
            future.result()
    assert not motions


@pytest.fixture(scope='module')
def world(node_world):
    """Return one node for all tests."""
    return node_world(target='mujoco')


def test_a_value_of_another_type_is_refused_in_words(world):
    with NodeClient('feedforward') as client:
        assert client.set('scale', '1') == 1.0
        assert client.set('kp', '[1, 2, 3, 4, 5, 6, 7.5]') == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.5]
        assert client.get('kp')[-1] == 7.5
        assert client.set('kp', '50') == [50.0]
        assert client.get('kp') == [50.0]
        for name, value, words in (
            ('kp', 'stiff', r"kp takes a list of numbers such as \[0.5, 1.0\], not 'stiff'"),
            ('terms.coriolis', '1', "terms.coriolis takes true or false, not '1'"),
            ('scale', '50%', "scale takes a number such as 0.5, not '50%'"),
            ('kp', '[1, half]', 'kp takes a list of numbers'),
            ('kp', '{a: 1}', 'kp takes a list of numbers'),
            ('skale', '1', "has no parameter 'skale'"),
            ('scale', '1.5', '/feedforward refused scale: '),
        ):
            with pytest.raises(SettingsError, match=words):
                client.set(name, value)
    assert main(['node', 'set', 'scale', '1.5']) == 2


FORM = 'a trajectory needs joint_names and points'


@pytest.mark.parametrize(
    ('text', 'sentence'),
    [
        ('hello', FORM),
        ('points: [{}]\njoint_names: [a]', FORM),
        ('points: []\njoint_names: [a]', 'has no points'),
        (
            'points: [{positions: [0.0], time_from_start: {sec: 1}}]\njoint_names: [a, b]',
            r'positions have \[1\] values in its points for 2 joints',
        ),
    ],
)
def test_a_file_that_is_no_trajectory_is_told_so_before_a_node_is_asked(text, sentence, tmp_path):
    path = tmp_path / 'motion.yaml'
    path.write_text(text)
    with pytest.raises(SettingsError, match=sentence):
        read_trajectory_file(path)


def test_the_motion_of_another_arm_is_answered_with_that_of_the_nodes_own(world, capfd):
    assert main(['node', 'play', 'fr3']) == 1
    assert '`franka-dynamics node play fer`' in capfd.readouterr().err


def test_clear_prints_the_nodes_answer_and_exits_1_if_the_fault_remains(world, capfd):
    world.arm.until(lambda: len(world.commands) > 5, 'commands')
    world.arm.send(1, position=[math.nan] * 7)
    word = 'clear the fault once its cause is gone (`franka-dynamics node clear`'
    world.probe.until(lambda: world.probe.says('feedforward: Command', word), 'the way out')
    assert main(['node', 'clear']) == 0
    assert 'cleared; an active node commands again' in capfd.readouterr().out
    assert main(['node', 'clear']) == 0
    assert 'there was no fault' in capfd.readouterr().out
    for transition in ('deactivate', 'cleanup'):
        assert main(['node', 'state', transition]) == 0
    assert main(['node', 'clear']) == 1
    assert '/feedforward: the node is not configured' in capfd.readouterr().err
