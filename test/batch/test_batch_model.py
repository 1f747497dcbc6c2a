# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Batches against Pinocchio; NaN, layouts, threads, wrong input; one interface of all models."""

from dataclasses import replace
import functools
import gc
from pathlib import Path
import pickle
import re
import weakref

import numpy as np
import pytest

import franka_dynamics as fd
from franka_dynamics import errors
from franka_dynamics.arm import Convention, DHRow, Joint, JointKind
from franka_dynamics.batch import batch_model, kernel
from franka_dynamics.batch.generated_model import EquationsKey
from franka_dynamics.batch.kernel import MIN_STATES_PER_THREAD
from franka_dynamics.codegen.equations import customised_equations
from franka_dynamics.codegen.quantities import INPUT_NAMES
from franka_dynamics.constants import Quantity
from franka_dynamics.dynamics.model import REFERENCE_FRAMES
from franka_dynamics.dynamics.regressor import torque_regressor
from franka_dynamics.validation.crosscheck import FORMULATIONS

from ..agreement import assert_close, differences, refuses
from ..codegen.arms import random_arm, with_rotors
from ..dynamics.trees import random_tree_of_rows
from ..processes import printed, start_python, TIMEOUT_S

ATOL_FRANKA = 1e-12  # N m; measured 6e-14
RTOL = 1e-11  # of the largest torque, for the random arms
TILTED = (1.0, -2.0, -9.0)
ATOL_SLOPES = 1e-7  # 1e-8 measured for forward dynamics, 8e-12 for all else
COUNT = 77  # not a whole number of vectors
ARMS = {
    'fer': fd.load('fer'),
    'stanford': with_rotors(fd.load('stanford')),
    'skew, standard': random_arm(2, convention=Convention.STANDARD),
    'one joint': random_arm(5, n=1),
}

# As machine code, but without it; kept as long, because making it takes most of the time.
_columns = functools.lru_cache(batch_model.shared_kernel.__wrapped__)


@pytest.fixture(params=['compiled', 'columns'])
def engine(request, monkeypatch):
    """Run each test with machine code, and again as if llvmlite were not installed."""
    if request.param == 'columns':
        monkeypatch.setattr(kernel, 'llvm', None)
        monkeypatch.setattr(kernel, '_warn_of_numpy', lambda: None)
        monkeypatch.setattr(batch_model, 'shared_kernel', _columns)
    elif kernel.llvm is None:
        pytest.skip('llvmlite is not installed')


# The NumPy columns run the text that test_equations runs for every arm; NumPy stands for any
# library that traces equations.
every_arm = pytest.mark.parametrize(
    ('name', 'kind', 'engine'),
    [
        *((name, fd.BatchModel, 'compiled') for name in ARMS),
        *((name, fd.BatchModel, 'columns') for name in ('stanford', 'one joint')),
        ('stanford', functools.partial(fd.TracedModel, xp=np), 'compiled'),
    ],
    indirect=['engine'],
)


@pytest.fixture
def fer(engine):
    return fd.BatchModel(fd.load('fer'))


# The methods of `Model` by how many of (q, dq, ddq) they take, and their bounds.
BY_COUNT = {
    1: 'gravity mass_matrix jacobian flange_pose frames center_of_mass potential_energy',
    2: 'nonlinear_effects coriolis coriolis_matrix kinetic_energy bias_acceleration',
    3: 'inverse_dynamics inverse_dynamics_derivatives forward_dynamics regressor',
}
METHODS = {name: (count, RTOL) for count, names in BY_COUNT.items() for name in names.split()}
METHODS['forward_dynamics'] = 3, 1e-9


@every_arm
def test_every_method_of_any_arm_agrees_with_pinocchio(name, kind, engine):
    description = ARMS[name]
    states = fd.sample_states(description, COUNT, seed=2)
    own = kind(description, gravity=TILTED)
    model = fd.Model(description, TILTED)
    for method, (count, bound) in METHODS.items():
        found, expected = (np.asarray(getattr(x, method)(*states[:count])) for x in (own, model))
        assert_close(found, expected, bound)
    for frame in (1, description.joint_names[-1], description.n + 1):
        calls = [
            ('frame_pose', states.q, frame),
            ('bias_acceleration', *states[:2], frame),
        ]
        calls += [('jacobian', states.q, frame, axes) for axes in REFERENCE_FRAMES]
        for method, *given in calls:
            assert_close(*(getattr(one, method)(*given) for one in (own, model)), RTOL)
    columns = fd.base_parameters(description, TILTED, rotor_inertia=False).columns[2::-1]
    found, expected = (one.regressor(*states, columns=columns) for one in (own, model))
    assert_close(found, expected, RTOL)
    wrench = np.array([3.0, -4.0, 5.0, 0.6, -0.7, 0.8])
    for method, bound in (('inverse_dynamics', RTOL), ('forward_dynamics', 1e-9)):
        found, expected = (getattr(one, method)(*states, wrench) for one in (own, model))
        assert_close(found, expected, bound)


@pytest.mark.parametrize('count', [0, 1, 5, 1000, 2 * MIN_STATES_PER_THREAD + 3])
def test_batches_of_any_size_have_pinocchios_torques(engine, count):
    # Vectors hold 2 to 16 states; the last vector may hold fewer. Many states take two threads.
    arm = ARMS['fer']
    q, dq, ddq = fd.sample_states(arm, count, seed=13)
    q[1::2] = np.random.default_rng(15).uniform(-1e6, 1e6, q[1::2].shape)
    found = fd.BatchModel(arm, threads=3).inverse_dynamics(q, dq, ddq)
    expected = fd.Model(arm).inverse_dynamics(q, dq, ddq)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=ATOL_FRANKA)
    serial = fd.BatchModel(arm, threads=1).inverse_dynamics(q, dq, ddq)
    np.testing.assert_array_equal(found, serial)


@pytest.mark.parametrize('bad', [np.nan, np.inf])
def test_a_value_not_finite_makes_only_its_torques_nan(bad, engine):
    # One value of one state at a time, each joint's position, velocity and acceleration.
    description = ARMS['stanford']
    count = 3 * description.n
    states = np.array(fd.sample_states(description, count + 1, seed=14))
    model = fd.BatchModel(description, TILTED)
    clean = model.inverse_dynamics(*states)
    for row in range(count):
        states[row % 3, row, row // 3] = bad
    for one in (
        model,
        fd.Model(description, TILTED),
        fd.TracedModel(description, np, TILTED),
    ):
        with np.errstate(invalid='ignore'):  # NumPy warns of what it traces
            found = one.inverse_dynamics(*states)
        assert np.isnan(found[:count]).all()
        np.testing.assert_allclose(found[count:], clean[count:], rtol=0.0, atol=ATOL_FRANKA)
    np.testing.assert_array_equal(model.inverse_dynamics(*states)[count:], clean[count:])


def test_a_wrench_that_is_not_finite_makes_its_torques_nan_alone(fer):
    states = fd.sample_states(fer.description, 4, seed=1)
    wrench = np.ones((4, 6))
    wrench[2, 1] = np.inf
    for method in ('inverse_dynamics', 'forward_dynamics'):
        found = getattr(fer, method)(*states, wrench)
        assert (np.isnan(found) == [[False], [False], [True], [False]]).all()


@pytest.mark.parametrize(('quantity', 'count'), [('gravity', 2), ('coriolis', 1)])
def test_another_number_of_arrays_than_a_quantity_has_is_refused(quantity, count):
    for model in (fd.BatchModel('fer'), fd.TracedModel('fer', np)):
        with refuses(errors.JointVectorError, quantity, f'{count} arrays'):
            model.evaluate(quantity, *np.zeros((count, 3, 7)))


@pytest.mark.parametrize('quantity', ['nonsense', '', None, 3, ['gravity'], {}])
@pytest.mark.parametrize('count', [0, 1])
def test_a_quantity_that_does_not_exist_is_refused(quantity, count):
    for model in (fd.BatchModel('fer'), fd.TracedModel('fer', np)):
        with refuses(errors.SettingsError, repr(quantity), 'gravity, coriolis'):
            model.evaluate(quantity, *np.zeros((count, 3, 7)))


def test_columns_of_an_evaluation_may_be_a_list():
    model = fd.BatchModel('fer')
    states = fd.sample_states('fer', 3)
    found = model.evaluate('regressor', *states, columns=[4, 1])
    np.testing.assert_array_equal(found, model.regressor(*states, columns=(4, 1)))


@pytest.mark.parametrize('columns', [[70], [-1], [3, 3], [0.5], 3])
def test_columns_that_do_not_exist_are_refused(fer, columns):
    states = np.zeros((3, 2, 7))
    for call in (
        lambda: fer.regressor(*states, columns=columns),
        lambda: torque_regressor(fer.description, *states, columns=columns),
        lambda: customised_equations(fer.description, Quantity.REGRESSOR, columns=columns),
    ):
        with refuses(errors.BaseParameterError, np.ravel(columns)[0], '0 to 69'):
            call()


@pytest.mark.parametrize(('kind', 'far'), [(np.float32, 1.5e6), (np.float64, 8e14)])
def test_positions_beyond_the_reduction_of_angles_give_nan_there(kind, far):
    arm = ARMS['fer']
    q = np.full((9, 7), far / 10, kind)  # the sum over the joints is bounded
    q[1, 4] = 0.3 * far
    q[3, 2] = 1.3 * far
    q[5, 6] = -np.finfo(kind).max
    found = fd.BatchModel(arm).flange_pose(q)
    beyond = [3, 5]
    assert np.isnan(found[beyond]).all()
    expected = fd.Model(arm).flange_pose(q.astype(float))
    bound = 50 * np.finfo(kind).eps
    found, expected = (np.delete(x, beyond, 0) for x in (found, expected))
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=bound)


class Exchanged:
    """An array of a library that NumPy reads by DLPack alone."""

    def __init__(self, held):
        self.__dlpack__ = held.__dlpack__
        self.__dlpack_device__ = held.__dlpack_device__


def test_memory_layout_and_real_type_do_not_change_the_result(fer):
    q, dq, ddq = fd.sample_states(fer.description, COUNT, seed=7)
    expected = fer.inverse_dynamics(q, dq, ddq)
    strided = np.full((2 * COUNT, 9), np.nan)
    strided[::2, 1:8] = dq
    turned = ddq[::-1].copy()[::-1]
    frozen = [np.array(x) for x in (q, dq, ddq)]
    for array in frozen:
        array.flags.writeable = False
    columns = np.asfortranarray(q)
    others = (q.astype('>f8'), Exchanged(dq), ddq)
    for states in ((columns, strided[::2, 1:8], turned), others, frozen):
        np.testing.assert_array_equal(fer.inverse_dynamics(*states), expected)
    single = np.float32(dq)  # computed in float64, because the other two are
    found, expected = (fer.inverse_dynamics(q, x, ddq) for x in (single, np.float64(single)))
    np.testing.assert_array_equal(found, expected)
    whole = np.arange(14).reshape(2, 7) % 3
    np.testing.assert_array_equal(fer.gravity(whole), fer.gravity(whole * 1.0))
    one = np.broadcast_to(q[5], q.shape)
    np.testing.assert_array_equal(fer.gravity(one), np.broadcast_to(fer.gravity(q[5]), q.shape))


FORK = """
import os, numpy as np, franka_dynamics as fd
arm = fd.load('rpr')
model = fd.BatchModel(arm, threads=2)
q = fd.sample_states(arm, 20_000).q
before = model.gravity(q)
child = os.fork()
if not child:
    os._exit(0 if np.array_equal(model.gravity(q), before) else 1)
print(os.waitpid(child, 0)[1])
"""


def test_a_forked_process_has_threads_of_its_own():
    assert printed('-W', 'ignore', '-c', FORK) == '0\n'


ROWS = np.zeros((5, 7))

RAGGED = [[1.0], [2.0, 3.0]]
TAU = 'inverse_dynamics'


@pytest.mark.parametrize(
    ('method', 'arguments', 'names'),
    [
        (TAU, (np.zeros((5, 6)), ROWS, ROWS), ('q', '(5, 6)', '(..., 7)')),
        (TAU, (ROWS, np.zeros((4, 7)), ROWS), ('q (5, 7), dq (4, 7)',)),
        (TAU, (ROWS, ROWS, ROWS + 0j), ('ddq', 'complex')),
        (TAU, ([[0.0] * 7, [0.0] * 6], ROWS, ROWS), ('q ', 'array')),
        (TAU, (np.ma.masked_equal(ROWS, 0.0), ROWS, ROWS), ('q ', 'mask')),
        (TAU, (ROWS, ROWS, ROWS, RAGGED), ('wrench ',)),
        (TAU, (ROWS, ROWS, ROWS, np.ones((5, 6)) * 1j), ('wrench ', 'complex')),
        (TAU, (ROWS, ROWS, ROWS, np.ones((2, 6))), ('wrench (2, 6)',)),
        (TAU, (ROWS, ROWS, ROWS, np.ones(5)), ('wrench ', '(5,)', '(..., 6)')),
        ('forward_dynamics', (ROWS, ROWS, RAGGED, np.ones(6)), ('tau ',)),
        ('kinetic_energy', (ROWS, ROWS * 1j), ('dq ', 'complex')),
    ],
)
def test_a_wrong_argument_is_named(method, arguments, names):
    with refuses(errors.JointVectorError, *names):
        getattr(fd.BatchModel('fer'), method)(*arguments)
    with refuses(errors.JointVectorError, names[0]):
        getattr(fd.TracedModel('fer', np), method)(*arguments)


def test_what_cannot_be_traced_is_refused():
    for q in (np.zeros((4, 6)), [0.0] * 7, np.zeros(7, dtype=int)):
        with refuses(errors.JointVectorError, 'q '):
            fd.TracedModel('fer', np).gravity(q)
    with refuses(errors.JointVectorError, 'math', 'stack'):
        fd.TracedModel(fd.load('fer'), __import__('math'))


def test_a_result_is_written_where_the_caller_says():
    states = fd.sample_states(fd.load('fer'), 5, seed=3)
    model = fd.BatchModel('fer')
    for quantity, takes in (('mass_matrix', 1), ('inverse_dynamics', 3), ('regressor', 3)):
        expected = model.evaluate(quantity, *states[:takes])
        out = np.full_like(expected, np.nan)
        assert model.evaluate(quantity, *states[:takes], out=out) is out
        np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize(
    ('q', 'out', 'names'),
    [
        (ROWS, np.empty((4, 7)), ('out', '(5, 7)', 'float64')),
        (ROWS, np.empty((5, 7), np.float32), ('out', 'float64')),
        (ROWS, np.empty((5, 7), order='F'), ('out', 'C-ordered')),
        (ROWS, np.broadcast_to(np.empty(7), (5, 7)), ('out', 'writeable')),
        (ROWS, [[0.0] * 7] * 5, ('out', '(5, 7)')),
        (ROWS.tolist(), np.empty((5, 7)), ('out', 'NumPy', 'q')),
        (ROWS[0], np.empty(7), ('out', '(N, 7)')),
    ],
)
def test_a_result_that_cannot_be_written_there_is_refused(q, out, names):
    with refuses(errors.JointVectorError, *names):
        fd.BatchModel('fer').evaluate('gravity', q, out=out)


@pytest.mark.parametrize('kind', [fd.BatchModel, *FORMULATIONS.values()])
def test_impossible_gravity_and_threads_are_refused_when_built(kind):
    given = [{'gravity': (0.0, 0.0)}, {'gravity': (0.0, 0.0, np.nan)}]
    if kind is fd.BatchModel:
        given += [{'threads': x} for x in (0, 2.5, True)]
    for one in given:
        with refuses(errors.JointVectorError, *one):
            kind(fd.load('rpr'), **one)


def test_a_model_that_has_run_can_be_pickled():
    model = fd.BatchModel(fd.load('rpr'), TILTED, threads=1)
    q = np.linspace(-1.0, 1.0, 6).reshape(2, 3)
    expected = model.gravity(q)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.gravity(q), expected)
    assert again.threads == 1


# Of second order, or large: minutes to generate.
SLOW_SLOPES = (Quantity.DERIVATIVES, Quantity.REGRESSOR, Quantity.CORIOLIS_MATRIX)
OF_SIX_JOINTS = Quantity.OPERATIONAL_SPACE_INERTIA
SLOPES = [one for one in Quantity if one not in (Quantity.DERIVATIVES, OF_SIX_JOINTS)]


# The machine code of a regressor's derivatives takes seconds to make.
@pytest.mark.parametrize(
    ('quantity', 'engine'),
    [
        *((quantity, 'columns') for quantity in SLOPES),
        *((quantity, 'compiled') for quantity in SLOPES if quantity is not Quantity.REGRESSOR),
    ],
    indirect=['engine'],
)
def test_slopes_are_central_differences(quantity, engine):
    description = with_rotors(fd.load('rpr'))
    model = fd.BatchModel(description, TILTED)
    names = INPUT_NAMES[quantity]
    states = np.array(fd.sample_states(description, 5, seed=16))[: len(names)]

    def moved(change):
        return model.evaluate(quantity, *states + change.reshape(len(names), 1, description.n))

    expected = differences(moved, len(names) * description.n, 1e-3)
    found = model.evaluate(quantity, *states, derivatives=True)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=ATOL_SLOPES)


PAGE = (Path(__file__).parents[2] / 'docs' / 'howto' / 'gradients.md').read_text('utf-8')


def float32_bounds(name):
    """Return the page's bounds of a method's values and derivatives."""
    row = 'accelerations' if name == 'forward_dynamics' else 'everything else'
    return [float(bound) for bound in re.search(rf'\| {row}.* \| (.+) \| (.+) \|', PAGE).groups()]


@pytest.mark.parametrize('quantity', [one for one in Quantity if one is not OF_SIX_JOINTS])
def test_float32_stays_float32_within_the_pages_bounds(quantity):
    arm = ARMS['fer']
    arrays = fd.sample_states(arm, 1003)[: len(INPUT_NAMES[quantity])]
    given = [array.astype(np.float32) for array in arrays]
    bounds = float32_bounds(quantity.value)
    model = fd.BatchModel(arm)
    for bound, sloped in zip(bounds, (False,) if quantity in SLOW_SLOPES else (False, True)):
        found = model.evaluate(quantity, *given, derivatives=sloped)
        expected = model.evaluate(quantity, *(x.astype(float) for x in given), derivatives=sloped)
        error = np.abs(found - expected).max() / np.abs(expected).max()
        # At least half a unit in the last place: computed in float32, not rounded once.
        assert found.dtype == np.float32 and 6.1e-8 < error < bound


def test_operational_space_inertia_in_float32_is_accurate():
    model = fd.BatchModel('fr3')
    q = fd.sample_states(fd.load('fr3'), 1000).q.astype(np.float32)
    found, expected = (model.operational_space_inertia(x) for x in (q, q.astype(float)))
    error = np.abs(found - expected).max(axis=(1, 2)) / np.abs(expected).max(axis=(1, 2))
    # Measured 1.4e-5 and 3e-4: the mobility's condition times half a unit in the last place.
    assert found.dtype == np.float32
    assert np.median(error) < 1e-4 and np.quantile(error, 0.9) < 2e-3


def test_one_vector_goes_with_many(fer):
    # The same shapes as of `Model`: leading axes broadcast.
    q, dq, ddq = fd.sample_states(fer.description, 3, seed=4)
    model = fd.Model(fer.description)
    for states in ((q[0], dq, ddq), (q, dq[0], ddq[:, None]), (q[:, None], dq, ddq[0])):
        expected = model.inverse_dynamics(*states)
        found = fer.inverse_dynamics(*states)
        assert found.shape == expected.shape
        assert_close(found, expected, RTOL)


@pytest.mark.parametrize('frame', [9, 'hand', True, [4]])
@pytest.mark.parametrize('kind', [fd.BatchModel, functools.partial(fd.TracedModel, xp=np)])
def test_a_frame_that_an_arm_does_not_have_is_refused_by_name(kind, frame):
    model = kind(fd.load('fer'))
    for call in (model.jacobian, model.frame_pose, model.operational_space_inertia):
        with refuses(errors.FrameError, repr(frame)):
            call(ROWS, frame)
    with refuses(errors.FrameError, 'BODY'):
        model.jacobian(ROWS, 1, 'BODY')


@pytest.mark.parametrize('frame', ['flange', 'fr3_hand_tcp', 7])
def test_operational_space_inertia_is_nan_at_a_singular_posture(engine, frame):
    arm = fd.load('fr3', hand='franka_hand')
    model = fd.BatchModel(arm)
    q = fd.sample_states(arm, COUNT, seed=3).q.copy()
    expected = fd.Model(arm).operational_space_inertia(q, frame)
    q[3] = 0.0  # stretched out, in which PinocchioModel raises
    found = model.operational_space_inertia(q, frame)
    assert np.isnan(found[3]).all()
    # The mobility's condition is up to 1e5 here; measured 3e-13.
    np.testing.assert_allclose(
        np.delete(found, 3, 0),
        np.delete(expected, 3, 0),
        rtol=0.0,
        atol=1e-10 * expected.max(),
    )


def test_an_inertia_at_a_frame_that_few_joints_move_is_refused():
    with refuses(errors.InertiaError, 'six'):
        fd.BatchModel('fr3').operational_space_inertia(ROWS, 5)
    with refuses(errors.InertiaError, 'six'):
        fd.BatchModel('rpr').operational_space_inertia(np.zeros(3))
    arm = fd.load('fer')
    rails = tuple(replace(joint, kind=JointKind.PRISMATIC) for joint in arm.joints)
    with refuses(errors.InertiaError, 'six'):  # joints, but none of them turns the frame
        fd.BatchModel(replace(arm, joints=rails)).operational_space_inertia(ROWS)


WITHOUT_LLVMLITE = """
import sys
import warnings

sys.modules['llvmlite'] = None
import franka_dynamics as fd

model = fd.BatchModel('fr3')
for _ in range(2):
    model.gravity(fd.load('fr3').home)
    model.mass_matrix(fd.load('fr3').home)
print(model.backend)
"""


def test_numpy_in_place_of_machine_code_is_said_once():
    process = start_python('-W', 'always', '-c', WITHOUT_LLVMLITE)
    said, warned = process.communicate(timeout=TIMEOUT_S)
    assert said.split() == ['numpy']
    assert warned.count('SlowComputationWarning') == 1
    assert "pip install 'llvmlite" in warned
    assert fd.BatchModel('fr3').backend == ('numpy' if kernel.llvm is None else 'llvm')


def test_machine_code_that_no_model_uses_is_given_back():
    pytest.importorskip('llvmlite')
    model = fd.BatchModel(fd.load('rpr'), (0.0, 0.0, -1.0))
    model.gravity(np.zeros(3))
    gravity = model.kernel(EquationsKey(Quantity.GRAVITY), np.dtype(float))
    code = weakref.ref(gravity.evaluator)
    del gravity
    batch_model.shared_kernel.cache_clear()
    assert np.isfinite(model.gravity(np.ones(3))).all()  # the model holds its own
    del model
    gc.collect()
    assert code() is None


def test_a_tree_of_bodies_has_the_methods_of_an_arm():
    tree = random_tree_of_rows(105, special=0.9)
    assert tree.parents == (-1, 0, 0)
    q, dq, ddq = np.random.default_rng(2).uniform(-2.0, 2.0, (3, 35, tree.n))
    model = fd.BatchModel(tree)
    poses = tree.poses(q)
    moving = fd.dynamics_derivatives(tree, q, dq, ddq)
    assert_close(model.inverse_dynamics(q, dq, ddq), moving.motion.tau)
    assert_close(model.forward_dynamics(q, dq, moving.motion.tau), ddq)  # the condition is 6
    slopes = model.inverse_dynamics_derivatives(q, dq, ddq)
    for own, other in zip(slopes, (moving.tau.by_q, moving.tau.by_dq, moving.tau.by_ddq)):
        assert_close(own, other)
    assert_close(model.regressor(q, dq, ddq), fd.torque_regressor(tree, q, dq, ddq))
    tool = poses[:, tree.tool_body] @ tree.tool_pose
    assert_close(model.frames(q), np.concatenate([poses, tool[:, None]], axis=1))
    for number, name in enumerate(tree.joint_names):
        assert_close(model.frame_pose(q, name), poses[:, number])
    masses = np.array([body.mass for body in tree.inertias])
    centers = np.array([[*body.first_moment, body.mass] for body in tree.inertias])
    moments = np.einsum('...lab,lb->...a', poses[..., :3, :], centers)
    assert_close(model.center_of_mass(q), moments / masses.sum())


JOINT = Joint('joint', JointKind.REVOLUTE, DHRow())
LINK = fd.LinkInertia.from_center_of_mass(1.0, (0.1, 0.0, 0.0), np.zeros(6))
HINGE = fd.ArmDescription('hinge', Convention.MODIFIED, (JOINT,), (LINK,))


@pytest.mark.parametrize('kind', [np.float32, np.float64])
def test_sine_and_cosine_are_within_an_ulp_over_many_turns(kind):
    angles = np.linspace(-20.0, 20.0, 100_001).astype(kind)
    pose = fd.BatchModel(HINGE).flange_pose(angles[:, None])
    exact = angles.astype(np.longdouble)
    assert pose.dtype == kind
    # 0.55 ulp of 1 was measured in float32, 0.53 in float64.
    for found, expected in (
        (pose[:, 0, 0], np.cos(exact)),
        (pose[:, 1, 0], np.sin(exact)),
    ):
        assert np.abs(found - expected).max() < 0.75 * np.finfo(kind).eps


def test_without_a_home_folder_no_code_is_kept(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv('XDG_CACHE_HOME', '~no_user/cache')
    assert kernel.cached_object_code('key', lambda: b'code') == b'code'
    assert not [*tmp_path.iterdir()]
