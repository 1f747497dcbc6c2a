# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""All formulations: their interface, torques linear in the parameters, and MuJoCo as an oracle."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
import pickle
import sys

import mujoco
import numpy as np
import pinocchio as pin
import pytest
import yaml

import franka_dynamics as fd
from franka_dynamics.arm import Convention, JointKind, LinkInertia, load
from franka_dynamics.dynamics import regressor
from franka_dynamics.dynamics.model import GRAVITY
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.dynamics.pinocchio_builder import build_pinocchio_model
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.dynamics.product_of_exponentials import ExponentialsModel
from franka_dynamics.dynamics.regressor import with_parameter_vector
from franka_dynamics.dynamics.sampling import sample_states
from franka_dynamics.errors import (
    BaseParameterError,
    FrameError,
    InertiaError,
    JointVectorError,
)
from franka_dynamics.validation.crosscheck import COMPARED_QUANTITIES, FORMULATIONS

from . import lagrangian
from ..agreement import assert_near, refuses
from ..arms import make_random_arm, of_points, random_arm

FER = fd.load('fer')
# Stacked sums are in another order than single ones: rounding, of values up to 100.
ATOL = 1e-12
SHAPE = (2, 3)
STATES = [values.reshape(*SHAPE, 7) for values in fd.sample_states(FER, 6, 0)]
each_quantity = pytest.mark.parametrize('quantity', COMPARED_QUANTITIES, ids=attrgetter('name'))


@pytest.fixture(params=FORMULATIONS)
def model(request):
    return FORMULATIONS[request.param](FER, GRAVITY)


@each_quantity
def test_a_stack_gives_what_its_states_give(model, quantity):
    method = getattr(model, quantity.name)
    inputs = STATES[: quantity.input_count]
    stacked = method(*inputs)
    assert stacked.shape[:2] == SHAPE
    for at in np.ndindex(SHAPE):
        # Scale: accelerations of light wrists reach thousands.
        single = method(*(values[at] for values in inputs))
        np.testing.assert_allclose(stacked[at], single, rtol=1e-11, atol=ATOL)


def test_wrenches_lists_and_single_states_broadcast():
    model, wrench, (q, dq, ddq) = fd.Model(FER), np.arange(6.0), STATES
    first = q[0, 0]
    loaded = model.inverse_dynamics(q, dq, ddq=ddq, wrench=wrench)
    np.testing.assert_array_equal(model.inverse_dynamics(q, dq, ddq, wrench), loaded)
    jacobians = model.jacobian(q, 3, reference_frame='LOCAL')
    for at in np.ndindex(SHAPE):
        for found, expected in (
            (loaded[at], model.inverse_dynamics(q[at], dq[at], ddq[at], wrench)),
            (model.coriolis(first, dq)[at], model.coriolis(first, dq[at])),
            (jacobians[at], model.jacobian(q[at], 3, 'LOCAL')),
        ):
            np.testing.assert_allclose(found, expected, rtol=0.0, atol=ATOL)
    np.testing.assert_array_equal(model.gravity(first.tolist()), model.gravity(first))


def test_an_empty_stack_gives_an_empty_result():
    model = fd.Model(FER)
    assert model.mass_matrix(np.empty((0, 7))).shape == (0, 7, 7)
    assert model.kinetic_energy(np.empty((0, 7)), np.zeros(7)).shape == (0,)


@pytest.mark.parametrize(
    'quantity',
    [one for one in COMPARED_QUANTITIES if one.input_count > 1],
    ids=attrgetter('name'),
)
def test_stacks_that_do_not_broadcast_are_refused(model, quantity):
    states = [np.zeros((rows, 7)) for rows in (2, 3, 3)[: quantity.input_count]]
    with refuses(JointVectorError, 'q (2, 7), dq (3, 7)'):
        getattr(model, quantity.name)(*states)


def test_many_wrenches_act_on_one_state_and_must_broadcast(model):
    q = FER.home
    still = np.zeros(7)
    wrenches = np.arange(12.0).reshape(2, 6)
    loaded = model.inverse_dynamics(q, still, still, wrenches)
    expected = [model.inverse_dynamics(q, still, still, wrench) for wrench in wrenches]
    np.testing.assert_allclose(loaded, expected, rtol=0.0, atol=ATOL)
    for method in (model.inverse_dynamics, model.forward_dynamics):
        with refuses(JointVectorError, 'wrench (2, 6)'):
            method(np.zeros((3, 7)), still, still, wrenches)


def test_a_link_with_a_first_moment_but_no_mass_is_computed():
    nothing = fd.LinkInertia.zero()
    link = fd.LinkInertia(0.0, (0.1, 0.2, 0.3), np.eye(3))

    def gravity(*links):
        return fd.NewtonEulerModel(replace(FER, links=links)).gravity(FER.home)

    # Torques are linear in the parameters: the link's share is the torque of that link alone.
    alone = gravity(*[nothing] * 6, link)
    rest = gravity(*FER.links[:-1], nothing)
    assert np.abs(alone).max() > 0.1
    np.testing.assert_allclose(gravity(*FER.links[:-1], link), alone + rest, rtol=0.0, atol=1e-13)


FOURTH = np.where(np.arange(7) == 3, [[0.0], [1.0]], 0.0)


@pytest.mark.parametrize(
    ('q', 'dq', 'names'),
    [
        (np.zeros(6), np.zeros(7), ['q', '(6,)', '(..., 7)', 'fer_joint1, fer_']),
        *(
            (given, np.zeros(7), ['q', 'numbers', 'fer_joint1, fer_'])
            for given in (['a'] * 7, [None, 'b'], [[0.0] * 7, [0.0]], {})
        ),
        *(
            (given, np.zeros(7), ['q', kind, 'fer_joint1, fer_'])
            for given, kind in (
                (np.zeros(7) + 1e-30j, 'complex'),
                (['0.1'] * 7, 'text'),
                ([None] * 7, 'no numbers'),
                ([True] * 7, 'truth values'),
                ([10**400] * 7, 'no numbers'),
                (np.zeros(7, 'datetime64[s]'), 'dates'),
                (np.ma.masked_less(np.zeros(7), 1.0), 'masked'),
            )
        ),
        *((None, dq, ['q ']) for dq in (None, np.zeros(7))),
        (np.zeros(7), None, ['dq ']),
    ],
)
def test_joint_vectors_at_fault_are_refused_with_their_joints(model, q, dq, names):
    with refuses(JointVectorError, *names):
        model.coriolis(q, dq)


@each_quantity
@pytest.mark.parametrize('bad', [np.nan, np.inf])
def test_a_state_that_is_not_finite_gives_nan_alone(model, quantity, bad):
    method = getattr(model, quantity.name)
    whole = method(*STATES[: quantity.input_count])
    for at in range(quantity.input_count):
        states = [one.copy() for one in STATES[: quantity.input_count]]
        states[at][1, 2, 3] = bad
        found = method(*states)
        assert np.isnan(found[1, 2]).all()
        assert_near(found[0], whole[0], ATOL)
        assert_near(found[1, :2], whole[1, :2], ATOL)
        assert np.isnan(method(*(one[1, 2] for one in states))).all()


@pytest.mark.parametrize('name', FORMULATIONS)
def test_a_wrench_that_is_not_finite_gives_nan_alone(name):
    states = fd.sample_states(FER, 3, 0)
    wrenches = np.zeros((3, 6))
    wrenches[1, 2] = np.nan
    model = FORMULATIONS[name](FER, GRAVITY)
    for method in (model.inverse_dynamics, model.forward_dynamics):
        found = method(*states, wrenches)
        assert (np.isnan(found) == [[False], [True], [False]]).all()


def test_a_quantity_without_a_value_at_zero_is_nan_where_a_state_is_not_finite():
    assert np.isnan(fd.Model(FER).operational_space_inertia(np.full(7, np.nan))).all()


@pytest.mark.parametrize(
    'states',
    [
        (np.zeros(6),),
        (np.zeros((7, 2)),),
        (['a'] * 7,),
        (None,),
        (np.zeros(7, complex),),
        ([[0.0] * 7, [0.0] * 6],),
        (np.ma.masked_less(np.zeros(7), 1.0),),
        (np.zeros((2, 7)), np.zeros((3, 7)), np.zeros(7)),
        (np.zeros(7), np.zeros(7), np.zeros(7), np.zeros(5)),
        (np.zeros(7), np.zeros(7), np.zeros(7), ['a'] * 6),
    ],
)
def test_every_model_refuses_in_the_same_words(states):
    said = set()
    for kind in (*FORMULATIONS.values(), fd.BatchModel):
        one = kind(FER, GRAVITY)
        with pytest.raises(JointVectorError) as refusal:
            (one.inverse_dynamics if len(states) > 1 else one.gravity)(*states)
        said.add(str(refusal.value))
    assert len(said) == 1, said


@pytest.mark.parametrize(
    ('frame', 'choices'),
    [
        *(((one,), '1..7 (joints) and 8 (flange)') for one in (0, True, 'hand')),
        ((1, 'BODY'), 'LOCAL'),
    ],
)
def test_an_unknown_frame_lists_the_choices(frame, choices):
    with refuses(FrameError, choices):
        fd.NewtonEulerModel(FER).jacobian(np.zeros(7), *frame)


@each_quantity
def test_a_result_is_not_changed_by_the_next_call(quantity):
    # Pinocchio's own arrays are views of its workspace; the caller must own what it gets.
    first, second = zip(*fd.sample_states(FER, 2, 13)[: quantity.input_count])
    method = getattr(fd.Model(FER), quantity.name)
    result = method(*first)
    kept = result.copy()
    assert np.abs(method(*second) - kept).max() > 1e-6
    np.testing.assert_array_equal(result, kept)


def test_the_pinocchio_model_holds_limits_rotors_and_joint_names():
    joints = (replace(joint, rotor_inertia=0.1 * i) for i, joint in enumerate(FER.joints))
    model = build_pinocchio_model(replace(FER, joints=tuple(joints)))
    found = (model.lowerPositionLimit, model.upperPositionLimit, model.velocityLimit)
    expected = [FER.limit(name) for name in ('lower', 'upper', 'velocity', 'effort')]
    np.testing.assert_array_equal((*found, model.effortLimit), expected)
    np.testing.assert_array_equal(model.armature, 0.1 * np.arange(7))
    assert tuple(model.names)[1:] == FER.joint_names


def test_threads_that_share_a_model_read_their_own_poses_alone():
    model = fd.Model(FER)
    poses = (FER.home, 0.5 * FER.home)
    expected = [model.frames(q) for q in poses]

    def follow(k):
        return all(np.array_equal(model.frames(poses[k]), expected[k]) for _ in range(5000))

    interval = sys.getswitchinterval()
    # So short that threads switch between a call of Pinocchio and the reading of its result.
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(2) as threads:
            assert all(threads.map(follow, range(2)))
    finally:
        sys.setswitchinterval(interval)


def test_a_pickled_model_computes_alike():
    model = pickle.loads(pickle.dumps(fd.Model(FER)))
    np.testing.assert_array_equal(model.frames(FER.home), fd.Model(FER).frames(FER.home))


# Pinocchio's order is m, hx, hy, hz, xx, xy, yy, xz, yz, zz.
OURS = [4, 5, 7, 6, 8, 9, 1, 2, 3, 0]
# Entries reach 90 (squared velocities, accelerations of 20 rad/s^2); measured 2.1e-14.
ATOL_COLUMN = 1e-12


@pytest.mark.parametrize('name', ['fer', 'fr3'])
def test_regressor_columns_of_a_franka_arm_equal_pinocchios(name):
    description = fd.load(name)
    states = fd.sample_states(description, 20, seed=1)
    actual = fd.torque_regressor(description, *states).reshape(20, 7, 7, 10)
    model = fd.Model(description).model
    data = model.createData()
    expected = [pin.computeJointTorqueRegressor(model, data, *state) for state in zip(*states)]
    expected = np.reshape(expected, (20, 7, 7, 10))[..., OURS]
    np.testing.assert_allclose(actual, expected, rtol=0.0, atol=ATOL_COLUMN)


@pytest.mark.parametrize('convention', Convention)
@pytest.mark.parametrize('seed', range(12))
def test_the_regressor_of_a_drawn_arm_equals_the_recursion(seed, convention):
    # Given an arm of 1 to 8 joints that turn or slide, on a turned base, under a drawn gravity.
    rng = np.random.default_rng(seed)
    arm = random_arm(rng, convention=convention)
    gravity = rng.uniform(-10.0, 10.0, 3)
    states = sample_states(arm, 6, seed)
    columns = rng.permutation(10 * arm.n)[:7].tolist()
    # When Pinocchio computes the regressor and moves its columns to the links' frames.
    model = PinocchioModel(arm, gravity)
    actual = model.regressor(*states)
    # Then it is that of a recursion which does not use Pinocchio.
    expected = fd.torque_regressor(arm, *states, gravity)
    largest = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(actual, expected, rtol=0.0, atol=1e-12 * largest)
    np.testing.assert_array_equal(model.regressor(*states, columns=columns), actual[..., columns])


def test_a_regressor_in_blocks_equals_that_of_single_states(
    monkeypatch,
):
    monkeypatch.setattr(regressor, 'STATES_PER_BLOCK', 4)
    description = fd.load('fer')
    columns = (69, 5, 18)
    states = fd.sample_states(description, 10, 0)
    whole = fd.torque_regressor(description, *states)
    single = [fd.torque_regressor(description, *state) for state in zip(*states)]
    np.testing.assert_allclose(whole, single, rtol=0.0, atol=ATOL_COLUMN)
    chosen = fd.torque_regressor(description, *states, columns=columns)
    np.testing.assert_array_equal(chosen, whole[..., columns])


def test_a_missing_column_is_told_what_may_have_it():
    arm = fd.load('fer')
    state = np.zeros((3, 7))
    with refuses(BaseParameterError, '69', 'rotor_inertia=True'):
        fd.torque_regressor(arm, *state, columns=[70])
    with refuses(BaseParameterError, '69') as refusal:
        fd.Model(arm).regressor(*state, columns=[70])
    assert 'rotor_inertia' not in str(refusal.value)


def test_an_arm_is_rebuilt_from_its_vector_with_links_and_rotors():
    arm = make_random_arm(4, n=3, rotors=True)
    other = make_random_arm(5, n=3)
    other = with_parameter_vector(other, fd.parameter_vector(arm, rotor_inertia=True))
    assert other.links == arm.links
    assert [j.rotor_inertia for j in other.joints] == [j.rotor_inertia for j in arm.joints]


def test_a_bad_arm_vector_is_refused_by_name():
    for length, place in ((69, 68), (70, 13)):
        vector = np.where(np.arange(length) == place, np.nan, 0.0)
        with refuses(InertiaError, 'fer', '(69,)' if length == 69 else 'nan at [13]'):
            with_parameter_vector(fd.load('fer'), vector)


def test_names_are_those_of_a_number_of_links_or_of_an_arm():
    names = fd.parameter_names(fd.load('rpr'))
    assert names == fd.parameter_names(3) == fd.parameter_names(np.int64(3))
    assert len(fd.parameter_names(fd.load('rpr'), rotor_inertia=True)) == 33


ATOL_TENSOR = 1e-13  # near 10 kg m^2


@pytest.mark.parametrize('name', ['fer', 'fr3', 'rpr'])
def test_space_tensors_are_those_of_the_moved_point_masses(name):
    rng = np.random.default_rng(0)
    arm = fd.load(name, hand='none')
    clouds = [(rng.uniform(0.1, 1.0, 6), rng.uniform(-0.3, 0.3, (6, 3))) for _ in arm.links]
    arm = replace(arm, links=tuple(of_points(*cloud) for cloud in clouds))
    q = rng.uniform(-1.5, 1.5, arm.n)
    poses = fd.Model(arm).frames(q)
    for link, (masses, points), pose in zip(fd.space_inertias(arm, q), clouds, poses):
        moved = points @ pose[:3, :3].T + pose[:3, 3]
        center = masses @ moved / masses.sum()
        for actual, expected in (
            (link.mass, masses.sum()),
            (link.center_of_mass, center),
            (link.about_frame_origin, of_points(masses, moved - pose[:3, 3]).inertia),
            (link.about_center_of_mass, of_points(masses, moved - center).inertia),
            (link.about_space_origin, of_points(masses, moved).inertia),
        ):
            np.testing.assert_allclose(actual, expected, rtol=0.0, atol=ATOL_TENSOR)


# Thirty times the largest difference seen (3e-13 of max(1, |a|)); MuJoCo turns every link's
# tensor into principal axes and a quaternion first.
AGREEMENT = 1e-11
INDEPENDENT = (PinocchioModel, NewtonEulerModel, ExponentialsModel)


def body_of(link):
    """Return mass, centre of mass and the tensor about it, as xx, xy, xz, yy, yz, zz."""
    return (
        link.mass,
        link.center_of_mass,
        link.inertia_at_center_of_mass[np.triu_indices(3)],
    )


def published_bodies(description):
    """Return the same from the arm's file, where it prints them about the centre of mass."""
    sets = yaml.safe_load(Path(description.file).read_text())['inertial_sets']
    entry = sets[description.inertial_set]
    assert entry['inertia_about'] == 'center_of_mass'
    links = entry['links']
    return [(one['mass'], one['center_of_mass'], np.array(one['inertia'])) for one in links]


def build_mujoco(description, gravity, bodies):
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    spec.option.gravity = gravity
    spec.option.enableflags |= int(mujoco.mjtEnableBit.mjENBL_ENERGY)
    parent = spec.worldbody
    before = description.base
    steps, *_ = lagrangian.steps(description, np.zeros(description.n))
    for joint, step, (mass, center, tensor) in zip(description.joints, steps, bodies):
        pose = before @ step
        quaternion = np.empty(4)
        mujoco.mju_mat2Quat(quaternion, pose[:3, :3].flatten())
        body = parent.add_body(
            name=f'link_of_{joint.name}',
            pos=pose[:3, 3],
            quat=quaternion,
            mass=mass,
            ipos=center,
            explicitinertial=True,
            fullinertia=tensor[[0, 3, 5, 1, 2, 4]],  # xx, yy, zz, xy, xz, yz
        )
        axis = np.array([0.0, 0.0, 1.0])
        foot = np.zeros(3)
        if description.convention is Convention.STANDARD:
            axis = step[:3, :3].T @ axis
            foot = -step[:3, :3].T @ step[:3, 3]
        hinge = joint.kind is JointKind.REVOLUTE
        kind = mujoco.mjtJoint.mjJNT_HINGE if hinge else mujoco.mjtJoint.mjJNT_SLIDE
        rotor = joint.rotor_inertia
        body.add_joint(name=joint.name, type=kind, axis=axis, pos=foot, armature=rotor)
        parent = body
        before = np.eye(4)
    return spec.compile()


def full_mass_matrix(model, data):
    columns = np.empty((model.nv, model.nv))
    for unit, column in zip(np.eye(model.nv), columns):
        mujoco.mj_mulM(model, data, column, unit)
    return columns.T


# How many of q, dq and ddq a quantity takes, and where MuJoCo has it.
QUANTITIES = {
    'center_of_mass': (1, lambda model, data: data.subtree_com[0]),
    'mass_matrix': (1, full_mass_matrix),
    'gravity': (1, lambda model, data: data.qfrc_bias),
    'nonlinear_effects': (2, lambda model, data: data.qfrc_bias),
    'inverse_dynamics': (3, lambda model, data: data.qfrc_inverse),
    'potential_energy': (1, lambda model, data: data.energy[0]),
    'kinetic_energy': (2, lambda model, data: data.energy[1]),
    'frames': (1, lambda model, data: data.xpos[1:]),
}


def assert_mujoco_agrees(description, gravity, bodies, states):
    model = build_mujoco(description, gravity, bodies)
    data = mujoco.MjData(model)
    models = [formulation(description, gravity) for formulation in INDEPENDENT]
    for quantity, (inputs, read) in QUANTITIES.items():
        expected = []
        for state in zip(*states[:inputs]):
            q, dq, ddq = (*state, 0.0, 0.0)[:3]
            data.qpos[:] = q
            data.qvel[:] = dq
            mujoco.mj_forward(model, data)
            data.qacc[:] = ddq
            mujoco.mj_inverse(model, data)
            expected.append(np.array(read(model, data)))
        for one in models:
            actual = getattr(one, quantity)(*states[:inputs])
            if quantity == 'frames':
                actual = actual[:, :-1, :3, 3]
                assert np.abs(actual - expected).max() <= AGREEMENT  # [m], also far away
            assert_near(
                actual,
                np.array(expected),
                AGREEMENT,
                f'{quantity}, {type(one).__name__}',
            )


@pytest.mark.parametrize(('arm', 'gravity'), [('fer', (0, 0, -9.81)), ('fr3', (3.0, -5.0, 7.0))])
def test_given_a_published_arm_when_computed_then_mujoco_agrees(arm, gravity):
    description = load(arm, hand='none')
    bodies = published_bodies(description)
    assert_mujoco_agrees(description, gravity, bodies, sample_states(description, 30, 3))


@pytest.mark.parametrize('seed', range(4))
def test_given_any_arm_when_computed_then_mujoco_agrees(seed):
    rng = np.random.default_rng(seed)
    description = random_arm(rng)
    gravity = rng.normal(size=3) * 9.81
    bodies = [body_of(link) for link in description.links]
    assert_mujoco_agrees(description, gravity, bodies, sample_states(description, 10, seed))


# libfranka's own bounds.
ROBOT_GRAVITY_NM = 0.2
ROBOT_CORIOLIS_NM = 0.2
ROBOT_INERTIA_KGM2 = 0.1
LOAD = LinkInertia.from_center_of_mass(0.73, (0.01, 0.0, 0.03), np.diag((0.001, 0.0025, 0.0017)))


def symmetric(upper):
    """Fill a 7 by 7 matrix from the text of its upper triangle, row by row."""
    matrix = np.zeros((7, 7))
    matrix[np.triu_indices(7)] = [float(number) for number in upper.split()]
    return matrix + np.triu(matrix, 1).T


def test_the_shipped_fr3_at_work_is_near_a_robots():
    # g, C dq at a velocity of one, and M of a robot's own model with the load.
    q = np.array([0.0010, 0.0010, 0.0010, -2.3552, 0.0010, 2.3572, 0.0010])
    gravity = (0.0, -28.2417, 0.0, 20.7531, 0.5095, 2.3446, 0.0)
    coriolis = (3.1468, -0.6225, 3.1439, -3.1063, -0.0658, -0.5416, 0.0089)
    upper = """
        1.1749 -0.0085 1.1660 -0.0247 -0.0261 -0.0033 -0.0057
        1.7281 0.0046 -0.8304 -0.0142 -0.1209 -0.0005
        1.1660 -0.0247 -0.0261 -0.0033 -0.0057
        1.0399 0.0263 0.1526 -0.0023
        0.0112 0.0042 0.0012
        0.0390 -0.0004
        0.0019
    """
    model = NewtonEulerModel(load('fr3').with_payload(LOAD))
    for actual, expected, atol in (
        (model.gravity(q), gravity, ROBOT_GRAVITY_NM),
        (model.coriolis(q, np.ones(7)), coriolis, ROBOT_CORIOLIS_NM),
        (model.mass_matrix(q), symmetric(upper), ROBOT_INERTIA_KGM2),
    ):
        np.testing.assert_allclose(actual, expected, rtol=0.0, atol=atol)
