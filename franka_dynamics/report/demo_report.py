# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A demonstration's figures -> a verdict, a table's rows, JSON and pictures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from .demo_figures import DemoFigures
from .files import write_text
from .plotting import save
from ..dynamics.crosscheck import TOLERANCE

DRIFT_BOUND_RAD = 1e-3
# The feedforward is to leave less than a third of the error that the same weak PD has without
# it; a run on an idle machine leaves a small fraction of that.
TRACKING_BOUND = 1.0 / 3.0


@dataclass(frozen=True)
class Row:
    """One line of the table: what, how much, and whether it is good (None: only reported)."""

    name: str
    value: float
    text: str
    bound: str = ''
    good: bool | None = None


@dataclass(frozen=True)
class DemoReport:
    """All lines of the table."""

    rows: tuple[Row, ...]

    @property
    def passed(self) -> bool:
        """Whether every line that decides is good."""
        return all(row.good is not False for row in self.rows)


def demo_report(figures: DemoFigures, diagnostics: Mapping[str, Mapping[str, str]],
                ) -> DemoReport:
    """
    Return the report of a demonstration.

    Parameters
    ----------
    figures : DemoFigures
        From its recording.
    diagnostics : mapping
        Status name -> key -> value, as the node and the simulated arm last gave them.

    """
    checks, arm = diagnostics['feedforward: Cross-check'], diagnostics['simulator: Simulated arm']
    residual = max(float(checks['at configure [N m]']), float(checks['while running [N m]']))
    feedforward, gravity = figures.with_feedforward.rms, figures.gravity_only.rms
    steps = int(arm['steps commanded'])
    missed = int(arm['steps without a new command'])
    rate = float(arm['step rate [Hz]']) * (1.0 - missed / steps)
    stops = int(diagnostics['feedforward: Command']['stops'])
    return DemoReport((
        Row('cross-check residual', residual, f'{residual:.1e} N m', f'{TOLERANCE:.0e} N m',
            _within(residual, TOLERANCE)),
        Row('drift while holding without feedback', figures.drift, f'{figures.drift:.1e} rad',
            f'{DRIFT_BOUND_RAD:.0e} rad', _within(figures.drift, DRIFT_BOUND_RAD)),
        Row('tracking error, g + PD', gravity, f'{1e3 * gravity:.2f} mrad rms'),
        Row('tracking error, M ddq + C dq + g + PD', feedforward,
            f'{1e3 * feedforward:.2f} mrad rms', f'{1e3 * TRACKING_BOUND * gravity:.2f} mrad',
            _within(feedforward, TRACKING_BOUND * gravity)),
        Row('update rate', rate, f'{rate:.0f} Hz'),
        Row('cycles without a new command', missed, f'{missed} of {steps}'),
        Row('stop sequences before the end', stops, f'{stops}'),
        Row('round trip p50', float(arm['round trip p50 [us]']),
            f'{float(arm["round trip p50 [us]"]):.0f} us'),
        Row('round trip p99', float(arm['round trip p99 [us]']),
            f'{float(arm["round trip p99 [us]"]):.0f} us')))


def write_json(report: DemoReport, path: Path) -> None:
    """Write the report as JSON, complete or not at all."""
    content: dict[str, Any] = {'passed': report.passed, 'figures': {
        row.name: {'value': row.value, 'text': row.text, 'bound': row.bound, 'good': row.good}
        for row in report.rows}}
    write_text(path, json.dumps(content, indent=2) + '\n')


def draw(figures: DemoFigures, joint_names: tuple[str, ...], path: Path) -> None:
    """Draw the hold, the motion, both tracking errors and the torques into one PNG."""
    import matplotlib
    matplotlib.use('Agg')
    from matplotlib import pyplot

    figure, ((hold, motion), (error, torque)) = pyplot.subplots(
        2, 2, figsize=(13, 8), constrained_layout=True)
    short = [name.rpartition('_')[2] for name in joint_names]
    for i, name in enumerate(short):
        hold.plot(figures.hold_time, figures.hold_drift[:, i], label=name)
        motion.plot(figures.with_feedforward.time, figures.with_feedforward.wanted[:, i],
                    label=name)
        torque.plot(figures.command_time - figures.command_time[0], figures.command[:, i],
                    label=name, linewidth=0.8)
    hold.set(title=f'Held by feedforward alone: drift {figures.drift:.1e} rad',
             xlabel='time [s]', ylabel='deviation [rad]')
    motion.set(title='The motion to be followed', xlabel='time [s]', ylabel='position [rad]')
    for tracking, label in ((figures.gravity_only, 'g + PD'),
                            (figures.with_feedforward, 'M ddq + C dq + g + PD')):
        error.plot(tracking.time, 1e3 * np.sqrt(np.mean(tracking.error ** 2, axis=1)),
                   label=f'{label}: {1e3 * tracking.rms:.2f} mrad rms')
    error.set(title='Tracking error with the same weak PD', xlabel='time [s]',
              ylabel='rms over the joints [mrad]', yscale='log', ylim=(1e-3, None))
    error.legend()
    torque.set(title='Commanded torque over the whole run', xlabel='time [s]',
               ylabel='torque [N m]')
    for axes in (hold, motion, torque):
        axes.legend(fontsize='small', loc='center left', bbox_to_anchor=(1.0, 0.5))
    for axes in (hold, motion, error, torque):
        axes.grid(alpha=0.3)
    save(figure, path)
    pyplot.close(figure)


def _within(value: float, bound: float) -> bool:
    """Return whether a figure keeps its bound; one that is no number does not."""
    return math.isfinite(value) and value <= bound
