# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The core: joint states in, torques out. It alone decides whether a torque may go out.

`Feedforward.step` takes one joint state through five parts, in the order of this file:

1. Can the state be used?                        `StateCheck`, `lose`
2. May torques begin?                            `_may_begin`, `_not_yet`
3. Run, or brake.                                `_answer`, `_braked`
4. Limit the torque and its rate, and send it.   `_limited`, `_stop_step`
5. Is a torque or a speed beyond its bound?      `_judge`, `_misbehaves`

A state is judged once its torque is sent, so that judging does not delay the torque; what is
found changes the next torque. `unexplained_torque` finds the torque that the model does not
explain, `state_check` whether a state is possible, `braking` the braking torque, `reference` the
desired motion, `control_law` the torque.

The five states, and all that leads from one to another, stand in TRANSITIONS. `status` gives
the reason of the present state, and what makes torques begin again.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from enum import Enum
import logging
import math
from pathlib import Path
import threading
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .braking import Brake, LONGEST_S, REST_SPEED
from .control_law import ControlLaw
from .default_gains import weak_gains
from .joint_trial import JointTrial
from .limits import LONGEST_STEP_S, TorqueLimiter
from .reference import Reference
from .settings import Settings
from .state_check import Limits, StateCheck
from .terms import StateTerms
from .trajectory import ReferencePoint, Trajectory
from .unexplained_torque import UnexplainedTorque
from ..arm import ArmDescription
from ..arrays import checked
from ..errors import JointVectorError, NotStartedError, ReferenceRefusedError, SettingsError
from ..typing import Array
from ..urdf.source import described

_LOG = logging.getLogger(__name__)


class State(str, Enum):
    """States of the core."""

    SILENT = 'silent'  # a node sends no torque; a loop gets the resting torque
    RUNNING = 'running'
    BRAKING = 'braking'  # the arm is brought to rest
    HOLDING = 'holding'  # the arm is held at rest until the fault is cleared
    STOPPING = 'stopping'  # the torque goes to the resting torque; no joint state is needed


ACTIVE = (State.RUNNING, State.BRAKING, State.HOLDING)  # a torque answers each joint state


class Event(str, Enum):
    """What changes the state."""

    BEGIN = 'the first torque is allowed'
    STOP = 'a stop is asked for, or the arm does not do what the model says'
    REST = 'the braked arm is at rest'
    REST_HELD = 'the braked arm is at rest, and is to be held'
    DRIVEN = 'the braked arm gets faster, or does not come to rest'
    LOST = 'joint states cannot be used, or have ceased'
    BACK = 'joint states can be used again, and the arm is to be held'
    START = 'the fault is cleared'
    END = 'the resting torque is reached'


TRANSITIONS = {
    (State.SILENT, Event.BEGIN): State.RUNNING,
    (State.SILENT, Event.BACK): State.BRAKING,
    (State.RUNNING, Event.STOP): State.BRAKING,
    (State.RUNNING, Event.LOST): State.STOPPING,
    (State.BRAKING, Event.REST): State.STOPPING,
    (State.BRAKING, Event.REST_HELD): State.HOLDING,
    (State.BRAKING, Event.DRIVEN): State.STOPPING,
    (State.BRAKING, Event.LOST): State.STOPPING,
    (State.HOLDING, Event.START): State.RUNNING,
    (State.HOLDING, Event.STOP): State.STOPPING,
    (State.HOLDING, Event.LOST): State.STOPPING,
    (State.STOPPING, Event.BEGIN): State.RUNNING,
    (State.STOPPING, Event.BACK): State.BRAKING,
    (State.STOPPING, Event.END): State.SILENT,
}

HELD_S = 0.02  # how long a bound on torque must be exceeded [s]: elastic gears ripple
# Allowed share of the velocity limit: without a moving reference, and if the reference moved
# (faster than MOVES [rad/s]) within the last FOLLOWING_S [s]; judged after FAST_S [s].
SPEED_FREE, SPEED_FOLLOWING, FOLLOWING_S, MOVES, FAST_S = 0.6, 1.15, 0.5, 0.05, 0.003
# The first torque needs GOOD_STATES usable states in a row whose median age is at most
# OLDEST_AT_BEGIN_S [s]: feedback from older states may oscillate.
GOOD_STATES, OLDEST_AT_BEGIN_S = 20, 0.015
LONG_WAIT = 200  # states after which the log says why no torque begins, unless the user stopped
RAMP_S = 0.2  # duration of the ramp of a start and of a change of settings [s]
# A receiver may take the first torque up to TAKEN_S [s] late, while brakes hold the arm; they open
# within OPENING_S [s] after that. Until then the bounds on torque do not count.
TAKEN_S, OPENING_S = 1.0, 0.05
# A stop goes on while an arm that nobody carries moves, but not FOLLOWED_S [s] without a state.
FOLLOWED_S = 0.05
# A node's last torque no longer acts if a joint moved by more than SHIFTED [rad or m] in silence,
# or if another target is told in silence, one of which adds gravity and the other does not.
SHIFTED = 0.1
# Gains are refused that would swing with PERIOD_MARGIN times the present period, so that gains
# that are taken do not wait because the measured period is a little longer.
PERIOD_MARGIN = 1.05
CLEARING = 'clear the fault by start()'  # how a status says it
# More than MOST_RESTARTS stops for lost states within RESTART_WINDOW_S [s] are a fault.
MOST_RESTARTS, RESTART_WINDOW_S = 5, 60.0


class Status(NamedTuple):
    """State, why it is so, what makes the core command again, and whether a fault is latched."""

    state: State
    why: str
    remedy: str
    faulty: bool

    def __str__(self) -> str:
        """Return state, reason and remedy in one sentence."""
        remedy = self.remedy and f'; to command again: {self.remedy}'
        return f'{self.state.value}: {self.why}{remedy}'


class Feedforward:
    """
    Feedforward and PD torques for one arm, one for each joint state.

    `step` always returns a torque that is finite, within the torque limits, and within 1000 N m/s
    of the torque before. An arm that does not do what the model says is braked. If joint states
    cannot be used, the torque goes to the resting torque: zero if the target compensates gravity,
    else g(q). Any thread may call any method.

    `arm` is without the payload, or its name or file. `target` says who receives the torques: fci,
    franka_gazebo, gz_ros2_control or mujoco. `period` is the time between two joint states [s],
    0.5 to 10 ms, until states have come. `limits` says which joint states and efforts can be used.
    A loop applies the torque that `step` returns also in state SILENT (`applied_when_silent`); a
    node publishes nothing then, and its last torque may go on acting. `send`, if given, is called
    with each new torque (n,) [N m] before the state is judged. `soft_gains` is the rate [1/s] of
    the gains that settings do not give: kd makes velocities decay at most as fast. `settings` are
    the other fields of Settings: kp, kd, payload, gravity_vector, terms, ... Raises
    DescriptionError for an unknown arm, SettingsError if the settings cannot be used on it or the
    gains swing at this period.

    Attributes
    ----------
    state : State
        The present state; `status` says why.
    TICK_S, LONGEST_BRAKING_S : float
        How often `tick` is to be called, and how long braking takes at most [s].
    latest : StateTerms or None
        The latest joint state with its torque terms; None if one of its values is impossible.
    states : StateCheck
        Period and age of the joint states.
    torques : UnexplainedTorque
        Measured and commanded torque beyond what the motion needs.
    trouble : str
        Why the latest joint state cannot be used; '' if it can.
    torque : ndarray, shape (n,)
        The torque that `step` or `tick` returned last [N m].
    sends : bool
        Whether that torque is new and to be applied; a node publishes it only then.

    """

    def __init__(
        self,
        arm: ArmDescription | str | Path,
        target: str = 'fci',
        *,
        period: float = 1e-3,
        limits: Limits | None = None,
        applied_when_silent: bool = True,
        send: Callable[[Array], object] | None = None,
        soft_gains: float | None = None,
        **settings: Any,
    ) -> None:
        self.description = arm = described(arm)
        if soft_gains is not None:
            settings = dict(zip(('kp', 'kd'), weak_gains(arm, soft_gains))) | settings
        self._send = send
        self.limits, self._applied_when_silent = limits or Limits(), applied_when_silent
        self.names, self.zero = arm.joint_names, np.zeros(arm.n)
        self._effort, self._velocity = arm.limit('effort'), arm.limit('velocity')
        # A loop applies each torque for a whole period; a receiver of a node within 1 ms.
        longest = max(LONGEST_STEP_S, period) if applied_when_silent else LONGEST_STEP_S
        self._limiter = TorqueLimiter(self._effort, arm.limit('effort_rate'), longest)
        self.reference, self._brake, self._lock = Reference(arm), Brake(arm), threading.RLock()
        if not 0.5e-3 <= period <= 0.01:
            raise SettingsError(f'period is {period:g} s; it must be within 0.0005 and 0.01 s.')
        self.states = StateCheck(arm, self.limits, period)
        self.law = self._made(Settings().changed(target=target, **settings))
        self.torques = UnexplainedTorque(arm, self.limits, self.law.terms)
        self.counts: Counter[str] = Counter()
        self.largest_share = self.zero.copy()  # of |torque| in the torque limit
        self.largest_of_bound = self.zero.copy()  # of unexplained torque in its wide bound
        self.latest: StateTerms | None = None
        self._before: ControlLaw | None = None  # the law before a change, until the next state
        self._last: Array | None = None  # the torque that acts; None: unknown
        self._trial: JointTrial | None = None  # while joints are tried
        self._wanted = True  # whether the user wants torques
        self.faulty = self._final = False  # a fault is latched; only a new object clears it
        self._hold = False  # whether the arm is held at rest until `start`
        self._to_zero = False  # whether the resting torque is zero, whoever carries the arm
        self._good, self._heard, self._heard_at, self._falls = 0, 0.0, 0.0, False
        self.reset()

    TICK_S, LONGEST_BRAKING_S = LONGEST_STEP_S, LONGEST_S

    # What users call ---------------------------------------------------------------------------

    def reset(self) -> None:
        """
        Forget states, torques, references and faults, as after a reset of a simulation.

        A `final` fault and a user's stop stay. The first torque afterwards may have any step from
        the last one.
        """
        with self._lock:
            self.reference.clear(0.0, 'reset')
            self.state, self.latest, self.sends = State.SILENT, None, False
            self.trouble = 'no joint state has come yet'
            if not self._final:
                self.faulty = self._to_zero = False
                if self._wanted:
                    self.why = self.trouble
            self._hold = False
            self._waited = 0  # states since no torque begins, though the user did not stop
            self._q: Array | None = (
                None  # the latest possible position, also if the clock is set back
            )
            self._last, self.torque = None, self.zero
            self._ended_with = False, self.zero  # whether the target added gravity; position
            self._lost_at = deque[float](maxlen=MOST_RESTARTS + 1)
            self._forget()
            self.law.terms.restart()

    def start(self) -> None:
        """
        Clear a fault, and command torques from the next allowed state on.

        Raises NotStartedError while the arm is still braked after a fault, while the model does
        not explain the torque that holds it, and after a fault that only a new object clears.
        """
        with self._lock:
            if self._final:
                raise NotStartedError(f'{self.why}; configure the controller again.')
            if self.faulty and self.state is State.BRAKING:
                raise NotStartedError('The arm is still being braked; try again.')
            held = self.state is State.HOLDING
            wrong = self.torques.departs(self.torques.narrow) if held else ''
            if wrong:
                raise NotStartedError(f'Not started: {wrong}. Correct that, or stop.')
            self._wanted = True
            self.faulty = self._hold = self._to_zero = False
            self._lost_at.clear()
            self.counts.clear()
            self.largest_share[:] = self.largest_of_bound[:] = 0.0
            if held:
                self._run(Event.START)

    def stop(
        self, reason: str, *, hold: bool = False, to_zero: bool = False, final: bool = False
    ) -> None:
        """
        Brake the arm to rest, then let the torque go to the resting torque.

        With `hold` that is a fault: the arm is held at rest until `start` clears it. With
        `to_zero`, a fault as well, the torque goes to zero at once, because the receiver is not
        the target. After a `final` fault only a new object commands again. A stop that is no
        fault lets go of an arm that is held, and a fault stays latched.
        """
        with self._lock:
            fault = hold or to_zero or final
            why = self._with_reason(reason)
            self._wanted = self._wanted and fault
            self.faulty, self._final = self.faulty or fault, self._final or final
            self._to_zero = self._to_zero or to_zero
            sends = self.state is not State.SILENT
            self._hold = hold and not self._to_zero and (sends or self._hold)
            if to_zero and self.state in ACTIVE:
                self._change(Event.LOST, why)
            elif self.state is State.RUNNING or (self.state is State.HOLDING and not hold):
                self._change(Event.STOP, why)
            else:
                self.why = why

    def _with_reason(self, why: str) -> str:
        """Return why the core does not command: what ended its torques first, then `why`."""
        ended = self.faulty or self.state in (State.BRAKING, State.HOLDING)
        return f'{self.why}; {why}' if ended and why not in self.why else why

    @property
    def started(self) -> bool:
        """Whether torques begin as soon as joint states allow it."""
        return self._wanted and not self.faulty

    def change(self, **settings: Any) -> None:
        """
        Use other settings from the next step on; the torque ramps from the old law's to the new.

        Raises SettingsError, and changes nothing, if they cannot be used, or if torques are sent
        for another target.
        """
        while True:
            before, law = self.law, self.prepare(**settings)
            with self._lock:
                if self.law is before:  # no other thread has changed settings meanwhile
                    return self._use(law)

    def prepare(self, **settings: Any) -> ControlLaw:
        """Return the law of changed settings, in a millisecond; raises as `change`."""
        law = self._made(self.law.settings.changed(**settings))
        self._refuse_other_target(law)
        return law

    def _made(self, settings: Settings) -> ControlLaw:
        # The arm of a loop in MuJoCo has the rotors and the friction that it was given with.
        as_given = self._applied_when_silent and settings.target == 'mujoco'
        law = ControlLaw(self.description, settings, as_given=as_given)
        swings = law.swings(PERIOD_MARGIN * self.states.period, self.states.median_age)
        if swings:
            raise SettingsError(f'{swings}.')
        return law

    def _refuse_other_target(self, law: ControlLaw) -> None:
        before, after = self.law.settings.target, law.settings.target
        if after != before and self.state is not State.SILENT:
            raise SettingsError(
                f'target is {before} and cannot become {after} while torques are sent: who '
                'carries the arm is decided before the first one. Stop, change target, and start '
                'again.'
            )

    def _use(self, law: ControlLaw) -> None:
        self._refuse_other_target(law)
        before, self.law = self.law, law
        self._before = self._before or before
        loaded = law.settings.payload != before.settings.payload
        more = self.torques.use(law.terms, self.latest, loaded=loaded)
        self._brake.held = self._brake.held - more  # a held arm gets the same torque
        if law.has_gains and not self._before.has_gains:
            self.reference.hold(None)  # a person may have guided the arm away

    def follow(
        self,
        q: ArrayLike,
        times: ArrayLike | None = None,
        dq: ArrayLike | None = None,
        ddq: ArrayLike | None = None,
        *,
        start: float | None = None,
        mark: str = '',
    ) -> Trajectory:
        """
        Follow a set-point q (n,), or positions (k, n) at `times` (k,) [s] after `start`.

        Returns the motion. Raises ReferenceRefusedError if no torque is sent or the motion cannot
        be followed; the present motion then goes on. See `Reference.follow`.
        """
        with self._lock:
            if self.state is not State.RUNNING or self._trial is not None:
                raise ReferenceRefusedError(f'Nothing would follow the reference ({self.status}).')
            measured = None
            if not self.law.has_gains:  # a person may have guided the arm away
                self.reference.hold(None)
                measured = self.states.q
        return self.reference.follow(q, times, dq, ddq, start=start, mark=mark, measured=measured)

    @property
    def settings(self) -> Settings:
        """The settings in use."""
        return self.law.settings

    @property
    def status(self) -> Status:
        """State, reason and remedy."""
        with self._lock:
            if self.state is State.RUNNING:
                tried = self._trial and f'{self.names[self._trial.joint]} is tried'
                return Status(self.state, tried or 'torques are sent', '', False)
            remedy = 'correct what it names, or wait' if self.started else 'start'
            if self.faulty:
                remedy = f'remove the cause, then {CLEARING}'
            if self._final:
                remedy = 'configure again'
            return Status(self.state, self.why, remedy, self.faulty)

    @property
    def ended(self) -> bool:
        """Whether the core was stopped, and sends nothing more until `start`."""
        return self.state is State.SILENT and not (self.started or self._hold)

    @property
    def usable(self) -> bool:
        """Whether enough good joint states came in a row."""
        return self._good >= GOOD_STATES

    # One joint state ---------------------------------------------------------------------------

    def step(
        self,
        q: ArrayLike,
        dq: ArrayLike,
        time: float,
        *,
        effort: ArrayLike | None = None,
        age: float | None = None,
        now: float | None = None,
    ) -> Array:
        """
        Return the torque for one joint state, shape (n,) [N m].

        `q` and `dq` are positions [rad] and velocities [rad/s], `effort` is the measured torque
        [N m] (all NaN counts as none), (n,) each in the arm's order; another shape, or first
        positions in degrees, raise JointVectorError. `time` is the state's stamp, `age` how old it
        is, `now` its arrival by the clock that `tick` uses, by default `time` [s].
        """
        n, wrong_shape = self.zero.shape, JointVectorError
        q = checked(q, n, 'q', wrong_shape, finite=False)
        dq = checked(dq, n, 'dq', wrong_shape, finite=False)
        given = None if effort is None else checked(effort, n, 'effort', wrong_shape, finite=False)
        measured = None if given is None or np.isnan(given).all() else given
        now = time if now is None else now
        with self._lock:
            waits = self.state is State.SILENT and (self.started or self.faulty)
            self._waited = self._waited + 1 if waits else 0
            if self._waited == LONG_WAIT:
                _LOG.warning('%s', self.status)
            order = self.states.order(time)
            if order == 'late' and waits and self.started:
                self.why = f'the time of joint states does not go on ({time:g} s again)'
            if order == 'late':
                # By the clock of the stamps, if it is known: simulated time may have begun anew.
                silence = now - self._heard if age is None else time + age - self._heard_at
                return self.tick(now, silence)
            if order:
                if now < self._heard:
                    self._lost_at.clear()  # how long ago is not known any more
                torque = self.lose('the clock of the joint states was set back', now)
                self._forget()
                return torque
            wrong, faulty = self.states.impossible(q, dq, measured)
            if wrong and self.states.stamp is None and self._applied_when_silent:
                self.states.refuse_degrees(q)
            if wrong:
                self.latest = None
                return self.lose(wrong, now, faulty=faulty)
            wrong, faulty = self.states.take(time, q, dq, age)
            self._heard, self._heard_at, self._q = now, time + (age or 0.0), q
            reference, terms = self.reference.at(time), self.law.terms
            if terms.friction is not None:
                terms.friction.follow(time, q)
            state = self.latest = terms.at(time, q, dq, reference)
            if wrong:
                return self.lose(wrong, now, faulty=faulty)
            self._good, self.trouble = self._good + 1, ''
            sent = list(self._commands)
            if self.state not in ACTIVE:
                self._may_begin(state)
            torque = self._answer(state, reference, now)  # what is found below changes the next
            self.torques.observe(state, measured, sent, self.states.late)
            if self.state is State.RUNNING:
                self._judge(state, reference)
            return torque

    def tick(self, now: float, silence: float | None = None) -> Array:
        """
        Return the torque while no joint state comes, shape (n,) [N m].

        Call it about every millisecond without a state. `silence` is the time since the last state
        [s], by default by `now` [s], the clock of `step`'s `now`; by the clock of stamps, as in
        simulated time, less of it is allowed after an old state, whose torque was late already.
        """
        with self._lock:
            share = 1.0
            if silence is None:
                silence = now - self._heard
            elif self.limits.max_state_age > 0.0:
                share = max(0.0, 1.0 - self.states.age / self.limits.max_state_age)
            patience = max(share * self.limits.state_timeout, 3.0 * self.states.period)
            if self.state in ACTIVE and silence > patience:
                return self.lose(f'no new joint state for {1e3 * silence:.0f} ms', now)
            self._falls = self._falls and silence <= FOLLOWED_S
            return self._unanswered(now)

    # 1. Can the joint state be used? -----------------------------------------------------------

    def lose(self, why: str, now: float, *, faulty: bool = False) -> Array:
        """
        Take note of a joint state that cannot be read or trusted; return the torque, as `tick`.

        `now` is the time by the clock of `tick` [s]; a fault is to be cleared by `start`.
        """
        with self._lock:
            self._good, self.trouble, self._falls, self._over_s = 0, why, False, 0.0
            self.states.forget_drift()
            self.counts['unusable states'] += 1
            waits = self.state is State.SILENT and self.started
            active = self.state in ACTIVE
            if active:
                self.counts['stops'] += 1
                self._lost_at.append(now)
                often = len(self._lost_at) > MOST_RESTARTS
                if often and now - self._lost_at[0] < RESTART_WINDOW_S:
                    why = f'stopped {len(self._lost_at)} times within a minute: {why}'
                    faulty = True
            waits = waits or (faulty and not self.faulty)
            why = self._with_reason(why)
            if faulty:  # the arm is not held by measurements that may be wrong
                self.faulty, self._hold = True, False
            if active:
                self._change(Event.LOST, why)
            elif waits:
                self.why = why
            return self._unanswered(now)

    def _unanswered(self, now: float) -> Array:
        """Return the torque where no state is answered: the next one of a stop, or the last."""
        if self.state is State.STOPPING:
            return self._stop_step(now)
        self.sends = False
        return self.torque.copy()

    def _forget(self) -> None:
        """Forget all joint states."""
        self.states.forget()
        self._good = 0
        self._heard = self._heard_at = 0.0  # when the last state came, by two clocks
        self._sent_at = -math.inf
        # The torques of the latest states, some of which are late; the last one may still act.
        acting = [] if self._last is None else [self._last]
        self._commands: deque[Array] = deque(acting, maxlen=64)
        self.torques.forget()
        self._over_s = self._fast_s = 0.0
        self._falls = False  # whether the arm moved at the last state of a stop
        self._moved_at = -math.inf  # stamp at which the reference moved last
        self._take_deadline = -math.inf  # stamp at which the receiver must have taken a torque
        self._begins = False  # whether the next torque begins a ramp at the last one
        self._before = None
        self._ramp, self._ramp_at = self.zero, -math.inf  # torque beside the law's, and since when

    # 2. May torques begin? ---------------------------------------------------------------------

    def _may_begin(self, state: StateTerms) -> None:
        """Run once the first torque is allowed, or brake an arm that is to be held."""
        if self._hold and self.usable:
            self._change(Event.BACK, self.why)
        elif self.started:
            not_yet = self._not_yet()
            if not not_yet:
                self._begin(state)
            elif self.state is State.SILENT:
                self.why = not_yet

    def _not_yet(self) -> str:
        """Return why the first torque is not allowed, or ''."""
        if not self.usable:
            return f'{self._good} of {GOOD_STATES} good joint states have come'
        age = self.states.median_age
        if age > OLDEST_AT_BEGIN_S:
            return (
                f'joint states are {1e3 * age:.0f} ms old, and the first torque needs states '
                f'of at most {1e3 * OLDEST_AT_BEGIN_S:.0f} ms; set max_state_age to 0 if the '
                'clocks differ'
            )
        swings = self.law.swings(self.states.period, age)
        carried = self.law.terms.adds_gravity
        held = self.torques.idle or self.limits.held_until_commanded
        if swings or not self.torques.measured or (held and not carried):
            return swings
        return self.torques.departs(self.torques.narrow)

    def _begin(self, state: StateTerms) -> None:
        """
        Begin at the last torque or, if none acts any more, at the measured one.

        If none is measured either, begin at g(q); at zero if the target adds gravity.
        """
        terms = self.law.terms
        if self.state is State.SILENT and not self._applied_when_silent:
            carried, q = self._ended_with
            if carried != terms.adds_gravity or np.abs(state.q - q).max() > SHIFTED:
                self._last = None
        if self._last is None:
            acts = terms.gravity(state.q) if self.torques.idle else self.torques.acting
            self._last = self._limiter.clipped(self.zero if terms.adds_gravity else acts)
        self.torques.forget_torque()
        self._run(Event.BEGIN)
        self._over_s, self._take_deadline = -OPENING_S, state.stamp + TAKEN_S
        if self.limits.try_joints:
            self._trial = JointTrial(self.description, self.torques.wide[0])

    # 3. Run, or brake --------------------------------------------------------------------------

    def _run(self, event: Event) -> None:
        self._over_s = self._fast_s = 0.0
        self._moved_at, self._trial = -math.inf, None
        self.reference.clear(self.states.stamp or 0.0, 'torques begin')
        self._begins, self._before = True, None
        self._change(event, '')

    def _answer(self, state: StateTerms, reference: ReferencePoint | None, now: float) -> Array:
        """Return the torque for a usable state."""
        if self.state is State.RUNNING:
            if self.law.has_gains and reference is None and self._trial is None:
                self.reference.hold(state.q)
            desired = self._ramped(state, reference) if self._trial is None else self._tried(state)
        elif self.state in ACTIVE:
            desired = self._braked(state)
        elif self.state is State.SILENT:
            if not self._applied_when_silent:
                return self._unanswered(now)
            desired = self._resting()
        if self.state in ACTIVE and not np.isfinite(desired).all():
            self._give_up('the computed torque is not finite')
        if self.state is State.STOPPING:
            moves = bool(np.abs(state.dq).max() > REST_SPEED)
            self._falls = moves and not self.law.terms.adds_gravity
            return self._stop_step(now)
        return self._limited(desired, self.states.elapsed, now)

    def _give_up(self, why: str, event: Event = Event.LOST) -> None:
        """End all torques without braking, because states or torques are wrong: a fault."""
        self.faulty, self._hold = True, False
        self._change(event, why)

    def _ramped(self, state: StateTerms, reference: ReferencePoint | None) -> Array:
        """Return the torque of the law, reached by a ramp after a start or a change of the law."""
        desired, before, self._before = self.law.torque(state, reference), self._before, None
        left = max(0.0, 1.0 - (state.stamp - self._ramp_at) / RAMP_S)
        if self._begins and self._last is not None:
            self._ramp = self._last - desired
        elif before is not None:
            old = before.terms.at(state.stamp, state.q, state.dq, reference)
            self._ramp = left * self._ramp + before.torque(old, reference) - desired
        else:
            return desired + left * self._ramp
        self._begins, self._ramp_at = False, state.stamp
        return desired + self._ramp

    def _tried(self, state: StateTerms) -> Array:
        """Return the torque that tries the joints; a joint that moves wrongly ends all torques."""
        trial = self._trial
        assert trial is not None
        torque = trial.torque(state, self.law.terms, self.states.elapsed, self.states.age)
        if trial.joint == len(self.names):
            self._trial, self._begins = None, True
        if trial.wrong:
            self._give_up(trial.wrong)
        return self.law.feedforward(state, self.zero) + torque

    def _braked(self, state: StateTerms) -> Array:
        """Return the torque that brakes the arm, and holds it at rest."""
        terms, brake, unexplained = self.law.terms, self._brake, self.torques.beyond_command
        gains = self.law.kp, self.law.kd
        slowed = brake.torque(
            state, terms, unexplained, self.states.elapsed, self.states.age, gains
        )
        if self.state is State.BRAKING and brake.driven:
            self._give_up(f'{self.why}; {brake.driven}', Event.DRIVEN)
        elif self.state is State.BRAKING and brake.at_rest:
            self._change(Event.REST_HELD if self._hold else Event.REST, self.why)
        return terms.gravity_to_command(state.q, state.gravity) + state.coriolis + slowed

    def _change(self, event: Event, why: str) -> None:
        """Change the state as TRANSITIONS says, and log it."""
        before, self.state, self.why = self.state, TRANSITIONS[self.state, event], why
        if before is State.RUNNING:
            self.reference.clear(self.states.stamp or 0.0, why)
        if self.state is State.BRAKING:
            self._brake.begin(self.torques.beyond_command)
        calm = self.state in (State.RUNNING, State.SILENT)
        _LOG.log(logging.INFO if calm else logging.WARNING, '%s', self.status)

    # 4. Limit the torque and its rate ----------------------------------------------------------

    def _limited(self, desired: Array, elapsed: float, now: float) -> Array:
        """Send a torque within its limits, `elapsed` [s] after the last one; return it."""
        torque = self._last = self.torque = self._limiter.limit(desired, self._last, elapsed)
        self._commands.append(torque)
        self.sends, self._sent_at = True, max(self._sent_at, now)
        if self._send is not None:
            self._send(torque)
        self.counts['commands'] += 1
        self.counts['limited'] += bool((torque != desired).any())
        np.maximum(self.largest_share, np.abs(torque) / self._effort, out=self.largest_share)
        return torque.copy()  # the caller may write into it

    def _stop_step(self, now: float) -> Array:
        """Return the next torque on the way to the resting torque; go on while the arm falls."""
        goal = self._resting()
        torque = self._limited(goal, now - self._sent_at, now)
        if np.array_equal(torque, goal) and not self._falls:
            self._change(Event.END, self.why)
            q = self.zero if self._q is None else self._q
            self._ended_with = self.law.terms.adds_gravity, q
        return torque

    def _resting(self) -> Array:
        """Return the torque that holds the arm if the target needs one, else zero, (n,)."""
        terms = self.law.terms
        if terms.adds_gravity or self._to_zero or self._q is None:  # no state has come
            return self.zero
        return self._limiter.clipped(terms.gravity(self._q))

    # 5. Is a torque or a speed beyond its bound? ----------------------------------------------

    def _judge(self, state: StateTerms, reference: ReferencePoint | None) -> None:
        """Brake an arm that does not do what the model says."""
        wrong = self._misbehaves(state, reference)
        if wrong:
            self.counts['faults'] += 1
            if self._trial is None:
                self.stop(wrong, hold=True)
            else:
                self._give_up(wrong)

    def _misbehaves(self, state: StateTerms, reference: ReferencePoint | None) -> str:
        """Return why the arm must be braked, or ''."""
        speed, elapsed, torques = np.abs(state.dq), self.states.elapsed, self.torques
        shares = torques.shares(torques.wide)
        np.maximum(self.largest_of_bound, shares, out=self.largest_of_bound)
        wrong = torques.departs(torques.wide) if shares.max() > 1.0 else ''
        if state.stamp <= self._take_deadline:
            share, sent = torques.acting / self._effort, self._commands[-1] / self._effort
            little = torques.measured and share @ sent < 0.5 * sent @ sent
            if little and speed.max() <= REST_SPEED:
                wrong, self._over_s = '', -OPENING_S
            else:
                self._take_deadline = -math.inf  # a torque is taken, or nothing holds the arm
        self._over_s = self._over_s + elapsed if wrong else min(0.0, self._over_s + elapsed)
        if self._over_s >= HELD_S:
            return wrong
        if reference is not None and np.abs(reference.dq).max() > MOVES:
            self._moved_at = state.stamp
        follows = state.stamp - self._moved_at < FOLLOWING_S
        allowed = (SPEED_FOLLOWING if follows else SPEED_FREE) * self._velocity
        self._fast_s = self._fast_s + elapsed if (speed > allowed).any() else 0.0
        if self._fast_s < FAST_S:
            return ''
        joint = int((speed / allowed).argmax())
        return (
            f'{self.names[joint]} moves at {state.dq[joint]:.2f} rad/s, and {allowed[joint]:.2f} '
            f'are allowed ({SPEED_FREE:g} of its limit, {SPEED_FOLLOWING:g} while a reference '
            'moves)'
        )
