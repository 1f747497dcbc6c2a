# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A motion played by NodeClient: only what is reported of it decides how it ended."""

from concurrent.futures import ThreadPoolExecutor

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
import pytest
from trajectory_msgs.msg import JointTrajectory

from franka_dynamics.errors import SettingsError
from franka_dynamics.ros.node_client import NodeClient, NodeClientError, read_trajectory_file
from franka_dynamics.ros.qos import REFERENCE_STATE_QOS

from .conftest import TIMEOUT_S


@pytest.fixture
def play(probe):
    """Return a function that plays to a node that answers as told, and how the motion ended."""
    reports = probe.create_publisher(
        DiagnosticArray, 'feedforward/reference_state', REFERENCE_STATE_QOS
    )
    motions = probe.collect(JointTrajectory, 'feedforward/reference', reliable=True)

    def tell(state, mark):
        pairs = {'state': state, 'reason': 'as told', 'frame_id': mark}
        values = [KeyValue(key=key, value=value) for key, value in pairs.items()]
        reports.publish(DiagnosticArray(status=[DiagnosticStatus(values=values)]))

    def played():
        with NodeClient('feedforward') as client:
            return client.play(JointTrajectory(), TIMEOUT_S)

    def play(*answers):
        """Answer with states, each of this motion or of another one."""
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


def test_the_node_repeats_the_mark_of_a_motion(node_world):
    world = node_world(robot_type='fer', target='fci')
    world.arm.until(lambda: len(world.commands) > 50, 'commands')
    told = world.probe.collect(DiagnosticArray, '/feedforward/reference_state', reliable=True)
    references = world.probe.create_publisher(JointTrajectory, '/feedforward/reference', 10)
    world.probe.until(lambda: references.get_subscription_count() > 0, 'a listener')
    message = JointTrajectory()
    message.header.frame_id = 'x' * 100

    def refused():
        references.publish(message)
        world.arm.send(20)
        return told

    world.probe.until(refused, 'the refusal')
    pairs = {pair.key: pair.value for pair in told[0].status[0].values}
    assert (pairs['state'], pairs['frame_id']) == ('refused', 'x' * 64)


def test_a_value_of_another_type_is_refused_in_words(node_world):
    world = node_world(robot_type='fer', target='fci')
    world.arm.until(lambda: len(world.commands) > 50, 'commands')
    with NodeClient('feedforward') as client:
        assert client.set('scale', '1') == 1.0
        assert client.set('kp', '[1, 2, 3, 4, 5, 6, 7.5]') == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.5]
        assert client.get('kp')[-1] == 7.5
        for name, value, words in (
            ('kp', 'stiff', "kp takes a list of numbers, such as .* 'stiff' is none"),
            ('scale', 'true', "scale takes a number; 'True' is none"),
            ('terms.coriolis', '1', "takes true or false; '1' is none"),
            ('skale', '1', "has no parameter 'skale'"),
        ):
            with pytest.raises(NodeClientError, match=words):
                client.set(name, value)


@pytest.mark.parametrize('text', ['hello', '', 'name: my_arm', 'points: [{}]\njoint_names: [a]'])
def test_a_file_that_is_no_trajectory_is_told_so_before_a_node_is_asked(text, tmp_path):
    path = tmp_path / 'motion.yaml'
    path.write_text(text)
    with pytest.raises(SettingsError, match=r'no trajectory.* joint_names and points'):
        read_trajectory_file(path)
