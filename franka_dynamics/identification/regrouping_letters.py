# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Base parameters in letters, as section 9 of Gautier and Khalil 1990 writes them.

    XXR_3 = XX_3 - YY_3 + YY_4 + 2*RL4*mZ_4 + RL4**2*(m_4 + m_5 + m_6)

The lengths of the rows are letters: D3 for the paper's d_3 (`a` of row 3), RL4 for its r_4 (`d`).
A length as large as an earlier one takes its letter, with its sign, so
that what cancels on the arm cancels in letters. Quarter turns are whole numbers; of another angle
the cosine and sine are letters, CA2 and SA2 for alpha_2, CT and ST for theta.
A factor near the base that is none of these, of an arm that moves in special ways, is a number.
Needs sympy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
import re
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .base_parameters import base_parameters
from ..arm import ArmDescription
from ..dynamics.body_tree import as_tree
from ..dynamics.model import GRAVITY
from ..dynamics.regressor import PER_LINK
from ..dynamics.tree_rows import cos_sin, tree_rows, TreeRow
from ..errors import needing

with needing('Base parameters in letters need sympy', 'symbolic'):
    import sympy as sp

# Lengths that agree to this part are one letter, and so are numbers of order one.
_SAME, _SAME_NUMBER = 1e-12, 1e-12
# cos and sin of alpha, a, those of theta, d: numbers or letters.
_Row = tuple[sp.Expr, ...]
_NEW_LINE = '\n'


@dataclass(frozen=True)
class LetterRelation:
    """One base parameter: its name, and pairs of a coefficient and the names it multiplies."""

    name: str
    terms: tuple[tuple[sp.Expr, tuple[str, ...]], ...]

    @property
    def is_alone(self) -> bool:
        """Whether it is a standard parameter, unchanged."""
        return self.terms == ((sp.Integer(1), (self.name,)),)

    def as_text(self) -> str:
        """Return a line that Python reads: 'ZZR_2 = ZZ_2 + D3**2*(m_3 + m_4)'."""
        if self.is_alone:
            return self.name
        return f'{self.name} = ' + _joined(self.terms, str, str, '*')

    def as_latex(self) -> str:
        """Return a row of an align environment; it is for those that are regrouped."""
        right = _joined(self.terms, _latex_factor, _latex_name, r'\,')
        return f'{_latex_name(self.name)} &= {right}'


@dataclass(frozen=True)
class RegroupingInLetters:
    """All base parameters in letters, and the numbers of the letters [m, or none]."""

    relations: tuple[LetterRelation, ...]
    values: dict[sp.Symbol, float]

    def as_text(self) -> str:
        """Return the letters' values and one relation a line; all of it is Python."""
        lines = [f'{letter} = {value!r}' for letter, value in self.values.items()]
        lines += [
            '# ' + relation.name if relation.is_alone else relation.as_text()
            for relation in self.relations
        ]
        return '\n'.join(lines) + '\n'

    def as_python(self) -> str:
        """Return a function from a dictionary of standard parameters to one of base ones."""
        used = sorted(
            {name for relation in self.relations for _, names in relation.terms for name in names},
            key=_by_link,
        )
        lines = [
            'def base_parameters(X):',
            '    """Return base parameters from standard ones, dictionaries by name."""',
        ]
        lines += [f'    {letter} = {value!r}  # m' for letter, value in self.values.items()]
        lines += [f"    {name} = X['{name}']" for name in used]
        lines += ['    return {']
        for relation in self.relations:
            right = relation.as_text().split(' = ', 1)[-1]
            lines.append(f"        '{relation.name}': {right},")
        return '\n'.join([*lines, '    }']) + '\n'

    def as_latex(self) -> str:
        """Return a document that needs amsmath and geometry."""
        values = r',\quad '.join(
            f'{_latex_factor(letter)} = {value:.6g}' for letter, value in self.values.items()
        )
        rows = ' \\\\\n'.join(
            relation.as_latex() for relation in self.relations if not relation.is_alone
        )
        alone = ', '.join(
            f'${_latex_name(relation.name)}$' for relation in self.relations if relation.is_alone
        )
        return '\n'.join(
            (
                r'\documentclass[a4paper]{article}',
                r'\usepackage[margin=15mm]{geometry}',
                r'\usepackage{amsmath}',
                r'\allowdisplaybreaks',
                r'\begin{document}',
                rf'\[ {values} \]' if values else '',
                rf'\begin{{align*}}{_NEW_LINE}{rows}{_NEW_LINE}\end{{align*}}' if rows else '',
                rf'\noindent Standard parameters that stand alone: {alone or "none"}.',
                r'\end{document}',
                '',
            )
        )


def regrouping_in_letters(
    arm: ArmDescription, gravity: ArrayLike = GRAVITY, *, rotor_inertia: bool | None = None
) -> RegroupingInLetters:
    """
    Return the base parameters of an arm in letters.

    Which parameters go, and what of their own body goes with them, is taken from the numeric map;
    what the body before gains is how the same body reads there, held at position zero: equations
    (20) to (22) of the paper, as corrected, wherever the body before moves in general.

    Parameters
    ----------
    arm : ArmDescription
        In modified rows.
    gravity : array_like, shape (3,) or (k, 3)
        As in `base_parameters`.
    rotor_inertia : bool, optional
        Whether each joint's rotor is a parameter, Ia_j. If not given: if there are any.

    Raises
    ------
    TreeError
        If the arm has standard rows.

    """
    numbers = base_parameters(arm, gravity, rotor_inertia=rotor_inertia)
    rows = tree_rows(as_tree(replace(arm, base=np.eye(4))))
    letters, values = _letters(rows)
    n, names = len(rows), numbers.standard_names
    # Row by row: which multiple of which standard parameter stands at each place.
    stands: list[dict[int, sp.Expr]] = [{k: sp.Integer(1)} for k in range(len(names))]
    for i in reversed(range(n)):
        places = list(range(PER_LINK * i, PER_LINK * (i + 1)))
        if numbers.rotor_inertia:
            places.append(PER_LINK * n + i)
        going = [place for place in places if place not in numbers.columns]
        within = sp.eye(len(places), len(going)) * 0
        for column, gone in enumerate(going):
            within[places.index(gone), column] = 1
            for place in set(places) - set(going):
                factor = numbers.matrix[numbers.columns.index(place), gone]
                within[places.index(place), column] = -_in_letters(factor, values)
        onto = _in_antecedent(letters[i]) * within[:PER_LINK, :]
        moved = [stands[place] for place in going]
        for k, place in enumerate(places):
            stands[place] = _sum(stands[place], zip(-within[k, :], moved))
        for place in going:
            stands[place] = {}
        if i:
            first = PER_LINK * (i - 1)
            for k in range(PER_LINK):
                stands[first + k] = _sum(stands[first + k], zip(onto[k, :], moved))
    found = tuple(
        _relation(names, column, stands[column], row)
        for column, row in zip(numbers.columns, numbers.matrix)
    )
    used = set().union(
        *(factor.free_symbols for relation in found for factor, _ in relation.terms)
    )
    return RegroupingInLetters(
        found, {letter: value for letter, value in values.items() if letter in used}
    )


def _in_letters(number: float, values: dict[sp.Symbol, float]) -> sp.Expr:
    """Return a number that is whole or a letter's as such, any other as it is."""
    if number == round(number):
        return sp.Integer(round(number))
    for letter, value in values.items():
        if abs(abs(value) - abs(number)) <= _SAME_NUMBER:
            return letter if value * number > 0.0 else -letter
    return sp.Float(number)


def _in_antecedent(row: _Row) -> sp.Matrix:
    """
    Return what a body's ten parameters are in the frame before, its joint at zero, (10, 10).

    h' = R h + m P and J' = R J R' + 2 (R h . P) 1 - R h P' - P (R h)' + m (P' P 1 - P P').
    """
    ca, sa, a, ct, st, d = row
    turn = sp.Matrix([[1, 0, 0], [0, ca, -sa], [0, sa, ca]])
    way = turn * sp.Matrix([a, 0, d])
    turn = turn * sp.Matrix([[ct, -st, 0], [st, ct, 0], [0, 0, 1]])
    columns = []
    for unit in range(PER_LINK):
        x = [sp.Integer(int(unit == k)) for k in range(PER_LINK)]
        tensor = sp.Matrix([[x[0], x[1], x[2]], [x[1], x[3], x[4]], [x[2], x[4], x[5]]])
        h, m = turn * sp.Matrix(x[6:9]), x[9]
        moved = turn * tensor * turn.T - h * way.T - way * h.T - m * way * way.T
        moved += (2 * h.dot(way) + m * way.dot(way)) * sp.eye(3)
        columns.append([moved[k] for k in (0, 1, 2, 4, 5, 8)] + list(h + m * way) + [m])
    return sp.Matrix(columns).T


def _sum(present: dict[int, sp.Expr], moved: Any) -> dict[int, sp.Expr]:
    out = dict(present)
    for factor, terms in moved:
        if factor == 0:
            continue
        for name, weight in terms.items():
            total = sp.expand(out.get(name, sp.Integer(0)) + factor * weight)
            if total == 0:
                out.pop(name, None)
            else:
                out[name] = total
    return out


def _relation(
    names: Sequence[str], column: int, terms: dict[int, sp.Expr], row: np.ndarray
) -> LetterRelation:
    """Return a relation, its own parameter first, parameters of equal factors together."""
    groups: list[tuple[sp.Expr, list[str]]] = []
    # Sines and cosines of odd angles can cancel in numbers only: the numbers decide.
    others = [k for k in sorted(terms) if k != column and row[k] != 0.0]
    for k in (column, *others):
        factor = _trigonometric(terms[k])
        same = next(
            (members for known, members in groups if known == factor and factor not in (1, -1)),
            None,
        )
        if same is None:
            groups.append((factor, [names[k]]))
        else:
            same.append(names[k])
    symbol, link = names[column].rsplit('_', 1)
    name = f'{symbol}R_{link}' if others else names[column]
    return LetterRelation(name, tuple((factor, tuple(members)) for factor, members in groups))


def _trigonometric(expression: sp.Expr) -> sp.Expr:
    """Return an expression with cosine^2 + sine^2 = 1 put in where that makes it shorter."""
    symbols = {symbol.name: symbol for symbol in expression.free_symbols}
    shorter = expression
    for name, cosine in symbols.items():
        sine = symbols.get('S' + name[1:])
        if name.startswith('C') and sine is not None:
            reduced = sp.expand(sp.expand(shorter).subs(cosine**2, 1 - sine**2))
            if sp.count_ops(reduced) < sp.count_ops(shorter):
                shorter = reduced
    return sp.factor_terms(shorter)


def _letters(rows: Sequence[TreeRow]) -> tuple[list[_Row], dict[sp.Symbol, float]]:
    """Return the rows' entries as letters, and the numbers of the letters."""
    values: dict[sp.Symbol, float] = {}

    def length(name: str, value: float) -> sp.Expr:
        if value == 0.0:
            return sp.Integer(0)
        for letter, known in values.items():
            if letter.name[0] not in 'CS' and abs(abs(value) - abs(known)) <= _SAME * abs(known):
                return letter if value * known > 0.0 else -letter
        letter = sp.Symbol(name, real=True)
        values[letter] = float(value)
        return letter

    def turn(name: str, angle: float) -> tuple[sp.Expr, sp.Expr]:
        cosine, sine = cos_sin(angle)
        if cosine == round(cosine) and sine == round(sine):
            return sp.Integer(round(cosine)), sp.Integer(round(sine))
        pair = sp.symbols(f'C{name} S{name}', real=True)
        values.update(zip(pair, (cosine, sine)))
        return pair[0], pair[1]

    found = []
    for i, row in enumerate(rows, start=1):
        found.append(
            (
                *turn(f'A{i}', row.row.alpha),
                length(f'D{i}', row.row.a),
                *turn(f'T{i}', row.row.theta),
                length(f'RL{i}', row.row.d),
            )
        )
    return found, values


def _joined(
    terms: Sequence[tuple[sp.Expr, tuple[str, ...]]],
    factor_text: Callable[[sp.Expr], str],
    name_text: Callable[[str], str],
    times: str,
) -> str:
    """Return terms as a sum: factor, names in a bracket if there are several."""
    text = ''
    for factor, members in terms:
        negative = factor.could_extract_minus_sign()
        size = -factor if negative else factor
        body = ' + '.join(map(name_text, members))
        if len(members) > 1:
            body = f'({body})'
        if size != 1:
            written = factor_text(size)
            body = f'({written}){times}{body}' if size.is_Add else f'{written}{times}{body}'
        text += f' {"-" if negative else "+"} {body}'
    return text[3:] if text.startswith(' + ') else '-' + text[3:]


def _latex_name(name: str) -> str:
    symbol, link = name.rsplit('_', 1)
    return f'{symbol}_{{{link}}}' if len(symbol) == 1 else rf'\mathit{{{symbol}}}_{{{link}}}'


def _latex_factor(factor: sp.Expr) -> str:
    letters = {
        symbol: re.sub(r'([A-Z]+)(\d+)', r'\\mathit{\1}_{\2}', symbol.name)
        for symbol in factor.free_symbols
    }
    return str(sp.latex(factor, symbol_names=letters))


def _by_link(name: str) -> tuple[int, str]:
    symbol, link = name.rsplit('_', 1)
    return int(link), symbol
