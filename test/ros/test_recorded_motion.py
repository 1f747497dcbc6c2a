# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A recording played as messages under /clock gives the same terms as the offline computation."""

from builtin_interfaces.msg import Time
import numpy as np
import pytest
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

from franka_dynamics.arm import load
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.recordings.recording import read_recording

FER = load('fer')
# The requirement; both sides compute in double precision from the same doubles.
ATOL_NM = 1e-9
LIMIT = 120  # messages of a recording that are played; every one is a round trip


@pytest.fixture(params=['real', 'simulated'])
def recording(request):
    if request.param == 'real':
        path = request.getfixturevalue('fer_recording_path')
        return read_recording(path, FER.joint_names)
    return request.getfixturevalue('simulate')(FER, duration=4.0)


class Player:
    """Sends recorded states one by one, each after the answer to the one before."""

    def __init__(self, probe, terms):
        self._probe, self._terms = probe, terms
        self._clock = probe.create_publisher(Clock, '/clock', 1)
        self._states = probe.create_publisher(JointState, 'joint_states', 1)
        probe.until(
            lambda: (
                self._states.get_subscription_count() > 0
                and self._clock.get_subscription_count() > 0
            ),
            'the node listens',
        )

    def send(self, stamp_ns, q, dq, effort):
        stamp = Time(sec=stamp_ns // 10**9, nanosec=stamp_ns % 10**9)
        self._clock.publish(Clock(clock=stamp))
        message = JointState(name=list(FER.joint_names), position=q, velocity=dq, effort=effort)
        message.header.stamp = stamp
        self._states.publish(message)
        return stamp

    def answered(self, stamp):
        return all(
            answers and answers[-1].header.stamp == stamp for answers in self._terms.values()
        )

    def wait_until_heard(self, q, dq, effort):
        """Send a state until the node has found its listeners; return the last stamp [ns]."""
        stamp_ns = 0

        def heard():
            nonlocal stamp_ns
            stamp_ns += 33 * 10**6
            stamp = self.send(stamp_ns, q, dq, effort)
            for _ in range(5):  # both answers, and diagnostics between them
                self._probe.spin(0.02)
            return self.answered(stamp)

        self._probe.until(heard, 'the first answer')
        for answers in self._terms.values():
            answers.clear()
        return stamp_ns


def test_a_played_recordings_terms_equal_the_offline_ones(probe, start_node, commands, recording):
    start_node(target='mujoco', use_sim_time=True)
    terms = {
        name: probe.collect(JointState, f'/feedforward/{name}', reliable=True)
        for name in ('gravity', 'coriolis')
    }
    player = Player(probe, terms)
    part = recording.part(slice(0, LIMIT))
    heard_ns = player.wait_until_heard(part.q[0], part.dq[0], part.effort[0])
    commands.clear()
    # Right after what was sent to be heard: a leap of the stamps would be a fault of its own.
    begin_ns = heard_ns + 33 * 10**6 - int(part.stamp_ns[0])
    for i, (stamp_ns, *state) in enumerate(zip(part.stamp_ns, part.q, part.dq, part.effort)):
        stamp = player.send(int(stamp_ns) + begin_ns, *state)
        probe.until(lambda stamp=stamp: player.answered(stamp), f'the answer to message {i}')
    independent = NewtonEulerModel(FER)
    for name, expected in (
        ('gravity', independent.gravity(part.q)),
        ('coriolis', independent.coriolis(part.q, part.dq)),
    ):
        actual = np.array([message.effort for message in terms[name]])
        np.testing.assert_allclose(actual, expected, rtol=0, atol=ATOL_NM)
    # Thirty joint states per second are enough for terms, and too few for a command.
    assert not commands
    probe.until(lambda: probe.says('feedforward: Joint states', 'too_slow'), 'too slow is told')
