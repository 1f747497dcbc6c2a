# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Transitions from the present motion to another motion or to rest, without a step of acceleration.

ruckig (Berscheid and Kroeger, "Jerk-limited real-time trajectory generation with arbitrary target
states", RSS 2021) computes the transition within limits of velocity, acceleration and jerk.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .motion_limits import within_limits
from .reference import ReferencePoint, Trajectory
from ..arm import ArmDescription
from ..errors import ReferenceRefusedError

# Largest share of each limit that ruckig uses. The quintic between two points sampled from
# ruckig's profile overshoots a little.
_SHARE = 0.99
# Shortest time in which the acceleration rises to its limit [s]. The jerk limit is at most the
# acceleration limit divided by _RISE_S: a larger jerk would shake the arm.
_RISE_S = 0.02
# Limits of a joint whose arm file states none. _UNLIMITED limits the velocity [rad/s] and, in a
# transition to another motion, the acceleration [rad/s^2]. _ACCELERATION [rad/s^2] limits the
# acceleration on the way to rest, and the jerk limit is computed from it.
_UNLIMITED, _ACCELERATION = 1e6, 20.0
_PROFILE_STEP_S = 0.002  # time between points sampled from ruckig's profile
_JOINED = 1e-9  # states that differ by less count as equal [rad, rad/s, rad/s^2]
_ATTEMPTS = 5  # number of searches for a point of the motion that the arm can reach in time
_NEAR_S = 0.01  # tolerance of the time at which the transition meets the motion [s]
LEAST_SEGMENT_S = 0.001


def join(
    begin: float, current: ReferencePoint, motion: Trajectory, description: ArmDescription
) -> Trajectory | None:
    """
    Return a motion from the state `current` at `begin` [s] to `motion`, then along `motion`.

    `motion` ends at rest; the returned motion can reach the end of `motion` later than `motion`
    does. Returns None if no transition within the arm's limits was found; raises
    ReferenceRefusedError if a transition is needed and ruckig is missing.
    """
    if motion.times[0] <= begin:
        difference = np.abs(np.subtract(motion.sample(begin), current)).max()
        if difference < _JOINED:
            return motion
    leading = leading_to(begin, current, motion, description)
    if leading is None:
        return None
    joined = leading.then(motion.part(motion.times > leading.end + LEAST_SEGMENT_S))
    return joined if within_limits(joined, description) else None


def leading_to(
    begin: float, current: ReferencePoint, motion: Trajectory, description: ArmDescription
) -> Trajectory | None:
    """Return ruckig's transition to the earliest reachable point of `motion`; None: not found."""
    early = max(begin, float(motion.times[0]))

    def way(meeting: float) -> Any:
        return _profile(description, current, motion.sample(meeting), meeting - begin)

    # A point of the motion can be reached if ruckig's transition to the point takes no longer than
    # the motion to this point. Bisection finds the earliest reachable point between the times
    # `early`, whose point cannot be reached, and `late`, whose point can.
    found, late = way(early), early
    for _ in range(_ATTEMPTS):
        if found is None:
            return None
        if late >= motion.end or found.duration <= late - begin + _JOINED:
            break
        # _NEAR_S allows for the motion that goes on during the transition and for rounded stamps.
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
    return _sampled(begin, current, found, motion.sample(late))


def begun_at(begin: float, motion: Trajectory) -> Trajectory:
    """Return the part of a motion from the time `begin` [s] on."""
    if begin <= motion.times[0]:
        return motion
    return Trajectory.at(begin, motion.sample(begin)).then(motion.part(motion.times > begin))


def to_rest(motion: Trajectory, description: ArmDescription) -> Trajectory:
    """
    Return `motion` and, after its last point, ruckig's fastest motion to rest.

    Raises ReferenceRefusedError if ruckig is missing, or finds no motion to rest because the last
    point is far beyond the limits.
    """
    last = motion.point(-1)
    profile = _profile(description, last, None, LEAST_SEGMENT_S)
    if profile is None:
        raise ReferenceRefusedError(
            'The reference cannot be brought to rest: its end is far beyond the limits of '
            'velocity or acceleration.'
        )
    return motion.then(_sampled(motion.end, last, profile, None).part(slice(1, None)))


def _profile(
    description: ArmDescription,
    current: ReferencePoint,
    target: ReferencePoint | None,
    seconds: float,
) -> Any:
    """
    Return ruckig's motion from the state `current` to a target state; None if ruckig finds none.

    Without a target state ruckig's motion ends at rest at any position. ruckig's motion takes at
    least `seconds`.
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
    limit = description.limit('acceleration')
    stated = np.where(np.isfinite(limit), limit, _ACCELERATION)
    low, high = description.velocity_bounds(current.q)
    values = {
        'max_velocity': np.minimum(np.minimum(-low, high), _UNLIMITED),
        'max_acceleration': stated if target is None else np.minimum(limit, _UNLIMITED),
        'max_jerk': np.minimum(stated / _RISE_S, description.limit('jerk')),
    }
    values = {name: _SHARE * limit for name, limit in values.items()}
    for order, now, then in zip(
        ('position', 'velocity', 'acceleration'), current, target or np.zeros((3, n))
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


def _sampled(
    begin: float, current: ReferencePoint, profile: Any, target: ReferencePoint | None
) -> Trajectory:
    """Return `current` and points of ruckig's motion; the last is `target`, or exactly at rest."""
    count = max(1, int(np.ceil(profile.duration / _PROFILE_STEP_S)))
    # The profile is sampled at the rounded absolute times, so that states and times match.
    times = begin + np.linspace(0.0, profile.duration, count + 1)
    states = np.array([current, *(profile.at_time(float(time))[:3] for time in times[1:] - begin)])
    states[-1] = target or ReferencePoint.at_rest(states[-1, 0])
    return Trajectory(times, *states.transpose(1, 0, 2))
