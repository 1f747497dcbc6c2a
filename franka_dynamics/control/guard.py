# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The guard detects an arm that does not move as the model predicts under the commanded torque.

By a momentum observer the guard compares three torques of every joint: the commanded torque (with
the gravity that the target adds), the measured torque, and the torque that the motion needs
according to the model. A wrong payload, gravity vector, target or hand, a wall or a push causes a
difference; the arm is stopped if the difference exceeds a bound.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from enum import Enum

import numpy as np

from .braking import REST_SPEED
from .external_torque import friction_in_effort, LONGEST_STEP_S, MomentumObserver
from .settings import per_joint
from .terms import StateTerms, TermModel
from ..arm.friction import FrictionModel
from ..arm.friction_state import FrictionState
from ..errors import distinct, SettingsError
from ..typing import Array

# Bounds as fractions of the torque limit. MEASURED bounds the measured torque minus the torque
# that the motion needs according to the model; on real FER and FR3 arms that nobody touched, at up
# to 85 % of their velocity limits, this difference was up to 8.5 % of a joint's torque limit.
# COMMANDED bounds the commanded torque minus the measured torque or, without measured torques,
# minus the torque that the motion needs. The differences from the commanded torque contain
# friction and rotor inertia as well.
MEASURED, COMMANDED = 0.10, 0.20
# The guard stops the arm if a difference exceeds its bound for HOLD_S [s] (elastic gears and
# vibration exceed the bound for shorter times), or AT_ONCE times its bound for AT_ONCE_S, which is
# three states at 1 kHz.
HOLD_S, AT_ONCE, AT_ONCE_S = 0.02, 4.0, 0.003
# Allowed joint speed without a reference, and largest allowed speed, both as fractions of the
# velocity limit; the guard stops the arm if a joint is faster for FAST_S [s]. Under weak gains an
# arm overshoots its reference and lags behind. Therefore _OVERSHOOT times the reference's joint
# speed is added to the allowed joint speed; earlier speeds of the reference count as well, but
# decay with the time constant _LAG_S [s].
OVER_REFERENCE, FASTEST, FAST_S = 0.5, 1.15, 0.003
_OVERSHOOT, _LAG_S = 1.5, 0.5
# Time [s] and number of joint states that the guard needs before its first verdict.
SETTLED_S, _SETTLED_STATES = 0.018, 20
# Brakes hide any difference, so if brakes may hold the arm at the first torque, the guard judges
# only once a joint moved by _MOVED [rad] or at _MOVED_AT [rad/s], or after _BRAKES_OPEN_S [s].
_MOVED, _MOVED_AT, _BRAKES_OPEN_S = 3e-3, 0.05, 1.0
# After a change of payload, an arm that has not lifted the load yet can press on a table with the
# load's weight. While an arm held by gains presses on the table, each joint moves by less than
# _PRESSES [rad] and slower than _PRESSES_AT [rad/s].
_PRESSES, _PRESSES_AT = 0.03, 0.1
_NEAR_BOUND = 0.8  # share of a bound above which `judgement` names the joint
_FROZEN = 10  # this many identical efforts in a row are no measurement
_IDLE = 0.02  # fraction of the torque limit below which a measured torque counts as none
# Before the first torque the observer estimates the torque that holds the arm. If its norm is at
# most _FALLING times the norm of g(q), the arm falls; the norm of g(q) must be at least
# _LEAST_GRAVITY [N m], because an arm with smaller g(q) hardly falls.
_LEAST_GRAVITY, _FALLING = 2.0, 0.3
_KEPT = 64  # number of latest commands kept: a state that is old responds to an earlier command


class FirstTorque(Enum):
    """How commanding may begin."""

    NOT_YET = 'not yet'  # too few states, or something is wrong
    # Begin with the gravity torque: the arm is braked, falls, or is held until a first command.
    AT_ONCE = 'at once'
    RAMPED = 'ramped'  # begin at the last command, or without one at `Guard.held_torque`


@dataclass(frozen=True)
class GuardLimits:
    """
    Settings of the guard.

    `joint_factors` multiply the bounds on unexplained torque, one factor for all joints or one for
    each joint; `bag replay --learn` finds the factors for an arm. For `payload_time` [s] after the
    payload mass changes while torques are commanded, the guard accepts an arm that hardly moves
    and carries the old load, the new load or a load in between. `effort_friction` says whether
    measured torques contain friction: included, excluded or auto (see friction_in_effort).
    """

    joint_factors: tuple[float, ...] = (1.0,)
    payload_time: float = 5.0
    effort_friction: str = 'auto'


class Guard:
    """
    Compares commanded torque, measured torque and motion of one arm at every joint state.

    Raises SettingsError if there are not one or n joint factors, if a joint factor is not
    positive, or if effort_friction is `included` and the arm has no friction model.

    Attributes
    ----------
    measured : bool
        Whether the joint states carry a measured torque.
    command_residual : ndarray, shape (n,)
        Commanded torque, with the target's gravity, beyond what the motion needs [N m].
    external : ndarray, shape (n,)
        The measured torque beyond what motion and friction need [N m]: the external torque in
        FCI's sign. Equal to `command_residual` if no torque is measured.
    shares : ndarray, shape (n,)
        Each joint's largest difference as a share of its bound, at the last judged state.
    largest : ndarray, shape (n,)
        The largest `shares` while torques were judged since the controller was last enabled.

    """

    def __init__(self, terms: TermModel, limits: GuardLimits | None = None) -> None:
        self.limits = limits or GuardLimits()
        description = terms.description
        self._names = description.joint_names
        self._effort = description.limit('effort')
        self._velocity = description.limit('velocity')
        factors = per_joint('guard.joint_factors', self.limits.joint_factors, description.n)
        if not (factors > 0.0).all():
            raise SettingsError(f'guard.joint_factors must be positive; got {factors.tolist()}.')
        with np.errstate(divide='ignore'):
            # Reciprocals of the bounds by MEASURED and COMMANDED, shape (2, n) [1/(N m)]; zero for
            # a joint without torque limit.
            self._per_bound = 1.0 / (np.array([[MEASURED], [COMMANDED]]) * factors * self._effort)
        self._zero = np.zeros(description.n)
        self._no_effort = self._zero.tobytes()
        self._terms = terms
        self._friction = FrictionState(self._friction_in_effort())
        self._load_change: Array | None = None
        self.largest = self._zero.copy()
        self.restart()

    def restart(self) -> None:
        """Forget all states and commands."""
        self._commands: deque[Array] = deque(maxlen=_KEPT)
        self._began: tuple[float, Array] | None = None
        self._first_stamp: float | None = None
        self._states = self._frozen = 0
        self._stamp = 0.0
        self._q = self._dq = self._zero
        self._last_effort = b''
        self._moved = self.measured = False
        self._over_bound_s = self._far_over_s = self._too_fast_s = 0.0
        self._reference_speed = self._zero
        self._gravity_to_command = self._gravity = self._zero
        self._observer = MomentumObserver(self._terms.true)
        self.command_residual = self.external = self.shares = self._zero

    def use(self, terms: TermModel) -> None:
        """Use another model; if the payload mass changes after `begin`, `payload_time` begins."""
        before, self._terms = self._terms, terms
        friction = self._friction_in_effort()
        if self._friction.model is not friction:
            self._friction = FrictionState(friction)
        if self._began is not None:
            change = terms.gravity(self._q) - before.gravity(self._q)
            loads = before.loaded.links[-1].mass, terms.loaded.links[-1].mass
            if loads[0] != loads[1] and self.limits.payload_time > 0.0:
                self._load_change, self._load_changed_at = change, (self._stamp, self._q)
        observer = MomentumObserver(terms.true)
        observer.go_on_from(self._observer)
        self._observer = observer

    def _friction_in_effort(self) -> FrictionModel | None:
        """Return the friction model to subtract from measured torques; None: subtract nothing."""
        terms = self._terms
        return friction_in_effort(self.limits.effort_friction, terms.description, terms.profile)

    def begin(self, stamp: float, q: Array, *, moved: bool = False) -> None:
        """
        Start judging: from the state stamped `stamp` [s] at `q` on, torques are commanded.

        `moved`: no brake holds the arm, so the guard does not wait until the arm moves.
        """
        self._began, self._moved = (stamp, q), moved
        self._over_bound_s = self._far_over_s = self._too_fast_s = 0.0
        self._load_change = None
        # Brakes or another controller may have held the arm before, so the observer's estimate of
        # the external torque is out of date.
        self._observer.forget_torque()

    def end(self) -> None:
        """Stop judging: no torque is commanded, or the arm is being braked."""
        self._began = self._load_change = None

    def commanded(self, torque: Array) -> None:
        """Remember a published command, shape (n,) [N m]."""
        self._commands.append(torque)

    def observe(self, state: StateTerms, effort: Array | None, *, age: float = 0.0) -> None:
        """
        Take a joint state; the caller passes the command for that state to `commanded` afterwards.

        `effort`, shape (n,), is the measured torque [N m], None if the state has none. A state
        that is `age` seconds old responds to the command that was given `age` seconds ago.
        """
        stamp, q, dq, gravity = state.stamp, state.q, state.dq, state.gravity
        elapsed = stamp - self._stamp if self._first_stamp is not None else 0.0
        if self._first_stamp is None or not 0.0 <= elapsed <= LONGEST_STEP_S:
            self._first_stamp, self._states = stamp, 0
        self._stamp, self._q, self._dq, self._gravity = stamp, q, dq, gravity
        self._states += 1
        self._elapsed = elapsed
        self._gravity_to_command = self._terms.gravity_to_command(q, gravity)
        believed = gravity - self._gravity_to_command + self._command(age, elapsed)
        self._note_effort(effort)
        torque = believed
        if self.measured and effort is not None:
            self._friction.follow(stamp, q)
            torque = effort - self._friction.torque(dq)
        found = self._observer.update(stamp, q, dq, np.array((believed, torque)), gravity)
        self.command_residual, self.external = found[0], found[1]

    def _command(self, age: float, elapsed: float) -> Array:
        """Return the command to which a state that is `age` seconds old responds."""
        if not self._commands:
            return self._zero
        late = round(age / elapsed) if 0.0 < elapsed < age else 0
        return self._commands[-1 - min(late, len(self._commands) - 1)]

    def _note_effort(self, effort: Array | None) -> None:
        """
        Set the attribute `measured`: whether `effort` is a measured torque.

        An effort that is missing, zero, or constant while the arm moves is no measured torque. If
        the receiver adds gravity, an effort equal to one of the last three commands is no measured
        torque.
        """
        data = b'' if effort is None else effort.tobytes()
        if data != self._last_effort:
            self._frozen = 0
        elif np.abs(self._dq).max() > REST_SPEED:  # at rest a simulated effort does not change
            self._frozen += 1
        self._last_effort = data
        measured = bool(data) and data != self._no_effort and self._frozen < _FROZEN
        if measured and self._terms.adds_gravity:
            latest = range(1, 1 + min(3, len(self._commands)))
            measured = not any(data == self._commands[-one].tobytes() for one in latest)
        self.measured = measured

    def _ratios(self) -> tuple[Array, Array]:
        """
        Return |torque - needed torque|, |torque - command| as shares of their bounds, (n,) each.

        `torque` is the measured torque or, if none is measured, the commanded torque; the needed
        torque is the one that the motion needs according to the model.
        """
        by_motion, by_command = self.external, self.external - self.command_residual
        if self._load_change is not None:
            by_motion, by_command = (
                _less_load(one, self._load_change) for one in (by_motion, by_command)
            )
        measured, commanded = self._per_bound
        return np.abs(by_motion) * (measured if self.measured else commanded), (
            np.abs(by_command) * commanded
        )

    @property
    def takes_friction_out(self) -> bool:
        """Whether the guard subtracts friction from measured torques."""
        return self._friction.model is not None

    # While torques are commanded ---------------------------------------------------------------

    def judge(self, desired_speed: Array | None = None) -> str:
        """
        Return why the arm must be braked after the last state, or an empty string.

        `desired_speed` are the reference's velocities, shape (n,) [rad/s]; None: no reference.
        """
        if self._began is None:
            return ''
        speed, elapsed = np.abs(self._dq), self._elapsed
        fastest = float(speed.max())
        began, place = self._began
        if not self._moved:
            self._moved = (
                fastest > _MOVED_AT
                or self._stamp - began > _BRAKES_OPEN_S
                or float(np.abs(self._q - place).max()) > _MOVED
            )
        if self._load_change is not None:
            self._end_load_change(fastest)
        by_motion, by_command = self._ratios()
        self.shares = np.maximum(by_motion, by_command)
        worst = float(self.shares.max())
        if not self.judges:
            self._over_bound_s = self._far_over_s = self._too_fast_s = 0.0
            return ''
        np.maximum(self.largest, self.shares, out=self.largest)
        # A NaN difference counts as beyond its bound.
        self._over_bound_s = 0.0 if worst <= 1.0 else self._over_bound_s + elapsed
        self._far_over_s = 0.0 if worst <= AT_ONCE else self._far_over_s + elapsed
        if self._over_bound_s >= HOLD_S or self._far_over_s >= AT_ONCE_S:
            return self._unexplained(by_motion, by_command)
        # Under weak gains an arm lags, so earlier speeds of the reference still count, decaying.
        self._reference_speed = max(0.0, 1.0 - elapsed / _LAG_S) * self._reference_speed
        if desired_speed is not None:
            self._reference_speed = np.maximum(self._reference_speed, np.abs(desired_speed))
        allowed = np.minimum(
            OVER_REFERENCE * self._velocity + _OVERSHOOT * self._reference_speed,
            FASTEST * self._velocity,
        )
        self._too_fast_s = self._too_fast_s + elapsed if (speed > allowed).any() else 0.0
        if self._too_fast_s < FAST_S:
            return ''
        joint = int((speed / allowed).argmax())
        return (
            f'{self._names[joint]} moves at {self._dq[joint]:.2f} rad/s, and '
            f'{allowed[joint]:.2f} '
            'are allowed (by its reference and its limit)'
        )

    def _end_load_change(self, fastest: float) -> None:
        """Stop accepting the old load once the arm moves, or after `payload_time`."""
        since, place = self._load_changed_at
        if (
            fastest > _PRESSES_AT
            or self._stamp - since > self.limits.payload_time
            or float(np.abs(self._q - place).max()) > _PRESSES
        ):
            self._load_change = None

    def unexplained(self) -> str:
        """
        Return a phrase naming a joint whose torque the model does not explain now, or ''.

        Even if no torque is measured, `unexplained` applies the narrower bound, that for measured
        torques, because at rest friction is smaller than in motion and rotor inertia has no
        effect.
        """
        by_motion = np.abs(self.external) * self._per_bound[0]
        joint = int(by_motion.argmax())
        if by_motion[joint] <= 1.0:
            return ''
        return (
            f'the torque that holds {self._names[joint]} '
            f'{_departs(self.external[joint], self._per_bound[0, joint], "the model")}; check '
            'payload, hand, gravity_vector and target, or something touches the arm'
        )

    def _unexplained(self, by_motion: Array, by_command: Array) -> str:
        joint = int(self.shares.argmax())
        name = self._names[joint]
        if by_command[joint] > by_motion[joint]:
            differ = (self.external - self.command_residual)[joint]
            added = f'what is commanded and target {self._terms.profile.name} adds'
            return (
                f'the measured torque of {name} '
                f'{_departs(differ, self._per_bound[1, joint], added)}; check target, payload and '
                'gravity_vector'
            )
        per_bound = self._per_bound[0 if self.measured else 1, joint]
        departs = _departs(self.external[joint], per_bound, 'what its motion needs')
        return (
            f'the {"measured" if self.measured else "commanded"} torque of {name} {departs}; '
            'check payload, hand, gravity_vector and target, or something touches the arm'
        )

    @property
    def judges(self) -> bool:
        """Whether torques are commanded, brakes hide no difference, and the guard has settled."""
        return self._began is not None and self._moved and self.settled

    def judgement(self) -> tuple[bool, str]:
        """Return whether the guard judges and no joint is near its bound, and a sentence why."""
        if not self.judges:
            few = 'too few joint states came since the start or the last gap'
            why = 'the arm has not moved, and brakes may hold it' if self.settled else few
            return False, f'nothing is judged yet: {why}'
        joint = int(self.shares.argmax())
        share = self.shares[joint]
        if share > _NEAR_BOUND:
            return False, f'{self._names[joint]} is near its bound ({share:.0%} of it)'
        return True, 'the arm does what the model says'

    # Before the first torque ---------------------------------------------------------------------

    @property
    def settled(self) -> bool:
        """Whether the guard has seen enough states for a verdict."""
        return (
            self._first_stamp is not None
            and self._states >= _SETTLED_STATES
            and self._stamp - self._first_stamp >= SETTLED_S
        )

    def first_torque(
        self, *, braked_until_commanded: bool, held_until_commanded: bool
    ) -> tuple[FirstTorque, str]:
        """
        Return how commanding may begin, and for NOT_YET the reason ('' if states are too few).

        `braked_until_commanded` says whether brakes hold an arm that stands still without effort,
        `held_until_commanded` whether a receiver that adds no gravity carries the arm until the
        first command.
        """
        if not self.settled:
            return FirstTorque.NOT_YET, ''  # too few states for a verdict
        ours = not self._terms.adds_gravity
        still = float(np.abs(self._dq).max()) <= REST_SPEED
        if self.idle and ours:
            if braked_until_commanded and still:
                return FirstTorque.AT_ONCE, ''
            size = float(np.linalg.norm(self._gravity))
            falls = np.linalg.norm(self.command_residual) <= _FALLING * size
            return (
                FirstTorque.AT_ONCE
                if size >= _LEAST_GRAVITY and falls and not self._commands
                else FirstTorque.RAMPED
            ), ''
        if not self.measured:
            return FirstTorque.RAMPED, ''
        return self._compared_at_rest(ours, held_until_commanded)

    def held_torque(self) -> Array:
        """
        Return the torque that acts before the node's first command, (n,) [N m].

        A receiver without a time-out goes on applying the last torque of a node that was killed.
        `held_torque` returns the measured effort if the effort explains how the arm moves, else
        zero. At rest the returned torque is zero, because an error of the model would look like an
        acting torque. If the target adds gravity the returned torque is zero, because the target's
        receiver begins at zero, and a person who moves the arm causes an effort as well.
        """
        terms, moving = self._terms, float(np.abs(self._dq).max()) > REST_SPEED
        if terms.adds_gravity or not moving or not self._last_effort:
            return self._zero
        effort = np.frombuffer(self._last_effort)
        unexplained = np.abs(effort + self.command_residual) * self._per_bound[1]
        return effort if (unexplained <= 1.0).all() else self._zero

    @property
    def idle(self) -> bool:
        """Whether all measured torques are zero up to noise, or no torque is measured."""
        return self._idle() or not self.measured

    def _idle(self) -> bool:
        """Return whether the last state has efforts and all of them are zero up to noise."""
        if not self._last_effort:
            return False
        return bool((np.abs(np.frombuffer(self._last_effort)) <= _IDLE * self._effort).all())

    def _compared_at_rest(self, ours: bool, held: bool) -> tuple[FirstTorque, str]:
        by_motion = self.external
        by_command = by_motion - self.command_residual
        per_bound = self._per_bound[0]
        unexplained = np.abs(by_command) * per_bound
        carried = bool((unexplained > 1.0).any())
        if held or not ours:
            # Until the first command, the receiver may also add the gravity torque that the node
            # will command.
            unexplained = np.minimum(
                unexplained, np.abs(by_command - self._gravity_to_command) * per_bound
            )
        shares = np.abs(by_motion) * per_bound
        self.shares = np.maximum(shares, unexplained)
        joint = int(self.shares.argmax())
        if self.shares[joint] <= 1.0:
            return (FirstTorque.AT_ONCE if ours and carried else FirstTorque.RAMPED), ''
        name = self._names[joint]
        if self._idle():
            return FirstTorque.NOT_YET, (
                f'no joint is measured to give a torque, but target {self._terms.profile.name} '
                'should carry the arm; is it braked, or is target wrong?'
            )
        if shares[joint] > 1.0:
            return FirstTorque.NOT_YET, (
                f'before the first torque the measured torque of {name} '
                f'{_departs(by_motion[joint], per_bound[joint], "the model")}; check payload, '
                'hand, gravity_vector and robot_type, or something touches the arm'
            )
        return FirstTorque.NOT_YET, (
            f'before the first torque {name} is measured to get {by_command[joint]:+.1f} N m that '
            'nobody should be adding. If the robot or another controller carries the arm, '
            'deactivate that controller, or set target to fci or franka_gazebo, with which this '
            'node adds no gravity. If the receiver lets go at the first torque, set '
            'held_until_commanded'
        )


def _departs(difference: float, per_bound: float, expected: str) -> str:
    """Return the phrase 'departs by `difference` N m from `expected`', and what is allowed."""
    _, bound = distinct(abs(difference), 1.0 / per_bound)
    digits = len(bound.partition('.')[2])
    return f'departs by {difference:+.{digits}f} N m from {expected} (at most {bound} are allowed)'


def _less_load(difference: Array, change: Array) -> Array:
    """
    Return `difference`, (n,) [N m], corrected for a load that is not yet lifted or set down.

    `change`, shape (n,), is the change of the gravity torque by a change of payload [N m]. A share
    of `change`, 0 to 1, is added to `difference`, so that the norm of the sum is least.

    """
    square = float(change @ change)
    share = min(max(-float(difference @ change) / square, 0.0), 1.0) if square > 0.0 else 0.0
    return difference + share * change
