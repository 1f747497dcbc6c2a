# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""LLVM's assembly over many states, for other processors than this one."""

import re

import pytest

from franka_dynamics.arm import load
from franka_dynamics.codegen.equations import customised_equations
from franka_dynamics.codegen.vector_ir import vector_ir

llvm = pytest.importorskip('llvmlite.binding', reason='the [batch] extra is not installed')


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
    text = vector_ir(customised_equations(load('fer')), lanes)
    machine = llvm.Target.from_triple(triple).create_target_machine(cpu=processor, opt=2)
    assembly = machine.emit_assembly(llvm.parse_assembly(text))
    fused = re.findall(rf'\n\s*v?fm(?:add|la|sub|ls)\S*\s[^\n]*{register}', assembly)
    assert len(fused) > 100
    assert not re.search(r'\n\s*(?:callq?|bl)\s', assembly)
