# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The example controllers with the simulated arm and the node's terms, and their matcher."""

import re
from types import SimpleNamespace

from geometry_msgs.msg import PoseStamped
import numpy as np
import pytest
from sensor_msgs.msg import JointState

from franka_dynamics.arm import load
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.ros.messages import seconds_to_stamp

from .conftest import FER, PATIENT, ROOT_NAMES, stamp
from ..scripts import example as example_file
from ..scripts import loaded

with loaded(example_file('stamp_matcher')) as module:
    StampMatcher = module.StampMatcher

# Time at rest, and a quarter of a period of the examples' motions, sin(w t)^3 [s]: in the next
# quarter the arm goes the same way back.
HOLD_S, MOTION_S = 0.5, 0.625


def joint_positions(message):
    return np.array(message.position)


def flange_position(message):
    place = message.pose.position
    return np.array([place.x, place.y, place.z])


MODEL = NewtonEulerModel(FER)


def flange_of(message):
    return MODEL.frames(np.array(message.position))[-1, :3, 3]


def since_start(messages):
    return stamp(messages[-1]) - stamp(messages[0])


@pytest.mark.parametrize(
    ('name', 'kind', 'read', 'actual', 'most'),
    [
        # A fiftieth of the error without the terms, in half a period 28.7 mrad and 22.8 mm.
        ('joint_impedance', JointState, joint_positions, joint_positions, 0.57e-3),
        ('operational_space', PoseStamped, flange_position, flange_of, 0.45e-3),
    ],
)
def test_with_the_terms_an_example_tracks_its_motion(
    probe,
    start_arm,
    start_node,
    launch,
    commands,
    tmp_path,
    monkeypatch,
    name,
    kind,
    read,
    actual,
    most,
):
    monkeypatch.chdir(tmp_path)  # where the example writes its picture
    desired = probe.collect(kind, f'/{name}/desired', depth=4000)
    states = probe.collect(JointState, 'joint_states', depth=4000)
    # Started together, because an arm in lockstep that waits for others keeps the machine busy.
    example = launch(str(example_file(name)), **ROOT_NAMES)
    start_arm(gravity_compensation=True, lockstep_rate=600.0)
    start_node(remaps={})
    # Discovery takes time for each of the two subscriptions.
    probe.until(lambda: states, 'the joint states')

    def errors():
        position = {stamp(message): message for message in states}
        return [
            read(message) - actual(position[stamp(message)])
            for message in desired[::5]
            if stamp(message) in position and stamp(message) - stamp(desired[0]) > HOLD_S
        ]

    # DDS may lose messages to a slow probe, so the motion goes on until enough pairs have come.
    # In parts, each of which may take long: on a busy machine a step takes a tenth of a second.
    probe.until(lambda: desired, 'the motion')
    seconds = 0.0
    while seconds < HOLD_S + MOTION_S or len(found := errors()) <= 100:
        seconds += 0.25
        assert seconds < 200.0, f'{len(desired)} and {len(states)} messages, {len(found)} alike'
        probe.until(lambda least=seconds: since_start(desired) > least, 'more of it')
    example.end()
    probe.until(lambda: not np.any(commands[-1].data), 'its last torque, which has faded')
    rms = float(np.sqrt(np.mean(np.sum(np.square(found), axis=1))))
    # The printed error is that of all states, the observed one that of a fifth of the messages
    # that came: over the whole motion the two differ by 0.3 %. Where messages are lost, by more.
    printed = 1e-3 * float(re.search(r'states answered: .* were (\S+) m\w* off', example.text)[1])
    assert 0.0 < printed < most and rms < most
    np.testing.assert_allclose(printed, rms, rtol=0.2, atol=0.0)
    assert (tmp_path / f'{name}.png').stat().st_size > 1000


def test_a_simulator_of_ones_own_holds_its_arm_when_the_sender_is_killed(probe, launch):
    """The PD alone would let it sag; a receiver without a time-out drives it away by radians."""
    states = probe.collect(JointState, 'joint_states', depth=4000)
    launch(str(example_file('own_simulator')), **ROOT_NAMES)
    fr3 = {'robot_type': 'fr3', 'target': 'mujoco', 'kp': [20.0] * 7, 'kd': [2.0] * 7}
    node = launch('feedforward_node', **PATIENT | fr3)
    probe.until_status('feedforward', state='running')
    count = len(states)
    # After half a second of torques its brakes open.
    probe.until(lambda: len(states) > count + 500, 'states beside torques')
    node.kill()
    count = len(states)
    probe.until(lambda: len(states) > count + 500, 'states without them')
    at = np.array([one.position for one in states])
    assert np.any(states[-1].effort) and len(states) > 1000
    np.testing.assert_allclose(at, load('fr3').home + np.zeros_like(at), rtol=0, atol=0.01)


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('a1 b1 c1 a2 b2 c2', [1, 2]),
        ('c1 a1 b1 b2 c2 a2', [1, 2]),  # in any order of topics
        ('a1 b1 a2 b2 c2', [2]),  # a lost message
        ('a1 b1 a2 b2 c2 c1', [2]),  # later than a newer complete stamp
        ('a1 b1 a2 b2 c1 c2', [1, 2]),  # late, but still in time
        ('a1 a1 b1 c1', [1]),  # a repeated message
        ('a1 b1 c1 a1 b1 c1', [1]),
        ('a9000 b9000 c9000 a5 b5 c5', [9000, 5]),  # a reset simulation
        # While a topic is silent, the newest stamps are kept.
        (' '.join(f'a{ms} b{ms}' for ms in range(1, 1000)) + ' c1 c999', [999]),
    ],
)
def test_each_complete_stamp_is_handed_over_once(text, expected):
    found = []
    matcher = StampMatcher(
        SimpleNamespace(create_subscription=lambda *_: None),
        {name: (JointState, f'topic_{name}') for name in 'abc'},
        lambda stamp, messages: found.append((round(1e3 * stamp), ''.join(sorted(messages)))),
    )
    for word in text.split():  # a name and a stamp [ms]
        message = JointState()
        message.header.stamp = seconds_to_stamp(1e-3 * int(word[1:]))
        matcher.add(word[0], message)
        assert len(matcher._pending) <= 11
    assert found == [(stamp, 'abc') for stamp in expected]
