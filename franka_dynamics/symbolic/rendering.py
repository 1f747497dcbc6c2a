# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Formulas as text (valid Python where it assigns) or as a LaTeX document."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import sympy as sp

_WIDTH = 99
_LINE_BREAK = ' \\\\\n'
_PREAMBLE = '\n'.join((
    r'\documentclass[a3paper,landscape]{article}', r'\usepackage[margin=15mm]{geometry}',
    r'\usepackage{amsmath}', r'\setcounter{MaxMatrixCols}{20}', r'\allowdisplaybreaks',
    r'\begin{document}', ''))


@dataclass(frozen=True)
class Formula:
    """A name and what it is: an expression, a column (n, 1) or a matrix."""

    name: str
    value: sp.Expr | sp.Matrix


@dataclass(frozen=True)
class Section:
    """A heading, sentences that explain it, and its formulas."""

    title: str
    sentences: tuple[str, ...]
    formulas: tuple[Formula, ...]


def as_text(sections: list[Section]) -> str:
    """Return the sections as plain text; sentences and headings are comments."""
    blocks = []
    for section in sections:
        lines = [f'# {section.title}', *(f'#   {sentence}' for sentence in section.sentences)]
        for formula in section.formulas:
            lines.extend(_text_lines(formula))
        blocks.append('\n'.join(lines))
    return '\n\n'.join(blocks) + '\n'


def as_latex(sections: list[Section]) -> str:
    """Return the sections as a LaTeX document that needs amsmath and geometry only."""
    body = []
    for section in sections:
        body.append(rf'\section*{{{_escaped(section.title)}}}')
        body.extend(_escaped(sentence) + r'\par' for sentence in section.sentences)
        if section.formulas:
            rows = [row for formula in section.formulas for row in _latex_rows(formula)]
            body.extend((r'\begin{align*}', _LINE_BREAK.join(rows), r'\end{align*}'))
    return _PREAMBLE + '\n'.join(body) + '\n' + r'\end{document}' + '\n'


def _text_lines(formula: Formula) -> Iterator[str]:
    value = formula.value
    if not isinstance(value, sp.MatrixBase):
        yield f'{formula.name} = {value}'
        return
    if value.cols == 1:
        line = f'{formula.name} = ({", ".join(str(entry) for entry in value)})'
    else:
        rows = [f'({", ".join(str(entry) for entry in value.row(i))})' for i in range(value.rows)]
        line = f'{formula.name} = ({", ".join(rows)})'
    if len(line) <= _WIDTH:
        yield line
        return
    yield f'{formula.name} = ('
    for i in range(value.rows):
        row = ', '.join(str(entry) for entry in value.row(i))
        if value.cols == 1:
            yield f'    {row},'
        elif len(row) + 7 <= _WIDTH:
            yield f'    ({row}),'
        else:
            yield '    ('
            yield from (f'        {entry},' for entry in value.row(i))
            yield '    ),'
    yield ')'


def _latex_rows(formula: Formula) -> Iterator[str]:
    value, name = formula.value, _latex_name(formula.name)
    if not isinstance(value, sp.MatrixBase):
        yield f'{name} &= {sp.latex(value)}'
        return
    latex = sp.latex(value, mat_delim='', mat_str='bmatrix')
    if len(latex) <= 4 * _WIDTH:
        yield f'{name} &= {latex}'
        return
    # Too wide for a page: entry by entry, zeros left out.
    for i in range(value.rows):
        for j in range(value.cols):
            if value[i, j] != 0:
                place = f'{i + 1}' if value.cols == 1 else f'{i + 1},{j + 1}'
                yield rf'\bigl({name}\bigr)_{{{place}}} &= {sp.latex(value[i, j])}'


def _latex_name(name: str) -> str:
    stem, _, rest = name.partition('_')
    return sp.latex(sp.Symbol(stem)) + (rf'_{{{rest}}}' if rest else '')


def _escaped(text: str) -> str:
    table = {'&': r'\&', '%': r'\%', '_': r'\_', '{': r'\{', '}': r'\}', '#': r'\#', '^': r'\^{}'}
    return ''.join(table.get(character, character) for character in text)
