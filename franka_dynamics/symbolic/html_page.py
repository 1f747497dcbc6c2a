# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Formulas as one HTML page, in MathML: browsers draw it without scripts and without a network.

Chrome 109, Firefox, Safari and their like. `Print` makes a PDF of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
import re

import sympy as sp
from sympy.printing.mathml import MathMLPresentationPrinter

from .rendering import fits, Formula, is_number, lines_of, Piece, Section

_STYLE = """
@page { size: A4 landscape; margin: 12mm; }
body { font-family: sans-serif; margin: 2em auto; max-width: 75em; color: #222; }
h1 { font-size: 1.5em; }
h2 { font-size: 1.15em; margin-top: 2em; border-bottom: 1px solid #ccc; break-after: avoid; }
nav { columns: 2; font-size: 0.9em; }
table { border-collapse: collapse; width: 100%; table-layout: fixed; }
div.wide { break-inside: avoid; }
td { padding: 0.35em 0.6em; vertical-align: middle; border-bottom: 1px solid #eee; }
td.name { white-space: nowrap; width: 4.5em; }
td.note { color: #277; font-size: 0.8em; text-align: right; width: 12em; }
div.wide { overflow-x: auto; overflow-y: hidden; padding: 0.2em 0; }
div.numbers { columns: 4; font-size: 0.85em; }
tr.line td { padding: 0.1em 0.6em; border: none; }
math { font-size: 1.05em; }
@media print {
  body { max-width: none; margin: 0; font-size: 9pt; }
  div.wide { overflow: visible; }
  math { font-size: 1em; }
}
"""
_GREEK = {'alpha': 'α', 'omega': 'ω', 'theta': 'θ', 'tau': 'τ', 'xi': 'ξ'}
_LETTER = re.compile(r'(alpha|omega|theta|tau|xi|[A-Za-z])([A-Za-z0-9]*?)(bar)?$')


class _Printer(MathMLPresentationPrinter):
    """sympy's printer with this project's letters: hx7 has x7 below, s1 has 1 below."""

    def _print_Symbol(self, sym: sp.Symbol, style: str = 'plain') -> object:
        match = _LETTER.match(sym.name)
        if match is None:
            return super()._print_Symbol(sym, style)
        stem, index, bar = match.groups()
        base = self._element('mi', _GREEK.get(stem, stem))
        if bar:
            over = self.dom.createElement('mover')
            over.appendChild(base)
            over.appendChild(self._element('mo', '¯'))
            base = over
        if not index:
            return base
        below = self.dom.createElement('msub')
        below.appendChild(base)
        for word, greek in _GREEK.items():
            index = index.replace(word, greek)
        below.appendChild(self._element('mi', index))
        return below

    def _print_atan2(self, expr: sp.Expr) -> object:
        row = self.dom.createElement('mrow')
        row.appendChild(self._element('mi', 'atan2'))
        row.appendChild(self._element('mo', '('))
        for i, argument in enumerate(expr.args):
            if i:
                row.appendChild(self._element('mo', ','))
            row.appendChild(self._print(argument))
        row.appendChild(self._element('mo', ')'))
        return row

    def _element(self, tag: str, text: str) -> object:
        element = self.dom.createElement(tag)
        element.appendChild(self.dom.createTextNode(text))
        return element


def as_html(sections: list[Section]) -> str:
    """Return the sections as one page; the first one's title is the page's."""
    printer = _Printer({'mat_symbol_style': 'plain'})
    title = escape(sections[0].title)
    body = [
        f'<h1>{title}</h1>',
        '<nav><ol>',
        *(
            f'<li><a href="#s{i}">{escape(section.title)}</a></li>'
            for i, section in enumerate(sections)
        ),
        '</ol></nav>',
    ]
    for i, section in enumerate(sections):
        body.append(f'<h2 id="s{i}">{escape(section.title)}</h2>')
        if section.sentences:
            body.append(f'<p>{escape(" ".join(section.sentences))}</p>')
        if section.formulas and all(is_number(formula) for formula in section.formulas):
            body += [
                '<div class="numbers">',
                *(
                    f'<div>{_name(formula.name)} = {escape(str(formula.value))}</div>'
                    for formula in section.formulas
                ),
                '</div>',
            ]
        elif section.formulas:
            body += [
                '<table>',
                *(_row(formula, printer) for formula in section.formulas),
                '</table>',
            ]
    return '\n'.join(
        (
            '<!DOCTYPE html>',
            '<html lang="en"><head><meta charset="utf-8">',
            f'<title>{title}</title><style>{_STYLE}</style></head><body>',
            *body,
            '</body></html>',
            '',
        )
    )


def _row(formula: Formula, printer: _Printer) -> str:
    value = formula.value
    scalar = not isinstance(value, sp.MatrixBase)
    if not scalar and fits(value):
        rows = ([printer.doprint(entry) for entry in value.row(i)] for i in range(value.rows))
        lines = [_matrix(rows)]
    else:
        lines = [
            (f'<mtext>({place}):\u2002</mtext>' if place and not number else '')
            + _pieces(pieces, printer)
            for place, broken in lines_of(formula)
            for number, pieces in enumerate(broken)
        ]
    shown = ''.join(
        f'<div class="wide"><math displaystyle="true"><mrow>{line}</mrow></math></div>'
        for line in lines
    )
    return (
        f'<tr{" class=line" if scalar and not formula.note else ""}>'
        f'<td class="name">{_name(formula.name)} =</td><td>{shown}</td>'
        f'<td class="note">{escape(formula.note)}</td></tr>'
    )


def _pieces(pieces: list[Piece], printer: _Printer) -> str:
    text = []
    for piece in pieces:
        if not isinstance(piece.value, str):
            text.append(printer.doprint(piece.value))
        elif piece.value in '+-':
            sign = '−' if piece.value == '-' else '+'
            text.append(f'<mo form="infix">{sign}</mo>')
        else:
            parenthesis = f'<mo stretchy="false">{piece.value}</mo>'
            power = '' if piece.power is None else printer.doprint(piece.power)
            text.append(f'<msup>{parenthesis}{power}</msup>' if power else parenthesis)
    return ''.join(text)


def _matrix(rows: Iterable[list[str]]) -> str:
    cells = ''.join(
        '<mtr>' + ''.join(f'<mtd>{entry}</mtd>' for entry in row) + '</mtr>' for row in rows
    )
    return f'<mrow><mo>[</mo><mtable>{cells}</mtable><mo>]</mo></mrow>'


def _name(name: str) -> str:
    """Return T_b3 as T with b3 below, M12 as M with 12 below, Ic_3 as I with c,3 below."""
    stem, _, index = name.partition('_')
    match = _LETTER.match(stem)
    if match is not None:
        stem, inner, _ = match.groups()
        index = ','.join(part for part in (inner, index) if part)
    letter = f'<mi>{escape(_GREEK.get(stem, stem))}</mi>'
    below = f'<msub>{letter}<mi>{escape(index)}</mi></msub>' if index else letter
    return f'<math>{below}</math>'
