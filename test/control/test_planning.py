# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Requested motions: each refusal with its sentence, and accepted requests."""

from contextlib import nullcontext
from dataclasses import replace
import itertools

import numpy as np
import pytest
from scipy.interpolate import CubicHermiteSpline

from franka_dynamics.arm import load
from franka_dynamics.control.multisine import multisine
from franka_dynamics.control.planning import (
    follow_request,
    MOST_POINTS,
    plan,
    TrajectoryRequest,
    with_accelerations,
)
from franka_dynamics.control.reference import ReferencePoint, Trajectory
from franka_dynamics.control.settings import Settings
from franka_dynamics.errors import ReferenceRefusedError

from .closed_loop import commands_at_rest, enabled, FER, limited, require_continuous

NOW = 50.0
FR3 = load('fr3')


def at_home(arm=FER):
    return ReferencePoint.at_rest(arm.home)


def request(arm=FER, **changes):
    """Return a gentle two-second motion of joint 1 that ends at rest."""
    positions = np.tile(arm.home, (3, 1))
    positions[1:, 0] += [0.1, 0.2]
    plain = TrajectoryRequest(
        arm.joint_names, np.array([0.0, 1.0, 2.0]), positions, np.zeros((3, 7)), np.zeros((3, 7))
    )
    return replace(plain, **changes)


@pytest.mark.parametrize('now', [NOW, 1.7e9])
def test_a_step_in_velocity_is_refused_however_short(now):
    # Stamps of the system's clock, as doubles, are multiples of 240 ns.
    times, positions = np.array([0.0, 1.0, 1.0 + 1e-7, 1.5]), np.tile(FER.home, (4, 1))
    velocities = np.zeros((4, 7))
    velocities[2, 0], positions[3, 0] = 1.0, positions[3, 0] + 0.2
    step = TrajectoryRequest(FER.joint_names, times, positions, velocities, np.zeros((4, 7)))
    with pytest.raises(ReferenceRefusedError, match='The reference takes fer_joint1 to a'):
        with np.errstate(invalid='ignore'):
            plan(step, FER, now, at_home())


def shuffled(motion):
    """Return a motion with its joints in another order."""
    order = [3, 1, 0, 2, 6, 5, 4]
    arrays = ('positions', 'velocities', 'accelerations', 'effort')
    given = {name: getattr(motion, name) for name in arrays}
    columns = {name: rows[:, order] for name, rows in given.items() if rows is not None}
    return replace(motion, joint_names=tuple(FER.joint_names[i] for i in order), **columns)


def test_joints_in_another_order_are_planned_by_their_names():
    planned = plan(shuffled(request()), FER, NOW, at_home())
    for name in ('positions', 'velocities', 'accelerations'):
        np.testing.assert_array_equal(getattr(planned, name), getattr(request(), name))
    beyond = shuffled(request(effort=1e9 * np.outer([0.0, 1.0, 0.0], np.eye(7)[4])))
    with pytest.raises(
        ReferenceRefusedError, match=r'joint5 at point 2 is 1e\+09, beyond its limit of 12'
    ):
        plan(beyond, FER, NOW, at_home())


def test_the_arm_is_led_to_a_first_point_in_the_future():
    planned = plan(request(times=np.array([1.0, 2.0, 3.0])), FER, NOW, at_home())
    np.testing.assert_array_equal(planned.times, NOW + np.array([0.0, 1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(planned.sample(NOW).q, FER.home)


def test_one_point_at_time_zero_is_planned_as_a_set_point():
    rows = FER.home + 0.01, np.full(7, 0.1), np.full(7, 0.2)
    point = TrajectoryRequest(FER.joint_names, np.zeros(1), *(row[None] for row in rows))
    np.testing.assert_array_equal(plan(point, FER, NOW, at_home()), rows)


@pytest.mark.parametrize(
    ('start', 'q', 'sentence'),
    [
        (NOW + 1.0, FER.home, r'stamped 1 s ahead of the joint states'),
        # Near the desired position but not near the arm: a stream must not run away from the arm.
        (None, FER.home + 0.11, r'starts 0.11 rad from where fer_joint'),
    ],
)
def test_a_set_point_in_the_future_or_far_from_the_arm_is_refused(start, q, sentence):
    point = TrajectoryRequest(FER.joint_names, np.zeros(1), q[None], start=start)
    with pytest.raises(ReferenceRefusedError, match=sentence):
        plan(point, FER, NOW, ReferencePoint.at_rest(q), FER.home)


def moved(row, joint, by):
    positions = request().positions.copy()
    positions[row, joint] += by
    return positions


@pytest.mark.parametrize(
    ('changes', 'sentence'),
    [
        ({'joint_names': ('other', *FER.joint_names[1:])}, 'lacks fer_joint1; it has other'),
        ({'positions': np.zeros((3, 6))}, r'positions have shape \(3, 6\), expected \(3, 7\)'),
        ({'times': np.array([0.0, 1.0, 2.0**31])}, r'ends 2.147e\+09 s after .* a day'),
        ({'times': np.array([0.0, 1.0, 1.0])}, r'must increase .* point 3 has 1 s'),
        ({'times': np.array([-0.1, 1.0, 2.0])}, r'point 1 has -0.1 s'),
        ({'start': NOW - 10.0}, r'ended 8 s ago'),
        ({'start': NOW - 1.0}, r'should have started 1 s ago'),
        ({'positions': moved(1, 2, np.nan)}, 'positions of point 2 hold a value that is not'),
        ({'effort': moved(1, 4, np.nan)}, 'effort of point 2 hold a value that is not finite'),
        ({'start': NOW + 1e9}, r'stamped 1e\+09 s ahead of the joint states'),
        ({'velocities': None}, r'has accelerations but no velocities'),
        ({'velocities': 0.1 * np.eye(3, 7, -2)}, r'ends with 0.1 rad/s at fer_joint1'),
        ({'positions': moved(2, 3, -2.0)}, 'takes fer_joint4 to a position of -3'),
        ({'positions': moved(2, 3, 3.0)}, 'takes fer_joint4 to a position .* -3.072 to -0.0698'),
        ({'positions': moved(slice(0, 3), 0, 0.5)}, r'starts 0.5 rad from where fer_joint1'),
        ({'times': np.array([0.0, 0.02, 0.04])}, r'takes fer_joint1 to a velocity of .* rad/s'),
        ({'times': np.array([0.0, 0.15, 0.3])}, 'takes fer_joint1 to an? acceleration of '),
    ],
)
def test_a_motion_at_fault_is_refused_with_the_fault_named(changes, sentence):
    with pytest.raises(ReferenceRefusedError, match=sentence):
        plan(request(**changes), FER, NOW, at_home())


NO_POINTS = TrajectoryRequest((), np.zeros(0), np.zeros((0, 0)))


@pytest.mark.parametrize('speed', [0.0, 0.3, 2.0])
def test_no_points_bring_a_motion_to_rest_without_a_step(speed):
    along = speed * np.array([1.0, -0.5, 0.8, 0.3, -1.0, 0.7, 0.9])
    current = ReferencePoint(FER.home, along, 2.0 * along)
    planned = plan(NO_POINTS, FER, NOW, current)
    np.testing.assert_allclose(planned.sample(NOW), current, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(planned.sample(planned.end)[1:], 0.0, atol=1e-9)
    assert planned.end - NOW < 2.1
    points = [planned.sample(t) for t in np.linspace(NOW, planned.end, 2000)]
    assert (np.abs([point.dq for point in points]) <= FER.limit('velocity')).all()
    assert (np.abs([point.ddq for point in points]) <= FER.limit('acceleration')).all()
    # The velocity is the derivative of the positions.
    step = points[1].q - points[0].q
    np.testing.assert_allclose(step, along * (planned.end - NOW) / 1999, atol=1e-5)


def test_a_stop_keeps_an_arms_own_limit_of_jerk():
    current = ReferencePoint(FER.home, np.full(7, 0.5), np.zeros(7))
    stop = plan(NO_POINTS, limited(jerk=50.0), NOW, current)
    jerk = np.diff(stop.accelerations, axis=0) / np.diff(stop.times)[:, None]
    assert 40.0 < np.abs(jerk).max() <= 50.0 * (1.0 + 1e-6)


def test_an_fr3_near_its_stop_has_the_local_velocity_limit():
    # Joint 1 at 2.6 rad/s is within the constant limit of 2.62 rad/s, but 0.1 rad from its stop
    # an FR3 may go no faster than -0.6599 + sqrt(2 * 6 * 0.1) = 0.4356 rad/s.
    first = np.eye(7)[0]
    q = np.where(first, FR3.limit('upper') - 0.1, FR3.home)
    point = TrajectoryRequest(FR3.joint_names, np.zeros(1), q[None], 2.6 * first[None])
    with pytest.raises(ReferenceRefusedError, match=r'limits there are .* to 0.4355'):
        plan(point, FR3, NOW, ReferencePoint.at_rest(q))
    plan(replace(point, positions=FR3.home[None]), FR3, NOW, at_home(FR3))


@pytest.mark.parametrize('name', ['fer', 'fr3'])
@pytest.mark.parametrize(('duration', 'amplitude'), [(10.0, 0.5), (4.0, 3.0), (60.0, 3.0)])
def test_a_multisine_of_any_size_is_a_motion_the_arm_can_follow(name, duration, amplitude):
    arm = load(name)
    motion = multisine(arm, duration, amplitude)
    # plan() compares the motion with every limit, between the points too.
    assert isinstance(plan(motion, arm, NOW, at_home(arm)), Trajectory)
    np.testing.assert_allclose(motion.positions[[0, -1]], [arm.home, arm.home], rtol=0, atol=1e-15)
    np.testing.assert_allclose(motion.velocities[[0, -1]], 0.0, rtol=0, atol=1e-12)
    away = np.abs(motion.positions - arm.home)
    assert away.max() <= amplitude
    # The amplitude fades at both ends.
    assert away[motion.times < 0.02 * duration].max() < 0.01 * away.max()


def wave(times, rate=2.0, size=0.3):
    """Return position, velocity and acceleration of a smooth motion that rests at both ends."""
    phase = rate * np.asarray(times)[:, None] * np.ones(7)
    return (
        FER.home + size * (1.0 - np.cos(phase)),
        size * rate * np.sin(phase),
        size * rate**2 * np.cos(phase),
    )


def test_completed_accelerations_are_means_of_scipys_cubics():
    times, near = np.linspace(0.0, np.pi, 60), 1e-9
    q, dq, ddq = wave(times)
    given = TrajectoryRequest(FER.joint_names, times, q, dq)
    full = with_accelerations(given)
    spline = CubicHermiteSpline(times, q, dq)
    both = [spline(times[1:-1] + side * near, 2) for side in (-1.0, 1.0)]
    np.testing.assert_allclose(full.accelerations[1:-1], np.mean(both, axis=0), atol=1e-6)
    np.testing.assert_allclose(full.accelerations[1:-1], ddq[1:-1], atol=0.01)
    assert not full.accelerations[[0, -1]].any()
    assert full.velocities is dq and full.positions is q
    planned = plan(given, FER, NOW, at_home())
    np.testing.assert_array_equal(planned.accelerations, full.accelerations)


AT_ONCE = Settings(target='fci', ramp_time=0.0)
STAMP = NOW + 0.1


def running(settings=AT_ONCE):
    """Return a controller that commands an arm at home until STAMP."""
    controller = enabled(settings)
    commands_at_rest(controller, 100, begin=NOW)
    return controller


def desired_every_millisecond(controller, stamp, seconds):
    """Feed states equal to the desired ones; return these q, dq, ddq, (k, 7) each."""
    found = []
    for now in stamp + 1e-3 * np.arange(round(1e3 * seconds)):
        at = controller.reference.at(now) or ReferencePoint.at_rest(FER.home)
        controller.update(now, at.q, at.dq, now)
        found.append(at)
    return [np.array(rows) for rows in zip(*found)]


@pytest.mark.parametrize(
    ('count', 'planning', 'size', 'velocities'),
    [(16, 0.01, 0.3, True), (MOST_POINTS, 0.2, 0.1, False)],
)
def test_a_motion_under_way_is_replaced_without_a_jump(count, planning, size, velocities):
    # The arm goes on while the next motion is planned.
    controller, fed, uses = running(), [], itertools.count()
    times = np.linspace(0.0, np.pi, 60)
    follow_request(controller, TrajectoryRequest(FER.joint_names, times, *wave(times, size=size)))

    def feed(seconds):
        stamp = STAMP + 1e-3 * sum(len(rows[0]) for rows in fed)
        fed.append(desired_every_millisecond(controller, stamp, seconds))

    feed(0.8)
    later = np.linspace(0.0, 3.0, count)
    phase = np.pi * later[:, None] / 3.0 * np.ones(7)
    q, dq = fed[0][0][-1] + 0.1 * (1.0 - np.cos(phase)), 0.1 * np.pi / 3.0 * np.sin(phase)
    request = TrajectoryRequest(FER.joint_names, later, q, dq if velocities else None)

    class Lock(nullcontext):
        """Feeds states while a motion is planned: after the first of two uses of the lock."""

        def __exit__(self, *_):
            if next(uses) % 2 == 0:
                feed(planning)

    follow_request(controller, request, Lock())
    feed(1.5)
    q, dq, ddq = (np.vstack(rows) for rows in zip(*fed))
    assert (np.abs(ddq) <= FER.limit('acceleration') * 1.01).all()
    require_continuous(q, dq, ddq, 1e-5, 2e-3)


@pytest.mark.parametrize('before', [(0.0,), (50.0,)])
def test_gains_switched_on_leave_a_motion_that_is_to_come(before):
    controller = running(replace(AT_ONCE, kp=before))
    times = np.linspace(0.0, np.pi, 60)
    request = TrajectoryRequest(FER.joint_names, times, *wave(times), start=STAMP + 0.3)
    follow_request(controller, request, mark='later')
    controller.apply(replace(AT_ONCE, kp=(100.0,)))
    desired = desired_every_millisecond(controller, STAMP, 1.0)[0]
    np.testing.assert_allclose(desired[-1], wave([0.699])[0][0], rtol=0.0, atol=1e-3)
    told = [(event.state.value, event.mark) for event in controller.reference.events]
    assert told == [('accepted', 'later'), ('following', 'later')]
