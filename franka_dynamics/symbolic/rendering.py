# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Writes sections of formulas as Python assignments or a LaTeX document.

In LaTeX a narrow matrix is printed whole, each nonzero entry of a wide one on a row of its own,
and an expression wider than a line is expanded and broken between its terms.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
import functools
from itertools import groupby
import re

import sympy as sp

# Number of characters on a line of a landscape A4 page, and on a line of plain text.
MAX_LATEX_LINE_WIDTH = 105
_TEXT_WIDTH = 99
_FUNCTIONS = ('atan2', 'cos', 'pi', 'sin', 'sqrt')
_SHORT, _A_LINE = 24, 4  # largest width of formulas that share a line, and how many share it


@dataclass(frozen=True)
class Formula:
    """A name and its value: an expression, a column (n, 1), a matrix, or Python code."""

    name: str
    value: sp.Expr | sp.Matrix | str


@dataclass(frozen=True)
class Section:
    """A section of a derivation: its title, explaining sentences, and formulas."""

    title: str
    sentences: tuple[str, ...]
    formulas: tuple[Formula, ...]


def as_text(sections: list[Section]) -> str:
    """
    Return the sections as a Python module's text; sentences and headings are comments.

    It reads the symbols that no line assigns: joint positions q1, q2, ..., velocities dq1, ...
    """
    blocks = []
    for section in sections:
        lines = [f'# {section.title}', *(f'#   {sentence}' for sentence in section.sentences)]
        lines += [_assignment(formula) for formula in section.formulas]
        blocks.append('\n'.join(lines))
    text = '\n\n'.join(blocks) + '\n'
    used = [name for name in _FUNCTIONS if re.search(rf'\b{name}\b', text)]
    return f'from math import {", ".join(used)}\n\n{text}' if used else text


def _assignment(formula: Formula) -> str:
    value = formula.value
    if not isinstance(value, sp.MatrixBase):
        return f'{formula.name} = {value}'
    rows = [', '.join(str(entry) for entry in value.row(i)) for i in range(value.rows)]
    if value.cols > 1:
        rows = [f'({row})' for row in rows]
    line = f'{formula.name} = ({", ".join(rows)})'
    if len(line) <= _TEXT_WIDTH:
        return line
    return '\n    '.join([f'{formula.name} = (', *(f'{row},' for row in rows)]) + '\n)'


def _latex(value: sp.Basic) -> str:
    return str(sp.latex(_lettered(value), mat_delim='', mat_str='bmatrix'))


# A symbol's name: a Latin or Greek letter, its subscript, and optionally a bar above it.
_LETTER = re.compile(r'(alpha|omega|theta|tau|xi|[A-Za-z])([A-Za-z0-9]*?)(bar)?(_.*)?$')


def _lettered(value: sp.Basic) -> sp.Basic:
    """Return an expression whose symbols have sympy's form of subscripts: hx7 becomes h_x7."""
    symbols = {letter: sp.Symbol(_index_below(letter.name)) for letter in value.free_symbols}
    return value.xreplace(symbols).replace(sp.atan2, sp.Function('atan2'))


def _index_below(name: str) -> str:
    match = _LETTER.match(name)
    if match is None:
        return name
    stem, index, bar, more = match.groups()
    index = re.sub('(alpha|theta)', r'\1_', index)
    return stem + (bar or '') + (f'_{index}' if index else '') + (more or '')


@functools.cache
def width(expression: sp.Expr) -> int:
    """Return the approximate number of characters of a typeset expression."""
    text = str(expression).replace('*', '')
    return len(text.replace('theta', 't').replace('alpha', 'a'))


def split_into_lines(expression: sp.Expr) -> list[sp.Expr]:
    """
    Return the summands of a wide expression, one per LaTeX line; a short one stays whole.

    Each line has as many terms as fit on the page by their approximate `width`, at least one.
    """
    if width(expression) <= MAX_LATEX_LINE_WIDTH:
        return [expression]
    groups: list[list[sp.Expr]] = [[]]
    for term in sp.expand(expression).as_ordered_terms():
        if groups[-1] and width(sp.Add(*groups[-1])) + width(term) > MAX_LATEX_LINE_WIDTH - 3:
            groups.append([])
        groups[-1].append(term)
    return [sp.Add(*group) for group in groups]


def _lines(expression: sp.Expr) -> list[str]:
    first, *others = split_into_lines(expression)
    lines = [_latex(first)]
    for part in others:
        negative = part.as_ordered_terms()[0].could_extract_minus_sign()
        lines.append(('' if negative else '{} + ') + _latex(part))
    return lines


def _fits(matrix: sp.Matrix) -> bool:
    columns = [max(width(entry) for entry in matrix.col(j)) for j in range(matrix.cols)]
    return sum(columns) + 2 * matrix.cols <= MAX_LATEX_LINE_WIDTH


def _rows(formula: Formula) -> Iterator[tuple[str, list[str]]]:
    """Yield a formula's printed entries: each entry's indices ('', '2' or '2,3') and lines."""
    value = formula.value
    if isinstance(value, str):
        value = sp.parse_expr(value, evaluate=False)
    if not isinstance(value, sp.MatrixBase):
        yield '', _lines(value)
    elif _fits(value):
        yield '', [_latex(value)]
    else:
        for i in range(value.rows):
            for j in range(value.cols):
                if value[i, j] != 0:
                    place = f'{i + 1}' if value.cols == 1 else f'{i + 1},{j + 1}'
                    yield place, _lines(value[i, j])


def _is_short(formula: Formula) -> bool:
    return isinstance(formula.value, str) and len(formula.value) <= _SHORT


_PREAMBLE = r"""\documentclass[a4paper,landscape,fleqn]{article}
\usepackage[margin=12mm]{geometry}
\usepackage{amsmath}
\setcounter{MaxMatrixCols}{20}
\setlength{\mathindent}{0pt}
\setlength{\parindent}{0pt}
\allowdisplaybreaks
\begin{document}
"""
_TEX_SIGNS = {
    **{sign: f'\\{sign}' for sign in '&%_{}#'},
    '^': r'\^{}',
    '<': r'\textless{}',
    '>': r'\textgreater{}',
    '|': r'\textbar{}',
    '~': r'\textasciitilde{}',
    '\\': r'\textbackslash{}',
}


def as_latex(sections: list[Section]) -> str:
    """Return sections of formulas as a LaTeX document (packages amsmath and geometry)."""
    body = [_PREAMBLE]
    for section in sections:
        body.append(rf'\section*{{{_escaped(section.title)}}}')
        body.append(_escaped(' '.join(section.sentences)))
        for short, group in groupby(section.formulas, _is_short):
            rows = [row for formula in group for row in _latex_rows(formula)]
            if short:
                rows = [' & '.join(rows[k : k + _A_LINE]) for k in range(0, len(rows), _A_LINE)]
            body += [r'\begin{align*}', ' \\\\\n'.join(rows), r'\end{align*}']
    return '\n'.join([*body, r'\end{document}', ''])


def _latex_rows(formula: Formula) -> Iterator[str]:
    name = _latex(sp.Symbol(formula.name))
    for place, lines in _rows(formula):
        yield (rf'\bigl({name}\bigr)_{{{place}}}' if place else name) + f' &= {lines[0]}'
        yield from (rf'&\quad {line}' for line in lines[1:])


def _escaped(text: str) -> str:
    return ''.join(_TEX_SIGNS.get(character, character) for character in text)
