# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A picture of an excitation trajectory within its limits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from .elements import figure_of_size, MEASURED, save
from ..dynamics.newton_euler import NewtonEulerModel
from ..identification.bar_model import bar_ends, heights
from ..identification.excitation_problem import ExcitationProblem
from ..identification.fourier_trajectory import FourierTrajectory

_SAMPLES = 500


def plot_excitation(
    problem: ExcitationProblem,
    trajectory: FourierTrajectory,
    path: str | Path,
) -> None:
    """
    Draw position, velocity and torque as parts of their limits, and the height over the table.

    Parameters
    ----------
    problem : ExcitationProblem
        The arm and what is kept.
    trajectory : FourierTrajectory
        One period of it is drawn.
    path : str or Path
        Picture to be written, complete or not at all.

    """
    arm, limits = problem.arm, problem.limits
    time = np.linspace(0.0, trajectory.period, _SAMPLES)
    q, dq, ddq = trajectory.at(time)
    low, high = arm.limit('lower'), arm.limit('upper')
    torque = NewtonEulerModel(arm, problem.gravity).inverse_dynamics(q, dq, ddq)
    panels = {
        'position: -1 and 1 are the ends': (2.0 * q - low - high) / (high - low),
        'velocity / limit': dq / arm.limit('velocity'),
        'torque / limit': torque / arm.limit('effort'),
    }
    figure = figure_of_size((10.0, 10.0))
    axes = figure.subplots(len(panels) + 1, 1, sharex=True)
    for number, (axis, (title, values)) in enumerate(zip(axes, panels.items())):
        axis.plot(time, values, lw=1.2)
        for edge in (-1.0, 1.0) if number == 0 else (-limits.fraction, limits.fraction):
            axis.axhline(edge, color=MEASURED, lw=0.8, ls=':')
        axis.set_title(title, fontsize=10, loc='left')
        axis.grid(alpha=0.25)
    height = heights(bar_ends(arm, q, limits.tool), limits.table).min(axis=-1)
    axes[-1].plot(time, height, color=MEASURED, lw=1.2)
    axes[-1].axhline(limits.table_margin, color=MEASURED, lw=0.8, ls=':')
    axes[-1].set_title('lowest point above the table [m]', fontsize=10, loc='left')
    axes[-1].set_xlabel('time [s]')
    axes[-1].grid(alpha=0.25)
    figure.legend(
        axes[0].lines[: arm.n],
        arm.joint_names,
        loc='outside upper center',
        ncols=arm.n,
        fontsize=8,
    )
    save(figure, path)


# Linux hands no single argument longer than this to a program, and a trajectory is one.
LONGEST_ARGUMENT = 128 * 1024


def joint_trajectory_yaml(
    joint_names: Sequence[str], time: ArrayLike, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike
) -> str:
    """
    Return the message's text.

    Parameters
    ----------
    joint_names : sequence of str
        In the order of the columns.
    time : array_like, shape (N,)
        From the start [s].
    q, dq, ddq : array_like, shape (N, n)
        Positions [rad], velocities [rad/s] and accelerations [rad/s^2].

    """
    nanoseconds = np.round(np.asarray(time, dtype=float) * 1e9).astype(np.int64)
    points = [
        f'- {{positions: {_row(position)}, velocities: {_row(velocity)}, '
        f'accelerations: {_row(acceleration)}, '
        f'time_from_start: {{sec: {stamp // 10**9}, nanosec: {stamp % 10**9}}}}}'
        for stamp, position, velocity, acceleration in zip(
            nanoseconds.tolist(), np.asarray(q), np.asarray(dq), np.asarray(ddq)
        )
    ]
    return '\n'.join([f'joint_names: [{", ".join(joint_names)}]', 'points:', *points]) + '\n'


def _row(values: ArrayLike) -> str:
    # Fixed point: other YAML readers take 1e-05 for a text; a micron and its rates are enough.
    return '[' + ', '.join(f'{value + 0.0:.6f}' for value in np.asarray(values)) + ']'
