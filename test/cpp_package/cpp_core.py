# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A generated C++ core behind ctypes, and the vectors that its package brings."""

import ctypes
from pathlib import Path
import shutil
import subprocess

import numpy as np
import pytest

from franka_dynamics.control.settings import RECEIVER_PROFILES

COMPILER = shutil.which('g++') or shutil.which('c++')
STRICT = ('-std=c++17', '-Wall', '-Wextra', '-Wpedantic', '-Wconversion', '-Wshadow', '-Werror')
DOUBLES = np.ctypeslib.ndpointer(dtype=float, flags='C_CONTIGUOUS')
# Enumerators of settings.hpp, in the same order.
COMMANDS = ('motion', 'torque', 'total_torque')
ATOL = 1e-12  # N m, of torques up to 100 N m; 1e-13 measured
PAYLOAD = (1.2, 0.01, -0.02, 0.06, 0.004, 0.0005, -0.0002, 0.005, 0.0003, 0.003)

needs_compiler = pytest.mark.skipif(COMPILER is None, reason='no C++ compiler on the path')

CALLER = Path(__file__).with_name('core_caller.cpp')


def compiled_program(files, source, folder, *, sanitizers=None):
    """Compile a C++ file beside an arm's generated files; return the program."""
    write(files, folder)
    program = folder / source.stem
    options = [*STRICT, '-pthread', '-I', str(folder / 'include')]
    if sanitizers:
        options += [f'-fsanitize={sanitizers}', '-fno-sanitize-recover=all']
    subprocess.run([COMPILER, *options, '-o', str(program), str(source)], check=True)
    return program


def compiled(files, folder):
    """Compile the caller of the core among an arm's generated files; return the library."""
    write(files, folder)
    built = folder / 'caller.so'
    options = (*STRICT, '-O0', '-fPIC', '-shared', '-I', str(folder / 'include'))
    subprocess.run(
        [COMPILER, *options, '-I', str(folder), '-o', str(built), str(CALLER)], check=True
    )
    library, number, made = ctypes.CDLL(str(built)), ctypes.c_int, ctypes.c_void_p
    for name in ('refusal', 'configure', 'receive', 'cycle'):
        getattr(library, name).restype = ctypes.c_char_p
    library.receiver.restype = made
    for name, types in {
        'vectors': [ctypes.c_char_p, ctypes.POINTER(number), ctypes.POINTER(ctypes.c_double)],
        'refusal': [DOUBLES],
        'friction': [number, *[DOUBLES] * 7],
        'terms': [number, *[DOUBLES] * 8],
        'receiver': [DOUBLES, number, ctypes.c_double],
        'configure': [made, DOUBLES, number],
        'receive': [made, number, number, DOUBLES],
        'cycle': [made, ctypes.c_double, *[DOUBLES] * 3],
        'end_receiver': [made],
        'restart': [made],
    }.items():
        getattr(library, name).argtypes = types
    return library


def write(files, folder):
    """Write texts by their paths into a folder."""
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


def vectors(files, command):
    """Yield kind and columns of the rows of the vectors' first script of a command."""
    rows = [line.split(',') for line in files['test/vectors.csv'].splitlines()]
    first = next(k for k, row in enumerate(rows) if row[:2] == ['settings', command])
    for kind, *columns in rows[first:]:
        if kind == 'begin':
            return
        yield kind, columns


def packed(settings, joints=7):
    """Return settings as the array that the C++ caller reads."""
    return np.array(
        [
            float(list(RECEIVER_PROFILES).index(settings.target)),
            *settings.gravity_vector,
            *settings.payload,
            float(settings.payload_known_to_robot),
            settings.scale,
            float(settings.terms.friction),
            *np.resize(settings.kp, joints),
            *np.resize(settings.kd, joints),
        ]
    )


class Receiver:
    """A compiled core with an inbox: `receive` what a publisher sent, then `cycle`."""

    def __init__(self, library, settings, command='total_torque', timeout=0.05):
        self._library, self._command = library, COMMANDS.index(command)
        self._made = library.receiver(packed(settings), self._command, timeout)
        assert self._made, 'the settings were refused'

    def __del__(self):
        self._library.end_receiver(self._made)

    def configure(self, settings):
        refused = self._library.configure(self._made, packed(settings), self._command)
        assert refused is None, refused

    def restart(self):
        self._library.restart(self._made)

    def receive(self, values, publisher=1):
        """Pass on a message of a publisher; return heard, or why it is refused."""
        return self._library.receive(self._made, publisher, len(values), values).decode()

    def cycle(self, q, dq, elapsed=1e-3):
        """Return the torque of a cycle, NaN before the first command, and the state after it."""
        torque = np.empty(len(q))
        state = self._library.cycle(self._made, elapsed, q, dq, torque)
        return torque, state.decode()
