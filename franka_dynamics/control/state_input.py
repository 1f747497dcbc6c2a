# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Turns what a caller gives with a joint state into arrays, or says what is wrong with it."""

import math
from typing import Any, NamedTuple

import numpy as np

from .terms import OwnTorque
from ..arrays import Array, ArrayLike, as_array, as_seconds
from ..errors import JointVectorError, SettingsError

_FLOAT64 = np.dtype(float)


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

    @property
    def received_at(self) -> float:
        """Its arrival by the clock of `tick` or, if nobody gave that, its stamp [s]."""
        return self.stamp if self.arrival_time is None else self.arrival_time


def make_sample(
    n: int,
    q: ArrayLike,
    dq: ArrayLike,
    effort: ArrayLike | None,
    stamp: Any,
    age: Any,
    now: Any,
) -> StateSample:
    """
    Return a joint state of n joints, which may hold impossible values.

    An effort with a NaN and an age of NaN are None. Raises JointVectorError for a wrong shape or
    a stamp that is no time.
    """
    positions = _joint_vector(n, 'q', q)
    velocities = _joint_vector(n, 'dq', dq)
    measured = None if effort is None else _joint_vector(n, 'effort', effort)
    if measured is not None and any(map(math.isnan, measured.tolist())):
        measured = None
    stamp = as_seconds('time', stamp)
    if now is not None:
        now = as_seconds('now', now)
    if age is not None:
        age = as_seconds('age', age, finite=False)
        if math.isnan(age):
            age = None
    return StateSample(positions, velocities, measured, stamp, age, now)


def make_own_torque(
    sample: StateSample,
    torque: ArrayLike | None,
    velocity: ArrayLike | None,
    acceleration: ArrayLike | None,
) -> OwnTorque | None:
    """
    Return the torque of the caller's own law at a joint state, or None if none is given.

    By default friction is that at the measured velocity, and the inertia torque is zero. A value
    that is not finite makes the whole torque NaN, which ends torques. Raises SettingsError if a
    velocity or acceleration is given without a torque, JointVectorError for a wrong shape.
    """
    if torque is None:
        if velocity is not None or acceleration is not None:
            raise SettingsError('velocity and acceleration are of a torque: give it, too.')
        return None
    n = len(sample.q)
    zero = np.zeros(n)
    own_torque = as_array(torque, (n,), 'torque', JointVectorError, finite=False)
    dq = sample.dq
    if velocity is not None:
        dq = as_array(velocity, (n,), 'velocity', JointVectorError, finite=False)
    ddq = zero
    if acceleration is not None:
        ddq = as_array(acceleration, (n,), 'acceleration', JointVectorError, finite=False)
    if all(map(is_finite, (own_torque, dq, ddq))):
        return OwnTorque(sample.q, dq, ddq, own_torque)
    return OwnTorque(sample.q, sample.dq, zero, np.full(n, np.nan))


def is_finite(values: Array) -> bool:
    """Return whether each value, (n,), is finite; faster than NumPy on a few numbers."""
    return all(map(math.isfinite, values.tolist()))


def _joint_vector(n: int, name: str, given: ArrayLike) -> Array:
    """Return a copy, (n,), or raise JointVectorError; without checks of an array of floats."""
    if type(given) is np.ndarray and given.dtype is _FLOAT64 and given.shape == (n,):
        return given.copy()
    return as_array(given, (n,), name, JointVectorError, finite=False)
