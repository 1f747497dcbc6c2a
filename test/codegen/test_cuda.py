# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""CUDA kernels: compiled by nvcc where there is one, and run by a host compiler everywhere."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.arm.sampling import sample_states
from franka_dynamics.codegen.cuda import cuda_source
from franka_dynamics.codegen.equations import customised_equations, Parameters, Quantity
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.errors import OutputError

GRAVITY = (1.0, -2.0, -9.4)
ATOL = 1e-12  # N m; the order of sums differs from Pinocchio's
needs_compiler = pytest.mark.skipif(shutil.which('g++') is None, reason='there is no g++')
needs_nvcc = pytest.mark.skipif(shutil.which('nvcc') is None, reason='there is no nvcc')


@pytest.fixture(scope='module')
def source(tmp_path_factory):
    arm = load('fr3')
    quantities = (Quantity.INVERSE_DYNAMICS, Quantity.MASS_MATRIX)
    listed = [customised_equations(arm, quantity, GRAVITY) for quantity in quantities]
    path = tmp_path_factory.mktemp('cuda') / 'fr3_dynamics.cu'
    path.write_text(cuda_source(listed))
    return arm, path


def on_host(path, real):
    """Return the file's kernels as a host compiler sees them: one thread for all states."""
    library = path.with_name(f'{real}.so')
    subprocess.run(
        ['g++', '-x', 'c++', '-std=c++17', '-O1', '-Wall', '-Wextra', '-Werror', f'-DREAL={real}']
        + ['-shared', '-fPIC', '-ffp-contract=off', str(path), '-o', str(library)],
        check=True,
    )
    return ctypes.CDLL(str(library))


def call(kernel, inputs, shape, columns=False):
    """Run a kernel on stacks of states, in rows or in columns."""
    count, n = inputs[0].shape
    out = np.full((count, int(np.prod(shape))), np.nan, dtype=inputs[0].dtype)
    strides = [n, 1, out.shape[1], 1]
    if columns:
        inputs, out = [np.ascontiguousarray(array.T) for array in inputs], out.T.copy()
        strides = [1, count, 1, count]
    arrays = [ctypes.c_void_p(array.ctypes.data) for array in (*inputs, out)]
    kernel(ctypes.c_longlong(count), *arrays, *map(ctypes.c_longlong, strides))
    return (out.T if columns else out).reshape(count, *shape)


@needs_compiler
@pytest.mark.parametrize('columns', [False, True])
def test_kernels_give_pinocchios_torques(source, columns):
    arm, path = source
    library, states = on_host(path, 'double'), sample_states(arm, 40)
    model = PinocchioModel(arm, GRAVITY)
    tau = call(library.fr3_inverse_dynamics_batch, states, (7,), columns)
    np.testing.assert_allclose(tau, model.inverse_dynamics(*states), rtol=0.0, atol=ATOL)
    M = call(library.fr3_mass_matrix_batch, states[:1], (7, 7), columns)
    np.testing.assert_allclose(M, model.mass_matrix(states[0]), rtol=0.0, atol=ATOL)


@needs_compiler
def test_single_precision_is_single_throughout(source):
    arm, path = source
    states = [values.astype(np.float32) for values in sample_states(arm, 40)]
    found = call(on_host(path, 'float').fr3_inverse_dynamics_batch, states, (7,))
    exact = PinocchioModel(arm, GRAVITY).inverse_dynamics(*(x.astype(float) for x in states))
    error = np.abs(found - exact).max()
    # Some 500 operations, each rounded by 6e-8 of up to some 100 N m; not the 1e-13 of doubles.
    assert 1e-8 < error < 1e-2


@needs_nvcc
@pytest.mark.parametrize('real', ['double', 'float'])
def test_nvcc_makes_kernels_of_it(source, tmp_path, real):
    _, path = source
    code = tmp_path / 'kernels.ptx'
    command = ['nvcc', '-ptx', '-arch=sm_90', f'-DREAL={real}', path, '-o', code]
    subprocess.run(command, check=True)
    text = code.read_text()
    assert '.entry fr3_inverse_dynamics_batch' in text
    # Double arithmetic in a single-precision kernel runs at a fraction of its speed.
    assert ('fma.rn.f64' in text) == (real == 'double')


def test_parameters_at_run_time_are_refused():
    equations = customised_equations(load('rpr'), parameters=Parameters.RUN_TIME)
    with pytest.raises(OutputError, match='leave --parameters run_time out'):
        cuda_source([equations])
