# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Generated equations against Pinocchio, and their operations counted as in the literature."""

import ast
from collections import Counter
from dataclasses import replace
from pathlib import Path
import re

import numpy as np
import pytest

import franka_dynamics as fd
from franka_dynamics.arm import Convention, DHRow, JointKind
from franka_dynamics.codegen import chain as chains
from franka_dynamics.codegen.c_code import c_header
from franka_dynamics.codegen.equations import ParameterMode, Quantity
from franka_dynamics.codegen.expression import Graph
from franka_dynamics.codegen.program import OutputValue, Program
from franka_dynamics.codegen.python_code import python_function, python_module
from franka_dynamics.codegen.recursion import inverse_dynamics, JointInputs
from franka_dynamics.dynamics.body_tree import BodyTree
from franka_dynamics.dynamics.model import MIN_FREE_TO_MAX_INERTIA
from franka_dynamics.errors import InertiaError, OutputError, SettingsError

from .arms import arms, runnable, standard_parameters, with_rotors
from ..agreement import assert_close, refuses
from ..arms import random_arm
from ..dynamics.trees import random_tree_of_rows

# Measured: 3e-13 on the random arms, whose torques reach 500 N m.
RTOL = 1e-11
TILTED = (1.0, -2.0, -9.0)
ARMS = arms()
FEW = ('fer', 'scemi (parallel axes)', 'skew twists', 'right angles, standard')
# Derivatives and forward dynamics are compared in test_generated_code and test_batch_model.
FIRST = Quantity.INVERSE_DYNAMICS
OTHERS = (Quantity.GRAVITY, Quantity.CORIOLIS, Quantity.MASS_MATRIX)
CASES = [
    *((name, FIRST, ParameterMode.BAKED) for name in ARMS),
    *((name, quantity, ParameterMode.BAKED) for name in FEW for quantity in OTHERS),
    *((name, FIRST, ParameterMode.RUN_TIME) for name in FEW),
    *(('stanford (prismatic)', each, ParameterMode.RUN_TIME) for each in (FIRST, *OTHERS)),
]


@pytest.mark.parametrize(('name', 'quantity', 'parameters'), CASES)
def test_the_equations_of_an_arm_give_pinocchios_quantities(name, quantity, parameters):
    description = ARMS[name]
    equations = fd.customised_equations(description, quantity, TILTED, parameters=parameters)
    functions = runnable(equations)
    prepared = ()
    if parameters is ParameterMode.RUN_TIME:
        prepared = (np.empty(len(equations.program.prepared_names)),)
        functions[f'prepare_{quantity.value}'](standard_parameters(description, TILTED), *prepared)
    model = fd.Model(description, TILTED)
    for state in zip(*fd.sample_states(description, 5, seed=0)):
        arrays = dict(zip(('q', 'dq', 'ddq'), state))
        inputs = [arrays[array] for array in equations.program.inputs]
        reference = getattr(model, quantity.value)(*inputs)
        out = np.full_like(reference, np.nan)
        functions[quantity.value](*inputs, *prepared, out)
        assert_close(out, reference, RTOL)


def point_mass_on_last_axis(arm):
    # In the last link's frame the last joint's axis is z of modified rows; standard rows have
    # their z axis one step Tx(a) Rx(alpha) before.
    row = arm.joints[-1].row
    along = 0.13
    center = (0.0, 0.0, along)
    if arm.convention is Convention.STANDARD:
        center = (-row.a, along * np.sin(row.alpha), along * np.cos(row.alpha))
    return fd.LinkInertia.from_center_of_mass(0.7, center, np.zeros(6))


TURNING = (JointKind.REVOLUTE,)
RANDOM = [random_arm(np.random.default_rng(seed), joints=4, kinds=TURNING) for seed in range(12)]


@pytest.mark.parametrize('arm', [*map(fd.load, ('rpr', 'fer', 'scemi', 'stanford')), *RANDOM])
def test_forward_dynamics_without_inertia_is_refused(arm):
    # Of a point mass, rounding makes the inertia about its axis 1e-34 to 1e-17 kg m^2.
    q = fd.sample_states(arm, 1, seed=1).q[0]
    still = np.zeros(arm.n)
    massless = fd.LinkInertia.zero()
    joints = tuple(replace(joint, rotor_inertia=0.0) for joint in arm.joints)
    for kind in (fd.Model, fd.NewtonEulerModel, fd.ExponentialsModel, fd.BatchModel):
        for tip in (massless, point_mass_on_last_axis(arm)):
            # Without any mass, code is not even generated, and the joint is known.
            named = arm.joint_names[-1] if kind is fd.BatchModel and tip is massless else ''
            weightless = kind(replace(arm, links=(*arm.links[:-1], tip), joints=joints))
            with refuses(InertiaError, named, 'no mass'):
                weightless.forward_dynamics(q, still, still)
        kind(arm).forward_dynamics(q, still, still)


@pytest.mark.parametrize('name', fd.available_arms())
def test_mass_matrices_of_shipped_arms_are_far_from_singular(name):
    arm = fd.load(name)
    arm = replace(arm, joints=tuple(replace(one, rotor_inertia=0.0) for one in arm.joints))
    mass = fd.Model(arm).mass_matrix(fd.sample_states(arm, 1000).q)
    both = mass, np.linalg.inv(mass)
    largest, reciprocal = (np.einsum('...ii->...i', x).max(-1) for x in both)
    assert np.all(1.0 / reciprocal > 1e6 * MIN_FREE_TO_MAX_INERTIA * largest)


@pytest.mark.parametrize('name', ['fer', 'rpr (standard rows)', 'skew twists', 'two joints'])
def test_a_wrench_at_the_flange_acts_as_in_the_model(name):
    description = ARMS[name]
    rng = np.random.default_rng(3)
    function = runnable(fd.customised_equations(description, gravity=TILTED, wrench=True))
    model = fd.Model(description, TILTED)
    for q, dq, ddq in zip(*fd.sample_states(description, 3, seed=0)):
        wrench = rng.uniform(-20.0, 20.0, 6)
        out = np.empty(description.n)
        function['inverse_dynamics'](q, dq, ddq, wrench, out)
        assert_close(out, model.inverse_dynamics(q, dq, ddq, wrench=wrench), RTOL)


@pytest.mark.parametrize('seed', [1, 4])
def test_a_trees_wrench_acts_on_the_body_that_carries_the_tool(seed):
    tree = random_tree_of_rows(seed)
    rng = np.random.default_rng(seed)
    q, dq, ddq = rng.uniform(-2.0, 2.0, (3, tree.n))
    wrench = rng.uniform(-5.0, 5.0, 6)
    out = np.empty(tree.n)
    for body in range(tree.n):
        carrying = replace(tree, tool_body=body)
        # The tree's recursion has its wrench in the tool's axes.
        tool = (carrying.poses(q)[body] @ carrying.tool_pose)[:3, :3]
        in_tool_axes = np.concatenate([part @ tool for part in np.split(wrench, 2)])
        acts = {'gravity': TILTED, 'tool_wrench': in_tool_axes}
        reference = fd.tree_motion(carrying, q, dq, ddq, **acts).tau
        function = runnable(fd.customised_equations(carrying, gravity=TILTED, wrench=True))
        function['inverse_dynamics'](q, dq, ddq, wrench, out)
        assert_close(out, reference, RTOL)


@pytest.mark.parametrize('quantity', [one for one in Quantity if one is not FIRST])
def test_a_wrench_or_columns_of_a_quantity_without_are_refused(quantity):
    for wrong in ({'wrench': True}, {'columns': [0]})[: 2 - (quantity is Quantity.REGRESSOR)]:
        with refuses(SettingsError, quantity.value):
            fd.customised_equations(fd.load('rpr'), quantity, **wrong)


@pytest.mark.parametrize('option', [{'frame': 3}, {'reference_frame': 'LOCAL'}])
@pytest.mark.parametrize('quantity', ['gravity', 'inverse_dynamics', 'frames'])
def test_a_frame_of_a_quantity_without_is_refused(quantity, option):
    with refuses(SettingsError, quantity, *option):
        fd.customised_equations('rpr', quantity, **option)


@pytest.mark.parametrize('name', ['quantity', 'parameters'])
@pytest.mark.parametrize('word', ['runtime', None])
def test_an_unknown_quantity_or_kind_of_parameters_is_refused(name, word):
    with refuses(SettingsError, f'{name} is {word!r}'):
        fd.customised_equations('rpr', **{name: word})


@pytest.mark.parametrize('write', [c_header, python_module])
@pytest.mark.parametrize('listed', [[], fd.load('rpr'), 'rpr', [fd.load('rpr')]])
def test_a_file_of_no_equations_is_refused(listed, write):
    with pytest.raises(OutputError):
        write(listed)


LOAD = fd.LinkInertia.from_center_of_mass(3.0, np.zeros(3), np.zeros(6))
LOADED = fd.load('rpr').with_payload(LOAD)


@pytest.mark.parametrize('write', [c_header, python_module])
@pytest.mark.parametrize(
    ('arm', 'options', 'names'),
    [
        ('scemi', {}, ['rpr and scemi']),
        ('rpr', {'gravity': TILTED}, ['gravity', '-9.81', '-9.0']),
        (LOADED, {}, ['inertias']),
        (
            'rpr',
            {'quantity': 'coriolis', 'parameters': 'run_time'},
            ['baked and run_time'],
        ),
    ],
)
def test_equations_that_differ_in_more_than_quantity_are_refused(arm, options, names, write):
    mixed = [
        fd.customised_equations('rpr', 'gravity'),
        fd.customised_equations(arm, **options),
    ]
    with refuses(OutputError, *names):
        write(mixed)


RPR = fd.load('rpr')
# Another arm of the same name, whose inertias are those of the first.
LONGER = replace(RPR, flange=DHRow(d=0.1))


@pytest.mark.parametrize('write', [c_header, python_module])
@pytest.mark.parametrize(
    'arms', [(RPR, LONGER), tuple(map(BodyTree.from_description, (RPR, LONGER)))]
)
@pytest.mark.parametrize('parameters', ParameterMode)
def test_two_arms_of_one_name_are_refused_in_one_file(arms, parameters, write):
    mixed = [
        fd.customised_equations(arms[0], 'gravity', parameters=parameters),
        fd.customised_equations(arms[1], 'flange_pose', parameters=parameters),
    ]
    with refuses(OutputError, 'geometry'):
        write(mixed)


@pytest.mark.parametrize(
    ('quantity', 'options', 'said'),
    [
        ('jacobian', {'reference_frame': 'LOCAL'}, 'LOCAL'),
        ('jacobian', {'reference_frame': 'WORLD'}, 'WORLD'),
        ('regressor', {'columns': [3, 5]}, 'columns 3, 5'),
    ],
)
def test_the_comment_says_which_jacobian_or_columns_it_is(quantity, options, said):
    assert said in c_header([fd.customised_equations('rpr', quantity, **options)])


@pytest.mark.parametrize('name', ['scemi', 'stanford', 'rpr'])
def test_classical_parameters_give_the_models_torques(name):
    # With classical=True parameters are not regrouped; the torque is the same.
    arm = with_rotors(fd.load(name))
    inverse_dynamics = runnable(fd.customised_equations(arm, classical=True))['inverse_dynamics']
    for q, dq, ddq in np.random.default_rng(0).normal(size=(5, 3, arm.n)):
        tau = np.empty(arm.n)
        inverse_dynamics(q, dq, ddq, tau)
        assert_close(tau, fd.NewtonEulerModel(arm).inverse_dynamics(q, dq, ddq))


PAGE = (Path(__file__).parents[2] / 'docs' / 'theory' / 'codegen.md').read_text('utf-8')
# Table 1 of Gautier and Khalil 1990 and this generator's counts stand on the page. The general
# robot has the table's formulas at n = 6 (the printed 477 is two less than they give). The table
# does not say how gravity lies, so that robot stands once for any direction and once for that of
# axis 1. In the general case of the other arms no inertial parameter is zero; simplified arms have
# diagonal tensors, one first moment a link, motor inertias and a terminal wrench.
COLUMNS = [(kind, classical) for kind in ('chosen', 'simplified') for classical in (True, False)]
ROW = r'^\| (.*6R.*?|stanford|scemi) ' + 4 * r'\| (.*?)' + r'\|$'
TABLE_1 = [
    (robot, *column, *map(int, counts))
    for robot, *cells in re.findall(ROW, PAGE, re.M)
    for column, cell in zip(COLUMNS, cells)
    for counts in re.findall(r'(\d+)/(\d+)(?: ¹)?, here (\d+)/(\d+)', cell)
]


assert len(TABLE_1) == 12


@pytest.mark.parametrize(('robot', 'inertia', 'classical', *'abcd'), TABLE_1)
def test_counts_are_as_documented_and_in_sum_below_printed(robot, inertia, classical, a, b, c, d):
    arm = table_arm(robot, inertia)
    if inertia == 'simplified':
        program = with_wrench_on_the_last_link(arm, classical)
    else:
        program = fd.customised_equations(arm, classical=classical).program
    assert fd.operation_count(program) == (c, d) and c + d < a + b


def with_wrench_on_the_last_link(arm, classical):
    """Return inverse dynamics with a wrench as the table has it, about the last link's origin."""
    graph = Graph()
    chain = chains.build_chain(arm, np.array([0.0, 0.0, -9.81]))
    if not classical:
        moved = chains.with_origins_nearest_parent(chain)
        np.testing.assert_array_equal(moved.tip_pose, chain.tip_pose)  # it is that origin still
        chain = chains.regroup_parameters(moved)
    q, dq, ddq, force, moment = (
        np.array([graph.variable(f'{array}{i + 1}') for i in range(size)])
        for array, size in (('q', 6), ('dq', 6), ('ddq', 6), ('f', 3), ('m', 3))
    )
    torques = inverse_dynamics(graph, chain, JointInputs(q, dq, ddq, (force, moment)))
    outputs = [OutputValue(((i,),), torque) for i, torque in enumerate(torques)]
    return Program(graph, outputs, ('q', 'dq', 'ddq', 'f', 'm'))


def table_arm(robot, inertia):
    """Return an arm of the table, with a rotor behind every joint where it has them."""
    if robot in ('stanford', 'scemi'):
        arm = fd.load(robot, inertia)
        return with_rotors(arm) if inertia == 'simplified' else arm
    rng = np.random.default_rng(0)
    kinds = (JointKind.REVOLUTE,)
    arm = random_arm(rng, joints=6, convention=Convention.MODIFIED, kinds=kinds)
    joints = [replace(joint, rotor_inertia=0.0) for joint in arm.joints]
    if robot == 'any 6R, g along axis 1':
        joints[0] = replace(joints[0], row=DHRow())
        arm = replace(arm, base=np.eye(4))
    return replace(arm, joints=tuple(joints))


# The columns of the page's table of the FER.
COUNTED = 'inverse_dynamics gravity coriolis mass_matrix derivatives forward_dynamics '
COUNTED += 'coriolis_matrix'


@pytest.mark.parametrize('parameters', ParameterMode)
def test_the_fer_takes_as_many_operations_as_documented(parameters):
    kind = 'baked' if parameters is ParameterMode.BAKED else 'param'
    row = re.search(rf'^\| fer: {kind}.*', PAGE, re.M)
    documented = [(int(a), int(b)) for a, b in re.findall(r'(\d+)/(\d+)', row[0])]
    given = {'description': fd.load('fer'), 'parameters': parameters}
    counted = (fd.customised_equations(quantity=one, **given) for one in COUNTED.split())
    assert [fd.operation_count(one.program) for one in counted] == documented


@pytest.mark.parametrize('quantity', Quantity)
def test_counts_are_of_the_operators_that_python_reads(quantity):
    equations = fd.customised_equations(fd.load('scemi'), quantity)
    kinds = Counter()
    for node in ast.walk(ast.parse(python_function(equations))):
        if isinstance(node, ast.BinOp):
            kinds[type(node.op)] += 1
        elif isinstance(node, ast.UnaryOp):
            kinds[ast.USub] += not isinstance(node.operand, ast.Constant)
    additions = kinds[ast.Add] + kinds[ast.Sub] + kinds[ast.USub]
    assert fd.operation_count(equations.program) == (kinds[ast.Mult], additions)
    assert set(kinds) <= {ast.Add, ast.Sub, ast.Mult, ast.Div, ast.USub}
