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
from franka_dynamics.codegen.chain import build_chain
from franka_dynamics.codegen.equations import customised_equations, ParameterMode, Quantity
from franka_dynamics.codegen.expression import Graph
from franka_dynamics.codegen.file_text import operation_count
from franka_dynamics.codegen.program import Output, write_program
from franka_dynamics.codegen.python_code import python_function
from franka_dynamics.codegen.recursion import Inputs, inverse_dynamics
from franka_dynamics.codegen.regrouping import regroup_parameters, with_origins_nearest_parent

from .arms import with_rotors
from ..arms import random_arm

PAGE = (Path(__file__).parents[2] / 'docs' / 'theory' / 'codegen.md').read_text('utf-8')
# Table 1 of Gautier and Khalil 1990 and this generator's counts stand on the page. The general
# robot has the table's formulas at n = 6 (its printed 477 is two less than its formula). The table
# does not say how gravity lies, so that robot stands once for any direction and once for that of
# axis 1. In the general case of the other arms no inertial parameter is zero; simplified arms have
# diagonal tensors, one first moment a link, motor inertias and a terminal wrench.
COLUMNS = [
    (inertia, classical) for inertia in ('chosen', 'simplified') for classical in (True, False)
]
TABLE_1 = [
    (robot, *column, *map(int, counts))
    for robot, *cells in re.findall(
        r'^\| (.*6R.*?|stanford|scemi) ' + 4 * r'\| (.*?)' + r'\|$', PAGE, re.M
    )
    for column, cell in zip(COLUMNS, cells)
    for counts in re.findall(r'(\d+)/(\d+), here (\d+)/(\d+)', cell)
]


assert len(TABLE_1) == 12


@pytest.mark.parametrize(('robot', 'inertia', 'classical', *'abcd'), TABLE_1)
def test_counts_are_as_documented_and_in_sum_below_the_printed(
    robot, inertia, classical, a, b, c, d
):
    arm = table_arm(robot, inertia)
    if inertia == 'simplified':
        program = with_wrench_on_the_last_link(arm, classical)
    else:
        program = customised_equations(arm, classical=classical).program
    assert operation_count(program) == (c, d)
    assert c + d < a + b


def with_wrench_on_the_last_link(arm, classical):
    """Return inverse dynamics with a wrench as the table has it, about the last link's origin."""
    graph, chain = Graph(), build_chain(arm, np.array([0.0, 0.0, -9.81]))
    if not classical:
        moved = with_origins_nearest_parent(chain)
        np.testing.assert_array_equal(moved.tip, chain.tip)  # it is that origin still
        chain = regroup_parameters(moved)
    q, dq, ddq, force, moment = (
        np.array([graph.variable(f'{array}{i + 1}') for i in range(size)])
        for array, size in (('q', 6), ('dq', 6), ('ddq', 6), ('f', 3), ('m', 3))
    )
    torques = inverse_dynamics(graph, chain, Inputs(q, dq, ddq, force, moment))
    outputs = [Output(((i,),), torque) for i, torque in enumerate(torques)]
    return write_program(graph, outputs, ('q', 'dq', 'ddq', 'f', 'm'))


def table_arm(robot, inertia):
    """Return an arm of the table, with a rotor behind every joint where it has them."""
    if robot in ('stanford', 'scemi'):
        arm = load(robot, inertia)
        return with_rotors(arm) if inertia == 'simplified' else arm
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
    equations = customised_equations(load('scemi'), quantity)
    kinds = Counter()
    for node in ast.walk(ast.parse(python_function(equations))):
        if isinstance(node, ast.BinOp):
            kinds[type(node.op)] += 1
        elif isinstance(node, ast.UnaryOp):
            kinds[ast.USub] += not isinstance(node.operand, ast.Constant)
    additions = kinds[ast.Add] + kinds[ast.Sub] + kinds[ast.USub]
    assert operation_count(equations.program) == (kinds[ast.Mult], additions)
    assert set(kinds) <= {ast.Add, ast.Sub, ast.Mult, ast.Div, ast.USub}
