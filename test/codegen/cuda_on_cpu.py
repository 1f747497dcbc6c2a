# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Runs generated CUDA code on a CPU: cuda_words.hpp defines the words that C++ does not have."""

import ctypes
from pathlib import Path
import re
import shutil
import subprocess
import tempfile

COMPILER = shutil.which('g++')
STRICT = (
    '-std=c++17',
    '-Wall',
    '-Wextra',
    '-Wconversion',
    '-Wno-unused-function',
    '-Werror',
)
WORDS = Path(__file__).with_name('cuda_words.hpp')


def built(text):
    """Return a function (kernel's name, blocks, arguments) that runs the kernels of CUDA code."""
    launchers = [
        f'extern "C" void run_{name}(unsigned int blocks, {given}) '
        f'{{ launch({name}, blocks, {", ".join(one.split()[-1] for one in given.split(","))}); }}'
        for name, given in re.findall(r'__global__ .* (\w+)\(\n([^)]*)\)', text)
    ]
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / 'cuda.cpp'
        source.write_text('\n'.join([f'#include "{WORDS}"', text, *launchers]))
        library = source.with_suffix('.so')
        options = [*STRICT, '-O1', '-fPIC', '-shared', '-pthread', '-o', library]
        subprocess.run([COMPILER, *options, source], check=True)
        loaded = ctypes.CDLL(str(library))

    def run(name, blocks, *arguments):
        given = (ctypes.c_int64(int(one)) for one in arguments)
        getattr(loaded, f'run_{name}')(ctypes.c_uint(blocks), *given)

    return run
