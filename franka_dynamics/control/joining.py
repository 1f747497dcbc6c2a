# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Transitions from the present motion to another one or to rest, without a step.

ruckig (Berscheid and Kroeger, "Jerk-limited real-time trajectory generation with arbitrary target
states", RSS 2021) computes the transition within limits of velocity, acceleration and jerk.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .motion_limits import within_limits
from .reference import ReferencePoint, Trajectory
from ..arm import ArmDescription
from ..errors import ReferenceRefusedError
from ..typing import Array

# Share of each limit that ruckig may use. The quintic between two points sampled from ruckig's
# profile overshoots a little.
_SHARE = 0.99
# Time in which the acceleration rises to its limit when motions are joined, and when an arm is
# brought to rest [s]. It sets the jerk limit: a larger jerk would shake the arm.
_RISE_S, _STOP_RISE_S = 0.02, 0.02
# For a joint whose arm file states no limit: its velocity, and its acceleration when it is brought
# to rest [rad/s, rad/s^2]
_UNLIMITED, _ACCELERATION = 1e6, 20.0
_PROFILE_STEP_S = 0.002  # time between points sampled from ruckig's profile
_JOINED = 1e-9  # states that differ by less count as equal [rad, rad/s, rad/s^2]
_ATTEMPTS = 5  # at finding a point of the motion that the arm can reach in time
_NEAR_S = 0.01  # tolerance of the meeting time [s]
LEAST_SEGMENT_S = 0.001


class Knots(NamedTuple):
    """Knots of a quintic motion: times (k,); positions, velocities, accelerations (k, 3, n)."""

    times: Array
    states: Array

    @classmethod
    def at(cls, time: float, point: ReferencePoint) -> Knots:
        """Return a single point."""
        return cls(np.array([time]), np.array(point)[None])

    def then(self, other: Knots) -> Knots:
        """Return these knots followed by others."""
        return Knots(
            np.append(self.times, other.times), np.concatenate((self.states, other.states))
        )

    def motion(self) -> Trajectory:
        """Return the motion through these knots."""
        return Trajectory(self.times, *self.states.transpose(1, 0, 2))


def join(
    begin: float, current: ReferencePoint, motion: Trajectory, description: ArmDescription
) -> Trajectory | None:
    """
    Return a motion that leads from `current` at `begin` [s] to another motion and then follows it.

    The other motion ends at rest; the arm may arrive there later than it says. Returns None if no
    transition within the arm's limits was found.
    """
    if motion.times[0] <= begin:
        apart = np.abs(np.subtract(motion.sample(begin), current)).max()
        if apart < _JOINED:
            return motion
    leading = leading_to(begin, current, motion, description)
    if leading is None:
        return None
    after = motion.times[motion.times > leading.times[-1] + LEAST_SEGMENT_S]
    states = np.array([motion.sample(float(time)) for time in after])
    joined = leading.then(Knots(after, states.reshape(len(after), 3, description.n))).motion()
    return joined if within_limits(joined, description) else None


def leading_to(
    begin: float, current: ReferencePoint, motion: Trajectory, description: ArmDescription
) -> Knots | None:
    """Return ruckig's transition to the earliest reachable point of a motion, or None."""
    present, early = Knots.at(begin, current), max(begin, float(motion.times[0]))

    def way(meeting: float) -> Any:
        return _profile(description, present, motion.sample(meeting), meeting - begin)

    # A point of the motion can be reached if ruckig needs no longer than until the motion is
    # there. Bisection finds the earliest such point between `early`, which cannot be reached, and
    # `late`, which can.
    found, late = way(early), early
    for _ in range(_ATTEMPTS):
        if found is None:
            return None
        if late >= motion.end or found.duration <= late - begin + _JOINED:
            break
        # A little later, because the motion goes on meanwhile and stamps are rounded.
        early, late = late, begin + found.duration + _NEAR_S
        found = way(late)
    else:
        return None
    while late - early > _NEAR_S:
        middle = 0.5 * (early + late)
        profile = way(middle)
        if profile is not None and profile.duration <= middle - begin + _JOINED:
            found, late = profile, middle
        else:
            early = middle
    return _knots(present, found, motion.sample(late))


def begun_at(begin: float, motion: Trajectory) -> Trajectory:
    """Return the rest of a motion from the time `begin` [s] on."""
    if begin <= motion.times[0]:
        return motion
    after = motion.times > begin
    given = (motion.positions, motion.velocities, motion.accelerations)
    positions, *others = (
        None if values is None else np.vstack((start, values[after]))
        for start, values in zip(motion.sample(begin), given)
    )
    assert positions is not None, 'every motion has positions'
    return Trajectory(np.append(begin, motion.times[after]), positions, *others)


def to_rest(begin: float, current: ReferencePoint, description: ArmDescription) -> Trajectory:
    """Return a motion from `current` at `begin` [s] to rest, as soon as the limits allow."""
    return braked(Knots.at(begin, current), description).motion()


def braked(knots: Knots, description: ArmDescription) -> Knots:
    """
    Return the knots, continued from the last one to rest as soon as the limits allow.

    Raises ReferenceRefusedError if the last knot exceeds the limits of velocity or acceleration,
    or ruckig is missing.
    """
    last = Knots(knots.times[-1:], knots.states[-1:])
    profile = _profile(description, last, None, LEAST_SEGMENT_S)
    if profile is None:
        raise ReferenceRefusedError(
            'The reference cannot be brought to rest: its end is beyond the limits of velocity or '
            'acceleration.'
        )
    stopped = _knots(last, profile, None)
    return knots.then(Knots(stopped.times[1:], stopped.states[1:]))


def _profile(
    description: ArmDescription, present: Knots, target: ReferencePoint | None, seconds: float
) -> Any:
    """
    Return ruckig's motion from the knot `present` to a target state; None if there is none.

    Without a target the motion comes to rest anywhere. It takes at least `seconds`.
    """
    try:
        import ruckig
    except ImportError as error:
        raise ReferenceRefusedError(
            'Motions are joined and braked by ruckig, which is missing: pip install ruckig.'
        ) from error
    n = description.n
    asked = ruckig.InputParameter(n)
    if target is None:
        asked.control_interface = ruckig.ControlInterface.Velocity
    reach, rise = description.limit('acceleration'), _STOP_RISE_S if target is None else _RISE_S
    stated = np.where(np.isfinite(reach), reach, _ACCELERATION)
    low, high = description.velocity_bounds(present.states[0, 0])
    values = {
        'max_velocity': np.minimum(np.minimum(-low, high), _UNLIMITED),
        'max_acceleration': stated if target is None else np.minimum(reach, _UNLIMITED),
        'max_jerk': np.minimum(stated / rise, description.limit('jerk')),
    }
    values = {name: _SHARE * limit for name, limit in values.items()}
    for order, now, then in zip(
        ('position', 'velocity', 'acceleration'), present.states[0], target or np.zeros((3, n))
    ):
        values |= {f'current_{order}': now, f'target_{order}': then}
    for name, value in values.items():
        setattr(asked, name, value.tolist())
    if seconds > 0.0:
        asked.minimum_duration = seconds
    profile = ruckig.Trajectory(n)
    try:
        result = ruckig.Ruckig(n).calculate(asked, profile)
    except ruckig.RuckigError:
        return None  # a state exceeds the limits
    return profile if result in (ruckig.Result.Working, ruckig.Result.Finished) else None


def _knots(present: Knots, profile: Any, target: ReferencePoint | None) -> Knots:
    """Return the knot `present` and points sampled from ruckig's motion, the last one exact."""
    count = max(1, int(np.ceil(profile.duration / _PROFILE_STEP_S)))
    # The profile is sampled at the rounded absolute times, so that states and times match.
    begin = float(present.times[0])
    times = begin + np.linspace(0.0, profile.duration, count + 1)[1:]
    states = np.array([profile.at_time(float(time))[:3] for time in times - begin])
    states[-1] = target or ReferencePoint.at_rest(states[-1, 0])
    return present.then(Knots(times, states))
