# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Follows when joint states come: their stamps, ages and periods, and how long none has come.

Stamps are by the clock of whoever measures; they may repeat, come late, or be set back with that
clock. Arrivals are by the clock of `tick`. Where nobody gives these, stamps stand for them, and
silence is told by this computer's clock.
"""

from collections import deque
from enum import Enum
import math
from time import monotonic

from .ending import Reason, ReasonCode
from .limits import MAX_STATE_PERIOD_S, MIN_STATE_PERIOD_S, PERIOD_MARGIN_FACTOR
from .settings import StateLimits
from .state_input import StateSample
from ..errors import SettingsError

# Torques begin after so many usable joint states in a row, the latest of which give the median
# period and age.
MIN_GOOD_STATE_COUNT = 20
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


class StateTiming:
    """
    Follows the times of joint states, one after the other, by the bounds of `limits`.

    `period` is the time between two states that is assumed until some have come [s]. Raises
    SettingsError if it is out of range. `StateCheck`, which checks values, has the attributes.
    """

    def __init__(self, limits: StateLimits, period: float) -> None:
        if not MIN_STATE_PERIOD_S <= period <= MAX_STATE_PERIOD_S:
            why = f'period {period:g} s is not {MIN_STATE_PERIOD_S:g} to {MAX_STATE_PERIOD_S:g} s.'
            if MAX_STATE_PERIOD_S < period < 10.0:
                n = math.ceil(period / MAX_STATE_PERIOD_S)
                why += f' Use substeps: for _ in range({n}): step, then move by {period / n:g} s.'
            raise SettingsError(why)
        self.limits = limits
        self._expected_period = period
        self._max_period = PERIOD_MARGIN_FACTOR * max(1.0 / limits.min_input_rate, period)
        self.problem: Reason | None = ReasonCode.NO_STATE()
        self.forget_times()

    def forget_times(self) -> None:
        """Forget when joint states came, as after the clock was set back."""
        self.good_count = 0
        self.stamp: float | None = None
        self.elapsed = 0.0
        self.age = 0.0
        self.arrival_time = 0.0
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

    def check_timing(self, sample: StateSample, now: float) -> Reason | None:
        """
        Record the times of a new state that came at `now` [s].

        Return why states are rare, old, ahead of the clock or missing, or None.
        """
        stamp_before = self.stamp
        self.stamp = sample.stamp
        self.arrival_time = now
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
