# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Resamples and low-pass filters a recording, and differentiates its velocity.

Signals are resampled by time stamp, and position, velocity and effort are filtered with the same
zero-phase second-order Butterworth low-pass. Accelerations are central differences of the filtered
velocity. The ends of each piece between gaps are dropped, because the filter distorts them. The
defaults (resampling at 30 Hz, cut-off 3 Hz, 0.3 s dropped) define the torque error "Metric E", to
make errors comparable.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from .options import SignalOptions
from .recording import Recording, require_effort
from ..arrays import Array, NDArray
from ..errors import plural, RecordingError, require_extra

# Order of the Butterworth filter, in effect 4: it is applied forwards and backwards.
FILTER_ORDER = 2
_MIN_PIECE_DURATION_S = 1.0  # shortest piece after trimming
# The anti-aliasing filter before downsampling is a Butterworth filter of this order. It does not
# change a constant torque; a Chebyshev filter of even order would scale gravity.
_ANTI_ALIASING_ORDER = 8
# Its cut-off relative to the new Nyquist frequency.
_ANTI_ALIASING_CUTOFF_TO_NYQUIST = 0.8
MIN_IDLE_DURATION_S = 0.1  # efforts that are exactly zero for so long were not measured
# Efforts are held at a steady rate if this part of their values lasts as many messages as the
# usual one, or one more or less: 0.95 of a Sawyer's, which come at 100 Hz; of those of ten logs,
# rounded to 0.1 to 2 N m, up to 0.85 where they are held at all.
_MIN_STEADY_HOLD_FRACTION = 0.9
# Slower joints rest [rad/s or m/s]. Sensors with 1 mrad/s of noise make a resting arm's filtered
# velocity less than 1e-3; no sample of the two FER recordings, which never rest, is slower.
_MAX_REST_SPEED_RAD_S = 0.005
# Shorter intervals between messages are no gap: one message may be missing.
_MIN_GAP_PERIODS = 2.5


@dataclass(frozen=True, eq=False)
class Motion:
    """
    A recorded motion, evenly sampled and low-pass filtered, with accelerations.

    Arrays have one row per sample and one column per joint, from base to tip.

    Attributes
    ----------
    time : ndarray, shape (samples,)
        Seconds since the recording's first message.
    q, dq, ddq : ndarray, shape (samples, n)
        Filtered position [rad] and velocity [rad/s]; acceleration [rad/s^2] from the filtered
        velocity.
    effort : ndarray, shape (samples, n)
        Filtered measured torque [N m].
    effort_unfiltered : ndarray, shape (samples, n)
        Resampled measured torque [N m].
    piece_ids : ndarray of int, shape (samples,)
        Number of the stretch without gaps that the sample belongs to.
    options : SignalOptions
        The options with which the motion was prepared.
    remarks : tuple of str
        Sentences on gaps, left-out pieces and derived velocities; usually empty.
    filters : tuple of PieceFilter
        Of each stretch without gaps what filters its further signals; `to_motion` sets them.
    row_ids : ndarray of int, shape (samples,), optional
        Number of the sample among all that `filters` give.

    """

    time: Array
    q: Array
    dq: Array
    ddq: Array
    effort: Array
    effort_unfiltered: Array
    piece_ids: NDArray[np.int64]
    options: SignalOptions
    remarks: tuple[str, ...] = ()
    filters: 'tuple[PieceFilter, ...]' = ()
    row_ids: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.time)

    def select(self, selection: slice | NDArray[np.bool_]) -> 'Motion':
        """Return the motion with only the chosen samples."""
        return _with_arrays(self, lambda name: getattr(self, name)[selection])

    def pieces(self) -> 'list[Motion]':
        """Return one motion for each stretch without gaps."""
        return [self.select(self.piece_ids == number) for number in np.unique(self.piece_ids)]

    def one_second_indices(self) -> NDArray[np.intp]:
        """Return each sample's one-second interval as an index, (N,); none spans a gap."""
        pairs = np.stack([self.piece_ids, np.floor(self.time - self.time[0])])
        return np.unique(pairs, axis=1, return_inverse=True)[1].ravel()

    def filter(self, signals: 'SignalFunction') -> Array:
        """
        Return further signals, such as friction, filtered like the torque, (samples, n, k).

        They are computed from the recorded states: friction of a filtered velocity would blur
        reversals. Only of a motion that `to_motion` did not make the filtered states count.
        """
        if self.row_ids is None:
            return signals(self.q, self.dq)
        of_pieces = [piece.filter(signals) for piece in self.filters]
        return np.concatenate(of_pieces)[self.row_ids]


# A function from recorded positions and velocities (N, n) to k signals per joint (N, n, k).
SignalFunction = Callable[[Array, Array], Array]
_ARRAY_FIELDS = (
    'time',
    'q',
    'dq',
    'ddq',
    'effort',
    'effort_unfiltered',
    'piece_ids',
    'row_ids',
)


def _with_arrays(motion: Motion, new_array: Callable[[str], Any]) -> Motion:
    """Return a motion with each array replaced by `new_array` of the array's name."""
    names = [name for name in _ARRAY_FIELDS if getattr(motion, name) is not None]
    return replace(motion, **{name: new_array(name) for name in names})


def to_motion(recording: Recording, options: SignalOptions | None = None) -> Motion:
    """
    Return a recording's evenly sampled, filtered motion; RecordingError if too slow or short.

    Stretches of 0.1 s or more with zero effort of all joints are left out, and efforts that come
    at a lower rate than messages count in messages in which they are new. A gap longer than half a
    period of the cut-off frequency and than 2.5 recorded sampling periods splits the recording:
    each piece is filtered and trimmed separately, nothing is interpolated across the gap, and
    `remarks` has the number of gaps and the longest gap. A recording faster than 1.5 times the
    requested rate is low-pass filtered before downsampling, to avoid aliasing.

    Parameters
    ----------
    recording : Recording
        The recording, from a bag or from arrays.
    options : SignalOptions, optional
        Sampling rate, cut-off frequency and trim; by default Metric E's.

    Raises
    ------
    RecordingError
        If the recording is too slow for the cut-off or too short for the trim, or every effort is
        zero.
    MissingDependencyError
        If scipy is not installed.

    """
    chosen = SignalOptions() if options is None else options
    first_ns = recording.stamp_ns[0]
    recording = without_idle_effort(recording)
    if len(recording) < 2:
        raise RecordingError(
            f'{recording.source} has a single message whose efforts are not all zero; a motion '
            'needs many.'
        )
    recording = with_interpolated_effort(recording)
    begin = float(recording.stamp_ns[0] - first_ns) * 1e-9
    period = float(np.median(np.diff(recording.time)))
    if period * 2.0 * chosen.cutoff > 1.0:
        raise RecordingError(
            f'{recording.source} has a message every {period:.3g} s, too few for a cut-off of '
            f'{chosen.cutoff:g} Hz; cut off below {0.5 / period:.2g} Hz, or record a faster topic.'
        )
    filters, motions, remarks = _filter_pieces(recording, begin, period, chosen)
    joined = _with_arrays(
        motions[0], lambda name: np.concatenate([getattr(motion, name) for motion in motions])
    )
    every = np.arange(len(joined))
    remarks = [*recording.remarks, *remarks]
    return replace(joined, remarks=tuple(remarks), filters=tuple(filters), row_ids=every)


def _filter_pieces(
    recording: Recording, begin_time: float, period: float, options: SignalOptions
) -> 'tuple[list[PieceFilter], list[Motion], list[str]]':
    """
    Return filters and motions of the pieces without gaps that are long enough, and remarks.

    The remarks are on gaps and on pieces left out. Times [s] count from the first recorded
    message; `begin_time` is that of the first message used. Raises RecordingError if no piece is
    long enough.
    """
    motions = []
    filters = []
    short = []
    remarks = []
    time = recording.time + begin_time
    shortest = 2.0 * options.trim + _MIN_PIECE_DURATION_S
    gaps = np.flatnonzero(np.diff(time) > max(_MIN_GAP_PERIODS * period, 0.5 / options.cutoff))
    if len(gaps):
        widest = gaps[np.argmax(np.diff(time)[gaps])]
        remarks.append(
            f'{recording.source} has {len(gaps)} {plural(len(gaps), "gap")}, the longest of '
            f'{time[widest + 1] - time[widest]:.2f} s at {time[widest]:.2f} s; its pieces are '
            'filtered separately'
        )
    pieces = [*pairwise([0, *(gaps + 1), len(recording)])]
    for number, (first, end) in enumerate(pieces):
        piece = recording.select(slice(first, end))
        if piece.duration >= shortest:
            filters.append(PieceFilter(piece, period, options))
            motions.append(filters[-1].filtered_motion(float(time[first]), number))
        else:
            short.append(f'{time[first]:.2f}')
    if short:
        begins = ', '.join(short[:5])
        if len(short) > 5:
            begins += ' ...'
        remarks.append(
            f'{len(short)} of its {len(pieces)} pieces, shorter than {shortest:.2g} s, are left '
            f'out (at {begins} s)'
        )
    if not motions:
        raise RecordingError(
            f'{recording.source} has no stretch without gaps of at least '
            f'{shortest:.2g} s (it lasts {recording.duration:.2f} s '
            f'in {len(pieces)} {plural(len(pieces), "piece")}); record longer, or trim less.'
        )
    return filters, motions, remarks


def without_idle_effort(recording: Recording) -> Recording:
    """
    Return a recording without stretches >= 0.1 s of only zero efforts; RecordingError if all are.

    A braked arm, or a driver that is not in control yet, reports zero effort, which is no
    measurement: sensors never read exactly zero on all joints for a tenth of a second. The
    `remarks` of the returned recording name the first five stretches left out. Raises
    RecordingError if every effort is zero.
    """
    require_effort(recording)
    idle: NDArray[np.bool_] = np.all(recording.effort == 0.0, axis=1)
    edges = np.flatnonzero(np.diff(np.concatenate(([False], idle, [False]))))
    time = recording.time
    kept = np.ones(len(idle), dtype=bool)
    found = []
    for first, end in zip(edges[::2], edges[1::2]):
        last = min(int(end), len(time) - 1)
        if time[last] - time[first] >= MIN_IDLE_DURATION_S:
            kept[first:end] = False
            found.append(f'{time[first]:.2f} to {time[end - 1]:.2f} s')
    if not found:
        return recording
    shown = ', '.join(found[:5]) + (f' and {len(found) - 5} more' if len(found) > 5 else '')
    remark = (
        f'{recording.source}: the effort of every joint is zero from {shown}; left out were '
        f'{np.count_nonzero(~kept)} messages (brakes, or a driver not yet in control)'
    )
    return replace(recording.select(kept), remarks=(*recording.remarks, remark))


def with_interpolated_effort(recording: Recording) -> Recording:
    """
    Return a recording, efforts interpolated if they come at a steady lower rate than messages.

    A driver that reads efforts at a lower rate repeats them in between, on average half a period
    late. Rounded efforts, or those of an arm at rest, repeat at no steady rate. A remark says so.
    """
    is_new = np.append(True, np.any(np.diff(recording.effort, axis=0) != 0.0, axis=1))
    new_rows = np.flatnonzero(is_new)
    held_counts = np.diff(new_rows)  # for how many messages each effort is held
    usual = float(np.median(held_counts)) if len(held_counts) else 1.0
    is_steady = np.abs(held_counts - usual) <= 1.0
    if usual < 2.0 or np.mean(is_steady) < _MIN_STEADY_HOLD_FRACTION:
        return recording
    # An effort that is held for longer was constant until one period before it changed.
    before_change = new_rows[1:] - round(usual)
    held_longer = before_change > new_rows[:-1]
    known = np.union1d(new_rows, before_change[held_longer])
    time = recording.time
    effort = _resample(time[known], recording.effort[known], time)
    remark = (
        f'{recording.source}: efforts are new in one of {round(usual)} messages alone; in between '
        'they are interpolated'
    )
    return replace(recording, effort=effort, remarks=(*recording.remarks, remark))


def moving_mask(motion: Motion) -> NDArray[np.bool_]:
    """Return for each sample whether any joint moves, shape (samples,)."""
    return np.any(np.abs(motion.dq) > _MAX_REST_SPEED_RAD_S, axis=1)


def seconds_at_rest(motion: Motion) -> float:
    """Return the total time for which all joints rest in a motion [s]."""
    return float(np.count_nonzero(~moving_mask(motion))) / motion.options.rate


def without_rest(motion: Motion) -> Motion:
    """
    Return a motion without samples at which all joints rest, split into pieces at rests.

    The torque of a joint at rest is known only up to its static friction. A long rest in one
    posture would look like wrong gravity.
    """
    moving = moving_mask(motion)
    begins = np.diff(motion.piece_ids, prepend=motion.piece_ids[:1]) != 0
    return replace(motion, piece_ids=np.cumsum(begins | ~moving)).select(moving)


@dataclass(frozen=True, eq=False)
class PieceFilter:
    """Filters and resamples all signals of one piece of a recording in the same way."""

    piece: Recording
    recorded_period: float
    options: SignalOptions

    @property
    def time(self) -> Array:
        """Times of resampled signals from the piece's start [s], with ends that `_trim` drops."""
        # Half a millionth is added to the number of sampling periods before rounding down, because
        # stamps are whole nanoseconds and sampling times are not.
        count = int(np.floor(self.piece.duration * self.options.rate + 5e-7)) + 1
        return np.arange(count) / self.options.rate

    def filtered_motion(self, start_s: float, piece_id: int) -> Motion:
        """Return the motion of piece `piece_id`, which starts at `start_s`."""
        piece = self.piece
        dq = self._low_pass(piece.dq)
        time = self._trim(start_s + self.time)
        return Motion(
            time=time,
            q=self._trim(self._low_pass(piece.q)),
            dq=self._trim(dq),
            ddq=self._trim(np.gradient(dq, 1.0 / self.options.rate, axis=0)),
            effort=self._trim(self._low_pass(piece.effort)),
            effort_unfiltered=self._trim(_resample(piece.time, piece.effort, self.time)),
            piece_ids=np.full(len(time), piece_id),
            options=self.options,
        )

    def filter(self, signals: SignalFunction) -> Array:
        """Return `signals` of the recorded q and dq, filtered and trimmed, (samples, n, k)."""
        values = signals(self.piece.q, self.piece.dq)
        low = self._low_pass(values.reshape(len(values), -1))
        return self._trim(low).reshape(-1, *values.shape[1:])

    def _trim(self, values: Array) -> Array:
        """Return samples without those in the first and the last `options.trim` seconds."""
        drop = round(self.options.trim * self.options.rate)
        return values[drop : len(values) - drop]

    def _low_pass(self, values: Array) -> Array:
        """Return recorded values (N, k) low-pass filtered and resampled, (samples, k)."""
        with require_extra('Filtering recordings needs scipy', 'replay'):
            from scipy import signal
        b, a = signal.butter(FILTER_ORDER, self.options.cutoff, fs=self.options.rate)
        known_at, values = self._anti_alias(values)
        return np.asarray(signal.filtfilt(b, a, _resample(known_at, values, self.time), axis=0))

    def _anti_alias(self, values: Array) -> tuple[Array, Array]:
        """Return times and values, low-pass filtered if recorded at over 1.5 times `rate`."""
        own_rate = 1.0 / self.recorded_period
        piece = self.piece
        # At recording rates up to 1.5 times the new rate, aliases stay above half the new Nyquist
        # frequency, where the low-pass filter with Metric E's cut-off attenuates them.
        if own_rate <= 1.5 * self.options.rate:
            return piece.time, values
        from scipy import signal

        time = np.arange(int(np.floor(piece.duration * own_rate)) + 1) / own_rate
        edge = _ANTI_ALIASING_CUTOFF_TO_NYQUIST * self.options.rate / own_rate
        sections = signal.butter(_ANTI_ALIASING_ORDER, edge, output='sos')
        return time, signal.sosfiltfilt(sections, _resample(piece.time, values, time), axis=0)


def _resample(known_times: Array, values: Array, new_times: Array) -> Array:
    """Return columns of `values`, known at `known_times`, interpolated to `new_times`."""
    return np.column_stack([np.interp(new_times, known_times, column) for column in values.T])
