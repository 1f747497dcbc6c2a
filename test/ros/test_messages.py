# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Joint states read by joint names, requests read from trajectories, and refused ones."""

from itertools import combinations

from builtin_interfaces.msg import Duration
import numpy as np
import pytest
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from franka_dynamics.control.request import MOST_POINTS
from franka_dynamics.errors import JointStateError, ReferenceRefusedError
from franka_dynamics.ros.messages import (
    JointStateReader,
    OtherJointsError,
    read_trajectory,
    read_trajectory_file,
    reference_of,
    request_of,
)

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
        assert (reading.stamp_message.sec, reading.stamp_message.nanosec) == (1, 2)
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


FIELDS = ('positions', 'velocities', 'accelerations', 'effort')


def message(joints, count, fields, *, stamp=(0, 0), seed=0):
    rng = np.random.default_rng(seed)
    made = JointTrajectory(joint_names=[f'joint{k}' for k in range(joints)])
    made.header.stamp.sec, made.header.stamp.nanosec = stamp
    made.header.frame_id = 'x' * seed
    for k in range(count):
        rows = {name: list(rng.normal(size=joints)) for name in fields}
        since = Duration(sec=k, nanosec=7 * k)
        made.points.append(JointTrajectoryPoint(time_from_start=since, **rows))
    return made


@pytest.mark.parametrize(
    'fields', [chosen for k in range(4) for chosen in combinations(FIELDS[1:], k)], ids=str
)
@pytest.mark.parametrize(
    ('joints', 'count', 'seed'), [(1, 1, 0), (2, 6, 1), (7, 2, 2), (8, 3, 7), (9, 5, 9)]
)
def test_a_trajectory_is_taken_point_by_point(joints, count, fields, seed):
    original = message(joints, count, {'positions', *fields}, stamp=(3, 4), seed=seed)
    request = request_of(read_trajectory(bytes(serialize_message(original))))
    assert request.joint_names == tuple(original.joint_names)
    assert request.start == 3 + 4e-9
    np.testing.assert_array_equal(request.times, [k + 1e-9 * (7 * k) for k in range(count)])
    for name in FIELDS[:3]:
        value = getattr(request, name)
        assert (value is not None) == (name in ('positions', *fields))
        if value is not None:
            rows = [getattr(point, name) for point in original.points]
            np.testing.assert_array_equal(value, rows)


def test_a_stamp_of_zero_asks_for_a_start_on_arrival():
    assert request_of(message(2, 1, ['positions'])).start is None


def uneven():
    made = message(2, 3, ['positions', 'velocities'])
    made.points[1].velocities = [1.0]
    return made


@pytest.mark.parametrize(
    ('made', 'sentence'),
    [
        (message(2, 1, ['velocities']), 'has no positions; they are needed'),
        (uneven(), r'velocities have \[1, 2\] values in its points for 2 joints'),
        (message(1, MOST_POINTS + 1, ['positions']), '2001 points; send between one and 2000'),
    ],
)
def test_points_that_are_not_alike_are_refused(made, sentence):
    with pytest.raises(ReferenceRefusedError, match=sentence):
        request_of(made)


def test_a_message_without_points_ends_what_is_followed():
    assert len(reference_of(message(2, 0, [])).times) == 0
    with pytest.raises(ReferenceRefusedError, match='has no points; send between one and 2000'):
        request_of(message(2, 0, []))  # a goal without points is refused


def test_a_files_times_are_read_to_the_nanosecond(tmp_path):
    points = '\n'.join(
        f'- {{positions: [0.0], time_from_start: {{sec: {k}, nanosec: 250000007}}}}'
        for k in (1, 2)
    )
    (tmp_path / 'a.yaml').write_text(f'joint_names: [a]\npoints:\n{points}\n')
    read = read_trajectory_file(tmp_path / 'a.yaml')
    stamps = [point.time_from_start for point in read.points]
    assert stamps == [Duration(sec=1, nanosec=250000007), Duration(sec=2, nanosec=250000007)]
