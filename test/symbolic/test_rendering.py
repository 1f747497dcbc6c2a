# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Text that Python reads back, valid LaTeX and HTML, and breaking of long lines."""

import ast
import re
from xml.etree import ElementTree

import pytest

from franka_dynamics.arm import load

sp = pytest.importorskip('sympy', reason='the [symbolic] extra is not installed')

from franka_dynamics.symbolic import derivations, rendering  # noqa: E402
from franka_dynamics.symbolic.rendering import as_html, as_latex, as_text, Formula, Section  # noqa: E402  # noqa: E402

a, b, c, d = sp.symbols('a b c d')


@pytest.fixture(scope='module', params=['step_by_step', 'rpr'])
def sections(request):
    if request.param == 'rpr':
        return derivations.rpr_report()
    return derivations.step_by_step(load('rpr'))


def test_a_wide_matrix_reads_back_from_its_text():
    long = sum(sp.symbols('a0:40'))
    matrix = sp.Matrix([[long, 1], [2, long]])
    text = as_text([Section('wide', ('a sentence',), (Formula('M', matrix),))])
    read = sp.sympify(ast.unparse(ast.parse(text).body[0].value))
    assert sp.Matrix([list(row) for row in read]) == matrix


def test_groups_and_environments_of_a_derivations_latex_close(sections):
    latex = as_latex(sections)
    opened = []
    for kind, environment in re.findall(r'\\(begin|end)\{([a-z*0-9]+)\}', latex):
        if kind == 'begin':
            opened.append(environment)
        else:
            assert opened.pop() == environment
    assert not opened
    plain = latex.replace(r'\{', '').replace(r'\}', '')
    assert plain.count('{') == plain.count('}')
    assert latex.count(r'\bigl(') == latex.count(r'\bigr)')
    assert latex.rstrip().endswith(r'\end{document}')


def test_a_pages_tags_close_and_it_needs_no_network(sections):
    page = as_html(sections)
    names = '<!doctype html>|<meta[^>]*>|&(?!lt|gt|amp)[a-z]+;'  # not valid in XML
    ElementTree.fromstring(re.sub(names, '', page, flags=re.IGNORECASE))
    assert 'http' not in page and '<script' not in page


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
    lines = rendering._lines(expression, str, '+ ')
    assert len(lines) > 1
    assert sp.expand(sp.sympify(' '.join(lines)) - expression) == 0
    monkeypatch.undo()
    assert r'&\quad ' in as_latex(derivations.rpr_report())
