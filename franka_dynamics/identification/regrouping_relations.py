# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The relations (20) to (22) of Gautier and Khalil 1990, as corrected, in numbers or in letters.

They say what a link's parameters are as parameters of its antecedent. Rows are modified ones, in
the paper's letters d = `a` and r = `d`; on a tree gamma and b stand before them (Khalil and
Kleinfinger 1986). Entries are products of the row's sines, cosines and lengths: +, - and * of
numbers, or of sympy's letters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..dynamics.tree_rows import cos_sin, TreeRow

# A number, or a letter of sympy: what has +, - and *.
Entry = Any


@dataclass(frozen=True)
class Letters:
    """The sines, cosines and lengths of a row, as numbers or as letters of the same place."""

    cos_gamma: Entry
    sin_gamma: Entry
    b: Entry
    cos_alpha: Entry
    sin_alpha: Entry
    a: Entry
    cos_theta: Entry
    sin_theta: Entry
    d: Entry

    @classmethod
    def of(cls, row: TreeRow) -> Letters:
        """Return the numbers of a row."""
        return cls(
            *cos_sin(row.gamma),
            row.b,
            *cos_sin(row.row.alpha),
            row.row.a,
            *cos_sin(row.row.theta),
            row.row.d,
        )


def revolute_regrouping(row: Letters) -> NDArray[np.object_]:
    """
    Return what YY, mZ and m of a revolute joint's link add to its antecedent, (10, 3).

    Gautier and Khalil 1990, (20), with gamma and b of a tree's row in front. The link itself
    loses YY, mZ, m, and YY from XX: XXR_j = XX_j - YY_j.
    """
    ca, sa, a, d = row.cos_alpha, row.sin_alpha, row.a, row.d
    return in_antecedent(
        row,
        [
            # YY, mZ, m
            [1, 2 * d, d * d],  # XX
            [0, a * sa, a * d * sa],  # XY
            [0, -a * ca, -a * d * ca],  # XZ
            [ca * ca, 2 * d * ca * ca, a * a + d * d * ca * ca],  # YY
            [ca * sa, 2 * d * ca * sa, d * d * ca * sa],  # YZ
            [sa * sa, 2 * d * sa * sa, a * a + d * d * sa * sa],  # ZZ
            [0, 0, a],  # mX
            [0, -sa, -d * sa],  # mY
            [0, ca, d * ca],  # mZ
            [0, 0, 1],
        ],
    )  # m


def prismatic_regrouping(row: Letters) -> NDArray[np.object_]:
    """
    Return what the tensor of a prismatic joint's link adds to its antecedent, (10, 6).

    Gautier and Khalil 1990, (21) with its first terms of XYR, XZR and YZR corrected, which is
    (22); with gamma and b of a tree's row in front.
    """
    ca, sa, c, s = row.cos_alpha, row.sin_alpha, row.cos_theta, row.sin_theta
    cs, cc_ss = c * s, c * c - s * s
    return in_antecedent(
        row,
        [
            # XX, XY, XZ, YY, YZ, ZZ
            [c * c, -2 * cs, 0, s * s, 0, 0],
            [cs * ca, cc_ss * ca, -c * sa, -cs * ca, s * sa, 0],
            [cs * sa, cc_ss * sa, c * ca, -cs * sa, -s * ca, 0],
            [
                s * s * ca * ca,
                2 * cs * ca * ca,
                -2 * s * ca * sa,
                c * c * ca * ca,
                -2 * c * ca * sa,
                sa * sa,
            ],
            [
                s * s * ca * sa,
                2 * cs * ca * sa,
                s * (ca * ca - sa * sa),
                c * c * ca * sa,
                c * (ca * ca - sa * sa),
                -ca * sa,
            ],
            [
                s * s * sa * sa,
                2 * cs * sa * sa,
                2 * s * ca * sa,
                c * c * sa * sa,
                2 * c * ca * sa,
                ca * ca,
            ],
            *[[0] * 6] * 4,
        ],
    )


def first_moment_regrouping(row: Letters) -> NDArray[np.object_]:
    """
    Return what mX, mY, mZ and m of a link held at position zero are in its antecedent, (10, 4).

    h' = R h + m P and J' = J + 2 (h.P) 1 - h P^T - P h^T + m (P^2 1 - P P^T), h turned first.
    """
    ca, sa, c, s = row.cos_alpha, row.sin_alpha, row.cos_theta, row.sin_theta
    P = (row.a, -row.d * sa, row.d * ca)
    # The columns of the rotation, and the mass, whose first moment is P.
    turned = ((c, s * ca, s * sa), (-s, c * ca, c * sa), (0, -sa, ca))
    columns = []
    for h in turned:
        dot = h[0] * P[0] + h[1] * P[1] + h[2] * P[2]
        columns.append(
            [
                2 * (dot - h[0] * P[0]),
                -(h[0] * P[1] + h[1] * P[0]),
                -(h[0] * P[2] + h[2] * P[0]),
                2 * (dot - h[1] * P[1]),
                -(h[1] * P[2] + h[2] * P[1]),
                2 * (dot - h[2] * P[2]),
                *h,
                0,
            ]
        )
    x, y, z = P
    columns.append(
        [y * y + z * z, -x * y, -x * z, x * x + z * z, -y * z, x * x + y * y, x, y, z, 1]
    )
    return in_antecedent(row, [list(entries) for entries in zip(*columns)])


def in_antecedent(row: Letters, body: Sequence[Sequence[Entry]]) -> NDArray[np.object_]:
    """
    Return bodies' parameters, columns of (10, k), given behind Rz(gamma) Tz(b), before it.

    On a serial arm gamma and b are zero, and nothing changes.
    """
    xx, xy, xz, yy, yz, zz, hx, hy, hz, m = np.array(body, dtype=object)
    c, s, b = row.cos_gamma, row.sin_gamma, row.b
    x, y = c * hx - s * hy, s * hx + c * hy
    lift = 2 * b * hz + b * b * m
    return np.array(
        [
            c * c * xx - 2 * c * s * xy + s * s * yy + lift,
            c * s * (xx - yy) + (c * c - s * s) * xy,
            c * xz - s * yz - b * x,
            s * s * xx + 2 * c * s * xy + c * c * yy + lift,
            s * xz + c * yz - b * y,
            zz,
            x,
            y,
            hz + b * m,
            m,
        ],
        dtype=object,
    )


def turned_back(row: Letters, vector: tuple[Entry, Entry, Entry]) -> tuple[Entry, Entry, Entry]:
    """Return a vector of the antecedent's axes in the link's at position zero."""
    x, y, z = vector
    x, y = row.cos_gamma * x + row.sin_gamma * y, row.cos_gamma * y - row.sin_gamma * x
    y, z = row.cos_alpha * y + row.sin_alpha * z, row.cos_alpha * z - row.sin_alpha * y
    return row.cos_theta * x + row.sin_theta * y, row.cos_theta * y - row.sin_theta * x, z
