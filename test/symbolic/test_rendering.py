# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Text that Python reads back, and LaTeX whose groups and environments close."""

import ast
import re

import pytest

from franka_dynamics.arm import load

sp = pytest.importorskip('sympy', reason='the [symbolic] extra is not installed')

from franka_dynamics.symbolic import derivations  # noqa: E402
from franka_dynamics.symbolic.rendering import as_latex, as_text, Formula, Section  # noqa: E402


@pytest.fixture(scope='module', params=['kinematics', 'equations', 'rpr'])
def sections(request):
    if request.param == 'rpr':
        return derivations.rpr_report()
    return getattr(derivations, request.param)(load('fer'))


def structure(matrix_text, name):
    """Return the value that printed text assigns to a name, with letters as sympy symbols."""
    for statement in ast.parse(matrix_text).body:
        if statement.targets[0].id == name:
            return ast.unparse(statement.value)
    raise AssertionError(f'{name} is not assigned')


def test_every_line_of_a_derivations_text_is_an_assignment(sections):
    tree = ast.parse(as_text(sections))
    assert len(tree.body) > 20
    assert all(isinstance(statement, ast.Assign) for statement in tree.body)


def test_a_wide_matrix_reads_back_from_its_text():
    long = sum(sp.symbols('a0:40'))
    matrix = sp.Matrix([[long, 1], [2, long]])
    text = as_text([Section('wide', ('a sentence',), (Formula('M', matrix),))])
    assert max(len(line) for line in text.splitlines() if 'a0' not in line) <= 99
    read = sp.sympify(structure(text, 'M'))
    assert sp.Matrix([list(row) for row in read]) == matrix


def test_a_column_in_text_is_one_line_in_parentheses():
    text = as_text([Section('r', (), (Formula('r_3', sp.Matrix(sp.symbols('x y z'))),))])
    assert text == '# r\nr_3 = (x, y, z)\n'


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
    assert latex.startswith(r'\documentclass')
    assert latex.rstrip().endswith(r'\end{document}')


@pytest.mark.parametrize(
    ('name', 'latex'),
    [
        ('s2', 's_{2}'),
        ('hx7', 'h_{x7}'),
        ('Ixx1', 'I_{xx1}'),
        ('xc3', 'x_{c3}'),
        ('D', 'D'),
        ('theta3', r'\theta_{3}'),
        ('d2bar', r'\bar{d}_{2}'),
        ('calpha4', r'c_{\alpha 4}'),
        ('v1', 'v_{1}'),
        ('fex', 'f_{ex}'),
    ],
)
def test_a_letters_index_is_a_subscript_in_latex(name, latex):
    text = as_latex([Section('one', (), (Formula('omega_3', sp.Symbol(name)),))])
    assert rf'\omega_{{3}} &= {latex}' in text


def test_tex_signs_of_text_are_escaped_in_latex():
    text = as_latex([Section('a_b & c', ('x < 1, {S}', '100 %'), ())])
    assert r'\section*{a\_b \& c}' in text
    assert r'x \textless{} 1, \{S\} 100 \%' in text


def test_two_indices_of_a_name_share_one_subscript_in_latex():
    text = as_latex([Section('one', (), (Formula('I2x_printed', sp.Symbol('m2')),))])
    assert r'I_{2x,printed} &= m_{2}' in text
