# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Recorded states, sent one by one, give the same terms as the offline computation."""

import time

import numpy as np
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.ros.trajectory_messages import trajectory_message

from .conftest import FER, stamp

COMMANDS = 'feedforward: Command'
# The required tolerance; both sides compute in double precision from the same doubles.
ATOL_NM = 1e-9
PERIOD_NS = 10**9 // 30  # thirty states per second: enough for terms, and too few for a command


def test_played_states_terms_equal_the_offline_ones_and_a_slow_topic_stops(node_world, simulate):
    world = node_world(target='mujoco', period=0.005)
    recording = simulate(FER, duration=3.0)
    world.arm.q = recording.q[0].tolist()
    independent, q, dq = NewtonEulerModel(FER), recording.q, recording.dq
    torques = {'gravity': independent.gravity(q), 'coriolis': independent.coriolis(q, dq)}
    matrices = {
        'mass_matrix': independent.mass_matrix(q),
        'coriolis_matrix': independent.coriolis_matrix(q, dq),
        'jacobian': independent.jacobian(q),
    }
    # Subscribed to before the terms: once these come, the node knows them all.
    topic = '/feedforward/feedforward_trajectory'
    filled = world.probe.collect(JointTrajectory, topic, reliable=True)
    terms = {
        name: world.probe.collect(JointState, f'/feedforward/{name}', reliable=name in torques)
        for name in torques | matrices
    }
    world.arm.until(lambda: len(world.commands) > 50, 'commands')

    def slow():
        world.arm.send(5, step_ns=PERIOD_NS)
        told = all(world.probe.says(COMMANDS, text) for text in ('Hz are needed', 'silent'))
        return told and all(terms.values())

    world.probe.until(slow, 'the stop, and terms')
    # Diagnostics may arrive before the last command, which was sent earlier.
    world.arm.send(20, step_ns=PERIOD_NS)
    sent = world.probe.told(COMMANDS, 'published')

    def ask(**state):
        """Send a state until both of its terms have come; return its stamp [s]."""
        again = 0.0

        def came():
            nonlocal again
            if time.monotonic() > again:  # state or terms may be lost
                world.arm.send(1, step_ns=PERIOD_NS, **state)
                again = time.monotonic() + 1.0
            newest = stamp(world.arm.message())
            return all(stamp(terms[name][-1]) == newest for name in torques)

        world.probe.until(came, 'the terms of a state')
        return stamp(world.arm.message())

    states = zip(recording.q, recording.dq, recording.effort)
    stamps = [ask(position=q, velocity=dq, effort=effort) for q, dq, effort in states]
    for name, expected in (torques | matrices).items():
        found = {stamp(message): message.effort for message in terms[name]}
        both = [k for k, one in enumerate(stamps) if one in found]
        # Some matrices may be lost; each is compared with the state of its stamp.
        assert len(both) == len(stamps) if name in torques else both
        actual, rows = [found[stamps[k]] for k in both], expected[both].reshape(len(both), -1)
        np.testing.assert_allclose(actual, rows, rtol=0, atol=ATOL_NM)
    # Torques are added to a trajectory also for a controller with its own feedback, and a finger
    # in it that holds still changes nothing.
    references = world.probe.create_publisher(JointTrajectory, '/feedforward/reference', 10)
    world.probe.until(references.get_subscription_count, 'a listener')
    rest = recording.q[-1]
    names = [*FER.joint_names, 'fer_finger_joint1']
    request = trajectory_message(names, np.array([1.0]), np.array([[*rest, 0.04]]))

    told = world.probe.references

    def answered():
        if not told:
            references.publish(request)
        world.arm.send(2, step_ns=PERIOD_NS, position=rest)
        return filled and len(told) > 1

    world.probe.until(answered, 'the trajectory with efforts, and two reports', every=0.5)
    begin, end = filled[0].points[0], filled[0].points[-1]
    np.testing.assert_allclose(begin.positions, rest, rtol=0, atol=1e-12)
    np.testing.assert_allclose(end.effort, independent.gravity(rest), rtol=0, atol=ATOL_NM)
    reports = told[:2]
    # Its sender, such as `node play`, need not wait for its end.
    assert [report.values['state'] for report in reports] == ['accepted', 'interrupted']
    assert len({report.values['number'] for report in reports}) == 1
    assert 'torques were added to it, but it is not followed' in reports[1].values['reason']
    world.probe.forget()
    world.probe.until_says(COMMANDS, 'silent')
    assert world.probe.told(COMMANDS, 'published') == sent
