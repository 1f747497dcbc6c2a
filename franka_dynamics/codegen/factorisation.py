# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The solution of symmetric linear equations by M = L D L^T, in expressions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .expression import Expression, Graph, Number
from ..errors import InertiaError

Lower = dict[tuple[int, int], Expression]


def factorised(
    graph: Graph,
    elements: Mapping[tuple[int, int], Expression],
    names: Sequence[str] = (),
    *,
    least: Expression | None = None,
) -> tuple[Lower, list[Expression]]:
    """
    Return L and the reciprocals of D of a symmetric matrix L D L^T.

    This takes a division for each row and no square roots (Golub and Van Loan 2013, section
    4.1.2). `elements` maps (i, j), i <= j, to the elements of the matrix. If the expression of a
    pivot is 0, an InertiaError names the pivot's joint (`names`). A pivot that is not above
    `least` makes the result NaN.
    """
    L: Lower = {}
    scaled: Lower = {}  # L D
    inverse: list[Expression] = []
    n = max(i for i, _ in elements) + 1
    for j in range(n):
        pivot = elements[j, j] - graph.sum(L[j, k] * scaled[j, k] for k in range(j))
        if least is not None:
            root = graph.sqrt(pivot - least)
            pivot = root * root + least
        if pivot.is_zero:
            raise InertiaError(
                f'The mass matrix is singular: {names[j]} moves no mass, or only mass that the '
                'joints before it move in the same way, and has no rotor inertia. Its '
                'acceleration is undetermined. Give its link an inertia, or the joint a '
                'rotor_inertia.'
            )
        inverse.append(graph.reciprocal(pivot))
        if names:
            graph.name(f'D{j + 1}', pivot)
            graph.name(f'E{j + 1}', inverse[j])
        for i in range(j + 1, n):
            rest = graph.sum(L[j, k] * scaled[i, k] for k in range(j))
            scaled[i, j] = elements[j, i] - rest
            L[i, j] = scaled[i, j] * inverse[j]
            if names:
                graph.name(f'L{i + 1}_{j + 1}', L[i, j])
    return L, inverse


def reduced(graph: Graph, L: Lower, right: Iterable[Number]) -> list[Expression]:
    """Return y with L y = right."""
    y: list[Expression] = []
    for i, value in enumerate(right):
        y.append(graph.lift(value) - graph.sum(L[i, k] * y[k] for k in range(i)))
    return y


def solved(
    graph: Graph, L: Lower, inverse: Sequence[Expression], right: Iterable[Number]
) -> list[Expression]:
    """Return x with L D L^T x = right."""
    y = reduced(graph, L, right)
    n = len(y)
    x = [graph.zero] * n
    for i in reversed(range(n)):
        x[i] = y[i] * inverse[i] - graph.sum(L[k, i] * x[k] for k in range(i + 1, n))
    return x
