# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Option values and defaults of library and command line; the module does not import NumPy."""

from enum import Enum

GRAVITY = (0.0, 0.0, -9.81)  # [m/s^2] in the space frame; FCI's value
AS_LISTED = 'as_listed'  # as `hand`: keep the hand with which the inertial set was published
NO_HAND = 'none'  # as `hand`: take the hand off
REPAIR_TO_NEAREST = 'nearest_within_rounding'
REPAIR_METHODS = (REPAIR_TO_NEAREST,)  # of an inertial set
GRAVITY_DIRECTIONS = ('vertical', 'tilted', 'none')  # of gravity, for base parameters
# Of `arm export`; controller is that of the C++ package, franky and crisp of friction alone.
EXPORT_FORMATS = ('urdf', 'mjcf', 'controller', 'franky', 'crisp')
# SCHED_FIFO priority of control threads, as of ros2_control's controller manager: users permit it.
REALTIME_PRIORITY = 50


class Convention(str, Enum):
    """Convention of the rows of a DH table: modified (Craig) or standard."""

    MODIFIED = 'modified'  # Rx(alpha) Tx(a) Rz(theta) Tz(d); the axis of joint i is z of frame i
    STANDARD = 'standard'  # Rz(theta) Tz(d) Tx(a) Rx(alpha); the axis of joint i is z of frame i-1


def parse_float(text: str) -> float:
    """
    Return float(text); raise ValueError also for underscores and digits that are not ASCII.

    Raises
    ------
    ValueError
        If it is no number, or not a plain decimal one: Python would read 1_0 as ten.

    """
    if '_' in text or not text.isascii():
        raise ValueError(f'{text!r} is no decimal number')
    return float(text)
