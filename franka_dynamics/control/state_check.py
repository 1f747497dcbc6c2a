# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Checks whether joint states are possible, and consistent with the state before.

A state is unusable in these cases. Time may mend the first five; the others are latched
(`CAUSE_OF_STATE_PROBLEM` in `ending.py`):

- states have ceased, or some are missing (state_timing.py),
- they come too rarely, or several at a time (state_timing.py),
- a state is old, or ahead of the clock (state_timing.py),
- the clock of stamps was set back (state_timing.py),
- a value is no number,
- a position, velocity or effort is impossible by itself,
- a position leaps further than the joint can turn (the new place is believed then),
- positions are not where velocities take them,
- all positions repeat bit for bit though the arm must move (repeated_positions.py),
- a second source sends states, too (`CoreStep.reject_state`).

A state whose stamp is not new is no state: it is dropped, as if none had come.
"""

from collections import deque
import math
from typing import Any

import numpy as np

from .ending import Reason, ReasonCode
from .limits import MAX_STEP_S
from .settings import StateLimits
from .state_input import StateSample
from .state_timing import MIN_GOOD_STATE_COUNT, StateTiming
from ..arm import ArmDescription
from ..arrays import Array, NDArray
from ..errors import JointVectorError

# Encoders may read this much beyond a position limit [rad]: where a joint was led by hand.
POSITION_TOLERANCE_RAD = 0.2
# No joint turns so fast [rad/s]. It keeps computed torques finite.
MAX_POSSIBLE_VELOCITY_RAD_S = 1e3
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


class StateCheck(StateTiming):
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
    arrival_time : float
        When it came, by the clock of `now` [s].
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
        self._zero = np.zeros(arm.n)
        self._positions = deque[tuple[float, Array]](maxlen=MIN_GOOD_STATE_COUNT)  # with stamps
        super().__init__(limits, period)
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
        self.reset()

    def reset(self) -> None:
        """Forget all joint states."""
        self.q = np.full_like(self._zero, np.nan)
        self.dq = self._zero
        self.problem = ReasonCode.NO_STATE()
        self.has_possible_values = False
        self.is_position_known = False
        self.forget_times()

    def forget_times(self) -> None:
        """Forget joint states but the last position, as after the clock was set back."""
        super().forget_times()
        self._drift = self._zero
        self._positions.clear()

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
                **found,
            )
        least = float(self._lower_bounds[first])
        most = float(self._upper_bounds[first])
        return ReasonCode.IMPOSSIBLE_VALUE(least=least, most=most, **found)

    def check(self, sample: StateSample, now: float) -> Reason | None:
        """Check and record a new state that came at `now` [s]; return why it is unusable."""
        problem = self.check_values(sample.q, sample.dq, sample.effort)
        self.has_possible_values = problem is None
        late: Reason | None = None
        if problem is None:
            late = self.check_timing(sample, now)
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
