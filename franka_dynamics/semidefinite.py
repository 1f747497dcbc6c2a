# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Quadratic costs, minimised by Clarabel where matrices must be positive semidefinite."""

from typing import Any, NamedTuple

import numpy as np

from .arrays import Array, ArrayLike
from .errors import require_extra


class Constraint(NamedTuple):
    """
    The constraint that constant (k,) + slope (k, N) x is in a cone, for unknowns x (N,).

    `clarabel_cone` is the name of Clarabel's class.
    """

    clarabel_cone: str
    cone_arguments: tuple[int, ...]
    constant: Array
    slope: Array


def nonnegative_cone(constant: ArrayLike, slope: ArrayLike) -> Constraint:
    """Return the constraint that all of constant (k,) + slope (k, N) x is nonnegative."""
    rows = np.asarray(slope, dtype=float)
    return Constraint('NonnegativeConeT', (len(rows),), np.broadcast_to(constant, len(rows)), rows)


def zero_cone(constant: Array, slope: Array) -> Constraint:
    """Return the constraint that constant (k,) + slope (k, N) x is zero."""
    return Constraint('ZeroConeT', (len(constant),), constant, slope)


def psd_cone(constant: Array, slope: Array) -> Constraint:
    """Return the constraint that constant (k, k) + slope (k, k, N) x is positive semidefinite."""
    column, row = np.tril_indices(len(constant))  # the upper triangle, column by column
    scale = np.where(row == column, 1.0, np.sqrt(2.0))
    rows = scale[:, None] * slope[row, column]
    return Constraint('PSDTriangleConeT', (len(constant),), scale * constant[row, column], rows)


def exponential_cone(lower_index: int, upper_index: int, unknown_count: int) -> Constraint:
    """Return the constraint x[lower_index] <= ln x[upper_index] on unknowns x."""
    slope = np.zeros((3, unknown_count))
    slope[0, lower_index] = slope[2, upper_index] = 1.0
    return Constraint('ExponentialConeT', (), np.array([0.0, 1.0, 0.0]), slope)


def quadratic_minimiser(
    hessian: Array,
    linear: Array,
    constraints: list[Constraint],
    *,
    allow_inaccurate: bool = True,
) -> Array | None:
    """
    Return the x (N,) within `constraints` that minimises x' hessian x / 2 + linear x, or None.

    None is returned if the solver finds no minimum; with `allow_inaccurate` one to an accuracy of
    5e-5 will do. Raises MissingDependencyError if Clarabel or SciPy is not installed.
    """
    with require_extra('Physically consistent parameters need clarabel and scipy', 'identify'):
        import clarabel
        from scipy.sparse import csc_matrix
    solver: Any = clarabel
    settings = solver.DefaultSettings()
    settings.verbose = False
    problem = solver.DefaultSolver(
        csc_matrix(np.triu(hessian)),
        linear,
        csc_matrix(np.concatenate([-one.slope for one in constraints])),
        np.concatenate([one.constant for one in constraints]),
        [getattr(solver, one.clarabel_cone)(*one.cone_arguments) for one in constraints],
        settings,
    )
    solution = problem.solve()
    status = solver.SolverStatus
    enough = [status.Solved, status.AlmostSolved] if allow_inaccurate else [status.Solved]
    return np.array(solution.x) if solution.status in enough else None
