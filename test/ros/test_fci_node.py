# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The FCI node over the real protocol: libfranka's bindings against a simulated robot."""

import re

import numpy as np
import pytest

pytest.importorskip('pylibfranka', reason="libfranka's bindings are not installed")

from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from franka_dynamics.arm import load
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel

from .fci_robots import assert_safe, Commander, FCI, MODEL, pairs, robots, start_fci
from ..fci.lossy_link import LossyLink
from ..fci.simulated_robot import loopback_address, START
from ..messages import stamp

__all__ = ['robots', 'start_fci']  # fixtures
# Torques travel as doubles; what is compared is the difference of two of them.
ATOL_NM = 1e-12


@pytest.fixture
def lossy():
    """Relay to a robot over a link that loses packets on request."""
    links = []

    def relay(robot):
        first, *rest = loopback_address().split('.')
        links.append(LossyLink('.'.join([first, *rest[:2], '2']), robot.address))
        return links[-1]

    yield relay
    for link in links:
        link.close()


def test_our_model_is_the_one_libfranka_loads_from_the_robot(robots, start_fci, probe):
    start_fci(robots(), control='states_only', crosscheck_states=None)
    states = probe.collect(JointState, 'joint_states')
    probe.until(lambda: probe.says(MODEL, 'differs') and len(states) > 200, 'states and model')
    # Both read the same published numbers: rounding (5e-15 measured).
    for name, value in pairs(probe, MODEL).items():
        assert 'checks' in name or float(value) < 1e-12
    assert states[-1].name == [f'fr3_joint{i}' for i in range(1, 8)]
    np.testing.assert_allclose(states[-1].position, START, rtol=0.0, atol=1e-3)
    assert len(states[-1].velocity) == len(states[-1].effort) == 7
    assert (np.diff([stamp(state) for state in states]) > 0.0).all()


def test_four_seconds_of_torques_are_safe_and_all_accounted_for(robots, start_fci, lossy, probe):
    robot = robots()
    link = lossy(robot)  # which loses nothing here, and sees what passes
    node = start_fci(link.address)
    commander = Commander(probe)
    states = probe.collect(JointState, 'joint_states')
    commander.until_controlling()
    # Small: on a busy machine a step lasts longer, and a fast arm is far off when states are late.
    commanded = np.array([0.6, 0.0, -0.4, 0.0, 0.2, 0.0, 0.1])
    begin, cycles = stamp(states[-1]), robot.cycles
    # A step every tenth of a second, to and fro, so that the arm stays near where it began.
    commander.until(
        lambda: commanded if robot.cycles // 100 % 2 else -commanded,
        lambda: stamp(states[-1]) > begin + 4.0,
        '4 s of control',
    )
    figures = pairs(probe, FCI)
    assert node.end() == 0
    torques = robot.torques()
    assert_safe(torques)
    np.testing.assert_allclose(torques[-1], 0.0, rtol=0.0, atol=0.0)
    np.testing.assert_allclose(
        np.abs(torques).max(axis=0), np.abs(commanded), rtol=0.0, atol=ATOL_NM
    )
    # How many states are answered in time is the machine's affair, but not that the node knows:
    # what it says it sent is what the robot got, each in answer to a later state, and what lies
    # between two answers of a motion is what it says it did not answer.
    said = re.search(r'(\d+) torques were sent, .* (\d+) states between them', node.text)
    numbers = np.array([number for number, _ in link.answers])
    ends = np.array([ends for _, ends in link.answers])
    assert (np.diff(numbers) > 0).all()
    assert ends[-1]
    # libfranka repeats the last torque of a motion until the robot has acknowledged its end.
    repeated = np.concatenate(([False], ends[:-1] & ends[1:]))
    assert int(said[1]) == (~repeated).sum() == len(torques) > cycles
    assert int(said[2]) == (np.diff(numbers) - 1)[~ends[:-1]].sum()
    for name in ('loop period p50 [ms]', 'answer time p99 [us]'):
        assert float(figures[name]) > 0.0


def test_feedforward_in_the_loop_sends_the_models_torque(robots, start_fci, probe):
    robot = robots()
    node = start_fci(robot, control='feedforward', ramp_time=0.0)
    sent = probe.collect(JointState, 'fci/feedforward')
    states = probe.collect(JointState, 'joint_states')
    publisher = probe.create_publisher(JointTrajectory, 'fci/reference', 10)
    ddq = np.array([0.5, 0.0, 0.3, 0.0, 0.2, 0.0, 0.4])
    arm = load('fr3')
    model = PinocchioModel(arm)
    point = JointTrajectoryPoint(
        positions=list(START), velocities=[0.0] * 7, accelerations=list(ddq)
    )
    reference = JointTrajectory(joint_names=arm.joint_names, points=[point])

    def apart():
        """Return how far the latest torque is from the model's at the state it belongs to."""
        publisher.publish(reference)
        by_stamp = {stamp(state): state for state in states[-50:]}
        matched = [(s, by_stamp[stamp(s)]) for s in sent[-50:] if stamp(s) in by_stamp]
        if not matched:
            return np.inf
        torque, state = matched[-1]
        q, dq = np.array(state.position), np.array(state.velocity)
        expected = model.mass_matrix(q) @ ddq + model.coriolis_matrix(q, dq) @ dq
        return np.abs(torque.effort - expected).max()

    probe.until(lambda: apart() < ATOL_NM, 'the torque is M ddq + C dq')
    # M ddq is no more than 1.2 N m here; gravity is 28 N m at the second joint.
    largest = np.abs([message.effort for message in sent]).max()
    assert 0.1 < largest < 5.0 < np.abs(model.gravity(START)).max()
    assert node.end() == 0
    assert_safe(robot.torques())


def test_a_stale_command_ramps_to_zero_and_is_said(robots, start_fci, probe):
    robot = robots()
    node = start_fci(robot, command_timeout=0.2)
    commander = Commander(probe)
    commander.until_controlling()
    commander.until(0.5 * np.eye(7)[0], lambda: robot.is_given(0, 0.5), 'torque')
    probe.until(lambda: probe.says(FCI, 'stale command') and probe.says(FCI, 'idle'), 'the stop')
    np.testing.assert_allclose(robot.torques()[-1], 0.0, rtol=0.0, atol=0.0)
    assert_safe(robot.torques())
    # And it goes on when commands come again.
    commander.until_controlling()
    assert 'stopping: stale command' in node.text


def test_a_killed_server_ends_the_node_which_names_the_link(robots, start_fci, probe):
    robot = robots()
    node = start_fci(robot)
    Commander(probe).until_controlling()
    robot.kill()
    node.running_now.remove(node)
    assert node.wait() == 1
    assert re.search(r'communication error: the connection to .* failed: UDP receive', node.text)


def test_control_goes_on_when_a_few_states_are_lost(robots, start_fci, lossy, probe):
    # This robot counts no losses, so that those of a busy machine do not end the test.
    link = lossy(robots(enforce_comm_constraints=False))
    node = start_fci(link.address)
    commander = Commander(probe)
    commander.until_controlling()
    before = int(pairs(probe, FCI)['states lost'])
    link.lose(5)
    commander.until(
        np.zeros(7),
        lambda: int(pairs(probe, FCI)['states lost']) >= before + 5,
        'the loss is counted',
    )
    assert link.lost == 5
    assert pairs(probe, FCI)['state'] == 'controlling'
    assert node.text.count('controlling: torques are commanded') == 1


def test_many_lost_states_are_a_reflex_and_control_begins_again_after_it(
    robots, start_fci, lossy, probe
):
    # This robot stops after 20 losses in a row; a busy machine may lose them before we do.
    robot = robots(enforce_comm_constraints=True)
    link = lossy(robot)
    node = start_fci(link.address)
    commander = Commander(probe)

    def stopped():
        return 'call ~/enable' in node.text

    # It counts only once a command has reached it.
    commander.until(np.zeros(7), lambda: robot.cycles > 50 or stopped(), 'commands arrive')
    link.lose(200)
    commander.until(np.zeros(7), stopped, 'the robot stops')
    assert 'reflex: the robot stopped' in node.text
    assert 'communication_constraints' in node.text
    begun = node.text.count('controlling: torques are commanded')
    assert probe.call(SetBool, 'fci/enable', SetBool.Request(data=True)).success
    commander.until(
        np.zeros(7),
        lambda: node.text.count('controlling: torques are commanded') > begun,
        'control begins again',
    )


@pytest.mark.parametrize(
    ('parameters', 'status', 'sentence'),
    [
        ({}, 2, 'robot_ip is empty'),
        ({'robot_ip': '127.9.9.9'}, 1, '127.9.9.9 cannot be reached: Connection to FCI refused'),
    ],
)
def test_a_parameter_at_fault_ends_the_node_with_one_sentence(
    launch, parameters, status, sentence
):
    node = launch('fci_node', **parameters)
    node.running_now.remove(node)
    assert node.wait() == status
    assert sentence in node.text
