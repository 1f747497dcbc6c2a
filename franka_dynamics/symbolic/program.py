# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A straight-line program: each line names one expression, and no expression is named twice."""

from __future__ import annotations

import sympy as sp


class Program:
    """
    Lines `letter = expression` in the order in which they can be computed.

    Only what is a sum or a product gets a line; letters, numbers and their opposites stay as they
    are, so zeros of the geometry vanish from everything behind them.
    """

    def __init__(self, prefix: str = 'k') -> None:
        self.lines: list[tuple[sp.Symbol, sp.Expr]] = []
        self._prefix = prefix
        self._known: dict[sp.Expr, sp.Symbol] = {}

    def keep(self, expression: sp.Expr) -> sp.Expr:
        """Return a letter for an expression, the one it already has or a new line's."""
        value = sp.sympify(expression)
        if value.is_Atom:
            return value
        if value.could_extract_minus_sign():
            return -self.keep(-value)
        if value not in self._known:
            letter = sp.Symbol(f'{self._prefix}{len(self.lines) + 1}', real=True)
            self.lines.append((letter, value))
            self._known[value] = letter
        return self._known[value]

    def keep_all(self, matrix: sp.Matrix) -> sp.Matrix:
        """Return a matrix with a letter for each entry."""
        return matrix.applyfunc(self.keep)

    def needed_for(self, results: list[sp.Expr]) -> list[tuple[sp.Symbol, sp.Expr]]:
        """Return the lines that the results depend on, in order."""
        wanted = set().union(*(result.free_symbols for result in results))
        needed = []
        for letter, value in reversed(self.lines):
            if letter in wanted:
                needed.append((letter, value))
                wanted |= value.free_symbols
        return needed[::-1]
