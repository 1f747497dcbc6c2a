# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Generated equations as SymPy expressions, simplified to what a textbook prints."""

from fractions import Fraction
from typing import Any

import numpy as np

from .equations import Equations
from .python_code import python_functions
from ..dynamics.regressor import N_LINK_PARAMETERS, parameter_names
from ..errors import require_extra

with require_extra('Equations in symbols need sympy', 'symbolic'):
    import sympy as sp
    from sympy.simplify.fu import TR8

# Coefficients are written as fractions with denominators up to this, or else as decimals.
_MAX_DENOMINATOR = 1000
_DIGIT_COUNT = 12  # of decimals
_MAX_ROUNDOFF_RATIO = 1e-12  # of a coefficient, to the largest one of its sum


def sympy_expressions(equations: Equations, *, simplify: bool = True) -> Any:
    """
    Return equations as SymPy expressions, as a textbook prints those of a few joints.

    Symbols are q_1, dq_1, ... of the inputs, counted from 1, and for parameters at run time those
    of `parameter_names` (XX_1, mX_1, m_1, ..., Ia_1, ...), and g_x, g_y, g_z. Lengths are numbers:
    fractions, or decimals of twelve digits.

    Parameters
    ----------
    equations : Equations
        What `customised_equations` returns.
    simplify : bool
        Whether to write each element as a sum with short trigonometric factors, which takes
        seconds for three joints. Leave it out for more.

    Returns
    -------
    sympy.Matrix or sympy.Array
        Of the shape of the output; a Matrix if it has one or two axes.

    Raises
    ------
    MissingDependencyError
        If sympy is not installed.

    """
    functions = python_functions(equations, sp)
    inputs: list[Any] = [
        [sp.Symbol(f'{name}_{k}', real=True) for k in range(1, equations.input_size(name) + 1)]
        for name in equations.input_names
    ]
    if equations.run_time_parameters:
        prepared = dict[int, Any]()
        functions[f'prepare_{equations.function_name}'](_parameter_symbols(equations), prepared)
        inputs.append(prepared)
    elements = dict[Any, Any]()
    functions[equations.function_name](*inputs, elements)
    result = np.zeros(equations.shape, dtype=object)
    for place, value in elements.items():
        exact = _with_exact_decimals(sp.sympify(value))
        result[place] = _simplified(exact) if simplify else exact
    if result.ndim > 2:
        return sp.Array(result.tolist())
    return sp.Matrix(result.tolist())


def _parameter_symbols(equations: Equations) -> list[Any]:
    """Return symbols of inertial parameters in the order of the generated code, and of gravity."""
    names = parameter_names(equations.description, rotor_inertia=True)
    link_names = names[: N_LINK_PARAMETERS * equations.n]
    rotor_names = names[N_LINK_PARAMETERS * equations.n :]
    ordered: list[str] = []
    for k, rotor_name in enumerate(rotor_names):
        ordered += link_names[N_LINK_PARAMETERS * k : N_LINK_PARAMETERS * (k + 1)]
        ordered.append(rotor_name)
    return [sp.Symbol(name, real=True) for name in (*ordered, 'g_x', 'g_y', 'g_z')]


def _with_exact_decimals(expression: Any) -> Any:
    """Return an expression with fractions for floats, all digits, so that sums are exact."""
    fractions = {number: sp.Rational(repr(float(number))) for number in expression.atoms(sp.Float)}
    return expression.xreplace(fractions)


def _simplified(expression: Any) -> Any:
    """
    Return an expression as a sum with short trigonometric factors and readable coefficients.

    Terms are collected by what is in no sine or cosine: velocities, inertial parameters, positions
    of prismatic joints. Each of their factors is then shortened.
    """
    expanded = sp.expand(expression)
    symbols_of_angles: set[Any] = set()
    for function in expanded.atoms(sp.sin, sp.cos):
        symbols_of_angles |= function.free_symbols
    outside = sorted(expanded.free_symbols - symbols_of_angles, key=str)
    if not outside:
        return _with_readable_coefficients(_shortest_form(expanded))
    total = sp.Integer(0)
    for powers, factor in sp.Poly(expanded, *outside).terms():
        product = sp.prod([symbol**power for symbol, power in zip(outside, powers)])
        total += sp.expand(product * _shortest_form(factor))
    return _with_readable_coefficients(total)


def _shortest_form(trigonometric: Any) -> Any:
    """Return the shortest of an expression's usual trigonometric forms, without half angles."""
    forms = sp.fu(trigonometric), TR8(trigonometric), sp.trigsimp(trigonometric)
    without_half_angles = [form for form in map(sp.expand, forms) if not _has_half_angles(form)]
    return min((trigonometric, *without_half_angles), key=sp.count_ops)


def _has_half_angles(expression: Any) -> bool:
    """Return whether a sine or cosine is of another than whole multiples of angles."""
    for function in expression.atoms(sp.sin, sp.cos):
        multiples = function.args[0].as_coefficients_dict().values()
        if any(not multiple.is_Integer for multiple in multiples):
            return True
    return False


def _with_readable_coefficients(total: Any) -> Any:
    """Return a sum with fractions or decimals as coefficients, less terms of rounding errors."""
    terms = [term.as_coeff_Mul() for term in sp.Add.make_args(total)]
    largest = max((abs(float(coefficient)) for coefficient, _ in terms), default=0.0)
    kept = sp.Integer(0)
    for coefficient, rest in terms:
        size = abs(float(coefficient))
        if size <= _MAX_ROUNDOFF_RATIO * largest:
            continue
        near = Fraction(float(coefficient)).limit_denominator(_MAX_DENOMINATOR)
        fraction = sp.Rational(near.numerator, near.denominator)
        is_fraction = abs(float(fraction - coefficient)) <= _MAX_ROUNDOFF_RATIO * size
        kept += (fraction if is_fraction else sp.Float(coefficient, _DIGIT_COUNT)) * rest
    return kept
