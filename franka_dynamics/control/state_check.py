# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Checks whether joint states are possible, on time and consistent with the state before."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
import math
from statistics import median_high
from time import monotonic
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .ending import Cause, Ending
from .terms import MAX_REST_SPEED_RAD_S
from ..arm import ArmDescription
from ..arrays import as_array
from ..errors import JointVectorError, SettingsError
from ..typing import Array

# A position may be POSITION_TOLERANCE_RAD beyond its limit, a speed MAX_POSSIBLE_SPEED_RATIO times
# its limit, a step of position MAX_DRIFT_RAD more than that speed allows. Position and integrated
# velocity may differ by MAX_DRIFT_RAD and what a velocity MAX_VELOCITY_DELAY_S late explains; this
# drift decays with DRIFT_TIME_CONSTANT_S. On real FERs it was at most 7 mrad at 1 kHz, 33 mrad at
# 30 Hz.
POSITION_TOLERANCE_RAD = 0.2
MAX_POSSIBLE_SPEED_RATIO = 2.0
MAX_DRIFT_RAD = 0.02
MAX_VELOCITY_DELAY_S = 0.005
DRIFT_TIME_CONSTANT_S = 0.2
# Positions of which one is beyond this [rad], and none is out of its limits as degrees, are
# degrees.
MAX_PLAUSIBLE_POSITION_RAD = 10.0
MAX_POSSIBLE_EFFORT_RATIO = 10.0  # a measured effort beyond this many torque limits is not in N m
# Torques begin after so many usable joint states in a row, the latest of which give the median
# period and age.
MIN_GOOD_STATE_COUNT = 20
MAX_AGE_AT_START_S = 0.015  # of the first torque's states: feedback from older ones may oscillate
# A state older than the last one is a late message, unless it is MAX_LATE_S older or the
# MIN_GOOD_STATE_COUNT-th in a row: then the clock was set back. So long the same state may come
# again, as in simulated time that is slow. It is no measured figure: it allows a thousandth of
# real time at 1 kHz.
MAX_LATE_S = 1.0
# A position that repeats bit for bit longer than states may be missing stands still. So does a
# simulated arm at rest without noise, and a joint that sticks, with a coarse encoder. But no joint
# is stopped between two counts of an encoder of 0.1 mrad that was faster than
# MIN_FROZEN_SPEED_RAD_S, which takes 50 rad/s^2. And one moves that is desired to, faster than at
# rest, once its torque has changed by more than its friction: STICTION_MARGIN_RATIO times the one
# that the arm's description has (6.5 % of the torque limit at joint 5 of an FR3, MuJoCo
# Menagerie), and at least MIN_STICTION_TORQUE_RATIO times the torque limit. More, and the guard
# would take a small measured torque for none at the start.
MIN_FROZEN_SPEED_RAD_S = 0.1
MIN_STICTION_TORQUE_RATIO = 0.02
STICTION_MARGIN_RATIO = 1.25
# Range of the time between two states that a caller may state [s].
MIN_PERIOD_S = 0.5e-3
MAX_PERIOD_S = 0.01
# What is decided by a period bears one that later is PERIOD_MARGIN_RATIO times as long.
PERIOD_MARGIN_RATIO = 1.05
# Advice to a loop in Python about rare and about old states; a node has its own.
RATE_ADVICE = (
    'pass on every state of the robot, with its time in seconds; a slower loop of yours gives its '
    f'period (at most {MAX_PERIOD_S:g} s), or calls step in substeps'
)
AGE_ADVICE = 'synchronise the clocks, or set max_state_age to 0'
# States lost more than MAX_RESTART_COUNT times within RESTART_WINDOW_S [s] are a fault.
MAX_RESTART_COUNT = 5
RESTART_WINDOW_S = 60.0


@dataclass(frozen=True)
class StateLimits:
    """
    Bounds for joint states and measured efforts, and whether efforts contain friction.

    `min_input_rate` is the lowest rate of states [Hz]; a loop that says that its period is longer
    has that of its period. `state_timeout` is the longest time between two [s], `max_state_age`
    their largest age [s] (0: ages are not used).
    `effort_friction` says whether measured torques contain friction: included, excluded or auto.
    `held_until_commanded`: a receiver that adds no gravity carries the arm until the first torque
    comes.
    """

    min_input_rate: float = 200.0
    state_timeout: float = 0.02
    max_state_age: float = 0.1
    effort_friction: str = 'auto'
    held_until_commanded: bool = False


class Sample(NamedTuple):
    """
    One joint state as it comes: arrays of shape (n,), SI units.

    `stamp` is its time, `age` how old it is, or None, `now` its arrival by the clock of `tick`.
    `effort` is None if none was measured.
    """

    q: Array
    dq: Array
    effort: Array | None
    stamp: float
    age: float | None
    now: float | None


class StateCheck:
    """
    Checks the joint states of one arm, one after the other, against `limits`.

    `period` is the time between two states that is assumed until some have come [s]. Raises
    SettingsError if it is out of range.

    Attributes
    ----------
    stamp : float or None
        Stamp of the latest possible state [s].
    q, dq : ndarray, shape (n,)
        Its position [rad] and velocity [rad/s]; NaN and zero if no possible state has come.
    elapsed, age : float
        Time between it and the one before, and its age [s].
    period, median_age : float
        Their medians over the latest states [s]; before any, the expected period and 0.
    arrival : float
        When it came, by the clock of `now` [s].
    good : int
        Number of usable joint states in a row.
    problem : str
        Why the latest state cannot be used, '' if it can.
    still_s : ndarray, shape (n,)
        For how long the position of each joint repeats bit for bit, while a torque acts [s].
    leapt : bool
        Whether a joint has moved as it cannot, and has not come back at once: no position is
        believed until `start`.

    """

    def __init__(self, arm: ArmDescription, limits: StateLimits, period: float) -> None:
        if not MIN_PERIOD_S <= period <= MAX_PERIOD_S:
            why = f'period is {period:g} s; it must be {MIN_PERIOD_S:g} to {MAX_PERIOD_S:g} s.'
            if MAX_PERIOD_S < period < 10.0:
                steps = math.ceil(period / MAX_PERIOD_S)
                why += (
                    f' Call step in substeps, here with period {period / steps:g}: for _ in '
                    f'range({steps}): tau = controller.step(q, dq, time), and move the arm by '
                    f'{period / steps:g} s.'
                )
            raise SettingsError(why)
        self.limits, self._period, self._names = limits, period, arm.joint_names
        self._max_period = PERIOD_MARGIN_RATIO * max(1.0 / limits.min_input_rate, period)
        self._fastest = MAX_POSSIBLE_SPEED_RATIO * arm.limit('velocity')
        effort = MAX_POSSIBLE_EFFORT_RATIO * arm.limit('effort')
        most = np.concatenate((self._fastest, effort))
        # Bounds of position, velocity and effort, (3 n,), finite also where a joint has no limits.
        lower, upper = arm.limit('lower'), arm.limit('upper')
        self._lowest = np.nan_to_num(np.concatenate((lower - POSITION_TOLERANCE_RAD, -most)))
        self._highest = np.nan_to_num(np.concatenate((upper + POSITION_TOLERANCE_RAD, most)))
        self._zero, self._never = np.zeros(arm.n), np.zeros(arm.n, dtype=bool)
        self._stiction = stiction(arm)
        self.reset()

    def reset(self) -> None:
        """Reset to no joint state and no losses of joint states."""
        self.q, self.dq = np.full_like(self._zero, np.nan), self._zero
        self.problem = 'no joint state has come yet'
        self.start()
        self.reset_except_position()

    def start(self) -> None:
        """Believe positions again, and count losses of joint states from zero."""
        self.leapt = self.contradicts = False
        # Stamp, position and velocity before a leap that may still be taken back.
        self._before_leap: tuple[float, Array, Array] | None = None
        self.reset_losses()

    def reset_except_position(self) -> None:
        """Reset to no joint state, but keep the last position and the losses of states."""
        self.stamp: float | None = None
        self.good = 0
        self._drift, self._before_leap = self._zero, None
        # Which positions are the last ones, bit for bit. Of each joint, while this is so: for how
        # long [s], the velocity before, the torque sent then, and whether it must have moved.
        self._same = self._must_move = self._never
        self.live = self.possible = ~self._never
        self.still_s = self._dq_before = self._torque = self._zero
        self.elapsed = self.age = self.arrival = 0.0
        # When the latest state came, by the clock of stamps and by this computer's [s].
        self._came = 0.0, 0.0
        self._behind = self._repeated = 0
        self._track = deque[tuple[float, Array]](maxlen=MIN_GOOD_STATE_COUNT)
        self._periods = deque[float](maxlen=MIN_GOOD_STATE_COUNT)
        self._ages = deque[float](maxlen=MIN_GOOD_STATE_COUNT)
        self.period, self.median_age = self._period, 0.0

    def reset_losses(self) -> None:
        """Reset the record of when joint states were lost."""
        self._lost_at = deque[float](maxlen=MAX_RESTART_COUNT + 1)

    def record_loss(self, now: float) -> str:
        """Record a loss of joint states at `now` [s]; return a text if too frequent, or ''."""
        self._lost_at.append(now)
        count = len(self._lost_at)
        often = count > MAX_RESTART_COUNT and now - self._lost_at[0] < RESTART_WINDOW_S
        return f'stopped {count} times within a minute: ' if often else ''

    def tick_times(self, old: Sample) -> tuple[float, float | None]:
        """
        Return the arguments `now` and `silence` of `Feedforward.tick` after an old state [s].

        Without its age the clock of `now` counts, and if `now` is None this computer's. This
        computer's counts also with an age, from MAX_LATE_S on: a constant age hides that the same
        state comes again.
        """
        by_stamps, here = self._came
        silence = None if old.age is None else old.stamp + old.age - by_stamps  # simulated time
        if old.now is not None:
            return old.now, silence
        waited = monotonic() - here
        if silence is None or waited > MAX_LATE_S:
            silence = waited
        return self.arrival + silence, silence

    def accept(self) -> None:
        """Count the latest state as usable."""
        self.good, self.problem = self.good + 1, ''

    def reject(self, why: str) -> None:
        """Record why the latest state cannot be used; count usable states from zero."""
        self.good, self.problem, self._drift = 0, why, self._zero

    def repetition(self, stamp: float) -> str:
        """Return a sentence if too many stamps in a row were not new, else ''."""
        if self._repeated <= MIN_GOOD_STATE_COUNT:  # stamps may be coarse
            return ''
        self.problem = f'the time of joint states does not go on ({stamp:g} s again)'
        return self.problem

    @property
    def too_rare(self) -> bool:
        """Whether joint states come too rarely for torques."""
        return self.period > self._max_period

    @property
    def has_enough(self) -> bool:
        """Whether MIN_GOOD_STATE_COUNT usable joint states came in a row."""
        return self.good >= MIN_GOOD_STATE_COUNT

    def start_blocker(self) -> str:
        """Return why joint states allow no first torque yet, or ''."""
        if not self.has_enough:
            return f'{self.good} of {MIN_GOOD_STATE_COUNT} good joint states have come'
        if self.median_age <= MAX_AGE_AT_START_S:
            return ''
        return (
            f'joint states are {1e3 * self.median_age:.0f} ms old, and the first torque needs '
            f'states of at most {1e3 * MAX_AGE_AT_START_S:.0f} ms; {AGE_ADVICE}'
        )

    def silence_timeout(self, *, from_stamps: bool = False) -> float:
        """
        Return the time without a new state after which states count as lost [s].

        If silence is measured `from_stamps`, as in simulated time, the time-out is shorter after
        an old state, whose torque was late already.
        """
        ratio, max_age = 1.0, self.limits.max_state_age
        if from_stamps and max_age > 0.0:
            ratio = max(0.0, 1.0 - self.age / max_age)
        return max(ratio * self.limits.state_timeout, 3.0 * self.period)

    @property
    def age_in_periods(self) -> int:
        """Age of the latest state in multiples of the last period, rounded."""
        return round(self.age / self.elapsed) if self.elapsed > 0.0 else 0

    def sample(
        self, q: ArrayLike, dq: ArrayLike, effort: ArrayLike | None, stamp: Any, age: Any, now: Any
    ) -> Sample:
        """Return a joint state as arrays and floats; an effort of NaN alone, or age, is none."""
        shape, error = self._zero.shape, JointVectorError
        q = as_array(q, shape, 'q', error, finite=False)
        dq = as_array(dq, shape, 'dq', error, finite=False)
        if effort is not None:
            effort = as_array(effort, shape, 'effort', error, finite=False)
            effort = None if np.isnan(effort).all() else effort
        stamp = seconds('time', stamp)
        now = None if now is None else seconds('now', now)
        age = None if age is None else seconds('age', age, finite=False)
        return Sample(q, dq, effort, stamp, None if age is None or math.isnan(age) else age, now)

    def stamp_error(self, stamp: float) -> str:
        """Return '' for a new stamp [s], 'late' for an old one, 'set back' if it is far back."""
        if self.stamp is None or stamp > self.stamp:
            self._behind = self._repeated = 0
            return ''
        self._repeated += 1
        self._behind += stamp < self.stamp
        late = self._behind < MIN_GOOD_STATE_COUNT and self.stamp - stamp <= MAX_LATE_S
        return 'late' if late else 'set back'

    def impossible(self, q: Array, dq: Array, effort: Array | None) -> Ending | None:
        """Return an ending if a value is impossible for this arm, or no number."""
        every = np.concatenate((q, dq, self._zero if effort is None else effort))
        possible = (every >= self._lowest) & (every <= self._highest)
        self.possible = ~self._never
        if possible.all():
            return None
        self.possible = possible[: len(q)] & possible[len(q) : 2 * len(q)]
        unknown = ~np.isfinite(every)
        first = int((unknown if unknown.any() else ~possible).argmax())
        kind, joint = divmod(first, len(self._names))
        what = f'the {("position", "velocity", "effort")[kind]} of {self._names[joint]}'
        why = f'{what} is {every[first]:.4g}'
        if unknown.any():
            return Cause.STATES_LOST.ending(why)
        return Cause.STATE_IMPOSSIBLE.ending(
            f'{why}, and can be {self._lowest[first]:.4g} to {self._highest[first]:.4g}; check '
            'its driver, the order of the joints and the units (radians, N m)'
        )

    def refuse_degrees(self, q: Array) -> None:
        """Raise JointVectorError if positions q, (n,), are in degrees instead of radians."""
        if not np.isfinite(q).all():
            return
        n, radians = len(self._names), np.deg2rad(q)
        possible = (radians >= self._lowest[:n]) & (radians <= self._highest[:n])
        if possible.all() and np.abs(q).max() > MAX_PLAUSIBLE_POSITION_RAD:
            joint = int(np.abs(q).argmax())
            raise JointVectorError(
                f'q is in degrees: {self._names[joint]} is at {q[joint]:.4g}; give radians '
                f'({radians[joint]:.4g}).'
            )

    def frozen_joint(self, torque: Array | None, desired_dq: Array) -> Ending | None:
        """
        Return an ending if a moving joint's measured position repeats bit for bit.

        To be called after each `update`. `torque` was sent last, (n,) [N m]; None: none acts, and
        nothing is judged. `desired_dq` is the desired velocity, (n,) [rad/s]. A real encoder's
        position never repeats for long. A simulator's without noise does, of an arm at rest.
        """
        same = self._same
        self.live = ~(same & ~self.live)  # until its position changes
        if torque is None or not np.count_nonzero(same):
            self.still_s, self._dq_before, self._must_move = self._zero, self.dq, self._never
            return None
        self._torque = np.where(self.still_s > 0.0, self._torque, torque)
        self.still_s = np.where(same, self.still_s + self.elapsed, 0.0)
        self._dq_before = np.where(same, self._dq_before, self.dq)
        led = (np.abs(torque - self._torque) > self._stiction) & (
            np.abs(desired_dq) > MAX_REST_SPEED_RAD_S
        )
        self._must_move = same & (self._must_move | self._moved | led)
        stuck = self._must_move & (self.still_s > self.silence_timeout())
        if not stuck.any():
            return None
        joint, self.live = int(stuck.argmax()), self.live & ~stuck
        return Cause.POSITION_STANDS_STILL.ending(
            f'the position of {self._names[joint]} stands still bit for bit at '
            f'{self.q[joint]:.6g} rad, for {1e3 * self.still_s[joint]:.0f} ms, though the joint '
            'must move; either its torque is not applied, or a brake holds it, or its sensor '
            'fails, or the driver repeats an old state'
        )

    @property
    def _moved(self) -> Array:
        """Which joints moved before their positions began to repeat, (n,)."""
        return np.asarray(np.abs(self._dq_before) > MIN_FROZEN_SPEED_RAD_S)

    @property
    def is_repeated(self) -> bool:
        """Whether all positions of an arm that moved are those of the state before."""
        return bool(self.still_s.all() and self._moved.any())

    def extrapolated_state(self) -> tuple[Array, Array]:
        """Return positions and velocities, (n,) each, extrapolated while positions repeat."""
        return self.q + self.still_s * self._dq_before, self._dq_before

    def update(self, sample: Sample, now: float) -> Ending | None:
        """Record a possible state that came at `now` [s]; return an ending if it is unusable."""
        stamp, q, dq, age = sample.stamp, sample.q, sample.dq, sample.age
        self.arrival, self._came = now, (stamp + (age or 0.0), monotonic())
        late = self._untimely(stamp, age)
        problem = Cause.STATES_LOST.ending(late) if late else self._leap(stamp, q, dq)
        self._same = q == self.q
        self.q, self.dq = q, dq
        self._track.append((stamp, q))
        return problem

    @property
    def believed_dq(self) -> Array:
        """The measured velocities, or those by positions once the measured are contradicted."""
        (before, q), (stamp, now) = self._track[0], self._track[-1]
        if not self.contradicts or stamp <= before:
            return self.dq
        return np.asarray((now - q) / (stamp - before))

    def _untimely(self, stamp: float, age: float | None) -> str:
        """Return why states are too rare, too late or missing, or ''; note period and age."""
        limits, before, self.stamp = self.limits, self.stamp, stamp
        age = age if age is not None and limits.max_state_age > 0.0 else 0.0
        self.age = max(0.0, age)
        self._ages.append(self.age)
        self.median_age = median_high(self._ages)
        if before is not None:
            self.elapsed = stamp - before
            self._periods.append(self.elapsed)
            self.period = median_high(self._periods)
        if len(self._periods) >= MIN_GOOD_STATE_COUNT - 1 and self.too_rare:
            return (
                f'joint states come at {1.0 / self.period:.0f} Hz, and at least '
                f'{PERIOD_MARGIN_RATIO / self._max_period:.0f} Hz are needed; {RATE_ADVICE}'
            )
        if self.elapsed > self.silence_timeout():
            return f'{1e3 * self.elapsed:.0f} ms of joint states are missing'
        if not math.isfinite(age) or abs(age) > limits.max_state_age > 0.0:
            return (
                f'joint states are {1e3 * age:.4g} ms old ({1e3 * limits.max_state_age:.0f} are '
                f'allowed); {AGE_ADVICE}'
            )
        return ''

    def _leap(self, stamp: float, q: Array, dq: Array) -> Ending | None:
        """Return an ending if a joint moved as it cannot, or not as its velocity says."""
        if self.elapsed == 0.0:  # the first state
            return None
        leap = self._before_leap
        if leap is not None and stamp - leap[0] > self.silence_timeout():
            leap = self._before_leap = None
        before = leap or (stamp - self.elapsed, self.q, self.dq)
        gap, moved = stamp - before[0], q - before[1]
        far = np.abs(moved) > self._fastest * gap + MAX_DRIFT_RAD
        keep = max(0.0, 1.0 - gap / DRIFT_TIME_CONSTANT_S)
        self._drift = drift = keep * self._drift + moved - 0.5 * gap * (dq + before[2])
        wrong = far | (np.abs(drift) > MAX_DRIFT_RAD + (MAX_VELOCITY_DELAY_S + gap) * np.abs(dq))
        if not wrong.any():
            self.leapt &= leap is None
            self._before_leap = None
            return None
        joint = int((far if far.any() else wrong).argmax())
        why = f'is {drift[joint]:.3g} rad from where its velocity ({dq[joint]:.3g} rad/s) takes it'
        if far[joint]:
            why = f'moved by {moved[joint]:.3g} rad in {gap:.3g} s, faster than it can'
            self._before_leap = leap if self.leapt else before
            self.leapt = True
        elif not dq.any():
            why = f'moved by {drift[joint]:.3g} rad though all velocities are zero'
        self.contradicts |= not far[joint]
        return Cause.STATE_IMPOSSIBLE.ending(
            f'{self._names[joint]} {why}; check its driver, the units of velocity and time, and '
            'whether two sources send joint states; where a simulation was set back, the '
            'controller must be reset, too'
        )


def stiction(arm: ArmDescription) -> Array:
    """Return the change of torque below which friction may hold a joint, (n,) [N m]."""
    known, speed = arm.friction or arm.simulated_friction, np.full(arm.n, MIN_FROZEN_SPEED_RAD_S)
    slides = np.zeros(arm.n) if known is None else np.abs(known.torque(speed))
    least = MIN_STICTION_TORQUE_RATIO * arm.limit('effort')
    return np.maximum(least, STICTION_MARGIN_RATIO * slides)


def seconds(name: str, value: Any, *, finite: bool = True) -> float:
    """Return a time [s] as a float; raise JointVectorError if it is not a number."""
    if type(value) is float and (not finite or math.isfinite(value)):
        return value
    nan = isinstance(value, (float, np.floating)) and not finite  # or infinite
    return float(as_array(value, (), name, JointVectorError, finite=not nan))
