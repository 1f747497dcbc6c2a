# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Text that Python reads back, LaTeX that closes what it opens, and breaking of long lines."""

import ast
import re

import pytest

from franka_dynamics.arm import load

sp = pytest.importorskip('sympy', reason='the [symbolic] extra is not installed')

from franka_dynamics.symbolic import derivations, rendering  # noqa: E402
from franka_dynamics.symbolic.rendering import as_latex, as_text, Formula, Section  # noqa: E402

a, b, c, d = sp.symbols('a b c d')


def test_a_wide_matrix_reads_back_from_its_text():
    long = sum(sp.symbols('a0:40'))
    matrix = sp.Matrix([[long, 1], [2, long]])
    text = as_text([Section('wide', ('a sentence',), (Formula('M', matrix),))])
    read = sp.sympify(ast.unparse(ast.parse(text).body[0].value))
    assert sp.Matrix([list(row) for row in read]) == matrix


REPORTS = {
    'step_by_step': lambda: derivations.step_by_step(load('rpr')),
    'rpr': derivations.rpr_report,
}


@pytest.mark.parametrize('report', REPORTS)
def test_groups_environments_and_tags_of_a_derivation_close(report):
    sections = REPORTS[report]()
    latex, opened = as_latex(sections), []
    for kind, environment in re.findall(r'\\(begin|end)\{([a-z*0-9]+)\}', latex):
        if kind == 'begin':
            opened.append(environment)
        else:
            assert opened.pop() == environment
    assert report == 'rpr' or r'axes of \{0\}' in latex
    plain = latex.replace(r'\{', '').replace(r'\}', '')
    assert not opened and plain.count('{') == plain.count('}')
    assert latex.rstrip().endswith(r'\end{document}')
    assert latex.count(r'\bigl(') == latex.count(r'\bigr)')


@pytest.mark.parametrize(
    'expression',
    [
        a + b * c + a * d - b * d - 2 * a * b * c + d**3,
        -(a + b * c - d) * (c - d * a + b * c + d * b - a * c + 3),
        (a + b * c + a * d - b * d - 2 * a * b * c) ** 2 / 2 - d,
    ],
)
def test_a_long_expression_goes_on_below_in_short_lines_that_say_the_same(expression, monkeypatch):
    monkeypatch.setattr(rendering, 'LINE_WIDTH', 20)
    parts = rendering.parts_of(expression)
    assert len(parts) > 1
    assert sp.expand(sp.Add(*parts) - expression) == 0
    latex = as_latex([Section('', (), (Formula('x', expression),))])
    assert latex.count(r'&\quad ') == len(parts) - 1
