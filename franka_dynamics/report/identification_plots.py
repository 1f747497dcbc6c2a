# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures of an identification."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .plotting import broken, figure_of_size, MEASURED, PREDICTED, RESIDUAL
from ..identification.identification_result import Identification
from ..identification.signal_processing import Motion


def torque_figure(result: Identification, motion: Motion, joint_names: Sequence[str],
                  title: str) -> Any:
    """Return measured and predicted torque and residual of one recording, unseen half shaded."""
    predicted = result.model.torque(motion, result.consistent.theta)
    n = motion.q.shape[1]
    figure = figure_of_size((12.0, 1.6 * n + 0.8))
    axes = figure.subplots(n, 2, sharex=True, squeeze=False)
    time = broken(motion.time, motion.piece)
    unseen = motion.halves()[1].time
    for row, name, measured, model in zip(axes, joint_names, motion.effort.T, predicted.T):
        row[0].plot(time, broken(measured, motion.piece), color=MEASURED, lw=1.6,
                    label='measured, filtered')
        row[0].plot(time, broken(model, motion.piece), color=PREDICTED, lw=1.0, ls='--',
                    label='identified')
        row[1].axhline(0.0, color='#aaaaaa', lw=0.6)
        row[1].plot(time, broken(measured - model, motion.piece), color=RESIDUAL, lw=1.0)
        row[0].set_ylabel(f'{name}\n[N m]', fontsize=8)
        for axis in row:
            axis.axvspan(unseen[0], unseen[-1], color='#cccccc', alpha=0.3, lw=0.0,
                         label='unseen half')
            axis.tick_params(labelsize=8)
            axis.grid(alpha=0.25)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc='outside upper right', ncols=3,
                  fontsize=8)
    axes[0, 1].set_title('measured - identified', fontsize=10)
    for axis in axes[-1]:
        axis.set_xlabel('time [s]', fontsize=9)
    figure.suptitle(title, fontsize=11, x=0.02, ha='left')
    return figure


def parameter_figure(result: Identification) -> Any:
    """Return bars of what changed from the start, and of friction, with 3-sigma error bars."""
    names, b = result.model.names, len(result.model.base)
    start = np.concatenate([result.model.base.values(result.start), np.zeros(len(names) - b)])
    moment = [name.startswith('m') for name in names[:b]]
    groups = {
        'first moments and masses, change from the start [kg m, kg]': np.flatnonzero(moment),
        'inertias, change from the start [kg m^2]': np.flatnonzero(np.logical_not(moment)),
        'friction [N m s/rad, N m, N m]': np.arange(b, len(names))}
    figure = figure_of_size((13.0, 10.5))
    for axis, (title, members) in zip(figure.subplots(len(groups), 1), groups.items()):
        place = np.arange(len(members))
        axis.bar(place - 0.2, (result.base.theta - start)[members], 0.38, color=PREDICTED,
                 yerr=3.0 * result.base.deviations[members], ecolor=MEASURED, capsize=2,
                 label='base parameters, 3 sigma')
        axis.bar(place + 0.2, (result.consistent.theta - start)[members], 0.38, color=RESIDUAL,
                 label='consistent')
        axis.set_xticks(place, [names[i] for i in members], rotation=60, fontsize=8)
        axis.axhline(0.0, color='#888888', lw=0.6)
        axis.set_title(title, fontsize=10, loc='left')
        axis.grid(axis='y', alpha=0.25)
    figure.axes[0].legend(fontsize=8)
    figure.suptitle(f'start: {result.start.inertial_set}', fontsize=10)
    return figure


def validation_figure(result: Identification) -> Any | None:
    """Return the cross-validation error over the pull's strength; None without one."""
    if result.validation is None:
        return None
    strengths, errors = np.array(result.validation.strengths), result.validation.errors
    figure = figure_of_size((8.0, 3.6))
    axis = figure.subplots()
    # No pull at all has no place on a logarithmic axis; it stands one decade to the left.
    shown = np.where(strengths > 0.0, strengths, strengths[strengths > 0.0].min() / 10.0)
    axis.semilogx(shown, errors, 'o-', color=PREDICTED, ms=4)
    axis.axvline(shown[int(np.argmin(errors))], color=RESIDUAL, lw=1.0, ls='--', label='chosen')
    axis.set_xlabel('strength of the pull (leftmost: none)', fontsize=9)
    axis.set_ylabel('left-out error / noise', fontsize=9)
    axis.grid(alpha=0.25)
    axis.legend(fontsize=8)
    return figure
