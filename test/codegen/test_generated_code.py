# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Generated C and CUDA code, compiled for this processor, against Pinocchio; NVRTC compiles it."""

from contextlib import suppress
import ctypes
from dataclasses import replace
from pathlib import Path
import re
import runpy
import shutil
import subprocess

import numpy as np
import pytest

import franka_dynamics as fd
from franka_dynamics.arm import JointKind
from franka_dynamics.cli.main import main
from franka_dynamics.codegen import cuda_code
from franka_dynamics.codegen.python_code import python_module
from franka_dynamics.constants import ParameterMode, PRECISIONS, Quantity
from franka_dynamics.errors import OutputError, SettingsError

from . import cuda_on_cpu
from .arms import random_arm as make_arm
from .arms import standard_parameters, with_rotors
from ..agreement import refuses
from ..arms import random_arm

STATES = 1000
ATOL = 1e-11  # N m; measured 7e-14
TILTED = (0.0, 4.905, -8.495)
COMMAND = ('codegen', '--arm', 'fer')
DOUBLES = np.ctypeslib.ndpointer(dtype=float, flags='C_CONTIGUOUS')

COMPILER = shutil.which('cc') or shutil.which('gcc')
STRICT = ('-std=c99', '-Wall', '-Wextra', '-Wpedantic', '-Wconversion', '-Werror')
pytestmark = pytest.mark.skipif(not (COMPILER and cuda_on_cpu.COMPILER), reason='no cc or g++')

BAKED = Path(__file__).with_name('baked.c')
RUN_TIME = Path(__file__).with_name('run_time.c')


def compiled(folder, source, *options):
    """Generate the header by the command, compile a caller of it, and load the caller."""
    assert main([*COMMAND, '--language', 'c', '--output', str(folder), *options]) == 0
    options = [*STRICT, '-O1', '-fPIC', '-shared', '-I', '.', '-o', 'run.so']
    subprocess.run([COMPILER, *options, str(source), '-lm'], check=True, cwd=folder)
    return ctypes.CDLL(str(folder / 'run.so')).run


def test_written_c_and_python_give_all_pinocchios_quantities(tmp_path):
    description = fd.load('fer')
    gravity = ('--gravity', ','.join(map(str, TILTED)))
    run = compiled(tmp_path, BAKED, *gravity)
    run.argtypes = [ctypes.c_int, *[DOUBLES] * 7]
    states = fd.sample_states(description, STATES, seed=0)
    outputs = [np.full((STATES, *shape), np.nan) for shape in ((7,), (7,), (7,), (7, 7))]
    run(STATES, *states, *outputs)
    names = ('inverse_dynamics', 'gravity', 'coriolis')
    model = fd.Model(description, TILTED)
    expected = [getattr(model, name)(*states[:count]) for name, count in zip(names, (3, 1, 2))]
    for found, reference in zip(outputs, [*expected, model.mass_matrix(states.q)]):
        np.testing.assert_allclose(found, reference, rtol=0.0, atol=ATOL)
    assert main([*COMMAND, '--language', 'python', '--output', str(tmp_path), *gravity]) == 0
    module = runpy.run_path(str(tmp_path / 'fer_dynamics.py'))
    out = np.full(7, np.nan)
    module['gravity'](states.q[0], out)
    np.testing.assert_allclose(out, outputs[1][0], rtol=0.0, atol=ATOL)


@pytest.mark.parametrize('parameters', ['baked', 'run_time'])
def test_in_single_precision_nothing_is_computed_in_double(parameters, tmp_path):
    folder = ('--output', str(tmp_path), '--parameters', parameters)
    assert main([*COMMAND, '--language', 'c', '--precision', 'float', *folder]) == 0
    source = """#include "fer_dynamics.h"
void run(const float *q, const float *dq, const float *ddq, const float *X, float *tau)
{
"""
    if parameters == 'baked':
        source += '  (void) X; fer_inverse_dynamics(q, dq, ddq, tau);\n}\n'
    else:
        source += """  fer_inverse_dynamics_parameters p;
  fer_prepare_inverse_dynamics(X, &p); fer_inverse_dynamics(q, dq, ddq, &p, tau);\n}\n"""
    (tmp_path / 'run.c').write_text(source)
    options = [
        *STRICT,
        '-Wno-unused-function',
        '-Wdouble-promotion',
        '-fPIC',
        '-shared',
    ]
    subprocess.run([COMPILER, *options, '-o', 'run.so', 'run.c', '-lm'], check=True, cwd=tmp_path)
    run = ctypes.CDLL(str(tmp_path / 'run.so')).run
    run.argtypes = [np.ctypeslib.ndpointer(dtype=np.float32, flags='C_CONTIGUOUS')] * 5
    arm = fd.load('fer')
    states = fd.sample_states(fd.load('fer'), 200, seed=0)
    X = standard_parameters(arm, (0.0, 0.0, -9.81)).astype(np.float32)
    found = np.zeros((200, 7), np.float32)
    for *state, tau in zip(*(one.astype(np.float32) for one in states), found):
        run(*state, X, tau)
    expected = fd.Model(arm).inverse_dynamics(*states)
    # Rounding of some hundred operations in 24 bits; measured 2e-5 N m, of 120.
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=3e-6 * np.abs(expected).max())


# The gravity of three prismatic joints depends on no position.
SLIDING = random_arm(np.random.default_rng(3), joints=3, kinds=(JointKind.PRISMATIC,))
# These names would end a comment, a docstring or an identifier.
STRANGE = replace(fd.load('rpr'), name='7*/ b', hand='"""\\', inertial_set='*/ */')


@pytest.mark.parametrize('arm', [SLIDING, STRANGE], ids=['sliding', 'strange'])
@pytest.mark.parametrize('parameters', ParameterMode)
def test_headers_of_any_arm_compile_without_a_warning(arm, parameters, tmp_path):
    listed = [
        fd.customised_equations(arm, quantity, parameters=parameters)
        for quantity in Quantity
        # An inertia at a frame takes six joints.
        if quantity not in (Quantity.REGRESSOR, Quantity.OPERATIONAL_SPACE_INERTIA)
    ]
    (tmp_path / 'arm.h').write_text(fd.c_header(listed))
    (tmp_path / 'arm.c').write_text('#include "arm.h"\n')
    command = [COMPILER, *STRICT, '-Wno-unused-function', '-c', 'arm.c']
    subprocess.run(command, check=True, cwd=tmp_path)
    names = {}
    exec(compile(python_module(listed), 'arm.py', 'exec'), names)
    assert callable(names['gravity'])


BOTH = """#include "fer_dynamics.h"
#include "loaded_dynamics.h"
void both(const double *q, double *bare, double *loaded)
{
  fer_gravity(q, bare);
  loaded_gravity(q, loaded);
}
"""


def test_headers_with_and_without_a_load_are_used_together(tmp_path):
    payload = [1.0, 0.0, 0.0, 0.1]
    given = [*COMMAND, '--quantity', 'gravity', '--output', str(tmp_path)]
    assert main(given) == 0
    assert main([*given, '--payload', '1.0,0,0,0.1', '--name', 'loaded']) == 0
    assert ' 1 kg' in (tmp_path / 'loaded_dynamics.h').read_text()
    assert 'no payload' in (tmp_path / 'fer_dynamics.h').read_text()
    (tmp_path / 'both.c').write_text(BOTH)
    options = [*STRICT, '-fPIC', '-shared', '-o', 'both.so', 'both.c', '-lm']
    subprocess.run([COMPILER, *options], check=True, cwd=tmp_path)
    both = ctypes.CDLL(str(tmp_path / 'both.so')).both
    both.argtypes = [DOUBLES] * 3
    q, *_ = fd.sample_states(fd.load('fer'), 1, seed=2)
    found = np.empty((2, 7))
    both(q[0].copy(), *found)
    for row, arm in zip(found, (fd.load('fer'), fd.load('fer', payload=payload))):
        np.testing.assert_allclose(row, fd.Model(arm).gravity(q[0]), rtol=0.0, atol=ATOL)


def test_run_time_parameters_set_another_arm_in_compiled_code(tmp_path):
    # Code for the bare arm is given the parameters of another set with a hand.
    other = fd.load('fer', 'ledezma2021')
    options = ('--parameters', 'run_time', '--quantity', 'inverse_dynamics')
    run = compiled(tmp_path, RUN_TIME, *options)
    run.argtypes = [ctypes.c_int, *[DOUBLES] * 5]
    states = fd.sample_states(other, 200, seed=1)
    tau = np.full((200, 7), np.nan)
    run(200, standard_parameters(other, TILTED), *states, tau)
    expected = fd.Model(other, TILTED).inverse_dynamics(*states)
    np.testing.assert_allclose(tau, expected, rtol=0.0, atol=ATOL)


def test_a_frame_of_the_command_line_may_be_a_number(tmp_path):
    texts = set()
    for frame in ('3', 'fer_joint3'):
        given = (
            '--quantity',
            'jacobian',
            '--frame',
            frame,
            '--output',
            str(tmp_path / frame),
        )
        assert main([*COMMAND, '--language', 'c', *given]) == 0
        texts.add((tmp_path / frame / 'fer_dynamics.h').read_text().replace(f'frame {frame}', ''))
    assert len(texts) == 1


CUDA_STATES = 2 * cuda_code.THREADS_PER_BLOCK + 5  # the last block is not full
ARMS = {
    'fr3': with_rotors(fd.load('fr3', hand='franka_hand')),
    'stanford': fd.load('stanford'),
    'one joint': make_arm(5, n=1),
    'ten joints': make_arm(7, n=10),
}


def evaluated(equations, run, states, dtype):
    """Return the results of a kernel on a CPU for states whose rows are not contiguous."""
    rows = [np.full((len(x), x.shape[1] + 2), np.nan, dtype) for x in states]
    for row, state in zip(rows, states):
        row[:, : state.shape[1]] = state
    out = np.full((len(rows[0]) + 1, *equations.shape), -7.0, dtype)
    groups = -(-len(rows[0]) // cuda_code.THREADS_PER_BLOCK)
    blocks = cuda_code.blocks_per_state_group(equations) * groups
    places = [x for row in rows for x in (row.ctypes.data, row.shape[1])]
    run(cuda_code.kernel_name(equations), blocks, len(rows[0]), *places, out.ctypes.data)
    assert np.all(out[-1] == -7.0)  # nothing is written behind the last state
    return out[:-1]


def reference(model, quantity, states):
    """Return Pinocchio's values of a quantity."""
    if quantity is Quantity.DERIVATIVES:
        return np.stack(model.inverse_dynamics_derivatives(*states), axis=-3)
    if quantity is Quantity.FIRST_MOMENT:
        return sum(link.mass for link in model.description.links) * model.center_of_mass(*states)
    return getattr(model, quantity.value)(*states)


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
    run = cuda_on_cpu.built(cuda_code.cuda_source(every, precision=precision))
    sampled = dict(zip(('q', 'dq', 'ddq'), fd.sample_states(arm, CUDA_STATES, seed=1)))
    sampled['tau'] = sampled['ddq']
    model = fd.Model(arm, TILTED)
    dtype = np.dtype(np.float32 if precision == 'float' else float)
    # Rounding in some thousand operations, and by the condition of M and of the mobility.
    ill = {Quantity.FORWARD_DYNAMICS: 1e3, Quantity.OPERATIONAL_SPACE_INERTIA: 1e5}
    for equations in every:
        states = [sampled[array].copy() for array in equations.input_names]
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


def test_names_of_an_arm_that_are_no_words_of_c_do_no_harm():
    strange = replace(fd.load('rpr'), name='7*/ b', hand='"\\\n', inertial_set='*/ \\')
    cuda_on_cpu.built(cuda_code.cuda_source([fd.customised_equations(strange, Quantity.GRAVITY)]))


def test_a_kernel_of_derivatives_has_those_of_a_batch():
    equations = fd.customised_equations('rpr', Quantity.FORWARD_DYNAMICS, derivatives=True)
    assert 'derivatives, by q, dq, tau, of ddq' in cuda_code.cuda_source([equations])
    run = cuda_on_cpu.built(cuda_code.cuda_source([equations]))
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
            log = compiled_log(cuda_code.cuda_source([equations], precision=precision), arch)
            spilled = [int(one) for one in re.findall(r'(\d+) bytes spill stores', log)]
            registers = re.findall(r'Used (\d+) registers', log)
            with capsys.disabled():
                print(f'\n{arch} {quantity.value} {precision}: registers {registers}, {spilled} B')
            assert len(registers) == 1 and max(spilled) < 100


def test_cuda_code_is_written_without_run_time_parameters(tmp_path):
    command = [
        'codegen',
        '--arm',
        'rpr',
        '--language',
        'cuda',
        '--output',
        str(tmp_path),
    ]
    assert main([*command, '--precision', 'float', '--name', 'my arm']) == 0
    text = (tmp_path / 'my_arm_dynamics.cuh').read_text()
    assert 'my_arm_gravity_states(' in text and 'double' not in text
    assert main([*command, '--parameters', 'run_time']) == 2
    with refuses(OutputError, 'run_time'):
        cuda_code.cuda_source([fd.customised_equations('rpr', parameters='run_time')])


@pytest.mark.parametrize('quantity', Quantity, ids=lambda one: one.value)
def test_an_option_that_changes_no_code_is_refused(quantity, tmp_path):
    # The inertia at a flange needs six joints; the fewer, the quicker.
    name = 'fer' if quantity is Quantity.OPERATIONAL_SPACE_INERTIA else 'rpr'
    mass = '1,0,0,0.1'
    tilted = '1,0,-9.76'
    loaded = fd.load(name, payload=as_floats(mass))
    frame = 7 if loaded.n == 7 else 2  # of rpr the last one is the flange
    equations = fd.customised_equations(name, quantity)
    of_frame = equations
    with suppress(SettingsError):  # of a quantity that has no frame
        of_frame = fd.customised_equations(name, quantity, frame=frame)
    changes = {
        '--gravity': (tilted, fd.customised_equations(name, quantity, as_floats(tilted))),
        '--frame': (f'{frame}', of_frame),
        '--payload': (mass, fd.customised_equations(loaded, quantity)),
    }
    plain = python_module([equations])
    for option, (value, equations) in changes.items():
        has_effect = body(python_module([equations])) != body(plain)
        words = ['--quantity', quantity.value, '--output', str(tmp_path), option, value]
        assert main(['codegen', '--arm', name, *words]) == (0 if has_effect else 2), option


def as_floats(text):
    """Return the numbers of a text with commas."""
    return [float(one) for one in text.split(',')]


def body(text):
    """Return Python code without the text that describes it."""
    return text.split('"""', 2)[2]
