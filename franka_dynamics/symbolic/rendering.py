# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Formulas as text (valid Python where it assigns) or as a LaTeX document.

Long expressions are cut into lines, before a plus or a minus or behind a factor. An expression
that is short enough stays one piece; a longer sum is opened into its terms, a longer product into
its factors, a sum among them within parentheses, which may close on another line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
import re

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
        r'\documentclass[a4paper,landscape,fleqn]{article}',
        r'\usepackage[margin=12mm]{geometry}',
        r'\usepackage{amsmath}',
        r'\setcounter{MaxMatrixCols}{20}',
        r'\setlength{\mathindent}{0pt}',
        r'\setlength{\parindent}{0pt}',
        r'\allowdisplaybreaks',
        r'\begin{document}',
        '',
    )
)
_A_LINE, _SHORT = 4, 24  # formulas, and the width of each


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
            for short, group in groupby(section.formulas, _is_short):
                rows = (_short_rows if short else _formula_rows)(list(group))
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


def is_number(formula: Formula) -> bool:
    """Return whether a formula says what number a letter has."""
    return (
        isinstance(formula.value, sp.Symbol)
        and not formula.value.name[-1:].isalpha()
        and formula.value.name.lstrip('-')[:1].isdigit()
    )


def fits(matrix: sp.Matrix) -> bool:
    """Return whether a matrix is narrow enough for a line."""
    columns = [max(width(entry) for entry in matrix.col(j)) for j in range(matrix.cols)]
    return sum(columns) + 2 * matrix.cols <= LINE_WIDTH


def lines_of(formula: Formula) -> Iterator[tuple[str, list[list[Piece]]]]:
    """
    Yield a formula that is no matrix, or one too wide for a line, entry by entry but for zeros.

    Each entry has its place, '' for a scalar and '2,3' or '2' in a matrix, and its lines.
    """
    value = formula.value
    if not isinstance(value, sp.MatrixBase):
        yield '', broken(value)
        return
    for i in range(value.rows):
        for j in range(value.cols):
            if value[i, j] != 0:
                place = f'{i + 1}' if value.cols == 1 else f'{i + 1},{j + 1}'
                yield place, broken(value[i, j])


def _is_short(formula: Formula) -> bool:
    """Return whether several formulas like this one, a number or a product, fit in a line."""
    scalar = not isinstance(formula.value, sp.MatrixBase)
    return scalar and not formula.note and width(formula.value) <= _SHORT


def _short_rows(formulas: Sequence[Formula]) -> list[str]:
    cells = [
        f'{_latex_name(formula.name)} &= '
        + (str(formula.value) if is_number(formula) else _latex(formula.value))
        for formula in formulas
    ]
    return [' & '.join(cells[k : k + _A_LINE]) for k in range(0, len(cells), _A_LINE)]


def _formula_rows(formulas: Sequence[Formula]) -> list[str]:
    rows: list[str] = []
    for formula in formulas:
        rows.extend(_latex_rows(formula))
        if formula.note:
            # A tag moves to a line of its own where there is no room beside the formula.
            rows[-1] += rf' \tag*{{\footnotesize {_escaped(formula.note)}}}'
    return rows


def _latex_rows(formula: Formula) -> Iterator[str]:
    value, name = formula.value, _latex_name(formula.name)
    if isinstance(value, sp.MatrixBase) and fits(value):
        yield f'{name} &= {_latex(value)}'
        return
    for place, lines in lines_of(formula):
        left = rf'\bigl({name}\bigr)_{{{place}}}' if place else name
        yield f'{left} &= {_latex_line(lines[0])}'
        for line in lines[1:]:
            yield rf'&\quad {_latex_line(line)}'


def _latex_line(pieces: list[Piece]) -> str:
    text = []
    for piece in pieces:
        if not isinstance(piece.value, str):
            text.append(_latex(piece.value))
        elif piece.value in '+-':
            text.append(f'{{}} {piece.value} {{}}')
        else:
            power = '' if piece.power is None else f'^{{{_latex(piece.power)}}}'
            text.append((r'\bigl(' if piece.value == '(' else r'\bigr)') + power)
    return ' '.join(text)


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
