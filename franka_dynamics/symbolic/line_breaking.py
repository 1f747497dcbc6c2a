# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Long expressions cut into lines of a page, before a plus or a minus or behind a factor.

An expression that is short enough stays one piece; a longer sum is opened into its terms, a longer
product into its factors, a sum among them within parentheses, which may close on another line.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import sympy as sp

# Characters that a line of a landscape A4 page takes, as `width` counts them.
LINE_WIDTH = 105


@dataclass(frozen=True)
class Piece:
    """
    A part of a line: an expression, or a sign or parenthesis where `value` is text.

    `power` is the exponent of a closing parenthesis.
    """

    value: sp.Expr | str
    power: sp.Expr | None = None


def width(expression: sp.Expr) -> int:
    """Return about how many characters an expression takes when it is set."""
    if isinstance(expression, sp.Symbol):
        return max(1, len(expression.name.replace('theta', 't').replace('alpha', 'a')))
    if isinstance(expression, sp.Pow) and expression.exp.is_Integer and expression.exp > 0:
        return _enclosed(expression.base) + 1
    if isinstance(expression, sp.Add):
        return sum(width(term) + 3 for term in expression.args) - 3
    if isinstance(expression, sp.Mul):
        above, below = expression.as_numer_denom()
        if below != 1:
            return max(width(above), width(below)) + 1
        return sum(_enclosed(factor) for factor in expression.args)
    if expression.args:
        return len(expression.func.__name__) + 2 + sum(width(part) + 2 for part in expression.args)
    return len(str(expression))


def _enclosed(factor: sp.Expr) -> int:
    return width(factor) + (2 if isinstance(factor, sp.Add) else 0)


def broken(expression: sp.Expr, line_width: int = LINE_WIDTH) -> list[list[Piece]]:
    """
    Return the lines of an expression, each a list of pieces.

    A line is wider than `line_width` only where a single piece is, such as a function of a long
    argument.
    """
    if width(expression) <= line_width:
        return [[Piece(expression)]]
    lines: list[list[Piece]] = [[]]
    used = 0
    for group in _groups(expression, line_width // 2):
        size = sum(_size(piece) for piece in group)
        if used and used + size > line_width:
            lines.append([])
            used = 0
        lines[-1] += group
        used += size
    return lines


def _size(piece: Piece) -> int:
    if isinstance(piece.value, str):
        return 1 + 2 * (piece.value in '+-') + (piece.power is not None)
    return _enclosed(piece.value)


def _groups(expression: sp.Expr, short: int) -> Iterator[list[Piece]]:
    """Yield pieces that stay on one line together: a sign with what follows it."""
    group: list[Piece] = []
    for piece in _pieces(expression, short):
        opens = bool(group) and all(
            isinstance(each.value, str) and each.value in '+-(' for each in group
        )
        closes = isinstance(piece.value, str) and piece.value == ')'
        if group and not opens and not closes:
            yield group
            group = []
        group.append(piece)
    yield group


def _pieces(expression: sp.Expr, short: int) -> Iterator[Piece]:
    if width(expression) <= short:
        yield Piece(expression)
    elif isinstance(expression, sp.Add):
        for number, term in enumerate(expression.as_ordered_terms()):
            negative = term.could_extract_minus_sign()
            if negative or number:
                yield Piece('-' if negative else '+')
            term = -term if negative else term
            opened = isinstance(term, sp.Add)
            yield from (_parenthesised if opened else _pieces)(term, short)
    elif isinstance(expression, sp.Mul):
        factors = expression.as_ordered_factors()
        long = [factor for factor in factors if width(factor) > short and _opens(factor)]
        rest = sp.Mul(*(factor for factor in factors if factor not in long))
        if isinstance(rest, sp.Add):
            long.insert(0, rest)
        elif rest == -1:
            yield Piece('-')
        elif rest != 1:
            yield Piece(rest)
        for factor in long:
            yield from _parenthesised(factor, short)
    elif isinstance(expression, sp.Pow) and _opens(expression):
        yield from _parenthesised(expression, short)
    else:
        yield Piece(expression)


def _opens(factor: sp.Expr) -> bool:
    base = factor.base if isinstance(factor, sp.Pow) and factor.exp.is_Integer else factor
    return isinstance(base, sp.Add)


def _parenthesised(factor: sp.Expr, short: int) -> Iterator[Piece]:
    power = factor.exp if isinstance(factor, sp.Pow) else None
    yield Piece('(')
    yield from _pieces(factor.base if power is not None else factor, short)
    yield Piece(')', power)
