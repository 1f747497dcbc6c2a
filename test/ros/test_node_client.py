# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""NodeClient: motions, parameters and faults of a node."""

from contextlib import suppress

from builtin_interfaces.msg import Duration
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
import pytest
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
import yaml

from franka_dynamics.cli.main import main
from franka_dynamics.cli.node_requests import send_motion
from franka_dynamics.errors import SettingsError
from franka_dynamics.ros.clients import node_client
from franka_dynamics.ros.clients.node_client import NodeClient, NodeClientError
from franka_dynamics.ros.topics import DESCRIPTION_QOS

from ..agreement import refuses
from ..processes import TIMEOUT_S

PATIENTLY = ['--timeout', str(TIMEOUT_S)]


@pytest.fixture
def motions(probe):
    """Return the motions that a fake node receives."""
    return probe.collect(JointTrajectory, 'feedforward/reference', reliable=True)


@pytest.fixture
def reports(probe):
    """Return a fake node's publisher of reports on references, which has a status, too."""
    probe.create_publisher(DiagnosticStatus, 'feedforward/status', DESCRIPTION_QOS)
    return probe.create_publisher(DiagnosticArray, '/diagnostics', 10)


def report(reports, **pairs):
    """Publish a report on a reference."""
    values = [KeyValue(key=key, value=value) for key, value in pairs.items()]
    status = DiagnosticStatus(name='feedforward: Reference', values=values)
    reports.publish(DiagnosticArray(status=[status]))


@pytest.fixture
def impatient(monkeypatch):
    """Let a client soon give up an answer, as far as a time decides it."""
    monkeypatch.setattr(node_client, 'MAX_BRAKING_WAIT_S', 0.1)


def test_the_end_of_another_motion_is_not_taken_for_its_own(probe, motions, reports):
    def play(*answers):
        """Play a motion to a node that reports states, each of this motion or of another one."""
        left = list(answers)
        motions.clear()

        def answer():
            probe.spin()
            if not motions:
                report(reports, state='refused')
            while motions and left:
                state, own = left.pop(0)
                mark = motions[0].header.frame_id if own else 'another'
                report(reports, state=state, reason='as told', frame_id=mark)

        with NodeClient('/feedforward', TIMEOUT_S, answer) as client:
            return client.follow_trajectory(JointTrajectory(points=[JointTrajectoryPoint()]))

    assert play(('interrupted', False), ('accepted', True), ('finished', True)) == 'finished'
    with refuses(NodeClientError, 'refused', 'as told'):
        play(('accepted', False), ('finished', False), ('refused', True))


def test_a_motion_does_not_take_the_place_of_another_ones(probe, motions, reports):
    with (
        NodeClient(
            '/feedforward', TIMEOUT_S, lambda: report(reports, state='following')
        ) as client,
        refuses(NodeClientError, 'another motion', 'nothing was sent'),
    ):
        client.follow_trajectory(JointTrajectory(points=[JointTrajectoryPoint()]))
    assert not motions


def test_without_reports_nothing_is_sent(probe, motions):
    with (
        NodeClient('/feedforward', timeout=1.0, on_wait=probe.spin) as client,
        refuses(
            NodeClientError,
            '/feedforward/reference',
            '/diagnostics',
            'nothing was sent',
        ),
    ):
        client.follow_trajectory(JointTrajectory(points=[JointTrajectoryPoint()]))
    assert not motions


def test_a_request_is_sent_once_however_late_its_answer(probe, impatient):
    asked = []
    waits = iter(range(60))
    # It gives no answer, for which rclpy raises a TypeError.
    probe.create_service(Trigger, 'feedforward/clear_fault', lambda one, _: asked.append(one))

    def spin():
        with suppress(TypeError):
            probe.spin()
        if asked:
            next(waits)  # at last it raises StopIteration, which ends the client's wait

    with (
        NodeClient('/feedforward', TIMEOUT_S, spin) as client,
        pytest.raises(StopIteration),
    ):
        client.clear_fault()
    assert len(asked) == 1


def test_a_motion_is_sent_once_and_ends_with_a_node_that_goes(probe, motions, reports, impatient):
    went = []
    waits = iter(range(3000))
    status = next(one for one in probe.publishers if one.topic_name == '/feedforward/status')

    def go():
        probe.spin()
        report(reports, state='refused')
        if motions and not went:
            went.append(probe.destroy_publisher(status))
        assert not went or next(waits, None) is not None, 'it waits for a node that has gone'

    # A motion of an hour: a wait in proportion to it would outlast the test.
    message = JointTrajectory(points=[JointTrajectoryPoint(time_from_start=Duration(sec=3600))])
    with (
        NodeClient('/feedforward', TIMEOUT_S, go) as client,
        pytest.raises(NodeClientError),
    ):
        client.follow_trajectory(message)
    probe.until(lambda: len(motions) == 2, 'the request to stop')
    assert [len(one.points) for one in motions] == [1, 0]


@pytest.fixture(scope='module')
def world(node_world):
    """Return one node for all tests."""
    return node_world(target='mujoco')


def test_a_value_of_another_type_is_refused_by_its_name(world):
    numbers = '1, 2, 3, 4, 5, 6, 7.5'
    seven = f'[{numbers}]', [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.5]
    bare = numbers.replace(' ', ''), seven[1]
    with NodeClient('feedforward', TIMEOUT_S) as client:
        for name, text, value in (
            ('scale', '1', 1.0),
            ('kp', *seven),
            ('kp', '50', [50.0]),
            ('kp', *bare),
        ):
            assert client.set_parameter(name, text) == client.parameter_values([name])[0] == value
        with refuses(SettingsError, 'robot_typ: no such parameter') as refusal:
            client.parameter_values(['kp', 'robot_typ'])
        assert 'kp' not in f'{refusal.value}'
        # A frame is text, which may be a number; only an inactive node takes another.
        with refuses(SettingsError, 'while inactive'):
            client.set_parameter('frame', '7')
        for name, value, *named in (
            ('kp', 'stiff', 'kp'),
            ('terms.coriolis', '1', 'no such parameter'),
            ('terms.friction', '1', 'terms.friction'),
            ('scale', '50%', 'scale'),
            ('kp', '[1, half]', 'one type'),
            ('kp', '{a: 1}', 'one type'),
            ('kp', '9' * 400, '9999'),
            *(('terms.friction', one, '64 bits') for one in (f'{2**70}', f'[{2**70}]')),
            ('skale', '1', 'skale: no such parameter'),
            ('scale', '1.5', '/feedforward', 'scale'),
            ('robot_type', 'fr3', '-p robot_type:=fr3'),
            (
                'target',
                'fci',
                '`franka-dynamics node state deactivate --node /feedforward`',
            ),
        ):
            with refuses(SettingsError, *named):
                client.set_parameter(name, value)
    assert main(['node', 'set', 'scale', '1.5', *PATIENTLY]) == 2


def test_a_motion_that_begins_far_off_is_refused(world, tmp_path):
    away = {
        'time_from_start': {'sec': 0},
        'positions': [one + 0.5 for one in world.arm.q],
    }
    away |= {'velocities': [0.0] * 7}
    motion = {'joint_names': world.arm.names, 'points': [away]}
    (tmp_path / 'motion.yaml').write_text(yaml.safe_dump(motion))
    world.commands_come()
    with (
        NodeClient('feedforward', TIMEOUT_S, lambda: world.arm.send(2)) as client,
        refuses(NodeClientError, 'rad away', '`--lead 5`'),
    ):
        send_motion(f'{tmp_path}/motion.yaml', 0.0, client)


def test_a_motion_of_another_arm_is_refused_with_ones_own(world, capfd):
    assert main(['node', 'play', 'fr3', *PATIENTLY]) == 1
    assert '`franka-dynamics node play fer`' in capfd.readouterr().err


def test_clear_prints_the_answer_and_exits_1_if_faulty(world, capfd):
    def clear():
        capfd.readouterr()
        status = main(['node', 'clear', *PATIENTLY])
        said = capfd.readouterr()
        return status, said.err if status else said.out

    world.arm.until(lambda: len(world.commands) > 5, 'commands')
    way = 'clear the fault (`franka-dynamics node clear`'

    def faulty():
        world.arm.send(1, position=(world.arm.q[0] + 0.3, *world.arm.q[1:]))  # another arm's state
        return world.probe.says('feedforward: Command', way)

    world.probe.until(faulty, 'the fault')
    refused = '/feedforward: the node is not configured'
    for status, sentence in ((0, 'cleared'), (0, 'there was no fault'), (1, refused)):
        for transition in ('deactivate', 'cleanup') if status else ():
            assert main(['node', 'state', transition, *PATIENTLY]) == 0
        found, text = clear()
        assert (found, sentence in text) == (status, True), text
