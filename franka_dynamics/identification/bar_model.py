# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""An arm as straight bars between its frames: heights above a table, distances to itself."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..arm import ArmDescription
from ..dynamics.newton_euler import NewtonEulerModel
from ..typing import Array

_SHORTEST = 0.03  # [m]; frames nearer to each other than this make no bar
_APART = 3  # bars; an elbow with an offset is a bar of its own
_FIRST_ABOVE = 3  # the points before it stand on the table


def bar_ends(arm: ArmDescription, q: ArrayLike, tool: float = 0.0) -> Array:
    """
    Return base, frame origins, flange and tip of a tool in {S}, shape (..., n + 3, 3) [m].

    Parameters
    ----------
    arm : ArmDescription
        Whose geometry it is.
    q : array_like, shape (..., n)
        Positions [rad].
    tool : float
        Its length along the flange's z [m].

    """
    frames = NewtonEulerModel(arm).frames(q)
    base = np.broadcast_to(np.asarray(arm.base)[:3, 3], (*frames.shape[:-3], 1, 3))
    tip = frames[..., -1:, :3, 3] + tool * frames[..., -1:, :3, 2]
    return np.concatenate([base, frames[..., :3, 3], tip], axis=-2)


def heights(points: Array, table: float = 0.0) -> Array:
    """Return how far `bar_ends` from the third joint on are above a table, (..., n) [m]."""
    return np.asarray(points[..., _FIRST_ABOVE:, 2] - table)


def clearances(points: Array) -> Array:
    """
    Return the distance of each two bars between `bar_ends`, not neighbours, (..., pairs) [m].

    Neighbours are bars up to two apart: joint limits keep those from each other.
    """
    one = points.reshape(-1, *points.shape[-2:])[0]  # lengths do not depend on the position
    bars, last = [], 0
    for i in range(1, len(one)):
        if np.linalg.norm(one[i] - one[last]) >= _SHORTEST:
            bars.append((last, i))
            last = i
    distances = [
        _bar_distance(points[..., a, :], points[..., b, :], points[..., c, :], points[..., d, :])
        for i, (a, b) in enumerate(bars)
        for c, d in bars[i + _APART :]
    ]
    return np.stack(distances, axis=-1)


def _bar_distance(a: Array, b: Array, c: Array, d: Array) -> Array:
    """Return the distance of the segments ab and cd (Ericson 2005, section 5.1.9)."""
    along, other, between = b - a, d - c, a - c
    aa, ee = np.sum(along * along, -1), np.sum(other * other, -1)
    ae, af, ef = (
        np.sum(x * y, -1) for x, y in ((along, other), (along, between), (other, between))
    )
    spread = aa * ee - ae * ae  # zero for parallel bars, where any s will do
    s = np.clip(
        np.where(
            spread > 1e-12 * aa * ee,
            (ae * ef - af * ee) / np.where(spread > 0.0, spread, 1.0),
            0.0,
        ),
        0.0,
        1.0,
    )
    t = np.clip((ae * s + ef) / ee, 0.0, 1.0)
    s = np.clip((ae * t - af) / aa, 0.0, 1.0)
    gap = between + s[..., None] * along - t[..., None] * other
    return np.asarray(np.linalg.norm(gap, axis=-1))
