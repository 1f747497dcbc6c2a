# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Symbolic base parameters, in the form of section 9 of Gautier and Khalil 1990 (the arm SCEMI).

    XXR_3 = XX_3 - YY_3 + YY_4 + 2*RL4*mZ_4 + RL4**2*(m_4 + m_5 + m_6)

The direct method (`regrouping_map`) is evaluated with symbols: D3 for the paper's d_3 (`a` of
row 3), RL4 for its r_4 (`d`). Equal lengths share one symbol up to sign, so that terms cancel as
they do in numbers. Cosines and sines of quarter turns are integers; those of other angles are
symbols, CA2 and SA2 for alpha_2, CT2 and ST2 for the constant theta_2 of a prismatic joint. The
numeric coefficients of `regroupable_combinations` are replaced by integers or by symbols of equal
value; near the base some have no such symbol and stay numbers. Needs sympy.
"""

from collections.abc import Sequence
from dataclasses import dataclass
import re

import numpy as np
from numpy.typing import ArrayLike

from . import direct_method
from .direct_method import KhalilDH
from .relations import grouped_terms, sum_text
from ..arm_io import ArmLike, as_description
from ..constants import GRAVITY
from ..errors import require_extra

with require_extra('Base parameters in symbols need sympy', 'symbolic'):
    import sympy as sp

# Lengths equal within _SYMBOL_TOLERANCE, relative, share one symbol. A coefficient within
# _SYMBOL_TOLERANCE, absolute, of plus or minus a symbol's value is replaced by plus or minus the
# symbol.
_SYMBOL_TOLERANCE = 1e-12
# The terms of a sum: each coefficient with the standard parameters that it multiplies.
WeightedSum = tuple[tuple[sp.Expr, tuple[str, ...]], ...]


@dataclass(frozen=True)
class SymbolicBaseParameters:
    """
    The base parameters as symbolic sums of standard parameters, and the symbols' values.

    `relations` maps a base parameter's name to its terms. The first term is the standard parameter
    whose regressor column is kept. `values` has each symbol's length [m], cosine or sine.
    """

    relations: dict[str, WeightedSum]
    values: dict[sp.Symbol, float]

    @property
    def sums(self) -> dict[str, WeightedSum]:
        """Relations of the base parameters that combine several standard parameters."""
        alone = {name: ((1, (name,)),) for name in self.relations}
        return {name: terms for name, terms in self.relations.items() if terms != alone[name]}

    def as_text(self) -> str:
        """Return the symbols' values and the relations, one per line, as Python code."""
        lines = [f'{symbol} = {value!r}' for symbol, value in self.values.items()]
        for name, terms in self.relations.items():
            lines.append(f'{name} = {_sum_text(terms)}' if name in self.sums else f'# {name}')
        return '\n'.join(lines) + '\n'

    def as_latex(self) -> str:
        """Return a complete LaTeX document with the relations and the symbols' values."""
        values = [f'{_as_latex(symbol)} = {value:.6g}' for symbol, value in self.values.items()]
        rows = [
            rf'{_as_latex(sp.Symbol(name))} &= {_sum_text(terms, in_latex=True)}'
            for name, terms in self.sums.items()
        ]
        alone = [f'${_as_latex(sp.Symbol(x))}$' for x in self.relations if x not in self.sums]
        table = [r'\begin{align*}', ' \\\\\n'.join(rows), r'\end{align*}'] if rows else ['']
        lines = [
            r'\documentclass[a4paper]{article}',
            r'\usepackage[margin=15mm]{geometry}',
            r'\usepackage{amsmath}',
            r'\allowdisplaybreaks',
            r'\begin{document}',
            r'\[ ' + r', \quad '.join(values) + r' \]' if values else '',
            *table,
            rf'\noindent Standard parameters that stand alone: {", ".join(alone) or "none"}.',
            r'\end{document}',
        ]
        return '\n'.join([*lines, ''])


def symbolic_base_parameters(
    arm: ArmLike, gravity: ArrayLike = GRAVITY, *, rotor_inertia: bool | None = None
) -> SymbolicBaseParameters:
    """
    Return the base parameters of an arm as symbolic relations.

    Arguments and errors are those of `direct_base_parameters`.
    """
    arm = as_description(arm)
    numeric = direct_method.direct_base_parameters(arm, gravity, rotor_inertia=rotor_inertia)
    steps, _ = direct_method.regroupable_combinations(arm, gravity, rotor_inertia=rotor_inertia)
    rows, values = _symbol_rows(direct_method.modified_dh_rows(arm))
    as_symbols = np.frompyfunc(lambda number: _as_symbol(number, values), 1, 1)
    steps = [step._replace(combinations=as_symbols(step.combinations)) for step in steps]
    columns, matrix = direct_method.regrouping_map(arm, rows, steps)
    relations = {}
    standard_names = numeric.standard_names
    for name, kept, symbolic_row, numeric_row in zip(
        numeric.names, columns, matrix, numeric.matrix
    ):
        # Terms with sines and cosines may cancel only numerically, so the numeric map decides
        # which terms are zero.
        eliminated = [int(k) for k in np.flatnonzero(numeric_row) if k != kept]
        terms = [
            (sp.factor_terms(sp.expand(symbolic_row[k])), standard_names[k])
            for k in (kept, *eliminated)
        ]
        groups = grouped_terms(terms, lambda a, b: a == b and a not in (1, -1))
        relations[name] = tuple((factor, tuple(members)) for factor, members in groups)
    factors = [factor for terms in relations.values() for factor, _ in terms]
    used_symbols = set().union(*(factor.free_symbols for factor in factors))
    used_values = {symbol: value for symbol, value in values.items() if symbol in used_symbols}
    return SymbolicBaseParameters(relations, used_values)


def _symbol_rows(
    rows: Sequence[KhalilDH],
) -> tuple[list[KhalilDH], dict[sp.Symbol, float]]:
    """Return DH rows with symbols for lengths, cosines and sines, and the symbols' values."""
    values: dict[sp.Symbol, float] = {}

    def length(name: str, value: float) -> sp.Expr:
        """Return a length as 0, a symbol of the same length or its negative, or a new symbol."""
        if value == 0.0:
            return 0
        for symbol, symbol_value in values.items():
            is_length = symbol.name[0] not in 'CS'  # as cosines and sines are called
            difference = abs(abs(value) - abs(symbol_value))
            if is_length and difference <= _SYMBOL_TOLERANCE * abs(symbol_value):
                return symbol if value * symbol_value > 0.0 else -symbol
        new_symbol = sp.Symbol(name, real=True)
        values[new_symbol] = float(value)
        return new_symbol

    def cos_sin(name: str, cosine: float, sine: float) -> tuple[sp.Expr, sp.Expr]:
        """Return an angle's cosine and sine, integers for multiples of 90 deg, else symbols."""
        if cosine == round(cosine) and sine == round(sine):
            return round(cosine), round(sine)
        pair = sp.symbols(f'C{name} S{name}', real=True)
        values.update(zip(pair, (cosine, sine)))
        return pair[0], pair[1]

    symbol_rows = []
    for i, row in enumerate(rows, start=1):
        ca, sa = cos_sin(f'A{i}', row.ca, row.sa)
        ct, st = cos_sin(f'T{i}', row.ct, row.st)
        d = length(f'D{i}', row.d)
        r = length(f'RL{i}', row.r)
        symbol_rows.append(KhalilDH(ca, sa, d, ct, st, r))
    return symbol_rows, values


def _as_symbol(number: float, symbol_values: dict[sp.Symbol, float]) -> sp.Expr:
    """Return a number as the integer, symbol or minus symbol that it equals, else as a float."""
    if number == round(number):
        return round(number)
    for symbol, value in symbol_values.items():
        if abs(abs(value) - abs(number)) <= _SYMBOL_TOLERANCE:
            return symbol if value * number > 0.0 else -symbol
    return sp.Float(number)


def _sum_text(terms: WeightedSum, *, in_latex: bool = False) -> str:
    """Return weighted parameters as the text of a sum; those of equal weight share brackets."""
    groups = []
    for factor, names in terms:
        is_negative = factor.could_extract_minus_sign()
        size = -factor if is_negative else factor
        size_text = _as_latex(size) if in_latex else str(size)
        if size.is_Add:
            size_text = f'({size_text})'
        times = r'\,' if in_latex else '*'
        factor_text = '' if size == 1 else f'{size_text}{times}'
        name_texts = [_as_latex(sp.Symbol(name)) if in_latex else name for name in names]
        groups.append((is_negative, factor_text, name_texts))
    return sum_text(groups)


def _as_latex(expression: sp.Expr) -> str:
    """Return an expression as LaTeX; the number of a name such as XXR_2 is its subscript."""
    names = {}
    for symbol in expression.free_symbols:
        word, number = re.fullmatch(r'([A-Za-z]+?)_?(\d+)', symbol.name).groups()  # type: ignore
        whole = word if word == 'm' else rf'\mathit{{{word}}}'
        names[symbol] = rf'{whole}_{{{number}}}'
    return str(sp.latex(expression, symbol_names=names))
