# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The core: computes a torque for each joint state, and decides whether torques are sent.

`Feedforward.step` takes one joint state through six parts, in these functions and files:

1. Can the joint state be used?                  `state_check.py`, `watchers.py`
2. May torques begin, and by which settings?     `_admit`, `_use_terms`
3. Run, or brake.                                `_answer`; `control_law.py`, `stopping.py`
4. Limit the torque and its rate, and send it.   `torque_output.py`; `stopping.py`
5. What do the joints get that the model does not explain?   `disturbance.py`
6. Must torques end?                             `_watch`; `disturbance.py`, `watchers.py`

While a law or the brake acts, parts 5 and 6 come after the torque, so as not to delay it; what
they find changes the next one. All endings go through `_end`: `ending.py` has the table of causes,
`core_state.py` the states, what changes them, and by which settings torques go out.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
import logging
import math
from pathlib import Path
import threading
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .control_law import ControlLaw, Ramp
from .core_state import ACTIVE, ENDING_EVENTS, Event, State, Status, Stop, TRANSITIONS
from .default_gains import low_gains
from .disturbance import Cycle, DisturbanceMonitor
from .ending import Cause, Ending, NO_ENDING, Remedy, Then
from .limits import MAX_STEP_S
from .planning import MAX_START_DISTANCE_RAD
from .reason import Code, Reason
from .reference import Reference
from .settings import Settings
from .state_check import MIN_GOOD_STATE_COUNT, Sample, seconds, StateCheck, StateLimits
from .stopping import BrakingController, MAX_STOPPED_SPEED_RAD_S, UnseenArm
from .terms import StateTerms
from .torque_output import TorqueOutput
from .trajectory import ReferencePoint, Trajectory
from .watchers import FallWatcher, RepeatedPositions, SpeedWatcher
from ..arm import ArmDescription
from ..arm.friction_state import MAX_GAP_S
from ..arm_io import as_description
from ..errors import NotActiveError, SettingsError, StartRefusedError
from ..typing import Array

_LOG = logging.getLogger(__name__)


# After so many silent states of an enabled or faulty core, the log says why: ten times as many as
# a first torque needs.
WAIT_WARNING_STATE_COUNT = 10 * MIN_GOOD_STATE_COUNT


class Feedforward:
    """
    Computes feedforward and PD torques for one arm, one for each joint state.

    `step` always returns a torque that is finite, within the torque limits and, but for the first
    one after `reset` or where the last one acts no more, within 1000 N m/s of the torque before.
    Torques begin by themselves; `start` is needed after `stop` or a fault only. Any thread may
    call any method.

    `arm` is without the payload, or its name or file. `target` says who receives the torques: fci,
    franka_gazebo, gz_ros2_control or mujoco. `period` is the expected time between two joint
    states, 0.5 to 10 ms [s]. `limits` says which joint states and efforts can be used. A loop
    applies the torque that `step` returns also in state SILENT (`applied_when_silent`); a node
    publishes nothing then, and its last torque may go on acting. `send`, if given, is called with
    each new torque (n,) [N m] before parts 5 and 6, and must not change it. With `soft_gains`, kp
    and kd that settings do not give are the `low_gains` of this rate [1/s]. `settings` are the
    other fields of Settings: kp, kd, payload, gravity_vector, terms, ... Raises DescriptionError
    for an unknown arm, SettingsError if settings cannot be used on it or gains swing at `period`.

    `state` is the present state, and `status` says why. `ending` is what ended torques or keeps
    them from beginning. `asked` is the control law of the settings that are asked for. `acting`
    are the terms by which torques go out. `latest` is the latest joint state with its torque
    terms, None if one of its values is impossible; `state_problem` says why that state cannot be
    used, '' if it can. `output` has the last torque and the largest shares of limits.
    `blocked` is a reason, set from outside, for which no first torque may begin yet. `states` has
    period and age of the joint states, `disturbances` the measured and the commanded torque beyond
    what the motion needs. `sends` says whether the latest torque is new; a node publishes it only
    then.
    """

    def __init__(
        self,
        arm: ArmDescription | str | Path,
        target: str = 'fci',
        *,
        period: float = 1e-3,
        limits: StateLimits | None = None,
        applied_when_silent: bool = True,
        send: Callable[[Array], object] | None = None,
        soft_gains: float | None = None,
        **settings: Any,
    ) -> None:
        arm, limits = as_description(arm), limits or StateLimits()
        if soft_gains is not None:
            settings = dict(zip(('kp', 'kd'), low_gains(arm, soft_gains))) | settings
        self.output = TorqueOutput(arm, period, applied_when_silent, send)
        self._lock = threading.RLock()
        self.states = StateCheck(arm, limits, period)
        self.asked = self._made(arm, Settings().changed(target=target, **settings))
        self.acting = self.asked.terms
        self.disturbances = found = DisturbanceMonitor(arm, limits, self.acting)
        self.reference, self.brake, self.ramp = Reference(arm), BrakingController(arm), Ramp()
        self.unseen, self.repeated = UnseenArm(), RepeatedPositions(arm)
        self.falls, self.speeds = FallWatcher(), SpeedWatcher(arm, found)
        self.blocked, self._wanted = '', True  # whether the user wants torques
        self.ends = deque[Ending](maxlen=100)  # of RUNNING; whoever reports them removes them
        self.ending = NO_ENDING
        if rubs := self.asked.unused_friction():
            _LOG.info('%s', rubs)
        self.reset()

    TICK_S = MAX_STEP_S  # how often `tick` is to be called without a state [s]

    # What users call ---------------------------------------------------------------------------
    def reset(self) -> None:
        """
        Reset states, torques, references and faults, as after a reset of a simulation.

        A fault that only a new object clears and a user's stop stay. A held arm is let go. The
        next torque may be any step away from the last one.
        """
        with self._lock:
            self.reference.clear('reset')
            self.states.reset()
            self.state = State.SILENT
            self.latest: StateTerms | None = None
            final = self.ending.until is Remedy.CONFIGURE
            if self._wanted and not final:
                self._wait_for(self.states.problem)
            elif not final or self.ending.then is not Then.ZERO:
                self.ending = self.ending.cleared(Remedy.CONFIGURE if final else Remedy.START)
            self._waited = 0  # states while silent though the user wants torques
            # Whether the arm was compared with what the resting torque says; a node sends none.
            self.compared = not self.output.in_loop
            self.unseen.reset()
            self.falls.reset()
            self.speeds.reset()
            self.output.clear()
            self._use_terms(agrees=True)
            self._forget()
            self.asked.terms.friction.reset()

    def _forget(self, now: float = -math.inf) -> None:
        """Forget all joint states but the last position; the last torque was sent at `now`."""
        self.states.reset_except_position()
        self.repeated.clear()
        self.disturbances.forget(self.acting)
        self.output.keep_last(now)

    def start(self) -> None:
        """
        Clear a fault, and command torques from the next allowed state on; `status` says why not.

        Raises StartRefusedError while the arm is still braked after a fault, while a held arm's
        states are too old or its torque is unexplained, and after a fault that only a new object
        clears.
        """
        with self._lock:
            if self.ending.until is Remedy.CONFIGURE:
                raise StartRefusedError(f'{self.why}; configure the controller again.')
            if self.faulty and self.state is State.BRAKING:
                raise StartRefusedError('The arm is still being braked; try again.')
            held = self.state is State.HOLDING
            if self._holds_again and not held:
                raise StartRefusedError('The arm is to be held first, once it is seen; try again.')
            why = (self._waits_for() or self._violation()) if held else None
            if why is not None:
                raise StartRefusedError(f'Not started: {why}. Correct that, or stop.')
            self._wanted = True
            self.states.start()
            self.output.reset_counts()
            self.disturbances.reset_largest()
            if held:
                self._begin(Event.BEGIN)
            elif self.state is State.SILENT:
                self._wait_for(self.states.problem or self.blocked)
            elif self.state is not State.RUNNING:
                self.ending = self.ending.cleared()

    def stop(self, reason: str, then: Stop = Stop.LET_GO) -> None:
        """
        End torques for a reason; `then` says what follows.

        By default an arm that moves is braked to rest, by the gains there are and by its model,
        and then gets the resting torque. A stop that does not hold lets go of a held arm; a fault
        stays latched. An arm whose torque rests is not caught by a stop, only one that was to be
        held before.
        """
        with self._lock:
            later, holds = then.value.ending(reason), self.ending.then is Then.HOLD
            stopped = self.state is State.STOPPING and self.faulty
            if then is Stop.HOLD and (stopped or self.state is State.SILENT) and not holds:
                later = later._replace(then=Then.RESTING_TORQUE)
            self._wanted = self._wanted and later.until is not Remedy.START
            self._end(later, acts=self.state in ACTIVE)

    def change(self, **settings: Any) -> None:
        """
        Change settings from the next step on.

        While running, the torque ramps from the old law's to the new. That of a held arm does not
        change, and its brake has the old gains until `start`; a payload is not judged for 2 s.
        A stopped core whose torque acts keeps the old settings until `start`. Then, and while
        torques are refused, the old ones go on until no joint departs from what the new ones
        explain by more than the start's bound; those then act within the torque's rate. Raises
        SettingsError, and changes nothing, if they cannot be used, or if torques are sent for
        another target.
        """
        while True:
            # A law takes a millisecond to make: without the lock.
            before, law = self.asked, self.changed_law(**settings)
            with self._lock:
                if self.asked is not before:
                    continue  # another thread was faster
                self._require_usable_now(law)
                used = self.ramp.law or before
                if (self._pulled(law) | ((law.kp > 0.0) & (used.kp == 0.0))).any():
                    self.reference.hold(None)  # a person may have guided the arm away
                self.asked = law
                loaded = law.settings.payload != before.settings.payload
                self._use_terms(agrees=False, loaded=loaded)
                return

    def changed_law(self, **settings: Any) -> ControlLaw:
        """Return the control law that `change` would use with these settings; raise as it does."""
        law = self._made(self.description, self.settings.changed(**settings))
        self._require_usable_now(law)
        return law

    def _require_usable_now(self, law: ControlLaw) -> None:
        """Raise SettingsError if the present state does not allow a law that can be used."""
        before, after = self.settings.target, law.settings.target
        if self.state is not State.SILENT and before != after:
            raise SettingsError(
                f'target is {before} and cannot become {after} while torques are sent; stop '
                f'first. Torques for {after} then begin once the arm agrees with it.'
            )
        pulled = self._pulled(law)
        if pulled.any() and self.reference.active:
            raise SettingsError(
                f'kp of {self.names[int(pulled.argmax())]} cannot grow while this joint is more '
                f'than {MAX_START_DISTANCE_RAD:g} rad from the motion that is followed: it would '
                'be pulled there. End the motion first, by one without points.'
            )

    def _pulled(self, law: ControlLaw) -> Array:
        """Return at which joints, (n,), kp grows by a law though the reference is far away."""
        far = self.reference.distance(self.states.q) > MAX_START_DISTANCE_RAD
        return np.asarray(far & (law.kp > (self.ramp.law or self.asked).kp))

    def _made(self, arm: ArmDescription, settings: Settings) -> ControlLaw:
        # In a loop's MuJoCo model, joints have the rotor inertia and friction that `arm` states.
        as_given = self.output.in_loop and settings.target == 'mujoco'
        law = ControlLaw(arm, settings, as_given=as_given)
        law.require_stable(self.states.period, self.states.median_age)
        if twice := law.double_payload_warning():
            _LOG.warning('%s', twice)
        return law

    def follow(
        self,
        q: ArrayLike,
        times: ArrayLike | None = None,
        dq: ArrayLike | None = None,
        ddq: ArrayLike | None = None,
        *,
        start: float | None = None,
        ahead: float = 0.0,
        window: bool = False,
        goal_id: str = '',
    ) -> Trajectory:
        """
        Follow a set-point q (n,), or positions (k, n) at `times` (k,) [s] after `start`.

        Returns the motion. Raises ReferenceRefusedError if no torque is sent or the motion cannot
        be followed; the present motion then goes on. See `Reference.follow`.
        """
        with self._lock:
            if self.state is not State.RUNNING:
                raise NotActiveError(f'Nothing would follow the reference ({self.status}).')
            pulled = self.asked.pulls
            if not pulled:  # a person may have guided the arm away
                self.reference.hold(None)
        motion = self.reference.follow(
            *(q, times, dq, ddq),
            start=start,
            ahead=ahead,
            window=window,
            goal_id=goal_id,
            measured_q=self.states.q,
            pulled=pulled,
        )
        with self._lock:
            if self.state is not State.RUNNING:  # stopped by another thread meanwhile
                self.reference.clear(self.ending)
        return motion

    def settle(self, reason: str) -> None:
        """End the present motion for a reason: desire to rest where the arm is."""
        if self.state is State.RUNNING:
            self.reference.settle(self.states.q, reason)

    @property
    def description(self) -> ArmDescription:
        """The arm, without the payload."""
        return self.asked.description

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the joints."""
        return self.description.joint_names

    @property
    def settings(self) -> Settings:
        """The settings that were set last; changed ones act gradually."""
        return self.asked.settings

    @property
    def counts(self) -> Counter[str]:
        """Counts of events since `start`, such as commands, stops and faults."""
        return self.output.counts

    @property
    def why(self) -> str:
        """Why torques have ended or do not begin; '' while RUNNING."""
        return self.ending.why

    @property
    def state_problem(self) -> str:
        """Why the latest joint state cannot be used, '' if it can."""
        return str(self.states.problem or '')

    @property
    def status(self) -> Status:
        """State, reason and remedy."""
        with self._lock:
            load = self.disturbances.load.text()
            why = self.why or 'torques are sent' + (load and f'; {load}')
            return Status(self.state, why, self.ending.until, self.faulty)

    @property
    def faulty(self) -> bool:
        """Whether a fault is latched, which `start` clears."""
        return self.ending.latched

    @property
    def enabled(self) -> bool:
        """Whether torques are asked for; they begin once joint states allow it."""
        return self.ending.until in (Remedy.NONE, Remedy.WAIT)

    @property
    def ended(self) -> bool:
        """Whether the core was stopped, and sends nothing more until `start`."""
        return self.state is State.SILENT and not (self.enabled or self._holds_again)

    @property
    def _holds_again(self) -> bool:
        """Whether the arm is to be held, and its positions are believed."""
        believed = not (self.states.leapt or self.states.contradicted)
        return self.ending.then is Then.HOLD and believed

    @property
    def sends(self) -> bool:
        """Whether the latest torque is new."""
        return self.output.is_new

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
        sample = self.states.sample(q, dq, effort, time, age, now)
        with self._lock:
            wrong_order = self.states.stamp_error(sample.stamp)  # part 1
            if wrong_order:
                return self._answer_out_of_order(sample, wrong_order)
            now = sample.stamp if sample.now is None else sample.now
            problem, reference = self._inspect(sample, now)
            if problem is not None:
                return self._reject(problem, now)
            if self.repeated.arm_is_frozen:
                return self._rest_or_last(now)
            assert self.latest is not None, 'the state is possible'
            latest, late, refused = self.latest, self.states.age_in_periods, None
            acts, sent = self.state in ACTIVE, list(self.output.sent)
            if not acts:
                if self.state is State.SILENT and self.acting.adds_gravity:
                    sent = []  # the target carries the arm, or motor brakes do
                self.disturbances.observe(latest, self.acting, sample.effort, sent, late)  # part 5
                refused = self._admit(latest)  # part 2
                latest = self.acting.at(sample.stamp, sample.q, sample.dq, reference)
                self.latest = latest
            torque = self._answer(latest, reference, now)  # parts 3 and 4
            if acts:
                self.disturbances.observe(latest, self.acting, sample.effort, sent, late)  # part 5
            self._watch(latest, reference, refused)  # part 6
            return torque

    def tick(self, now: float, silence: float | None = None) -> Array:
        """
        Return the torque while no joint state comes, shape (n,) [N m].

        Call it every TICK_S without a state. `silence` is the time since the last state by the
        clock of stamps, as in simulated time [s]; None: by `now` [s], the clock of `step`'s `now`.
        """
        now = seconds('now', now, finite=False)
        silence = None if silence is None else seconds('silence', silence, finite=False)
        with self._lock:
            timeout = self.states.silence_timeout(from_stamps=silence is not None)
            silence = now - self.states.arrival if silence is None else silence
            if self.state in ACTIVE and not abs(silence) <= timeout:  # NaN, or a clock set back
                why = Code.SILENCE(silence=1e3 * abs(silence))
                return self._reject(Cause.STATES_LOST.ending(why), now)
            return self._rest_or_last(now, silence)

    # 1. Can the joint state be used? -----------------------------------------------------------
    def reject_state(self, why: str, now: float, *, faulty: bool = False) -> Array:
        """
        Reject a joint state that cannot be read or trusted; return the torque, as `tick` does.

        `now` is the time by the clock of `tick` [s]. `faulty`: another source sends joint states,
        too, which `start` is to clear.
        """
        now = seconds('now', now, finite=False)
        cause = Cause.SECOND_SOURCE if faulty else Cause.STATES_LOST
        with self._lock:
            return self._reject(cause.ending(why), now)

    def _reject(self, problem: Ending, now: float) -> Array:
        """Reject the latest joint state; return the torque."""
        assert problem.last is not None, 'it has a reason'
        self.states.reject(problem.last)
        self.counts['unusable states'] += 1
        if self.state in ACTIVE:
            self.counts['stops'] += 1
            if count := self.states.count_losses(now):
                often = Cause.IMPOSSIBLE_OFTEN if problem.latched else Cause.STATES_LOST_OFTEN
                problem = often.ending(Code.OFTEN(count=count, why=problem.last))
            some = self.repeated.stuck.any() or not self.states.possible.all()
            self.unseen.lose(now, some=bool(some))
            self._end(problem)
        elif self.faulty and problem.latched:
            # What ended torques stays named; the arm may only get something else from now on.
            self.ending = self.ending._replace(then=self.ending.joined(problem).then)
        elif problem.latched:
            self._end(problem, acts=False)
        elif self.state is State.SILENT and self.enabled:
            self._wait_for(problem.last)
        self._warn_while_waiting()
        return self._rest_or_last(now)

    def _answer_out_of_order(self, sample: Sample, error: str) -> Array:
        """Return the torque after a state whose stamp is not after that of the state before."""
        if error == 'late':  # it is dropped; the last state counts
            why = self.states.repetition(sample.stamp)
            if why is not None and self.state is State.SILENT and self.enabled:
                self._wait_for(why)
            self._warn_while_waiting()
            return self.tick(*self.states.tick_times(sample))
        now = sample.stamp if sample.now is None else sample.now
        if now < self.states.arrival:
            self.states.reset_losses()  # how long ago they were is not known any more
        torque = self._reject(Cause.STATES_LOST.ending(Code.SET_BACK()), now)
        self._forget(now)  # a further torque of this instant must not differ
        return torque

    def _inspect(self, sample: Sample, now: float) -> tuple[Ending | None, ReferencePoint | None]:
        """Return why a state cannot be used, if so, and what is desired; note what it shows."""
        states, repeated, reference = self.states, self.repeated, None
        self.latest = None
        problem = states.impossible(sample.q, sample.dq, sample.effort, sample.stamp)
        if problem is None:
            problem = states.update(sample, now)
            reference = self.reference.at(sample.stamp)
            if problem is not None:
                repeated.clear()
            else:
                torque = None if self.state is State.SILENT else self.output.last
                problem = repeated.check(states, torque, reference and reference.dq)
                if problem is not None and self.state in ACTIVE:
                    self.unseen.see(*repeated.extrapolated(sample.q), now, states.possible)
            self.latest = self.acting.at(sample.stamp, sample.q, sample.dq, reference)
        elif states.stamp is None and self.output.in_loop:
            states.refuse_degrees(sample.q)  # raises
        if problem is None and repeated.arm_is_frozen:
            return None, None  # nothing new is seen
        if not states.leapt:
            believed, seen = states.believed(sample.dq), states.possible & ~repeated.stuck
            self.unseen.see(sample.q, believed, now, seen)
        if self.latest is not None and self.acting.friction.model is not None:
            self.acting.friction.update(sample.stamp, sample.q)
        if problem is None:
            states.accept()
            if not states.contradicted:  # else velocities cannot say that the arm rests
                self.unseen.end_stop()
        return problem, reference

    def _warn_while_waiting(self) -> None:
        """Log after many silent states why no torque is sent though the user wants torques."""
        waits = self.state is State.SILENT and (self.enabled or self.faulty)
        self._waited = self._waited + 1 if waits else 0
        if self._waited == WAIT_WARNING_STATE_COUNT:
            _LOG.warning('%s', self.status)

    # 2. May torques begin, and by which settings? ----------------------------------------------
    def _admit(self, state: StateTerms) -> Reason | None:
        """
        Run once the first torque is allowed, or brake an arm that is to be held.

        Returns why torques of the settings asked for are refused, if the arm contradicts them.
        """
        self._warn_while_waiting()
        stays = self.ended and self.compared  # a stopped arm stays where it is
        refused = None if stays else self._contradiction(state)
        if refused is None and not stays:
            self._use_terms(agrees=True)
            if not self.compared:
                self.compared = True
                self.disturbances.reset_at_first_torque(state.stamp)
        if self._holds_again and self.states.has_enough:
            self._begin(Event.HOLD, state)
        elif self.enabled:
            why: Reason | str | None = refused or self.blocked or self._waits_for()
            if not why:
                self._begin(Event.BEGIN, state)
            elif self.state is State.SILENT:  # else the reason of the stop stays
                self._wait_for(why)
        return refused

    def _wait_for(self, why: Reason | str | None) -> None:
        """Say why no first torque goes out yet; a receiver's pause lasts while `blocked` does."""
        paused = self.blocked and self.enabled and self.ending.then is Then.ZERO
        later = Cause.AWAITED.ending(why or Code.AWAITED())
        self.ending = self.ending.joined(later) if paused else later

    def _waits_for(self) -> Reason | None:
        """Return what joint states or gains lack for the first torque, if so; it is no fault."""
        law, states = self.asked, self.states
        return states.start_blocker() or law.instability_reason(states.period, states.median_age)

    def _violation(self) -> Reason | None:
        """Return which torque contradicts the settings asked for, by the start's bounds."""
        found = self.disturbances
        return found.violation(found.start_bound, self.asked.terms, self.acting)

    def _contradiction(self, state: StateTerms) -> Reason | None:
        """
        Return which torque contradicts the settings asked for before torques begin, if one does.

        What is compared is the torque that holds the arm at rest. Brakes may hold the arm before
        the first torque, and later that of a node if it does not move; without measured torque
        nothing can be compared then.
        """
        on_brakes = not self.compared or not (self.output.in_loop or state.moves)
        changed = self.acting is not self.asked.terms
        # What was sent under the terms before holds the arm, unless brakes do: it tests changed
        # ones without a measured torque, too.
        judged = self.disturbances.tests(self.asked.terms) or (changed and not on_brakes)
        return self._violation() if judged else None

    def _use_terms(self, *, agrees: bool, loaded: bool = False) -> None:
        """
        Let torques go out by the terms of the settings asked for, if they may.

        `agrees`: the arm agrees with the settings asked for; `loaded`: the payload has changed.
        The law or the brake takes other settings at once: their torques ramp, or are taken up by
        what holds the arm. Else the arm has to agree with them before they change a torque that
        acts, in a loop or as a node's last one, and is not zero because nothing was compared yet.
        """
        acts = self.compared and (self.output.in_loop or bool(self.output.sent))
        before, after = self.acting, self.asked.terms
        if before is not after and (agrees or not acts or self.state in ACTIVE):
            more = self.disturbances.change_terms(before, after, self.latest, loaded=loaded)
            self.brake.change_load(more)
            self.acting = after

    def _begin(self, event: Event, state: StateTerms | None = None) -> None:
        """
        Begin to run or to brake: at the last torque if one acts, else at a first one.

        `state` is that of an arm to which nothing was sent for a while; None: the brake holds it.
        A first torque is zero if the target adds gravity, else the measured torque or, without,
        g(q). Under a target that adds gravity the law's ramp begins at the rest of g(q), to which
        the torque goes by its rate alone, because the arm falls without it once its brakes open.
        """
        output, found, begins_at = self.output, self.disturbances, None
        if state is not None:
            terms, gravity = self.asked.terms, self.asked.terms.gravity(state.q)
            adds, silent = terms.adds_gravity, self.state is State.SILENT
            still_acts = output.still_acts(state, self.states.arrival, adds)
            unknown = silent and not (output.in_loop or still_acts)
            if unknown:
                output.forget()  # another receiver, or the arm was moved
            if not output.sent:
                first = gravity if found.is_idle else found.received
                output.begin_at(0.0 * gravity if adds else first)
            if unknown or event is Event.BEGIN:
                found.reset_at_first_torque(state.stamp)
            if silent and adds:
                begins_at = terms.gravity_to_command(state.q, gravity)
        if event is Event.BEGIN:
            self.falls.reset()
            self.speeds.reset()
            self.ramp.begin(begins_at)
            self.reference.clear('torques begin')
            self.ending, self._waited = NO_ENDING, 0
        self._change(event)

    # 3. Run, or brake --------------------------------------------------------------------------
    def _answer(self, state: StateTerms, reference: ReferencePoint | None, now: float) -> Array:
        """Return the torque for a usable state."""
        states, brake = self.states, self.brake
        if self.state is State.RUNNING:
            if self.asked.pulls and reference is None:
                self.reference.hold(state.q)
            desired = self.ramp.torque(self.asked, state, reference, self.output.last)
        elif self.state in ACTIVE:
            found = self.disturbances.commanded
            desired = brake.torque(state, self.acting, found, states.elapsed, states.age)
            if brake.driven is not None:
                self._end(Cause.BRAKING_FAILED.ending(brake.driven))
        elif self.state is State.STOPPING or not self.output.in_loop:
            return self._rest_or_last(now)
        else:
            desired = self._resting(now)
        if not np.isfinite(desired).all():  # in an ACTIVE state: a resting torque is finite
            self._end(Cause.TORQUE_NOT_FINITE.ending(Code.NOT_FINITE()))
        if self.state is State.BRAKING and brake.at_rest:
            holds = self.ending.then is Then.HOLD
            self._change(Event.REST_HELD if holds else Event.REST)
        if self.state is State.STOPPING:
            # What is desired has just ended, and `acting` may have changed: the stop has its own.
            return self._stop_step(now)
        torque = self.output.send(desired, states.elapsed, now)
        if self.state is not State.RUNNING:
            brake.limit(desired, torque)
        return torque.copy()  # the caller may write into it

    # 4. Limit the torque and its rate ----------------------------------------------------------
    def _rest_or_last(self, now: float, silence: float = 0.0) -> Array:
        """
        Return the torque where no state is answered: the next one of a stop, or the last.

        A loop in silence goes on with the resting torque of where the arm probably is. `silence`
        is the time since the latest state [s].
        """
        output = self.output
        if self.state is State.STOPPING:
            return self._stop_step(now, silence)
        if self.state is State.SILENT and output.in_loop and output.sent:
            return output.send(self._resting(now), now - output.sent_at, now).copy()
        return output.keep()

    def _stop_step(self, now: float, silence: float = 0.0) -> Array:
        """
        Return the next torque of an arm that was let go: towards the resting torque.

        An arm that is not seen is first brought to rest by its model. If the target adds no
        gravity, a moving arm would fall under g(q) of an earlier q; so this lasts while states
        show that the arm moves.
        """
        state, arm, terms, output = self.latest, self.unseen, self.acting, self.output
        stops = arm.stops and self.ending.then is not Then.ZERO
        stops = stops and not arm.has_stopped(terms, now)
        goal = arm.stopping_torque(terms, now) if stops else self._resting(now)
        if not np.isfinite(goal).all():  # no limit of the arm bounds the velocity seen last
            stops, goal = False, self._resting(now)
        goal = output.clipped(goal)
        torque = output.send(goal, now - output.sent_at, now)
        unseen = self.states.problem is not None or silence > MAX_GAP_S
        moves = state is not None and np.abs(state.dq).max() > MAX_STOPPED_SPEED_RAD_S
        goes_on = moves and not (terms.adds_gravity or unseen)
        if np.array_equal(torque, goal) and not (goes_on or stops):
            self._change(Event.END)
            seen = None if arm.last is None else arm.probable(now)
            output.record_end(seen, now, terms.adds_gravity)
        return torque.copy()

    def _resting(self, now: float) -> Array:
        """Return the resting torque, (n,) [N m]; zero before the arm was compared with it."""
        torque = self.unseen.resting_torque(self.acting, now)
        acts = self.compared and self.ending.then is not Then.ZERO
        return torque if acts and np.isfinite(torque).all() else np.zeros_like(torque)

    # 6. Must torques end? ----------------------------------------------------------------------
    def _watch(
        self, state: StateTerms, reference: ReferencePoint | None, refused: Reason | None
    ) -> None:
        """Let the watchers look at an arm that the law answers, or that may fall at rest."""
        runs, brakes = self.state is State.RUNNING, self.state in (State.BRAKING, State.HOLDING)
        # An arm that moves before the first torque of a loop falls by the receiver's own gravity
        # torque: the loop's zero torque would not stop it.
        falls = not (runs or brakes) and self.enabled and state.moves
        rests = not (runs or brakes) and self._resting_torque_acts(falls)
        refused = refused if falls else None
        by = self.acting, reference, self.states.elapsed
        cycle, ending = Cycle(state, *by, runs, brakes, rests, refused), None
        for found in (  # in the order of priority; all look
            self.falls.check(cycle),
            self.disturbances.check(cycle),
            self.speeds.check(cycle),
        ):
            ending = ending or found
        if ending is not None:
            self.counts['faults'] += 1
            self._end(ending)

    def _resting_torque_acts(self, falls: bool) -> bool:
        """Return whether the resting torque is sent, and moves the arm if it is wrong."""
        then = self.ending.then
        sends = self.state is State.STOPPING or self.output.in_loop
        carries = self.compared and not self.acting.adds_gravity and then is not Then.ZERO
        return sends and (carries or falls) and then is not Then.COAST

    def _end(self, later: Ending, *, acts: bool = True) -> None:
        """
        End torques: a stop, joint states, a watcher and a failed brake do it here.

        An ending that is latched, or by which the arm is braked or held, is joined with a later
        one. `acts`: the state changes, too.
        """
        lasts = self.faulty or self.state in (State.BRAKING, State.HOLDING)
        self.ending = self.ending.joined(later) if lasts else later
        if acts:
            self._change(ENDING_EVENTS[later.then])

    def _change(self, event: Event) -> None:
        """Change the state as TRANSITIONS says, and log it."""
        before = self.state
        if (before, event) not in TRANSITIONS:
            return
        self.state = TRANSITIONS[before, event]
        self.compared = self.compared or self.state in ACTIVE
        self._use_terms(agrees=False)
        if before is State.RUNNING:
            self.ends.append(self.ending)
            self.reference.clear(self.ending)
        if self.state is State.BRAKING:
            self.brake.begin(self.disturbances.commanded, (self.asked.kp, self.asked.kd))
        calm = self.state in (State.RUNNING, State.SILENT)
        _LOG.log(logging.INFO if calm else logging.WARNING, '%s', self.status)
