# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The predicted tracking errors of a PD as a table, a sentence and a plot."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .elements import figure_of_size, save
from .table import Cell, Header, Table
from ..control.tracking_prediction import TrackingPrediction

PREDICTION_SENTENCE = (
    'A prediction, no arm was moved: the measured motion is the reference, and torques are made '
    'without error or delay. Margin: two standard deviations of the friction are not commanded'
)


def tracking_table(prediction: TrackingPrediction) -> Table:
    """Return a table of the tracking errors by what is fed forward, by joint."""
    kp = ', '.join(f'{one:g}' for one in prediction.kp)
    count = len(prediction.joint_names)
    return Table(
        f'predicted rms tracking error [mrad] of a PD with kp {kp}',
        ['fed forward', *(Header(name, form='.2f') for name in ('all', *_numbers(count)))],
        [
            [name, Cell(1e3 * total, 'strong'), *(1e3 * errors).tolist()]
            for name, total, errors in zip(prediction.rows, prediction.total, prediction.errors)
        ],
    )


def plot_tracking(prediction: TrackingPrediction, title: str, path: str | Path) -> None:
    """Plot the tracking errors by joint to a file, whose suffix selects the format."""
    figure = figure_of_size((10.0, 4.5))
    axis, count, rows = figure.subplots(), len(prediction.joint_names), prediction.rows
    width = 0.85 / len(rows)
    for k, (name, errors) in enumerate(zip(rows, prediction.errors)):
        places = np.arange(count) + (k - 0.5 * (len(rows) - 1)) * width
        axis.bar(places, 1e3 * errors, width, label=name)
    axis.set_yscale('log')
    axis.set_xticks(range(count), _numbers(count))
    axis.set_xlabel('joint')
    axis.set_ylabel('predicted rms tracking error [mrad]')
    axis.grid(axis='y', alpha=0.25)
    figure.legend(loc='outside lower center', ncols=3, fontsize=8)
    axis.set_title(title, fontsize=11)
    save(figure, path)


def _numbers(count: int) -> list[str]:
    return [str(i) for i in range(1, count + 1)]
