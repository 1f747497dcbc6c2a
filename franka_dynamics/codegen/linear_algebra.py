# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Symmetric linear equations of expressions, solved by the factors L D L^T."""

from collections.abc import Iterable, Mapping, Sequence

from .expression import Expression, Graph, Scalar
from ..dynamics.model import singular_frame_error
from ..errors import InertiaError

LowerTriangle = dict[tuple[int, int], Expression]


def ldl_factors(
    graph: Graph,
    elements: Mapping[tuple[int, int], Expression],
    joint_names: Sequence[str] = (),
    *,
    min_pivot: Expression | None = None,
) -> tuple[LowerTriangle, list[Expression]]:
    """
    Return L and the reciprocals of D of a symmetric matrix L D L^T.

    This takes a division for each row and no square roots (Golub and Van Loan 2013, section
    4.1.2). `elements` maps (i, j), i <= j, to the elements of the matrix. A matrix with
    `joint_names` is a mass matrix: the variables of D, 1/D and L in generated code are named D1,
    E1, L2_1 and so on. One with `min_pivot` is the mobility of a frame: a pivot that is not above
    `min_pivot` makes the result NaN at run time.

    Raises
    ------
    InertiaError
        If a pivot is zero at every position. The message names the joint or, with `min_pivot`,
        says that the inertia at a frame is singular.

    """
    L: LowerTriangle = {}
    scaled: LowerTriangle = {}  # L D
    inverse: list[Expression] = []
    n = max(i for i, _ in elements) + 1
    for j in range(n):
        pivot = elements[j, j] - graph.sum(L[j, k] * scaled[j, k] for k in range(j))
        if min_pivot is not None:
            if pivot.is_zero:
                raise singular_frame_error()
            # The square root of a negative number is NaN, which marks the state.
            root = graph.sqrt(pivot - min_pivot)
            pivot = root * root + min_pivot
        elif pivot.is_zero:
            raise InertiaError(
                f'The mass matrix is singular: {joint_names[j]} moves no mass, or only mass '
                'that the joints before it move in the same way, and has no rotor inertia. Its '
                'acceleration is undetermined. Give its link an inertia, or the joint a '
                'rotor_inertia.'
            )
        inverse.append(graph.reciprocal(pivot))
        if joint_names:
            graph.set_name(f'D{j + 1}', pivot)
            graph.set_name(f'E{j + 1}', inverse[j])
        for i in range(j + 1, n):
            rest = graph.sum(L[j, k] * scaled[i, k] for k in range(j))
            scaled[i, j] = elements[j, i] - rest
            L[i, j] = scaled[i, j] * inverse[j]
            if joint_names:
                graph.set_name(f'L{i + 1}_{j + 1}', L[i, j])
    return L, inverse


def solve_lower(graph: Graph, L: LowerTriangle, rhs: Iterable[Scalar]) -> list[Expression]:
    """Return y with L y = rhs."""
    y: list[Expression] = []
    for i, value in enumerate(rhs):
        y.append(graph.expression(value) - graph.sum(L[i, k] * y[k] for k in range(i)))
    return y


def solve_ldl(
    graph: Graph,
    L: LowerTriangle,
    D_inverse: Sequence[Expression],
    rhs: Iterable[Scalar],
) -> list[Expression]:
    """Return x with L D L^T x = rhs."""
    y = solve_lower(graph, L, rhs)
    n = len(y)
    x = [graph.zero] * n
    for i in reversed(range(n)):
        x[i] = y[i] * D_inverse[i] - graph.sum(L[k, i] * x[k] for k in range(i + 1, n))
    return x
