# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Vectors of 512 bits where LLVM by itself takes 256: seen in the machine code for such a one."""

import os
import subprocess
import sys

import pytest

pytest.importorskip('numba', reason="numba (extra 'batch') is not installed")

from franka_dynamics.batch.native import host_has_wide_vectors

SCRIPT = """
import re
from numba import cfunc
from franka_dynamics.batch.native import doubles_at, KERNEL_TYPE, wide_vectors

def plain(pointers, fixed, count):
    x = doubles_at(pointers, count * 32)
    for i in range(count * 32):
        x[i] = x[i] * x[i] + 2.0

def wide(pointers, fixed, count):
    wide_vectors()
    x = doubles_at(pointers, count * 32)
    for i in range(count * 32):
        x[i] = x[i] * x[i] + 2.0

for function in (plain, wide):
    assembly = cfunc(KERNEL_TYPE)(function)._library.get_asm_str()
    print('zmm' in assembly)
"""


@pytest.mark.skipif(not host_has_wide_vectors(), reason='this processor has no AVX-512')
def test_kernels_have_wide_vectors_on_processors_of_intels():
    # Code for an Ice Lake, which this processor need not be: it is looked at, not run.
    environment = {**os.environ, 'NUMBA_CPU_NAME': 'icelake-server'}
    done = subprocess.run(
        [sys.executable, '-c', SCRIPT], capture_output=True, text=True, env=environment, check=True
    )
    assert done.stdout.split() == ['False', 'True']
