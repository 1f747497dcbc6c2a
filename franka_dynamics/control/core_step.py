# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Computes the torque for each joint state: everything that is commanded, and when.

`step` takes a joint state and returns the next torque; `tick` does so while no state comes. In
the common case the law begins by itself after some good states, and acts until the user stops it.

- A *loop* applies each returned torque. A *node* sends none while SILENT.
- G is the part of g(q) that must be sent: all, or none if the target (fci, franka_gazebo) adds it.
- The *resting torque* is g(q) at the last good state, or where STOPPING has taken the arm by its
  model; after the reaction HOLD d (2) is added. It is zero in three cases: the target adds g(q);
  the reaction is ZERO; or no state has agreed with settings yet (3).
- *Blocked* means that the caller has given a reason for which no torque may begin, as when nobody
  applies it. *Latched* means that the law begins again only after `start`.
- Each torque is within the torque limits, and within 1000 N m/s of the last one. Only the very
  first torque and the first one after `reset` may be any step away; in a node also the first one
  after zero, and the first one after a change of who adds g(q).

  state     torque
  SILENT    in a loop the resting torque, in a node none
  RUNNING   the law (control_law.py; or the caller's), which a ramp reaches in 0.2 s
  BRAKING   the brake (stopping.py), until 20 states in a row are below 0.04 rad/s, or for 1 s:
            then HOLDING after the reaction HOLD, else STOPPING
  HOLDING   the brake, which holds the arm where it came to rest
  STOPPING  the resting torque and, once that is sent, SILENT. If states were lost above
            0.02 rad/s, a torque stops the arm by its model before, for 0.25 s. It needs no state

1. Is the state usable? state_check.py lists what is wrong with a state, and what of it is latched.
   At such a state, or after none for 20 ms (3 periods, if longer), RUNNING, BRAKING and HOLDING go
   to STOPPING. For a shorter time `tick` repeats the last torque.
2. What is unexplained (disturbance.py)? d is the sum of the torque that was sent and the one that
   the target adds, less the torque that the motion needs by the model. A measured torque is
   unexplained as far as it differs from that sum, or from what the motion needs.
3. May torques begin? This is asked in SILENT and STOPPING, once the last 20 states were usable (a
   lost state begins the count anew). After the reaction HOLD the arm goes to BRAKING, unless
   blocked. Otherwise the law begins, even on a moving arm, by a ramp from G, with no motion to
   follow, if: `start` is not needed; nothing is blocked; states are at most 15 ms old; their delay
   lets no gains swing (control_law.py); and settings agree with this state, which means that no
   torque is measured, or at most 10 % of each limit is unexplained. Changed settings act once they
   agree.
4. Must torques end? Each torque goes out before 2 and 4 are asked; they change the next one.
   - RUNNING: if much is unexplained for 20 ms (disturbance.py), or a joint is too fast for 3 ms
     (speed_watcher.py).
   - A loop's SILENT and STOPPING, while the arm moves: the same, if the target adds no g(q), or if
     settings do not agree (over 10 % is then too much).
   - BRAKING and HOLDING: if a joint gets faster and faster (stopping.py).
   - RUNNING, BRAKING and HOLDING: if the computed torque is not finite.

  what ends torques               what the arm gets: reaction       the law begins again
  lost states (1)                 REST: STOPPING                    by itself; latched: by `start`
  unexplained, fast; Stop.HOLD    HOLD: BRAKING, then HOLDING       by `start`
  faster and faster, not finite   REST: STOPPING, latched           by `start`
  `stop`                          RELEASE: BRAKING, then STOPPING   by `start`
  Stop.FINAL                      RELEASE: the same                 never
  Stop.PAUSE                      ZERO: STOPPING, not braked        by itself when not blocked
  Stop.TO_ZERO                    ZERO: the same                    by `start`

If several things end torques, `status` names the first, and the hardest condition (by itself,
`start`, never) must be met. The reaction is that of the latest, but ZERO lasts until the law
begins, and a loss that is not latched keeps the former reaction: a held arm is held again. After
ZERO or a latched REST 4 judges nothing. In SILENT and STOPPING a lost state latches nothing, and
Stop.HOLD acts as REST. `stop` lets a HOLDING arm rest at once.

`start` forgets what ended torques, and the law begins by 3; in HOLDING at once, by a ramp from the
torque that holds. It raises, and changes nothing: after Stop.FINAL; in HOLDING if a condition of
3 fails; in other states if the reaction is HOLD. `reset` keeps only a user's stop, and that
settings have agreed. Changed settings act at once in RUNNING, by a ramp. In BRAKING and HOLDING
gains wait for `start`; the rest acts at once, offset by d. In SILENT and STOPPING they act by 3,
in a loop by a ramp. The target changes only in SILENT.
"""

from collections import deque
import logging
import math
import threading

import numpy as np

from .control_law import ControlLaw, TorqueRamp
from .core_state import ACTIVE_STATES, State, StateEvent, Status, TRANSITIONS
from .disturbance import DisturbanceMonitor
from .ending import (
    Cause,
    Ending,
    ending_of_state,
    NO_ENDING,
    Reaction,
    Reason,
    ReasonCode,
    Remedy,
)
from .limits import MAX_STEP_S
from .repeated_positions import RepeatedPositions, Repetition
from .speed_watcher import SpeedWatcher
from .state_check import MIN_GOOD_STATE_COUNT, StampOrder, StateCheck, StateSample
from .stopping import BrakingController, OpenLoopStop
from .terms import Desired, OwnTorque, StateTerms, TermModel
from .torque_output import TorqueOutput
from ..arguments import with_argument_checks
from ..arrays import Array, ArrayLike, as_array, as_seconds
from ..errors import JointVectorError, SettingsError
from ..motion.reference import ReferenceFollower

# After so many states without a first torque the log says why, once.
WAIT_WARNING_STATE_COUNT = 10 * MIN_GOOD_STATE_COUNT

_LOG = logging.getLogger(__name__)


class CoreStep:
    """
    Computes the torque for each joint state, or for a time at which no joint state came.

    `law` is that of the first settings.
    """

    TICK_PERIOD_S = MAX_STEP_S  # how often `tick` is to be called without a state [s]

    def __init__(self, output: TorqueOutput, states: StateCheck, law: ControlLaw) -> None:
        arm = law.arm
        self.output = output
        self.states = states
        self.requested_law = law  # of the latest settings
        self._law = law  # by which torques go out
        self.disturbances = DisturbanceMonitor(arm, states.limits, law.terms)
        self.speed_watcher = SpeedWatcher(arm)
        self.repeated_positions = RepeatedPositions(self.disturbances.stiction)
        self.reference = ReferenceFollower(arm)
        self.ramp = TorqueRamp()
        self.brake = BrakingController(arm)
        self.open_loop_stop = OpenLoopStop()
        self.blocked = ''
        self.ending = NO_ENDING
        self._is_stop_requested = False  # by the user, and no `start` since
        self.unreported_endings = deque[Ending](maxlen=100)  # whoever reports them removes them
        self.settings_agree = False  # whether a usable state has agreed with the settings
        self._zero = np.zeros(arm.n)
        self._lock = threading.RLock()
        self.reset()

    def reset(self) -> None:
        """
        Forget states, torques, motion and faults, for reset simulations; a user's stop stays.

        The next torque may be any step away from the last one.
        """
        with self._lock:
            self.states.reset()
            is_final = self.ending.remedy is Remedy.CONFIGURE
            if not is_final and self.ending.reaction is not Reaction.ZERO:
                self.ending = self._ending_after_reset()
            self.state = State.SILENT
            self.latest: StateTerms | None = None
            self.desired: Desired | None = None  # at the latest state
            self._own: OwnTorque | None = None  # with the latest state
            self._waiting_state_count = 0
            self.repeated_positions.reset()
            self.reference.clear('reset')
            self.open_loop_stop.reset()
            self.output.reset_torques()
            self.disturbances.forget_states()
            self.acting_terms.friction.reset()

    def _ending_after_reset(self) -> Ending:
        """Return the ending that a reset leaves: a stop, or the wait for a first torque."""
        if not self._is_stop_requested:
            return Cause.TORQUE_AWAITED.ending(self.states.problem or ReasonCode.NO_STATE())
        stopped = Cause.STOP_REQUESTED
        return self.ending._replace(reaction=stopped.reaction, remedy=stopped.remedy)

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
                why = f'torques are sent; {load}' if load else 'torques are sent'
            return Status(self.state, why, self.ending.remedy, self.faulty)

    @property
    def acting_terms(self) -> TermModel:
        """The model terms by which torques go out."""
        return self._law.terms

    @property
    def faulty(self) -> bool:
        """Whether a fault is latched, which stays until the user clears it (or for good)."""
        return self.ending.is_latched

    @property
    def enabled(self) -> bool:
        """Whether the law's torques go out or begin by themselves, without a call of `start`."""
        return self.ending.remedy in (Remedy.NONE, Remedy.WAIT)

    @property
    def needs_start(self) -> bool:
        """Whether the core is SILENT, with no law before `start` or, after a fault, `reset`."""
        must_hold = self.ending.reaction is Reaction.HOLD
        return self.state is State.SILENT and not (self.enabled or must_hold)

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
        `acceleration` (by default none), (n,) each. A state without `torque` leaves the arm to the
        terms of the settings, as the caller has decided. (In C++ commands come from elsewhere, and
        an arm whose commands cease is braked.) While `velocity` moves, joints may be as fast as
        along a motion. Raises SettingsError if gains are set beside `torque`, or if a velocity or
        acceleration is given without it.
        """
        sample = self.states.make_sample(q, dq, effort, time, age, now)
        own = self._own_torque(sample, torque, velocity, acceleration)
        with self._lock:
            if own is not None and self._own is None:
                self.reference.clear('torques of the caller are followed')
            self._own = own
            self.disturbances.has_own_torque = own is not None
            if self.output.in_loop and self.latest is None:
                self.states.require_radians(sample.q)
            order = self.states.stamp_order(sample)
            if order is StampOrder.SET_BACK:
                return self._follow_set_back_clock(sample)
            if order is StampOrder.OUT_OF_ORDER:
                self._wait_for_states()
                return self.tick(*self.states.tick_arguments(sample))
            return self._take_new_state(sample)

    def _take_new_state(self, sample: StateSample) -> Array:
        """Check a state with a new stamp, and answer it; return the next torque, (n,) [N m]."""
        now = sample.received_at
        frozen = self._frozen_problem(sample)
        if frozen is not None:
            return self._lose_states(ending_of_state(frozen), now)
        if self.repeated_positions.latest is Repetition.OLD_STATE:
            return self._torque_without_state(now)
        problem = self.states.check(sample, now)
        if problem is not None:
            self.latest = self._terms_at(sample) if self.states.has_possible_values else None
            return self._lose_unusable_state(ending_of_state(problem), sample.q, now)
        # The velocity of a state whose positions repeat may be an old one.
        if self.repeated_positions.latest is Repetition.NONE:
            dq = sample.dq
            if self.ending.trusts_nothing:
                dq = self.states.velocity_by_positions()
            self.open_loop_stop.record_state(sample.q, dq, now)
        self.latest = self._terms_at(sample)
        return self._answer(self.latest, sample.effort, now)

    def _own_torque(
        self,
        sample: StateSample,
        torque: ArrayLike | None,
        velocity: ArrayLike | None,
        acceleration: ArrayLike | None,
    ) -> OwnTorque | None:
        """Return what the caller's law gives with a state, or None; see `step`."""
        if torque is None:
            if velocity is not None or acceleration is not None:
                raise SettingsError('velocity and acceleration are of a torque: give it, too.')
            return None
        if self.requested_law.has_gains:
            raise SettingsError(
                'kp and kd follow a motion, and beside a torque of your own must be 0: give '
                'motions to follow, or leave kp and kd to your law.'
            )

        def joint_vector(name: str, values: ArrayLike) -> Array:
            """Return given values as an array, (n,), of numbers that may be infinite or NaN."""
            return as_array(values, self._zero.shape, name, JointVectorError, finite=False)

        own_torque = joint_vector('torque', torque)
        dq = sample.dq if velocity is None else joint_vector('velocity', velocity)
        ddq = self._zero if acceleration is None else joint_vector('acceleration', acceleration)
        if all(map(_is_finite, (own_torque, dq, ddq))):
            return OwnTorque(sample.q, dq, ddq, own_torque)
        # A torque that is not finite ends the torques by a fault (4).
        return OwnTorque(sample.q, sample.dq, self._zero, np.full_like(self._zero, np.nan))

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
            ending = cause.ending(why)
            self.states.reject(ending.last_reason)
            return self._lose_states(ending, now)

    def _follow_set_back_clock(self, sample: StateSample) -> Array:
        """Forget what came before the clock was set back; return the next torque, (n,)."""
        now = sample.received_at
        self.output.sent_at = now - MAX_STEP_S
        self.states.forget_times()
        self.disturbances.forget_states()
        problem = ReasonCode.CLOCK_SET_BACK()
        self.states.reject(problem)
        # A simulation that was reset has put the arm elsewhere.
        if self.states.check_values(sample.q, sample.dq, sample.effort) is None:
            self.open_loop_stop.record_state(sample.q, sample.dq, now)
        return self._lose_states(ending_of_state(problem), now)

    def _terms_at(self, sample: StateSample) -> StateTerms:
        """Return a possible state with its terms, along the reference."""
        terms = self.acting_terms
        self.desired = self._own or self.reference.at(sample.stamp)
        if terms.friction.model is not None:
            terms.friction.update(sample.stamp, sample.q)
        return terms.terms_at(sample.stamp, sample.q, sample.dq, self.desired)

    def _frozen_problem(self, sample: StateSample) -> Reason | None:
        """Record whether a state's positions repeat; return a reason if they have for too long."""
        repeated = self.repeated_positions
        repeated.record(sample, self.states.q, self.output.last_torque, self.desired)
        is_frozen = repeated.latest in (Repetition.FROZEN, Repetition.OLD_STATE)
        is_too_long = repeated.repeat_time_s > self.states.silence_timeout()
        if self.state not in ACTIVE_STATES or not (is_frozen and is_too_long):
            return None
        problem = ReasonCode.FROZEN_POSITIONS(silence=1e3 * repeated.repeat_time_s)
        self.states.reject(problem)
        return problem

    def _lose_unusable_state(self, ending: Ending, q: Array, now: float) -> Array:
        """End active torques by a state with positions q, (n,); return the next torque, (n,)."""
        is_driven = self.state in ACTIVE_STATES or self.open_loop_stop.stops(now)
        if self.states.is_velocity_wrong:
            self.open_loop_stop.record_state(q, self.states.velocity_by_positions(), now)
        elif self.states.is_position_known and not is_driven:
            # The state is only late: the arm that nothing drives is taken to rest there.
            self.open_loop_stop.record_state(q, self._zero, now)
        return self._lose_states(ending, now)

    def _lose_states(self, ending: Ending, now: float) -> Array:
        """End active torques, as a state is missing or unusable; return the next one, (n,)."""
        self.output.counts['unusable states'] += 1
        if self.state in ACTIVE_STATES:
            self.output.counts['stops'] += 1
            self.open_loop_stop.begin_stop(now)
            self._end(ending)
        self._wait_for_states()
        return self._torque_without_state(now)

    def _wait_for_states(self) -> None:
        """Record why states allow no first torque, if one is awaited."""
        if self.state is State.SILENT and self.enabled and self.states.problem is not None:
            self._record_wait(self.states.problem)

    def _answer(self, state: StateTerms, effort: Array | None, now: float) -> Array:
        """Answer a usable state by a torque, (n,), which is sent unless a node is SILENT."""
        sent_before = list(self.output.torques)
        lag = self.states.age_in_periods
        if self.state in ACTIVE_STATES:
            # The torque goes out before the rest is computed; what is found changes the next one.
            torque = self._active_torque(state, now)
            # A frozen state tells nothing of the arm.
            if self.repeated_positions.latest is not Repetition.FROZEN:
                self.disturbances.update(state, effort, sent_before, lag, silent=False)
                self._end_if_wrong(state, None)
            return torque
        is_silent = self.state is State.SILENT
        self.disturbances.update(state, effort, sent_before, lag, silent=is_silent)
        contradiction = self._begin_if_allowed(state)
        self._end_if_wrong(state, contradiction)
        if self.state in ACTIVE_STATES:
            return self._active_torque(self.latest or state, now)
        return self._torque_without_state(now)

    def _begin_if_allowed(self, state: StateTerms) -> Reason | None:
        """
        Begin the law, or brake an arm that is to be held, if this state allows it.

        Return why the state contradicts the settings by which the arm is judged, or None.
        """
        former_gravity = self._gravity_to_command(state)  # by the law that has acted
        contradiction = self._use_law_if_it_agrees(state)
        state = self.latest or state  # with the terms of the law that acts now
        if self.ending.reaction is Reaction.HOLD:
            if self.states.has_enough_states and not self.blocked:
                self._brake()
            return None
        if not self.enabled:  # settings that have agreed once are not doubted before `start`
            return None if self.settings_agree else contradiction
        why_not = self.blocked or contradiction or self._start_refusal()
        if not why_not:
            self._begin_from_rest(state, former_gravity)
        elif self.state is State.SILENT:
            self._record_wait(why_not)
        return contradiction

    def _use_law_if_it_agrees(self, state: StateTerms) -> Reason | None:
        """Let the law that may begin act if a state agrees with it; else return why not."""
        law = self.requested_law if self.enabled else self._law
        contradiction = self.disturbances.contradiction(law.terms)
        if contradiction is None:
            self._use_law(law)
            self.settings_agree = True
            self.latest = law.terms.terms_at(state.stamp, state.q, state.dq, self.desired)
        return contradiction

    def _start_refusal(self) -> Reason | None:
        """Return why joint states or gains do not allow a first torque yet, or None."""
        states = self.states
        unstable = self.requested_law.instability_reason(states.period, states.median_age)
        return states.start_refusal() or unstable

    def _record_wait(self, why: Reason | str | None) -> None:
        """Record why no first torque is sent yet; a pause of the receiver is named before it."""
        wait = Cause.TORQUE_AWAITED.ending(why or ReasonCode.STATES_AWAITED())
        if self.blocked and self.ending.reaction is Reaction.ZERO:
            self.ending = self.ending.joined_with(wait)._replace(remedy=wait.remedy)
        else:
            self.ending = wait
        self._waiting_state_count += 1
        if self._waiting_state_count == WAIT_WARNING_STATE_COUNT:
            _LOG.warning('%s', self.status)

    def _end_if_wrong(self, state: StateTerms, contradiction: Reason | None) -> None:
        """
        End the torques, to hold the arm, if it is too fast or disturbed.

        `contradiction` says why a state that should begin torques contradicts the settings.
        """
        bound = self._watched_bound(state, contradiction)
        if bound is None:
            return
        elapsed = self.states.elapsed
        disturbed = self.disturbances.check_bounds(state, elapsed, bound)
        causes = self.disturbances.causes_of_excess
        too_fast = self.speed_watcher.check_speeds(state, elapsed, self.desired, causes)
        if too_fast is not None:
            self._end(Cause.JOINT_TOO_FAST.ending(too_fast))
        elif disturbed is not None:
            self._end(Cause.LASTING_DISTURBANCE.ending(disturbed))

    def _watched_bound(self, state: StateTerms, contradiction: Reason | None) -> Array | None:
        """Return the bound on unexplained torques that holds now, (n,) [N m]; None: no bound."""
        if self.state is State.RUNNING:
            return self.disturbances.running_bound
        if self.state in ACTIVE_STATES:
            return None  # the brake watches itself
        if not self.output.in_loop:
            return None  # a node's torques no longer act
        if self.ending.reaction is Reaction.ZERO or self.ending.trusts_nothing:
            return None
        if not state.is_moving:
            return None
        if contradiction is not None:
            return self.disturbances.start_bound
        # The arm moves under the resting torque: this core carries it only if that is g(q).
        is_carried = not self.acting_terms.adds_gravity and self.settings_agree
        return self.disturbances.running_bound if is_carried else None

    # Changes of the state -----------------------------------------------------------------------
    def _use_law(self, law: ControlLaw) -> None:
        """Let a law act; the torque that the model does not explain takes up the difference."""
        before = self._law
        self._law = law
        if before is law:
            return
        if before.terms.adds_gravity != law.terms.adds_gravity and not self.output.in_loop:
            self.output.reset_torques()  # another receiver: of what was sent nothing acts
        has_new_load = before.settings.payload != law.settings.payload
        self.disturbances.change_terms(law.terms, new_load=has_new_load)
        if self.latest is not None:
            self.brake.change_load(before.terms, law.terms, self.latest.q)

    def _gravity_to_command(self, state: StateTerms) -> Array:
        """Return what the acting law sends of g(q) at a state, (n,) [N m]."""
        return self.acting_terms.gravity_to_command(state.q, state.gravity)

    def _begin_from_rest(self, state: StateTerms, former_gravity: Array) -> None:
        """
        Begin the law where none of its torques acts, by a ramp from the resting torque.

        In a loop that is `former_gravity`, (n,) [N m]: G by the settings before, which acts now.
        """
        gravity = self._gravity_to_command(state)
        self.output.begin_at_torque(self._zero if self.acting_terms.adds_gravity else gravity)
        self.disturbances.reset_at_first_torque(state.stamp)
        self._begin(former_gravity if self.output.in_loop else gravity)

    def _begin(self, torque: Array) -> None:
        """Begin the law by a ramp from a torque, (n,) [N m], without a motion."""
        self.ramp.begin(torque)
        self.speed_watcher.reset()
        self.ending = NO_ENDING
        self.settings_agree = True
        self._waiting_state_count = 0
        self._change_state(StateEvent.BEGIN)

    def _brake(self) -> None:
        """Begin to brake the arm, by the acting gains."""
        self.brake.begin(self.disturbances.disturbance_torque, (self._law.kp, self._law.kd))
        self.settings_agree = True
        self.output.begin_at_torque(self._resting_torque(-math.inf))
        self._change_state(StateEvent.BRAKE)

    def _end(self, new: Ending) -> None:
        """End the torques by an ending, joined with the present one if that must last."""
        self.output.counts['faults'] += int(new.is_latched)
        has_ended = not self.enabled or self.state in (State.BRAKING, State.HOLDING)
        if has_ended or self.ending.reaction is Reaction.ZERO:
            self.ending = self.ending.joined_with(new)
        else:
            self.ending = new
        if self.state not in ACTIVE_STATES:
            return  # an arm that is to be held is braked at the next state that allows it
        is_to_brake = new.reaction in (Reaction.RELEASE, Reaction.HOLD)
        rests_already = self.state is State.HOLDING and new.reaction is Reaction.RELEASE
        if rests_already or not is_to_brake:
            self._change_state(StateEvent.LET_GO)
        elif self.state is State.RUNNING:
            self._brake()

    def _change_state(self, event: StateEvent) -> None:
        """Change and log the state by an event."""
        if self.state is State.RUNNING:
            self.unreported_endings.append(self.ending)
            self.reference.clear(self.ending)
            self.desired = None
        self.state = TRANSITIONS[self.state, event]
        is_calm = self.state in (State.RUNNING, State.SILENT)
        _LOG.log(logging.INFO if is_calm else logging.WARNING, '%s', self.status)

    # Torques ------------------------------------------------------------------------------------
    def _active_torque(self, state: StateTerms, now: float) -> Array:
        """Send the torque of the law or of the brake at a usable state, (n,) [N m]; return it."""
        elapsed = self.states.elapsed
        if self.state is State.RUNNING:
            if self._law.has_kp and self.desired is None:
                self.reference.hold(state.q)
            desired = self.ramp.torque(self._law, state, self.desired, self.output.last_torque)
        else:
            desired = self._braking_torque(state, elapsed)
        if not _is_finite(desired):
            self._end(Cause.TORQUE_NOT_FINITE.ending(ReasonCode.TORQUE_NOT_FINITE()))
        if self.state not in ACTIVE_STATES:
            return self._torque_without_state(now)
        torque = self.output.send_torque(desired, now, elapsed)
        self.brake.record_limited_torque(desired, torque)
        return torque

    def _braking_torque(self, state: StateTerms, elapsed: float) -> Array:
        """Return the torque that brakes or holds the arm, (n,) [N m]; note where that ends."""
        excess = self.disturbances.disturbance_torque
        age = self.states.age
        torque = self.brake.torque(state, self.acting_terms, excess, elapsed, age)
        if self.brake.failure_reason is not None:
            self._end(Cause.BRAKING_FAILED.ending(self.brake.failure_reason))
        elif self.state is State.BRAKING and self.brake.at_rest:
            is_held = self.ending.reaction is Reaction.HOLD
            self._change_state(StateEvent.AT_REST_HELD if is_held else StateEvent.AT_REST)
        return torque

    def _torque_without_state(self, now: float) -> Array:
        """Return the torque without a joint state, (n,) [N m], sent unless a node is SILENT."""
        if self.state is State.STOPPING:
            return self._send_stopping_torque(now)
        if self.state is State.SILENT and self.output.in_loop:
            return self.output.send_torque(self._resting_torque(now), now)
        return self.output.repeat_last_torque()

    def _send_stopping_torque(self, now: float) -> Array:
        """Send and return the torque of STOPPING, (n,) [N m], until the resting torque is sent."""
        resting_torque = self._resting_torque(now)
        if self.open_loop_stop.stops(now) and self.ending.reaction is not Reaction.ZERO:
            torque = self.open_loop_stop.stopping_torque(self.acting_terms, now)
            return self.output.send_torque(torque if _is_finite(torque) else resting_torque, now)
        sent = self.output.send_torque(resting_torque, now)
        if sent.tolist() == resting_torque.tolist():
            self._change_state(StateEvent.AT_RESTING_TORQUE)
        return sent

    def _resting_torque(self, now: float) -> Array:
        """
        Return g(q) where the arm is or probably is, (n,) [N m]; with d if the arm is to be held.

        It is zero if the target adds gravity, by ZERO and until a state has agreed with settings.
        """
        terms = self.acting_terms
        probable = self.open_loop_stop.probable_state(now)
        is_zero = terms.adds_gravity or self.ending.reaction is Reaction.ZERO
        if probable is None or is_zero or not self.settings_agree:
            return self._zero
        torque = terms.gravity(probable[0])
        if self.ending.reaction is Reaction.HOLD:
            torque = torque + self.brake.disturbance
        return torque if _is_finite(torque) else self._zero


def _is_finite(torque: Array) -> bool:
    """Return whether each torque, (n,), is finite; faster than NumPy on a few numbers."""
    return all(map(math.isfinite, torque.tolist()))
