# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Rows of modified (Craig) and standard Denavit-Hartenberg tables, and conversions between them.

Standard and modified rows describe the same sequence of screw motions along z and x but divide it
differently: a and alpha of a standard row belong to the next modified row.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
import math

import numpy as np

from .typed_file import Angle
from ..arrays import Array, ArrayLike
from ..constants import Convention
from ..errors import as_enum, DescriptionError
from ..spatial import cos_sin


@dataclass(frozen=True)
class DHRow:
    """
    A row a [m], alpha [rad], d [m], theta and beta [rad] of a DH table at joint position zero.

    In the modified convention `a` and `alpha` are Craig's a_{i-1} and alpha_{i-1}, as Franka's own
    table has them. `beta` is a turn about y after that about x, zero unless two axes are nearly
    parallel: their common normal may be kilometres away, so that they get Hayati's parameters
    instead (Hayati and Mirmirani 1985). NaN or an infinite value raises a DescriptionError.
    """

    a: float = 0.0
    alpha: Angle = 0.0
    d: float = 0.0
    theta: Angle = 0.0
    beta: Angle = 0.0

    def __post_init__(self) -> None:
        """Raise DescriptionError for a value that is not finite."""
        for field in fields(self):
            value = getattr(self, field.name)
            if not math.isfinite(value):
                raise DescriptionError(f'{field.name} of a DH row is {value}; it must be finite.')

    def transform(
        self,
        convention: Convention,
        theta_offset: ArrayLike = 0.0,
        d_offset: ArrayLike = 0.0,
    ) -> Array:
        """
        Return the pose of this row's frame in the previous frame, shape (..., 4, 4).

        The offsets, shape (...), are joint positions: of a revolute joint `theta_offset` [rad], of
        a prismatic joint `d_offset` [m]. The modified convention is that of the Exp[licit]
        derivation, eq. 1, and of Gautier and Khalil 1990, eq. 1, the standard one that of
        Busellato 2023, section 1 (docs/theory/references.md).
        """
        convention = as_enum(Convention, convention, 'The convention', DescriptionError)
        turn, slide = np.broadcast_arrays(
            np.asarray(theta_offset, dtype=float), np.asarray(d_offset, dtype=float)
        )
        d = self.d + slide
        # c and s are cosine and sine: of the row's theta (0), of theta with the joint's turn (t),
        # of alpha (a) and of beta (b).
        # By the angle sum formulas a `theta` of a quarter turn is exact: cos(q - pi/2) is sin q.
        c0, s0 = cos_sin(self.theta)
        ct = c0 * np.cos(turn) - s0 * np.sin(turn)
        st = s0 * np.cos(turn) + c0 * np.sin(turn)
        ca, sa = cos_sin(self.alpha)
        cb, sb = cos_sin(self.beta)
        # The turn Rx(alpha) Ry(beta), and its last column, along which a modified row moves by d.
        tilt = np.array([[cb, 0.0, sb], [sa * sb, ca, -sa * cb], [-ca * sb, sa, ca * cb]])
        out = np.zeros((*turn.shape, 4, 4))
        spin = np.zeros((*turn.shape, 3, 3))
        spin[..., 0, 0] = ct
        spin[..., 0, 1] = -st
        spin[..., 1, 0] = st
        spin[..., 1, 1] = ct
        spin[..., 2, 2] = 1.0
        if convention is Convention.MODIFIED:
            out[..., :3, :3] = tilt @ spin
            out[..., :3, 3] = d[..., None] * tilt[:, 2]
            out[..., 0, 3] += self.a
        else:
            out[..., :3, :3] = spin @ tilt
            out[..., 0, 3] = self.a * ct
            out[..., 1, 3] = self.a * st
            out[..., 2, 3] = d
        out[..., 3, 3] = 1.0
        return out


def to_modified_rows(rows: Sequence[DHRow]) -> tuple[list[DHRow], list[DHRow]]:
    """
    Return the modified rows of a standard DH table, and rows from modified to standard frames.

    The rows of the standard frames have a, alpha and beta only. Each leads from the modified frame
    {i}, which joint i moves, to the standard frame {i}.
    """
    remainders = [replace(row, d=0.0, theta=0.0) for row in rows]
    previous_remainders = [DHRow(), *remainders]
    modified = [
        replace(previous, d=row.d, theta=row.theta)
        for previous, row in zip(previous_remainders, rows)
    ]
    return modified, remainders


def to_standard_rows(rows: Sequence[DHRow]) -> list[DHRow]:
    """Return the standard rows of a modified DH table, dropping its first row's a, alpha, beta."""
    return [
        replace(row, a=following.a, alpha=following.alpha, beta=following.beta)
        for row, following in pairwise([*rows, DHRow()])
    ]
