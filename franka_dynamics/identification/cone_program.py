# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The consistent fit as the solver takes it: what all fits to one arm share, and what each adds.

The solver minimises x^T P x / 2 + q^T x with b - A x in a product of cones. What constrains the
links is prepared by cvxpy, once for many fits; squares of what the samples leave are added here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..typing import Array


@dataclass(frozen=True, eq=False)
class Squares:
    """
    What the samples want small: |links @ change + friction @ f - effort|^2 + |f|^2.

    `links` is of shape (p, k), `friction` of shape (p, f) and `effort` of shape (p,).
    """

    links: Array
    friction: Array
    effort: Array


@dataclass(frozen=True, eq=False)
class LinksCone:
    """
    A convex function of the links' change and its constraints, in the solver's form.

    Attributes
    ----------
    quadratic, linear : sparse array (v, v), ndarray (v,)
        P and q.
    rows, right : sparse array (c, v), ndarray (c,)
        A and b.
    cones : list
        Of the rows, in their order.
    columns : ndarray of int, shape (k,)
        Which of the v variables are the change.

    """

    quadratic: Any
    linear: Array
    rows: Any
    right: Array
    cones: list[Any]
    columns: NDArray[np.intp]

    @classmethod
    def of(cls, cp: Any, change: Any, divergence: Any, constraints: list[Any]) -> LinksCone:
        """Return twice a divergence under constraints, cvxpy expressions of `change`."""
        import clarabel
        from scipy import sparse

        data, _, _ = cp.Problem(cp.Minimize(2.0 * divergence), constraints).get_problem_data(
            cp.CLARABEL
        )
        dims, count = data['dims'], len(data['c'])
        cones = [clarabel.ZeroConeT(dims.zero), clarabel.NonnegativeConeT(dims.nonneg)]
        cones += [clarabel.SecondOrderConeT(size) for size in dims.soc]
        cones += [clarabel.PSDTriangleConeT(size) for size in dims.psd]
        cones += [clarabel.ExponentialConeT() for _ in range(dims.exp)]
        first = data['param_prob'].var_id_to_col[change.id]
        return cls(
            sparse.csc_array(data['P'] if 'P' in data else (count, count)),
            data['c'],
            sparse.csc_array(data['A']),
            data['b'],
            cones,
            np.arange(first, first + change.size),
        )

    def with_squares(
        self, squares: Squares, braking: NDArray[np.bool_], weight: float, unit: float
    ) -> ConeProgram:
        """
        Return unit * (squares + weight * this), where `braking` friction, (f,), is not negative.

        The residual is a variable of its own, so that nothing is squared before the solver.
        """
        import clarabel
        from scipy import sparse

        count, (m, f) = self.rows.shape[1], squares.friction.shape
        shown = sparse.lil_array((m, count))
        shown[:, self.columns] = squares.links
        signs = -sparse.eye_array(f, format='csr')[np.flatnonzero(braking)]
        rows = sparse.block_array(
            [
                [self.rows, None, None],
                [shown, squares.friction, -sparse.eye_array(m)],
                [None, signs, None],
            ],
            format='csc',
        )
        quadratic = sparse.block_diag(
            [weight * unit * self.quadratic, 2.0 * unit * sparse.eye_array(f + m)], format='csc'
        )
        return ConeProgram(
            sparse.triu(quadratic, format='csc'),
            np.concatenate([weight * unit * self.linear, np.zeros(f + m)]),
            rows,
            np.concatenate([self.right, squares.effort, np.zeros(signs.shape[0])]),
            [*self.cones, clarabel.ZeroConeT(m), clarabel.NonnegativeConeT(signs.shape[0])],
            self.columns,
            slice(count, count + f),
        )


@dataclass(frozen=True, eq=False)
class ConeProgram:
    """One problem as `LinksCone` describes it, and where change and friction are in x."""

    quadratic: Any
    linear: Array
    rows: Any
    right: Array
    cones: list[Any]
    change: NDArray[np.intp]
    friction: slice

    def solve(self, settings: dict[str, Any]) -> tuple[str, Array, Array]:
        """Return what the solver says, and the change of the links and the friction it found."""
        import clarabel

        chosen = clarabel.DefaultSettings()
        chosen.verbose = False
        for name, value in settings.items():
            setattr(chosen, name, value)
        found = clarabel.DefaultSolver(
            self.quadratic, self.linear, self.rows, self.right, self.cones, chosen
        ).solve()
        x = np.array(found.x)
        return str(found.status), x[self.change], x[self.friction]
