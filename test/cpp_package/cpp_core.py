# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The C++ core behind ctypes, with arms that it reads from files."""

import ctypes
from pathlib import Path
import shutil
import subprocess
from typing import NamedTuple

import numpy as np
import pytest

from franka_dynamics.control.core_table import Reaction, Remedy, State, Stop
from franka_dynamics.control.settings import (
    EFFORT_FRICTION_CHOICES,
    RECEIVER_PROFILES,
    StateLimits,
)
from franka_dynamics.cpp_package.package import controller_arm_text
from franka_dynamics.errors import SettingsError

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
# Enumerators of settings.hpp and constants.hpp, in the same order.
COMMANDS = ('motion', 'torque', 'total_torque', 'law')
TILTS = ('', 'robot', 'node')
STATES = [state.value for state in State]
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
    subprocess.run([str(COMPILER), *options, '-o', str(program), str(source)], check=True)
    return program


def compiled(folder):
    """Compile the caller of the core; return the library."""
    built = folder / 'caller.so'
    options = (*STRICT, '-O1', '-fPIC', '-shared', '-I', str(PACKAGE / 'include'))
    subprocess.run([str(COMPILER), *options, '-o', built, HERE / 'core_caller.cpp'], check=True)
    library = ctypes.CDLL(str(built))
    number = ctypes.c_int
    made = ctypes.c_void_p
    real = ctypes.c_double
    texts = 'refusal refusal_of_arm last_text change start why note'
    answers = 'receive receiver_cycle receive_in_inbox'
    for name in f'{texts} {answers}'.split():
        getattr(library, name).restype = ctypes.c_char_p
    for name in ('receiver', 'inbox', 'read_arm', 'feedforward'):
        getattr(library, name).restype = made
    for name, types in {
        'read_arm': [ctypes.c_char_p],
        'drop_arm': [made],
        'refusal': [made, DOUBLES, number],
        'friction': [made, number, *[DOUBLES] * 6],
        'terms': [made, number, *[DOUBLES] * 9],
        'momenta': [made, *[DOUBLES] * 4],
        'feedforward': [made, DOUBLES, number, DOUBLES],
        'drop_feedforward': [made],
        'change': [made, DOUBLES, number],
        'step': [made, DOUBLES, DOUBLES, ctypes.c_void_p, DOUBLES],
        'tick': [made, real, real, DOUBLES],
        'reject': [made, real, number, DOUBLES],
        'cycle': [made, real, DOUBLES, ctypes.c_void_p, DOUBLES],
        'state_of': [made],
        'start': [made],
        'stop': [made, number],
        'block': [made, number],
        'reset': [made],
        'restart': [made],
        'why': [made],
        'note': [made],
        'told': [made, DOUBLES],
        'inbox': [made, number, real],
        'receive_in_inbox': [made, number, number, DOUBLES],
        'drop_inbox': [made],
        'receiver': [made, DOUBLES, real],
        'receive': [made, number, number, DOUBLES],
        'receiver_cycle': [made, real, *[DOUBLES] * 3],
        'end_receiver': [made],
        'restart_receiver': [made],
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

    def momenta(self, q, dq):
        """Return M dq and C^T dq, (2, n)."""
        found = np.full((2, self.arm.n), np.nan)
        self.library.momenta(self.made, q, dq, *found)
        return found

    def friction(self, times, q, dq, measured, load):
        found = np.full(q.shape, np.nan)
        self.library.friction(self.made, len(q), times, q, dq, measured, load, found)
        return found

    def refusal(self, settings, command='motion'):
        """Return why settings are refused beside a kind of command, or None."""
        given = packed(settings, self.arm.n)
        said = self.library.refusal(self.made, given, COMMANDS.index(command))
        return said and said.decode()


def read(library, path):
    """Return a handle of the arm in a file; ValueError with the core's sentence if it is none."""
    made = library.read_arm(str(path).encode())
    if not made:
        raise ValueError(library.refusal_of_arm().decode())
    return made


def packed(settings, joints, guard=True):
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
            float(settings.terms.coriolis),
            float(settings.terms.inertia),
            float(guard),
            settings.friction_scale,
            float(settings.terms.offset),
            *np.resize(settings.kp, joints),
            *np.resize(settings.kd, joints),
        ]
    )


class Told(NamedTuple):
    """What the compiled core says of itself after a step."""

    remedy: Remedy
    reaction: Reaction
    sends: bool
    faults: int
    losses: int
    timeouts: int
    disturbance: np.ndarray
    external: np.ndarray
    followed: np.ndarray | None


class Feedforward:
    """
    A compiled core: `step` and `tick` as those of the Python class, with commands beside states.

    `given` is None, or the rows q, dq, ddq, torque.
    """

    def __init__(
        self,
        core,
        settings,
        command='motion',
        *,
        period=1e-3,
        limits=None,
        in_loop=True,
        guard=True,
    ):
        limits = limits or StateLimits()
        self._library = core.library
        self._n = core.arm.n
        self._command = COMMANDS.index(command)
        self._guard = guard
        self.settings = settings
        numbers = [
            period,
            limits.min_input_rate,
            limits.state_timeout,
            limits.max_state_age,
            float(EFFORT_FRICTION_CHOICES.index(limits.effort_friction)),
            float(limits.held_until_commanded),
            float(in_loop),
        ]
        given = packed(settings, self._n, self._guard)
        self._made = self._library.feedforward(core.made, given, self._command, np.array(numbers))
        if not self._made:
            raise SettingsError(self._library.last_text().decode())

    def __del__(self):
        if self._made:
            self._library.drop_feedforward(self._made)

    def step(self, q, dq, stamp, *, effort=None, age=None, now=None, given=None):
        nothing = np.full(self._n, np.nan)
        state = np.concatenate([q, dq, nothing if effort is None else effort]).astype(float)
        times = np.array([stamp, *(np.nan if one is None else one for one in (age, now))], float)
        rows = None if given is None else np.ascontiguousarray(given, float)
        torque = np.empty(self._n)
        given_rows = None if rows is None else rows.ctypes.data
        self._library.step(self._made, state, times, given_rows, torque)
        return torque

    def cycle(self, q, dq, elapsed=1e-3, given=None):
        """Return the torque of a loop's cycle and the state after it, None before a torque."""
        rows = None if given is None else np.ascontiguousarray(given, float)
        torque = np.empty(self._n)
        state = self._library.cycle(
            self._made,
            elapsed,
            np.concatenate([q, dq]).astype(float),
            None if rows is None else rows.ctypes.data,
            torque,
        )
        return torque, None if state < 0 else STATES[state]

    def tick(self, now, silence=None):
        torque = np.empty(self._n)
        silence = np.nan if silence is None else silence
        self._library.tick(self._made, now, silence, torque)
        return torque

    def reject_state(self, now, *, faulty=False):
        torque = np.empty(self._n)
        self._library.reject(self._made, now, int(faulty), torque)
        return torque

    def start(self):
        """Return why the law is not started, or None."""
        said = self._library.start(self._made)
        return said and said.decode()

    def stop(self, then=Stop.LET_GO):
        self._library.stop(self._made, list(Stop).index(then))

    def block(self, is_blocked):
        self._library.block(self._made, int(is_blocked))

    def reset(self):
        self._library.reset(self._made)

    def restart(self):
        self._library.restart(self._made)

    def change(self, **changes):
        """Change settings; return why they are refused, or None."""
        settings = self.settings.changed(**changes)
        given = packed(settings, self._n, self._guard)
        said = self._library.change(self._made, given, self._command)
        if said is None:
            self.settings = settings
        return said and said.decode()

    @property
    def state(self):
        return STATES[self._library.state_of(self._made)]

    @property
    def why(self):
        return self._library.why(self._made).decode()

    @property
    def note(self):
        return self._library.note(self._made).decode()

    @property
    def told(self):
        numbers = np.empty(6 + 3 * self._n)
        self._library.told(self._made, numbers)
        disturbance, external, followed = numbers[6:].reshape(3, self._n)
        return Told(
            list(Remedy)[int(numbers[0])],
            list(Reaction)[int(numbers[1])],
            bool(numbers[2]),
            int(numbers[3]),
            int(numbers[4]),
            int(numbers[5]),
            disturbance,
            external,
            None if np.isnan(followed[0]) else followed,
        )


class Inbox:
    """A compiled inbox of commands."""

    def __init__(self, core, command, timeout=0.05):
        self._library = core.library
        self._made = self._library.inbox(core.made, COMMANDS.index(command), timeout)

    def __del__(self):
        self._library.drop_inbox(self._made)

    def receive(self, values, publisher=1):
        """Pass on a message of a publisher; return heard, or why it is refused."""
        answer = self._library.receive_in_inbox(self._made, publisher, len(values), values)
        return answer.decode()


class Receiver:
    """A compiled receiver with an inbox: `receive` what a publisher sent, then `cycle`."""

    def __init__(self, core, settings, timeout=0.05):
        self._library = core.library
        given = packed(settings, core.arm.n)
        self._made = self._library.receiver(core.made, given, timeout)
        assert self._made, self._library.last_text()

    def __del__(self):
        self._library.end_receiver(self._made)

    def restart(self):
        self._library.restart_receiver(self._made)

    def receive(self, values, publisher=1):
        """Pass on a message of a publisher; return heard, or why it is refused."""
        return self._library.receive(self._made, publisher, len(values), values).decode()

    def cycle(self, q, dq, elapsed=1e-3):
        """Return the torque of a cycle, NaN before the first command, and the state after it."""
        torque = np.empty(len(q))
        return torque, self._library.receiver_cycle(self._made, elapsed, q, dq, torque).decode()

    @property
    def latched(self):
        return bool(self._library.latched(self._made))
