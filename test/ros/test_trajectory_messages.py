# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Requests read from trajectory messages."""

from itertools import combinations

from builtin_interfaces.msg import Duration
import numpy as np
import pytest
from rclpy.serialization import serialize_message
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from franka_dynamics.control.request import MOST_POINTS
from franka_dynamics.errors import ReferenceRefusedError
from franka_dynamics.ros.messages import (
    read_trajectory,
    read_trajectory_file,
    reference_of,
    request_of,
)

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
    assert reference_of(message(2, 0, [])).ends_motion
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
