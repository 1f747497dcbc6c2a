# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The size of a fault: whether it can be one of its kind, and its numbers in the user's terms."""

from collections.abc import Callable

import numpy as np

from .columns import gravity_axes
from .fits import Found
from .sums import PART_COUNT, WithinRecording
from .table import GROWS, is_change, MAX_WHOLE, MIN_GRAVITY, MIN_WHOLE, passes, row_of
from ..arrays import Array

# Torque sensors are as exact as this; a real FER's log shows 0.99, an xMate3 Pro's 1.04.
_MIN_GAIN_ERROR = 0.05
_MIN_FORCE_N = 1.0  # the largest that a sound log's efforts show, a FER's, is 0.7 N
_MIN_TURN_TO_SIZE_CHANGE = 0.1
_MAX_TIME_SCALE = 3.0  # with a larger ratio gravity is missing


def is_possible(found: Found) -> bool:
    """Return whether a fault of its kind can have the fitted size, by `must_be` of its row."""
    fault, size = found.fault, found.size
    if row_of(fault).whole:
        return bool(MIN_WHOLE < size[0] < MAX_WHOLE)
    if fault.kind == 'gravity':
        length, turn = _size_and_turn(size)
        is_turned = turn > _MIN_TURN_TO_SIZE_CHANGE * abs(length - 1.0)
        return bool(length < MIN_GRAVITY or is_turned)
    if fault.kind == 'time':
        return bool(_MAX_TIME_SCALE**-2.0 < 1.0 + size[0] < _MAX_TIME_SCALE**2.0)
    if fault.kind == 'force' and not is_change(fault):
        return bool(np.linalg.norm(size) > _MIN_FORCE_N)
    if fault.kind in ('gain', 'one_way') and not is_change(fault):
        return bool(np.abs(size).sum() > _MIN_GAIN_ERROR)
    if fault.kind == 'rotors':
        return bool(size[np.argmax(np.abs(size))] > 0.0)
    return fault.kind != 'offset' or is_change(fault)


def _size_and_turn(size: Array) -> tuple[float, float]:
    """Return the size of the gravity found, relative to that declared, and its angle to it."""
    found = size + np.array([0.0, 0.0, 1.0])
    return float(np.linalg.norm(found)), float(np.arctan2(np.hypot(*found[:2]), found[2]))


def _gravity(size: Array, declared: Array) -> list[float]:
    """Return the gravity found [m/s^2], as large as that declared, zeros if it is left out."""
    length, _ = _size_and_turn(size)
    if length < MIN_GRAVITY:
        return [0.0, 0.0, 0.0]
    found = declared + size @ gravity_axes(declared)
    return list((found * np.linalg.norm(declared) / np.linalg.norm(found)).tolist())


_VALUES: dict[str, Callable[[Array], list[float]]] = {
    'gain': lambda x: [1.0 + x[0]],
    'one_way': lambda x: [1.0 + x[0] + x[1], 1.0 + x[0] - x[1]],
    'position': lambda x: [*x, float(np.hypot(*x))],
    'time': lambda x: [float(np.sqrt(max(1.0 + x[0], 0.0)))],
    'axis': lambda x: [1.0],
    'columns': lambda x: [1.0],
}


def values_of(found: Found, gravity: Array, within: WithinRecording | None) -> tuple[float, ...]:
    """
    Return a fault's numbers for the user, as its sentence says.

    `gravity` (3,) is that declared [m/s^2]; `within` is of the recording in which it changes.
    """
    fault, size = found.fault, found.size
    if is_change(fault):
        assert within is not None
        if passes(fault):
            middle = sum(fault.form) / (2.0 * PART_COUNT)
            return (within.begin + middle * within.duration,)
        begin, end = (0.0, 1.0) if fault.form == GROWS else (fault.form / PART_COUNT,) * 2
        return tuple(within.begin + share * within.duration for share in (begin, end))
    if fault.kind == 'gravity' and not fault.joints:
        return tuple(_gravity(size, gravity))
    if fault.kind == 'quarter_turn':
        return (0.5 * np.pi * fault.form,)
    return tuple(float(value) for value in _VALUES.get(fault.kind, list)(size))
