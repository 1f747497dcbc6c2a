# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Checks whether joint states can be trusted, by their stamps and values."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

from .possible_motion import Condition, ORDER_WINDOW, PossibleMotion
from ..arm import ArmDescription
from ..typing import Array


@dataclass(frozen=True)
class SupervisionLimits:
    """
    Limits beyond which joint states are not trusted.

    `min_input_rate` is the lowest rate of the topic [Hz], `state_timeout` the longest time between
    two states [s], `max_state_age` the largest difference between stamp and clock [s] (0: not
    checked), `recovery_samples` the number of good states in a row before torque is commanded,
    `max_restarts` the number of automatic restarts per minute.
    """

    min_input_rate: float = 200.0
    state_timeout: float = 0.02
    max_state_age: float = 0.1
    recovery_samples: int = 20
    max_restarts: int = 5


class Observation(NamedTuple):
    """
    The verdict of StateSupervisor on one joint state.

    `valid`: torque terms may be computed from the state. `trusted`: any torque may be commanded
    from the state; a braking torque may also be commanded if the states are valid but TOO_SLOW.
    """

    condition: Condition
    reason: str
    valid: bool

    @property
    def trusted(self) -> bool:
        """Whether any torque, not only one that brakes, may be commanded from the joint state."""
        return self.valid and self.condition is Condition.TRUSTED


# A changed clock shows in stamps that go back by more than _CLOCK_LEAP_S [s], or ahead by more
# than _CLOCK_LEAP_S while the steady clock advances by less than half as much.
_CLOCK_LEAP_S = 1.0
# _MOST_OUT_OF_ORDER messages out of order among the last ORDER_WINDOW show two publishers: the
# network reorders fewer. _ALL_BEHIND messages out of order in a row show that the clock was set
# back.
_MOST_OUT_OF_ORDER, _ALL_BEHIND = 3, 20
# After `ignore_next_gap` a gap between states of up to MOST_FORGIVEN_S [s] is no fault: computing
# a new ControlLaw may delay the control thread, and an arm may coast for 50 ms.
MOST_FORGIVEN_S = 0.05
_RATE_WINDOW = 20  # number of latest messages of which the median period is taken
_SILENT_PERIODS = 3  # a slow topic is silent only after this many of its own periods


class StateSupervisor:
    """
    Judges each joint state of one arm, and detects silence.

    Attributes
    ----------
    ages_are_delays : bool
        Whether stamps and clock are the same simulated time, so that the age of a state is a delay
        of the loop. Then the older a state, the shorter its torque is held (see `patience`).
    stamp, position : float and ndarray, shape (n,), or None
        Stamp [s] and positions [rad] of the last state in order.
    motion : PossibleMotion
        Checks values, and changes from one state to the next.
    slow_period : float
        Longest period of a topic that is fast enough [s].

    """

    def __init__(self, description: ArmDescription, limits: SupervisionLimits) -> None:
        self.limits = limits
        self.motion = PossibleMotion(description)
        self.slow_period = 1.0 / limits.min_input_rate
        self.counts = dict.fromkeys(Condition, 0)
        self.repeated = self.out_of_order = self.dropped = 0
        self.age = float('nan')
        self.ages_are_delays = False
        self.reset()

    def reset(self) -> None:
        """Forget all joint states and the condition."""
        self.condition, self.reason = Condition.WAITING, 'no joint state has arrived yet'
        self.stamp: float | None = None
        self._arrival, self._held_age = 0.0, 0.0  # arrival and age of the last new state
        self._clock_now: float | None = None  # ROS clock at the last message [s]
        self._clock_arrival: float | None = None  # ROS clock at the last new state [s]
        self.position: Array | None = None
        self._good_states = 0
        self._next_gap_ignored = False
        self._periods: deque[float] = deque(maxlen=_RATE_WINDOW)
        self._ages: deque[float] = deque(maxlen=_RATE_WINDOW)
        self._order: deque[bool] = deque(maxlen=ORDER_WINDOW)
        self._late_messages = 0
        self.motion.forget()

    @property
    def period(self) -> float:
        """Median stamp difference of the latest messages [s]; 0 while unknown."""
        # The median is used, so that a single gap does not count as a slow topic.
        return sorted(self._periods)[len(self._periods) // 2] if self._periods else 0.0

    @property
    def typical_age(self) -> float:
        """Median age of the latest states [s]; 0 while unknown, or if max_state_age is 0."""
        if not (self._ages and self.limits.max_state_age > 0.0):
            return 0.0
        return max(0.0, sorted(self._ages)[len(self._ages) // 2])

    @property
    def rate(self) -> float:
        """Rate of the topic by its stamps [Hz]; 0 while unknown."""
        period = self.period
        return 1.0 / period if period > 0.0 else 0.0

    def observe(
        self, stamp: float, q: Array, dq: Array, arrival: float, age: float | None = None
    ) -> Observation:
        """
        Judge one state.

        `stamp` is the stamp of the message [s]; positions `q` and velocities `dq`, shape (n,), are
        in joint order; `arrival` is the time of arrival by the steady clock [s]. `age` is the ROS
        clock minus the stamp [s]; None: the age is not checked.
        """
        self.age = float('nan') if age is None else age
        self._clock_now = None if age is None else stamp + age
        problem = self.motion.impossible(q, dq)
        if problem is not None:
            return self.reject(*problem)
        if self.stamp is None or self.position is None:
            return self._first(stamp, q, arrival)
        elapsed, patience, held_age = stamp - self.stamp, self.patience, self._held_age
        if elapsed == 0.0:
            self.repeated += 1
            return Observation(self.condition, 'the stamp did not advance', valid=False)
        self._order.append(elapsed < 0.0)
        if elapsed < 0.0:
            return self._backwards(stamp, elapsed, q, arrival)
        if elapsed > _CLOCK_LEAP_S and arrival - self._arrival < 0.5 * elapsed:
            self._first(stamp, q, arrival)
            return self.reject(
                Condition.CLOCK_JUMPED, f'the stamps leapt {elapsed:.3g} s ahead at once'
            )
        problem = self.motion.unlike(q, self.position, dq, elapsed)
        self._periods.append(elapsed)
        self._late_messages = 0
        self.stamp, self.position, self._arrival = stamp, q, arrival
        self._clock_arrival, self._held_age = self._clock_now, self.age
        if self.age == self.age:  # False for NaN, an unknown age
            self._ages.append(self.age)
        if problem is not None:
            self.motion.forget()
            return self.reject(*problem)
        return self._judge(elapsed, age, patience, held_age)

    def ignore_next_gap(self) -> None:
        """
        Do not count the next gap between states as silence: this process was busy.

        A gap longer than MOST_FORGIVEN_S still counts as silence.
        """
        self._next_gap_ignored = True

    def check_silence(self, now: float, simulated: float | None = None) -> Condition:
        """
        Set the condition STALE if no new state has come for too long; return the condition.

        A silence is too long if it exceeds `patience` and three median periods of the topic.

        `now` is the time by the steady clock [s]. `simulated` is the time by a simulated ROS clock
        [s]; None: the ROS clock is not simulated. Silence is measured in simulated time, if given,
        which does not pass while the simulation is paused.
        """
        silence, of_time = now - self._arrival, ''
        if simulated is not None:
            if self._clock_arrival is None or simulated < self._clock_arrival:
                self._clock_arrival = simulated  # first call, or the clock was set back
            silence, of_time = simulated - self._clock_arrival, ' of simulated time'
        patience = max(self.patience, _SILENT_PERIODS * self.period)
        if self.stamp is not None and silence > patience and self.condition is not Condition.STALE:
            self.reject(
                Condition.STALE,
                f'no new joint state for {1e3 * silence:.0f} ms{of_time}'
                f'{self._because(self.patience, self._held_age)}; is its publisher running, '
                'and do its stamps advance?',
            )
        return self.condition

    def _first(self, stamp: float, q: Array, arrival: float) -> Observation:
        self._periods.clear()
        self._ages.clear()
        self._order.clear()
        self._good_states = self._late_messages = 0
        self.motion.forget()
        self.stamp, self.position, self._arrival = stamp, q, arrival
        self._clock_arrival = self._clock_now
        self.condition, self.reason = Condition.ACQUIRING, 'the first joint state has arrived'
        return Observation(self.condition, self.reason, valid=True)

    def _backwards(self, stamp: float, elapsed: float, q: Array, arrival: float) -> Observation:
        """Judge a state with an older stamp: reset clock, second publisher or late message."""
        self._late_messages += 1
        if elapsed < -_CLOCK_LEAP_S or self._late_messages >= _ALL_BEHIND:
            self._first(stamp, q, arrival)
            return self.reject(
                Condition.CLOCK_JUMPED,
                f'the stamps went back by {-elapsed:.3g} s; was the clock or the '
                'simulation reset?',
            )
        self.out_of_order += 1
        # If all messages out of order so far came in a row, perhaps the simulation was restarted,
        # and there is no second publisher.
        if self._late_messages < sum(self._order) >= _MOST_OUT_OF_ORDER:
            return self.reject(
                Condition.INTERLEAVED,
                f'{sum(self._order)} of the last {len(self._order)} stamps '
                "went back; more than one publisher seems to send this arm's states",
            )
        return Observation(
            self.condition, 'the state is older than the one before it', valid=False
        )

    @property
    def patience(self) -> float:
        """Time for which the torque of the last state may be held [s]."""
        timeout, oldest = self.limits.state_timeout, self.limits.max_state_age
        if not (self.ages_are_delays and self._held_age > 0.0 < oldest):
            return timeout
        return max(
            timeout * (1.0 - self._held_age / oldest), min(timeout, _SILENT_PERIODS * self.period)
        )

    def _because(self, patience: float, age: float) -> str:
        """Return a remark if the age of the last state shortens the time-out, else ''."""
        if patience == self.limits.state_timeout:
            return ''
        return f' ({1e3 * patience:.0f} ms are allowed after a state {1e3 * age:.0f} ms old)'

    def _judge(
        self, elapsed: float, age: float | None, patience: float, held_age: float
    ) -> Observation:
        """Set `condition` by the rate of the states, the gap before this state and its age."""
        limits = self.limits
        known = len(self._periods) >= min(_RATE_WINDOW, limits.recovery_samples)
        slow = self.period > self.slow_period
        ignored = self._next_gap_ignored and elapsed <= MOST_FORGIVEN_S
        self._next_gap_ignored = False
        if known and slow:
            return self.reject(
                Condition.TOO_SLOW,
                f'joint states come at {self.rate:.0f} Hz, less than the '
                f'{limits.min_input_rate:.0f} Hz that a command needs; subscribe to the '
                'full-rate topic (franka_ros2: franka/joint_states)',
                valid=True,
            )
        if not slow and elapsed > patience and not ignored:
            self.dropped += round(elapsed * self.rate) - 1
            return self.reject(
                Condition.STALE,
                f'{1e3 * elapsed:.0f} ms of joint states are missing'
                f'{self._because(patience, held_age)}',
                valid=True,
            )
        if age is not None and 0.0 < limits.max_state_age < abs(age):
            side = 'behind' if age > 0.0 else 'ahead of'
            return self.reject(
                Condition.TOO_OLD,
                f"the stamp is {abs(age):.3g} s {side} this node's clock (at most "
                f'{limits.max_state_age:.3g} s is allowed, either way); synchronise the clocks, '
                'set use_sim_time where '
                'time is simulated, or set max_state_age to 0',
                valid=True,
            )
        self._good_states += 1
        if self._good_states >= limits.recovery_samples:
            fresh = ', fresh' if limits.max_state_age > 0.0 else ''
            self.condition = Condition.TRUSTED
            self.reason = f'states are complete{fresh} and fast'
        else:
            self.condition = Condition.ACQUIRING
            self.reason = f'{self._good_states} of {limits.recovery_samples} good states in a row'
        return Observation(self.condition, self.reason, valid=True)

    def reject(self, condition: Condition, reason: str, *, valid: bool = False) -> Observation:
        """Set and count `condition`, restart the count of good states; return the Observation."""
        self.condition, self.reason = condition, reason
        self.counts[condition] += 1
        self._good_states = 0
        return Observation(condition, reason, valid)
