# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Draw the RPR arm's workspace: how many postures reach each point, and the singularities.

A section through the vertical axis shows the whole workspace, because joint 1 turns about this
axis. The picture is rpr_workspace.png.
"""

from __future__ import annotations

from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
import numpy as np

from franka_dynamics.arm import load
from franka_dynamics.errors import UnreachableError
from franka_dynamics.rpr.kinematics import RprKinematics

POINTS = 160  # along radius and height


def postures(radius: np.ndarray, height: np.ndarray) -> np.ndarray:
    """Return the number of postures within the joint limits, 0 to 4, shape (heights, radii)."""
    arm = load('rpr')
    kinematics = RprKinematics.from_description(arm)
    lower, upper = arm.limit('lower'), arm.limit('upper')
    counts = np.zeros((len(height), len(radius)), dtype=int)
    for row, z in zip(counts, height):
        for k, r in enumerate(radius):
            try:
                row[k] = len(kinematics.inverse_within([r, 0.0, z], lower, upper))
            except UnreachableError:
                row[k] = 0
    return counts


def main() -> None:
    """Count the postures at every point of the section and draw the counts."""
    kinematics = RprKinematics.from_description(load('rpr'))
    radius = np.linspace(0.0, 1.15, POINTS)
    height = kinematics.d0 + kinematics.a3 * np.linspace(-1.15, 1.15, POINTS)
    counts = postures(radius, height)
    figure = Figure(figsize=(7.5, 5.5), layout='constrained')
    axes = figure.add_subplot()
    shades = ListedColormap(['white', '#deebf7', '#9ecae1', '#4292c6', '#08519c'])
    drawn = axes.pcolormesh(
        radius, height, counts, cmap=shades, vmin=-0.5, vmax=4.5, shading='nearest'
    )
    figure.colorbar(drawn, ticks=range(5), label='postures within the limits')
    axes.vlines(
        abs(kinematics.a1),
        height[0],
        height[-1],
        colors='tab:red',
        linestyles='--',
        label='w = 0: radius a1',
    )
    for sign in (1.0, -1.0):
        axes.hlines(
            kinematics.d0 + sign * kinematics.a3,
            radius[0],
            radius[-1],
            colors='tab:orange',
            linestyles='--',
            label='C3 = 0: link 3 upright' if sign > 0.0 else None,
        )
    axes.set(
        xlabel='distance from the vertical axis [m]',
        ylabel='height [m]',
        title='RPR arm: reach and singularities',
        aspect='equal',
    )
    figure.legend(loc='outside lower center', ncols=2)
    figure.savefig('rpr_workspace.png', dpi=110)
    print(
        f'{int((counts > 0).sum())} of {counts.size} points reached, out to '
        f'{radius[counts.any(axis=0)].max():.2f} m from the axis and up to '
        f'{height[counts.any(axis=1)].max():.2f} m, in at most {counts.max()} postures'
    )


if __name__ == '__main__':
    main()
