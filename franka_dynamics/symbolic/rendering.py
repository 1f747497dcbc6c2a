# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Formulas as text (valid Python where it assigns) or as a LaTeX document."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
import re

import sympy as sp

_WIDTH = 99
_LINE_BREAK = ' \\\\\n'
# One letter or a Greek name, what stands below it, and whether a bar stands above it.
_LETTER = re.compile(r'(alpha|omega|theta|tau|xi|[A-Za-z])([A-Za-z0-9]*?)(bar)?$')
_TEXT_MODE = {
    '&': r'\&',
    '%': r'\%',
    '_': r'\_',
    '{': r'\{',
    '}': r'\}',
    '#': r'\#',
    '^': r'\^{}',
    '<': r'\textless{}',
    '>': r'\textgreater{}',
    '|': r'\textbar{}',
    '~': r'\textasciitilde{}',
    '\\': r'\textbackslash{}',
}
_PREAMBLE = '\n'.join(
    (
        r'\documentclass[a3paper,landscape]{article}',
        r'\usepackage[margin=15mm]{geometry}',
        r'\usepackage{amsmath}',
        r'\setcounter{MaxMatrixCols}{20}',
        r'\allowdisplaybreaks',
        r'\begin{document}',
        '',
    )
)


@dataclass(frozen=True)
class Formula:
    """
    A name and what it is: an expression, a column (n, 1) or a matrix.

    `note` is written beside it: what it was compared with, and how near it came.
    """

    name: str
    value: sp.Expr | sp.Matrix
    note: str = ''


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
            if formula.note:
                lines[-1] += f'  # {formula.note}'
        blocks.append('\n'.join(lines))
    return '\n\n'.join(blocks) + '\n'


def as_latex(sections: list[Section]) -> str:
    """Return the sections as a LaTeX document that needs amsmath and geometry only."""
    body = []
    for section in sections:
        body.append(rf'\section*{{{_escaped(section.title)}}}')
        body.append(_escaped(' '.join(section.sentences)))
        if section.formulas:
            rows: list[str] = []
            for formula in section.formulas:
                rows.extend(_latex_rows(formula))
                if formula.note:
                    rows[-1] += rf' && \text{{\footnotesize {_escaped(formula.note)}}}'
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
        yield f'{name} &= {_latex(value)}'
        return
    latex = _latex(value)
    if len(latex) <= 4 * _WIDTH:
        yield f'{name} &= {latex}'
        return
    # Too wide for a page: entry by entry, zeros left out.
    for i in range(value.rows):
        for j in range(value.cols):
            if value[i, j] != 0:
                place = f'{i + 1}' if value.cols == 1 else f'{i + 1},{j + 1}'
                yield rf'\bigl({name}\bigr)_{{{place}}} &= {_latex(value[i, j])}'


def _latex(value: sp.Expr | sp.Matrix) -> str:
    names = {letter: _latex_letter(letter.name) for letter in value.free_symbols}
    text = sp.latex(value, mat_delim='', mat_str='bmatrix', symbol_names=names)
    return str(text).replace(r'\operatorname{atan}_{2}', r'\operatorname{atan2}')


def _latex_letter(name: str) -> str:
    r"""Return hx7 as h_{x7}, theta3 as \theta_{3}, d2bar as \bar{d}_{2}."""
    match = _LETTER.match(name)
    if match is None:
        return name
    stem, index, bar = match.groups()
    stem = rf'\{stem}' if len(stem) > 1 else stem
    stem = rf'\bar{{{stem}}}' if bar else stem
    index = index.replace('alpha', r'\alpha ').replace('theta', r'\theta ')
    return f'{stem}_{{{index}}}' if index else stem


def _latex_name(name: str) -> str:
    stem, _, index = name.partition('_')
    letter = _latex_letter(stem)
    if not index:
        return letter
    return f'{letter[:-1]},{index}}}' if letter.endswith('}') else f'{letter}_{{{index}}}'


def _escaped(text: str) -> str:
    return ''.join(_TEXT_MODE.get(character, character) for character in text)
