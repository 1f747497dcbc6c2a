# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""NodeClient: motions, parameters and faults of a node."""

from contextlib import suppress

from builtin_interfaces.msg import Duration
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
import pytest
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from franka_dynamics.cli.main import main
from franka_dynamics.errors import SettingsError
from franka_dynamics.ros import node_client
from franka_dynamics.ros.messages import read_trajectory_file, REFERENCE_STATE_QOS
from franka_dynamics.ros.node_client import NodeClient, NodeClientError

from ..processes import TIMEOUT_S

PATIENTLY = ['--timeout', str(TIMEOUT_S)]


class _NoAnswer(Exception):
    pass


class _Enough(Exception):
    pass


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

    def play(*answers):
        """Report states, each of this motion or of another one."""
        told = []
        motions.clear()

        def answer():
            probe.spin()
            for state, own in answers if motions and not told else ():
                told.append(state)
                tell(state, motions[0].header.frame_id if own else 'another')

        tell('refused', '')
        with NodeClient('/feedforward', TIMEOUT_S, answer) as client:
            return client.play(JointTrajectory(points=[JointTrajectoryPoint()]))

    return play


def test_the_end_of_another_motion_is_not_taken_for_its_own(play):
    assert play(('interrupted', False), ('accepted', True), ('finished', True)) == 'finished'
    with pytest.raises(NodeClientError, match='the motion was refused: as told'):
        play(('accepted', False), ('finished', False), ('refused', True))


def test_without_reports_nothing_is_sent(probe):
    motions = probe.collect(JointTrajectory, 'feedforward/reference', reliable=True)
    with (
        NodeClient('/feedforward', patience=1.0, meanwhile=probe.spin) as client,
        pytest.raises(NodeClientError, match='nothing was sent'),
    ):
        client.play(JointTrajectory(points=[JointTrajectoryPoint()]))
    assert not motions


def test_a_transition_is_triggered_once_however_late_its_answer(probe, monkeypatch):
    monkeypatch.setattr(node_client, '_ANSWER_S', 0.1)
    asked = []
    waits = iter(range(60))

    def never(request, response):
        asked.append(request)
        raise _NoAnswer

    probe.create_service(Trigger, 'feedforward/clear_fault', never)

    def spin():
        with suppress(_NoAnswer):
            probe.spin()
        if asked and next(waits, None) is None:
            raise _Enough

    with NodeClient('/feedforward', TIMEOUT_S, spin) as client, pytest.raises(_Enough):
        client.clear_fault()
    assert len(asked) == 1


def test_a_motion_is_sent_once_and_ends_with_the_node_that_goes(probe, monkeypatch):
    monkeypatch.setattr(node_client, '_ANSWER_S', 0.1)
    motions = probe.collect(JointTrajectory, 'feedforward/reference', reliable=True)
    reports = probe.create_publisher(
        DiagnosticArray, 'feedforward/reference_state', REFERENCE_STATE_QOS
    )
    went, waits = [], iter(range(3000))

    def go():
        probe.spin()
        if motions and not went:
            went.append(probe.destroy_publisher(reports))
        assert not went or next(waits, None) is not None, 'it waits for a node that has gone'

    # A motion of an hour: a wait in proportion to it would outlast the test.
    message = JointTrajectory(points=[JointTrajectoryPoint(time_from_start=Duration(sec=3600))])
    with NodeClient('/feedforward', TIMEOUT_S, go) as client, pytest.raises(NodeClientError):
        client.play(message)
    probe.until(lambda: len(motions) == 2, 'the request to stop')
    assert [len(one.points) for one in motions] == [1, 0]


@pytest.fixture(scope='module')
def world(node_world):
    """Return one node for all tests."""
    return node_world(target='mujoco')


def test_a_value_of_another_type_is_refused_in_words(world):
    with NodeClient('feedforward', TIMEOUT_S) as client:
        for name, text, value in (
            ('scale', '1', 1.0),
            ('kp', '[1, 2, 3, 4, 5, 6, 7.5]', [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.5]),
            ('kp', '50', [50.0]),
        ):
            assert client.set(name, text) == client.get(name) == value
        for name, value, words in (
            ('kp', 'stiff', 'kp'),
            ('terms.coriolis', '1', 'refused terms.coriolis: '),
            ('scale', '50%', 'refused scale: '),
            ('kp', '[1, half]', 'a list of one type'),
            ('kp', '{a: 1}', 'a list of one type'),
            ('skale', '1', "has no parameter 'skale'"),
            ('scale', '1.5', '/feedforward refused scale: '),
        ):
            with pytest.raises(SettingsError, match=words):
                client.set(name, value)
    assert main(['node', 'set', 'scale', '1.5', *PATIENTLY]) == 2


ROWS = r'positions have \[1\] values in its points for 2 joints'
FORM = 'a trajectory needs joint_names and points'


@pytest.mark.parametrize(
    ('text', 'sentence'),
    [
        ('hello', FORM),
        ('points: [{}]\njoint_names: [a]', FORM),
        ('points: []\njoint_names: [a]', 'has no points'),
        ('points: [{positions: [0.0], time_from_start: {sec: 1}}]\njoint_names: [a, b]', ROWS),
    ],
)
def test_a_file_that_is_no_trajectory_is_told_so_before_a_node_is_asked(text, sentence, tmp_path):
    path = tmp_path / 'motion.yaml'
    path.write_text(text)
    with pytest.raises(SettingsError, match=sentence):
        read_trajectory_file(path)


def test_the_motion_of_another_arm_is_answered_with_that_of_the_nodes_own(world, capfd):
    assert main(['node', 'play', 'fr3', *PATIENTLY]) == 1
    assert '`franka-dynamics node play fer`' in capfd.readouterr().err


def test_clear_prints_the_nodes_answer_and_exits_1_if_the_fault_remains(world, capfd):
    def clear():
        capfd.readouterr()
        status, said = main(['node', 'clear', *PATIENTLY]), capfd.readouterr()
        return status, said.err if status else said.out

    world.arm.until(lambda: len(world.commands) > 5, 'commands')
    way = 'clear the fault (`franka-dynamics node clear`'

    def faulty():
        world.arm.send(1, position=(world.arm.q[0] + 0.3, *world.arm.q[1:]))  # another arm's state
        return world.probe.says('feedforward: Command', way)

    world.probe.until(faulty, 'the fault')
    for status, sentence in (
        (0, 'cleared'),
        (0, 'there was no fault'),
        (1, '/feedforward: the node is not configured'),
    ):
        for transition in ('deactivate', 'cleanup') if status else ():
            assert main(['node', 'state', transition, *PATIENTLY]) == 0
        found, text = clear()
        assert (found, sentence in text) == (status, True), text
