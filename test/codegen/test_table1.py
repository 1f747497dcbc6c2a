# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Operations counted in the generated code, compared with the literature."""

import ast
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.arm import Convention, DHRow, JointKind, load
from franka_dynamics.codegen.chain import build_chain
from franka_dynamics.codegen.emit import operation_count, python_function
from franka_dynamics.codegen.equations import customised_equations, Parameters, Quantity
from franka_dynamics.codegen.expression import Graph
from franka_dynamics.codegen.program import Output, write_program
from franka_dynamics.codegen.recursion import Inputs, inverse_dynamics
from franka_dynamics.codegen.regrouping import regroup, with_origins_at_normals

from .arms import with_rotors
from ..arms import random_arm

CLASSICAL, MINIMUM = True, False
GENERAL, SIMPLIFIED = 'chosen', 'simplified'
# Table 1 of Gautier and Khalil 1990 and this generator's counts, multiplications / additions. The
# general robot has the table's formulas at n = 6 (its printed 477 is two less than its formula).
# The table does not say how gravity lies, so that robot stands once for any direction and once for
# that of axis 1. In the general case of the other arms no inertial parameter is zero; simplified
# arms have diagonal tensors, one first moment a link, motor inertias and a terminal wrench.
TABLE_1 = {
    ('any 6R', GENERAL, CLASSICAL): ((479, 422), (452, 405)),
    ('any 6R', GENERAL, MINIMUM): ((425, 369), (402, 355)),
    ('any 6R, g along axis 1', GENERAL, CLASSICAL): ((479, 422), (448, 400)),
    ('any 6R, g along axis 1', GENERAL, MINIMUM): ((425, 369), (398, 350)),
    ('stanford', GENERAL, CLASSICAL): ((291, 284), (256, 250)),
    ('stanford', GENERAL, MINIMUM): ((232, 218), (195, 189)),
    ('stanford', SIMPLIFIED, CLASSICAL): ((193, 149), (175, 150)),
    ('stanford', SIMPLIFIED, MINIMUM): ((142, 99), (128, 108)),
    ('scemi', GENERAL, CLASSICAL): ((294, 283), (259, 258)),
    ('scemi', GENERAL, MINIMUM): ((253, 238), (215, 209)),
    ('scemi', SIMPLIFIED, CLASSICAL): ((201, 152), (187, 161)),
    ('scemi', SIMPLIFIED, MINIMUM): ((159, 113), (131, 113)),
}


@pytest.mark.parametrize(
    ('robot', 'inertia', 'classical'), TABLE_1, ids=lambda entry: str(entry).lower()
)
def test_counts_are_as_documented_and_in_sum_below_the_printed(robot, inertia, classical):
    printed, counted = TABLE_1[robot, inertia, classical]
    arm = table_arm(robot, inertia)
    if inertia == SIMPLIFIED:
        program = with_wrench_on_the_last_link(arm, classical)
    else:
        program = customised_equations(arm, classical=classical).program
    assert operation_count(program) == counted
    assert sum(counted) < sum(printed)


def with_wrench_on_the_last_link(arm, classical):
    """Return inverse dynamics with a wrench as the table has it, about the last link's origin."""
    graph, chain = Graph(), build_chain(arm, None)
    if not classical:
        moved = with_origins_at_normals(chain)
        np.testing.assert_array_equal(moved.tip, chain.tip)  # it is that origin still
        chain = regroup(moved)
    q, dq, ddq, force, moment = (
        np.array([graph.variable(f'{array}{i + 1}') for i in range(size)])
        for array, size in (('q', 6), ('dq', 6), ('ddq', 6), ('f', 3), ('m', 3))
    )
    torques = inverse_dynamics(graph, chain, Inputs(q, dq, ddq, force, moment))
    outputs = [Output(((i,),), torque) for i, torque in enumerate(torques)]
    return write_program(
        'inverse_dynamics', graph, outputs, ('q', 'dq', 'ddq', 'f', 'm'), 'tau', (6,)
    )


def table_arm(robot, inertia):
    """Return an arm of the table, with a rotor behind every joint where it has them."""
    if robot in ('stanford', 'scemi'):
        arm = load(robot, inertia)
        return with_rotors(arm) if inertia == SIMPLIFIED else arm
    rng, kinds = np.random.default_rng(0), (JointKind.REVOLUTE,)
    arm = random_arm(rng, joints=6, convention=Convention.MODIFIED, kinds=kinds)
    joints = [replace(joint, rotor_inertia=0.0) for joint in arm.joints]
    if robot == 'any 6R, g along axis 1':
        joints[0] = replace(joints[0], row=DHRow())
        arm = replace(arm, base=np.eye(4))
    return replace(arm, joints=tuple(joints))


@pytest.mark.parametrize(
    ('quantity', 'baked', 'at_run_time'),
    [
        (Quantity.INVERSE_DYNAMICS, (273, 267), (292, 281)),
        (Quantity.GRAVITY, (60, 39), (72, 49)),
        (Quantity.CORIOLIS, (258, 241), (258, 241)),
        (Quantity.MASS_MATRIX, (162, 164), (162, 173)),
        (Quantity.DERIVATIVES, (2227, 2045), (2337, 2125)),
        (Quantity.FORWARD_DYNAMICS, (544, 502), (556, 518)),
        (Quantity.CORIOLIS_MATRIX, (1313, 1164), (1313, 1164)),
    ],
)
def test_the_fer_takes_as_many_operations_as_documented(quantity, baked, at_run_time):
    for parameters, expected in zip(Parameters, (baked, at_run_time)):
        equations = customised_equations(load('fer'), quantity, parameters=parameters)
        assert operation_count(equations.program) == expected


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
