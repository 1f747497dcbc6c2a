# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Who compensates gravity, told from effort, command and model, and what follows from it.

Compensating gravity twice is the first hazard of this field, and receivers have changed their
mind about it between releases.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

import numpy as np

from .cycle_result import Cycle
from .settings import Settings
from .terms import TermModel
from ..typing import Array


class GravityState(str, Enum):
    """What the arm's own measurements say about gravity."""

    UNKNOWN = 'unknown'
    COMPENSATED = 'compensated'  # somebody besides us carries the arm
    UNCOMPENSATED = 'uncompensated'  # nobody does but, if at all, our command
    NO_GRAVITY = 'no gravity'  # nothing carries the arm, and yet it does not fall


@dataclass(frozen=True)
class GravityEvidence:
    """
    A verdict and the shares of g(q) it rests on.

    `commanded`: the part our command carried. `added`: the part of the measured effort that our
    command does not explain. `acting`: the part of g that the motion shows to pull. `measured`:
    whether there was an effort to tell them from. `idle`: whether no drive was measured to
    give anything.
    """

    state: GravityState
    sentence: str
    commanded: float = 0.0
    added: float = 0.0
    acting: float = 0.0
    measured: bool = False
    idle: bool = False


WINDOW = 10  # joint states per verdict: 10 ms at 1 kHz
_LEAST_GRAVITY = 2.0  # [N m] norm of g below which the pose shows nothing
_MISFIT = 0.35  # of |g|: an effort that points elsewhere is contact or friction
_NONE, _ALL = 0.3, 0.7  # shares of g that count as none and as all of it


def gravity_share(torque: Array, gravity: Array) -> float:
    """Return the share of g(q) that a torque carries; 0 where it points elsewhere."""
    square = float(gravity @ gravity)
    if square < _LEAST_GRAVITY**2:
        return 0.0
    share = float(torque @ gravity) / square
    misfit = np.linalg.norm(torque - share * gravity)
    return share if misfit <= _MISFIT * np.sqrt(square) else 0.0


def judge(
    effort: Array, command: Array, gravity: Array, inertial: Array, missing: str = ''
) -> GravityEvidence:
    """
    Return who carries the arm, from means over a short time, each of shape (n,) [N m].

    What the actuators give beyond our command is `effort - command`; what the motion shows to
    pull is `effort - inertial`. Both are measured in shares of the model's gravity torque. Where
    no effort is measured, because it is `missing` as that says, only a fall shows anything.
    """
    square, idle = float(gravity @ gravity), bool(missing)
    if square < _LEAST_GRAVITY**2:
        return GravityEvidence(
            GravityState.UNKNOWN, missing or 'gravity has no lever at this pose', idle=idle
        )
    given = command if idle else effort
    commanded, added, acting = (
        float(torque @ gravity) / square for torque in (command, given - command, given - inertial)
    )
    if idle:
        if not (abs(commanded) < _NONE and acting > _ALL):
            return GravityEvidence(GravityState.UNKNOWN, missing, idle=True)
        falls = f'{missing}, but the arm falls with {acting:.0%} of g(q)'
        state = GravityState.UNCOMPENSATED
        return GravityEvidence(state, falls, commanded, 0.0, acting, idle=True)
    shares = (
        f'our command carries {commanded:.0%} of g(q), something else adds {added:.0%}, '
        f'and {acting:.0%} of it is seen to pull'
    )
    state = GravityState.UNKNOWN
    misfit = np.linalg.norm(effort - command - added * gravity) / np.sqrt(square)
    if misfit > _MISFIT:
        shares = f'the measured effort does not point along g(q) (misfit {misfit:.0%})'
    elif added > _ALL:
        state = GravityState.COMPENSATED
    elif abs(added) < _NONE and acting > _ALL:
        state = GravityState.UNCOMPENSATED
    elif abs(added) < _NONE and abs(acting) < _NONE:
        state = GravityState.NO_GRAVITY
    return GravityEvidence(state, shares, commanded, added, acting, measured=True)


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
    Judges joint states, WINDOW of them at a time, for one set of settings.

    `evidence` is the latest verdict.

    Parameters
    ----------
    settings : Settings
        The live parameters in use.
    terms : TermModel
        Of the same settings.
    held_until_commanded : bool
        Whether the receiver carries the arm until the first command comes, and lets go then.

    """

    def __init__(
        self, settings: Settings, terms: TermModel, *, held_until_commanded: bool = False
    ) -> None:
        self._settings, self._held = settings, held_until_commanded
        self._mass_matrix = terms.true.mass_matrix
        self._samples: list[tuple[Array, Array, Array]] = []
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
        self.evidence = GravityEvidence(GravityState.UNKNOWN, 'not enough joint states yet')
        self._samples.clear()
        self._windows = self._wrong_windows = 0
        self._still = False
        self._weightless_from_rest = False
        self._running = True

    def add(self, cycle: Cycle, *, running: bool) -> Conflict | None:
        """
        Take a cycle with its terms; return a conflict if it shows one.

        Its measured effort answers to the command before it. `running` says whether torques are
        being published.
        """
        assert cycle.gravity is not None, 'only asked with terms'
        _, stamp, q, dq, effort, *_ = cycle
        command = np.zeros_like(q) if cycle.previous is None else cycle.previous
        # States from before the first torque show who carried the arm then.
        self._running = self._running and running
        if not self._samples:
            self._began, self._measured = (stamp, dq), True
        self._measured = self._measured and effort is not None
        # Only kept here; what is computed from them is computed once per window.
        self._samples.append((command if effort is None else effort, command, cycle.gravity))
        if len(self._samples) < WINDOW:
            return None
        samples = np.array(self._samples)
        self._samples.clear()
        evidence = self.evidence = self._judge_window(samples, stamp, q, dq)
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

    def _judge_window(self, samples: Array, stamp: float, q: Array, dq: Array) -> GravityEvidence:
        """Return the verdict on samples of shape (WINDOW, 3, n), the last at a state."""
        began, dq_began = self._began
        acceleration = (dq - dq_began) / (stamp - began) if stamp > began else np.zeros_like(dq)
        missing = ''
        if not self._measured:
            missing = 'the joint states carry no measured effort'
        elif not samples[:, 0].any():
            missing = 'the measured effort is exactly zero'
        effort, command, gravity = samples.mean(axis=0)
        return judge(effort, command, gravity, self._mass_matrix(q) @ acceleration, missing)

    def first_torque(self) -> FirstTorque:
        """Return how to begin, from the evidence that was gathered while nothing was commanded."""
        if self._checks_mount and (not self._windows or self._wrong_windows):
            return FirstTorque.NOT_YET
        if not self._ours:
            return FirstTorque.RAMPED
        if not self._windows:
            return FirstTorque.NOT_YET
        state = self.evidence.state
        if state is GravityState.COMPENSATED and not self._held:
            return FirstTorque.NOT_YET
        braked = (
            self._still and self._settings.profile.braked_until_commanded and self.evidence.idle
        )
        if (
            braked
            or state in (GravityState.UNCOMPENSATED, GravityState.NO_GRAVITY)
            or (state is GravityState.COMPENSATED and self._held)
        ):
            return FirstTorque.AT_ONCE
        return FirstTorque.RAMPED

    def _doubled(self, evidence: GravityEvidence, *, running: bool) -> Conflict | None:
        """Return a conflict where the arm shows that the gravity we command is too much."""
        carried = evidence.state is GravityState.COMPENSATED and (running or not self._held)
        weightless = self._weightless_from_rest and running and evidence.commanded > 0.5
        if not carried and not weightless:
            return None
        return Conflict(
            f'target {self._settings.target} leaves gravity to this node, but the arm is '
            f'{evidence.state.value}: {evidence.sentence}. Choose a target that compensates '
            'gravity itself (fci, franka_gazebo), or switch the other compensation off; where the '
            'receiver carries the arm only until a command comes, set held_until_commanded',
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
