# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures of recorded against predicted torques."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from .plotting import broken, figure_of_size, MEASURED, PREDICTED, RESIDUAL, save
from ..identification.replay import Fit
from ..identification.signal_processing import Motion


def plot_torques(motion: Motion, fits: Sequence[Fit], joint_names: Sequence[str], title: str,
                 path: str | Path) -> None:
    """
    Draw every joint's measured torque, the best fit's prediction and what is left.

    Parameters
    ----------
    motion : Motion
        The recorded motion.
    fits : sequence of Fit
        Best first; only the first is drawn.
    joint_names : sequence of str
        Titles of the rows.
    title : str
        What was recorded.
    path : str or Path
        PNG (or whatever the suffix says) to be written, complete or not at all.

    """
    best = fits[0]
    n = motion.q.shape[1]
    figure = figure_of_size((12.0, 1.7 * n + 0.8))
    axes = figure.subplots(n, 2, sharex=True, squeeze=False)
    time = broken(motion.time, motion.piece)
    for (left, right), name, measured, predicted in zip(
            axes, joint_names, motion.effort.T, best.predicted.T):
        left.plot(time, broken(measured, motion.piece), color=MEASURED, lw=1.6,
                  label='measured, filtered')
        left.plot(time, broken(predicted, motion.piece), color=PREDICTED, lw=1.0, ls='--',
                  label=f'predicted, {best.name}')
        residual = measured - predicted
        right.axhline(0.0, color='#aaaaaa', lw=0.6)
        right.plot(time, broken(residual, motion.piece), color=RESIDUAL, lw=1.0)
        right.text(0.01, 0.93, f'{np.sqrt(np.mean(residual**2)):.2f} N m rms', va='top',
                   transform=right.transAxes, fontsize=8)
        left.set_ylabel(f'{name}\n[N m]', fontsize=8)
        for axis in (left, right):
            axis.tick_params(labelsize=8)
            axis.grid(alpha=0.25)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc='outside upper right', ncols=2,
                  fontsize=8)
    axes[0, 0].set_title('joint torque', fontsize=10)
    axes[0, 1].set_title('measured - predicted', fontsize=10)
    for axis in axes[-1]:
        axis.set_xlabel('time [s]', fontsize=9)
    figure.suptitle(f'{title}: E = {best.filtered.whole:.3f} N m at '
                    f'{motion.options.cutoff:g} Hz', fontsize=11)
    save(figure, path)


def plot_errors(fits: Sequence[Fit], joint_names: Sequence[str], title: str,
                path: str | Path) -> None:
    """Draw every candidate's error, over the whole vector and joint by joint, best on top."""
    figure = figure_of_size((12.0, 0.42 * len(fits) + 2.2))
    left, right = figure.subplots(1, 2, width_ratios=(1.0, 1.2))
    rows = np.arange(len(fits))
    left.barh(rows, [one.filtered.whole for one in fits], color=PREDICTED, height=0.6,
              label='filtered effort')
    left.plot([one.unfiltered.whole for one in fits], rows, 'o', color=RESIDUAL, ms=5,
              label='unfiltered effort')
    rubbed = [(one.with_friction.whole, row) for one, row in zip(fits, rows)
              if one.with_friction is not None]
    if rubbed:
        left.plot(*zip(*rubbed), 'D', color='white', mec=MEASURED, ms=5,
                  label="with the arm file's friction")
    left.set_yticks(rows, [one.name for one in fits], fontsize=8)
    left.invert_yaxis()
    left.set_xlabel('E [N m]')
    left.grid(axis='x', alpha=0.25)
    figure.legend(fontsize=8, loc='outside lower left', ncols=3)
    table = np.array([one.filtered.joints for one in fits])
    right.imshow(table, cmap='Oranges', aspect='auto')
    for (row, column), value in np.ndenumerate(table):
        right.text(column, row, f'{value:.2f}', ha='center', va='center', fontsize=8,
                   color='white' if value > 0.6 * table.max() else 'black')
    right.set_xticks(np.arange(table.shape[1]), joint_names, fontsize=8, rotation=30, ha='right')
    right.set_yticks([])
    right.set_title('rms per joint, filtered effort [N m]', fontsize=10)
    figure.suptitle(title, fontsize=11)
    save(figure, path)
