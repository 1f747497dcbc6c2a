# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Lines of long expressions: they keep their value, and the page's width."""

import pytest

sp = pytest.importorskip('sympy', reason='the [symbolic] extra is not installed')

from franka_dynamics.arm import load  # noqa: E402
from franka_dynamics.symbolic import derivations  # noqa: E402
from franka_dynamics.symbolic.rendering import (  # noqa: E402
    as_latex,
    broken,
    LINE_WIDTH,
    width,
)

a, b, c, d = sp.symbols('a b c d')
FEW = 20
LONG = [
    a + b * c + a * d - b * d - 2 * a * b * c + d**3,
    a * b * (c + d * a + b * c + d * b - a * c) + c,
    -(a + b * c - d) * (c - d * a + b * c + d * b - a * c + 3),
    (a + b * c + a * d - b * d - 2 * a * b * c) ** 2 / 2 - d,
    -a * (-b - c - a * d - b * d) * (a + b) + (a + b) * (c + d * a + b * c + d * b),
    (a + b) * (c - (a * d - b * c - a * c * (b + d * c - a * b * d + c)) + 5 * a * b * c),
]


def read(lines):
    """Return the expression that lines show: pieces side by side are multiplied."""
    text = ''
    for piece in (piece for line in lines for piece in line):
        if isinstance(piece.value, str):
            factor = piece.value == '(' and text and text[-1] not in '+-('
            text += ('*' if factor else '') + piece.value
            text += '' if piece.power is None else f'**{piece.power}'
        else:
            # As it is set: a sum beside a factor has no parentheses of its own.
            text += ('*' if text and text[-1] not in '+-(' else '') + str(piece.value)
    return sp.sympify(text)


@pytest.mark.parametrize('expression', LONG, ids=range(len(LONG)))
def test_a_long_expression_when_broken_then_lines_say_the_same(expression):
    lines = broken(expression, FEW)
    assert len(lines) > 1
    assert sp.expand(read(lines) - expression) == 0


def test_a_short_expression_when_broken_then_it_stays_one_piece():
    ((piece,),) = broken(a + b, FEW)
    assert piece.value == a + b


@pytest.mark.parametrize('name', ['rpr', 'stanford'])
def test_no_line_of_an_arms_broken_formulas_is_too_wide(name):
    sections = derivations.rpr_report() if name == 'rpr' else derivations.kinematics(load(name))
    for formula in (formula for section in sections for formula in section.formulas):
        is_matrix = isinstance(formula.value, sp.MatrixBase)
        for entry in formula.value if is_matrix else [formula.value]:
            for line in broken(entry):
                size = sum(
                    2 if isinstance(piece.value, str) else width(piece.value) for piece in line
                )
                # Signs and parentheses are counted by the piece: a few more in all.
                assert size <= LINE_WIDTH + 10, formula.name


def test_given_a_latex_page_when_long_then_formulas_go_on_below():
    latex = as_latex(derivations.rpr_report())
    assert r'&\quad ' in latex
    assert latex.count(r'\bigl(') == latex.count(r'\bigr)')
    assert 'fleqn' in latex and r'\documentclass[a4paper,landscape' in latex
