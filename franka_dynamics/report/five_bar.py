# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The spherical five-bar on its way, its motors' torques and the drift of its loop."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .elements import figure_of_size, save
from ..dynamics.closed_chain import ClosedChain
from ..dynamics.mechanisms import Reaching
from ..mesh.mesh import TriangleMesh

_LINK_COLOURS = ('tab:blue', 'tab:green', 'gold', 'tab:orange')
_ROUNDING = 1e-17  # what a logarithmic axis shows in place of an exact zero


def draw_five_bar(
    chain: ClosedChain, meshes: Sequence[TriangleMesh], reaching: Reaching, path: str | Path
) -> None:
    """
    Write a picture of a point-to-point motion; the suffix chooses the format.

    Parameters
    ----------
    chain : ClosedChain
        From `mechanisms.spherical_five_bar`.
    meshes : sequence of four TriangleMesh
        The links at q = 0, in the space frame.
    reaching : Reaching
        Its motion.
    path : str or Path
        .png, .svg, .pdf, ...

    Raises
    ------
    MissingDependencyError
        If matplotlib is not installed.

    """
    figure = figure_of_size((15.0, 5.0), 'Drawing the five-bar needs', 'view', '')
    _draw_links(figure.add_subplot(1, 3, 1, projection='3d'), chain, meshes, reaching)
    torque = figure.add_subplot(1, 3, 2)
    for motor, (joint, torques) in enumerate(zip(chain.active, reaching.torques.T)):
        torque.plot(reaching.times, torques, label=f'motor {motor + 1} (joint {joint + 1})')
    torque.set(xlabel='time [s]', ylabel='torque [N m]', title="motors' torques, (13)")
    torque.grid(alpha=0.3)
    torque.legend()
    drift = figure.add_subplot(1, 3, 3)
    for values, label in (
        (reaching.drift, 'passive joints integrated'),
        (reaching.closure, 'loop solved at every instant'),
    ):
        drift.semilogy(reaching.times, np.maximum(values, _ROUNDING), label=label)
    drift.set(xlabel='time [s]', ylabel='loop open by [rad]', title='constraint drift, (11)')
    drift.grid(alpha=0.3)
    drift.legend()
    save(figure, path)


def _draw_links(
    axes: Any, chain: ClosedChain, meshes: Sequence[TriangleMesh], reaching: Reaching
) -> None:
    from matplotlib.ticker import MaxNLocator
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    reach = 0.0
    for instant, opacity in ((0, 0.25), (-1, 0.9)):
        poses: NDArray[np.float64] = chain.tree.poses(reaching.motion.q[instant])
        for number, (mesh, colour) in enumerate(zip(meshes, _LINK_COLOURS)):
            moved = mesh.moved(poses[number])
            reach = max(reach, float(np.abs(moved.vertices).max()))
            axes.add_collection3d(
                Poly3DCollection(
                    moved.vertices[moved.faces], facecolor=colour, alpha=opacity, edgecolor='none'
                )
            )
    for number, colour in enumerate(_LINK_COLOURS):
        axes.plot([], [], color=colour, linewidth=5, label=f'link {number + 1}')
    for motor, joint in enumerate(chain.active, 1):
        axis = chain.tree.twists[joint, 3:] * reach * 1.15
        axes.plot(*np.stack((np.zeros(3), axis)).T, color='black', linewidth=1.0)
        # In front of the links, and named as in the table and beside the torques.
        axes.text(
            *(1.25 * axis),
            f'motor {motor} (joint {joint + 1})',
            zorder=100,
            ha='center',
            va='top',
            bbox={'facecolor': 'white', 'edgecolor': 'none', 'alpha': 0.8},
        )
    axes.set(
        xlim=(-reach, reach),
        ylim=(-reach, reach),
        zlim=(-0.5 * reach, 1.5 * reach),
        xlabel='x [m]',
        ylabel='y [m]',
        zlabel='z [m]',
        title='start (pale) and end',
    )
    axes.set_box_aspect((1, 1, 1))
    for direction in (axes.xaxis, axes.yaxis, axes.zaxis):
        direction.set_major_locator(MaxNLocator(5))
    axes.view_init(elev=28, azim=-75)
    axes.legend(loc='upper left', fontsize='small')
