# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Generated equations as SymPy expressions, simplified to what a textbook prints."""

from fractions import Fraction
from typing import Any

import numpy as np

from .equations import Equations
from .python_code import python_function
from ..dynamics.regressor import parameter_names
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
    names: dict[str, Any] = {name: getattr(sp, name) for name in ('sin', 'cos', 'sqrt')}
    exec(compile(python_function(equations), '<equations>', 'exec'), names)
    inputs: list[Any] = [
        [sp.Symbol(f'{name}_{k}', real=True) for k in range(1, _length(name, equations.n) + 1)]
        for name in equations.input_names
    ]
    if equations.run_time_parameters:
        prepared = dict[int, Any]()
        names[f'prepare_{equations.function_name}'](_parameter_symbols(equations), prepared)
        inputs.append(prepared)
    found = dict[Any, Any]()
    names[equations.function_name](*inputs, found)
    result = np.zeros(equations.shape, dtype=object)
    for place, value in found.items():
        exact = sp.sympify(value).replace(
            lambda one: one.is_Float, lambda one: sp.Rational(f'{one}')
        )
        result[place] = _simplified(exact) if simplify else exact
    if result.ndim > 2 or not result.ndim:
        return sp.Array(result.tolist())
    return sp.Matrix(result.tolist())


def _length(input_name: str, n: int) -> int:
    """Return the number of elements of an input array: of a wrench six, of others n."""
    return 6 if input_name == 'wrench' else n


def _parameter_symbols(equations: Equations) -> list[Any]:
    """Return symbols of inertial parameters in the order of the generated code, and of gravity."""
    names = parameter_names(equations.description, rotor_inertia=True)
    n = equations.n
    links = [names[10 * k : 10 * (k + 1)] for k in range(n)]
    ordered = [name for own, rotor in zip(links, names[10 * n :]) for name in (*own, rotor)]
    return [sp.Symbol(name, real=True) for name in (*ordered, 'g_x', 'g_y', 'g_z')]


def _with_exact_decimals(expression: Any) -> Any:
    """Return an expression with fractions for floats, so that sums of them are exact."""
    floats = expression.atoms(sp.Float)
    return expression.xreplace({one: sp.Rational(repr(float(one))) for one in floats})


def _simplified(expression: Any) -> Any:
    """Return an expression as a sum with short trigonometric factors and readable coefficients."""
    expanded = sp.expand(expression)
    variables = expanded.free_symbols - set().union(
        *(one.free_symbols for one in expanded.atoms(sp.sin, sp.cos))
    )
    # Positions of prismatic joints, velocities and inertial parameters are outside the angles.
    outside = sorted(variables, key=str)
    total = sp.Integer(0)
    if not outside:
        total = _shortest_form(expanded)
    else:
        for powers, factor in sp.Poly(expanded, *outside).terms():
            product = sp.prod([one**power for one, power in zip(outside, powers)])
            total += sp.expand(product * _shortest_form(factor))
    return _with_readable_coefficients(total)


def _shortest_form(trigonometric: Any) -> Any:
    """Return the shortest of an expression's usual trigonometric forms, without half angles."""
    forms = sp.fu(trigonometric), TR8(trigonometric), sp.trigsimp(trigonometric)
    whole = [one for one in map(sp.expand, forms) if not _has_half_angles(one)]
    return min((trigonometric, *whole), key=sp.count_ops)


def _has_half_angles(expression: Any) -> bool:
    """Return whether a sine or cosine is of another than whole multiples of angles."""
    angles = (one.args[0] for one in expression.atoms(sp.sin, sp.cos))
    return any(not k.is_Integer for one in angles for k in one.as_coefficients_dict().values())


def _with_readable_coefficients(total: Any) -> Any:
    """Return a sum with fractions or decimals as coefficients, less terms of rounding errors."""
    pairs = [one.as_coeff_Mul() for one in sp.Add.make_args(total)]
    largest = max((abs(float(number)) for number, _ in pairs), default=0.0)
    kept = sp.Integer(0)
    for number, rest in pairs:
        if abs(float(number)) <= _MAX_ROUNDOFF_RATIO * largest:
            continue
        fraction = sp.Rational(
            *Fraction(float(number)).limit_denominator(_MAX_DENOMINATOR).as_integer_ratio()
        )
        near = abs(float(fraction - number)) <= _MAX_ROUNDOFF_RATIO * abs(float(number))
        kept += (fraction if near else sp.Float(number, _DIGIT_COUNT)) * rest
    return kept
