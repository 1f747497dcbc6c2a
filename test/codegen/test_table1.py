# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Operations counted in the generated code, compared with the literature."""

import ast
from collections import Counter
from dataclasses import replace
from pathlib import Path
import re

import numpy as np
import pytest

from franka_dynamics.arm import Convention, DHRow, JointKind, load
from franka_dynamics.codegen.equations import customised_equations, ParameterMode, Quantity
from franka_dynamics.codegen.file_text import operation_count
from franka_dynamics.codegen.python_code import python_function

from ..arms import random_arm

PAGE = (Path(__file__).parents[2] / 'docs' / 'theory' / 'codegen.md').read_text('utf-8')
# Table 1 of Gautier and Khalil 1990 and this generator's counts stand on the page. The general
# robot has the table's formulas at n = 6 (its printed 477 is two less than its formula). The table
# does not say how gravity lies, so that robot stands once for any direction and once for that of
# axis 1.
TABLE_1 = re.findall(r'^\| (.*6R.*?|stanford|scemi) \| (\d+)/(\d+) \| (\d+)/(\d+) \|$', PAGE, re.M)


@pytest.mark.parametrize(('robot', *'abcd'), TABLE_1)
def test_counts_are_as_documented_and_in_sum_below_the_printed(robot, a, b, c, d):
    found = operation_count(customised_equations(table_arm(robot)).program)
    assert found == (int(c), int(d))
    assert sum(found) < int(a) + int(b)


def table_arm(robot):
    """Return an arm of the table."""
    if robot in ('stanford', 'scemi'):
        return load(robot, 'chosen')
    rng, kinds = np.random.default_rng(0), (JointKind.REVOLUTE,)
    arm = random_arm(rng, joints=6, convention=Convention.MODIFIED, kinds=kinds)
    joints = [replace(joint, rotor_inertia=0.0) for joint in arm.joints]
    if robot == 'any 6R, g along axis 1':
        joints[0] = replace(joints[0], row=DHRow())
        arm = replace(arm, base=np.eye(4))
    return replace(arm, joints=tuple(joints))


# The columns of the page's table of the FER.
COUNTED = (
    'inverse_dynamics gravity coriolis mass_matrix derivatives forward_dynamics coriolis_matrix'
)


@pytest.mark.parametrize('parameters', ParameterMode)
def test_the_fer_takes_as_many_operations_as_documented(parameters):
    row = re.search(
        rf'^\| fer: {"baked" if parameters is ParameterMode.BAKED else "param"}.*', PAGE, re.M
    )
    documented = [(int(a), int(b)) for a, b in re.findall(r'(\d+)/(\d+)', row[0])]
    programs = (
        customised_equations(load('fer'), quantity, parameters=parameters).program
        for quantity in COUNTED.split()
    )
    assert [*map(operation_count, programs)] == documented


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
