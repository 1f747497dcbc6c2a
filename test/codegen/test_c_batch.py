# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""C over many states: compiled without a warning by the file for make, against Pinocchio."""

import ctypes
import os
import platform
import shutil
import subprocess

import numpy as np
import pinocchio as pin
import pytest

from franka_dynamics.arm import load
from franka_dynamics.arm.sampling import sample_states
from franka_dynamics.cli.main import main
from franka_dynamics.codegen.c_batch import c_batch
from franka_dynamics.codegen.emit import Origin
from franka_dynamics.codegen.equations import customised_equations, Parameters, Quantity
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.errors import OutputError

GRAVITY = (1.0, -2.0, -9.4)
ATOL = 1e-11  # N m; the order of sums and fused operations differ from Pinocchio's
QUANTITIES = (Quantity.INVERSE_DYNAMICS, Quantity.MASS_MATRIX, Quantity.FORWARD_DYNAMICS)
COUNT = 77  # whole blocks of 8 and of 16 lanes, and a part
pytestmark = pytest.mark.skipif(
    shutil.which('gcc') is None or shutil.which('make') is None, reason='there is no gcc or make'
)


@pytest.fixture(scope='module', params=['fer', 'rpr'])
def folder(request, tmp_path_factory):
    arm = load(request.param)
    origin = Origin(arm.name, arm.inertial_set, arm.hand, GRAVITY, Parameters.BAKED)
    files = c_batch(origin, [customised_equations(arm, one, GRAVITY) for one in QUANTITIES])
    path = tmp_path_factory.mktemp(request.param)
    for suffix, text in zip(('h', 'c', 'mk'), files):
        (path / f'{arm.name}_batch.{suffix}').write_text(text)
    return arm, path


def made(folder, real='double', flags='-Wpedantic -Werror'):
    """Return the library that make builds; its functions by their quantities' names."""
    arm, path = folder
    environment = {**os.environ, 'CFLAGS': f'-O2 -march=native {flags}'}
    words = ['make', '-B', '-s', '-f', f'{arm.name}_batch.mk', 'CC=gcc', f'REAL={real}']
    done = subprocess.run(words, cwd=path, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, '')
    kept = path / f'{real}.so'
    (path / f'lib{arm.name}_batch.so').replace(kept)
    library = ctypes.CDLL(str(kept))
    return {one: getattr(library, f'{arm.name}_{one.value}_batch') for one in QUANTITIES}


@pytest.fixture(scope='module')
def doubles(folder):
    return made(folder)


def call(function, inputs, size, columns=False):
    """Run a function on stacks of states, in rows or in columns; return shape (N, size)."""
    count, n = inputs[0].shape
    out = np.full((count, size), np.nan, dtype=inputs[0].dtype)
    if columns:
        inputs, out = [np.ascontiguousarray(array.T) for array in inputs], out.T.copy()
    strides = [1, count, 1, count] if columns else [n, 1, size, 1]
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (*inputs, out)]
    function(ctypes.c_ssize_t(count), *pointers, *map(ctypes.c_ssize_t, strides))
    return out.T if columns else out


@pytest.mark.parametrize('columns', [False, True])
@pytest.mark.parametrize('count', [0, 1, COUNT, 5000])  # threads share the last
def test_batches_in_c_are_pinocchios(folder, doubles, count, columns):
    arm, _ = folder
    model, n = PinocchioModel(arm, GRAVITY), arm.n
    q, dq, x = states = [np.array(values) for values in sample_states(arm, count)]
    tau = call(doubles[Quantity.INVERSE_DYNAMICS], states, n, columns)
    M = call(doubles[Quantity.MASS_MATRIX], states[:1], n * n, columns).reshape(-1, n, n)
    ddq = call(doubles[Quantity.FORWARD_DYNAMICS], states, n, columns)
    some = np.arange(0, count, max(1, count // COUNT))
    assert np.isfinite(tau).all() and np.isfinite(M).all() and np.isfinite(ddq).all()
    for i in some:
        np.testing.assert_allclose(
            tau[i], model.inverse_dynamics(q[i], dq[i], x[i]), rtol=0.0, atol=ATOL
        )
        np.testing.assert_allclose(M[i], model.mass_matrix(q[i]), rtol=0.0, atol=ATOL)
        expected = pin.aba(model.model, model.data, q[i], dq[i], x[i])
        np.testing.assert_allclose(ddq[i], expected, rtol=1e-9, atol=1e-9)


def test_rows_that_are_not_finite_are_nan_alone_in_c(folder, doubles):
    arm, _ = folder
    states = [np.array(values) for values in sample_states(arm, COUNT)]
    clean = call(doubles[Quantity.INVERSE_DYNAMICS], states, arm.n)
    states[0][3, 0], states[2][76, 1] = np.nan, np.inf
    found = call(doubles[Quantity.INVERSE_DYNAMICS], states, arm.n)
    assert np.isnan(found[[3, 76]]).all()
    others = np.delete(np.arange(COUNT), [3, 76])
    np.testing.assert_array_equal(found[others], clean[others])


def test_single_precision_in_c_is_single_throughout(folder):
    arm, _ = folder
    # A double among floats would be named by the compiler.
    function = made(folder, 'float', '-Wpedantic -Werror -Wdouble-promotion')
    states = [values.astype(np.float32) for values in sample_states(arm, COUNT)]
    found = call(function[Quantity.INVERSE_DYNAMICS], states, arm.n)
    model = PinocchioModel(arm, GRAVITY)
    exact = np.array([model.inverse_dynamics(*state) for state in zip(*map(np.float64, states))])
    error = (np.abs(found - exact).max(axis=1) / np.abs(exact).max(axis=1)).max()
    # As the kernels of batches: of each state's largest torque; not the 1e-15 of doubles.
    assert 1e-8 < error < 3e-6


@pytest.mark.skipif(platform.machine() != 'x86_64', reason='reads x86 assembly')
def test_the_compiler_makes_vectors_of_the_statements(folder):
    arm, path = folder
    words = ['gcc', '-std=c11', '-O2', '-march=haswell', '-ffp-contract=fast', '-fopenmp', '-S']
    words += ['-fno-math-errno', f'{arm.name}_batch.c', '-o', 'haswell.s']
    subprocess.run(words, cwd=path, check=True)
    text = (path / 'haswell.s').read_text()
    # Products and fused products of four numbers, not of one.
    packed, single = (sum(text.count(word) for word in words) for words in (PACKED, SINGLE))
    assert packed > 100 and single < packed / 20


PACKED = ('mulpd', 'add132pd', 'add213pd', 'add231pd', 'sub132pd', 'sub213pd', 'sub231pd')
SINGLE = tuple(word.replace('pd', 'sd') for word in PACKED)


def test_the_verb_writes_c_over_states_and_a_makefile(tmp_path, capsys):
    words = ['codegen', '--arm', 'rpr', '--language', 'c-batch', '--output', str(tmp_path)]
    assert main(words) == 0
    assert {path.name for path in tmp_path.iterdir()} == {
        'rpr_batch.h',
        'rpr_batch.c',
        'rpr_batch.mk',
    }
    subprocess.run(['make', '-s', '-f', 'rpr_batch.mk'], cwd=tmp_path, check=True)
    # C++ takes the header.
    (tmp_path / 'main.cpp').write_text(
        '#include "rpr_batch.h"\n'
        'int main() {\n'
        '  const double q[3] = {0.0, 0.1, 0.2};\n'
        '  double g[3] = {0.0, 0.0, 0.0};\n'
        '  rpr_gravity_batch(1, q, g, 3, 1, 3, 1);\n'
        '  return g[0] == g[0] ? 0 : 1;\n'
        '}\n'
    )
    link = ['g++', '-Wall', '-Werror', 'main.cpp', './librpr_batch.so', '-o', 'main']
    subprocess.run(link, cwd=tmp_path, check=True)
    subprocess.run(['./main'], cwd=tmp_path, check=True)


def test_run_time_parameters_over_states_in_c_are_refused(tmp_path, capsys):
    words = ['codegen', '--arm', 'rpr', '--language', 'c-batch', '--output', str(tmp_path)]
    assert main([*words, '--parameters', 'run_time']) == 2
    assert 'no meaning with --language c-batch' in capsys.readouterr().err
    with pytest.raises(OutputError, match='leave --parameters run_time out'):
        c_batch(Origin('rpr', '', '', GRAVITY, Parameters.RUN_TIME), [])
