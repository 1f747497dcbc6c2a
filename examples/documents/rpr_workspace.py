# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Draw the RPR arm's workspace: how many postures reach each point, and the singularities.

A section through the vertical axis shows the whole workspace, because joint 1 turns about this
axis. The picture is rpr_workspace.png.
"""

import numpy as np

try:
    from matplotlib.figure import Figure
except ImportError as error:
    raise SystemExit(f"{error}; run, in the clone, pip install '.[replay]'") from None

from franka_dynamics.arm import load
from franka_dynamics.errors import UnreachableError
from franka_dynamics.rpr.kinematics import RprKinematics

POINTS = 160  # along radius and height


def postures(radius: np.ndarray, height: np.ndarray) -> np.ndarray:
    """Return the number of postures within the joint limits, 0 to 4, shape (heights, radii)."""
    arm = load('rpr')
    kinematics = RprKinematics.from_description(arm)
    lower = arm.limit('lower')
    upper = arm.limit('upper')
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
    figure = Figure(figsize=(7.0, 5.0), layout='constrained')
    axes = figure.add_subplot(aspect='equal', xlabel='distance from joint 1 [m]')
    axes.set(ylabel='height [m]', title='RPR arm: postures within the limits at each point')
    axes.contourf(radius, height, counts, levels=[0.5, 1.5, 2.5], colors=['#c6dbef', '#6baed6'])
    for count in range(1, counts.max() + 1):
        rows, columns = np.nonzero(counts == count)
        place = radius[columns].mean(), height[rows].mean()
        if count == 2:  # two parts, above each other
            place = radius[columns].min() + 0.02, height[rows].max() - 0.05
        axes.text(*place, '1 posture' if count == 1 else f'{count} postures')
    inner = abs(kinematics.a1)
    axes.axvline(inner, color='tab:red')
    axes.text(inner - 0.05, kinematics.d0, 'singular: w = 0', color='tab:red', rotation=90)
    for sign, way, side in ((1.0, 'up', 'bottom'), (-1.0, 'down', 'top')):
        edge = kinematics.d0 + sign * kinematics.a3
        axes.axhline(edge, color='tab:orange')
        text = f'singular: C3 = 0, link 3 points {way}'
        axes.text(1.1, edge + 0.01 * sign, text, color='tab:orange', ha='right', va=side)
    figure.savefig('rpr_workspace.png', dpi=110)
    print(
        f'{int((counts > 0).sum())} of {counts.size} points reached, out to '
        f'{radius[counts.any(axis=0)].max():.2f} m from the axis and up to '
        f'{height[counts.any(axis=1)].max():.2f} m, in at most {counts.max()} postures'
    )


if __name__ == '__main__':
    main()
