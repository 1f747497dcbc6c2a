# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Checks whether joint states are possible, and consistent with the state before.

A state is unusable in these cases. Time may mend the first five; the others are latched
(`CAUSE_OF_STATE_PROBLEM` in `ending.py`):

- states have ceased, or some are missing,
- they come too rarely, or several at a time,
- a state is old, or ahead of the clock,
- the clock of stamps was set back,
- a value is no number,
- a position, velocity or effort is impossible by itself,
- a position leaps further than the joint can turn (the new place is believed then),
- positions are not where velocities take them,
- all positions repeat bit for bit though the arm must move (repeated_positions.py),
- a second source sends states, too (`Feedforward.reject_state`).

A state whose stamp is not new is no state: it is dropped, as if none had come. Stamps are by the
clock of whoever measures; they may repeat, come late, or be set back with that clock. Arrivals are
by the clock of `tick`. Where nobody gives these, stamps stand for them, and silence is told by
this computer's clock.
"""

from collections import deque
from enum import Enum
import math
from time import monotonic
from typing import Any

import numpy as np

from .disturbance import JOINT_AT_STOP, near_limits
from .ending import Reason, ReasonCode
from .limits import (
    MAX_POSSIBLE_VELOCITY_RAD_S,
    MAX_STATE_PERIOD_S,
    MAX_STEP_S,
    MIN_GOOD_STATE_COUNT,
    MIN_STATE_PERIOD_S,
    PERIOD_MARGIN_FACTOR,
)
from .repeated_positions import RepeatedPositions, Repetition
from .settings import StateLimits
from .state_input import StateSample
from .terms import Desired, stiction_torque
from ..arm import ArmDescription
from ..arrays import Array, NDArray
from ..errors import JointVectorError, SettingsError

# Encoders may read this much beyond a position limit [rad]: where a joint was led by hand.
POSITION_TOLERANCE_RAD = 0.2
# A position leaps if its step exceeds what this multiple of the velocity limit allows, and
# MAX_POSITION_DRIFT_RAD.
MAX_POSSIBLE_SPEED_RATIO = 2.0
# A position and its integrated velocity may differ by this much [rad], and by what a velocity
# explains that is late by MAX_VELOCITY_DELAY_S. Recordings of two real FERs drifted by at most
# 7 mrad at 1 kHz, and by 33 mrad at 30 Hz.
MAX_POSITION_DRIFT_RAD = 0.02
MAX_VELOCITY_DELAY_S = 5.0 * MAX_STEP_S
# The same while all velocities are zero: then none is late.
MAX_STILL_POSITION_DRIFT_RAD = 0.25 * MAX_POSITION_DRIFT_RAD
# The drift is forgotten with this time constant [s].
DRIFT_TIME_CONSTANT_S = 0.2
# No joint is led or mounted more than a turn and a half beyond zero: degrees are larger.
MAX_PLAUSIBLE_POSITION_RAD = 3.0 * math.pi
# A measured effort beyond so many torque limits is not in N m.
MAX_POSSIBLE_EFFORT_TO_LIMIT = 3.0
# States of the first torque are at most so old: feedback from older ones may oscillate.
MAX_STATE_AGE_AT_START_S = 0.015
# A state older than the last one is out of order, unless it is so much older [s] or the
# MIN_GOOD_STATE_COUNT-th in a row: then the clock was set back.
MAX_REORDERING_TIME_S = 1.0


class StampOrder(Enum):
    """Order of a joint state's stamp after the one before: new, repeated or late, or set back."""

    NEW = 'after it'
    OUT_OF_ORDER = 'not after it: a message comes again, or was overtaken'
    SET_BACK = 'so far before it that the clock of stamps was set back'


class Reception(Enum):
    """What a received joint state is good for."""

    USABLE = 'it is answered'
    DROPPED = 'it repeats an old one: as if none had come'
    FROZEN = 'states have repeated an old one for too long'
    UNUSABLE = 'it is impossible, or not consistent with the one before, or late'


class StateCheck:
    """
    Checks the joint states of one arm, one after the other, against `limits`.

    `period` is the time between two states that is assumed until some have come [s]. Raises
    SettingsError if it is out of range.

    Attributes
    ----------
    stamp, q, dq : float or None, ndarray, ndarray
        Stamp [s], position and velocity, (n,), of the latest possible state; q is NaN before one.
    elapsed, age : float
        Time between it and the one before, and its age [s].
    period, median_age : float
        Their medians over the latest states [s]; before any, the expected period and 0.
    arrival_time, is_arrival_given : float, bool
        When it came, by the clock of `now` [s], and whether the caller has given that.
    good_count : int
        Number of usable joint states in a row.
    problem : Reason or None
        Why the latest state cannot be used.
    has_possible_values : bool
        Whether its values are possible, each by itself.
    is_position_known : bool
        Whether they agree with those of the state before, too, be the state late or not.

    """

    def __init__(self, arm: ArmDescription, limits: StateLimits, period: float) -> None:
        if not MIN_STATE_PERIOD_S <= period <= MAX_STATE_PERIOD_S:
            why = f'period {period:g} s is not {MIN_STATE_PERIOD_S:g} to {MAX_STATE_PERIOD_S:g} s.'
            if MAX_STATE_PERIOD_S < period < 10.0:
                n = math.ceil(period / MAX_STATE_PERIOD_S)
                why += f' Use substeps: for _ in range({n}): step, then move by {period / n:g} s.'
            raise SettingsError(why)
        self.limits = limits
        self._expected_period = period
        self._max_period = PERIOD_MARGIN_FACTOR * max(1.0 / limits.min_input_rate, period)
        self.repeated = RepeatedPositions(stiction_torque(arm))
        self._zero = np.zeros(arm.n)
        self._positions = deque[tuple[float, Array]](maxlen=MIN_GOOD_STATE_COUNT)  # with stamps
        self._joint_names = arm.joint_names
        self._joint_kinds = tuple(joint.kind for joint in arm.joints)
        self._max_still_drift = np.full(arm.n, MAX_STILL_POSITION_DRIFT_RAD)
        self._max_velocity = MAX_POSSIBLE_SPEED_RATIO * arm.limit('velocity')
        # Bounds of position, velocity and effort, (3 n,). A velocity beyond its limit is possible:
        # an arm that falls must be braked, and a velocity that is wrong contradicts the positions.
        velocity = np.full(arm.n, MAX_POSSIBLE_VELOCITY_RAD_S)
        effort = MAX_POSSIBLE_EFFORT_TO_LIMIT * arm.limit('effort')
        lower = arm.limit('lower') - POSITION_TOLERANCE_RAD
        upper = arm.limit('upper') + POSITION_TOLERANCE_RAD
        # Finite also where there is no limit, so that an infinite value is beyond it.
        self._lower_bounds = np.nan_to_num(np.concatenate((lower, -velocity, -effort)))
        self._upper_bounds = np.nan_to_num(np.concatenate((upper, velocity, effort)))
        self._near_lower, self._near_upper = near_limits(arm)
        self.reset()

    def reset(self) -> None:
        """Forget all joint states."""
        self.q = np.full_like(self._zero, np.nan)
        self.dq = self._zero
        self.problem: Reason | None = ReasonCode.NO_STATE()
        self.has_possible_values = False
        self.is_position_known = False
        self.repeated.reset()
        self.forget_times()

    def forget_times(self) -> None:
        """Forget joint states but the last position, as after the clock was set back."""
        self.good_count = 0
        self.stamp: float | None = None
        self.elapsed = 0.0
        self.age = 0.0
        self.arrival_time = 0.0
        self.is_arrival_given = False
        # When the latest state came, by the clock of stamps and by this computer's [s].
        self._stamp_clock_at_arrival = 0.0
        self._own_clock_at_arrival = 0.0
        self._periods = deque[float](maxlen=MIN_GOOD_STATE_COUNT)
        self._ages = deque[float](maxlen=MIN_GOOD_STATE_COUNT)
        self.period = self._expected_period
        self.median_age = 0.0
        self._old_stamp_count = 0  # states in a row, up to the latest, whose stamps are not new
        self._set_back_count = 0  # those of them whose stamps lie before the newest
        self._stamps_repeat = False  # whether a stamp repeated just before the latest new one
        self._drift = self._zero
        self._positions.clear()

    @property
    def has_enough_states(self) -> bool:
        """Whether MIN_GOOD_STATE_COUNT usable joint states came in a row."""
        return self.good_count >= MIN_GOOD_STATE_COUNT

    @property
    def age_in_periods(self) -> int:
        """The age of the latest state in multiples of the last period, rounded; 0 if unknown."""
        if not self.elapsed:
            return 0
        periods = self.age / self.elapsed  # infinite, too, if two stamps hardly differ
        return round(periods) if math.isfinite(periods) else 0

    def silence_timeout(self) -> float:
        """Return the time without a new state after which states count as lost [s]."""
        return max(self.limits.state_timeout, 3.0 * self.period)

    def start_refusal(self) -> Reason | None:
        """Return why joint states allow no first torque yet, or None."""
        if not self.has_enough_states:
            return ReasonCode.FEW_STATES(good=self.good_count, needed=MIN_GOOD_STATE_COUNT)
        if self.median_age <= MAX_STATE_AGE_AT_START_S:
            return None
        age = 1e3 * self.median_age
        most = 1e3 * MAX_STATE_AGE_AT_START_S
        return ReasonCode.STALE_AT_START(age=age, most=most)

    def reject(self, problem: Reason | None) -> None:
        """Record why the latest state cannot be used; None: it can, and is counted."""
        self.problem = problem
        self.good_count = self.good_count + 1 if problem is None else 0

    def stamp_order(self, sample: StateSample) -> StampOrder:
        """
        Count a state's stamp; return whether it is new, repeated or late, or set back.

        Stamps that have not gone on for MIN_GOOD_STATE_COUNT states become the `problem`.
        """
        if self.stamp is None or sample.stamp > self.stamp:
            self._stamps_repeat = self._old_stamp_count > 0
            self._old_stamp_count = 0
            self._set_back_count = 0
            return StampOrder.NEW
        seconds_behind = self.stamp - sample.stamp
        self._old_stamp_count += 1
        if seconds_behind > 0.0:
            self._set_back_count += 1
        if self._old_stamp_count > MIN_GOOD_STATE_COUNT:  # before, stamps may be coarse
            self.problem = ReasonCode.STAMP_REPEATED(stamp=sample.stamp)
        if seconds_behind > MAX_REORDERING_TIME_S or self._set_back_count >= MIN_GOOD_STATE_COUNT:
            return StampOrder.SET_BACK
        return StampOrder.OUT_OF_ORDER

    def tick_arguments(self, old: StateSample) -> tuple[float, float]:
        """
        Return `now` and `silence` [s] of `tick` for a repeated or late state.

        `now` goes on by the clock of arrivals or, if nobody gives that, by this computer's. So
        does silence, but with an age it is told by the clock of stamps: simulated time may pause.
        """
        by_own_clock = old.arrival_time is None
        if old.arrival_time is None:
            waited = monotonic() - self._own_clock_at_arrival
        else:
            waited = old.arrival_time - self.arrival_time
        now = self.arrival_time + waited
        if old.age is None:
            return now, waited
        # Of the same state that comes again with a constant age no time seems to pass.
        if by_own_clock and waited > MAX_REORDERING_TIME_S:
            return now, waited
        return now, old.stamp + old.age - self._stamp_clock_at_arrival

    def check_timing(self, sample: StateSample) -> Reason | None:
        """Record a state's times; return why states are rare, old, ahead or missing, or None."""
        stamp_before = self.stamp
        self.stamp = sample.stamp
        self.arrival_time = sample.received_at
        self.is_arrival_given = sample.arrival_time is not None
        self._stamp_clock_at_arrival = sample.stamp + (sample.age or 0.0)
        self._own_clock_at_arrival = monotonic()
        stated_age = 0.0
        if sample.age is not None and self.limits.max_state_age > 0.0:
            stated_age = sample.age  # negative if it is ahead of the clock
        self.age = max(0.0, stated_age)
        self._ages.append(self.age)
        self.median_age = sorted(self._ages)[len(self._ages) // 2]
        if stamp_before is not None:
            self.elapsed = sample.stamp - stamp_before
            self._periods.append(self.elapsed)
            self.period = sorted(self._periods)[len(self._periods) // 2]
        return self._timing_problem(stated_age)

    def _timing_problem(self, stated_age: float) -> Reason | None:
        """Return why the latest state is rare, old, ahead or behind a gap, or None."""
        if len(self._periods) >= MIN_GOOD_STATE_COUNT - 1 and self.period > self._max_period:
            if self._stamps_repeat:
                return ReasonCode.COARSE_STAMPS(step=1e3 * self.period)
            least = PERIOD_MARGIN_FACTOR / self._max_period
            return ReasonCode.RARE_STATES(rate=1.0 / self.period, least=least)
        if self.elapsed > self.silence_timeout():
            return ReasonCode.STATES_MISSING(gap=1e3 * self.elapsed)
        max_age = self.limits.max_state_age  # 0: ages are not used, and the stated age is 0
        if math.isfinite(stated_age) and abs(stated_age) <= max_age:
            return None
        code = ReasonCode.STAMP_AHEAD if stated_age < 0.0 else ReasonCode.STALE
        return code(age=1e3 * abs(stated_age), most=1e3 * max_age)

    @property
    def is_velocity_wrong(self) -> bool:
        """Whether the velocities of the latest state contradict its positions."""
        wrong = (ReasonCode.WRONG_VELOCITY, ReasonCode.ZERO_VELOCITIES)
        return self.problem is not None and self.problem.code in wrong

    def velocity_by_positions(self) -> Array:
        """Return the mean velocity over the latest states' positions, (n,)."""
        if len(self._positions) < 2:
            return self._zero
        (begin, first), (end, last) = self._positions[0], self._positions[-1]
        return (last - first) / (end - begin)

    def require_radians(self, q: Array) -> None:
        """Raise JointVectorError if positions q, (n,), are probably degrees instead of radians."""
        if not np.isfinite(q).all():  # NumPy would warn of a signalling NaN
            return
        n = len(self._joint_names)
        radians = np.deg2rad(q)
        possible = (radians >= self._lower_bounds[:n]) & (radians <= self._upper_bounds[:n])
        if possible.all() and np.abs(q).max() > MAX_PLAUSIBLE_POSITION_RAD:
            joint = int(np.abs(q).argmax())
            raise JointVectorError(
                f'q is in degrees: {self._joint_names[joint]} is at {q[joint]:.4g}; give radians '
                f'({radians[joint]:.4g}).'
            )

    def check_values(self, q: Array, dq: Array, effort: Array | None) -> Reason | None:
        """Return why a value is impossible or no number, or None; (n,) each."""
        values = np.concatenate((q, dq, self._zero if effort is None else effort))  # (3 n,)
        is_possible = (values >= self._lower_bounds) & (values <= self._upper_bounds)
        if all(is_possible.tolist()):
            return None
        return self._impossible_value(values, is_possible)

    def _impossible_value(self, values: Array, is_possible: NDArray[np.bool_]) -> Reason:
        """
        Return a reason that names the first value that is no number or, if all are, is impossible.

        `values` (3 n,) are positions, velocities and efforts.
        """
        is_unknown = ~np.isfinite(values)
        is_wrong = is_unknown if is_unknown.any() else ~is_possible
        first = int(is_wrong.argmax())
        quantity, joint = divmod(first, len(self._joint_names))
        found: dict[str, Any] = {
            'what': ('position', 'velocity', 'effort')[quantity],
            'joint': self._joint_names[joint],
            'value': float(values[first]),
        }
        if is_unknown.any():
            return ReasonCode.VALUE_NOT_FINITE(**found)
        if found['what'] == 'effort':
            return ReasonCode.EFFORT_NOT_N_M(
                times=MAX_POSSIBLE_EFFORT_TO_LIMIT,
                effort_unit=self._joint_kinds[joint].effort_unit,
                stop=self._stop_text(values),
                **found,
            )
        least = float(self._lower_bounds[first])
        most = float(self._upper_bounds[first])
        return ReasonCode.IMPOSSIBLE_VALUE(least=least, most=most, **found)

    def _stop_text(self, values: Array) -> str:
        """
        Return the beginning of a sentence on a joint that may have hit its stop, '' if none has.

        Of several at a limit it is the one with the largest effort to its limit. An impact moves
        the other joints, too, so that the effort that is impossible may be another joint's, and
        the arm rebounds, so that efforts have either sign. `values` as for `_impossible_value`.
        """
        q, _, effort = np.split(values, 3)
        at_limit = (q <= self._near_lower) | (q >= self._near_upper)
        if not at_limit.any():
            return ''
        possible_effort = self._upper_bounds[2 * len(q) :]
        joint = int(np.where(at_limit, np.abs(effort) / possible_effort, -1.0).argmax())
        side = 'upper' if q[joint] >= self._near_upper[joint] else 'lower'
        return JOINT_AT_STOP.format(joint=self._joint_names[joint], side=side) + ', or '

    def receive(
        self,
        sample: StateSample,
        last_torque: Array,
        reference: Desired | None,
        *,
        is_active: bool,
        may_brakes_hold: bool,
    ) -> Reception:
        """
        Check and record a state with a new stamp; return what it is good for, and set `problem`.

        `last_torque` was sent last, (n,) [N m], `is_active` says whether the law or the brake
        answers states, and `may_brakes_hold` whether the arm's brakes may still hold it. An old
        state that comes again is dropped, as if none had come; after the time that silence may
        last, states are lost.
        """
        self.repeated.record(
            sample,
            self.q,
            last_torque,
            reference,
            is_active=is_active,
            may_brakes_hold=may_brakes_hold,
        )
        kind = self.repeated.latest
        timeout = self.silence_timeout()
        is_too_long = self.repeated.repeat_time_s > timeout
        is_old = kind is Repetition.OLD_STATE
        # A late state cannot show yet what the latest torques do.
        is_driven = self.repeated.driven_time_s > timeout + self.age
        is_frozen = is_active and (kind is Repetition.FROZEN or is_driven)
        if is_too_long and (is_old or is_frozen):
            self.reject(ReasonCode.FROZEN_POSITIONS(silence=1e3 * self.repeated.repeat_time_s))
            return Reception.FROZEN if is_active else Reception.DROPPED
        if is_old:
            return Reception.DROPPED
        return Reception.USABLE if self.check(sample) is None else Reception.UNUSABLE

    def check(self, sample: StateSample) -> Reason | None:
        """Check and record a new state; return why it is unusable."""
        problem = self.check_values(sample.q, sample.dq, sample.effort)
        self.has_possible_values = problem is None
        late: Reason | None = None
        if problem is None:
            late = self.check_timing(sample)
            problem = self._check_motion(sample.q, sample.dq)
            self.q = sample.q
            self.dq = sample.dq
            self._positions.append((sample.stamp, sample.q))
        self.is_position_known = problem is None
        self.reject(problem or late)
        return self.problem

    def _check_motion(self, q: Array, dq: Array) -> Reason | None:
        """Track drift; return why a joint leapt or contradicts its velocity, or None."""
        gap = self.elapsed
        moved = q - self.q
        if not 0.0 < gap <= self.silence_timeout() or math.isnan(moved[0]):
            self._drift = self._zero  # the first state, or the first one after a gap
            self._positions.clear()
            return None
        has_leapt = np.abs(moved) > self._max_velocity * gap + MAX_POSITION_DRIFT_RAD
        kept_share = max(0.0, 1.0 - gap / DRIFT_TIME_CONSTANT_S)
        drift = kept_share * self._drift + moved - 0.5 * gap * (dq + self.dq)
        self._drift = drift
        are_velocities_zero = not any(dq.tolist())
        if are_velocities_zero:
            max_drift = self._max_still_drift
        else:
            max_drift = MAX_POSITION_DRIFT_RAD + (MAX_VELOCITY_DELAY_S + gap) * np.abs(dq)
        has_drifted = np.abs(drift) > max_drift
        if not any((has_leapt | has_drifted).tolist()):
            return None
        self._drift = self._zero
        joint = int((has_leapt if has_leapt.any() else has_drifted).argmax())
        named = {
            'joint': self._joint_names[joint],
            'unit': self._joint_kinds[joint].position_unit,
        }
        if has_leapt[joint]:
            self._positions.clear()
            return ReasonCode.POSITION_LEAP(moved=float(moved[joint]), gap=gap, **named)
        if are_velocities_zero:
            return ReasonCode.ZERO_VELOCITIES(moved=float(drift[joint]), **named)
        velocity = float(dq[joint])
        return ReasonCode.WRONG_VELOCITY(moved=float(drift[joint]), velocity=velocity, **named)
