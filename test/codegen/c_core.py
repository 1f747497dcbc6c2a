# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Generated C headers as Python runs them: a caller compiled beside the header, and loaded."""

import ctypes
import shutil
import subprocess

import pytest

COMPILER = shutil.which('cc') or shutil.which('gcc')
STRICT = ('-std=c99', '-Wall', '-Wextra', '-Wpedantic', '-Wconversion', '-Werror')
needs_compiler = pytest.mark.skipif(
    COMPILER is None, reason='no C compiler (cc or gcc) on the path'
)


def run_function(folder, source):
    """Compile C source in the folder of the headers it includes; return its function `run`."""
    (folder / 'run.c').write_text(source)
    options = (*STRICT, '-O1', '-fPIC', '-shared')
    subprocess.run([COMPILER, *options, '-o', 'run.so', 'run.c', '-lm'], check=True, cwd=folder)
    return ctypes.CDLL(str(folder / 'run.so')).run
