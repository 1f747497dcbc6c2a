# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Decides what is commanded at each joint state, and when torques begin and end: all rules are here.

`step` takes a joint state and returns the next torque; `tick` does so while no state comes. In the
common case the core is SILENT for 20 joint states, and then RUNNING until `stop`, which makes it
BRAKING, STOPPING and SILENT again. Some words have a meaning of their own:

- A *loop* applies each returned torque. A *node* sends none while SILENT.
- *G* is the part of g(q) to send: all, or none if the target adds g(q) (fci, franka_gazebo).
- *d* is what the model does not explain: the sent torque and what the target adds, less what the
  motion needs. A measured torque is unexplained as far as it differs from either of these two.
- The *resting torque* is g(q) at the last usable state, plus d after the reaction HOLD. It is zero
  if the target adds g(q), after the reaction ZERO, and until a state has agreed with settings (2).
- *Blocked* means that the caller has said why no torque may begin, as when nobody applies it.

RUNNING commands the law (control_law.py), or the caller's, which a ramp of 0.2 s reaches.
BRAKING commands the brake (stopping.py) until 20 states in a row are below 0.04 rad/s, or for 1 s.
  Then it becomes HOLDING after the reaction HOLD, else STOPPING.
HOLDING commands the brake, which holds the arm where it came to rest.
STOPPING commands the resting torque, and becomes SILENT once that is sent. It needs no state. If
  states were lost above 0.02 rad/s, the model stops the arm before, for 0.25 s, and the resting
  torque is g(q) where the model has taken the arm.
SILENT commands the resting torque in a loop, and nothing in a node.

Each torque is within its limit, and within 1000 N m/s of the last one. The first torque and the
first one after `reset` have no last one; in a node, neither have the first one after zero and the
first one after a change of who adds g(q).

1. Can the state be used? state_check.py lists what can be wrong.
   - RUNNING, BRAKING and HOLDING become STOPPING at a state that cannot be used, or after none for
     20 ms (3 periods, if longer). Until then `tick` repeats the last torque.
   - In SILENT and STOPPING usable states are counted anew, and nothing is latched.
2. May torques begin? SILENT and STOPPING ask this at each usable state.
   RUNNING begins, also on a moving arm, by a ramp from G and with no motion to follow, if
   - the last 20 states were usable and are at most 15 ms old, and gains bear that delay,
   - the settings agree with the state: no torque is measured, or at most 10 % of each limit is
     unexplained,
   - nothing is blocked, and what ended torques needs no `start`.
   After the reaction HOLD, BRAKING begins instead, once 20 states were usable, if not blocked.
3. Must torques end? This is asked once the torque is sent, and changes the next one.
   - RUNNING ends if much is unexplained for 20 ms (disturbance.py), or a joint is too fast for
     3 ms (speed_watcher.py).
   - BRAKING and HOLDING end if a joint gets faster and faster (stopping.py).
   - All three end before they send a torque that is not finite.
   - A loop's SILENT and STOPPING are judged as RUNNING is, while the arm moves and the resting
     torque carries it (settings have agreed, and the target adds no g(q)). If the settings by
     which torques may begin do not agree, 10 % is much. After ZERO, or REST by a fault, nothing
     is judged.
4. What follows? The table `Cause` (ending.py) has for each cause the reaction, and what lets
   torques begin again.
   - HOLD and RELEASE lead to BRAKING; but RELEASE takes HOLDING to STOPPING at once.
   - REST and ZERO lead to STOPPING, which by ZERO is without the stop by the model.
   - If several things end torques, the first and the latest are named, the hardest condition must
     be met, and the latest reaction counts. There are three exceptions: ZERO lasts until the law
     begins; lost states that may come again change no reaction, so that a held arm is held again;
     and in SILENT and STOPPING Stop.HOLD acts as REST.
5. What may users change?
   - `start` forgets what ended torques. Torques then begin by 2, in HOLDING at once. It raises,
     and changes nothing: after Stop.FINAL; in HOLDING if a condition of 2 fails; elsewhere if the
     arm is to be held.
   - `reset` leads to SILENT. It keeps a user's stop, and that settings have agreed.
   - `change` acts at once in RUNNING, by a ramp. In BRAKING and HOLDING gains wait for `start`;
     the rest acts at once, and d takes up the difference. In SILENT and STOPPING settings act once
     they agree, in a loop by a ramp. The target changes only in SILENT.
"""

from .control_law import ControlLaw
from .core_state import ACTIVE_STATES, State
from .core_table import Cause, Reaction
from .ending import Ending, ending_by, ending_of_state, Reason, ReasonCode
from .limits import MAX_STEP_S
from .repeated_positions import RepeatedPositions, Repetition
from .state_check import StateCheck
from .state_input import make_own_torque, make_sample, StateSample
from .state_timing import StampOrder
from .terms import OwnTorque, StateTerms
from .torque_output import TorqueOutput
from .torque_state_machine import TorqueStateMachine
from ..arguments import with_argument_checks
from ..arrays import Array, ArrayLike, as_seconds
from ..errors import SettingsError


class CoreStep(TorqueStateMachine):
    """
    Computes the torque for each joint state, or for a time at which no joint state came.

    `law` is that of the first settings.
    """

    TICK_PERIOD_S = MAX_STEP_S  # how often `tick` is to be called without a state [s]

    def __init__(self, output: TorqueOutput, states: StateCheck, law: ControlLaw) -> None:
        super().__init__(output, states, law)
        self.repeated_positions = RepeatedPositions(self.disturbances.stiction)
        self._joint_count = law.arm.n
        self.reset()

    def reset(self) -> None:
        """
        Forget states, torques, motion and faults, for reset simulations; a user's stop stays.

        The next torque may be any step away from the last one.
        """
        with self._lock:
            super().reset()
            self._own: OwnTorque | None = None  # with the latest state
            self.repeated_positions.reset()

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
        sample = make_sample(self._joint_count, q, dq, effort, time, age, now)
        if torque is not None and self.requested_law.has_gains:
            raise SettingsError(
                'kp and kd follow a motion, and beside a torque of your own must be 0: give '
                'motions to follow, or leave kp and kd to your law.'
            )
        own = make_own_torque(sample, torque, velocity, acceleration)
        with self._lock:
            if self.output.in_loop and self.latest is None:
                self.states.require_radians(sample.q)
            if own is not None and self._own is None:
                self.reference.clear('torques of the caller are followed')
            self._own = own
            self.disturbances.has_own_torque = own is not None
            order = self.states.stamp_order(sample)
            if order is StampOrder.SET_BACK:
                return self._follow_set_back_clock(sample)
            if order is StampOrder.OUT_OF_ORDER:
                self._wait_for_states()
                return self.tick(*self.states.tick_arguments(sample))
            return self._take_new_state(sample)

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

    # 1. Can the state be used? ------------------------------------------------------------------
    def _take_new_state(self, sample: StateSample) -> Array:
        """Check a state with a new stamp, and answer it; return the next torque, (n,) [N m]."""
        now = sample.received_at
        repeated = self.repeated_positions
        repeated.record(sample, self.states.q, self.output.last_torque, self.desired)
        if self._is_frozen_for_too_long():
            frozen = self._frozen_positions()
            self.states.reject(frozen)
            return self._lose_states(ending_of_state(frozen), now)
        if repeated.latest is Repetition.OLD_STATE:  # it is dropped, as if none had come
            if self.state is State.SILENT and self._has_repeated_for_too_long():
                self.states.reject(self._frozen_positions())
                self._wait_for_states()
            return self._torque_without_state(now)
        problem = self.states.check(sample, now)
        if problem is not None:
            self.latest = self._terms_at(sample) if self.states.has_possible_values else None
            return self._lose_unusable_state(ending_of_state(problem), sample.q, now)
        if repeated.latest is Repetition.NONE:  # else its velocity may be an old one
            self._record_where_seen(sample, now)
        state = self._terms_at(sample)
        self.latest = state
        if self.state in ACTIVE_STATES:
            return self._go_on(state, sample.effort, now)
        return self._begin_or_wait(state, sample.effort, now)

    def _is_frozen_for_too_long(self) -> bool:
        """Return whether positions have repeated, though the arm must move, as long as silence."""
        repeated = self.repeated_positions
        if self.state not in ACTIVE_STATES:
            return False
        if repeated.latest not in (Repetition.FROZEN, Repetition.OLD_STATE):
            return False
        return self._has_repeated_for_too_long()

    def _has_repeated_for_too_long(self) -> bool:
        """Return whether positions have repeated for longer than silence may last."""
        return self.repeated_positions.repeat_time_s > self.states.silence_timeout()

    def _frozen_positions(self) -> Reason:
        """Return the reason that names repeated positions."""
        return ReasonCode.FROZEN_POSITIONS(silence=1e3 * self.repeated_positions.repeat_time_s)

    def _record_where_seen(self, sample: StateSample, now: float) -> None:
        """Record where a usable state sees the arm, and how fast."""
        dq = sample.dq
        if self.ending.reaction is Reaction.LEAVE:  # its velocities may have been the fault
            dq = self.states.velocity_by_positions()
        self.open_loop_stop.record_state(sample.q, dq, now)

    def _terms_at(self, sample: StateSample) -> StateTerms:
        """Return a possible state with its terms, along the reference."""
        terms = self.acting_terms
        self.desired = self._own or self.reference.at(sample.stamp)
        if terms.friction.model is not None:
            terms.friction.update(sample.stamp, sample.q)
        return terms.terms_at(sample.stamp, sample.q, sample.dq, self.desired)

    def _lose_unusable_state(self, ending: Ending, q: Array, now: float) -> Array:
        """End active torques by a state with positions q, (n,); return the next torque, (n,)."""
        is_driven = self.state in ACTIVE_STATES or self.open_loop_stop.stops(now)
        if self.states.is_velocity_wrong:
            self.open_loop_stop.record_state(q, self.states.velocity_by_positions(), now)
        elif self.states.is_position_known and not is_driven:
            # The state is late, but right: an arm that nothing drives rests there.
            self.open_loop_stop.record_state(q, self._zero, now)
        return self._lose_states(ending, now)

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
            self.open_loop_stop.begin_stop(now)
            self._end(ending)
        self._wait_for_states()
        return self._torque_without_state(now)

    def _wait_for_states(self) -> None:
        """Record why states allow no first torque, if one is awaited."""
        if self.state is State.SILENT and self.enabled and self.states.problem is not None:
            self._record_wait(self.states.problem)

    # 2. May torques begin? ----------------------------------------------------------------------
    def _begin_or_wait(self, state: StateTerms, effort: Array | None, now: float) -> Array:
        """Answer a usable state, SILENT or STOPPING, by a torque, (n,), sent as `step` says."""
        self.disturbances.update(
            state,
            effort,
            list(self.output.torques),
            self.states.age_in_periods,
            silent=self.state is State.SILENT,
        )
        former_gravity = self._gravity_to_command(state)  # by the law that has acted
        contradiction = self._use_law_if_it_agrees(state)
        state = self.latest or state  # with the terms of the law that acts now
        if self.ending.reaction is Reaction.HOLD:
            if self.states.has_enough_states and not self.blocked:
                self._brake()
        elif self.enabled:
            why_not = self.blocked or contradiction or self._start_refusal()
            if not why_not:
                self._begin_from_rest(state, former_gravity)
            elif self.state is State.SILENT:
                self._record_wait(why_not)
        self._end_if_wrong(state, contradiction)
        if self.state in ACTIVE_STATES:
            return self._active_torque(state, now)
        return self._torque_without_state(now)

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

    # 3. Must torques end? -----------------------------------------------------------------------
    def _go_on(self, state: StateTerms, effort: Array | None, now: float) -> Array:
        """Answer a usable state, RUNNING, BRAKING or HOLDING; send and return a torque, (n,)."""
        sent_before = list(self.output.torques)
        lag = self.states.age_in_periods
        # The torque goes out before the rest is computed; what is found changes the next one.
        torque = self._active_torque(state, now)
        # A frozen state tells nothing of the arm.
        if self.repeated_positions.latest is not Repetition.FROZEN:
            self.disturbances.update(state, effort, sent_before, lag, silent=False)
            self._end_if_wrong(state, None)
        return torque

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
            self._end(ending_by(Cause.JOINT_TOO_FAST, too_fast))
        elif disturbed is not None:
            self._end(ending_by(Cause.LASTING_DISTURBANCE, disturbed))

    def _watched_bound(self, state: StateTerms, contradiction: Reason | None) -> Array | None:
        """Return the bound on unexplained torques that holds now, (n,) [N m]; None: no bound."""
        if self.state is State.RUNNING:
            return self.disturbances.running_bound
        if self.state in ACTIVE_STATES:
            return None  # the brake watches itself
        if not self.output.in_loop:
            return None  # a node's torques no longer act
        if not self.ending.reaction.is_watched:
            return None
        if not state.is_moving:
            return None
        if contradiction is not None and self._may_settings_begin():
            return self.disturbances.start_bound
        # The arm moves under the resting torque: this core carries it only if that is g(q).
        is_carried = not self.acting_terms.adds_gravity and self.settings_agree
        return self.disturbances.running_bound if is_carried else None

    def _may_settings_begin(self) -> bool:
        """Return whether the law may begin by settings that are not known to suit the arm."""
        if self.ending.reaction is Reaction.HOLD:
            return False
        # Settings that have agreed once are not doubted while they wait for `start`.
        return self.enabled or not self.settings_agree
