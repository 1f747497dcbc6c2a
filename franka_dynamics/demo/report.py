# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Metrics, tables, plots and JSON that `franka-dynamics demo` reports."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .results import DemoResult, DemoTiming, TrackingErrorSeries
from ..arrays import Array, NDArray
from ..errors import RecordingError
from ..files import write_text
from ..motion.trajectory import Trajectory
from ..recordings.recording import Recording
from ..report import elements
from ..report.elements import Cell, Table
from ..report.json_types import json_text
from ..validation.crosscheck import MAX_RELATIVE_DIFFERENCE

MAX_HOLDING_DRIFT_RAD = 1e-3
_STEPS_PER_PLOT_POINT = 10  # a hundred points per second
# Bound on the tracking error with feedforward, relative to the error of the same weak PD with
# gravity alone. On an idle machine the error with feedforward is less than 1/100 of the error with
# gravity alone.
MAX_FEEDFORWARD_TO_GRAVITY_ONLY_ERROR = 1.0 / 3.0
# Bound on the tracking error with the identified model, relative to the error with the published
# model. For nine random arms the relative error was 9 to 55 %.
MAX_IDENTIFIED_TO_PUBLISHED_ERROR = 2.0 / 3.0


class DemoMetrics(NamedTuple):
    """
    Drift and tracking errors [rad] that were measured in a demonstration.

    `hold_duration` is how long the arm was held, `holding_drift` the largest deviation of any
    joint from its position at the start of that. `tracking_errors` has those of each run by
    the name of its commanded terms; the run with feedforward is the last. `desired_q`, (k, n), are
    the desired positions of the run with feedforward.
    """

    hold_duration: float
    holding_drift: float
    tracking_errors: dict[str, TrackingErrorSeries]
    desired_q: Array


def demo_metrics(
    steps: Recording,
    hold_interval: tuple[float, float],
    motions: tuple[Trajectory, Trajectory],
) -> DemoMetrics:
    """
    Return drift and tracking errors, computed from the steps of a demonstration.

    `steps` are all steps of the simulated arm. In `hold_interval`, begin and end [s of simulated
    time, which begins with the first step], feedforward alone holds the arm. `motions` are the
    desired motions, followed with the same PD: the first with gravity, Coriolis and inertia
    torques, the second with gravity torque alone.

    Raises RecordingError if no step lies within the hold or within a motion.
    """
    during = _interval_mask(steps.time, *hold_interval)
    stamps = np.asarray(1e-9 * steps.stamp_ns, dtype=float)
    positions = steps.q[during]
    errors = {}
    with_feedforward, with_gravity_alone = motions
    # The error with gravity alone comes first, because the bound of the other one refers to it.
    runs = {'g + PD': with_gravity_alone, 'M ddq + C dq + g + PD': with_feedforward}
    for name, motion in runs.items():
        followed = _interval_mask(stamps, motion.begin, motion.end)
        desired = motion.states_at(stamps[followed] - motion.time_zero)[:, 0]
        errors[name] = stamps[followed] - motion.begin, desired - steps.q[followed]
    duration = np.ptp(steps.time[during])
    drift = np.abs(positions - positions[0]).max()
    return DemoMetrics(float(duration), float(drift), errors, desired)


def _interval_mask(time: Array, begin: float, end: float) -> NDArray[np.bool_]:
    """Return the mask of the steps between two times [s]; raise RecordingError if it is empty."""
    during = (time >= begin) & (time <= end)
    if not during.any():
        raise RecordingError(f'No step of the arm is from {begin:.3f} to {end:.3f} s.')
    return during


class ReportRow(NamedTuple):
    """A row of the report: a value, its bound or '', whether it is within that, None without."""

    name: str
    value: float
    text: str
    bound: str = ''
    good: bool | None = None


class DemoReport(NamedTuple):
    """
    The report on one part of the demonstration, with an exact or an inexact model.

    The first part also has the nodes' error messages, whether the run `has_failed`, and a
    `caption` with the run's pacing, the machine and the processes' load.
    """

    rows: tuple[ReportRow, ...]
    errors: tuple[str, ...] = ()
    has_failed: bool = False
    caption: str = ''

    @property
    def passed(self) -> bool:
        """Whether every value with a bound keeps it and the run did not fail."""
        return not self.has_failed and all(row.good is not False for row in self.rows)

    def table(self, title: str) -> Table:
        """Return names, values, bounds and verdicts as a table."""
        verdicts = {True: Cell('good', 'good'), False: Cell('MISSED', 'bad'), None: ''}
        rows = [(row.name, row.text, row.bound, verdicts[row.good]) for row in self.rows]
        return Table(title, ('figure', 'value', 'at most', ''), rows)


def demo_report(metrics: DemoMetrics, run: DemoResult) -> DemoReport:
    """Return the report of the first part of the demonstration, with an exact model."""
    rates = run.timing
    update_rate = rates.rate * (1.0 - rates.missed / rates.steps)
    missed = f'{rates.missed} of {rates.steps}'
    drift = metrics.holding_drift
    rows = (
        _bounded_row('cross-check, relative', run.model_difference, MAX_RELATIVE_DIFFERENCE, ''),
        _bounded_row('drift while holding without feedback', drift, MAX_HOLDING_DRIFT_RAD, 'rad'),
        *_tracking_rows(metrics.tracking_errors, MAX_FEEDFORWARD_TO_GRAVITY_ONLY_ERROR),
        ReportRow('update rate', update_rate, f'{update_rate:.0f} Hz'),
        ReportRow('cycles without a new command', rates.missed, missed),
        ReportRow('stop sequences before the end', rates.stops, f'{rates.stops}'),
        *(
            ReportRow(f'round trip {name}', 1e6 * value, f'{1e6 * value:.0f} us')
            for name, value in zip(('p50', 'p99'), rates.round_trip)
        ),
    )
    pacing = 'in lockstep, the arm waiting for torques,' if rates.lockstep else 'by the clock'
    return DemoReport(rows, run.errors, run.has_failed, f'{pacing} on {rates.machine}')


def write_demo_json(exact: DemoReport, rates: DemoTiming, inexact: DemoReport, path: Path) -> None:
    """Write the reports on both parts of the demonstration, and the rates, to a JSON file."""
    content = {
        'passed': exact.passed and inexact.passed,
        'figures': {row.name: row for row in exact.rows},
        'machine': rates,
        'errors': exact.errors,
        'inexact_model': {row.name: row for row in inexact.rows},
    }
    write_text(path, json_text(content))


def inexact_model_report(errors: Mapping[str, TrackingErrorSeries]) -> DemoReport:
    """
    Return the report of tracking errors with an inexact model.

    `errors` are those of each controller, in this order: PD with gravity, PD with the published
    model, PD with the identified model without and with its friction.
    """
    return DemoReport(_tracking_rows(errors, MAX_IDENTIFIED_TO_PUBLISHED_ERROR, reference_row=1))


def _plot_errors(
    axes: Any,
    errors: Mapping[str, TrackingErrorSeries],
    title: str,
    colours: Sequence[str],
) -> None:
    """Plot tracking errors, as rms over the joints, against time on `axes`."""
    for (name, (time, error)), colour in zip(errors.items(), colours):
        rms = np.sqrt(np.mean(error**2, axis=1))
        label = f'{1e3 * _rms_error(error):.2f} mrad rms'
        axes.plot(time, 1e3 * rms, color=colour, lw=1.2, label=f'{name}: {label}')
    axes.set(
        title=title,
        xlabel='time [s]',
        ylabel='rms over the joints [mrad]',
        yscale='log',
    )
    axes.grid(alpha=0.3)


def plot_inexact_model_errors(errors: Mapping[str, TrackingErrorSeries], image_path: Path) -> None:
    """Save a plot of each controller's tracking error over time, with an inexact model."""
    figure = elements.figure_of_size((9.0, 4.5))
    title = 'An arm that differs from the model: the same weak PD'
    colours = (
        elements.MEASURED_COLOR,
        elements.RESIDUAL_COLOR,
        '#009e73',
        elements.PREDICTED_COLOR,
    )
    axes = figure.subplots()
    _plot_errors(axes, errors, title, colours)
    # Curves fill the axes, so the legend stands below.
    axes.legend(loc='upper center', bbox_to_anchor=(0.5, -0.14), ncols=2, frameon=False)
    elements.save_figure(figure, image_path)


def plot_exact_model_run(metrics: DemoMetrics, recording: Recording, image_path: Path) -> None:
    """Save a plot of tracking errors with and without feedforward, the motion and torques."""
    figure = elements.figure_of_size((9.0, 8.0))
    axes = figure.subplot_mosaic([['error'] * 2, ['motion', 'torque']], height_ratios=(3, 2))
    error, motion, torque = (axes[name] for name in ('error', 'motion', 'torque'))
    held = f'Held without feedback for {metrics.hold_duration:.0f} s'
    drift = metrics.holding_drift
    title = f'{held}: drift {drift:.0e} rad. Then one motion under one weak PD:'
    colours = elements.MEASURED_COLOR, elements.PREDICTED_COLOR
    _plot_errors(error, metrics.tracking_errors, title, colours)
    error.set(ylim=(1e-3, None))
    error.legend()
    *_, (time, _) = metrics.tracking_errors.values()
    lines = motion.plot(time, metrics.desired_q, linewidth=0.8)
    every = slice(None, None, _STEPS_PER_PLOT_POINT)
    torque.plot(recording.time[every], recording.effort[every], linewidth=0.8)
    motion.set(title='the motion', xlabel='time [s]', ylabel='position [rad]')
    torque.set(title='torque over the whole run', xlabel='time [s]', ylabel='torque [N m]')
    short = [name.rpartition('_')[2] for name in recording.joint_names]
    figure.legend(lines, short, loc='outside lower center', ncols=len(short), fontsize='small')
    for plain in (motion, torque):
        plain.grid(alpha=0.3)
    elements.save_figure(figure, image_path)


def _bounded_row(name: str, value: float, bound: float, unit: str) -> ReportRow:
    """Return the report row of a value that has an upper bound, in `unit`."""
    text = f'{value:.1e} {unit}'.rstrip()
    bound_text = f'{bound:.0e} {unit}'.rstrip()
    good = value <= bound  # False for NaN
    return ReportRow(name, value, text, bound_text, good)


def _tracking_rows(
    errors: Mapping[str, TrackingErrorSeries],
    max_error_ratio: float,
    reference_row: int = 0,
) -> tuple[ReportRow, ...]:
    """
    Return a row of each rms error; only the last, the controller that is judged, has a bound.

    The bound is `max_error_ratio` times the error of the row `reference_row`.
    """
    rows = []
    for name, (_, error) in errors.items():
        rms = _rms_error(error)
        rows.append(ReportRow(f'tracking error, {name}', rms, f'{1e3 * rms:.2f} mrad rms'))
    bound = max_error_ratio * rows[reference_row].value
    good = rows[-1].value <= bound
    return *rows[:-1], rows[-1]._replace(bound=f'{1e3 * bound:.2f} mrad', good=good)


def _rms_error(error: Array) -> float:
    """Return the root mean square of an error over time and joints."""
    return float(np.sqrt(np.mean(error**2)))
