# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Operations, counted from emitted code, beside those of the literature."""

import ast
from collections import Counter

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.codegen.emit import operation_count, python_function
from franka_dynamics.codegen.equations import customised_equations, Quantity
from franka_dynamics.codegen.table1 import CASES, count, MINIMUM, SIMPLIFIED
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel

from .arms import runnable, with_rotors
from ..agreement import assert_close


def test_the_searched_fer_has_its_torques_in_as_few_operations_as_documented():
    # Masses kept at joints and lengths in a unit of their own, which no plain plan has.
    equations = customised_equations(load('fer'), search=True)
    assert equations.plan.cancellations
    multiplications, additions = operation_count(equations.program)
    assert multiplications <= 257 and additions <= 251
    assert_torques(load('fer'), equations)


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


@pytest.mark.parametrize('quantity', Quantity)
def test_counts_are_of_the_operators_that_python_reads(quantity):
    program = customised_equations(load('scemi'), quantity).program
    kinds = Counter()
    for node in ast.walk(ast.parse(python_function(program))):
        if isinstance(node, ast.BinOp):
            kinds[type(node.op)] += 1
        elif isinstance(node, ast.UnaryOp):
            kinds[ast.USub] += not isinstance(node.operand, ast.Constant)
    additions = kinds[ast.Add] + kinds[ast.Sub] + kinds[ast.USub]
    assert operation_count(program) == (kinds[ast.Mult], additions)
    assert set(kinds) <= {ast.Add, ast.Sub, ast.Mult, ast.Div, ast.USub}


@pytest.mark.parametrize('arm', ['scemi', 'stanford', 'rpr'])
def test_classical_parameters_give_the_models_torques(arm):
    # Nothing is regrouped: the same torque from other code.
    description = with_rotors(load(arm))
    equations = customised_equations(description, classical=True)
    assert equations.plan.classical and not equations.plan.cancellations
    assert_torques(description, equations)


def assert_torques(description, equations):
    """Compare generated torques with those of the recursion."""
    model = NewtonEulerModel(description)
    inverse_dynamics = runnable(equations)['inverse_dynamics']
    for q, dq, ddq in np.random.default_rng(0).normal(size=(5, 3, description.n)):
        tau = np.empty(description.n)
        inverse_dynamics(q, dq, ddq, tau)
        assert_close(tau, model.inverse_dynamics(q, dq, ddq))
