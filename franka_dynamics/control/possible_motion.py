# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Whether a joint state is possible for the arm, and follows from the one before it."""

from __future__ import annotations

from collections import deque
from enum import Enum
import math

from ..arm import ArmDescription
from ..typing import Array


class Condition(str, Enum):
    """What is known about the stream of joint states."""

    WAITING = 'waiting'  # none has come yet
    ACQUIRING = 'acquiring'  # good ones come, not yet enough in a row
    TRUSTED = 'trusted'
    STALE = 'stale'  # silence, or stamps that stand still
    TOO_OLD = 'too_old'  # stamps that lag behind the clock
    TOO_SLOW = 'too_slow'  # the topic's rate is below min_input_rate
    NOT_FINITE = 'not_finite'  # NaN or infinity in the arm's own joints
    MISMATCHED = 'mismatched'  # a joint missing, doubled, or arrays of the wrong length
    CONTRADICTORY = 'contradictory'  # positions that do not move as the velocities say
    OUT_OF_RANGE = 'out_of_range'  # a position no such arm can have
    JUMPED = 'jumped'  # a joint moved faster than it can
    CLOCK_JUMPED = 'clock_jumped'  # stamps leapt: a reset simulation, a changed clock
    INTERLEAVED = 'interleaved'  # stamps go back and forth: more than one publisher


ORDER_WINDOW = 50  # of the latest states, within which what is rare is counted
# How far past a limit a real arm's encoder may read, and how much faster than its limit it may go.
_POSITION_SLACK = 0.2
_SPEED_FACTOR, _JUMP_SLACK = 2.0, 1e-2
# How far positions may be from the integral of the velocities [rad], forgotten with a time
# constant [s], and how much of it per speed [s] is a matter of when either was measured. On a real
# FER at up to 2 rad/s and 1 kHz 0.007 rad is seen, at 30 Hz 0.036.
_DRIFT, _DRIFT_TIME_S, _DELAY_S = 0.02, 0.2, 0.005
# Across a longer gap than this [s] two velocities do not tell how far a joint has moved.
_LONGEST_GAP_S = 0.04
# The same from one state to the next, and how often within ORDER_WINDOW states: two arms whose
# states alternate, with stamps in order. Encoders dither by 1e-4 rad.
_STEP, _MOST_STEPS = 3e-3, 3


class PossibleMotion:
    """What one arm can do: its ranges and speeds, and velocities that agree with positions."""

    def __init__(self, description: ArmDescription) -> None:
        self._names = description.joint_names
        # As plain numbers: on seven joints Python compares faster than numpy is called, the more
        # so in a process that has just been woken up.
        self._bounds = tuple(
            zip(
                (description.limit('lower') - _POSITION_SLACK).tolist(),
                (description.limit('upper') + _POSITION_SLACK).tolist(),
                (_SPEED_FACTOR * description.limit('velocity')).tolist(),
            )
        )
        self.forget()

    def forget(self) -> None:
        """Begin anew: what comes next has no predecessor."""
        self._velocities: list[float] = []
        self._drift = [0.0] * len(self._names)
        self._steps: deque[bool] = deque(maxlen=ORDER_WINDOW)

    def impossible(self, q: Array, dq: Array) -> tuple[Condition, str] | None:
        """Return what is wrong with the values themselves."""
        for name, position, velocity, (lower, upper, speed) in zip(
            self._names, q.tolist(), dq.tolist(), self._bounds
        ):
            # A NaN compares false.
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
                f'{name} reads {velocity:.4g} rad/s, faster than it can move'
            )
        return None

    def unlike(
        self, q: Array, before: Array, dq: Array, elapsed: float
    ) -> tuple[Condition, str] | None:
        """
        Return how a state does not follow from the one before it, if it does not.

        A joint moved faster than it can, or not as its velocity says.

        Parameters
        ----------
        q, before, dq : ndarray, shape (n,)
            Positions now and then, velocities now.
        elapsed : float
            Between the two [s]; positive.

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
            way = position - last
            if not abs(way) <= fastest * elapsed + _JUMP_SLACK:
                return Condition.JUMPED, (
                    f'{name} moved {abs(way):.3g} rad in {elapsed:.3g} s, faster than it can'
                )
            step = way - half * (speed + speed_before)
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
