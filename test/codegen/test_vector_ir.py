# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""LLVM's assembly over many states: for programs in C, and for other processors than this one."""

import ctypes
import re
import shutil
import subprocess

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.arm.sampling import sample_states
from franka_dynamics.cli.main import INPUT_AT_FAULT, main
from franka_dynamics.codegen.equations import customised_equations
from franka_dynamics.codegen.vector_ir import vector_ir
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel

llvm = pytest.importorskip('llvmlite.binding', reason='the [batch] extra is not installed')

PROGRAM = """
#include "rpr_batch.h"
int main() {double q[3] = {1, 2, 3}, out[3]; rpr_gravity_batch(q, out, 24, 24, 1); return 0;}
"""


def test_a_written_module_has_pinocchios_torques_and_a_header(tmp_path):
    assert main(['codegen', '--arm', 'rpr', '--language', 'llvm', '--output', str(tmp_path)]) == 0
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    name, jit = 'rpr_inverse_dynamics_batch', llvm.create_lljit_compiler()
    text = (tmp_path / 'rpr_batch.ll').read_text(encoding='utf-8')
    library = llvm.JITLibraryBuilder().add_ir(text).export_symbol(name).link(jit, 'rpr')
    arrays = [np.array(array) for array in sample_states(load('rpr'), 11)]
    out = np.empty((11, 3))
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4, *[ctypes.c_int64] * 5)
    function(library[name])(*(a.ctypes.data for a in (*arrays, out)), *[24] * 4, 11)
    expected = PinocchioModel(load('rpr')).inverse_dynamics(*arrays)
    np.testing.assert_allclose(out, expected, rtol=0.0, atol=1e-12)
    if compiler := shutil.which('g++'):
        # As C++, since C would take a wrong declaration silently.
        (tmp_path / 'main.cpp').write_text(PROGRAM, encoding='utf-8')
        command = [compiler, '-fsyntax-only', '-Wall', '-Wextra', '-Werror', 'main.cpp']
        subprocess.run(command, cwd=tmp_path, check=True)


@pytest.mark.parametrize('language', ['llvm', 'cuda'])
def test_what_has_no_meaning_over_many_states_is_refused(language, tmp_path, capsys):
    words = ['codegen', '--arm', 'rpr', '--language', language, '--output', str(tmp_path)]
    words.append('--parameters=run_time')
    assert main(words) == INPUT_AT_FAULT
    assert f'no meaning with --language {language}' in capsys.readouterr().err


@pytest.mark.parametrize(
    ('triple', 'processor', 'lanes', 'register'),
    [
        ('x86_64-unknown-linux-gnu', 'icelake-server', 8, 'zmm'),
        ('x86_64-unknown-linux-gnu', 'haswell', 4, 'ymm'),
        ('aarch64-unknown-linux-gnu', 'neoverse-n1', 2, r'v\d+\.2d'),
    ],
)
def test_other_processors_vectors_are_as_wide_as_they_have_them(
    triple, processor, lanes, register
):
    # Code for a processor that this one need not be: it is looked at, not run.
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    text = vector_ir({'run': customised_equations(load('fer'))}, lanes)
    machine = llvm.Target.from_triple(triple).create_target_machine(cpu=processor, opt=2)
    assembly = machine.emit_assembly(llvm.parse_assembly(text))
    fused = re.findall(rf'\n\s*v?fm(?:add|la|sub|ls)\S*\s[^\n]*{register}', assembly)
    assert len(fused) > 100
    assert not re.search(r'\n\s*(?:callq?|bl)\s', assembly)
