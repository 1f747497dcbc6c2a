# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of expressions, by reverse accumulation over their graph."""

from __future__ import annotations

from collections.abc import Sequence

from .expression import ADD, Expression, Graph, MULTIPLY, Node, SIN, SUBTRACT
from .program import reachable


def gradient(
    graph: Graph,
    value: Expression,
    variables: Sequence[Expression],
) -> list[Expression]:
    """
    Return the derivatives of a value by some of its inputs, as expressions of the same graph.

    Reverse accumulation (Griewank and Walther 2008, "Evaluating Derivatives", section 3.2): each
    node hands its adjoint on to its operands, outputs first. What several derivatives share is
    held once, because equal expressions are one node.

    Parameters
    ----------
    graph : Graph
        The graph of all expressions.
    value : Expression
        What to differentiate.
    variables : sequence of Expression
        Inputs, as `Graph.variable` returns them.

    """
    adjoints: dict[int, Expression] = {value.node.number: graph.lift(float(value.sign))}

    def add(node: Node, contribution: Expression) -> None:
        if not node.constant:
            adjoints[node.number] = adjoints.get(node.number, graph.zero) + contribution

    for node in reversed(reachable([value], into_constants=False)):
        adjoint = adjoints.get(node.number, graph.zero)
        if adjoint.is_zero or not node.operands:
            continue
        first, last = node.operands[0], node.operands[-1]
        if node.kind in (ADD, SUBTRACT):
            add(first, adjoint)
            add(last, adjoint if node.kind == ADD else -adjoint)
        elif node.kind == MULTIPLY:
            add(first, adjoint * Expression(graph, 1, last))
            add(last, adjoint * Expression(graph, 1, first))
        else:
            sine, cosine = graph.sin_cos(Expression(graph, 1, first))
            add(first, adjoint * cosine if node.kind == SIN else -(adjoint * sine))
    return [
        variable.sign * adjoints.get(variable.node.number, graph.zero) for variable in variables
    ]
