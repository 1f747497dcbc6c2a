# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Generated equations against Pinocchio, for every quantity, arm and kind of parameters."""

from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.arm import available_arms, Convention, JointKind, LinkInertia, load
from franka_dynamics.batch.batch_model import BatchModel
from franka_dynamics.codegen.c_code import c_header
from franka_dynamics.codegen.equations import customised_equations, ParameterMode, Quantity
from franka_dynamics.codegen.python_code import python_module
from franka_dynamics.dynamics.derivatives import tree_motion
from franka_dynamics.dynamics.model import MIN_FREE_INERTIA_RATIO
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.dynamics.product_of_exponentials import ExponentialsModel
from franka_dynamics.dynamics.sampling import sample_states
from franka_dynamics.errors import InertiaError, OutputError, SettingsError

from .arms import arms, runnable, standard_parameters, with_rotors
from ..agreement import assert_close, refuses
from ..arms import random_arm
from ..identification.trees import random_tree_of_rows

# Measured: 3e-13 on the random arms, whose torques reach 500 N m.
RTOL = 1e-11
TILTED = (1.0, -2.0, -9.0)
ARMS = arms()
FEW = ('fer', 'scemi (parallel axes)', 'skew twists', 'right angles, standard')
# Derivatives and forward dynamics are compared in test_c_code and test_batch_model.
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
    equations = customised_equations(description, quantity, TILTED, parameters=parameters)
    functions = runnable(equations)
    prepared = ()
    if parameters is ParameterMode.RUN_TIME:
        prepared = (np.empty(len(equations.program.prepared)),)
        functions[f'prepare_{quantity.value}'](standard_parameters(description, TILTED), *prepared)
    model = PinocchioModel(description, TILTED)
    for state in zip(*sample_states(description, 5, seed=0)):
        arrays = dict(zip(('q', 'dq', 'ddq'), state))
        inputs = [arrays[array] for array in equations.program.inputs]
        reference = getattr(model, quantity.value)(*inputs)
        out = np.full_like(reference, np.nan)
        functions[quantity.value](*inputs, *prepared, out)
        assert_close(out, reference, RTOL)


def point_mass_on_last_axis(arm):
    # In the last link's frame the last joint's axis is z of modified rows; standard rows have
    # their z axis one step Tx(a) Rx(alpha) before.
    row, along = arm.joints[-1].row, 0.13
    center = (0.0, 0.0, along)
    if arm.convention is Convention.STANDARD:
        center = (-row.a, along * np.sin(row.alpha), along * np.cos(row.alpha))
    return LinkInertia.from_center_of_mass(0.7, center, np.zeros(6))


TURNING = (JointKind.REVOLUTE,)
RANDOM = [random_arm(np.random.default_rng(seed), joints=4, kinds=TURNING) for seed in range(12)]


@pytest.mark.parametrize('arm', [*map(load, ('rpr', 'fer', 'scemi', 'stanford')), *RANDOM])
def test_forward_dynamics_of_a_joint_that_moves_no_inertia_is_refused(arm):
    # Of a point mass, rounding makes the inertia about its axis 1e-34 to 1e-17 kg m^2.
    q = sample_states(arm, 1, seed=1).q[0]
    still = np.zeros(arm.n)
    massless = LinkInertia.zero()
    joints = tuple(replace(joint, rotor_inertia=0.0) for joint in arm.joints)
    for kind in (PinocchioModel, NewtonEulerModel, ExponentialsModel, BatchModel):
        for tip in (massless, point_mass_on_last_axis(arm)):
            # Without any mass, code is not even generated, and the joint is known.
            named = arm.joint_names[-1] if kind is BatchModel and tip is massless else ''
            weightless = kind(replace(arm, links=(*arm.links[:-1], tip), joints=joints))
            with refuses(InertiaError, named, 'no mass'):
                weightless.forward_dynamics(q, still, still)
        kind(arm).forward_dynamics(q, still, still)


@pytest.mark.parametrize('name', available_arms())
def test_the_mass_matrices_of_the_shipped_arms_are_far_from_singular(name):
    arm = load(name)
    arm = replace(arm, joints=tuple(replace(one, rotor_inertia=0.0) for one in arm.joints))
    mass = PinocchioModel(arm).mass_matrix(sample_states(arm, 1000).q)
    free = 1.0 / np.diagonal(np.linalg.inv(mass), axis1=-2, axis2=-1).max(axis=-1)
    assert np.all(
        free > 1e6 * MIN_FREE_INERTIA_RATIO * np.diagonal(mass, axis1=-2, axis2=-1).max(axis=-1)
    )


@pytest.mark.parametrize('name', ['fer', 'rpr (standard rows)', 'skew twists', 'two joints'])
def test_a_wrench_acts_on_the_flange_in_space_axes_as_on_the_models(name):
    description, rng = ARMS[name], np.random.default_rng(3)
    function = runnable(customised_equations(description, gravity=TILTED, wrench=True))
    model = PinocchioModel(description, TILTED)
    for q, dq, ddq in zip(*sample_states(description, 3, seed=0)):
        wrench, out = rng.uniform(-20.0, 20.0, 6), np.empty(description.n)
        function['inverse_dynamics'](q, dq, ddq, wrench, out)
        assert_close(out, model.inverse_dynamics(q, dq, ddq, wrench=wrench), RTOL)


@pytest.mark.parametrize('seed', [1, 4])
def test_a_trees_wrench_acts_on_the_body_that_carries_the_tool(seed):
    tree, rng = random_tree_of_rows(seed), np.random.default_rng(seed)
    q, dq, ddq = rng.uniform(-2.0, 2.0, (3, tree.n))
    wrench, out = rng.uniform(-5.0, 5.0, 6), np.empty(tree.n)
    for body in range(tree.n):
        carrying = replace(tree, tool_body=body)
        # The tree's recursion has its wrench in the tool's axes.
        tool = (carrying.poses(q)[body] @ carrying.tool)[:3, :3]
        in_tool_axes = np.concatenate([part @ tool for part in np.split(wrench, 2)])
        reference = tree_motion(carrying, q, dq, ddq, gravity=TILTED, tool_wrench=in_tool_axes).tau
        function = runnable(customised_equations(carrying, gravity=TILTED, wrench=True))
        function['inverse_dynamics'](q, dq, ddq, wrench, out)
        assert_close(out, reference, RTOL)


@pytest.mark.parametrize('quantity', [one for one in Quantity if one is not FIRST])
def test_a_wrench_on_anything_but_inverse_dynamics_is_refused(quantity):
    with refuses(SettingsError, quantity.value):
        customised_equations(load('rpr'), quantity, wrench=True)


@pytest.mark.parametrize('name', ['quantity', 'parameters'])
@pytest.mark.parametrize('word', ['runtime', None])
def test_an_unknown_quantity_or_kind_of_parameters_is_refused(name, word):
    with refuses(SettingsError, f'{name} is {word!r}'):
        customised_equations('rpr', **{name: word})


@pytest.mark.parametrize('write', [c_header, python_module])
@pytest.mark.parametrize('listed', [[], load('rpr'), 'rpr', [load('rpr')]])
def test_a_file_of_no_equations_is_refused(listed, write):
    with pytest.raises(OutputError):
        write(listed)


LOAD = LinkInertia.from_center_of_mass(3.0, np.zeros(3), np.zeros(6))
LOADED = load('rpr').with_payload(LOAD)


@pytest.mark.parametrize('write', [c_header, python_module])
@pytest.mark.parametrize(
    ('arm', 'options', 'names'),
    [
        ('scemi', {}, ['rpr and scemi']),
        ('rpr', {'gravity': TILTED}, ['gravity', '-9.81', '-9.0']),
        (LOADED, {}, ['inertias']),
        ('rpr', {'quantity': 'coriolis', 'parameters': 'run_time'}, ['baked and run_time']),
    ],
)
def test_a_file_of_equations_that_differ_in_more_than_quantity_is_refused(
    arm, options, names, write
):
    mixed = [customised_equations('rpr', 'gravity'), customised_equations(arm, **options)]
    with refuses(OutputError, *names):
        write(mixed)


@pytest.mark.parametrize('name', ['scemi', 'stanford', 'rpr'])
def test_classical_parameters_give_the_models_torques(name):
    # With classical=True parameters are not regrouped; the torque is the same.
    arm = with_rotors(load(name))
    inverse_dynamics = runnable(customised_equations(arm, classical=True))['inverse_dynamics']
    for q, dq, ddq in np.random.default_rng(0).normal(size=(5, 3, arm.n)):
        tau = np.empty(arm.n)
        inverse_dynamics(q, dq, ddq, tau)
        assert_close(tau, NewtonEulerModel(arm).inverse_dynamics(q, dq, ddq))
