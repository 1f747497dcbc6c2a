# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""An arm's frames and centres of mass at one pose, as a static picture."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .elements import figure_of_size
from ..arm import ArmDescription
from ..dynamics.newton_euler import NewtonEulerModel

_AXES = {'x': '#d62728', 'y': '#2ca02c', 'z': '#1f77b4'}
_AXIS_LENGTH_SHARE = 0.12  # relative to the side of the picture
_SAME_ORIGIN_M = 1e-9  # [m]; frames whose origins are nearer than this share a label


def frames_figure(description: ArmDescription, q: ArrayLike) -> Any:
    """
    Return a matplotlib figure of frames {0} to {n}, the flange and centres of mass in {S}.

    The axes of each frame are x red, y green, z blue. A line joins the frames' origins. A dot
    marks each link's centre of mass; its area grows with the mass. q, shape (n,), is in rad or m.
    Raises JointVectorError for a wrong q, MissingDependencyError if matplotlib is not installed.
    """
    poses = np.concatenate([description.base[None], NewtonEulerModel(description).frames(q)])
    origins = poses[:, :3, 3]
    masses = np.array([link.mass for link in description.links])
    centers = np.array(
        [
            pose[:3, :3] @ (link.first_moment / (link.mass or 1.0)) + pose[:3, 3]
            for pose, link in zip(poses[1:], description.links)
        ]
    )
    figure = figure_of_size((7.0, 7.0))
    axes = figure.add_subplot(projection='3d')
    low = np.minimum(origins.min(axis=0), centers.min(axis=0))
    high = np.maximum(origins.max(axis=0), centers.max(axis=0))
    side = max(float((high - low).max()), 0.1)
    axes.plot(*origins.T, color='#888888', lw=2.5, label='origins')
    for number, (axis, color) in enumerate(_AXES.items()):
        tips = origins + _AXIS_LENGTH_SHARE * side * poses[:, :3, number]
        for origin, tip in zip(origins, tips):
            axes.plot(*zip(origin, tip), color=color, lw=1.4)
        axes.plot([], [], color=color, label=axis)
    sizes = 20.0 + 80.0 * masses / max(masses.max(), 1e-12)
    axes.scatter(*centers.T, s=sizes, color='#444444', alpha=0.5, label='centres of mass')
    names = [*(f'{{{i}}}' for i in range(description.n + 1)), 'flange']
    while names:
        here = np.linalg.norm(origins - origins[0], axis=1) < _SAME_ORIGIN_M
        axes.text(*origins[0], '  ' + ', '.join(n for n, at in zip(names, here) if at), fontsize=9)
        names = [name for name, at in zip(names, here) if not at]
        origins = origins[~here]
    middle = 0.5 * (low + high)
    reach = (0.5 + _AXIS_LENGTH_SHARE) * side
    for set_limits, center in zip((axes.set_xlim, axes.set_ylim, axes.set_zlim), middle):
        set_limits(center - reach, center + reach)
    axes.set_box_aspect((1, 1, 1))
    axes.view_init(elev=18.0, azim=-60.0)
    axes.set(xlabel='x [m]', ylabel='y [m]', zlabel='z [m]')
    positions = ', '.join(f'{value:.3g}' for value in np.asarray(q, dtype=float))
    axes.set_title(f'{description.name} at q = ({positions})', fontsize=10)
    axes.legend(loc='upper left', fontsize=8)
    return figure
