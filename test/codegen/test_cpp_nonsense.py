# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The generated core under sanitizers: numbers without sense, and two threads."""

import os
from pathlib import Path
import random
import subprocess

import pytest

from franka_dynamics.codegen.cpp_package import cpp_package

from .cpp_core import compiled_program, needs_compiler
from .test_cpp_package import ARMS

pytestmark = needs_compiler
SOURCE = Path(__file__).parent / 'nonsense.cpp'
# `make fuzz` tries more inputs, and different ones each time.
FUZZ = os.environ.get('FRANKA_DYNAMICS_FUZZ')
CYCLES, SEED = 100 * int(FUZZ or 400), random.randrange(2**32) if FUZZ else 0


def output(program, *words):
    """Run a program that must not end by a sanitizer; return the numbers of its lines."""
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, timeout=580)
    assert done.returncode == 0 and not done.stderr, f'{words}: {done.stderr[:3000]}'
    return [[int(word) for word in line.split()] for line in done.stdout.splitlines()]


@pytest.mark.parametrize('arm', ['fr3', 'fer', 'fr3v2'] if FUZZ else ['fr3'])
def test_commands_stay_finite_and_within_limit_and_rate_whatever_comes_in(arm, tmp_path):
    files = cpp_package(ARMS[arm], 'my_arm')
    program = compiled_program(files, SOURCE, tmp_path, sanitizers='address,undefined')
    feedforward, receiver = output(program, SEED, CYCLES)
    for commands, *wrong in (feedforward, receiver):
        assert commands > CYCLES / 4, f'seed {SEED}'
        assert wrong == [0, 0, 0], f'not finite, too large, too fast: {wrong}, seed {SEED}'


def test_a_command_read_beside_its_writing_is_whole(tmp_path):
    files = cpp_package(ARMS['fr3'], 'my_arm')
    program = compiled_program(files, SOURCE, tmp_path, sanitizers='thread')
    ((read, mixed),) = output(program, 'threads', CYCLES)
    assert read > 0 and mixed == 0
