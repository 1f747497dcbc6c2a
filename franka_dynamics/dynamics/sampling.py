# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Draws random joint states within an arm's limits, for checks."""

from typing import NamedTuple

import numpy as np

from ..arm_io import ArmLike, as_description
from ..arrays import Array
from ..errors import SettingsError, short_repr

# Limits in place of unknown ones [rad or m], [rad/s or m/s, rad/s^2 or m/s^2].
_DEFAULT_POSITION_LIMIT = np.pi
_DEFAULT_RATE_LIMITS = {'velocity': 2.0, 'acceleration': 10.0}
# Larger limits, such as 999999 for a wheel, say that there is none [rad or m, per s, per s^2].
_MAX_MEANINGFUL_LIMIT = 100.0


class JointStates(NamedTuple):
    """Joint positions, velocities and accelerations, each of shape (n,) or (..., n)."""

    q: Array
    dq: Array
    ddq: Array


def sample_states(
    description: ArmLike, count: int, seed: int | np.random.Generator = 0
) -> JointStates:
    """
    Return `count` joint states drawn uniformly within limits of q, dq, ddq (unknown: defaults).

    Parameters
    ----------
    description : ArmDescription, str or Path
        The arm, or its name or file. Unknown limits, and those beyond 100, are replaced by
        +-pi, +-2 and +-10 for positions, velocities and accelerations; an unknown position limit
        is at least pi from a known one.
    count : int
        Number of states.
    seed : int or numpy.random.Generator
        The seed of the random numbers, or what draws them.

    Returns
    -------
    JointStates
        q, dq and ddq of shape (count, n) [rad or m, per s, per s^2].

    Raises
    ------
    DescriptionError
        If `description` is no arm, or its file cannot be read.
    SettingsError
        If `count` or `seed` is below zero.

    """
    for words, number in (('number of states', count), ('seed', seed)):
        if isinstance(number, (int, np.integer)) and number < 0:
            raise SettingsError(
                f'The {words} is {short_repr(number)}; give a whole number, 0 or more.'
            )
    description = as_description(description)
    rng = np.random.default_rng(seed)
    lower = description.limit('lower')
    upper = description.limit('upper')
    least = np.minimum(-_DEFAULT_POSITION_LIMIT, upper - _DEFAULT_POSITION_LIMIT)
    most = np.maximum(_DEFAULT_POSITION_LIMIT, lower + _DEFAULT_POSITION_LIMIT)
    lowest = np.where(lower >= -_MAX_MEANINGFUL_LIMIT, lower, least)
    ends = [(lowest, np.where(upper <= _MAX_MEANINGFUL_LIMIT, upper, most))]
    for name, unlimited in _DEFAULT_RATE_LIMITS.items():
        limit = description.limit(name)
        rate = np.where(limit <= _MAX_MEANINGFUL_LIMIT, limit, unlimited)
        ends.append((-rate, rate))
    return JointStates(*(rng.uniform(*both, (count, description.n)) for both in ends))
