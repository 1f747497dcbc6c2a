# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Checks whether a joint state is possible for the arm, and consistent with the state before."""

from __future__ import annotations

from collections import deque
from enum import Enum
import math

from ..arm import ArmDescription
from ..typing import Array


class Condition(str, Enum):
    """Whether the stream of joint states can be trusted, and if not, why."""

    WAITING = 'waiting'  # no joint state has come yet
    ACQUIRING = 'acquiring'  # valid states come, but not yet enough in a row
    TRUSTED = 'trusted'
    STALE = 'stale'  # no new state, or the stamps do not advance
    TOO_OLD = 'too_old'  # stamps too far from the clock, behind or ahead
    TOO_SLOW = 'too_slow'  # the topic's rate is below min_input_rate
    NOT_FINITE = 'not_finite'  # NaN or infinity in the arm's own joints
    MISMATCHED = 'mismatched'  # a joint missing, doubled, or arrays of the wrong length
    CONTRADICTORY = 'contradictory'  # positions do not change as the velocities say
    OUT_OF_RANGE = 'out_of_range'  # a position or an effort far beyond its limit
    JUMPED = 'jumped'  # a joint moved, or its velocity says so, faster than it can
    CLOCK_JUMPED = 'clock_jumped'  # stamps leapt: a reset simulation, a changed clock
    INTERLEAVED = 'interleaved'  # stamps go back and forth: more than one publisher


ORDER_WINDOW = 50  # number of latest states within which rare events are counted
# Tolerated position beyond a joint limit [rad], tolerated speed relative to the velocity limit,
# and tolerated position change beyond tolerated speed times elapsed time [rad].
_POSITION_SLACK = 0.2
_SPEED_FACTOR, _JUMP_SLACK = 2.0, 1e-2
# Tolerated difference between position and integrated velocity [rad], the time constant with which
# the difference is forgotten [s], and a delay [s]: speed times the sum of delay and time between
# two states is also tolerated, because position and velocity are not measured at the same instant.
# On real FERs position and integrated velocity differed by at most 0.007 rad at 1 kHz, 0.033 rad
# at 30 Hz.
_DRIFT, _DRIFT_TIME_S, _DELAY_S = 0.02, 0.2, 0.005
# Across a gap between states longer than _LONGEST_GAP_S [s] positions are not compared with
# velocities: the mean of two velocities is too poor an estimate of the displacement.
_LONGEST_GAP_S = 0.04
# Tolerated difference between the position change from one state to the next and the integrated
# velocity [rad] (speed times the sum of _DELAY_S and the time between the states is tolerated as
# well), and how many of the last ORDER_WINDOW states may differ by more. If more do, the states
# of two arms alternate or an encoder is faulty. Encoder noise is below 1e-4 rad.
_STEP, _MOST_STEPS = 3e-3, 3


class PossibleMotion:
    """
    Checks joint states against joint limits, and positions against velocities.

    `Guard` cannot replace the check of positions against velocities, because its momentum observer
    takes the motion from velocities alone. On a simulated FER that moves at 0.6 rad/s while its
    reported positions stand still, PossibleMotion stops the arm within 50 ms; without
    PossibleMotion, the arm reaches 2.5 rad/s before its tracking error stops the arm.
    """

    def __init__(self, description: ArmDescription) -> None:
        self._names = description.joint_names
        # Plain floats: for seven joints, Python's comparisons take less time than one numpy call,
        # above all in a process that has just been woken up.
        self._bounds = tuple(
            zip(
                (description.limit('lower') - _POSITION_SLACK).tolist(),
                (description.limit('upper') + _POSITION_SLACK).tolist(),
                (_SPEED_FACTOR * description.limit('velocity')).tolist(),
            )
        )
        self.forget()

    def forget(self) -> None:
        """Forget the last velocities, the accumulated differences and the counted steps."""
        self._velocities: list[float] = []
        self._drift = [0.0] * len(self._names)
        self._steps: deque[bool] = deque(maxlen=ORDER_WINDOW)

    def impossible(self, q: Array, dq: Array) -> tuple[Condition, str] | None:
        """Return the condition and a sentence if a value is impossible for this arm, else None."""
        for name, position, velocity, (lower, upper, speed) in zip(
            self._names, q.tolist(), dq.tolist(), self._bounds
        ):
            # Comparisons with NaN are false.
            if lower <= position <= upper and -speed <= velocity <= speed:
                continue
            if not (math.isfinite(position) and math.isfinite(velocity)):
                return Condition.NOT_FINITE, (
                    f'{name} has position {position} and velocity {velocity}; check its driver'
                )
            if not lower <= position <= upper:
                return Condition.OUT_OF_RANGE, (
                    f'{name} reads {position:.4g} rad, which this arm cannot reach; is it in '
                    'degrees, or another arm?'
                )
            return Condition.JUMPED, (
                f'{name} reads {velocity:.4g} rad/s, and at most {speed:.4g} are possible'
            )
        return None

    def unlike(
        self, q: Array, before: Array, dq: Array, elapsed: float
    ) -> tuple[Condition, str] | None:
        """
        Return condition and sentence if a state contradicts the state before, else None.

        States contradict if a joint moved faster than possible, or not as its velocity says. `q`
        are the present joint positions, `before` the joint positions of the state before,
        `elapsed` > 0 seconds earlier; `dq` are the present velocities. `unlike` also remembers
        `dq` for the next call.
        """
        speeds = dq.tolist()
        short = elapsed <= _LONGEST_GAP_S
        previous = self._velocities if short and self._velocities else speeds
        self._velocities = speeds
        half, keep = 0.5 * elapsed, max(0.0, 1.0 - elapsed / _DRIFT_TIME_S)
        delay = _DELAY_S + elapsed
        drifts, stepped, problem = [], False, None
        for name, position, last, speed, speed_before, drift, (_, _, fastest) in zip(
            self._names, q.tolist(), before.tolist(), speeds, previous, self._drift, self._bounds
        ):
            moved = position - last
            farthest = fastest * elapsed + _JUMP_SLACK
            if not abs(moved) <= farthest:
                return Condition.JUMPED, (
                    f'{name} moved {abs(moved):.3g} rad in {elapsed:.3g} s, and at most '
                    f'{farthest:.3g} are possible'
                )
            step = moved - half * (speed + speed_before)
            drift = keep * drift + step
            drifts.append(drift)
            timing = delay * abs(speed)
            if not abs(drift) <= _DRIFT + timing:
                problem = problem or (
                    f'{name} is {abs(drift):.3g} rad from where its velocity '
                    f'({speed:.3g} rad/s) takes it; position and velocity contradict each '
                    'other, check its driver'
                )
            stepped = stepped or abs(step) > _STEP + timing
        if not short:
            self.forget()
            self._velocities = speeds
            return None
        self._drift = drifts
        self._steps.append(stepped)
        if problem is None and sum(self._steps) > _MOST_STEPS:
            problem = (
                f'{sum(self._steps)} of the last {len(self._steps)} positions were off what '
                "their velocities say; more than one publisher seems to send this arm's "
                'states, or its encoders are faulty'
            )
        return None if problem is None else (Condition.CONTRADICTORY, problem)
