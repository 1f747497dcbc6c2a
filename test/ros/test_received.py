# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Joint states read by joint names, and refused ones."""

import numpy as np
import pytest
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from franka_dynamics.errors import JointStateError
from franka_dynamics.ros.messages import JointStateReader, OtherJointsError

WANTED = ('a_joint1', 'a_joint2', 'a_joint3')


def joint_state(names=WANTED, values=range(9), **changes):
    """Return the bytes of a joint state; of each joint positions first, then velocities."""
    values = np.array(values, dtype=float).reshape(3, len(names))
    rows = dict(zip(('position', 'velocity', 'effort'), values.tolist()))
    message = JointState(**{'name': list(names), **rows, **changes})
    message.header.stamp.sec, message.header.stamp.nanosec = 1, 2
    return bytes(serialize_message(message))


def test_joints_are_found_by_name_in_any_order_and_among_others():
    reader = JointStateReader(WANTED)
    for names in (WANTED, WANTED[::-1], ['b_joint1', WANTED[2], '', *WANTED[:2]], WANTED):
        values = np.arange(3.0 * len(names)).reshape(3, -1)
        reading = reader.read(joint_state(names, values))
        assert (reading.sec, reading.nanosec) == (1, 2)
        expected = values[:, [list(names).index(name) for name in WANTED]]
        actual = [reading.position, reading.velocity, reading.effort]
        np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize(
    ('effort', 'measured'),
    [
        ([], False),
        ([0.0, 0.0, 0.0], False),
        ([0.0, 0.0, 1e-9], True),
        ([np.nan] * 3, False),  # joint_state_broadcaster without an effort interface
        ([np.nan, 1.0, 1.0], True),  # a faulty sensor; the controller refuses the state
    ],
)
def test_efforts_that_are_all_zero_or_no_numbers_are_nobodys_measurement(effort, measured):
    reading = JointStateReader(WANTED).read(joint_state(effort=effort))
    assert (reading.effort is not None) is measured


GOOD = joint_state()


@pytest.mark.parametrize(
    ('data', 'sentence'),
    [
        (joint_state(position=[1.0, 2.0]), '3 names but 2 values of position'),
        (joint_state(velocity=[]), '3 values of position and 0 of velocity'),
        (joint_state(effort=[1.0]), '3 names but 1 values of effort'),
        (joint_state(['b_joint1', *WANTED[1:]]), 'lacks a_joint1; it has b_joint1'),
        (joint_state([], []), 'no joints. Set robot_type, arm_prefix or joint_names to match'),
        (joint_state(['finger'], range(3)), 'lacks a_joint1, a_joint2, a_joint3; it has finger'),
        (joint_state([*WANTED, WANTED[0]], range(12)), 'names a_joint1 more than once'),
        (b'', 'cannot be read: failed to deserialize'),
        (GOOD[:60], 'cannot be read: failed to deserialize'),
        (GOOD[:20] + b'\xff\xff\xff\x7f' + GOOD[24:], 'cannot be read: failed to deserialize'),
        (GOOD[:8] + b'\xff\xff\xff\xff' + GOOD[12:], 'its stamp has 4294967295 nanoseconds'),
        (joint_state(('x' * 40000, *WANTED[1:])), r'\.\.\. \(40000 characters\)'),
        (joint_state([f'j{k}' for k in range(1000)], range(3000)), r'j11, \.\.\. \(1000 in all\)'),
    ],
    # Names without the bytes: their padding is random, and test workers must agree on names.
    ids=lambda value: value if isinstance(value, str) else 'bytes',
)
def test_a_message_at_fault_is_refused_in_a_bounded_sentence_and_the_next_is_read(data, sentence):
    reader = JointStateReader(WANTED)
    reader.read(GOOD)
    for _ in range(2):
        with pytest.raises(JointStateError, match=sentence) as caught:
            reader.read(data)
        assert len(str(caught.value)) < 500
        # A gripper's messages on the arm's topic are no fault.
        of_others = 'lacks a_joint1, a_joint2, a_joint3' in str(caught.value)
        assert isinstance(caught.value, OtherJointsError) == of_others
    np.testing.assert_array_equal(reader.read(GOOD).position, [0.0, 1.0, 2.0])
