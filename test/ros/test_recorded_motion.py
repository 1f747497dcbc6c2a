# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Recorded states, sent one by one, give the same terms as the offline computation."""

from diagnostic_msgs.msg import DiagnosticArray
import numpy as np
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from franka_dynamics.arm import load
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.ros.messages import trajectory_message

FER = load('fer')
COMMANDS = 'feedforward: Command'
# The requirement; both sides compute in double precision from the same doubles.
ATOL_NM = 1e-9
PERIOD_NS = 10**9 // 30  # thirty states per second: enough for terms, and too few for a command


def test_played_states_terms_equal_the_offline_ones_and_a_slow_topic_stops(node_world, simulate):
    world = node_world(target='mujoco')
    recording = simulate(FER, duration=3.0)
    world.arm.q = recording.q[0]
    terms = {
        name: world.probe.collect(JointState, f'/feedforward/{name}', reliable=True)
        for name in ('gravity', 'coriolis')
    }
    matrices = {
        name: world.probe.collect(JointState, f'/feedforward/{name}')
        for name in ('mass_matrix', 'coriolis_matrix', 'jacobian')
    }
    world.arm.until(lambda: len(world.commands) > 50, 'commands')

    def slow():
        world.arm.send(5, step_ns=PERIOD_NS)
        told = all(world.probe.says(COMMANDS, text) for text in ('too_slow', 'silent'))
        return told and all(terms.values()) and all(matrices.values())

    world.probe.until(slow, 'the stop, and terms')
    # What was told may have overtaken the last command, which was sent before.
    world.arm.send(20, step_ns=PERIOD_NS)
    count = len(world.commands)
    for answers in terms.values():
        answers.clear()
    for i, state in enumerate(zip(recording.q, recording.dq, recording.effort)):
        world.arm.send(
            1, step_ns=PERIOD_NS, **dict(zip(('position', 'velocity', 'effort'), state))
        )
        world.probe.until(
            lambda: all(
                answers and answers[-1].header.stamp == world.arm.message().header.stamp
                for answers in terms.values()
            ),
            f'the answer to message {i}',
        )
    independent = NewtonEulerModel(FER)
    for name, expected in (
        ('gravity', independent.gravity(recording.q)),
        ('coriolis', independent.coriolis(recording.q, recording.dq)),
    ):
        actual = np.array([message.effort for message in terms[name]])[-len(expected) :]
        np.testing.assert_allclose(actual, expected, rtol=0, atol=ATOL_NM)
    # Of matrices, row by row, some may be lost; each is that of the state with its stamp.
    stamps = [message.header.stamp for message in terms['gravity']][-len(recording.q) :]
    for name, expected in (
        ('mass_matrix', independent.mass_matrix(recording.q)),
        ('coriolis_matrix', independent.coriolis_matrix(recording.q, recording.dq)),
        ('jacobian', independent.jacobian(recording.q)),
    ):
        found = [one for one in matrices[name] if one.header.stamp in stamps]
        assert found
        for one in found:
            of = expected[stamps.index(one.header.stamp)].ravel()
            np.testing.assert_allclose(one.effort, of, rtol=0, atol=ATOL_NM)
    # Who follows a trajectory by feedback of his own gets torques with it all the same.
    told = world.probe.collect(DiagnosticArray, '/feedforward/reference_state', reliable=True)
    filled = world.probe.collect(
        JointTrajectory, '/feedforward/feedforward_trajectory', reliable=True
    )
    references = world.probe.create_publisher(JointTrajectory, '/feedforward/reference', 10)
    world.probe.until(lambda: references.get_subscription_count() > 0, 'a listener')
    rest = recording.q[-1]
    request = trajectory_message(list(FER.joint_names), np.array([1.0]), rest[None])

    def answered():
        if not filled:
            references.publish(request)
        world.arm.send(2, step_ns=PERIOD_NS, position=rest)
        return filled and told

    world.probe.until(answered, 'the trajectory with efforts')
    np.testing.assert_allclose(
        filled[0].points[-1].effort, independent.gravity(rest), rtol=0, atol=ATOL_NM
    )
    reasons = {pair.key: pair.value for pair in told[0].status[0].values}
    assert reasons['state'] == 'accepted'
    assert 'torques were added to it, but it is not followed here' in reasons['reason']
    assert len(world.commands) == count
