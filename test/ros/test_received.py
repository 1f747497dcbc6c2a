# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Joint states read by joint names, and refused ones."""

import numpy as np
import pytest
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from franka_dynamics.errors import JointStateError
from franka_dynamics.ros.received import CommandSerializer, JointStateReader, OtherJointsError

WANTED = ('a_joint1', 'a_joint2', 'a_joint3')


def message(names, values, **changes):
    count = len(names)
    made = JointState(
        name=list(names),
        position=values[:count],
        velocity=values[count : 2 * count],
        effort=values[2 * count : 3 * count],
    )
    made.header.stamp.sec, made.header.stamp.nanosec = 1, 2
    for field, value in changes.items():
        setattr(made, field, value)
    return made


def test_joints_are_found_by_name_in_any_order_and_among_others():
    reader, values = JointStateReader(WANTED), [float(k) for k in range(15)]
    for names in (WANTED, WANTED[::-1], ['b_joint1', WANTED[2], '', *WANTED[:2]], WANTED):
        count, order = len(names), [list(names).index(name) for name in WANTED]
        reading = reader.read(bytes(serialize_message(message(names, values))))
        assert (reading.sec, reading.nanosec) == (1, 2)
        for k, field in enumerate(('position', 'velocity', 'effort')):
            expected = np.array(values[k * count :])[order]
            np.testing.assert_array_equal(getattr(reading, field), expected)
    without = message(WANTED, values, effort=[])
    assert reader.read(bytes(serialize_message(without))).effort is None


@pytest.mark.parametrize(
    ('effort', 'measured'),
    [
        ([0.0, 0.0, 0.0], False),
        ([0.0, 0.0, 1e-9], True),
        ([np.nan] * 3, False),  # joint_state_broadcaster without an effort interface
        ([np.nan, 1.0, 1.0], True),  # a faulty sensor; the controller refuses the state
    ],
)
def test_efforts_that_are_all_zero_or_no_numbers_are_nobodys_measurement(effort, measured):
    data = bytes(serialize_message(message(WANTED, [1.0] * 6 + effort)))
    assert (JointStateReader(WANTED).read(data).effort is not None) is measured


def test_a_message_of_other_joints_alone_is_told_from_one_that_lacks_some():
    gripper = bytes(serialize_message(message(['finger_joint1', 'finger_joint2'], [0.0] * 6)))
    with pytest.raises(OtherJointsError, match='it has finger_joint1, finger_joint2'):
        JointStateReader(WANTED).read(gripper)
    part = bytes(serialize_message(message(WANTED[:2], [0.0] * 6)))
    with pytest.raises(JointStateError, match='lacks a_joint3') as caught:
        JointStateReader(WANTED).read(part)
    assert not isinstance(caught.value, OtherJointsError)


def changed(**changes):
    """Return the bytes of a good joint state with some fields changed."""
    return bytes(serialize_message(message(WANTED, [float(k) for k in range(9)], **changes)))


GOOD = changed()


@pytest.mark.parametrize(
    ('data', 'sentence'),
    [
        (changed(position=[1.0, 2.0]), '3 names but 2 values of position'),
        (changed(velocity=[]), '3 values of position and 0 of velocity'),
        (changed(effort=[1.0]), '3 names but 1 values of effort'),
        (changed(name=['b_joint1', *WANTED[1:]]), 'lacks a_joint1; it has b_joint1'),
        (
            bytes(serialize_message(message([], []))),
            'it has no joints. Set robot_type, arm_prefix or joint_names to match',
        ),
        (
            bytes(serialize_message(message([*WANTED, WANTED[0]], [0.0] * 12))),
            'names a_joint1 more than once',
        ),
        (b'', 'cannot be read: failed to deserialize'),
        (GOOD[:60], 'cannot be read: failed to deserialize'),
        (GOOD[:20] + b'\xff\xff\xff\x7f' + GOOD[24:], 'cannot be read: failed to deserialize'),
        (GOOD[:8] + b'\xff\xff\xff\xff' + GOOD[12:], 'its stamp has 4294967295 nanoseconds'),
        (
            bytes(serialize_message(message(('x' * 10**6, *WANTED), [0.0] * 12))),
            'bytes long, and at most 65536 are read',
        ),
        (
            bytes(serialize_message(message(('x' * 40000, *WANTED[1:]), [0.0] * 9))),
            r'\.\.\. \(40000 characters\)',
        ),
        (
            bytes(serialize_message(message([f'j{k}' for k in range(1000)], [0.0] * 3000))),
            r'j11, \.\.\. \(1000 in all\)',
        ),
    ],
    # Names without the bytes: their padding is random, and test workers must agree on names.
    ids=lambda value: value if isinstance(value, str) else 'bytes',
)
def test_a_message_at_fault_is_refused_in_a_bounded_sentence_and_the_next_is_read(data, sentence):
    raw = JointStateReader(WANTED)
    raw.read(GOOD)
    with pytest.raises(JointStateError, match=sentence) as caught:
        raw.read(data)
    assert len(str(caught.value)) < 500
    np.testing.assert_array_equal(raw.read(GOOD).position, [0.0, 1.0, 2.0])


@pytest.mark.parametrize('n', [1, 2, 3, 7, 8])
def test_a_command_has_the_bytes_that_rclpy_gives_the_same_message(n):
    # rclpy does not set the four bytes that pad the message up to its first double.
    padding, serializer = slice(16, 20), CommandSerializer(n)
    rng = np.random.default_rng(n)
    torques = [rng.normal(size=n) * 10.0 ** rng.integers(-300, 300) for _ in range(20)]
    # Zeros of both signs, and a column, whose numbers do not lie next to one another.
    for torque in [*torques, np.zeros(n), -np.zeros(n), rng.normal(size=(n, 2))[:, 1]]:
        theirs = bytearray(serialize_message(Float64MultiArray(data=torque.tolist())))
        ours = bytearray(serializer.serialize(torque))
        ours[padding] = theirs[padding]
        assert ours == theirs
