# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Checks whether joint states are possible, on time and consistent with the state before."""

from collections import deque
from enum import Enum
import logging
import math
from time import monotonic
from typing import Any, NamedTuple

import numpy as np

from .ending import Cause, Ending, Reason, ReasonCode
from .limits import MAX_STATE_PERIOD_S, MAX_STEP_S, MIN_STATE_PERIOD_S, PERIOD_MARGIN_FACTOR
from .settings import StateLimits
from ..arm import ArmDescription
from ..arm.friction import MAX_STATE_GAP_S
from ..arrays import Array, ArrayLike, as_array, as_seconds
from ..errors import JointVectorError, SettingsError
from ..motion.planning import MAX_PLAUSIBLE_POSITION_RAD

# A position may be POSITION_TOLERANCE_RAD beyond its limit, a speed MAX_POSSIBLE_SPEED_RATIO
# times its limit, a step of position MAX_POSITION_DRIFT_RAD more than that speed allows.
# Position and integrated velocity may differ by MAX_POSITION_DRIFT_RAD and what a velocity
# MAX_VELOCITY_DELAY_S late explains; this drift decays with DRIFT_TIME_CONSTANT_S, and is at
# most MAX_STILL_POSITION_DRIFT_RAD where all velocities are zero. On real FERs it was at most
# 7 mrad at 1 kHz, 33 mrad at 30 Hz.
POSITION_TOLERANCE_RAD = 0.2
MAX_POSSIBLE_SPEED_RATIO = 2.0
MIN_POSITION_TO_STATED_SPEED = 0.5  # of a speed beyond that, by positions: then it is a fast arm's
MAX_POSITION_DRIFT_RAD = 0.02
MAX_STILL_POSITION_DRIFT_RAD = 0.25 * MAX_POSITION_DRIFT_RAD
MAX_VELOCITY_DELAY_S = 5.0 * MAX_STEP_S
DRIFT_TIME_CONSTANT_S = 0.2
MAX_POSSIBLE_EFFORT_TO_LIMIT = 3.0  # a measured effort beyond so many limits is not in N m
# Torques begin after so many usable joint states in a row, the latest of which give the median
# period and age.
MIN_GOOD_STATE_COUNT = 20
# States of the first torque are at most so old: feedback from older ones may oscillate.
MAX_STATE_AGE_AT_START_S = 0.015
# A state older than the last one is out of order, unless it is MAX_REORDERING_TIME_S older or the
# MIN_GOOD_STATE_COUNT-th in a row: then the clock was set back. So long the same state may come
# again, as in simulated time that is slow. It is no measured figure: it allows a thousandth of
# real time at 1 kHz.
MAX_REORDERING_TIME_S = 1.0
# States lost more than MAX_STATE_LOSS_COUNT times within STATE_LOSS_WINDOW_S [s] are a fault.
MAX_STATE_LOSS_COUNT, STATE_LOSS_WINDOW_S = 5, 60.0

_FLOAT64 = np.dtype(float)
_LOG = logging.getLogger(__name__)


class StateSample(NamedTuple):
    """
    One received joint state with its stamp, age and arrival time, (n,) arrays in SI units.

    `stamp` is its time, `age` how old it is, or None, `arrival_time` its arrival by the clock of
    `tick`. `effort` is None if none was measured.
    """

    q: Array
    dq: Array
    effort: Array | None
    stamp: float
    age: float | None
    arrival_time: float | None


class StampOrder(Enum):
    """Order of a joint state's stamp after the one before: new, repeated or late, or set back."""

    NEW = 'after it'
    OUT_OF_ORDER = 'not after it: a message comes again, or was overtaken'
    SET_BACK = 'so far before it that the clock of stamps was set back'


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
    dq_before : ndarray, shape (n,)
        Velocity of the state before [rad/s].
    position_repeats, possible_position_mask, possible_joint_mask : ndarray of bool, shape (n,)
        Which positions are bit for bit those of the state before; which are possible; of which
        joints position and velocity are possible.
    changed_velocity_mask, outrun_joint_mask : ndarray of bool, shape (n,)
        Which velocities are possible and not bit for bit those of the state before; which
        positions repeat since before the velocity took the joint elsewhere.
    elapsed, age : float
        Time between it and the one before, and its age [s].
    raw_elapsed : float
        Time between the latest two states, possible or not [s].
    age_in_periods : int
        Its age in multiples of the last period, rounded.
    period, median_age : float
        Their medians over the latest states [s]; before any, the expected period and 0.
    arrival_time : float
        When it came, by the clock of `now` [s].
    good_count : int
        Number of usable joint states in a row.
    problem : Reason or None
        Why the latest state cannot be used.
    leapt_joints : ndarray of bool, shape (n,)
        Which joints moved as they cannot, until `start` or until their positions are where their
        velocities took them. A stop by the model, and the resting torque, follow such a joint by
        its velocity.
    velocity_contradicted : bool
        Whether velocities contradict positions: until `start` they are not believed.
    believes_fast_joints : bool
        Whether velocities beyond their bounds that positions confirm are possible, until `start`.

    """

    def __init__(self, arm: ArmDescription, limits: StateLimits, period: float) -> None:
        if not MIN_STATE_PERIOD_S <= period <= MAX_STATE_PERIOD_S:
            why = f'period {period:g} s is not {MIN_STATE_PERIOD_S:g} to {MAX_STATE_PERIOD_S:g} s.'
            if MAX_STATE_PERIOD_S < period < 10.0:
                n = math.ceil(period / MAX_STATE_PERIOD_S)
                why += f' Use substeps: for _ in range({n}): step, then move by {period / n:g} s.'
            raise SettingsError(why)
        self.limits, self._period, self._joint_names = limits, period, arm.joint_names
        self._max_period = PERIOD_MARGIN_FACTOR * max(1.0 / limits.min_input_rate, period)
        self._max_velocity = MAX_POSSIBLE_SPEED_RATIO * arm.limit('velocity')
        effort = MAX_POSSIBLE_EFFORT_TO_LIMIT * arm.limit('effort')
        most = np.concatenate((self._max_velocity, effort))
        # Bounds of position, velocity and effort, (3 n,), finite also where a joint has no limits.
        lower, upper = arm.limit('lower'), arm.limit('upper')
        self._lower_bounds = np.nan_to_num(np.concatenate((lower - POSITION_TOLERANCE_RAD, -most)))
        self._upper_bounds = np.nan_to_num(np.concatenate((upper + POSITION_TOLERANCE_RAD, most)))
        self._zero, self._all_joints = np.zeros(arm.n), np.ones(arm.n, dtype=bool)
        self._has_logged_unknown_effort = False
        self.reset()

    def reset(self) -> None:
        """Forget all joint states and their losses, and trust states again."""
        self.q, self.dq = np.full_like(self._zero, np.nan), self._zero
        self.problem: Reason | None = ReasonCode.NO_STATE()
        self.trust_states_again()
        self.reset_except_position()

    def trust_states_again(self) -> None:
        """Trust positions and velocities again, and count losses of states from zero."""
        self.leapt_joints = ~self._all_joints
        self.velocity_contradicted = self.believes_fast_joints = False
        self.reset_state_losses()

    def reset_except_position(self) -> None:
        """Forget joint states but the last position, losses and which states are not trusted."""
        self.stamp: float | None = None
        self.good_count = self.age_in_periods = 0
        self._drift = self.dq_before = self._zero
        self.possible_joint_mask = self.possible_position_mask = yes = self._all_joints
        self.position_repeats = self.outrun_joint_mask = self.changed_velocity_mask = ~yes
        self.elapsed = self.age = self.arrival_time = 0.0
        # Stamp and velocity of the latest state, possible or not; of each joint the last possible
        # position and its stamp, how far and how long it is from the one before, and whether that
        # is a leap.
        self._raw_stamp, self._raw_dq = -math.inf, self.q * np.nan
        self._possible_q, self._leap_mask = self.q * np.nan, ~self._all_joints
        self._displacement = self._gap_s = self._zero
        self._possible_stamps = self._zero.copy()
        # Directions of joints whose positions confirmed that they are too fast; 0 of the others.
        self._too_fast_signs = self._zero
        # When the latest state came, by the clock of stamps and by this computer's [s].
        self._arrival_times = 0.0, 0.0
        # How many stamps in a row were not new, and whether some were between the last new ones.
        self._older_count = self._repeat_count = 0
        self._had_repeats = False
        self._recent_states = deque[tuple[float, Array]](maxlen=MIN_GOOD_STATE_COUNT)
        self._periods = deque[float](maxlen=MIN_GOOD_STATE_COUNT)
        self._ages = deque[float](maxlen=MIN_GOOD_STATE_COUNT)
        self.period, self.median_age = self._period, 0.0

    def reset_state_losses(self) -> None:
        """Forget when joint states were lost, so that losses count from zero."""
        self._loss_times = deque[float](maxlen=MAX_STATE_LOSS_COUNT + 1)
        self._last_loss_time = -math.inf

    def record_state_loss(self, now: float, brakes_again: bool) -> int:
        """
        Record a loss of states at `now` [s]; return the recent losses' number, 0 if tolerable.

        An arm that `brakes_again` was seen for a moment: within 0.05 s that is the same loss.
        """
        since, self._last_loss_time = now - self._last_loss_time, now
        if brakes_again and since < MAX_STATE_GAP_S:
            return 0
        self._loss_times.append(now)
        count = len(self._loss_times)
        often = count > MAX_STATE_LOSS_COUNT and now - self._loss_times[0] < STATE_LOSS_WINDOW_S
        return count if often else 0

    def tick_arguments(self, old: StateSample) -> tuple[float, float | None]:
        """
        Return `now` and `silence` (which may be None) [s] of `tick` for a repeated or late state.

        Without its age the clock of `now` counts, and if its arrival is None this computer's. This
        computer's counts also with an age, from MAX_REORDERING_TIME_S on: a constant age hides
        that the same state comes again.
        """
        by_stamps, here = self._arrival_times
        silence = None if old.age is None else old.stamp + old.age - by_stamps  # simulated time
        if old.arrival_time is not None:
            return old.arrival_time, silence
        waited = monotonic() - here
        silence = waited if silence is None or waited > MAX_REORDERING_TIME_S else silence
        return self.arrival_time + silence, silence

    def reject_latest_state(self, why: Reason) -> None:
        """Record why the latest state is unusable, and restart the count of usable states."""
        self.good_count, self.problem = 0, why
        self._drift = np.where(self.position_repeats, self._drift, 0.0)

    def accept_latest_state(self) -> None:
        """Count the latest state as usable, and forget the last problem."""
        self.good_count, self.problem = self.good_count + 1, None

    def repeated_stamps_reason(self, stamp: float) -> Reason | None:
        """Return and keep as `problem` a reason if too many stamps were not new, else None."""
        if self._repeat_count <= MIN_GOOD_STATE_COUNT:  # stamps may be coarse
            return None
        self.problem = ReasonCode.STAMP_REPEATED(stamp=stamp)
        return self.problem

    @property
    def trusts_states(self) -> bool:
        """Whether no joint is leapt, and no velocity has contradicted positions since `start`."""
        return not (self.velocity_contradicted or any(self.leapt_joints.tolist()))

    @property
    def has_enough_states(self) -> bool:
        """Whether MIN_GOOD_STATE_COUNT usable joint states came in a row."""
        return self.good_count >= MIN_GOOD_STATE_COUNT

    def start_refusal(self) -> Reason | None:
        """Return why joint states allow no first torque yet, or None."""
        if not self.has_enough_states:
            return ReasonCode.FEW_STATES(good=self.good_count, needed=MIN_GOOD_STATE_COUNT)
        if self.median_age <= MAX_STATE_AGE_AT_START_S:
            return None
        age, most = 1e3 * self.median_age, 1e3 * MAX_STATE_AGE_AT_START_S
        return ReasonCode.STALE_AT_START(age=age, most=most)

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

    def make_sample(
        self, q: ArrayLike, dq: ArrayLike, effort: ArrayLike | None, stamp: Any, age: Any, now: Any
    ) -> StateSample:
        """Return a joint state with NaN effort or age as None; JointVectorError if it is wrong."""
        shape, arrays = self._zero.shape, []
        for name, given in (('q', q), ('dq', dq), ('effort', effort)):
            if type(given) is np.ndarray and given.dtype is _FLOAT64 and given.shape == shape:
                arrays.append(given.copy())
            elif given is not None or name != 'effort':
                arrays.append(as_array(given, shape, name, JointVectorError, finite=False))
        measured = arrays[2] if len(arrays) > 2 else None
        if measured is not None and math.isnan(sum(measured.tolist())):
            self._log_partial_effort(measured)
            measured = None
        if type(stamp) is not float or not math.isfinite(stamp):
            stamp = as_seconds('time', stamp)
        if now is not None and (type(now) is not float or not math.isfinite(now)):
            now = as_seconds('now', now)
        age = None if age is None else as_seconds('age', age, finite=False)
        age = None if age is None or math.isnan(age) else age
        return StateSample(arrays[0], arrays[1], measured, stamp, age, now)

    def _log_partial_effort(self, effort: Array) -> None:
        """Log once that efforts count as not measured because some, not all, are NaN."""
        unknown = np.isnan(effort)
        if not self._has_logged_unknown_effort and not unknown.all():
            self._has_logged_unknown_effort = True
            name = self._joint_names[int(unknown.argmax())]
            _LOG.warning('The effort of %s is not a number: efforts count as not measured.', name)

    def stamp_order(self, stamp: float) -> StampOrder:
        """Count a stamp [s]; return its order: after the last, repeated or late, or set back."""
        if self.stamp is None or stamp > self.stamp:
            self._had_repeats, self._older_count, self._repeat_count = self._repeat_count > 0, 0, 0
            return StampOrder.NEW
        behind = self.stamp - stamp
        self._repeat_count += 1
        self._older_count += behind > 0.0
        near = self._older_count < MIN_GOOD_STATE_COUNT and behind <= MAX_REORDERING_TIME_S
        return StampOrder.OUT_OF_ORDER if near else StampOrder.SET_BACK

    def check_values(self, q: Array, dq: Array, tau: Array | None, stamp: float) -> Ending | None:
        """
        Check and record values; return an ending for an impossible or non-finite one, else None.

        A velocity beyond its bound is accepted after a gap if the positions confirm it.
        """
        every = np.concatenate((q, dq, self._zero if tau is None else tau))
        possible = (every >= self._lower_bounds) & (every <= self._upper_bounds)
        # Of a few numbers all() takes a tenth of ndarray.all's time, here and in other cycles.
        n, all_possible = len(q), all(possible.tolist())
        self.possible_joint_mask = self.possible_position_mask = self._all_joints
        self.changed_velocity_mask, self._raw_dq = dq != self._raw_dq, dq
        self.raw_elapsed, self._raw_stamp = stamp - self._raw_stamp, stamp
        # NumPy would warn of infinities, and of a signalling NaN.
        seen = q if all_possible else np.where(possible[:n], q, np.nan)
        moved, gap = seen - self._possible_q, stamp - self._possible_stamps
        self._displacement, self._gap_s = moved, gap
        returns = self.silence_timeout() < self.raw_elapsed < math.inf
        self.believes_fast_joints |= returns
        way = self._max_velocity * np.maximum(gap, 1e-9) + MAX_POSITION_DRIFT_RAD  # inf * 0 is NaN
        judged = self.stamp is not None and not returns
        self._leap_mask = possible[:n] & (np.abs(moved) > way) & judged
        self.leapt_joints = self.leapt_joints | self._leap_mask
        self._possible_q = q if all_possible else np.where(possible[:n], q, self._possible_q)
        self._possible_stamps[possible[:n]] = stamp
        signs_before, self._too_fast_signs = self._too_fast_signs, self._zero
        if not all_possible and self.stamp is not None:
            way = MIN_POSITION_TO_STATED_SPEED * gap * np.abs(dq)
            far = np.where(dq > 0.0, moved, -moved) >= way
            # A gap's first state is not used. One position a period cannot confirm more than a
            # turn a period.
            confirmed = (np.abs(dq) * self.period <= math.tau) & (returns | far)
            driven = confirmed & far & ~possible[n : 2 * n]
            self._too_fast_signs = np.where(dq > 0.0, 1.0, -1.0) * driven
            possible[n : 2 * n] |= confirmed & self.believes_fast_joints
        if all_possible or possible.all():
            return None
        self.changed_velocity_mask &= possible[n : 2 * n]
        self.possible_position_mask = possible[:n]
        self.possible_joint_mask = possible[:n] & possible[n : 2 * n]
        unknown = ~np.isfinite(every)
        first = int((unknown if unknown.any() else ~possible).argmax())
        kind, joint = divmod(first, n)
        what, cause = ('position', 'velocity', 'effort')[kind], Cause.STATE_IMPOSSIBLE
        value = {'what': what, 'joint': self._joint_names[joint], 'value': float(every[first])}
        if unknown.any():
            return Cause.STATES_LOST.ending(ReasonCode.VALUE_NOT_FINITE(**value))
        if kind == 2:
            why = ReasonCode.EFFORT_NOT_N_M(times=MAX_POSSIBLE_EFFORT_TO_LIMIT, **value)
            return cause.ending(why)
        # A glitch of positions confirms a velocity of their differences, but hardly twice.
        if kind == 1 and self._too_fast_signs[joint] * signs_before[joint] > 0.0:
            cause = Cause.RUNAWAY
        least, most = float(self._lower_bounds[first]), float(self._upper_bounds[first])
        return cause.ending(ReasonCode.IMPOSSIBLE_VALUE(least=least, most=most, **value))

    def require_radians(self, q: Array) -> None:
        """Raise JointVectorError if positions q, (n,), are probably degrees instead of radians."""
        if not np.isfinite(q).all():  # NumPy would warn of a signalling NaN
            return
        n, radians = len(self._joint_names), np.deg2rad(q)
        possible = (radians >= self._lower_bounds[:n]) & (radians <= self._upper_bounds[:n])
        if possible.all() and np.abs(q).max() > MAX_PLAUSIBLE_POSITION_RAD:
            joint = int(np.abs(q).argmax())
            raise JointVectorError(
                f'q is in degrees: {self._joint_names[joint]} is at {q[joint]:.4g}; give radians '
                f'({radians[joint]:.4g}).'
            )

    def record_sample(self, sample: StateSample, now: float) -> Ending | None:
        """Record a possible state that came at `now` [s]; return an ending if unusable or None."""
        stamp, q, dq, age = sample.stamp, sample.q, sample.dq, sample.age
        self.arrival_time, self._arrival_times = now, (stamp + (age or 0.0), monotonic())
        self.position_repeats = q == self.q
        why = self._check_timing(stamp, age)
        problem = Cause.STATES_LOST.ending(why) if why else self._check_motion(stamp, q, dq)
        if any(self._leap_mask.tolist()) or self.elapsed > self.silence_timeout():
            self._recent_states.clear()
        self.dq_before, self.q, self.dq = self.dq, q, dq
        self._recent_states.append((stamp, q))
        return problem

    def velocity_by_positions(self, dq: Array) -> Array:
        """Return velocities by positions or, if too few are known, dq, (n,) [rad/s]."""
        if len(self._recent_states) < 2:
            return dq
        (before, q), (stamp, now) = self._recent_states[0], self._recent_states[-1]
        return np.asarray((now - q) / (stamp - before))

    def _check_timing(self, stamp: float, age: float | None) -> Reason | None:
        """Return why states are rare, old, ahead or missing, or None; record period and age."""
        limits, before, self.stamp = self.limits, self.stamp, stamp
        age = age if age is not None and limits.max_state_age > 0.0 else 0.0
        self.age = max(0.0, age)
        self._ages.append(self.age)
        self.median_age = sorted(self._ages)[len(self._ages) // 2]
        if before is not None:
            self.elapsed = stamp - before
            self._periods.append(self.elapsed)
            self.period = sorted(self._periods)[len(self._periods) // 2]
            finite = math.isfinite(self.age)
            self.age_in_periods = round(self.age / self.elapsed) if finite else 0
        if len(self._periods) >= MIN_GOOD_STATE_COUNT - 1 and self.period > self._max_period:
            if self._had_repeats:
                return ReasonCode.COARSE_STAMPS(step=1e3 * self.period)
            least = PERIOD_MARGIN_FACTOR / self._max_period
            return ReasonCode.RARE_STATES(rate=1.0 / self.period, least=least)
        if self.elapsed > self.silence_timeout():
            return ReasonCode.STATES_MISSING(gap=1e3 * self.elapsed)
        if not math.isfinite(age) or abs(age) > limits.max_state_age > 0.0:
            which = ReasonCode.STAMP_AHEAD if age < 0.0 else ReasonCode.STALE
            return which(age=1e3 * abs(age), most=1e3 * limits.max_state_age)
        return None

    def _check_motion(self, stamp: float, q: Array, dq: Array) -> Ending | None:
        """Track drift; return an ending if a joint leapt or contradicts its velocity, or None."""
        if self.elapsed == 0.0:  # the first state
            return None
        gap, moved, far = self._gap_s, self._displacement, self._leap_mask
        keep = np.maximum(0.0, 1.0 - gap / DRIFT_TIME_CONSTANT_S)
        self._drift = drift = keep * self._drift + moved - 0.5 * gap * (dq + self.dq)
        most = MAX_POSITION_DRIFT_RAD + (MAX_VELOCITY_DELAY_S + gap) * np.abs(dq)
        wrong = np.abs(drift) > (most if any(dq.tolist()) else MAX_STILL_POSITION_DRIFT_RAD)
        still = self.position_repeats
        self.outrun_joint_mask = still & (self.outrun_joint_mask | wrong)
        wrong = far | (wrong & ~still)
        if not any(wrong.tolist()):
            return None
        joint = int((far if far.any() else wrong).argmax())
        name, drifted = self._joint_names[joint], float(drift[joint])
        if far[joint]:
            why = ReasonCode.POSITION_LEAP(joint=name, moved=moved[joint], gap=gap[joint])
            return Cause.STATE_IMPOSSIBLE.ending(why)
        self.velocity_contradicted = True
        why = ReasonCode.WRONG_VELOCITY(joint=name, moved=drifted, velocity=float(dq[joint]))
        if not dq.any():
            why = ReasonCode.ZERO_VELOCITIES(joint=name, moved=drifted)
        return Cause.STATE_IMPOSSIBLE.ending(why)
