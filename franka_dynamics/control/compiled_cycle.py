# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The usual case of a cycle in one compiled call, so that its torque is out before Python has begun.

In a process that is woken up once per millisecond Python takes several times as long as in a
loop. So the state that needs no decision (it is trusted like the one before it, gravity,
Coriolis and inertia torque and the joint PD's at most are commanded, nothing is to be cut) is
answered by C on fixed memory.
After that FeedforwardController.cycle judges the same state as it would have done, and its torque
is compared with the one that is out (CommandState.confirm). It alone keeps the state from one
cycle to the next; what it has is copied to the compiled call's memory once it is done. The
compiled call decides with the same numbers as the Python code and answers no state that this would
not answer: whatever is not usual it leaves alone.
"""

from __future__ import annotations

import atexit
from collections.abc import Sequence
import ctypes
import functools
import hashlib
from importlib import resources
import os
from pathlib import Path
import shutil
import subprocess
import sys
import tempfile
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin

from . import possible_motion as motion
from .control_law import ControlLaw
from .feedforward import FeedforwardController
from .limits import LONGEST_STEP_S, MOST_RATE
from .reference import ReferencePiece
from .settings import StateSource
from ..errors import CompilationError, shortened
from ..typing import Array

_SOURCE = 'compiled_cycle.c'
# No contraction: a comparison must come out as in Python.
_OPTIONS = ('-std=c99', '-O2', '-ffp-contract=off', '-fPIC', '-shared')
_LONGEST_COMPILATION_S = 60.0
_ROUNDED = 1.0 - 1e-9
# [rad, m, rad/s, m/s] Where a file leaves a limit open, more is not usual; up to here no product
# that only one of the two ways of computing has is large enough to matter.
_MOST_VALUE = 1e3
_MOST_JOINTS, _MOST_BYTES = 16, 2048  # as in the source


class MessageLayout(NamedTuple):
    """
    Where serialized joint states hold what, and which of their bytes are always the same.

    `places` are those of positions, velocities and efforts (if any) in joint order, of doubles of
    this machine's byte order; `mask` is 255 at each byte of `pattern` that may not differ.
    """

    pattern: bytes
    mask: bytes
    nanosec: int
    places: Sequence[int]
    has_effort: bool


def _doubles(*names: str, length: int = _MOST_JOINTS) -> list[tuple[str, Any]]:
    return [(name, ctypes.c_double * length) for name in names]


class _Body(ctypes.Structure):
    _fields_ = (
        *_doubles('rotation', length=9),
        *_doubles('translation', length=3),
        *_doubles('inertia', length=9),
        *_doubles('center_of_mass', length=3),
        ('mass', ctypes.c_double),
        ('rotor_inertia', ctypes.c_double),
        ('prismatic', ctypes.c_double),
    )


class _Arm(ctypes.Structure):
    _fields_ = (('body', _Body * _MOST_JOINTS), *_doubles('gravity', length=3))


class _State(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_int32) for name in ('joints', 'length', 'has_effort', 'nanosec_place')),
        ('place', ctypes.c_int32 * (3 * _MOST_JOINTS)),
        *_doubles('lower', 'upper', 'speed', 'effort', 'effort_rate'),
        *_doubles('q', 'dq', 'drift', 'command'),
        *(
            (name, ctypes.c_double)
            for name in (
                'stamp',
                'command_stamp',
                'patience',
                'slow_period',
                'oldest',
                'jump_slack',
                'drift_bound',
                'drift_time',
                'delay',
                'longest_step',
                'step_bound',
                'rate_step',
                'gravity_share',
                'receiver_share',
                'motion_share',
            )
        ),
        *(
            (name, ctypes.c_int32)
            for name in ('coriolis', 'inertia', 'at_reference', 'has_reference')
        ),
        *((name, ctypes.c_double) for name in ('begin', 'end', 'start', 'duration')),
        *_doubles('coefficient', length=6 * _MOST_JOINTS),
        *_doubles('tracking', 'kp', 'kd', 'torque'),
        ('arm', _Arm),
        ('receiver', _Arm),
        ('pattern', ctypes.c_uint8 * _MOST_BYTES),
        ('mask', ctypes.c_uint8 * _MOST_BYTES),
    )


class CompiledCycle:
    """
    Answers the usual state of one controller by compiled code.

    Parameters
    ----------
    controller : FeedforwardController
        Whose cycle it is.

    Raises
    ------
    CompilationError
        If there is no C compiler, it fails, or the arm has more joints than the code has room for.

    """

    def __init__(self, controller: FeedforwardController) -> None:
        description = controller.description
        n = description.n
        if n > _MOST_JOINTS:
            raise CompilationError(
                f'The compiled cycle takes at most {_MOST_JOINTS} joints, not {n}.'
            )
        try:
            library = ctypes.PyDLL(str(compiled_library()))
        except OSError as error:  # a damaged file, or a file system that allows no programs
            raise CompilationError(
                f'What was compiled cannot be loaded; delete it: {shortened(str(error), 200)}.'
            ) from error
        if library.compiled_cycle_size() != ctypes.sizeof(_State):
            raise CompilationError('The compiled cycle lays its memory out otherwise than Python.')
        self._run = library.compiled_cycle
        self._run.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_double)
        self._controller = controller
        self._state = state = _State()
        self._address = ctypes.addressof(state)
        state.joints = n
        self._set('effort', description.limit('effort'))
        self._set('effort_rate', np.minimum(description.limit('effort_rate'), MOST_RATE))
        lower, upper, speed = np.array(controller.supervisor.motion.bounds).T
        self._set('lower', np.maximum(lower, -_MOST_VALUE))
        self._set('upper', np.minimum(upper, _MOST_VALUE))
        self._set('speed', np.minimum(speed, _MOST_VALUE))
        state.jump_slack, state.drift_bound = motion.JUMP_SLACK, motion.DRIFT
        state.drift_time, state.delay = motion.DRIFT_TIME_S, motion.DELAY_S
        state.longest_step, state.step_bound = motion.LONGEST_GAP_S, motion.STEP
        state.rate_step = LONGEST_STEP_S
        self._q, self._dq, self._drift, self._command = (
            np.ctypeslib.as_array(getattr(state, name))[:n]
            for name in ('q', 'dq', 'drift', 'command')
        )
        # The answer, which the next one overwrites.
        self.torque = np.ctypeslib.as_array(state.torque)[:n]
        self._coefficients = np.ctypeslib.as_array(state.coefficient).reshape(6, -1)[:, :n]
        self._ready = False
        self._piece: ReferencePiece | None = None
        self._changes = -1
        self._layout: MessageLayout | None = None
        self._law: ControlLaw | None = None
        self._last: Array | None = None
        self._before: Array | None = None

    def _set(self, name: str, values: Array) -> None:
        np.ctypeslib.as_array(getattr(self._state, name))[: np.size(values)] = np.ravel(values)

    def answer(self, data: bytes, now: float) -> bool:
        """
        Compute the torque for a state; return whether it may be published.

        Parameters
        ----------
        data : bytes
            The serialized joint state.
        now : float
            The time on the clock that its stamp is compared with [s].

        """
        if not self._ready or not self._controller.is_as(
            self._law, self._last, self._before, self._changes
        ):
            return False
        return not self._run(self._address, data, len(data), now)

    def forget(self) -> None:
        """Leave the next state to Python."""
        self._ready = False

    def prepare(self, layout: MessageLayout | None) -> None:
        """
        Copy what the next state is judged by; to be called once a cycle is over.

        Parameters
        ----------
        layout : MessageLayout or None
            Of the messages that are expected; None where they cannot be read in place.

        """
        controller, state = self._controller, self._state
        self._ready = False
        law, output, supervisor = controller.law, controller.output, controller.supervisor
        if law is not self._law:
            self._law = law
            self._use(law)
        if layout is not self._layout:
            self._layout = layout
            if layout is not None and len(layout.pattern) <= _MOST_BYTES:
                self._read_by(layout)
        known = supervisor.motion
        if (
            layout is None
            or len(layout.pattern) > _MOST_BYTES
            or not self._knows_what_is_desired(law, output.stamp)
            or output.last is None
            or output.gliding
            or supervisor.stamp is None
            or supervisor.position is None
            or not known.velocities
        ):
            return
        state.stamp, state.command_stamp = supervisor.stamp, output.stamp
        state.patience, state.slow_period = supervisor.patience, supervisor.slow_period
        state.oldest = supervisor.limits.max_state_age
        self._before, self._last = supervisor.position, output.last
        self._q[:], self._dq[:] = supervisor.position, known.velocities
        self._drift[:], self._command[:] = known.drift, output.last
        self._ready = True

    def _read_by(self, layout: MessageLayout) -> None:
        state = self._state
        state.length, state.nanosec_place = len(layout.pattern), layout.nanosec
        state.has_effort = layout.has_effort
        for place, value in enumerate(layout.places):
            state.place[place] = value
        for name, values in (('pattern', layout.pattern), ('mask', layout.mask)):
            getattr(state, name)[: len(values)] = values

    def _knows_what_is_desired(self, law: ControlLaw, stamp: float | None) -> bool:
        """Take over the reference from a stamp [s] on; return whether that is all there is."""
        reference = self._controller.reference
        piece = self._piece
        if reference.changes != self._changes or (
            piece is not None and stamp is not None and not piece.begin <= stamp < piece.end
        ):
            self._changes = reference.changes
            self._piece = piece = None if stamp is None else reference.piece(stamp)
            if piece is not None:
                state = self._state
                state.begin, state.end = piece.begin, piece.end
                state.start, state.duration = piece.start, piece.duration
                self._coefficients[:] = piece.coefficients
        self._state.has_reference = piece is not None
        if piece is None:
            # Gains without a reference hold the arm where it is first seen.
            return reference.empty and not law.has_gains
        return not law.settings.terms.friction and not law.tracking.flange_bound

    def _use(self, law: ControlLaw) -> None:
        """Take over the terms of other settings."""
        state, terms, switches = self._state, law.terms, law.settings.terms
        _fill(state.arm, terms.true.model)
        receiver = terms.receiver
        state.gravity_share = switches.gravity and not (
            law.settings.profile.receiver_adds_gravity and receiver is None
        )
        state.receiver_share = switches.gravity and receiver is not None
        if receiver is not None:
            _fill(state.receiver, receiver.model)
        state.motion_share = law.settings.scale
        state.coriolis, state.inertia = switches.coriolis, switches.inertia
        state.at_reference = law.settings.state_source is StateSource.REFERENCE
        # Where Python computes the same bound otherwise, it must not be the stricter one.
        self._set('tracking', _ROUNDED * np.array(law.tracking.bounds))
        self._set('kp', law.kp)
        self._set('kd', law.kd)


def _fill(arm: Any, model: pin.Model) -> None:
    """Copy a chain's geometry and inertia."""
    arm.gravity[:] = model.gravity.linear.tolist()
    for j in range(model.nv):
        placement, inertia, body = model.jointPlacements[j + 1], model.inertias[j + 1], arm.body[j]
        body.rotation[:] = placement.rotation.ravel().tolist()
        body.translation[:] = placement.translation.tolist()
        body.inertia[:] = inertia.inertia.ravel().tolist()
        body.center_of_mass[:] = inertia.lever.tolist()
        body.mass, body.rotor_inertia = inertia.mass, model.armature[j]
        body.prismatic = float(model.joints[j + 1].shortname() == pin.JointModelPZ().shortname())


@functools.cache
def compiled_library() -> Path:
    """
    Return the compiled code, from the user's cache folder or compiled now (a second).

    Raises
    ------
    CompilationError
        If there is no C compiler, it fails, or there is no folder to put the code into.

    """
    source = resources.files(__package__).joinpath(_SOURCE).read_text(encoding='utf-8')
    identity = '\n'.join([sys.platform, os.uname().machine, *_OPTIONS, source])
    name = f'compiled_cycle_{hashlib.sha256(identity.encode()).hexdigest()[:24]}.so'
    try:
        cache = Path(os.environ.get('XDG_CACHE_HOME') or Path.home() / '.cache')
        root = cache / 'franka_dynamics' / 'compiled'
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Code that others could have put there is none to be loaded.
        if root.stat().st_uid != os.getuid() or root.stat().st_mode & 0o022:
            raise PermissionError
        path = root / name
        if not path.is_file():
            _compile(source, path)
    # Without a cache folder of one's own, anew in each process; Path.home() finds none for a user
    # that the system does not know, as containers have.
    except (OSError, RuntimeError):
        try:
            folder = tempfile.mkdtemp(prefix='franka_dynamics-')
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
            path = Path(folder) / name
            _compile(source, path)
        except OSError as error:
            raise CompilationError(
                f'No folder takes the compiled code: {shortened(str(error), 200)}.'
            ) from error
    return path


def _compile(source: str, path: Path) -> None:
    """Write a library that another process, which may load it just now, sees whole or not."""
    compiler = shutil.which('cc') or shutil.which('gcc') or shutil.which('clang')
    if compiler is None:
        raise CompilationError('No C compiler (cc, gcc or clang) is on the PATH.')
    with tempfile.TemporaryDirectory(dir=path.parent, prefix='.compiling-') as folder:
        written, made = Path(folder) / _SOURCE, Path(folder) / path.name
        written.write_text(source, encoding='utf-8')
        words = [compiler, *_OPTIONS, '-o', str(made), str(written), '-lm']
        try:
            done = subprocess.run(
                words, capture_output=True, text=True, timeout=_LONGEST_COMPILATION_S
            )
        except subprocess.TimeoutExpired as error:
            raise CompilationError(
                f'{compiler} did not end within {_LONGEST_COMPILATION_S:g} s.'
            ) from error
        if done.returncode:
            said = (done.stderr.strip().splitlines() or ['nothing'])[0]
            raise CompilationError(f'{compiler} failed and says: {said[:200]}')
        os.replace(made, path)
