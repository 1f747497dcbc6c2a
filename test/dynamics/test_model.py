# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The interface of all formulations, and torques linear in the parameters."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from operator import attrgetter
import pickle
import sys

import numpy as np
import pinocchio as pin
import pytest

import franka_dynamics as fd
from franka_dynamics.dynamics import regressor
from franka_dynamics.dynamics.model import GRAVITY
from franka_dynamics.dynamics.pinocchio_builder import build_pinocchio_model
from franka_dynamics.dynamics.regressor import with_parameter_vector
from franka_dynamics.errors import FrameError, InertiaError, JointVectorError
from franka_dynamics.validation.crosscheck import COMPARED_QUANTITIES, FORMULATIONS

from ..agreement import refuses
from ..arms import make_random_arm, of_points

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
    method, inputs = getattr(model, quantity.name), STATES[: quantity.input_count]
    stacked = method(*inputs)
    assert stacked.shape[:2] == SHAPE
    for at in np.ndindex(SHAPE):
        # Scale: accelerations of light wrists reach thousands.
        single = method(*(values[at] for values in inputs))
        np.testing.assert_allclose(stacked[at], single, rtol=1e-11, atol=ATOL)


def test_pinocchio_takes_wrenches_keywords_lists_and_one_over_many():
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
    'quantity', [one for one in COMPARED_QUANTITIES if one.input_count > 1], ids=attrgetter('name')
)
def test_stacks_that_do_not_broadcast_are_refused_in_one_sentence(model, quantity):
    states = [np.zeros((rows, 7)) for rows in (2, 3, 3)[: quantity.input_count]]
    with refuses(JointVectorError, 'q (2, 7), dq (3, 7)'):
        getattr(model, quantity.name)(*states)


def test_many_wrenches_act_on_one_state_and_must_broadcast(model):
    q, still, wrenches = FER.home, np.zeros(7), np.arange(12.0).reshape(2, 6)
    loaded = model.inverse_dynamics(q, still, still, wrenches)
    expected = [model.inverse_dynamics(q, still, still, wrench) for wrench in wrenches]
    np.testing.assert_allclose(loaded, expected, rtol=0.0, atol=ATOL)
    for method in (model.inverse_dynamics, model.forward_dynamics):
        with refuses(JointVectorError, 'wrench (2, 6)'):
            method(np.zeros((3, 7)), still, still, wrenches)


def test_a_link_with_a_first_moment_but_no_mass_is_computed():
    nothing, link = fd.LinkInertia.zero(), fd.LinkInertia(0.0, (0.1, 0.2, 0.3), np.eye(3))

    def gravity(*links):
        return fd.NewtonEulerModel(replace(FER, links=links)).gravity(FER.home)

    # Torques are linear in the parameters: the link's share is the torque of that link alone.
    alone, rest = gravity(*[nothing] * 6, link), gravity(*FER.links[:-1], nothing)
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


@pytest.mark.parametrize('bad', [np.nan, np.inf])
def test_a_number_that_is_not_finite_is_refused_with_its_joint(bad):
    with refuses(JointVectorError, f'dq of joint fer_joint4 is {bad}'):
        fd.NewtonEulerModel(FER).coriolis(np.zeros((2, 7)), np.where(FOURTH, bad, 0.0))


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


def test_a_regressor_in_blocks_equals_single_states_and_gives_chosen_columns(monkeypatch):
    monkeypatch.setattr(regressor, '_STATES_PER_BLOCK', 4)
    description, columns = fd.load('fer'), (69, 5, 18)
    states = fd.sample_states(description, 10, 0)
    whole = fd.torque_regressor(description, *states)
    single = [fd.torque_regressor(description, *state) for state in zip(*states)]
    np.testing.assert_allclose(whole, single, rtol=0.0, atol=ATOL_COLUMN)
    chosen = fd.torque_regressor(description, *states, columns=columns)
    np.testing.assert_array_equal(chosen, whole[..., columns])


def test_an_arm_is_rebuilt_from_its_vector_with_links_and_rotors():
    arm, other = make_random_arm(4, n=3, rotors=True), make_random_arm(5, n=3)
    other = with_parameter_vector(other, fd.parameter_vector(arm, rotor_inertia=True))
    assert other.links == arm.links
    assert [j.rotor_inertia for j in other.joints] == [j.rotor_inertia for j in arm.joints]


def test_a_bad_arm_vector_is_refused_by_name():
    for length, place in ((69, 68), (70, 13)):
        vector = np.where(np.arange(length) == place, np.nan, 0.0)
        with refuses(InertiaError, 'fer', '(69,)' if length == 69 else 'nan at [13]'):
            with_parameter_vector(fd.load('fer'), vector)


def test_names_are_those_of_a_number_of_links_or_of_an_arm():
    assert (
        fd.parameter_names(fd.load('rpr'))
        == fd.parameter_names(3)
        == fd.parameter_names(np.int64(3))
    )
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
