# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Generated CUDA code: its values on a CPU are Pinocchio's, and NVRTC compiles it for GPUs."""

from dataclasses import replace
import re

import numpy as np
import pytest

import franka_dynamics as fd
from franka_dynamics.cli.main import main
from franka_dynamics.codegen.c_code import BLOCK_SIZE, blocks_per_group, cuda_source, kernel_name
from franka_dynamics.errors import OutputError
from franka_dynamics.names import PRECISIONS, Quantity

from . import cuda_on_cpu
from .arms import random_arm, with_rotors
from ..agreement import refuses

on_cpu = pytest.mark.skipif(cuda_on_cpu.COMPILER is None, reason='no g++ on the path')
TILTED = (1.0, -2.0, -9.0)
STATES = 2 * BLOCK_SIZE + 5  # the last block is not full
ARMS = {
    'fr3': with_rotors(fd.load('fr3', hand='franka_hand')),
    'stanford': fd.load('stanford'),
    'one joint': random_arm(5, n=1),
    'ten joints': random_arm(7, n=10),
}


def evaluated(equations, run, states, dtype):
    """Return the results of a kernel on a CPU for states whose rows are not contiguous."""
    rows = [np.full((len(x), x.shape[1] + 2), np.nan, dtype) for x in states]
    for row, state in zip(rows, states):
        row[:, : state.shape[1]] = state
    out = np.full((len(rows[0]) + 1, *equations.shape), -7.0, dtype)
    blocks = blocks_per_group(equations) * -(-len(rows[0]) // BLOCK_SIZE)
    places = [x for row in rows for x in (row.ctypes.data, row.shape[1])]
    run(kernel_name(equations), blocks, len(rows[0]), *places, out.ctypes.data)
    assert np.all(out[-1] == -7.0)  # nothing is written behind the last state
    return out[:-1]


def reference(model, quantity, states):
    """Return Pinocchio's values of a quantity."""
    if quantity is Quantity.DERIVATIVES:
        return np.stack(model.inverse_dynamics_derivatives(*states), axis=-3)
    if quantity is Quantity.FIRST_MOMENT:
        mass = sum(link.mass for link in model.description.links)
        return mass * model.center_of_mass(*states)
    return getattr(model, quantity.value)(*states)


@on_cpu
@pytest.mark.parametrize(
    ('name', 'precision'),
    [
        ('stanford', 'double'),
        ('one joint', 'float'),
        *(  # compiled for seconds
            pytest.param(name, precision, marks=pytest.mark.libraries)
            for name, precision in (
                *((name, precision) for name in ('fr3', 'ten joints') for precision in PRECISIONS),
                ('stanford', 'float'),
                ('one joint', 'double'),
            )
        ),
    ],
)
def test_kernels_of_every_quantity_have_pinocchios_values(name, precision):
    arm = ARMS[name]
    left_out = set() if arm.n > 5 else {Quantity.OPERATIONAL_SPACE_INERTIA}
    every = [fd.customised_equations(arm, one, TILTED) for one in Quantity if one not in left_out]
    run = cuda_on_cpu.built(cuda_source(every, precision=precision))
    sampled = dict(zip(('q', 'dq', 'ddq'), fd.sample_states(arm, STATES, seed=1)))
    sampled['tau'] = sampled['ddq']
    model = fd.Model(arm, TILTED)
    dtype = np.dtype(np.float32 if precision == 'float' else float)
    # Rounding in some thousand operations, and by the condition of M and of the mobility.
    ill = {Quantity.FORWARD_DYNAMICS: 1e3, Quantity.OPERATIONAL_SPACE_INERTIA: 1e5}
    for equations in every:
        states = [sampled[array].copy() for array in equations.arrays]
        expected = reference(model, equations.quantity, [x.astype(dtype) for x in states])
        bad = states[-1].copy()
        bad[3, -1] = np.nan
        found = evaluated(equations, run, [*states[:-1], bad], dtype)
        assert np.isnan(found[3]).all(), equations.quantity
        bound = 100 * np.finfo(dtype).eps * ill.get(equations.quantity, 1.0)
        np.testing.assert_allclose(
            np.delete(found, 3, 0),
            np.delete(expected, 3, 0),
            rtol=0.0,
            atol=bound * np.abs(expected).max(),
            err_msg=equations.quantity,
        )


@on_cpu
def test_names_of_an_arm_that_are_no_words_of_c_do_no_harm():
    strange = replace(fd.load('rpr'), name='7*/ b', hand='"\\\n', inertial_set='*/ \\')
    cuda_on_cpu.built(cuda_source([fd.customised_equations(strange, Quantity.GRAVITY)]))


@on_cpu
def test_a_kernel_of_derivatives_has_those_of_a_batch():
    equations = fd.customised_equations('rpr', Quantity.FORWARD_DYNAMICS, derivatives=True)
    run = cuda_on_cpu.built(cuda_source([equations]))
    states = fd.sample_states(fd.load('rpr'), 70, seed=2)
    expected = fd.BatchModel('rpr').evaluate(equations.quantity, *states, derivatives=True)
    found = evaluated(equations, run, states, np.dtype(float))
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-9 * np.abs(expected).max())


def compiled_log(text, arch):
    """Return NVRTC's words on CUDA code for an architecture: registers and spilled bytes."""
    nvrtc = pytest.importorskip('cuda.bindings.nvrtc', reason='NVRTC (extra gpu) is not installed')
    _, program = nvrtc.nvrtcCreateProgram(text.encode(), b'cuda', 0, [], [])
    options = [b'--std=c++17', f'-arch={arch}'.encode(), b'--ptxas-options=-v']
    (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
    _, size = nvrtc.nvrtcGetProgramLogSize(program)
    log = b' ' * size
    nvrtc.nvrtcGetProgramLog(program, log)
    assert status == nvrtc.nvrtcResult.NVRTC_SUCCESS, log.decode()
    return log.decode()


@pytest.mark.libraries
@pytest.mark.parametrize('arch', ['sm_80', 'sm_90'])
def test_nvrtc_compiles_every_quantity_and_hardly_spills(arch, capsys):
    for quantity in Quantity:
        equations = fd.customised_equations(ARMS['fr3'], quantity)
        for precision in ('double', 'float'):
            log = compiled_log(cuda_source([equations], precision=precision), arch)
            spilled = [int(one) for one in re.findall(r'(\d+) bytes spill stores', log)]
            registers = re.findall(r'Used (\d+) registers', log)
            with capsys.disabled():
                print(f'\n{arch} {quantity.value} {precision}: registers {registers}, {spilled} B')
            assert len(registers) == 1 and max(spilled) < 100


def test_the_command_writes_cuda_code_and_refuses_parameters_at_run_time(tmp_path):
    command = ['codegen', '--arm', 'rpr', '--language', 'cuda', '--output', str(tmp_path)]
    assert main([*command, '--precision', 'float', '--name', 'my arm']) == 0
    text = (tmp_path / 'my_arm_dynamics.cuh').read_text()
    assert 'my_arm_gravity_states(' in text and 'double' not in text
    assert main([*command, '--parameters', 'run_time']) == 2
    with refuses(OutputError, 'run_time'):
        cuda_source([fd.customised_equations('rpr', parameters='run_time')])
