# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Makes motions within an arm's limits from points, from the present motion to rest.

A motion through points is added to its distance from the present motion, which fades to zero; it
is braked after its last point if it moves there. Whatever is beyond a limit is tried again, slower
or with other points, and refused in the end (ReferenceRefusedError).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from .state_check import LEAST_DEGREES
from .trajectory import LIMIT_SLACK, ReferencePoint, Trajectory
from ..arm import ArmDescription
from ..errors import ReferenceRefusedError
from ..typing import Array

# Durations, tried in turn, in which a distance fades, or a motion is braked to rest [s].
FADES_S = tuple(0.15 * 1.2**k for k in range(20))
# Points that are beyond the limits of acceleration, as noisy ones are, are averaged with their
# neighbours, all but the ends, at most _AVERAGED times. The points of a chunk or a trajectory move
# by at most _MOST_AVERAGED in all [rad or m].
_AVERAGED, _MOST_AVERAGED = 6, 0.02
# Before the points of a stream are averaged, only the first _STREAM_FADES durations are tried,
# since a stream that is joined slowly falls behind. It may use _STREAM_SHARE times the limit of
# acceleration before it does.
_STREAM_AVERAGED, _STREAM_FADES, _STREAM_SHARE = 3, 5, 2.0
# Largest distance of a motion that begins at once from where the arm is or is desired [rad or m]:
# the feedback torque would begin with a step.
MOST_START_DISTANCE = 0.1
_LEAST_SEGMENT_S = 1e-4
_JOINED = 1e-9  # states that differ by less count as equal [rad, rad/s]


def require_near(arm: ArmDescription, q: Array, other: Array, what: str) -> None:
    """Refuse positions q that are more than MOST_START_DISTANCE from others, (n,) each."""
    distance = np.abs(q - other)
    joint = int(distance.argmax())
    if not distance[joint] <= MOST_START_DISTANCE:
        hint = ' (are these degrees?)' if distance[joint] > LEAST_DEGREES else ''
        raise ReferenceRefusedError(
            f'{what}: {arm.joint_names[joint]} is {distance[joint]:.3g} rad away ({q[joint]:.4g} '
            f'instead of {other[joint]:.4g}), more than {MOST_START_DISTANCE:g} rad{hint}; give '
            'the first point a time by which the arm can move there, once the arm stands where it '
            'is desired.'
        )


def through_points(
    arm: ArmDescription,
    present: Trajectory,
    begin: float,
    times: Array,
    q: Array,
    dq: Array | None = None,
    ddq: Array | None = None,
) -> Trajectory:
    """
    Return a motion from `present` through k points, and to rest.

    `begin` and `times`, shape (k,), are seconds after `present.zero`; q, dq and ddq have shape
    (k, n). The motion begins at `begin`, at its first point if this comes later. Positions alone
    are joined by a spline that stops at the last point or, where it cannot, is braked after it.
    """
    if len(times) == 0:
        now = np.array([present.at(begin + present.zero)])
        return braked(arm, Trajectory(np.array([begin]), now, present.zero))
    if times[0] < begin + FADES_S[0]:
        # The first point is compared with where the arm will be desired at its time.
        at = max(begin, times[0])
        first = np.array([np.interp(at, times, column) for column in q.T])
        desired = present.at(at + present.zero).q
        require_near(arm, first, desired, 'The reference starts where the arm is not desired')

    def attempt(points: Array, stops: bool) -> Trajectory:
        slopes = _slopes(times, points, stops) if dq is None else dq
        motion = Trajectory(times, _states(times, points, slopes, ddq), present.zero)
        return _joined(arm, present, begin, braked(arm, motion))

    def attempts() -> Iterator[tuple[Array, bool]]:
        points = q
        for _ in range(_AVERAGED + 1):
            if np.abs(points - q).max() <= _MOST_AVERAGED:
                yield from ((points, True), (points, False))
            points = _averaged(times, points)

    return _first_allowed(attempt, [(q, False)] if dq is not None else attempts())


def through_stream(
    arm: ArmDescription, present: Trajectory, begin: float, times: Array, q: Array
) -> Trajectory:
    """
    Return a motion from `present` through the last k points of a stream, braked after the last.

    The parameters are those of `through_points`. If nothing else is within the limits, the arm
    moves to the last point and rests there.
    """

    def attempt(points: Array, share: float, fades: Sequence[float]) -> Trajectory:
        at = times[-len(points) :]
        states = _states(at, points, _slopes(at, points, stops=False))
        motion = braked(arm, Trajectory(at, states, present.zero), share)
        return _joined(arm, present, begin, motion, share, fades)

    def attempts() -> Iterator[tuple[Array, float, Sequence[float]]]:
        for share in (1.0, _STREAM_SHARE):
            points = q
            for _ in range(_STREAM_AVERAGED + 1):
                yield points, share, FADES_S[:_STREAM_FADES]
                points = _averaged(times, points)
        yield q[-1:], _STREAM_SHARE, FADES_S

    return _first_allowed(attempt, attempts())


def from_state(
    arm: ArmDescription, state: ReferencePoint, begin: float, zero: float, coast: float
) -> Trajectory:
    """
    Return the motion to rest from a state at `begin`, in seconds after the stamp `zero` [s].

    The acceleration fades to zero within `coast` [s], or less if the limits demand it; then the
    motion is braked.
    """
    q, dq, ddq = np.array(state)

    def coasting(h: float) -> Trajectory:
        end = q + h * dq + h**2 * ddq / 3.0, dq + h * ddq / 2.0, 0.0 * ddq
        states = np.array([state, end] if h > 0.0 else [state])
        times = begin + np.array([0.0, h])[: len(states)]
        return braked(arm, Trajectory(times, states, zero))

    return _first_allowed(coasting, [(coast,), (0.25 * coast,), (0.0,)])


def braked(arm: ArmDescription, motion: Trajectory, share: float = 1.0) -> Trajectory:
    """
    Return the motion, brought to rest if it moves at its last state.

    The motion may use `share` times the limits of acceleration, the braking the limits themselves.
    """
    motion.require_within(arm, share=share)
    last = motion.states[-1]
    if np.abs(last[1]).max() <= LIMIT_SLACK:
        return motion

    def stopped(duration: float) -> Trajectory:
        # The velocity falls to zero as a cubic of time.
        rest = last[0] + duration * last[1] / 2.0 + duration**2 * last[2] / 12.0
        times = np.append(motion.times, motion.times[-1] + duration)
        states = np.append(motion.states, [ReferencePoint.at_rest(rest)], axis=0)
        Trajectory(times[-2:], states[-2:]).require_within(arm)
        return Trajectory(times, states, motion.zero)

    return _first_allowed(stopped, ((duration,) for duration in FADES_S))


def spliced(present: Trajectory, latest: float, motion: Trajectory) -> Trajectory:
    """
    Return `present` from the time `latest` on, and from its begin on `motion`.

    Both have the same time zero; `latest` is in seconds after it.
    """
    following = np.append(present.times[1:], np.inf)
    kept = (present.times < motion.times[0] - _LEAST_SEGMENT_S) & (following > latest)
    return Trajectory(
        np.append(present.times[kept], motion.times),
        np.concatenate((present.states[kept], motion.states)),
        present.zero,
    )


def _joined(
    arm: ArmDescription,
    present: Trajectory,
    begin: float,
    motion: Trajectory,
    share: float = 1.0,
    fades: Sequence[float] = FADES_S,
) -> Trajectory:
    """
    Return `motion` from `begin` [s after zero] on, without a step from the present motion.

    If its first point comes late enough, the arm moves there from its present state. Otherwise the
    distance between the present motion and the new one, with its rates, is added to the new one
    and fades to zero.
    """
    now = np.array(present.at(begin + present.zero))
    early = motion.times[0] - begin
    checked = begin  # from here on the motion is known to be within the limits
    if early > 0.0:
        first, checked = now, motion.times[0]
        if early < FADES_S[0]:  # extended backwards at constant acceleration
            q, dq, ddq = motion.states[0]
            first = np.array((q - early * dq + early**2 * ddq / 2.0, dq - early * ddq, ddq))
        times = np.append(begin, motion.times)
        states = np.concatenate((first[None], motion.states))
        motion = Trajectory(times, states, motion.zero)
    distance = now - motion.at_times(np.array([begin]))[0]
    coming = motion.times[motion.times > begin + _LEAST_SEGMENT_S]
    if np.abs(distance[:2]).max() < _JOINED:
        times = np.append(begin, coming)
        exact = Trajectory(times, motion.at_times(times), motion.zero)
        return exact.require_within(arm, share=share, until=checked)

    def faded(duration: float) -> Trajectory:
        ends = np.array([begin, begin + duration])
        fade = Trajectory(ends, np.array([distance, 0.0 * distance]))
        times = np.union1d(ends, coming)
        times = times[np.diff(times, append=np.inf) > _LEAST_SEGMENT_S]
        sums = Trajectory(times, motion.at_times(times) + fade.at_times(times), motion.zero)
        return sums.require_within(arm, share=share, until=max(checked, ends[1]))

    return _first_allowed(faded, ((duration,) for duration in fades))


def _first_allowed(
    make: Callable[..., Trajectory], options: Iterable[tuple[Any, ...]]
) -> Trajectory:
    """Return make(*option) for the first option that is not refused; else raise its refusal."""
    refused = None
    for option in options:
        try:
            return make(*option)
        except ReferenceRefusedError as error:
            refused = refused or error
    assert refused is not None, 'there is an option'
    raise refused


def _averaged(times: Array, q: Array) -> Array:
    """Return positions of which each but the ends comes halfway to the line of its neighbours."""
    before, after = np.diff(times)[:-1, None], np.diff(times)[1:, None]
    lines = (after * q[:-2] + before * q[2:]) / (before + after)
    return np.vstack((q[:1], (q[1:-1] + lines) / 2.0, q[1:][-1:]))


def _slopes(times: Array, q: Array, stops: bool) -> Array:
    """
    Return the velocities (k, n) of a cubic spline through positions q, (k, n).

    The first and the last velocity are those of parabolas through three points; the last one is
    zero if the motion stops there.
    """
    count = len(times)
    if count == 1:
        return np.zeros_like(q)
    dq = np.gradient(q, times, axis=0, edge_order=2 if count > 2 else 1)
    if stops:
        dq[-1] = 0.0
    h = np.diff(times)[:, None]
    slope = np.diff(q, axis=0) / h
    right = 3.0 * (h[1:] * slope[:-1] + h[:-1] * slope[1:])
    # Continuous acceleration gives a tridiagonal system for the inner velocities. Each step of
    # Jacobi's iteration at least halves the largest error.
    for _ in range(25):
        dq[1:-1] = (right - h[1:] * dq[:-2] - h[:-1] * dq[2:]) / (2.0 * (h[1:] + h[:-1]))
    return dq


def _states(times: Array, q: Array, dq: Array, ddq: Array | None = None) -> Array:
    """
    Return the states (k, 3, n) of a motion, with accelerations if none are given.

    At an inner point the acceleration is the mean of those of the two cubics that meet there; at
    either end it is the cubic's, or zero where the motion is at rest.
    """
    if ddq is None:
        ddq = np.zeros_like(q)
        if len(times) > 1:
            h = np.diff(times)[:, None]
            slope = np.diff(q, axis=0) / h
            begin = (6.0 * slope - 4.0 * dq[:-1] - 2.0 * dq[1:]) / h
            end = (-6.0 * slope + 2.0 * dq[:-1] + 4.0 * dq[1:]) / h
            ddq[1:-1] = (begin[1:] + end[:-1]) / 2.0
            ddq[0] = begin[0] if dq[0].any() else 0.0
            ddq[-1] = end[-1] if dq[-1].any() else 0.0
    return np.stack((q, dq, ddq), axis=1)
