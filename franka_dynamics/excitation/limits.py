# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Limits of motions to record; the module does not import NumPy."""

from dataclasses import dataclass
import math

from ..errors import IdentificationError

# Range of a motion's repetitions if their number is not given.
MIN_REPETITIONS = 10
MAX_REPETITIONS = 200
# Poses at which an arm rests while it carries a load, and does not.
MIN_REST_POSES = 8
MAX_REST_POSES = 16
DEFAULT_REST_POSES = 12


@dataclass(frozen=True)
class ExcitationLimits:
    """
    Limits of an excitation motion.

    `fraction` is that of the limits of velocity, acceleration and torque to use, `clearance` [m]
    the distance kept between the links' centre lines, `table_height` [m] the table's,
    `tool_length` [m] the tool's length. `position_margin` [rad] is the distance kept from every
    joint's position limits, `table_margin` [m] the smallest height above the table of the third
    frame, all later frames and the tool's tip. Heights are along the space frame's z, the tool's
    length is along the flange's z.

    Raises IdentificationError unless 0 < `fraction` <= 1, the table's height is finite, and the
    other lengths and angles are finite and not negative.
    """

    fraction: float = 0.7
    position_margin: float = 0.1
    table_height: float = 0.0
    table_margin: float = 0.15
    clearance: float = 0.1
    tool_length: float = 0.15

    def __post_init__(self) -> None:
        """Raise IdentificationError for a value that no motion can keep, or that is no limit."""
        if not 0.0 < self.fraction <= 1.0:
            raise IdentificationError(
                f'The fraction of the limits is {self.fraction}; it must lie between 0 and 1.'
            )
        if not math.isfinite(self.table_height):
            raise IdentificationError(
                f'The height of the table is {self.table_height} m; it must be finite.'
            )
        for name in ('position_margin', 'table_margin', 'clearance', 'tool_length'):
            value = getattr(self, name)
            if not 0.0 <= value < math.inf:
                raise IdentificationError(
                    f'{name} of an excitation is {value}; it must be zero or more, and finite.'
                )
