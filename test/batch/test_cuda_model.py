# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Launches of CUDA kernels on numba's simulator of a device, in a process of its own."""

import os
import re
import subprocess
import sys

import pytest

pytest.importorskip('numba', reason='the [batch] extra is not installed')

SIMULATED = """
import numpy as np
import pinocchio as pin
from numba import cuda

from franka_dynamics.arm import load
from franka_dynamics.arm.sampling import sample_states
from franka_dynamics.batch.cuda_model import CudaModel
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.errors import JointVectorError

arm, gravity = load('rpr'), (1.0, -2.0, -9.4)
on_device, one = CudaModel(arm, gravity), PinocchioModel(arm, gravity)
"""


def simulated(lines):
    """Run lines where numba simulates a device; return what they print."""
    done = subprocess.run(
        [sys.executable, '-W', 'ignore', '-c', SIMULATED + lines],
        env={**os.environ, 'NUMBA_ENABLE_CUDASIM': '1'},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_launched_kernels_are_pinocchios():
    # 131 states: a block of 128 threads and a part of another.
    simulated("""
states = sample_states(arm, 131)
q, dq, ddq = (cuda.to_device(np.array(x)) for x in states)
close = np.testing.assert_allclose
for found, name, given in (
    (on_device.inverse_dynamics(q, dq, ddq), 'inverse_dynamics', states),
    (on_device.nonlinear_effects(q, dq), 'nonlinear_effects', states[:2]),
    (on_device.coriolis(q, dq), 'coriolis', states[:2]),
    (on_device.gravity(q), 'gravity', states[:1]),
    (on_device.mass_matrix(q), 'mass_matrix', states[:1]),
    (on_device.coriolis_matrix(q, dq), 'coriolis_matrix', states[:2]),
):
    expected = [getattr(one, name)(*state) for state in zip(*given)]
    close(found.copy_to_host(), expected, rtol=0.0, atol=1e-11)
expected = [pin.aba(one.model, one.data, *state) for state in zip(*states)]
close(on_device.forward_dynamics(q, dq, ddq).copy_to_host(), expected, rtol=1e-9, atol=1e-9)
found = on_device.inverse_dynamics_derivatives(q, dq, ddq).copy_to_host()
for i, state in enumerate(zip(*states)):
    by_q, by_dq, _ = pin.computeRNEADerivatives(one.model, one.data, *state)
    close(found[i, :2], [by_q, by_dq], rtol=0.0, atol=1e-11)
    close(found[i, 2], one.mass_matrix(state[0]), rtol=0.0, atol=1e-11)
""")


def test_launched_kernels_read_strides_and_fill_outputs():
    simulated("""
q, dq, ddq = (np.array(x) for x in sample_states(arm, 40))
expected = [one.inverse_dynamics(*state) for state in zip(q, dq, ddq)]
columns = cuda.to_device(np.ascontiguousarray(q.T)).T
out = cuda.to_device(np.full((40, 3), np.nan))
found = on_device.inverse_dynamics(columns, cuda.to_device(dq), cuda.to_device(ddq), out)
assert found is out
np.testing.assert_allclose(out.copy_to_host(), expected, rtol=0.0, atol=1e-11)
assert on_device.gravity(cuda.to_device(np.zeros((0, 3)))).shape == (0, 3)
""")


def test_single_precision_stays_single_on_a_device():
    simulated("""
states = [np.asarray(x, np.float32) for x in sample_states(arm, 40)]
found = on_device.inverse_dynamics(*map(cuda.to_device, states)).copy_to_host()
assert found.dtype == np.float32
exact = np.array([one.inverse_dynamics(*state) for state in zip(*map(np.float64, states))])
error = (np.abs(found - exact).max(axis=1) / np.abs(exact).max(axis=1)).max()
assert 1e-8 < error < 3e-6, error
""")


def test_rows_that_are_not_finite_are_nan_alone_on_a_device():
    simulated("""
q, dq, _ = (np.array(x) for x in sample_states(arm, 40))
clean = on_device.nonlinear_effects(cuda.to_device(q), cuda.to_device(dq)).copy_to_host()
q[3, 0], dq[39, 2] = np.nan, np.inf
found = on_device.nonlinear_effects(cuda.to_device(q), cuda.to_device(dq)).copy_to_host()
assert np.isnan(found[[3, 39]]).all()
others = np.delete(np.arange(40), [3, 39])
np.testing.assert_array_equal(found[others], clean[others])
""")


def test_what_no_device_can_take_is_refused():
    said = simulated("""
q = cuda.to_device(np.zeros((4, 3)))
for given in (
    (np.zeros((4, 3)), q),
    (cuda.to_device(np.zeros((4, 2))), q),
    (q, cuda.to_device(np.zeros((5, 3)))),
    (q, cuda.to_device(np.zeros((4, 3), np.float32))),
    (cuda.to_device(np.zeros((4, 3), int)), q),
    (q, q, cuda.to_device(np.zeros((4, 4)))),
):
    try:
        on_device.coriolis(*given)
    except JointVectorError as error:
        print(error)
""").splitlines()
    for line, words in zip(
        said,
        (
            'q is no array of a CUDA device but a ndarray',
            'q has shape (4, 2), expected (N, 3)',
            'dq has shape (5, 3) and q has (4, 3)',
            'dq has the type float32 and q has float64; give all as float64',
            'q has the type int64; give all as float64',
            'out must be an array of the same device, float64 and of shape (4, 3)',
        ),
        strict=True,
    ):
        assert line.startswith(words)


def test_without_a_device_one_sentence_says_so():
    from numba import cuda

    if cuda.is_available():
        pytest.skip('there is a CUDA device')
    from franka_dynamics.arm import load
    from franka_dynamics.batch.cuda_model import CudaModel
    from franka_dynamics.errors import MissingDependencyError

    with pytest.raises(MissingDependencyError, match='numba finds no CUDA device'):
        CudaModel(load('rpr'))


@pytest.mark.parametrize('single', [False, True])
def test_nvvm_makes_kernels_of_one_precision(single):
    from numba import cuda, types
    from numba.cuda.cudadrv import nvvm

    if not nvvm.is_available():
        pytest.skip('numba finds no NVVM (CUDA_HOME)')
    from franka_dynamics.arm import load
    from franka_dynamics.batch.cuda_model import cuda_kernel_source
    from franka_dynamics.codegen.equations import customised_equations, Quantity

    program = customised_equations(load('rpr'), Quantity.INVERSE_DYNAMICS).program
    names = {}
    source = cuda_kernel_source(program, 3, ('q', 'dq', 'ddq'), single=single)
    exec(source.replace('@cuda.jit\n', ''), names)
    number = types.float32 if single else types.float64
    states, results = types.Array(number, 2, 'A'), types.Array(number, 2, 'C')
    code, _ = cuda.compile_ptx(names['run'], (states,) * 3 + (results,), cc=(9, 0))
    doubles = re.findall(r'\b(?:add|sub|mul|fma|neg)\S*\.f64', code)
    # Double arithmetic in a single-precision kernel runs at a fraction of its speed; what is
    # left is the end of the reduction of large angles, for each of the two.
    assert len(doubles) == 2 if single else len(doubles) > 30
