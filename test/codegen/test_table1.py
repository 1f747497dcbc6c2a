# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Operations, counted from emitted code, beside those of the literature."""

import re

import pytest

from franka_dynamics.arm import load
from franka_dynamics.codegen.emit import c_functions, operation_count
from franka_dynamics.codegen.equations import customised_equations, Quantity
from franka_dynamics.codegen.operation_counts import (
    CLASSICAL,
    count_operations,
    GENERAL,
    general_robot,
    MINIMUM,
    printed,
    SIMPLIFIED,
)
from franka_dynamics.codegen.plan import FEWER_ADDITIONS

from .arms import with_rotors


def test_given_the_franka_when_written_then_tau_takes_no_more_than_documented():
    multiplications, additions = operation_count(customised_equations(load('fer')))
    assert multiplications <= 257
    assert additions <= 251


@pytest.mark.parametrize('arm', ['scemi', 'stanford'])
@pytest.mark.parametrize(('inertial_set', 'inertia'),
                         [('chosen', GENERAL), ('simplified', SIMPLIFIED)])
def test_given_the_tables_arms_when_written_then_no_more_is_needed_than_printed(
        arm, inertial_set, inertia):
    # With rotors and a terminal wrench, which the table has in its simplified rows only.
    description = with_rotors(load(arm, inertial_set))
    found = operation_count(customised_equations(
        description, terminal_wrench=True, addition_cost=FEWER_ADDITIONS))
    entry = printed(arm, MINIMUM, inertia)
    assert found.multiplications <= entry.multiplications
    assert found.additions <= entry.additions


def test_given_seven_joints_when_the_tables_formulas_are_asked_then_they_give_its_numbers():
    assert general_robot(7, CLASSICAL) == (580, 512)
    assert general_robot(7, MINIMUM) == (517, 450)
    # The table prints 477 where its own formula gives 479.
    assert general_robot(6, CLASSICAL) == (479, 422)
    assert general_robot(6, MINIMUM) == (425, 369)


def test_given_python_source_when_counted_then_only_products_and_sums_count():
    source = """
def f(q, out):
    a = q[2 - 1]*3.0 + cos(q[0])
    b = -0.5*a - a
    out[1 + 1] = -b
"""
    # One product by 3 and one by a literal, the sum, the difference and the change of sign.
    assert count_operations(source, 'f') == (2, 3)


def test_given_a_division_when_counted_then_it_is_refused():
    with pytest.raises(ValueError, match='a / b is neither product nor sum'):
        count_operations('def f(a, b):\n    return a / b\n', 'f')


@pytest.mark.parametrize('quantity', Quantity)
def test_given_c_code_when_its_operators_are_counted_then_python_has_as_many(quantity):
    equations = customised_equations(load('scemi'), quantity)
    body = c_functions(equations.program, 'scemi', 6).split('{', 1)[1]
    body = re.sub(r'e[-+]\d+', '', body)
    multiplications = len(re.findall(r'\*', body))
    additions = len(re.findall(r' [-+] ', body)) + len(re.findall(r'[=(] ?-(?!\d)', body))
    assert operation_count(equations) == (multiplications, additions)
