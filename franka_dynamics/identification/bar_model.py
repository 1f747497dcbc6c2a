# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""An arm as straight bars between its frames: heights above a table, distances to itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..arm import ArmDescription
from ..dynamics.newton_euler import NewtonEulerModel
from ..typing import Array

_SHORTEST = 0.03  # [m]; frames nearer to each other than this make no bar
_APART = 3  # bars; an elbow with an offset is a bar of its own


@dataclass(frozen=True, eq=False)
class Skeleton:
    """
    Bars between the origins of an arm's frames, from the base to the tip of a tool.

    Attributes
    ----------
    arm : ArmDescription
        Whose geometry it is.
    tool : float
        Length of a tool along the flange's z [m].

    """

    arm: ArmDescription
    tool: float = 0.0

    def points(self, q: ArrayLike) -> Array:
        """Return base, frame origins, flange and tool tip in {S}, shape (..., n + 3, 3) [m]."""
        frames = NewtonEulerModel(self.arm).frames(q)
        base = np.broadcast_to(np.asarray(self.arm.base)[:3, 3], (*frames.shape[:-3], 1, 3))
        tip = frames[..., -1:, :3, 3] + self.tool * frames[..., -1:, :3, 2]
        return np.concatenate([base, frames[..., :3, 3], tip], axis=-2)

    def heights(self, q: ArrayLike, table: float = 0.0, first: int = 3) -> Array:
        """
        Return how far each point of the moving arm is above a table, (..., n + 3 - first) [m].

        Parameters
        ----------
        q : array_like, shape (..., n)
            Positions [rad].
        table : float
            Height of the table in {S} [m].
        first : int
            The first point that counts; those before stand on the table.

        """
        return self.heights_of(self.points(q), table, first)

    @staticmethod
    def heights_of(points: Array, table: float = 0.0, first: int = 3) -> Array:
        """Return `heights` of what `points` returned."""
        return np.asarray(points[..., first:, 2] - table)

    def height(self, q: ArrayLike, table: float = 0.0, first: int = 3) -> Array:
        """Return the least of `heights`, shape (...) [m]."""
        return np.asarray(self.heights(q, table, first).min(axis=-1))

    def clearances(self, q: ArrayLike) -> Array:
        """
        Return the distance of each two bars that are not neighbours, shape (..., pairs) [m].

        Neighbours are bars up to two apart: joint limits keep those from each other.
        """
        return self.clearances_of(self.points(q))

    def clearances_of(self, points: Array) -> Array:
        """Return `clearances` of what `points` returned."""
        bars = self._bars(points)
        distances = [
            _bar_distance(
                points[..., a, :], points[..., b, :], points[..., c, :], points[..., d, :]
            )
            for i, (a, b) in enumerate(bars)
            for c, d in bars[i + _APART :]
        ]
        return np.stack(distances, axis=-1)

    def clearance(self, q: ArrayLike) -> Array:
        """Return the least of `clearances`, shape (...) [m]."""
        return np.asarray(self.clearances(q).min(axis=-1))

    @staticmethod
    def _bars(points: Array) -> list[tuple[int, int]]:
        """Return pairs of points with a bar between; lengths do not depend on the position."""
        one = points.reshape(-1, *points.shape[-2:])[0]
        bars, last = [], 0
        for i in range(1, len(one)):
            if np.linalg.norm(one[i] - one[last]) >= _SHORTEST:
                bars.append((last, i))
                last = i
        return bars


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
