# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The core: computes a torque for each joint state, and decides whether torques are sent.

`Feedforward.step` takes one joint state through six parts, in these functions and files:

1. Can the joint state be used?                  `state_check.py`; `reject_state`
2. May torques begin?                            `_try_start`; `start_up.py`
3. Run, or brake.                                `_desired`, `_braked`; `braking.py`
4. Limit the torque and its rate, and send it.   `_stop_step`; `torque_output.py`
5. What do the joints get that the model does not explain?   `residual_monitor.py`
6. Must the arm be braked from the next joint state on?      `_violation`; `limits.py`

While a law or the brake acts, parts 5 and 6 come after the torque, so as not to delay it; what
they find changes the next one. `core_state.py` has the states, what changes them, and what ends
torques.
"""

from __future__ import annotations

from collections.abc import Callable
import logging
import math
from pathlib import Path
import threading
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .braking import BrakingController, OpenLoopStop
from .control_law import ControlLaw, Ramp
from .core_state import ACTIVE, Event, Remedy, State, Status, Stop, TRANSITIONS
from .default_gains import low_gains
from .joint_trial import JointTrial
from .limits import MAX_STEP_S, SpeedMonitor
from .reference import MAX_START_DISTANCE_RAD, Reference
from .residual_monitor import ResidualMonitor
from .settings import Settings
from .start_up import StartUp
from .state_check import seconds, StateCheck, StateLimits
from .terms import StateTerms
from .torque_output import TorqueOutput
from .trajectory import ReferencePoint, Trajectory
from ..arm import ArmDescription
from ..arm.friction_state import MAX_GAP_S
from ..arm_io import as_description
from ..errors import NotActiveError, SettingsError, StartRefusedError
from ..typing import Array

_LOG = logging.getLogger(__name__)


# After WAIT_WARNING_STATE_COUNT silent states of an enabled or faulty core, the log says why.
WAIT_WARNING_STATE_COUNT = 200


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

    `state` is the present state, and `status` says why. `latest` is the latest joint state with
    its torque terms, None if one of its values is impossible; `state_problem` says why that state
    cannot be used, '' if it can. `blocked` is a reason, set from outside, for which no first
    torque may begin yet. `states` has period and age of the joint states, `residuals` the measured
    and the commanded torque beyond what the motion needs. `sends` says whether the latest torque
    is new; a node publishes it only then.
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
        self.description = arm = as_description(arm)
        if soft_gains is not None:
            settings = dict(zip(('kp', 'kd'), low_gains(arm, soft_gains))) | settings
        self.limits, self._applied_when_silent = limits or StateLimits(), applied_when_silent
        self.names, self.zero = arm.joint_names, np.zeros(arm.n)
        # A loop applies each torque for a whole period; a receiver of a node within 1 ms.
        longest = max(MAX_STEP_S, period) if applied_when_silent else MAX_STEP_S
        self._output, self._speed = TorqueOutput(arm, longest, send), SpeedMonitor(arm)
        self.counts, self.largest_share = self._output.counts, self._output.largest_share
        self._lock, self._changing = threading.RLock(), threading.Lock()
        self.states = StateCheck(arm, self.limits, period)
        self.law = self._made(Settings().changed(target=target, **settings))
        self.residuals = ResidualMonitor(arm, self.limits, self.law.terms)
        self.reference, self._brake = Reference(arm), BrakingController(arm)
        self._start_up = StartUp(
            self.limits,
            self.states,
            self.residuals,
            self._brake,
            self._output,
            self.law.terms,
            applied_when_silent=applied_when_silent,
        )
        self.blocked = ''  # why torques may not begin yet, which its owner sets
        self._wanted, self._final = True, False  # whether torques are wanted, and a fault stays
        self._first_reason = ''  # what ended torques first
        self._ramp = Ramp()  # of the torque after a start or a change of the law
        self.reset()

    TICK_S = MAX_STEP_S  # how often `tick` is to be called without a state [s]

    # What users call ---------------------------------------------------------------------------
    def reset(self) -> None:
        """
        Reset states, torques, references and faults, as after a reset of a simulation.

        A `final` fault and a user's stop stay. A held arm is let go. The next torque may be any
        step away from the last one.
        """
        with self._lock:
            self.reference.clear('reset')
            self.state, self._output.is_new = State.SILENT, False
            self.latest: StateTerms | None = None
            self.state_problem = 'no joint state has come yet'
            if not self._final:
                self.faulty = False  # whether a fault is latched, until `start`
                self._to_zero = False  # whether the torque goes to zero: the receiver is another
                if self._wanted:
                    self.why = self.state_problem
            self._hold = False  # whether the arm is to be held until `start`
            self._let_go = False  # whether braking failed, or would drive the arm
            self._trial: JointTrial | None = None  # while joints are tried
            self._open_loop_stop: OpenLoopStop | None = None  # after sensors stood still in motion
            self._speed.reset()
            # The last position, and whether one leapt since `start`: none is believed after that.
            self._resting_q: Array | None = None
            self._leapt = False
            self._start_up.reset()
            self._waited = 0  # states while silent though the user wants torques
            self._output.clear()
            self.states.reset()
            self._start_up.adopt(self.law.terms, self.latest)
            self._forget()
            self.law.terms.reset_friction()

    def _forget(self) -> None:
        """Forget all joint states."""
        self.states.reset_except_position()
        self.residuals.reset()
        self._start_up.good = 0
        self._output.keep_last()

    def start(self) -> None:
        """
        Clear a fault, and command torques from the next allowed state on; `status` says why not.

        Raises StartRefusedError while the arm is still braked after a fault, while a held arm's
        states are too old or its torque is unexplained, and after a fault that only a new object
        clears.
        """
        with self._lock:
            if self._final:
                raise StartRefusedError(f'{self.why}; configure the controller again.')
            if self.faulty and self.state is State.BRAKING:
                raise StartRefusedError('The arm is still being braked; try again.')
            held = self.state is State.HOLDING
            blocker = self._start_up.blocker(self.law, held=True) if held else ''
            if blocker:
                raise StartRefusedError(f'Not started: {blocker}. Correct that, or stop.')
            self._wanted = True
            self.faulty = self._hold = self._to_zero = self._let_go = self._leapt = False
            self.states.reset_losses()
            self.counts.clear()
            self.largest_share[:] = self.residuals.largest[:] = 0.0
            if held:
                self._run(Event.START)
            elif self.state is State.SILENT:
                self.why = self.state_problem or self.blocked or 'good joint states are awaited'

    def stop(self, reason: str, then: Stop = Stop.LET_GO) -> None:
        """
        Brake the arm to rest for a reason; `then` says what follows.

        A stop that does not hold lets go of a held arm; a fault stays latched.
        """
        with self._lock:
            fault, hold = then is not Stop.LET_GO, then is Stop.HOLD
            given_up = self.state is State.SILENT or (self.state is State.STOPPING and self.faulty)
            why = self._with_reason(reason)
            self._wanted = self._wanted and fault
            self.faulty, self._final = self.faulty or fault, self._final or then is Stop.FINAL
            self._to_zero = self._to_zero or then is Stop.TO_ZERO
            # An arm that was to be held before states were lost is held again, even if silent.
            self._hold = hold and not self._to_zero and (self._hold or not given_up)
            if then is Stop.TO_ZERO and self.state in ACTIVE:
                self._change(Event.LOST, why)
            elif self.state is State.RUNNING or (self.state is State.HOLDING and not hold):
                self._change(Event.STOP, why)
            else:
                self.why = why

    def change(self, **settings: Any) -> None:
        """
        Change settings from the next step on.

        While running, the torque ramps from the old law's to the new; a held arm gets the same.
        While torques stop or rest, that of the old settings goes on until the arm agrees with the
        new ones. Raises SettingsError, and changes nothing, if they cannot be used, if torques are
        sent for another target, or while the joints are tried.
        """
        with self._changing:
            before, law = self.law, self.prepared_law(**settings)
            with self._lock:
                self._require_usable_now(law)
                used = self._ramp.law or before
                if (self._pulled(law) | ((law.kp > 0.0) & (used.kp == 0.0))).any():
                    self.reference.hold(None)  # a person may have guided the arm away
                self.law = law
                # A torque acts in a loop, and in silence a node's last one.
                acts = self._applied_when_silent or bool(self._output.sent)
                if self.state in ACTIVE or not (self._start_up.compared and acts):
                    loaded = law.settings.payload != before.settings.payload
                    self._start_up.adopt(law.terms, self.latest, loaded=loaded)

    def prepared_law(self, **settings: Any) -> ControlLaw:
        """Return the control law of changed settings; SettingsError as `change`."""
        law = self._made(self.law.settings.changed(**settings))
        self._require_usable_now(law)
        return law

    def _require_usable_now(self, law: ControlLaw) -> None:
        """Raise SettingsError if the present state does not allow a law that can be used."""
        before, after = self.settings.target, law.settings.target
        if self.state is State.RUNNING and self._trial is not None:
            raise SettingsError('The joints are still being tried; change settings afterwards.')
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
        return np.asarray(far & (law.kp > (self._ramp.law or self.law).kp))

    def _made(self, settings: Settings) -> ControlLaw:
        # In a loop's MuJoCo model, joints have the rotor inertia and friction that `arm` states.
        as_given = self._applied_when_silent and settings.target == 'mujoco'
        law = ControlLaw(self.description, settings, as_given=as_given)
        law.require_stable(self.states.period, self.states.median_age)
        return law

    def follow(
        self,
        q: ArrayLike,
        times: ArrayLike | None = None,
        dq: ArrayLike | None = None,
        ddq: ArrayLike | None = None,
        *,
        start: float | None = None,
        goal_id: str = '',
    ) -> Trajectory:
        """
        Follow a set-point q (n,), or positions (k, n) at `times` (k,) [s] after `start`.

        Returns the motion. Raises ReferenceRefusedError if no torque is sent or the motion cannot
        be followed; the present motion then goes on. See `Reference.follow`.
        """
        with self._lock:
            if self.state is not State.RUNNING or self._trial is not None:
                raise NotActiveError(f'Nothing would follow the reference ({self.status}).')
            measured = None if self.law.kp.any() else self.states.q
            if measured is not None:  # a person may have guided the arm away
                self.reference.hold(None)
        motion = self.reference.follow(
            q, times, dq, ddq, start=start, goal_id=goal_id, measured_q=measured
        )
        with self._lock:
            if self.state is not State.RUNNING:  # stopped by another thread meanwhile
                self.reference.clear(self.why)
        return motion

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
                return Status(self.state, tried or 'torques are sent', Remedy.NONE, False)
            remedy = Remedy.WAIT if self.enabled else Remedy.START
            if self.faulty:
                remedy = Remedy.CONFIGURE if self._final else Remedy.CLEAR
            return Status(self.state, self.why, remedy, self.faulty)

    @property
    def enabled(self) -> bool:
        """Whether torques begin as soon as joint states allow it."""
        return self._wanted and not self.faulty

    @property
    def ended(self) -> bool:
        """Whether the core was stopped, and sends nothing more until `start`."""
        return self.state is State.SILENT and not (self.enabled or self._hold)

    @property
    def has_usable_states(self) -> bool:
        """Whether enough usable joint states came in a row."""
        return self._start_up.has_usable_states

    @property
    def torque(self) -> Array:
        """The torque that `step` or `tick` returned last, (n,) [N m]."""
        with self._lock:
            return self._output.last.copy()

    @property
    def sends(self) -> bool:
        """Whether the latest torque is new."""
        return self._output.is_new

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
        q, dq, measured = self.states.vectors(q, dq, effort)
        time = seconds('time', time)
        now = None if now is None else seconds('now', now)
        age = None if age is None else seconds('age', age, finite=False)
        age = None if age is None or math.isnan(age) else age
        with self._lock:
            waits = self.state is State.SILENT and (self.enabled or self.faulty)
            self._waited = self._waited + 1 if waits else 0
            if self._waited == WAIT_WARNING_STATE_COUNT:
                _LOG.warning('%s', self.status)
            error = self.states.stamp_error(time)  # part 1
            if error == 'late':  # it is dropped; the last state counts
                if waits and self.enabled:
                    self.why = self.state_problem = (
                        f'the time of joint states does not go on ({time:g} s again)'
                    )
                return self.tick(*self.states.tick_times(time, age, now))
            now = time if now is None else now
            if error == 'set back':
                if now < self.states.arrival:
                    self.states.reset_losses()  # how long ago they were is not known any more
                torque = self.reject_state('the clock of the joint states was set back', now)
                self._forget()
                self._output.sent_at = now  # a further torque of this instant must not differ
                return torque
            wrong, faulty = self.states.impossible(q, dq, measured)
            if wrong:
                if self.states.stamp is None and self._applied_when_silent:
                    self.states.refuse_degrees(q)
                self.latest = None
                return self.reject_state(wrong, now, faulty=faulty)
            wrong, faulty = self.states.update(time, q, dq, age, now)
            self._leapt = self._leapt or faulty
            self._resting_q = self._resting_q if self._leapt else q
            reference, terms = self.reference.at(time), self._start_up.terms
            acts, self._start_up.refused = self.state in ACTIVE, ''
            if not wrong:
                silent = self.state is State.SILENT
                desired = self.zero if reference is None else reference.dq
                wrong = self.states.frozen_joint(None if silent else self._output.last, desired)
                faulty = bool(wrong)
                if wrong and acts:
                    self._open_loop_stop = OpenLoopStop(
                        terms, *self.states.extrapolated_motion(), now
                    )
                if wrong and self._open_loop_stop is not None:
                    self._open_loop_stop.update_measured(q, dq, self.states.live, now)
                elif self.states.is_repeated:
                    return self._stopping_or_last(now, 0.0)
            if terms.friction is not None:
                terms.friction.update(time, q)
            state = self.latest = terms.at(time, q, dq, reference)
            if wrong:
                return self.reject_state(wrong, now, faulty=faulty)
            self._start_up.good, self.state_problem = self._start_up.good + 1, ''
            self._open_loop_stop = None
            late = self.states.age_in_periods
            # In silence a target that adds gravity carries the arm, or motor brakes do.
            silent = self.state is State.SILENT and terms.adds_gravity
            sent_before = [] if silent else list(self._output.sent)
            if not acts:
                self.residuals.observe(state, measured, sent_before, late)
                self._try_start(state)  # part 2
                if self._start_up.terms is not terms:
                    state = self.latest = self._start_up.terms.at(time, q, dq, reference)
            torque = self._answer(state, reference, now)  # parts 3 and 4
            if acts:
                self.residuals.observe(state, measured, sent_before, late)  # part 5
            wrong = self._violation(state, reference)
            self.counts['faults'] += bool(wrong)  # part 6
            if wrong and self._trial is not None:
                self._abort(wrong)
            elif wrong:
                wrong = self._with_reason(wrong)
                self.faulty = self._hold = True
                self._change(Event.STOP, wrong)
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
                return self.reject_state(
                    f'no new joint state for {1e3 * abs(silence):.0f} ms', now
                )
            return self._stopping_or_last(now, silence)

    # 1. Can the joint state be used? -----------------------------------------------------------
    def reject_state(self, why: str, now: float, *, faulty: bool = False) -> Array:
        """
        Reject a joint state that cannot be read or trusted; return the torque, as `tick` does.

        `now` is the time by the clock of `tick` [s]; a fault is to be cleared by `start`.
        """
        now = seconds('now', now, finite=False)
        with self._lock:
            self._start_up.good, self.state_problem = 0, why
            self.states.reset_drift()
            self.counts['unusable states'] += 1
            if self.state in ACTIVE:
                self.counts['stops'] += 1
                too_often = self.states.record_loss(now)
                faulty = faulty or bool(too_often)
                why = self._with_reason(too_often + why)
                self.faulty = self.faulty or faulty
                self._change(Event.LOST, why)
            elif faulty and not self.faulty:
                self.why, self.faulty = self._with_reason(why), True
            elif self.state is State.SILENT and self.enabled:
                self.why = why
            self._hold = self._hold and not faulty
            return self._stopping_or_last(now, math.inf)

    def _stopping_or_last(self, now: float, silence: float) -> Array:
        """Return the torque where no state is answered: the next one of a stop, or the last."""
        if self.state is State.STOPPING:
            return self._stop_step(now, silence)
        self._output.is_new = False
        return self.torque

    # 2. May torques begin? ---------------------------------------------------------------------
    def _try_start(self, state: StateTerms) -> None:
        """Run once the first torque is allowed, or brake an arm that is to be held."""
        blocker, silent = self._start_up.compare(self.law.terms, state), self.state is State.SILENT
        if self._hold and self.has_usable_states:
            self._start_up.begin_torque(self.law.terms, state, silent=silent)
            self._change(Event.BACK, self.why)
        elif self.enabled:
            blocker = blocker or self.blocked or self._start_up.blocker(self.law, held=False)
            if not blocker:
                begins_at = self._start_up.begin_torque(self.law.terms, state, silent=silent)
                self.residuals.begin(state.stamp)
                self._run(Event.BEGIN, begins_at)
            elif silent:  # else the reason of the stop stays
                self.why = blocker

    def _run(self, event: Event, begins_at: Array | None = None) -> None:
        self._speed.reset()
        tries = self.limits.try_joints
        self._trial = JointTrial(self.description, self.residuals.running_bound) if tries else None
        self._ramp.begin(begins_at)
        self.reference.clear('torques begin')
        self._change(event, '')

    # 3. Run, or brake --------------------------------------------------------------------------
    def _answer(self, state: StateTerms, reference: ReferencePoint | None, now: float) -> Array:
        """Return the torque for a usable state."""
        desired = self._desired(state, reference)
        if self.state in ACTIVE and not np.isfinite(desired).all():
            self._abort('the computed torque is not finite')
        sends = self.state in ACTIVE or self._applied_when_silent
        if self.state is State.STOPPING or not sends:
            return self._stopping_or_last(now, 0.0)
        return self._sent_torque(desired, self.states.elapsed, now)

    def _desired(self, state: StateTerms, reference: ReferencePoint | None) -> Array:
        """Return the torque that the present state of the core asks for; it may end that state."""
        if self.state is not State.RUNNING:
            return self._braked(state) if self.state in ACTIVE else self._resting()
        if self._trial is not None:
            return self._tried(state, self._trial)
        if self.law.kp.any() and reference is None:
            self.reference.hold(state.q)
        return self._ramp.torque(self.law, state, reference, self._output.last)

    def _tried(self, state: StateTerms, trial: JointTrial) -> Array:
        """Return the torque that tries the joints; a joint that moves wrongly ends all torques."""
        torque = trial.torque(state, self.law.terms, self.states.elapsed, self.states.age)
        if trial.joint == len(self.names):  # all move as they should
            self._trial = None
            self._ramp.begin()
        if trial.wrong:
            self._abort(trial.wrong)
        return torque

    def _braked(self, state: StateTerms) -> Array:
        """Return the torque that brakes the arm, and holds it at rest."""
        brake, terms, states = self._brake, self._start_up.terms, self.states
        residual = self.residuals.command_residual
        torque = brake.torque(state, terms, residual, states.elapsed, states.age)
        if brake.driven:
            self._abort(brake.driven)
        elif self.state is State.BRAKING and brake.at_rest:
            self._change(Event.REST_HELD if self._hold else Event.REST, self.why)
        return torque

    def _abort(self, why: str) -> None:
        """Go to the resting torque after a fault, because braking fails or would drive the arm."""
        why = self._with_reason(why)
        self.faulty, self._hold, self._let_go = True, False, True
        self._change(Event.LOST, why)

    def _with_reason(self, why: str) -> str:
        """Return `why`, and before it what ended torques first if something did before."""
        if not (self.faulty or self.state in (State.BRAKING, State.HOLDING)):
            self._first_reason = why
        return why if why == self._first_reason else f'{self._first_reason}; {why}'

    def _change(self, event: Event, why: str) -> None:
        """Change the state as TRANSITIONS says, and log it."""
        before, self.state, self.why = self.state, TRANSITIONS[self.state, event], why
        if self.state in ACTIVE or not (self._applied_when_silent or self.state is State.STOPPING):
            self._start_up.compared = True
            self._start_up.adopt(self.law.terms, self.latest)
        if before is State.RUNNING:
            self._trial = None
            self.reference.clear(why)
        if self.state is State.BRAKING:
            self._brake.begin(self.residuals.command_residual, (self.law.kp, self.law.kd))
        calm = self.state in (State.RUNNING, State.SILENT)
        _LOG.log(logging.INFO if calm else logging.WARNING, '%s', self.status)

    # 4. Limit the torque and its rate ----------------------------------------------------------
    def _sent_torque(self, desired: Array, elapsed: float, now: float) -> Array:
        """Send a torque within its limits, `elapsed` [s] after the last one; return it."""
        torque = self._output.send(desired, elapsed, now)
        self._brake.held_back = desired - torque
        return torque.copy()  # the caller may write into it

    def _stop_step(self, now: float, silence: float) -> Array:
        """
        Return the next torque on the way to the resting torque.

        If the target adds no gravity, a moving arm would fall under g(q) of an earlier q. So this
        lasts while the arm moves, as far as states show it.
        """
        state, terms = self.latest, self._start_up.terms
        open_loop_stop = None if self._to_zero else self._open_loop_stop
        goal = open_loop_stop.torque(now) if open_loop_stop else self._resting()
        goal = self._output.clipped(goal)
        torque = self._sent_torque(goal, now - self._output.sent_at, now)
        unseen = bool(self.state_problem) or silence > MAX_GAP_S
        goes_on = state is not None and not (terms.adds_gravity or unseen) and state.moves
        goes_on |= open_loop_stop is not None and not open_loop_stop.is_finished(now)
        if np.array_equal(torque, goal) and not goes_on:
            self._change(Event.END, self.why)
            self._start_up.record_end(self.zero if self._resting_q is None else self._resting_q)
        return torque

    def _resting(self) -> Array:
        """Return the torque that holds the arm if the target needs one, else zero, (n,)."""
        if not self._rests or self._resting_q is None:  # no state has come
            return self.zero
        return self._start_up.terms.gravity(self._resting_q)

    @property
    def _rests(self) -> bool:
        """Whether the resting torque is g(q)."""
        adds_gravity = self._start_up.terms.adds_gravity
        return self._start_up.compared and not (adds_gravity or self._to_zero)

    # 6. Must the arm be braked from the next state on? -----------------------------------------
    def _violation(self, state: StateTerms, reference: ReferencePoint | None) -> str:
        """Return why the arm must be braked, or ''."""
        runs = self.state is State.RUNNING
        sends = self.state is State.STOPPING or self._applied_when_silent
        # An arm that moves before the first torque of a loop falls by the receiver's own gravity
        # torque: the loop's zero torque would not stop it.
        falls = not runs and self.enabled and state.moves
        if self._start_up.has_fallen_while_refused(falls and self._rests):
            return self._start_up.refused
        watched = sends and not self._let_go and (self._rests or falls)
        if not runs and (self.state in ACTIVE or not watched):
            return ''
        residual = self.residuals.persistent_violation(state, self.states.elapsed)
        gain = self.residuals.speed_gain(state)
        too_fast = self._speed.exceeded(state, reference, gain, self.states.elapsed)
        if too_fast:
            too_fast = self.residuals.gravity_compensation_error or too_fast
        period, age = self.states.period, self.states.median_age
        return residual or too_fast or (self.law.staleness_reason(period, age) if runs else '')
