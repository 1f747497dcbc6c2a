# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The solution of M ddq = tau - h, written out as statements."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from .program import Program, Result, Statement


def solved_for_acceleration(program: Program, n: int) -> Program:
    """
    Return a program that computes ddq = M^-1 (tau - h) from one that computes M and h.

    M = L D L^T without square roots (Golub and Van Loan 2013, section 4.1.2): n divisions. The
    input array tau is added to those of the program.

    Parameters
    ----------
    program : Program
        With results `M` (each element of the upper triangle) and `tau`, which is h here.
    n : int
        Number of joints.

    """
    written: list[Statement] = []

    def let(name: str, expression: str) -> str:
        written.append(Statement(name, expression))
        return name

    M, right = {}, []
    for result in program.results:
        place = result.places[0]
        if result.array == 'M':
            M[place] = let(f'M{place[0] + 1}_{place[1] + 1}', result.expression)
        else:
            # A sum in parentheses, because it is subtracted.
            right.append(let(f'r{place[0] + 1}', f'tau{place[0] + 1} - ({result.expression})'))
    L: dict[tuple[int, int], str] = {}
    scaled: dict[tuple[int, int], str] = {}  # L D
    inverse = []
    for j in range(n):
        pivot = let(f'D{j + 1}', _less(M[j, j], (f'{L[j, k]}*{scaled[j, k]}' for k in range(j))))
        inverse.append(let(f'E{j + 1}', f'1.0 / {pivot}'))
        for i in range(j + 1, n):
            scaled[i, j] = let(
                f'V{i + 1}_{j + 1}',
                _less(M[j, i], (f'{L[j, k]}*{scaled[i, k]}' for k in range(j))),
            )
            L[i, j] = let(f'L{i + 1}_{j + 1}', f'{scaled[i, j]}*{inverse[j]}')
    y: list[str] = []
    for i in range(n):
        y.append(let(f'y{i + 1}', _less(right[i], (f'{L[i, k]}*{y[k]}' for k in range(i)))))
    x: dict[int, str] = {}
    for i in reversed(range(n)):
        x[i] = let(
            f'x{i + 1}',
            _less(f'{y[i]}*{inverse[i]}', (f'{L[k, i]}*{x[k]}' for k in range(i + 1, n))),
        )
    return replace(
        program,
        inputs={**program.inputs, 'tau': tuple(range(1, n + 1))},
        statements=(*program.statements, *written),
        results=tuple(Result('ddq', ((i,),), x[i]) for i in range(n)),
    )


def _less(first: str, terms: Iterable[str]) -> str:
    return ' - '.join([first, *terms])
