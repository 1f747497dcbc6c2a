# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What follows for the command from who carries the arm: the first torque, and later conflicts."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

import numpy as np

from .gravity_monitor import GravityEvidence, GravityMonitor, GravityState
from .settings import Settings
from .terms import TermModel
from ..typing import Array

# On an inclined base the whole of g(q) must pull; contact may carry some of it for a moment.
_LEAST_ACTING, _WRONG_WINDOWS = 0.3, 3
_STILL = 0.02  # [rad/s]
# What a person changes to settle who carries the arm, and how it is mounted and loaded.
_WHO = frozenset({'target', 'terms.gravity'})
_MOUNT = _WHO | {'gravity_vector', 'payload', 'payload_known_to_robot'}


class FirstTorque(Enum):
    """How a target that leaves gravity to us is given its first torque."""

    NOT_YET = 'not yet'  # nothing is known, or something seems wrong
    AT_ONCE = 'at once'  # the arm is braked, or shows that nobody carries it
    RAMPED = 'ramped'  # all else


class Conflict(NamedTuple):
    """Why gravity must not be commanded, and the settings whose change may resolve it."""

    reason: str
    touched_by: frozenset[str]


class GravityGuard:
    """
    Judges the gravity monitor's evidence for one set of settings.

    Parameters
    ----------
    settings : Settings
        The live parameters in use.
    terms : TermModel
        Of the same settings.
    take_over : bool
        Whether an arm that is carried is known to be so by the last command of a node that was
        killed, which its receiver still holds.

    """

    def __init__(self, settings: Settings, terms: TermModel, *, take_over: bool = False) -> None:
        self._settings, self._take_over = settings, take_over
        self.monitor = GravityMonitor(terms.true.mass_matrix)
        self.restart()

    @property
    def _ours(self) -> bool:
        """Whether all of g(q) is ours to command."""
        return self._settings.terms.gravity and not self._settings.profile.receiver_adds_gravity

    @property
    def _checks_mount(self) -> bool:
        """Whether part of g(q) is ours, because the base is inclined."""
        settings = self._settings
        return (
            settings.terms.gravity and settings.profile.receiver_adds_gravity and settings.inclined
        )

    def restart(self) -> None:
        """Forget all evidence; the next verdict rests on new states alone."""
        self.monitor.restart()
        self._windows = self._wrong_windows = 0
        self._still = False
        self._weightless_from_rest = False
        self._running = True

    def add(
        self,
        stamp: float,
        q: Array,
        dq: Array,
        effort: Array | None,
        command: Array,
        gravity: Array,
        *,
        running: bool,
    ) -> Conflict | None:
        """
        Take one joint state, as GravityMonitor.add; return a conflict if it shows one.

        `running` says whether torques are being published.
        """
        # States from before the first torque show who carried the arm then.
        self._running = self._running and running
        evidence = self.monitor.add(stamp, q, dq, effort, command, gravity)
        if evidence is None:
            return None
        running, self._running = self._running, True
        self._windows += 1
        # Where efforts and motion are not of the same moment (late commands, missing states), a
        # fast arm may seem to be without gravity; one that is shows it from rest on.
        self._weightless_from_rest = evidence.state is GravityState.NO_GRAVITY and (
            self._still or self._weightless_from_rest
        )
        self._still = bool(np.abs(dq).max() < _STILL)
        if self._ours:
            return self._doubled(evidence, running=running)
        if self._checks_mount:
            return self._wrong_mount(evidence)
        return None

    def first_torque(self) -> FirstTorque:
        """Return how to begin, from the evidence that was gathered while nothing was commanded."""
        if self._checks_mount and (not self._windows or self._wrong_windows):
            return FirstTorque.NOT_YET
        if not self._ours:
            return FirstTorque.RAMPED
        if not self._windows:
            return FirstTorque.NOT_YET
        state = self.monitor.evidence.state
        if state is GravityState.COMPENSATED and not self._take_over:
            return FirstTorque.NOT_YET
        braked = (
            self._still
            and self._settings.profile.braked_until_commanded
            and self.monitor.evidence.idle
        )
        if (
            braked
            or state in (GravityState.UNCOMPENSATED, GravityState.NO_GRAVITY)
            or (state is GravityState.COMPENSATED and self._take_over)
        ):
            return FirstTorque.AT_ONCE
        return FirstTorque.RAMPED

    def _doubled(self, evidence: GravityEvidence, *, running: bool) -> Conflict | None:
        """Return a conflict where the arm shows that the gravity we command is too much."""
        carried = evidence.state is GravityState.COMPENSATED and (running or not self._take_over)
        weightless = self._weightless_from_rest and running and evidence.commanded > 0.5
        if not carried and not weightless:
            return None
        return Conflict(
            f'target {self._settings.target} leaves gravity to this node, but the arm is '
            f'{evidence.state.value}: {evidence.sentence}. Choose a target that compensates '
            'gravity itself (fci, franka_gazebo), or switch the other compensation off; where the '
            'receiver holds the last command of a node that was killed, deactivate its '
            'controller first or start this node with take_over',
            _WHO | {'gravity_vector'} if weightless else _WHO,
        )

    def _wrong_mount(self, evidence: GravityEvidence) -> Conflict | None:
        wrong = evidence.measured and evidence.acting < _LEAST_ACTING
        self._wrong_windows = self._wrong_windows + 1 if wrong else 0
        if self._wrong_windows < _WRONG_WINDOWS:
            return None
        return Conflict(
            f'gravity_vector is {list(self._settings.gravity_vector)}, but of the gravity torque '
            f'it stands for {evidence.acting:.0%} is measured; it must be gravity in the base '
            'frame of the arm as it is mounted',
            _MOUNT,
        )
