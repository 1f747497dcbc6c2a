# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Any bytes as joint states and trajectories: read, or refused in one bounded sentence."""

import os
import struct

from hypothesis import given, settings, strategies
import numpy as np
import pytest
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from franka_dynamics.arm import load
from franka_dynamics.control.feedforward import FeedforwardController
from franka_dynamics.control.possible_motion import Condition
from franka_dynamics.errors import JointStateError, ReferenceRefusedError
from franka_dynamics.ros.serialized import JointStateReader
from franka_dynamics.ros.trajectories import read_trajectory

# `make fuzz` looks longer, and elsewhere each time.
EXAMPLES = int(os.environ.get('FRANKA_DYNAMICS_FUZZ', '300'))
FUZZ = settings(
    derandomize='FRANKA_DYNAMICS_FUZZ' not in os.environ, deadline=None, max_examples=EXAMPLES
)
LONGEST_SENTENCE = 1500  # a dozen names of 60 characters, and what to do
FER = load('fer')
NAMES = list(FER.joint_names)
STATE = bytes(
    serialize_message(
        JointState(name=NAMES, position=list(FER.home), velocity=[0.0] * 7, effort=[1.0] * 7)
    )
)
TRAJECTORY = bytes(
    serialize_message(
        JointTrajectory(
            joint_names=NAMES,
            points=[JointTrajectoryPoint(positions=list(FER.home), velocities=[0.0] * 7)] * 3,
        )
    )
)


def mutations(data):
    """Return a strategy of what becomes of good bytes on the way: cut, flipped, put together."""
    places = strategies.integers(0, len(data) - 1)
    return strategies.one_of(
        strategies.binary(max_size=400),
        places.map(lambda end: data[:end]),
        strategies.tuples(places, places).map(lambda cut: data[: cut[0]] + data[cut[1] :]),
        strategies.lists(
            strategies.tuples(places, strategies.integers(0, 255)), min_size=1, max_size=8
        ).map(lambda changes: flipped(data, changes)),
        strategies.tuples(places, strategies.binary(min_size=4, max_size=4)).map(
            lambda change: data[: change[0]] + change[1] + data[change[0] + 4 :]
        ),
    )


def flipped(data, changes):
    changed = bytearray(data)
    for place, value in changes:
        changed[place] = value
    return bytes(changed)


@FUZZ
@given(data=mutations(STATE))
def test_any_bytes_as_a_joint_state_are_read_or_refused(data):
    reader = JointStateReader(NAMES)
    reader.read(STATE)
    try:
        reading = reader.read(data)
    except JointStateError as error:
        assert len(str(error)) < LONGEST_SENTENCE
    else:
        assert reading.position.shape == reading.velocity.shape == (7,)
        assert reading.position.dtype == np.dtype('<f8')
    np.testing.assert_array_equal(reader.read(STATE).position, FER.home)


@pytest.mark.parametrize('field', ['position', 'velocity', 'effort'])
def test_a_signalling_nan_is_refused_without_a_warning(field):
    values = {'position': list(FER.home), 'velocity': [0.0] * 7, 'effort': [0.0] * 7}
    values[field][0] = np.pi
    data = bytes(serialize_message(JointState(name=NAMES, **values)))
    data = data.replace(struct.pack('<d', np.pi), struct.pack('<Q', 0x7FF15A0000000000))
    reading = JointStateReader(NAMES).read(data)
    controller = FeedforwardController(FER)
    controller.enable()
    cycle = controller.cycle(
        reading.stamp, reading.position, reading.velocity, 0.0, effort=reading.effort
    )
    assert cycle.observation.condition is Condition.NOT_FINITE


@FUZZ
@given(data=mutations(TRAJECTORY))
def test_any_bytes_as_a_trajectory_are_read_or_refused(data):
    try:
        request = read_trajectory(data)
    except ReferenceRefusedError as error:
        assert len(str(error)) < LONGEST_SENTENCE
    else:
        assert len(request.positions) == len(request.times)


@pytest.mark.parametrize('size', [10**6, 10**7])
def test_megabytes_are_not_looked_at(size):
    for read in (JointStateReader(NAMES).read, read_trajectory):
        with pytest.raises((JointStateError, ReferenceRefusedError), match=r'are read|cannot be'):
            read(STATE + bytes(size))
