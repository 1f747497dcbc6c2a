# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Operations counted in the generated code, compared with the literature."""

import ast
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.arm import Convention, DHRow, JointKind, load
from franka_dynamics.arm.sampling import random_arm
from franka_dynamics.codegen.emit import operation_count, python_function
from franka_dynamics.codegen.equations import customised_equations, Parameters, Quantity

from .arms import with_rotors

CLASSICAL, MINIMUM = True, False
GENERAL, SIMPLIFIED = 'chosen', 'simplified'
# Table 1 of Gautier and Khalil 1990 and this generator's counts, multiplications / additions. The
# general robot has the table's formulas at n = 6 (its printed 477 is two less than its formula).
# The table does not say how gravity lies, so that robot stands once for any direction and once for
# that of axis 1. In the general case of the other arms no inertial parameter is zero; simplified
# arms have diagonal tensors, one first moment a link, motor inertias and a terminal wrench.
TABLE_1 = {
    ('any 6R', GENERAL, CLASSICAL): ((479, 422), (461, 403)),
    ('any 6R', GENERAL, MINIMUM): ((425, 369), (411, 353)),
    ('any 6R, g along axis 1', GENERAL, CLASSICAL): ((479, 422), (457, 398)),
    ('any 6R, g along axis 1', GENERAL, MINIMUM): ((425, 369), (407, 348)),
    ('stanford', GENERAL, CLASSICAL): ((291, 284), (257, 245)),
    ('stanford', GENERAL, MINIMUM): ((232, 218), (196, 184)),
    ('stanford', SIMPLIFIED, CLASSICAL): ((193, 149), (168, 145)),
    ('stanford', SIMPLIFIED, MINIMUM): ((142, 99), (124, 104)),
    ('scemi', GENERAL, CLASSICAL): ((294, 283), (260, 252)),
    ('scemi', GENERAL, MINIMUM): ((253, 238), (216, 203)),
    ('scemi', SIMPLIFIED, CLASSICAL): ((201, 152), (176, 156)),
    ('scemi', SIMPLIFIED, MINIMUM): ((159, 113), (129, 109)),
}


@pytest.mark.parametrize(
    ('robot', 'inertia', 'classical'), TABLE_1, ids=lambda entry: str(entry).lower()
)
def test_counts_are_as_documented_and_in_sum_below_the_printed(robot, inertia, classical):
    printed, ours = TABLE_1[robot, inertia, classical]
    equations = customised_equations(
        table_arm(robot, inertia), terminal_wrench=inertia == SIMPLIFIED, classical=classical
    )
    assert operation_count(equations.program) == ours
    assert sum(ours) < sum(printed)


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
        (Quantity.INVERSE_DYNAMICS, (274, 260), (291, 275)),
        (Quantity.GRAVITY, (60, 36), (72, 49)),
        (Quantity.CORIOLIS, (259, 236), (259, 235)),
        (Quantity.MASS_MATRIX, (167, 158), (167, 164)),
        (Quantity.DERIVATIVES, (2226, 2007), (2336, 2100)),
        (Quantity.FORWARD_DYNAMICS, (550, 493), (562, 508)),
        (Quantity.CORIOLIS_MATRIX, (1308, 1156), (1308, 1156)),
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
