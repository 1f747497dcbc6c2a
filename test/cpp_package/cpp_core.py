# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The C++ core behind ctypes, with arms that it reads from files."""

import ctypes
from pathlib import Path
import shutil
import subprocess

import numpy as np
import pytest

from franka_dynamics.control.settings import RECEIVER_PROFILES
from franka_dynamics.cpp_package.package import controller_arm_text

from .vectors import TILTS

COMPILER = shutil.which('g++') or shutil.which('c++')
STRICT = (
    '-std=c++17',
    '-Wall',
    '-Wextra',
    '-Wpedantic',
    '-Wconversion',
    '-Wshadow',
    '-Werror',
)
DOUBLES = np.ctypeslib.ndpointer(dtype=float, flags='C_CONTIGUOUS')
# Enumerators of settings.hpp, in the same order.
COMMANDS = ('motion', 'torque', 'total_torque', 'law')
ATOL = 1e-12  # N m, of torques up to 100 N m; 1e-13 measured
PAYLOAD = (1.2, 0.01, -0.02, 0.06, 0.004, 0.0005, -0.0002, 0.005, 0.0003, 0.003)

needs_compiler = pytest.mark.skipif(COMPILER is None, reason='no C++ compiler on the path')

HERE = Path(__file__).parent
PACKAGE = HERE.parents[1] / 'cpp'


def compiled_program(source, folder, *, sanitizers=None, options=()):
    """Compile a C++ file against the core; return the program."""
    program = folder / source.stem
    options = [*STRICT, '-pthread', *options, '-I', str(PACKAGE / 'include')]
    if sanitizers:
        options += [f'-fsanitize={sanitizers}', '-fno-sanitize-recover=all']
    subprocess.run([COMPILER, *options, '-o', str(program), str(source)], check=True)
    return program


def compiled(folder):
    """Compile the caller of the core; return the library."""
    built = folder / 'caller.so'
    options = (*STRICT, '-O1', '-fPIC', '-shared', '-I', str(PACKAGE / 'include'))
    subprocess.run([COMPILER, *options, '-o', built, HERE / 'core_caller.cpp'], check=True)
    library = ctypes.CDLL(str(built))
    number = ctypes.c_int
    made = ctypes.c_void_p
    for name in ('refusal', 'refusal_of_arm', 'configure', 'receive', 'cycle'):
        getattr(library, name).restype = ctypes.c_char_p
    library.receiver.restype = library.read_arm.restype = made
    for name, types in {
        'read_arm': [ctypes.c_char_p],
        'drop_arm': [made],
        'vectors': [
            made,
            ctypes.c_char_p,
            *map(ctypes.POINTER, (number, ctypes.c_double)),
        ],
        'refusal': [made, DOUBLES, number],
        'friction': [made, number, *[DOUBLES] * 5, number, *[DOUBLES] * 2],
        'terms': [made, number, *[DOUBLES] * 9],
        'receiver': [made, DOUBLES, number, ctypes.c_double],
        'configure': [made, DOUBLES, number],
        'receive': [made, number, number, DOUBLES],
        'cycle': [made, ctypes.c_double, *[DOUBLES] * 3],
        'end_receiver': [made],
        'restart': [made],
        'latched': [made],
    }.items():
        getattr(library, name).argtypes = types
    return library


class Core:
    """The compiled core with one arm."""

    def __init__(self, library, arm, folder):
        self.library = library
        self.arm = arm
        path = folder / f'{arm.name}.yaml'
        path.write_text(controller_arm_text(arm), encoding='utf-8')
        self.made = read(library, path)

    def terms(self, settings, q, dq, ddq):
        """Return g, what of it is commanded, C dq, M ddq, (4, N, n), and M, (N, n, n)."""
        found = np.full((4, *q.shape), np.nan)
        mass = np.full((*q.shape, self.arm.n), np.nan)
        packed_settings = packed(settings, self.arm.n)
        self.library.terms(self.made, len(q), packed_settings, q, dq, ddq, *found, mass)
        return found, mass

    def friction(self, times, q, dq, measured, kp, load, *, target_adds_gravity):
        found = np.full(q.shape, np.nan)
        states = times, q, dq, measured, kp
        adds = int(target_adds_gravity)
        self.library.friction(self.made, len(q), *states, adds, load, found)
        return found

    def refusal(self, settings, command='motion'):
        """Return why settings are refused beside a kind of command, or None."""
        given = packed(settings, self.arm.n)
        said = self.library.refusal(self.made, given, COMMANDS.index(command))
        return said and said.decode()

    def played(self, text, folder):
        """Return 0 if vectors agree, the number of cycles, and the largest difference [N m]."""
        (folder / 'vectors.csv').write_text(text)
        cycles = ctypes.c_int()
        largest = ctypes.c_double()
        path = str(folder / 'vectors.csv').encode()
        return (
            self.library.vectors(self.made, path, cycles, largest),
            cycles.value,
            largest.value,
        )


def read(library, path):
    """Return a handle of the arm in a file; ValueError with the core's sentence if it is none."""
    made = library.read_arm(str(path).encode())
    if not made:
        raise ValueError(library.refusal_of_arm().decode())
    return made


def packed(settings, joints):
    """Return settings as the array that the C++ caller reads."""
    return np.array(
        [
            float(list(RECEIVER_PROFILES).index(settings.target)),
            *settings.gravity_vector,
            *settings.payload,
            float(settings.payload_known_to_robot),
            settings.scale,
            float(settings.terms.friction),
            float(TILTS.index(settings.mount_tilt_compensated_by)),
            *np.resize(settings.kp, joints),
            *np.resize(settings.kd, joints),
        ]
    )


class Receiver:
    """A compiled core with an inbox: `receive` what a publisher sent, then `cycle`."""

    def __init__(self, core, settings, command='total_torque', timeout=0.05):
        self._library = core.library
        self._command = COMMANDS.index(command)
        self._n = core.arm.n
        given = packed(settings, self._n)
        self._made = self._library.receiver(core.made, given, self._command, timeout)
        assert self._made, 'the settings were refused'

    def __del__(self):
        self._library.end_receiver(self._made)

    def configure(self, settings):
        refused = self._library.configure(self._made, packed(settings, self._n), self._command)
        assert refused is None, refused

    def restart(self):
        self._library.restart(self._made)

    def receive(self, values, publisher=1):
        """Pass on a message of a publisher; return heard, or why it is refused."""
        return self._library.receive(self._made, publisher, len(values), values).decode()

    def cycle(self, q, dq, elapsed=1e-3):
        """Return the torque of a cycle, NaN before the first command, and the state after it."""
        torque = np.empty(len(q))
        return torque, self._library.cycle(self._made, elapsed, q, dq, torque).decode()

    @property
    def latched(self):
        return bool(self._library.latched(self._made))
