# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Decides what is commanded at each joint state, and when torques begin and end.

`step` takes a joint state and returns the next torque; `tick` does so while no state comes. In the
common case the core is SILENT for 20 joint states, and then RUNNING until `stop`, which makes it
BRAKING, STOPPING and SILENT again. The tables in core_table.py say what follows from what; this
text has what is no row. Some words have a meaning of their own:

- A *loop* applies each returned torque. A *node* sends none while SILENT.
- *G* is the part of g(q) to send: all, or none if the target adds g(q) (fci, franka_gazebo).
- *d* is what the model does not explain: the sent torque and what the target adds, less what the
  motion needs. A measured torque is unexplained as far as it differs from either of these two.
- The *resting torque* is g(q) at the last usable state, plus d after the reaction HOLD. It is zero
  if the target adds g(q), after ZERO, before any state (also after `reset`), and until a state has
  agreed with settings.
- The *ramp* lets a difference of torques fade in 0.2 s; another one adds to what is left of it. It
  is for the law's begin, for settings that act, for a loop's resting torque, for the begin and the
  end of a law of one's own, and for the offset (terms.offset), which comes and goes with a motion.
- *Blocked* means that the caller has said why no torque may begin, as when nobody applies it.

Each torque is within its limit, and within 1000 N m/s of the last one, by the stamps of states and
by `now` if that is given. The first torque and the first one after `reset` have no last one; in a
node, neither have the first one after zero and the first one after a change of who adds g(q).

When events happen:
- Torques may begin (BEGIN) if the last 20 states were usable and are at most 15 ms old, gains bear
  that delay, the settings agree with the state (no torque is measured, or at most 10 % of each
  limit is unexplained), nothing is blocked, and what ended torques needs no `start`. While RUNNING
  the status says if gains do not bear the delay that states have then.
- An arm that is to be held can be braked (SEEN) once 20 states were usable, if not blocked.
- States are lost or impossible as state_check.py lists; they are lost, too, after none for 20 ms
  (3 periods, if longer). Until then `tick` repeats the last torque. In SILENT and STOPPING usable
  states are counted anew, and nothing is latched.
- HOLD: in RUNNING, if much is unexplained for 20 ms (disturbance.py), or a joint is too fast for
  3 ms (speed_watcher.py). A loop's SILENT and STOPPING are judged so, too, while the arm moves and
  the resting torque carries it (settings have agreed, and the target adds no g(q)), but not after
  ZERO or LEAVE. If the settings by which torques may begin do not agree, 10 % is much.
- LEAVE: before a torque is sent that is not finite, and where a joint gets faster and faster in
  spite of the brake (stopping.py).
- A braked arm is at rest after 20 states in a row below 0.04 rad/s, or after 1 s. Then g(q) does
  not carry it if more than 10 % of a limit is unexplained.
- The model stops an arm that was faster than 0.02 rad/s when states were lost, for 0.25 s; the
  resting torque is then g(q) where the model has taken the arm.

If several things end torques, the first and the latest are named, and the hardest remedy is
needed. The latest reaction counts, but ZERO lasts until the law begins, and lost states (REST)
change none, so that a held arm is held again. `start` forgets what ended torques. In HOLDING it
raises StartRefusedError unless the conditions of BEGIN hold. The target changes only in SILENT.
"""

from collections import Counter, deque
from collections.abc import Callable
import logging
import math
from pathlib import Path
import threading
from typing import Any

import numpy as np

from .acting_law import ActingLaw
from .control_law import ControlLaw
from .core_table import Acting as Acting
from .core_table import ACTIVE_STATES as ACTIVE_STATES
from .core_table import Cause, Event, Reaction, Remedy, row_of, Torque
from .core_table import State as State
from .core_table import Stop as Stop
from .default_gains import low_gains
from .disturbance import DisturbanceMonitor
from .ending import (
    Ending,
    ending_by,
    ending_of_state,
    NO_ENDING,
    Reason,
    ReasonCode,
    Status,
)
from .limits import MAX_STEP_S, MIN_GOOD_STATE_COUNT
from .repeated_positions import Repetition
from .settings import Settings
from .settings import StateLimits as StateLimits
from .speed_watcher import SpeedWatcher
from .state_check import Reception, StampOrder, StateCheck
from .state_input import is_finite, make_own_torque, make_sample, StateSample
from .stopping import BrakingController, OpenLoopStop
from .terms import Desired, OwnTorque, StateTerms, TermModel
from .torque_output import TorqueOutput
from ..arguments import with_argument_checks
from ..arm import ArmDescription
from ..arm_io import as_description
from ..arrays import Array, ArrayLike, as_seconds
from ..errors import NotActiveError, SettingsError, StartRefusedError
from ..motion.planning import MAX_START_DISTANCE_RAD
from ..motion.reference import ReferenceFollower
from ..motion.trajectory import Trajectory

# After so many states without a first torque the log says why, once.
WAIT_WARNING_STATE_COUNT = 10 * MIN_GOOD_STATE_COUNT
# The events of endings by these causes; those of other causes have the names of their reactions.
_EVENTS = {
    Cause.OWN_LAW_CEASED: Event.OWN_LAW_CEASES,
    Cause.STATE_IMPOSSIBLE: Event.IMPOSSIBLE,
    Cause.SECOND_SOURCE: Event.IMPOSSIBLE,
    Cause.RECEIVER_PAUSES: Event.PAUSE,
}

_LOG = logging.getLogger(__name__)


@with_argument_checks
class Feedforward:
    """
    Computes the feedforward and PD torque of one arm for each joint state.

    `step` always returns a torque that is finite, within the torque limits and, but for the first
    one after `reset` or where the last one acts no more, within 1000 N m/s of the torque before.
    Torques begin by themselves; `start` is needed after `stop` or a fault only. Any thread may
    call any method. Friction is commanded along a motion (`follow`), or with the torque of a law
    of your own (`step(..., torque=...)`).

    Parameters
    ----------
    arm : ArmDescription, str or Path
        The arm without the payload, or its name or file.
    target : str
        Who receives the torques: fci, franka_gazebo, gz_ros2_control or mujoco.
    period : float
        The expected time between two joint states, 0.5 to 10 ms [s].
    limits : StateLimits, optional
        Which joint states and efforts can be used.
    applied_when_silent : bool
        Whether this is a loop, which applies the torque that `step` returns also in state SILENT.
        A node publishes nothing then, and its last torque may go on acting.
    send : callable, optional
        Called with each new torque (n,) [N m] before the disturbance check and the watchers of
        `step`; it must not change the torque.
    soft_gains : float, optional
        A rate [1/s], of whose `low_gains` are the kp and kd that settings do not give.
    **settings
        Other fields of Settings: kp, kd, payload, gravity_vector, terms, ...

    Attributes
    ----------
    state, status
        The present state, and with it the reason and the remedy.
    ending : Ending
        What ended torques or keeps them from beginning.
    requested_law, acting_terms
        The control law of the present settings, and the terms by which torques go out.
    latest : StateTerms or None
        The latest joint state with its torque terms, None if one of its values is impossible.
    state_problem : str
        Why that state cannot be used, '' if it can.
    states : StateCheck
        Period and age of the joint states.
    law : ActingLaw
        The control laws of the settings that are requested and of those that act.
    output : TorqueOutput
        The last torque, and the largest shares of limits.
    sends : bool
        Whether the latest torque is new; only then a node publishes it.
    disturbances : DisturbanceMonitor
        The measured and the commanded torque beyond what the motion needs.
    checks : list of callable
        What ends torques at a usable state, each with the state and the bound on unexplained
        torques that holds then, (n,) [N m]; it returns an Ending or None.
    blocked : str
        A reason, set from outside, for which no first torque may begin yet.

    Raises
    ------
    DescriptionError
        If the arm is unknown.
    SettingsError
        If settings cannot be used on it, or gains swing at `period`.

    """

    TICK_PERIOD_S = MAX_STEP_S  # how often `tick` is to be called without a state [s]

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
        arm = as_description(arm)
        if soft_gains is not None:
            if not soft_gains >= 0.0:
                raise SettingsError(f'soft_gains is {soft_gains:g} 1/s; it must be 0 or more.')
            settings = dict(zip(('kp', 'kd'), low_gains(arm, soft_gains))) | settings
        self.output = TorqueOutput(arm, period if applied_when_silent else None, send)
        self.states = StateCheck(arm, limits or StateLimits(), period)
        law = self._stable_law(arm, Settings().changed(target=target, **settings))
        self.law = ActingLaw(law)
        self.disturbances = DisturbanceMonitor(arm, self.states.limits, law.terms)
        self.speed_watcher = SpeedWatcher(arm)
        self.checks: list[Callable[[StateTerms, Array], Ending | None]] = [
            self._check_speeds,
            self._check_disturbance,
        ]
        self.reference = ReferenceFollower(arm)
        self.brake = BrakingController(arm)
        self.open_loop_stop = OpenLoopStop()
        self.state = State.SILENT
        self.ending = NO_ENDING  # what ended torques, or keeps them from beginning
        self.unreported_endings = deque[Ending](maxlen=100)  # whoever reports them removes them
        self.blocked = ''
        self.latest: StateTerms | None = None  # None if a value of it is impossible
        self.desired: Desired | None = None  # at the latest state
        self._own: OwnTorque | None = None  # with the latest state
        self._waiting_state_count = 0  # how often no torque began since the last one ended
        self._has_told_delay = False  # since torques began
        self._torque = Torque.RESTING  # what the latest event brought
        self._is_stop_requested = False  # by the user, and no `start` since
        self._zero = np.zeros(arm.n)
        self._lock = threading.RLock()
        self.reset()
        friction_note = law.unused_friction_note()
        if friction_note:
            _LOG.info('%s', friction_note)

    # A step -------------------------------------------------------------------------------------
    def step(
        self,
        q: ArrayLike,
        dq: ArrayLike,
        time: float,
        *,
        effort: ArrayLike | None = None,
        age: float | None = None,
        now: float | None = None,
        torque: ArrayLike | None = None,
        velocity: ArrayLike | None = None,
        acceleration: ArrayLike | None = None,
    ) -> Array:
        """
        Take one joint state; send the next torque if it is new, and return it, (n,) [N m].

        `q` and `dq` are positions [rad] and velocities [rad/s], `effort` is the measured torque
        [N m] (with one NaN none is measured), (n,) each in the arm's order; another shape, or in a
        loop first positions in degrees, raise JointVectorError. `time` is the state's stamp, `age`
        how old it is, `now` its arrival by the clock that `tick` uses, by default `time` [s].

        `torque`, (n,) [N m], is that of a law of your own, given with every state. The terms of
        the settings are added to it: friction at `velocity` (by default the measured one) and M(q)
        `acceleration` (by default none), (n,) each. A state without `torque` leaves an arm at rest
        to the terms of the settings; one that moves is braked. While `velocity` moves, joints may
        be as fast as along a motion. Raises SettingsError if gains are set beside `torque`, or if
        a velocity or acceleration is given without it.
        """
        sample = make_sample(len(self._zero), q, dq, effort, time, age, now)
        own = make_own_torque(sample, torque, velocity, acceleration)
        if own is not None and self.law.requested.has_gains:
            raise SettingsError(
                'kp and kd follow a motion, and beside a torque of your own must be 0: give '
                'motions to follow, or leave kp and kd to your law.'
            )
        with self._lock:
            if self.output.in_loop and self.latest is None:
                self.states.require_radians(sample.q)
            former_own = self._own
            self._own = own
            self.disturbances.has_own_torque = own is not None
            if own is not None and former_own is None:
                self.reference.clear('torques of the caller are followed')
            arrival = sample.received_at
            # Can the state be used?
            order = self.states.stamp_order(sample)
            if order is StampOrder.OUT_OF_ORDER:
                self._record_wait_for_states()
                return self.tick(*self.states.tick_arguments(sample))
            if order is StampOrder.SET_BACK:
                return self._follow_set_back_clock(sample)
            was_active = self.state in ACTIVE_STATES
            last_torque = self.output.last_torque
            reception = self.states.receive(
                sample,
                last_torque,
                self.desired,
                is_active=was_active,
                may_brakes_hold=self.disturbances.may_brakes_hold(sample.stamp),
            )
            if reception is Reception.DROPPED:
                self._record_wait_for_states()
                return self._torque_without_state(arrival)
            if reception is not Reception.USABLE:
                if reception is Reception.UNUSABLE:
                    self._record_unusable_state(sample)
                assert self.states.problem is not None, 'the state cannot be used'
                return self._lose_states(ending_of_state(self.states.problem), arrival)
            repetition = self.states.repeated.latest
            if repetition is Repetition.NONE:  # else its velocity may be an old one
                self._record_where_seen(sample)
            state = self._terms_at(sample)
            self.latest = state
            # May torques begin?
            contradiction = None
            sent_before = list(self.output.torques)
            if was_active:
                self._follow_own_law(state, former_own)
            else:
                self._observe(state, sample.effort, sent_before)
                contradiction = self._begin_or_wait(state, arrival)
            sent = self._torque_at(arrival)
            # Must torques end? The torque goes out before; what is found changes the next one. A
            # frozen state tells nothing of the arm.
            if was_active and repetition is not Repetition.FROZEN:
                self._observe(state, sample.effort, sent_before)
            if not was_active or repetition is not Repetition.FROZEN:
                self._end_if_wrong(state, contradiction)
            return sent

    def tick(self, now: float, silence: float | None = None) -> Array:
        """
        Return the torque while no joint state comes, (n,) [N m]; after the time-out stop the arm.

        Call each TICK_PERIOD_S without a state. `silence` is the time since the last state by the
        clock of stamps, as in simulated time [s]; None: by `now` [s], the clock of `step`'s `now`.
        """
        now = as_seconds('now', now, finite=False)
        silence = None if silence is None else as_seconds('silence', silence, finite=False)
        with self._lock:
            if silence is None:
                silence = now - self.states.arrival_time
            is_silent = not abs(silence) <= self.states.silence_timeout()  # or NaN, or set back
            if is_silent and self.state in ACTIVE_STATES:
                problem = ReasonCode.SILENCE(silence=1e3 * abs(silence))
                return self._lose_states(ending_of_state(problem), now)
            return self._torque_without_state(now)

    @with_argument_checks
    def reject_state(self, why: str, now: float, *, faulty: bool = False) -> Array:
        """
        Reject a joint state that cannot be read or trusted; return the next torque, (n,) [N m].

        `now` is the time by the clock of `tick` [s]. `faulty`: another source sends joint states,
        too, which `start` is to clear.
        """
        now = as_seconds('now', now, finite=False)
        cause = Cause.SECOND_SOURCE if faulty else Cause.STATES_LOST
        with self._lock:
            ending = ending_by(cause, why)
            self.states.reject(ending.last_reason)
            return self._lose_states(ending, now)

    # Can the state be used? ---------------------------------------------------------------------
    def _record_where_seen(self, sample: StateSample) -> None:
        """Record where a usable state sees the arm, and how fast."""
        dq = sample.dq
        if self.ending.reaction is Reaction.LEAVE:  # its velocities may have been the fault
            dq = self.states.velocity_by_positions()
        self.open_loop_stop.record_state(sample.q, dq, sample.received_at)

    def _record_unusable_state(self, sample: StateSample) -> None:
        """Record what an unusable state says nevertheless: its terms, and where the arm is."""
        self.latest = self._terms_at(sample) if self.states.has_possible_values else None
        now = sample.received_at
        is_driven = self.state in ACTIVE_STATES or self.open_loop_stop.stops(now)
        if self.states.is_velocity_wrong:
            velocity = self.states.velocity_by_positions()
            self.open_loop_stop.record_state(sample.q, velocity, now)
        elif self.states.is_position_known and not is_driven:
            # The state is late, but right: an arm that nothing drives rests there.
            self.open_loop_stop.record_state(sample.q, self._zero, now)

    def _terms_at(self, sample: StateSample) -> StateTerms:
        """Return a possible state with its terms, along the reference."""
        terms = self.acting_terms
        self.desired = self._own or self.reference.at(sample.stamp)
        if terms.friction.model is not None:
            terms.friction.update(sample.stamp, sample.q)
        return terms.terms_at(sample.stamp, sample.q, sample.dq, self.desired)

    def _follow_set_back_clock(self, sample: StateSample) -> Array:
        """Forget what came before the clock was set back; return the next torque, (n,)."""
        now = sample.received_at
        self.output.sent_at = now - MAX_STEP_S
        self.states.forget_times()
        self.disturbances.forget_states()
        self.speed_watcher.reset()
        problem = ReasonCode.CLOCK_SET_BACK()
        self.states.reject(problem)
        # A simulation that was reset has put the arm elsewhere.
        if self.states.check_values(sample.q, sample.dq, sample.effort) is None:
            self.open_loop_stop.record_state(sample.q, sample.dq, now)
        return self._lose_states(ending_of_state(problem), now)

    def _lose_states(self, ending: Ending, now: float) -> Array:
        """End active torques, as a state is missing or unusable; return the next one, (n,)."""
        self.output.counts['unusable states'] += 1
        if self.state in ACTIVE_STATES:
            self.output.counts['stops'] += 1
            self._end(ending, now)
        self._record_wait_for_states()
        return self._torque_without_state(now)

    # May torques begin? -------------------------------------------------------------------------
    def _begin_or_wait(self, state: StateTerms, now: float) -> Reason | None:
        """
        Let torques begin at a usable state in SILENT or STOPPING, if they may.

        Returns why the state contradicts the settings by which they would begin.
        """
        law = self.law.candidate
        contradiction = self.disturbances.contradiction(law.terms)
        if contradiction is None:
            self._use_law(law, now)
            self.law.have_agreed = True
        if self.ending.reaction is Reaction.HOLD:
            if self.states.has_enough_states and not self.blocked:
                self._happen(Event.SEEN, now)
        elif self.ending.remedy.begins_alone:
            why_not = self.blocked or contradiction or self._start_refusal()
            if not why_not:
                self._happen(Event.BEGIN, now)
            elif self.state is State.SILENT:
                self._record_wait(why_not)
        return contradiction

    def _start_refusal(self) -> Reason | None:
        """Return why joint states or gains do not allow a first torque yet, or None."""
        states = self.states
        unstable = self.law.requested.instability_reason(states.period, states.median_age)
        return states.start_refusal() or unstable

    def _record_wait(self, why: Reason | str | None) -> None:
        """Record why no first torque is sent yet."""
        wait = ending_by(Cause.TORQUE_AWAITED, why or ReasonCode.STATES_AWAITED())
        if self.ending.reaction is Reaction.ZERO:  # which lasts until the law begins
            wait = self.ending.joined_with(wait)._replace(remedy=wait.remedy)
        self.ending = wait
        self._waiting_state_count += 1
        if self._waiting_state_count == WAIT_WARNING_STATE_COUNT:
            _LOG.warning('%s', self.status)

    def _record_wait_for_states(self) -> None:
        """Record why states allow no first torque, if one is awaited."""
        is_awaited = self.state is State.SILENT and self.ending.remedy.begins_alone
        if is_awaited and self.states.problem is not None:
            self._record_wait(self.states.problem)

    def _follow_own_law(self, state: StateTerms, former: OwnTorque | None) -> None:
        """Brake a moving arm whose own law ceases; let that law go on if it returns."""
        now = self.states.arrival_time
        if self.state is State.RUNNING:
            if former is not None and self._own is None and state.is_moving:
                ending = ending_by(Cause.OWN_LAW_CEASED, ReasonCode.OWN_LAW_CEASED())
                self._end(ending, now)
        elif self.state is State.BRAKING and self._own is not None:
            is_refused = self.blocked or self._start_refusal() is not None
            if self.ending.remedy.begins_alone and not is_refused:
                self._happen(Event.OWN_LAW_RETURNS, now)

    # Must torques end? --------------------------------------------------------------------------
    def _observe(self, state: StateTerms, effort: Array | None, sent: list[Array]) -> None:
        """Let the observer see a usable state, with the torques that were `sent` before it."""
        lag = self.states.age_in_periods
        is_silent = self.state is State.SILENT
        self.disturbances.update(state, effort, sent, lag, silent=is_silent)

    def _end_if_wrong(self, state: StateTerms, contradiction: Reason | None) -> None:
        """
        End the torques, to hold the arm, if a check finds that it is too fast or disturbed.

        `contradiction` says why a state that should begin torques contradicts the settings.
        """
        bound = self._watched_bound(state, contradiction)
        if bound is None:
            return
        found = [check(state, bound) for check in self.checks]
        ending = next((one for one in found if one is not None), None)
        if ending is not None:
            self._end(ending, self.states.arrival_time)

    def _check_speeds(self, state: StateTerms, bound: Array) -> Ending | None:
        """Return an ending if a joint is too fast, or None."""
        elapsed = self.states.elapsed
        causes = self.disturbances.causes_of_excess
        found = self.speed_watcher.check_speeds(state, elapsed, self.desired, causes)
        return found and ending_by(Cause.JOINT_TOO_FAST, found)

    def _check_disturbance(self, state: StateTerms, bound: Array) -> Ending | None:
        """Return an ending if more than a bound, (n,) [N m], is unexplained, or None."""
        found = self.disturbances.check_bounds(state, self.states.elapsed, bound)
        return found and ending_by(Cause.LASTING_DISTURBANCE, found)

    def _watched_bound(self, state: StateTerms, contradiction: Reason | None) -> Array | None:
        """Return the bound on unexplained torques that holds now, (n,) [N m]; None: no bound."""
        if self.state is State.RUNNING:
            return self.disturbances.running_bound
        if self.state in ACTIVE_STATES or not self.output.in_loop:
            return None  # the brake watches itself, and a node's torques no longer act
        if not (self.ending.reaction.is_watched and state.is_moving):
            return None
        # Settings that have agreed once are not doubted while they wait for `start`.
        may_begin = self.ending.remedy.begins_alone or not self.law.have_agreed
        if contradiction is not None and may_begin and self.ending.reaction is not Reaction.HOLD:
            return self.disturbances.start_bound
        # The arm moves under the resting torque: this core carries it only if that is g(q).
        is_carried = not self.acting_terms.adds_gravity and self.law.have_agreed
        return self.disturbances.running_bound if is_carried else None

    # Changes of the state -----------------------------------------------------------------------
    def _end(self, new: Ending, now: float) -> None:
        """End the torques by an ending, joined with the present one if that must last."""
        self.output.counts['faults'] += int(new.remedy.is_fault)
        former = self.ending
        lasts = former.reaction is Reaction.ZERO or not former.remedy.begins_alone
        event = Event[new.reaction.name]
        if new.cause is not None and new.cause in _EVENTS:
            event = _EVENTS[new.cause]
        if lasts or self.state in (State.BRAKING, State.HOLDING):
            self.ending = former.joined_with(new)
        else:
            self.ending = new
        if Reaction.HOLD is not former.reaction:
            self.brake.forget_disturbance()
        self._happen(event, now, former)

    def _happen(self, event: Event, now: float, former: Ending | None = None) -> None:
        """
        Let an event change the state, the torque and the settings by its row of the table.

        `former` is what had ended torques before, by default the present ending. Raises
        StartRefusedError, and changes nothing, if the row says so.
        """
        ending = former or self.ending
        row = row_of(self.state, event, ending.reaction, ending.remedy)
        if row is None:
            return
        if row.to is None:
            if ending.remedy is Remedy.CONFIGURE:
                raise StartRefusedError(f'{self.why}; configure the controller again.')
            raise StartRefusedError('The arm is still to be braked and held; try again.')
        before = self.state
        self.state = row.to
        if before is State.RUNNING and row.to is not State.RUNNING:
            self.unreported_endings.append(self.ending)
            self.reference.clear(self.ending)
            self.desired = None
            self.law.end()
        self.law.wait(row.settings)
        if row.settings is Acting.REQUESTED:
            self._use_law(self.law.requested, now)
        if row.torque is not Torque.SAME:
            self._torque = row.torque
            self._prepare_torque(row.torque, now)
        if row.to is not before:
            is_calm = self.state in (State.RUNNING, State.SILENT)
            _LOG.log(logging.INFO if is_calm else logging.WARNING, '%s', self.status)

    def _prepare_torque(self, torque: Torque, now: float) -> None:
        """Prepare the torque that an event brings."""
        if torque in (Torque.LAW_FROM_G, Torque.LAW_FROM_LAST):
            start_torque = self.output.last_torque
            if torque is Torque.LAW_FROM_G:
                assert self.latest is not None, 'torques begin at a state'
                terms = self.acting_terms
                start_torque = terms.gravity_to_command(self.latest.q, self.latest.gravity)
                self.output.begin_at_torque(self._zero if terms.adds_gravity else start_torque)
                self.disturbances.reset_at_first_torque(self.latest.stamp)
                if self.output.in_loop:
                    start_torque = start_torque + self.law.ramp(now)
            self.law.begin(start_torque)
            self.speed_watcher.reset()
            self.ending = NO_ENDING
            self.law.have_agreed = True
            self._waiting_state_count = 0
            self._has_told_delay = False
        elif torque is Torque.BRAKE:
            gains = self.law.acting.kp, self.law.acting.kd
            self.brake.begin(self.disturbances.disturbance_torque, gains)
            self.law.have_agreed = True
            # Where the arm was seen last, not where its model has taken it since: hence no time.
            self.output.begin_at_torque(self._resting_torque(-math.inf))
        elif torque is Torque.STOP_BY_MODEL:
            self.open_loop_stop.begin_stop(now)

    def _use_law(self, law: ControlLaw, now: float) -> None:
        """Let a law act; the torque that the model does not explain takes up the difference."""
        before = self.law.acting
        if before is law:
            return
        resting_torque = self._resting_torque(now)
        self.law.acting = law
        if before.terms.adds_gravity != law.terms.adds_gravity and not self.output.in_loop:
            self.output.reset_torques()  # another receiver: of what was sent nothing acts
        has_new_load = before.settings.payload != law.settings.payload
        self.disturbances.change_terms(law.terms, new_load=has_new_load)
        if self.state not in ACTIVE_STATES and self.output.in_loop:
            self.law.add_to_ramp(resting_torque - self._resting_torque(now), now)
        if self.latest is not None:
            state = self.latest
            self.latest = law.terms.terms_at(state.stamp, state.q, state.dq, self.desired)

    # The torque of each state -------------------------------------------------------------------
    def _torque_at(self, now: float) -> Array:
        """Send and return the torque of the law or the brake at the latest state, (n,) [N m]."""
        state = self.latest
        if self.state not in ACTIVE_STATES or state is None:
            return self._torque_without_state(now)
        if self._torque is Torque.BRAKE:
            desired = self._braking_torque(state, now)
        else:
            desired = self._law_torque(state, now)
        if self.state in ACTIVE_STATES and not is_finite(desired):
            self._end(ending_by(Cause.TORQUE_NOT_FINITE, ReasonCode.TORQUE_NOT_FINITE()), now)
        if self.state not in ACTIVE_STATES:  # the torque has ended torques
            return self._torque_without_state(now)
        states = self.states
        torque = self.output.send_torque(
            desired, now, states.elapsed, is_arrival_given=states.is_arrival_given
        )
        self.brake.record_limited_torque(desired, torque)
        return torque

    def _law_torque(self, state: StateTerms, now: float) -> Array:
        """Return the torque of the law, (n,) [N m]; without a motion kp holds the arm here."""
        law = self.law.acting
        if law.has_kp and self.desired is None:
            self.reference.hold(state.q)
        if not self._has_told_delay and self._delay_note():
            self._has_told_delay = True
            _LOG.warning('%s', self.status)
        return self.law.torque(state, self.desired, now)

    def _delay_note(self) -> Reason | None:
        """Return why the acting gains do not bear the delay that states have now, or None."""
        states = self.states
        return self.law.acting.instability_reason(states.period, states.median_age)

    def _braking_torque(self, state: StateTerms, now: float) -> Array:
        """Return the torque that brakes or holds the arm, (n,) [N m]; note where that ends."""
        excess = self.disturbances.disturbance_torque
        elapsed = self.states.elapsed
        torque = self.brake.torque(state, self.acting_terms, excess, elapsed, self.states.age)
        if self.brake.failure_reason is not None:
            self._end(ending_by(Cause.BRAKING_FAILED, self.brake.failure_reason), now)
        elif self.state is State.BRAKING and self.brake.at_rest:
            if self.ending.reaction is not Reaction.HOLD:  # also after a `start()`
                excess_reason = self.disturbances.violation(self.disturbances.start_bound)
                if excess_reason is not None:
                    why = ReasonCode.NOT_CARRIED(excess=excess_reason)
                    self.ending = self.ending.joined_with(ending_by(Cause.NOT_CARRIED, why))
            is_held = self.ending.reaction is Reaction.HOLD
            self._happen(Event.AT_REST_HELD if is_held else Event.AT_REST, now)
        return torque

    def _torque_without_state(self, now: float) -> Array:
        """Return the torque without a joint state, (n,) [N m], sent unless a node is SILENT."""
        if self.state in ACTIVE_STATES or (self.state is State.SILENT and not self.output.in_loop):
            return self.output.repeat_last_torque()
        resting_torque = self._resting_torque(now)
        desired = resting_torque
        is_stopping = self.state is State.STOPPING
        is_by_model = self._torque is Torque.STOP_BY_MODEL and self.open_loop_stop.stops(now)
        if is_stopping and is_by_model:
            torque = self.open_loop_stop.stopping_torque(self.acting_terms, now)
            desired = torque if is_finite(torque) else resting_torque
        sent = self.output.send_torque(desired, now)
        if is_stopping and not is_by_model and sent.tolist() == resting_torque.tolist():
            self._happen(Event.AT_RESTING_TORQUE, now)
        return sent

    def _resting_torque(self, now: float) -> Array:
        """Return the torque on which the arm rests, with what is left of the ramp, (n,) [N m]."""
        torque = self._torque_at_rest(now) + (self.law.ramp(now) if self.output.in_loop else 0.0)
        return torque if is_finite(torque) else self._zero

    def _torque_at_rest(self, now: float) -> Array:
        """Return g(q) where the arm is or probably is, (n,) [N m]; with d after HOLD; or zero."""
        terms = self.acting_terms
        probable = self.open_loop_stop.probable_state(now)
        is_zero = terms.adds_gravity or self._torque is Torque.ZERO
        if probable is None or is_zero or not self.law.have_agreed:
            return self._zero
        torque = terms.gravity(probable[0])
        if self.ending.reaction is Reaction.HOLD:
            torque = torque + self.brake.disturbance
        return torque

    # What users call ----------------------------------------------------------------------------
    def start(self) -> None:
        """
        Clear a fault, and let the law begin when the arm allows it; `status` says if it waits.

        A held arm is started at once. Raises StartRefusedError while an arm is to be braked and
        held and is not held yet, while a held arm's states are too old or a torque on it is not
        explained, while the receiver is not known (`blocked`), and after a fault that only a new
        object clears.
        """
        with self._lock:
            is_held = self.state is State.HOLDING and self.ending.remedy is not Remedy.CONFIGURE
            if is_held:
                self._require_held_arm_may_start()
            is_running = self.state is State.RUNNING
            self._happen(Event.START, self.states.arrival_time)
            self.output.reset_counts()
            self.disturbances.max_bound_ratios[:] = 0.0
            self._is_stop_requested = False
            if not (is_held or is_running):
                self._record_wait(self.states.problem or self.blocked)

    def _require_held_arm_may_start(self) -> None:
        """Raise StartRefusedError if the law must not take over the arm that is held."""
        law = self.law.requested
        unexplained = self.disturbances.violation_at_start(law.terms)
        why_not = self.blocked or self._start_refusal() or unexplained
        if why_not:
            raise StartRefusedError(f'Not started: {why_not}. Correct that, or stop.')

    @with_argument_checks
    def stop(self, reason: str, then: Stop = Stop.LET_GO) -> None:
        """
        End torques for a reason; `then` selects if the arm is let go, held or gets zero torque.

        By default an arm that moves is braked to rest, by the gains there are and by its model,
        and then gets the resting torque; if g(q) does not carry it, it is held, and a further stop
        lets go of it. A fault stays latched. An arm whose torques have ended is not caught by a
        stop.
        """
        with self._lock:
            self._is_stop_requested = self._is_stop_requested or then is not Stop.PAUSE
            cause = then.value
            is_held = self.state in ACTIVE_STATES or self.ending.reaction is Reaction.HOLD
            if then is Stop.HOLD and not is_held:  # nothing that rests is caught
                cause = Cause.HOLD_WITHOUT_TORQUE
            self._end(ending_by(cause, reason), self.states.arrival_time)

    def reset(self) -> None:
        """
        Forget states, torques, motion and faults, for reset simulations; a user's stop stays.

        The next torque may be any step away from the last one. Before a state comes it is zero.
        """
        with self._lock:
            event = Event.RESET_STOPPED if self._is_stop_requested else Event.RESET
            former = self.ending
            is_final = former.remedy is Remedy.CONFIGURE
            if not is_final and former.reaction is not Reaction.ZERO:
                self.ending = ending_by(Cause.TORQUE_AWAITED, ReasonCode.NO_STATE())
                if self._is_stop_requested:
                    stopped = ending_by(Cause.STOP_REQUESTED, '')
                    self.ending = former._replace(reaction=stopped.reaction, remedy=stopped.remedy)
            self._happen(event, -math.inf, former)
            self.latest = None
            self.desired = None
            self._own = None
            self._waiting_state_count = 0
            self._has_told_delay = False
            self.states.reset()
            self.law.end()
            self.disturbances.forget_states()
            self.speed_watcher.reset()
            self.reference.clear('reset')
            self.open_loop_stop.reset()
            self.output.reset_torques()
            self.acting_terms.friction.reset()

    def change(self, **settings: Any) -> None:
        """
        Change settings: in RUNNING from the next step on, else once the law may begin.

        The torque ramps to that of the new settings. After a stop or a fault they wait for
        `start`, also while the arm is braked and held; else until a state agrees with them. Raises
        SettingsError, and changes nothing, if the settings cannot be used, if torques are sent for
        another target, or if kp grows at a joint that is far from the motion that is followed.
        """
        while True:
            # A law takes a millisecond to make: without the lock.
            before = self.law.requested
            law = self.changed_law(**settings)
            with self._lock:
                if self.law.requested is not before:
                    continue  # another thread was faster
                self._require_law_allowed(law)
                begins_to_pull = (law.kp > 0.0) & (before.kp == 0.0)
                if (self._joints_pulled_more_by(law) | begins_to_pull).any():
                    self.reference.hold(None)  # a person may have guided the arm away
                self.law.requested = law
                self._happen(Event.CHANGE, self.states.arrival_time)
                return

    def changed_law(self, **settings: Any) -> ControlLaw:
        """Return the control law that `change` would use with settings, or raise its error."""
        changed = self.settings.changed(**settings)
        law = self._stable_law(self.description, changed)
        self._require_law_allowed(law)
        return law

    def _require_law_allowed(self, law: ControlLaw) -> None:
        """Raise SettingsError if the present state does not allow a change to a control law."""
        before = self.settings.target
        after = law.settings.target
        if self.state is not State.SILENT and before != after:
            raise SettingsError(
                f'target is {before} and cannot become {after} while torques are sent; stop '
                f'first. Torques for {after} then begin once the arm agrees with it.'
            )
        if law.has_gains and self._own is not None:
            raise SettingsError('kp and kd must be 0 beside torques of your own; see `step`.')
        pulled = self._joints_pulled_more_by(law)
        if pulled.any() and self.reference.has_open_motion:
            joint = self.description.joints[int(pulled.argmax())]
            unit = joint.kind.position_unit
            why = ReasonCode.KP_PULLS(joint=joint.name, most=MAX_START_DISTANCE_RAD, unit=unit)
            raise SettingsError(f'{why}, by one without points.')

    def _joints_pulled_more_by(self, law: ControlLaw) -> Array:
        """Return the mask, (n,), of joints far from the reference whose kp `law` would raise."""
        is_far = self.reference.position_errors(self.states.q) > MAX_START_DISTANCE_RAD
        return np.asarray(is_far & (law.kp > self.law.requested.kp))

    @with_argument_checks
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
        Follow a set-point q (n,), or q (k, n) at `times` (k,) [s] from `start`; return the motion.

        The motion begins where the arm is desired to be or, with kp = 0, where it
        is. Raises ReferenceRefusedError if no torque is sent or the motion cannot be followed; the
        present motion then goes on. See `ReferenceFollower.follow`.
        """
        with self._lock:
            if self.state is not State.RUNNING:
                raise NotActiveError(f'Nothing would follow the reference ({self.status}).')
            if self._own is not None:
                raise NotActiveError('Nothing would follow the reference: `step` gets torques.')
            has_kp = self.law.requested.has_kp
            if not has_kp:  # a person may have guided the arm away
                self.reference.hold(None)
        motion = self.reference.follow(
            q,
            times,
            dq,
            ddq,
            start=start,
            ahead=ahead,
            window=window,
            goal_id=goal_id,
            measured_q=self.states.q,
            has_kp=has_kp,
        )
        with self._lock:
            if self.state is not State.RUNNING:  # stopped by another thread meanwhile
                self.reference.clear(self.ending)
                raise NotActiveError(f'The reference is not followed ({self.status}).')
        return motion

    @with_argument_checks
    def end_motion(self, reason: str) -> None:
        """While RUNNING, end the motion for a reason, by braking to rest where the arm is."""
        with self._lock:
            if self.state is State.RUNNING:
                self.reference.brake_to_rest(self.states.q, reason)

    def _stable_law(self, arm: ArmDescription, settings: Settings) -> ControlLaw:
        """Return the control law of some settings; raise SettingsError if unstable or unusable."""
        # In a loop's MuJoCo model, joints have the rotor inertia and friction that `arm` states.
        is_exact = self.output.in_loop and settings.target == 'mujoco'
        law = ControlLaw(arm, settings, is_exact=is_exact)
        law.require_stable(self.states.period, self.states.median_age)
        payload_warning = law.double_payload_warning()
        if payload_warning:
            _LOG.warning('%s', payload_warning)
        return law

    # What users read ----------------------------------------------------------------------------
    @property
    def why(self) -> str:
        """Why torques have ended or do not begin; '' while RUNNING."""
        return self.ending.why

    @property
    def status(self) -> Status:
        """The controller's state, its reason, the remedy, and whether a fault is latched."""
        with self._lock:
            why = self.why
            if not why:
                load = self.disturbances.load_estimator.load_mass_text()
                notes = ('torques are sent', load, str(self._delay_note() or ''))
                why = '; '.join(note for note in notes if note)
            return Status(self.state, why, self.ending.remedy, self.faulty)

    @property
    def faulty(self) -> bool:
        """Whether a fault is latched, which stays until the user clears it (or for good)."""
        return self.ending.remedy.is_fault

    @property
    def enabled(self) -> bool:
        """Whether the law's torques go out or begin by themselves, without a call of `start`."""
        return self.ending.remedy.begins_alone

    @property
    def needs_start(self) -> bool:
        """Whether the core is SILENT, with no law before `start` or, after a fault, `reset`."""
        must_hold = self.ending.reaction is Reaction.HOLD
        return self.state is State.SILENT and not (self.enabled or must_hold)

    @property
    def requested_law(self) -> ControlLaw:
        """The control law of the present settings."""
        return self.law.requested

    @property
    def acting_terms(self) -> TermModel:
        """The model terms by which torques go out."""
        return self.law.acting.terms

    @property
    def description(self) -> ArmDescription:
        """The arm, without the payload of the settings."""
        return self.law.requested.arm

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The names of the joints."""
        return self.description.joint_names

    @property
    def settings(self) -> Settings:
        """The settings that were set last; changed ones may act later, and gradually."""
        return self.law.requested.settings

    @property
    def counts(self) -> Counter[str]:
        """Counts of events since the last `start`, such as commands, stops and faults."""
        return self.output.counts

    @property
    def state_problem(self) -> str:
        """Why the latest joint state cannot be used, '' if it can."""
        return str(self.states.problem or '')

    @property
    def sends(self) -> bool:
        """Whether the latest joint state or tick gave a new torque to send."""
        return self.output.is_new
