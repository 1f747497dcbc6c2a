# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Operations, counted from emitted code, beside those of the literature."""

import re

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.codegen.emit import (
    c_functions,
    CLASSICAL,
    count_operations,
    general_robot,
    MINIMUM,
    operation_count,
    Origin,
    python_module,
    SIMPLIFIED,
)
from franka_dynamics.codegen.equations import customised_equations, Parameters, Quantity
from franka_dynamics.codegen.table1 import CASES, count
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel

from .arms import with_rotors


def test_tau_of_the_fer_takes_no_more_operations_than_documented():
    multiplications, additions = operation_count(customised_equations(load('fer'), search=True))
    assert multiplications <= 257
    assert additions <= 251


# More sums than printed, with fewer products by 17; no other row of an arm has more of either.
MORE_ADDITIONS = {('stanford', SIMPLIFIED, MINIMUM): 3}


@pytest.mark.parametrize(
    'case',
    [case for case in CASES if case.inertia == SIMPLIFIED],
    ids=lambda case: f'{case.robot} {case.parameters}',
)
def test_counts_are_no_more_than_the_printed_ones(case):
    multiplications, additions = count(case)
    more = MORE_ADDITIONS.get((case.robot, case.inertia, case.parameters), 0)
    assert multiplications <= case.printed.multiplications
    assert additions <= case.printed.additions + more
    assert multiplications + additions < sum(case.printed)


def test_the_tables_formulas_of_seven_joints_give_its_numbers():
    assert general_robot(7, CLASSICAL) == (580, 512)
    assert general_robot(7, MINIMUM) == (517, 450)
    # The table prints 477 where its own formula gives 479.
    assert general_robot(6, CLASSICAL) == (479, 422)
    assert general_robot(6, MINIMUM) == (425, 369)


def test_in_python_source_only_products_and_sums_are_counted():
    source = """
def f(q, out):
    a = q[2 - 1]*3.0 + cos(q[0])
    b = -0.5*a - a
    out[1 + 1] = -b
"""
    # One product by 3 and one by a literal, the sum, the difference and the change of sign.
    assert count_operations(source, 'f') == (2, 3)


def test_given_a_power_when_counted_then_it_is_refused():
    # A power would hide products; a quotient is neither product nor sum, and counts as neither.
    with pytest.raises(ValueError, match=r'a \*\* b is no product, sum or quotient'):
        count_operations('def f(a, b):\n    return a ** b\n', 'f')
    assert count_operations('def f(a, b):\n    return a / b\n', 'f') == (0, 0)


@pytest.mark.parametrize('quantity', Quantity)
def test_c_code_has_as_many_operators_as_counted_for_python(quantity):
    equations = customised_equations(load('scemi'), quantity)
    body = c_functions(equations.program, 'scemi', 6).split('{', 1)[1]
    body = re.sub(r'e[-+]\d+', '', body)
    multiplications = len(re.findall(r'\*', body))
    additions = len(re.findall(r' [-+] ', body)) + len(re.findall(r'[=(] ?-(?!\d)', body))
    assert operation_count(equations) == (multiplications, additions)


@pytest.mark.parametrize('arm', ['scemi', 'stanford', 'rpr'])
def test_classical_parameters_give_the_models_torques(arm):
    # Nothing is regrouped: the same torque from other code.
    description = with_rotors(load(arm))
    equations = customised_equations(description, classical=True)
    assert equations.plan.classical and not equations.plan.cancellations
    names = {}
    origin = Origin(arm, 'any', 'none', (0.0, 0.0, -9.81), Parameters.BAKED)
    exec(python_module(origin, [equations]), names)
    rng = np.random.default_rng(0)
    model = NewtonEulerModel(description)
    for q, dq, ddq in rng.normal(size=(5, 3, description.n)):
        tau = np.empty(description.n)
        names['inverse_dynamics'](q, dq, ddq, tau)
        expected = model.inverse_dynamics(q, dq, ddq)
        np.testing.assert_allclose(
            tau, expected, rtol=0.0, atol=1e-12 * max(1.0, np.abs(expected).max())
        )
