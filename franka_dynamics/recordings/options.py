# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Options for reading and filtering recordings and logs; the module does not import NumPy."""

from dataclasses import dataclass
import math

from ..errors import RecordingError

HEADER_STAMP = 'header'
RECEIVE_STAMP = 'received'
STAMP_KINDS = (HEADER_STAMP, RECEIVE_STAMP)
POSITION_UNITS = {'rad': 1.0, 'deg': math.pi / 180.0}
VELOCITY_UNITS = {'rad/s': 1.0, 'deg/s': math.pi / 180.0, 'rpm': math.pi / 30.0}
STAMP_UNITS = {'s': 1.0, 'ms': 1e-3, 'us': 1e-6, 'ns': 1e-9}
DERIVED_VELOCITY = 'derived'


@dataclass(frozen=True)
class SignalOptions:
    """
    Options of resampling and filtering recorded signals, by default those of the torque error E.

    `rate` is the sampling rate after resampling [Hz], `cutoff` the cut-off of the low-pass on
    position, velocity and effort [Hz], `trim` the time dropped at each end of every piece after
    filtering [s]. RecordingError names a value outside its range.
    """

    rate: float = 30.0
    cutoff: float = 3.0
    trim: float = 0.3

    def __post_init__(self) -> None:
        """Raise RecordingError if `rate`, `cutoff` or `trim` lies outside its range."""
        if not 0.0 < self.rate < math.inf:
            raise RecordingError(f'The sampling rate is {self.rate} Hz; it must be positive.')
        if not 0.0 < self.cutoff < 0.5 * self.rate:
            raise RecordingError(
                f'The cut-off is {self.cutoff} Hz; it must lie between 0 and half the sampling '
                f'rate, {0.5 * self.rate:g} Hz. Choose another cut-off or a higher rate.'
            )
        if not 0.0 <= self.trim < math.inf:
            raise RecordingError(f'The trim is {self.trim} s; it cannot be negative.')


@dataclass(frozen=True)
class ColumnMap:
    """
    The columns of a log that hold each quantity, and their units.

    Columns are named as `LogTable.select` expects. `velocity` may also be 'derived': central
    differences of position. A log is read with exactly one of `stamp` (a column) and `rate` [Hz].
    `stamp` may be two columns, seconds and nanoseconds. `effort_scale` is the torque of one unit
    of effort [N m], one number or one per joint. `episode` is the number of the episode to read,
    where the log has several; `skip_incomplete` leaves out rows in which a value is missing.
    """

    position: str = ''
    effort: str = ''
    velocity: str = ''
    stamp: str | None = None
    rate: float | None = None
    position_unit: str = 'rad'
    velocity_unit: str = 'rad/s'
    stamp_unit: str = 's'
    effort_scale: tuple[float, ...] = (1.0,)
    episode: int | None = None
    skip_incomplete: bool = False

    def __post_init__(self) -> None:
        """Raise RecordingError for an unknown unit."""
        units = {
            'position': POSITION_UNITS,
            'velocity': VELOCITY_UNITS,
            'stamp': STAMP_UNITS,
        }
        for what, known in units.items():
            unit = getattr(self, f'{what}_unit')
            if unit not in known:
                raise RecordingError(f'The unit of {what} is {unit!r}; known: {", ".join(known)}.')


# What a layout may say of a log.
LAYOUT_FIELDS = (
    *('position', 'velocity', 'effort', 'stamp', 'rate'),
    *('position_unit', 'velocity_unit', 'stamp_unit'),
)
# Columns of well-known log files: DROID's trajectory.h5 (droid/franka/robot.py; measured torque
# including gravity, sampled at about 15 Hz).
LOG_LAYOUTS = {
    'droid': ColumnMap(
        position='observation/robot_state/joint_positions',
        velocity='observation/robot_state/joint_velocities',
        effort='observation/robot_state/motor_torques_measured',
        stamp='observation/timestamp/robot_state/read_start',
        stamp_unit='ms',
    )
}


def layout_columns(name: str) -> dict[str, str]:
    """Return the columns of a known layout by the fields of ColumnMap."""
    usual = vars(ColumnMap())
    return {key: text for key, text in vars(LOG_LAYOUTS[name]).items() if text != usual[key]}
