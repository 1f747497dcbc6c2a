# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Operations counted from emitted code, not from what made it."""

from __future__ import annotations

import ast
from typing import NamedTuple


class OperationCount(NamedTuple):
    """Multiplications and additions; subtractions and changes of sign are additions."""

    multiplications: int
    additions: int


def count_operations(source: str, function: str) -> OperationCount:
    """
    Return the operations that a function of a Python source performs.

    Sines, cosines, divisions and index arithmetic are not counted, as in table 1 of Gautier and
    Khalil 1990 (which has no divisions); a changed sign is counted as an addition unless it is a
    literal's.
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef) and node.name == function:
            return _count(node)
    raise ValueError(f'The source has no function {function!r}.')


def _count(function: ast.FunctionDef) -> OperationCount:
    multiplications = additions = 0
    pending: list[ast.AST] = list(function.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Subscript):
            continue
        if isinstance(node, ast.BinOp):
            multiplications += isinstance(node.op, ast.Mult)
            additions += isinstance(node.op, (ast.Add, ast.Sub))
            if not isinstance(node.op, (ast.Mult, ast.Add, ast.Sub, ast.Div)):
                raise ValueError(f'{ast.unparse(node)} is no product, sum or quotient.')
        elif isinstance(node, ast.UnaryOp):
            additions += not isinstance(node.operand, ast.Constant)
        pending.extend(ast.iter_child_nodes(node))
    return OperationCount(multiplications, additions)


CLASSICAL, MINIMUM = 'classical parameters', 'minimum parameters'
GENERAL, SIMPLIFIED = 'general', 'simplified'

_ARMS = {
    ('stanford', CLASSICAL, GENERAL): OperationCount(291, 284),
    ('stanford', CLASSICAL, SIMPLIFIED): OperationCount(193, 149),
    ('stanford', MINIMUM, GENERAL): OperationCount(232, 218),
    ('stanford', MINIMUM, SIMPLIFIED): OperationCount(142, 99),
    ('scemi', CLASSICAL, GENERAL): OperationCount(294, 283),
    ('scemi', CLASSICAL, SIMPLIFIED): OperationCount(201, 152),
    ('scemi', MINIMUM, GENERAL): OperationCount(253, 238),
    ('scemi', MINIMUM, SIMPLIFIED): OperationCount(159, 113),
}


def general_robot(n: int, parameters: str) -> OperationCount:
    """
    Return the table's formulas for any robot of n revolute joints.

    They are the printed ones: for n = 6 the table's own entry, 477 multiplications with
    classical parameters, is two less than its formula.
    """
    if parameters == CLASSICAL:
        return OperationCount(101 * n - 127, 90 * n - 118)
    return OperationCount(92 * n - 127, 81 * n - 117)


def printed(arm: str, parameters: str, inertia: str) -> OperationCount | None:
    """Return the table's entry for one of its two arms; None for any other arm."""
    return _ARMS.get((arm, parameters, inertia))
