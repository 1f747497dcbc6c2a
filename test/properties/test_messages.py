# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Any bytes that come as a message are read as numbers, or refused."""

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from franka_dynamics.errors import JointStateError, ReferenceRefusedError
from franka_dynamics.ros.joint_states import JointStateReader
from franka_dynamics.ros.messages import parse_message
from franka_dynamics.ros.trajectory_messages import parse_reference

from .examples import damaged, examples

NAMES = ['a_joint1', 'a_joint2', 'a_joint3']
ROWS = dict(zip(('position', 'velocity', 'effort'), np.arange(9.0).reshape(3, 3).tolist()))
STATE = bytes(serialize_message(JointState(name=NAMES, **ROWS)))
POINTS = [JointTrajectoryPoint(positions=[0.1] * 3, velocities=[0.0] * 3) for _ in range(2)]
TRAJECTORY = bytes(serialize_message(JointTrajectory(joint_names=NAMES, points=POINTS)))
LONGEST_SENTENCE = 1500  # so that hostile bytes do not fill the log


@examples(200)
@given(data=damaged(STATE) | st.binary(max_size=400))
def test_any_bytes_as_a_joint_state_are_read_or_refused(data):
    reader = JointStateReader(NAMES)
    reader.read(STATE)
    try:
        reading = reader.read(data)
    except JointStateError as error:
        assert len(str(error)) < LONGEST_SENTENCE
    else:
        assert reading.position.shape == reading.velocity.shape == (3,)
        assert reading.position.dtype == np.dtype('<f8')
    np.testing.assert_array_equal(reader.read(STATE).position, [0.0, 1.0, 2.0])


@examples(200)
@given(data=damaged(TRAJECTORY) | st.binary(max_size=400))
def test_any_bytes_as_a_trajectory_are_read_or_refused(data):
    try:
        message = parse_message(JointTrajectory, data, 'reference', ReferenceRefusedError)
        request = parse_reference(message)
    except ReferenceRefusedError as error:
        assert len(str(error)) < LONGEST_SENTENCE
    else:
        assert len(request.positions) == len(request.times)
