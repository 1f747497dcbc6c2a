# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Matplotlib figures that several reports use."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TYPE_CHECKING

import numpy as np

from ..arrays import Array, NDArray
from ..errors import require_extra
from ..files import atomic_write

if TYPE_CHECKING:
    from ..recordings.preprocessing import Motion

MEASURED_COLOR = '#222222'
PREDICTED_COLOR = '#0072b2'
RESIDUAL_COLOR = '#d55e00'


def save_figure(figure: Any, path: str | Path) -> None:
    """Save a figure in the format of its suffix; the file appears complete or not at all."""
    with atomic_write(path) as scratch:
        figure.savefig(scratch, dpi=120)


def figure_of_size(size: tuple[float, float]) -> Any:
    """Return an empty matplotlib figure of (width, height) [inches], without a display."""
    with require_extra('Plots need matplotlib', 'replay'):
        from matplotlib.figure import Figure
    return Figure(figsize=size, layout='constrained')


def with_nan_gaps(values: NDArray[np.float64], piece: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return a curve (N,) with NaN wherever `piece` changes, so that no line bridges the gap."""
    return np.asarray(np.insert(values, np.flatnonzero(np.diff(piece)) + 1, np.nan))


def torque_figure(
    motion: Motion, predicted: Array, label: str, joint_names: Sequence[str], title: str
) -> Any:
    """
    Return a figure of every joint's measured torque, predicted torque and their difference.

    `predicted` (samples, n) is the torque of a model [N m]; `label` is its name in the legend.
    """
    n = motion.q.shape[1]
    figure = figure_of_size((12.0, 1.7 * n + 0.8))
    axes = figure.subplots(n, 2, sharex=True, squeeze=False)
    time = with_nan_gaps(motion.time, motion.piece)
    for (left, right), name, measured, model in zip(
        axes, joint_names, motion.effort.T, predicted.T
    ):
        residual = measured - model
        for values, style in (
            (measured, {'color': MEASURED_COLOR, 'lw': 1.6, 'label': 'measured, filtered'}),
            (model, {'color': PREDICTED_COLOR, 'lw': 1.0, 'ls': '--', 'label': label}),
        ):
            left.plot(time, with_nan_gaps(values, motion.piece), **style)
        right.axhline(0.0, color='#aaaaaa', lw=0.6)
        right.plot(time, with_nan_gaps(residual, motion.piece), color=RESIDUAL_COLOR, lw=1.0)
        # The difference's root mean square is written above the axes, where it covers no curve.
        right.set_title(f'{np.sqrt(np.mean(residual**2)):.2f} N m rms', loc='right', fontsize=8)
        left.set_ylabel(f'{name}\n[N m]', fontsize=8)
        for axis in (left, right):
            axis.tick_params(labelsize=8)
            axis.grid(alpha=0.25)
    figure.legend(
        *axes[0, 0].get_legend_handles_labels(), loc='outside upper left', ncols=2, fontsize=8
    )
    axes[0, 0].set_title('joint torque', fontsize=10)
    axes[0, 1].set_title('measured - predicted', fontsize=10)
    for axis in axes[-1]:
        axis.set_xlabel('time [s]', fontsize=9)
    figure.suptitle(title, fontsize=11)
    return figure
