# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Requests at fault are refused with what is wrong; joints are taken by their names."""

from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.control.reference import Reference
from franka_dynamics.control.request import TrajectoryRequest
from franka_dynamics.errors import ReferenceRefusedError

from .closed_loop import FER

NOW = 50.0


def request(**changes):
    """Return a gentle two-second motion of joint 1 that ends at rest."""
    positions = np.tile(FER.home, (3, 1))
    positions[1:, 0] += [0.1, 0.2]
    plain = TrajectoryRequest(
        FER.joint_names, np.array([0.0, 1.0, 2.0]), positions, np.zeros((3, 7)), np.zeros((3, 7))
    )
    return replace(plain, **changes)


def resting(stamp=NOW):
    """Return the reference of an arm that is held at home."""
    reference = Reference(FER)
    reference.at(stamp)
    reference.hold(FER.home)
    return reference


def shuffled(motion):
    """Return a motion with its joints in another order."""
    order = [3, 1, 0, 2, 6, 5, 4]
    arrays = ('positions', 'velocities', 'accelerations')
    given = {name: getattr(motion, name) for name in arrays}
    columns = {name: rows[:, order] for name, rows in given.items() if rows is not None}
    return replace(motion, joint_names=tuple(FER.joint_names[i] for i in order), **columns)


def test_joints_in_another_order_are_taken_by_their_names():
    asked = shuffled(request()).follow_arguments(FER)
    for name, rows in (('q', request().positions), ('dq', request().velocities)):
        np.testing.assert_array_equal(asked[name], rows)


FINGER = 'fer_finger_joint1'


def with_finger(positions, velocities=0.0):
    """Return the gentle motion with a finger at the positions (3,), named before the arm."""
    motion, rows = request(), np.ones(3)
    return replace(
        motion,
        joint_names=(FINGER, *motion.joint_names),
        positions=np.column_stack((positions * rows, motion.positions)),
        velocities=np.column_stack((velocities * rows, motion.velocities)),
        accelerations=np.column_stack((0.0 * rows, motion.accelerations)),
    )


def test_a_finger_that_holds_still_changes_nothing():
    given = with_finger(0.04)
    found, expected = given.follow_arguments(FER), request().follow_arguments(FER)
    assert given.extra_joints(FER) == (FINGER,) and request().extra_joints(FER) == ()
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values)


@pytest.mark.parametrize('moving', [([0.0, 0.02, 0.04], 0.0), (0.04, [0.0, 0.1, 0.0])])
def test_a_finger_that_should_move_is_refused_by_its_name(moving):
    with pytest.raises(ReferenceRefusedError, match=FINGER):
        with_finger(*map(np.array, moving)).follow_arguments(FER)


def moved(row, joint, by):
    positions = request().positions.copy()
    positions[row, joint] += by
    return positions


@pytest.mark.parametrize(
    ('changes', 'names'),
    [
        ({'joint_names': ('other', *FER.joint_names[1:])}, 'names other, fer_joint2'),
        ({'joint_names': FER.joint_names[:1] * 7}, 'names fer_joint1, fer_joint1'),
        ({'positions': np.zeros((2, 7))}, r'positions.*\(3, 7\).*\(2, 7\)'),
        ({'times': np.array([0.0, 1.0, 1.0])}, r'point 3 has 1 s'),
        ({'times': np.array([-0.1, 1.0, 2.0])}, r'point 1 has -0.1 s'),
        ({'times': np.array([0.0, np.nan, 2.0])}, 'times.* nan'),
        ({'start': NOW - 10.0}, r'10 s ago'),
        ({'start': NOW - 1.0}, r'1 s ago'),
        ({'start': NOW + 1e9}, r'1e\+09 s ahead'),
        ({'positions': moved(1, 2, np.nan)}, r'positions.* nan at \[1, 2\]'),
        ({'velocities': np.full((3, 7), np.inf)}, r'velocities.* inf at \[0, 0\]'),
        ({'velocities': None}, 'accelerations but no velocities'),
        ({'positions': moved(2, 3, -2.0)}, 'fer_joint4 to a position of -3'),
        ({'positions': moved(2, 3, 3.0)}, 'fer_joint4 to a position .* -3.072 to -0.0698'),
        ({'positions': moved(slice(0, 3), 0, 0.5)}, r'fer_joint1 is 0.5 rad away'),
        ({'positions': moved(slice(0, 3), 0, 40.0)}, r'40 rad away .* degrees'),
        ({'times': np.array([0.0, 0.02, 0.04])}, 'fer_joint1 to a velocity of'),
        ({'times': np.array([0.0, 0.15, 0.3])}, 'fer_joint1 to an? acceleration of'),
    ],
)
def test_a_request_at_fault_is_refused_with_the_fault_named(changes, names):
    reference = resting()
    with pytest.raises(ReferenceRefusedError, match=names):
        reference.follow(**request(**changes).follow_arguments(FER))
    assert not reference.active and not reference.events


@pytest.mark.parametrize('now', [NOW, 1.7e9])
def test_a_step_in_velocity_is_refused_however_short(now):
    times, positions = np.array([0.0, 1.0, 1.0 + 1e-7, 1.5]), np.tile(FER.home, (4, 1))
    velocities = np.zeros((4, 7))
    velocities[2, 0], positions[3, 0] = 1.0, positions[3, 0] + 0.2
    with pytest.raises(ReferenceRefusedError, match='the reference takes fer_joint1 to a'):
        resting(now).follow(positions, times, velocities)


def test_too_many_points_points_without_times_and_a_set_point_in_the_future_are_refused():
    reference = resting()
    with pytest.raises(ReferenceRefusedError, match='2001 points'):
        reference.follow(np.tile(FER.home, (2001, 1)), np.arange(2001.0))
    with pytest.raises(ReferenceRefusedError, match='3 points without times'):
        reference.follow(np.tile(FER.home, (3, 1)))
    with pytest.raises(ReferenceRefusedError, match='1 s ahead'):
        reference.follow(FER.home, start=NOW + 1.0)
    point = TrajectoryRequest(FER.joint_names, np.zeros(1), FER.home[None])
    asked = point.follow_arguments(FER)
    assert asked.get('times') is None
    np.testing.assert_array_equal(asked['q'], FER.home)


@pytest.mark.parametrize('wrong', [{'q': None}, {'q': FER.home, 'start': 'now'}])
def test_what_is_no_position_and_no_time_is_refused(wrong):
    with pytest.raises(ReferenceRefusedError):
        resting().follow(**wrong)
