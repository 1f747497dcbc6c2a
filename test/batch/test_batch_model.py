# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Batches against Pinocchio, state by state; NaN, layouts, threads and wrong input."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pinocchio as pin
import pytest

from franka_dynamics.arm import Convention, load
from franka_dynamics.arm.sampling import sample_states
from franka_dynamics.batch import batch_model, compiled
from franka_dynamics.batch.batch_model import BatchModel
from franka_dynamics.batch.compiled import STATES_PER_THREAD
from franka_dynamics.codegen.equations import form, Quantity
from franka_dynamics.dynamics.body_tree import BodyTree
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.dynamics.regressor import torque_regressor
from franka_dynamics.errors import JointVectorError
from franka_dynamics.identification.base_parameters import base_parameters

from .quantities import ARGUMENTS
from ..agreement import assert_close
from ..codegen.arms import random_arm, with_rotors

ATOL_FRANKA = 1e-12  # N m; measured 6e-14
RTOL = 1e-11  # of the largest torque, for the random arms
TILTED = (1.0, -2.0, -9.0)
COUNT = 77  # not a whole number of vectors
ARMS = {
    'fer': load('fer'),
    'stanford': with_rotors(load('stanford')),
    'skew, standard': random_arm(2, convention=Convention.STANDARD),
    'one joint': random_arm(5, n=1),
}


@pytest.fixture(params=['compiled', 'columns'])
def engine(request, monkeypatch):
    """Run each test with machine code, and again as if llvmlite were not installed."""
    batch_model._function.cache_clear()
    if request.param == 'columns':
        monkeypatch.setattr(compiled, 'llvm', None)
    elif compiled.llvm is None:
        pytest.skip('the [batch] extra is not installed')
    yield
    batch_model._function.cache_clear()


# The NumPy columns run the text that test_equations runs for every arm.
every_arm = pytest.mark.parametrize(
    ('name', 'engine'),
    [*((name, 'compiled') for name in ARMS), ('stanford', 'columns'), ('one joint', 'columns')],
    indirect=['engine'],
)


@pytest.fixture
def fer(engine):
    return BatchModel(load('fer'))


# The number of arguments of (q, dq, ddq), for methods of the same name in Pinocchio's model.
EQUAL = {
    'inverse_dynamics': 3,
    'gravity': 1,
    'mass_matrix': 1,
    'coriolis_matrix': 2,
    'jacobian': 1,
}


@every_arm
def test_every_quantity_of_any_arm_agrees_with_pinocchio(name, engine):
    description = ARMS[name]
    states = sample_states(description, COUNT, seed=2)
    ours = BatchModel(description, TILTED)
    model = PinocchioModel(description, TILTED)
    for quantity, count in EQUAL.items():
        found, expected = (getattr(one, quantity)(*states[:count]) for one in (ours, model))
        assert_close(found, expected, RTOL)
    assert_close(
        ours.forward_dynamics(*states),
        [pin.aba(model.model, model.data, *state) for state in zip(*states)],
        1e-9,
    )
    slopes = ours.inverse_dynamics_derivatives(*states)
    expected = np.array(
        [
            np.array(pin.computeRNEADerivatives(model.model, model.data, *state)[:2])
            for state in zip(*states)
        ]
    )
    assert_close(slopes.by_position, expected[:, 0], RTOL)
    assert_close(slopes.by_velocity, expected[:, 1], RTOL)
    assert_close(slopes.by_acceleration, model.mass_matrix(states.q), RTOL)
    assert_close(ours.flange_pose(states.q), model.frames(states.q)[:, -1], RTOL)
    expected = torque_regressor(description, *states, gravity=TILTED)
    assert_close(ours.regressor(*states), expected, RTOL)


@pytest.mark.parametrize('count', [0, 1, 5, 1000])
def test_any_number_of_states_has_pinocchios_torques(fer, count):
    # Vectors hold 2 to 16 states; the last vector may hold fewer.
    states = sample_states(fer.description, count, seed=13)
    model = PinocchioModel(fer.description)
    np.testing.assert_allclose(
        fer.inverse_dynamics(*states),
        model.inverse_dynamics(*states),
        rtol=0.0,
        atol=ATOL_FRANKA,
    )


@pytest.mark.parametrize('bad', [np.nan, np.inf])
def test_any_value_that_is_not_finite_makes_its_torques_nan(bad, engine):
    # One value of one state at a time, each joint's position, velocity and acceleration.
    description = ARMS['stanford']
    count = 3 * description.n
    states = np.array(sample_states(description, count + 1, seed=14))
    model = BatchModel(description, TILTED)
    clean = model.inverse_dynamics(*states)
    for row in range(count):
        states[row % 3, row, row // 3] = bad
    found = model.inverse_dynamics(*states)
    assert np.isnan(found[:count]).all()
    np.testing.assert_array_equal(found[count:], clean[count:])


def test_a_regressor_has_the_columns_that_are_named():
    description = ARMS['skew, standard']
    states = sample_states(description, COUNT, seed=3)
    model = BatchModel(description, TILTED)
    listed = base_parameters(description, TILTED)
    columns = [column for column in listed.columns if column < 10 * description.n]
    found = model.regressor(*states, columns=columns)
    whole = torque_regressor(description, *states, gravity=TILTED)
    assert_close(found, whole[..., columns], RTOL)
    out = np.full((COUNT, description.n, 3), np.nan)
    assert model.regressor(*states, out, columns=columns[2::-1]) is out
    assert_close(out, whole[..., columns[2::-1]], RTOL)


@pytest.mark.parametrize('columns', [[70], [-1], [3, 3]])
def test_columns_that_do_not_exist_are_refused(fer, columns):
    with pytest.raises(JointVectorError, match='different numbers from 0 to 69'):
        fer.regressor(*np.zeros((3, 2, 7)), columns=columns)


def test_memory_layout_and_real_type_do_not_change_the_result(fer):
    q, dq, ddq = sample_states(fer.description, COUNT, seed=7)
    expected = fer.inverse_dynamics(q, dq, ddq)
    strided = np.full((2 * COUNT, 9), np.nan)
    strided[::2, 1:8] = dq
    np.testing.assert_array_equal(
        fer.inverse_dynamics(np.asfortranarray(q), strided[::2, 1:8], ddq[::-1].copy()[::-1]),
        expected,
    )
    whole = np.arange(14).reshape(2, 7) % 3
    np.testing.assert_array_equal(fer.gravity(whole), fer.gravity(whole * 1.0))
    mixed = np.float32(q), dq, ddq  # one float64 among them: computed in float64
    np.testing.assert_array_equal(
        fer.inverse_dynamics(*mixed), fer.inverse_dynamics(np.float64(mixed[0]), dq, ddq)
    )
    swapped = q.astype('>f8')
    np.testing.assert_array_equal(fer.inverse_dynamics(swapped, dq, ddq), expected)
    for array in (q, dq, ddq):
        array.flags.writeable = False
    np.testing.assert_array_equal(fer.inverse_dynamics(q, dq, ddq), expected)
    one = np.broadcast_to(q[5], q.shape)
    np.testing.assert_array_equal(fer.gravity(one), np.broadcast_to(fer.gravity(q[5]), q.shape))


@pytest.mark.parametrize('count', [2 * STATES_PER_THREAD + 3])
def test_threads_change_nothing(fer, count):
    states = sample_states(fer.description, count, seed=8)
    serial = BatchModel(fer.description, threads=1).inverse_dynamics(*states)
    several = BatchModel(fer.description, threads=3).inverse_dynamics(*states)
    np.testing.assert_array_equal(several, serial)


def test_a_forked_process_has_threads_of_its_own():
    script = (
        'import os, numpy as np, franka_dynamics as fd\n'
        "arm = fd.load('rpr')\n"
        'model = fd.BatchModel(arm, threads=2)\n'
        'q = fd.sample_states(arm, 20_000).q\n'
        'before = model.gravity(q)\n'
        'child = os.fork()\n'
        'if not child:\n'
        '    os._exit(0 if np.array_equal(model.gravity(q), before) else 1)\n'
        'print(os.waitpid(child, 0)[1])\n'
    )
    done = subprocess.run(
        [sys.executable, '-W', 'ignore', '-c', script], capture_output=True, text=True, timeout=60
    )
    assert (done.stdout, done.returncode) == ('0\n', 0), done.stderr


@pytest.mark.parametrize(('place', 'read'), [(1, 0), (0, 0), (0, 1)])
def test_no_state_is_read_after_its_memory_was_filled(fer, place, read):
    # The output overlaps the input, one row further down or up.
    states = sample_states(fer.description, 300, seed=12)
    expected = fer.inverse_dynamics(*states)
    memory = np.empty((302, 7))
    ddq, out = memory[read : read + 300], memory[place : place + 300]
    ddq[:] = states.ddq
    fer.inverse_dynamics(states.q, states.dq, ddq, out)
    np.testing.assert_array_equal(out, expected)
    turned = np.array(states.ddq)
    fer.inverse_dynamics(states.q, states.dq, turned[::-1], turned)
    backwards = fer.inverse_dynamics(states.q, states.dq, np.array(states.ddq[::-1]))
    np.testing.assert_array_equal(turned, backwards)


@pytest.mark.parametrize(
    ('arrays', 'sentence'),
    [
        (
            (np.zeros((5, 6)),) * 3,
            r'q has shape \(5, 6\), expected \(\.\.\., 7\): one value per joint',
        ),
        (
            (np.zeros((5, 7)), np.zeros((4, 7)), np.zeros((5, 7))),
            r'dq has shape \(4, 7\) and q has \(5, 7\)',
        ),
        (
            (np.zeros((5, 7)), np.zeros((5, 7)), np.zeros((5, 7), complex)),
            'ddq has the type complex128',
        ),
        (([[0.0] * 7, [0.0] * 6],) * 3, 'q is not an array of numbers'),
        ((np.ma.masked_equal(np.zeros((5, 7)), 0.0),) * 3, 'q is a masked array, whose mask'),
    ],
)
def test_given_wrong_input_when_run_then_one_sentence_names_it(arrays, sentence):
    with pytest.raises(JointVectorError, match=sentence):
        BatchModel(load('fer')).inverse_dynamics(*arrays)


@pytest.mark.parametrize(
    'out', [np.zeros((4, 7)), np.zeros((5, 7), np.float32), np.zeros((7, 5)).T, [[0.0] * 7] * 5]
)
def test_an_output_that_cannot_be_filled_is_refused(out):
    with pytest.raises(JointVectorError, match=r'of float64 and shape \(5, 7\)'):
        BatchModel(load('fer')).gravity(np.zeros((5, 7)), out)


@pytest.mark.parametrize('gravity', [(0.0, 0.0), (0.0, 0.0, np.nan)])
@pytest.mark.parametrize('description', [load('rpr'), BodyTree.from_description(load('fer'))])
def test_gravity_that_is_not_a_vector_is_refused_when_built(description, gravity):
    with pytest.raises(JointVectorError, match='gravity'):
        BatchModel(description, gravity)


def test_a_tree_whose_axes_are_askew_has_the_arms_torques():
    arm = random_arm(2, convention=Convention.STANDARD)
    states = sample_states(arm, 5, seed=2)
    tree = BatchModel(BodyTree.from_description(arm))
    expected = NewtonEulerModel(arm).inverse_dynamics(*states)
    assert_close(tree.inverse_dynamics(*states), expected)


def test_a_model_that_has_run_can_be_pickled():
    model = BatchModel(load('rpr'), TILTED, threads=1)
    q = np.linspace(-1.0, 1.0, 6).reshape(2, 3)
    expected = model.gravity(q)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.gravity(q), expected)
    assert again.threads == 1


def test_angles_of_many_turns_have_the_torques_of_their_sines(fer):
    q, dq, ddq = sample_states(fer.description, COUNT, seed=15)
    q = np.random.default_rng(15).uniform(-1e6, 1e6, q.shape)
    expected = PinocchioModel(fer.description).inverse_dynamics(q, dq, ddq)
    np.testing.assert_allclose(
        fer.inverse_dynamics(q, dq, ddq), expected, rtol=0.0, atol=ATOL_FRANKA
    )


SLOPES = [quantity for quantity in Quantity if quantity is not Quantity.DERIVATIVES]


@pytest.mark.parametrize('quantity', SLOPES)
def test_slopes_are_central_differences(quantity, engine):
    description = with_rotors(load('rpr'))
    model = BatchModel(description, TILTED)
    names = form(quantity, description.n).arrays
    states = list(sample_states(description, 5, seed=16))[: len(names)]
    found = model.slopes(quantity, *states)
    step = 1e-6
    for k in range(len(names) * description.n):
        ahead, behind = ([np.array(array) for array in states] for _ in range(2))
        ahead[k // description.n][:, k % description.n] += step
        behind[k // description.n][:, k % description.n] -= step
        difference = model.evaluate(quantity, *ahead) - model.evaluate(quantity, *behind)
        assert_close(found[..., k], difference / (2.0 * step), 1e-7)


# Relative to each state's largest value; some 500 operations round by 6e-8 each, and terms cancel.
SINGLE = {
    'inverse_dynamics': 3e-6,
    'coriolis': 1e-4,  # small sums of large terms, nearly zero at rest
    'gravity': 3e-6,
    'mass_matrix': 3e-6,
    'forward_dynamics': 1e-2,  # times the condition of M, up to 2000
}


@pytest.mark.parametrize('name', SINGLE)
def test_float32_stays_float32_within_the_stated_error(name):
    given = [
        array.astype(np.float32)
        for array in sample_states(ARMS['fer'], 1003, seed=0)[: ARGUMENTS[name]]
    ]
    found = getattr(BatchModel(ARMS['fer']), name)(*given)
    assert found.dtype == np.float32
    expected = getattr(PinocchioModel(ARMS['fer']), name)(*(x.astype(float) for x in given))
    error = np.abs(found - expected).reshape(len(given[0]), -1).max(axis=1)
    scale = np.abs(expected).reshape(len(given[0]), -1).max(axis=1)
    assert (error < SINGLE[name] * scale).all(), (error / scale).max()
    # Not the float64 kernel rounded once, whose error is half a unit in the last place.
    assert (error / scale).max() > 6.1e-8


CACHED = """
import sys, numpy as np, franka_dynamics as fd
from franka_dynamics.batch import compiled
compiled._compiled = __import__('functools').partial(
    lambda real, *given: print('compiled') or real(*given), compiled._compiled)
print(fd.BatchModel(fd.load('rpr')).gravity(np.ones(3)).sum())
"""


def test_machine_code_is_kept_and_made_anew_where_it_is_damaged(tmp_path):
    pytest.importorskip('llvmlite', reason='the [batch] extra is not installed')

    def run():
        environment = {**os.environ, 'XDG_CACHE_HOME': str(tmp_path)}
        done = subprocess.run(
            [sys.executable, '-c', CACHED],
            capture_output=True,
            text=True,
            check=True,
            env=environment,
        )
        return done.stdout.split()

    first = run()
    assert first[0] == 'compiled' and run() == first[1:]
    (path,) = (tmp_path / 'franka_dynamics').iterdir()
    code = bytearray(path.read_bytes())
    code[-100] ^= 1
    path.write_bytes(code)
    assert run() == first and run() == first[1:]
    path.write_bytes(b'')
    assert run() == first
