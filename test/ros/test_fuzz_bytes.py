# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Any bytes as joint states and trajectories: read, or refused in one bounded sentence."""

import os
import struct

import numpy as np
import pytest
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from franka_dynamics.control.feedforward import Feedforward
from franka_dynamics.errors import JointStateError, ReferenceRefusedError
from franka_dynamics.ros.messages import JointStateReader, read_trajectory, reference_of

from .conftest import FER

# `make fuzz` tries more examples, others each time.
FUZZ = os.environ.get('FRANKA_DYNAMICS_FUZZ')
EXAMPLES, SEED = int(FUZZ or 300), None if FUZZ else 0
LONGEST_SENTENCE = 1500  # a dozen names of 60 characters, and the fix
NAMES = list(FER.joint_names)
GOOD = {'name': NAMES, 'position': list(FER.home), 'velocity': [0.0] * 7, 'effort': [1.0] * 7}
STATE = bytes(serialize_message(JointState(**GOOD)))
POINT = JointTrajectoryPoint(positions=list(FER.home), velocities=[0.0] * 7)
TRAJECTORY = bytes(serialize_message(JointTrajectory(joint_names=NAMES, points=[POINT] * 3)))


def mutations(data):
    """Yield corrupted copies of good bytes: cut, spliced, changed, or random."""
    rng = np.random.default_rng(SEED)
    for k in range(EXAMPLES):
        one, other = rng.integers(len(data), size=2)
        changed = bytearray(data)
        if k % 5 == 0:
            changed = rng.bytes(rng.integers(400))
        elif k % 5 == 1:
            changed = data[:one]
        elif k % 5 == 2:
            changed = data[:one] + data[other:]
        elif k % 5 == 3:
            changed[one : one + 4] = rng.bytes(4)
        else:
            for place in rng.integers(len(data), size=rng.integers(1, 9)):
                changed[place] = rng.integers(256)
        yield bytes(changed)


def test_any_bytes_as_a_joint_state_are_read_or_refused():
    reader = JointStateReader(NAMES)
    for data in mutations(STATE):
        reader.read(STATE)
        try:
            reading = reader.read(data)
        except JointStateError as error:
            assert len(str(error)) < LONGEST_SENTENCE, data
        else:
            assert reading.position.shape == reading.velocity.shape == (7,), data
            assert reading.position.dtype == np.dtype('<f8')
        np.testing.assert_array_equal(reader.read(STATE).position, FER.home)


@pytest.mark.parametrize('field', ['position', 'velocity', 'effort'])
def test_a_signalling_nan_is_refused_without_a_warning(field):
    values = GOOD | {field: [np.pi, *[0.0] * 6]}
    data = bytes(serialize_message(JointState(**values)))
    data = data.replace(struct.pack('<d', np.pi), struct.pack('<Q', 0x7FF15A0000000000))
    reading = JointStateReader(NAMES).read(data)
    controller = Feedforward(FER)
    torque = controller.step(
        reading.position, reading.velocity, reading.stamp, effort=reading.effort
    )
    assert controller.latest is None and f'the {field} of fer_joint1 is nan' in controller.trouble
    assert np.isfinite(torque).all()


def test_any_bytes_as_a_trajectory_are_read_or_refused():
    for data in mutations(TRAJECTORY):
        try:
            request = reference_of(read_trajectory(data))
        except ReferenceRefusedError as error:
            assert len(str(error)) < LONGEST_SENTENCE, data
        else:
            assert len(request.positions) == len(request.times), data
