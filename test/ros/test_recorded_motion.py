# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Recorded states, sent one by one, give the same terms as the offline computation."""

import numpy as np
from sensor_msgs.msg import JointState

from franka_dynamics.arm import load
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel

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
    world.arm.until(lambda: len(world.commands) > 50, 'commands')

    def slow():
        world.arm.send(5, step_ns=PERIOD_NS)
        told = all(world.probe.says(COMMANDS, text) for text in ('too_slow', 'silent'))
        return told and all(terms.values())

    world.probe.until(slow, 'the stop, and terms')
    silent_since = world.probe.told_at[COMMANDS]
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
    # What was told may overtake the last command, which was sent before.
    assert max(world.commands.sent) <= silent_since
