# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Computes the torque for each joint state, in a step of six parts.

`CoreStep.step` takes each joint state through six parts, in these methods and files:

1. Can the joint state be used?                `_check_state`; `state_check.py`, `watchers.py`
2. May torques begin, by which settings?       `_begin_torques_if_allowed`; `core_state.py`
3. Run, or brake.                              `_torque_at_state`; `control_law.py`, `stopping.py`
4. Limit torque and rate, and send it.         `_torque_at_state`; `torque_output.py`
5. What does the model not explain?            `disturbance.py`
6. Must torques end?                           `_run_watchers`; `disturbance.py`, `watchers.py`

Part 6 comes after the torque. So does part 5 while a law or the brake acts, so that `send` is
called before them, else parts 5 and 2 come first. What they find changes the next torque.
`core_state.py` says what is commanded in each state, and what the resting torque is. A state is
usable if part 1 finds nothing. Latched: the law waits for `start`. Cases:

Torques begin
- A loop's first usable state gets the resting torque at once, whatever its size: zero if the
  target adds gravity or a measured torque contradicts the settings, else g(q). If the receiver
  applies and measures that zero, it contradicts nothing: the torque comes to g(q) at its rate.
  Before a usable state a loop gets zero, then g(q) at its rate. A node sends nothing.
- After 20 usable states in a row, of a median age of at most 15 ms, the law begins, unless a
  measured torque contradicts the settings. A loop begins at the torque sent last; a node whose
  last torque acts no more as after none. From there the torque ramps to the law's in 0.2 s.
- A measured torque contradicts the settings if it departs, by more than 10 % of a joint's torque
  limit, from what the motion needs, or from the sum of what was sent (before the first torque:
  nothing) and what the target adds. A loop then gets the resting torque; zero at its first usable
  state. An arm that moves by 3 mrad then is braked and held, unless `blocked` (`check_fall`).
- Without a measured torque nothing is compared before the first torque. The law begins, and an arm
  that it drives is braked once it gets too fast or a disturbance torque exceeds its bound.
- A torque after none begins at zero if the target adds gravity; else the law's at the measured
  torque or, without, g(q), and a brake's that catches a falling arm at g(q), also after zero
  torque, as of a pause (`_prepare_first_torque`). The part of g(q) that a target which adds
  gravity lacks, as of a payload unknown to the robot, comes by the rate alone.

States are missing or wrong: the motion ends, and the stop by the model (STOPPING) slows each joint
with a time constant of 0.1 s. Which velocity it goes by (SEEN: the measured position and velocity;
OWN: the velocity alone, from the last believed position, if it is possible and changes, else
MODEL; MODEL: the last believed one, as it decays), and what ends it:

  what is wrong                                 joints                  until            latched
  no new state for 20 ms (`state_timeout`)      MODEL                   0.25 s           no
  the first state after a gap                   SEEN                    the next state   no
  a position is no number                       that OWN, others SEEN   it is a number   no
  an impossible position                        that OWN, others SEEN   it is possible   yes
  a velocity is no number                       positions SEEN, MODEL   it is a number   no
  an impossible velocity                        positions SEEN, MODEL   it is possible   yes
  an effort beyond 3 torque limits              SEEN                    it is possible   yes
  a position leaps (2 limits and 0.02 rad)      that OWN, others SEEN   0.02 rad of OWN  yes
  velocities contradict positions               SEEN, by positions      `start`          yes
  positions repeat bit for bit                  those OWN, others SEEN  they change      yes
  states older than `max_state_age`             positions SEEN, MODEL   younger states   no

- A stamp that is not new counts as no state. Until the law or the brake notices that a velocity is
  wrong (0.02 rad away), or that positions repeat (20 ms; those of an arm slower than 0.1 rad/s
  only once its velocities take it 0.02 rad away, or the reference moves), they answer it. Of a
  faster arm whose positions all repeat, the last torque is repeated for these 20 ms.
- The stop by the model lasts 0.25 s; longer, for at most 1 s, while joints that are followed are
  faster than 0.02 rad/s; and without that bound under a target that adds no gravity, because the
  arm may fall, while states come in which a joint is not SEEN. Under a target that adds gravity it
  ends after 0.25 s if a joint goes by MODEL. Then the torque goes to the resting torque, still
  STOPPING while an arm that the target does not carry moves; then the core is SILENT.
- The first usable state, while the stop lasts, ends it: an arm faster than 0.04 rad/s is braked to
  rest; then the law begins one state after, by its ramp, without the motion, or if latched the arm
  is held. After SILENT, or at rest, the law begins after 20 usable states, even if the arm moves;
  if latched, an arm that moved at the first usable state is braked and held then. An arm that was
  held is held again after 20 usable states, unless `blocked` or this loss is a fault. A leap back
  is one more unusable state. After a leap that stays, or velocities that contradict positions,
  nothing brakes, holds or watches the arm until `start`; a loop gets g(q) of where OWN took a
  joint that leapt.
- States lost more than 5 times within a minute are a fault; if they were impossible, nothing
  brakes the arm any more. A loss within 50 ms of the last one, of an arm that brakes again after a
  fault, is the same loss. A clock of stamps that is set back (by more than 1 s, or for 20 states)
  counts as lost states.
- A velocity beyond twice its limit that positions confirm in two states in a row is that of a
  joint which torques drive, as reversed ones, and nothing brakes the arm any more, even if
  it is a push that makes it so fast.
- States 20 ms old give no first torque of the law (15 ms is the most). Up to `max_state_age` a law
  that runs goes on, and the brake softens its gains (`stopping.py`).
- An effort that is not a number at one joint counts as no measured effort at all.
- A node publishes the stop and the resting torque, its last one, which goes on acting. A loop that
  calls neither `step` nor `tick` applies its last torque until the first state after the gap.

Torques are wrong
- A measured torque that departs from the one sent, or from what the motion needs, by more than
  20 % of a limit (31 % at limits below 20 N m), at one joint or several, makes the core brake and
  hold the arm. The estimate reaches 91 % of a step after 24 ms, and has to be beyond its bound for
  20 ms; an arm at rest is not compared for 1 s after the law begins, unless it was held
  (`check_bounds`). A held arm bears 10 % of each limit beyond what it bore when braking began,
  less at a light wrist without its drive's inertia in the model. It is not watched: a stronger
  push moves it at any speed, until a value is impossible; it is held again once that is possible.
- The speed of a pushed arm is often found first: a joint beyond 0.6 of its limit (1.15 while a
  reference moves), with what it gains before its torque can turn, is braked (`check_speeds`).
- If such an excess is explained by torques sent to other joints, earlier or reversed, the arm is
  let go without braking, after 6 states if reversed, else after 10, and the resting torque follows
  (`wiring.py`), zero where torques are exchanged or reversed. Without a measured torque the arm is
  braked first, for up to 55 ms by torques that drive it, to 5 to 9 rad/s, and uninvolved joints
  may be taken for exchanged beside others; a joint that is pushed alone is not. Under fci, at
  rest, an exchange is not noticed, because nothing is sent; nor is a small one at first anywhere:
  it makes feedback unstable, and the arm swings until torques are so far apart: after 0.01 to 2 s,
  at 0.4 to 2.4 rad/s.
- Exchanged measured torques let the arm go, too, under a target that adds no gravity, once sent
  torques vary by more than the noise of efforts (else it is braked and held); under fci the
  gravity in them tells them apart, and the arm is braked and held.
- A torque that is not finite is never sent: the resting torque follows, within the rate, and the
  fault is latched (`_torque_at_state`).
- Where limits of torque or rate hold a brake's torque back, the pose to hold moves along with that
  joint until the arm has come to rest.

Stops and settings
- When a motion has ended, the law holds its last position. Whatever ends the law ends the motion;
  the brake pulls to where braking began, or to where limits, or a push of more than 0.11 rad,
  moved that pose.
- `stop` brakes the arm to rest, then gives the resting torque. A second one adds its reason.
  With Stop.HOLD it makes an arm held that is still braked, or whose torque still goes to the
  resting torque after a stop without a fault. `stop` of a held arm lets go of it.
- Stop.PAUSE and Stop.TO_ZERO give zero torque, at the rate; nothing brakes or watches the arm, and
  one that does not carry itself falls (STOPPING while it moves). After a pause the law begins by
  itself at the next usable state, unless a fault or a stop came before or during it: then it waits
  for `start`.
- `start` of a held arm begins the law at the torque sent last, without a motion: kp pulls to where
  the arm is. It raises StartRefusedError if states are too old, or a torque departs by more than
  10 % of a limit (for 2 s after a change of payload: beyond any share of that load). While a stop
  still brakes the arm, the law begins one state after it rests.
- Settings that change while the arm is held act on the brake's model at once, without a step of
  its torque; kp and kd of the brake stay until `start`, from which the torque ramps to the law's,
  or until the arm is braked again, as after lost states.
"""

import logging

import numpy as np

from .core_state import ACTIVE_STATES, CoreEvent, State, StateMachine
from .ending import Cause, Ending, Reaction, Reason, ReasonCode
from .limits import MAX_STEP_S
from .state_check import MAX_POSITION_DRIFT_RAD, MIN_GOOD_STATE_COUNT, StampOrder, StateSample
from .stopping import MAX_STOPPED_SPEED_RAD_S
from .terms import StateTerms
from ..arguments import with_argument_checks
from ..arm.friction import MAX_STATE_GAP_S
from ..arrays import Array, ArrayLike, as_seconds

_LOG = logging.getLogger(__name__)

# After so many silent states of an enabled or faulty core, the log says why: ten times as many as
# a first torque needs.
WAIT_WARNING_STATE_COUNT = 10 * MIN_GOOD_STATE_COUNT
# After which an arm is not braked, and after which a moving one is held once it is seen.
_NOT_BRAKED = Reaction.ZERO, Reaction.COAST
_HELD_ONCE_SEEN = Reaction.AWAIT, Reaction.RESTING_TORQUE


class CoreStep(StateMachine):
    """Computes the torque for each joint state, or for a time at which no joint state came."""

    TICK_S = MAX_STEP_S  # how often `tick` is to be called without a state [s]

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
        [N m] (with one NaN none is measured), (n,) each in the arm's order; another shape, or in a
        loop first positions in degrees, raise JointVectorError. `time` is the state's stamp, `age`
        how old it is, `now` its arrival by the clock that `tick` uses, by default `time` [s].
        """
        sample = self.states.make_sample(q, dq, effort, time, age, now)
        with self._lock:
            order = self.states.stamp_order(sample.stamp)
            if order is not StampOrder.NEW:
                return self._torque_at_old_stamp(sample, order)
            now = sample.stamp if sample.now is None else sample.now
            problem = self._check_state(sample, now)  # part 1
            if problem is None and self.repeated_positions.is_arm_frozen:
                return self._torque_without_state(now)  # nothing new is seen
            self._record_state(sample, now, problem)
            if problem is not None:
                return self._reject_state(problem, now)
            self.states.accept_latest()
            if self.unseen.stops:
                self._end_stop_by_model(sample.dq)
            assert self.latest is not None, 'the state is possible'
            latest, refused, acts = self.latest, None, self.state in ACTIVE_STATES
            sent, age = list(self.output.sent), self.states.age_in_periods
            if acts:
                torque = self._torque_at_state(latest, now)  # parts 3 and 4
            elif self.state is State.SILENT and self.acting.adds_gravity:
                sent = []  # the target carries the arm, or motor brakes do
            self.disturbances.update(latest, sample.effort, sent, age)  # part 5
            if not acts:
                refused = self._begin_torques_if_allowed(latest)  # part 2
                latest = self.acting.terms_at(sample.stamp, sample.q, sample.dq, self.desired)
                self.latest = latest
                torque = self._torque_at_state(latest, now)  # parts 3 and 4
            self._run_watchers(latest, refused)  # part 6
            return torque

    def tick(self, now: float, silence: float | None = None) -> Array:
        """
        Return the torque while no joint state comes, shape (n,) [N m].

        Call it every TICK_S without a state. `silence` is the time since the last state by the
        clock of stamps, as in simulated time [s]; None: by `now` [s], the clock of `step`'s `now`.
        """
        now = as_seconds('now', now, finite=False)
        silence = None if silence is None else as_seconds('silence', silence, finite=False)
        with self._lock:
            timeout = self.states.silence_timeout(from_stamps=silence is not None)
            silence = now - self.states.arrival if silence is None else silence
            if self.state in ACTIVE_STATES and not abs(silence) <= timeout:  # or NaN, or set back
                why = ReasonCode.SILENCE(silence=1e3 * abs(silence))
                return self._reject_state(Cause.STATES_LOST.ending(why), now)
            return self._torque_without_state(now, silence)

    # 1. Can the joint state be used? -----------------------------------------------------------
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
            return self._reject_state(cause.ending(why), now)

    def _reject_state(self, problem: Ending, now: float) -> Array:
        """Reject the latest joint state for a problem; return the next torque, (n,) [N m]."""
        assert problem.last_reason is not None, 'it has a reason'
        self.states.reject_latest(problem.last_reason)
        self.output.counts['unusable states'] += 1
        if self.state in ACTIVE_STATES:
            self.output.counts['stops'] += 1
            brakes_again = self.state is State.BRAKING and self.faulty
            if n := self.states.record_state_loss(now, brakes_again):
                often = Cause.IMPOSSIBLE_OFTEN if problem.is_latched else Cause.STATES_LOST_OFTEN
                problem = often.ending(ReasonCode.STOPPED_OFTEN(count=n, why=problem.last_reason))
            stuck, possible = self.repeated_positions.stuck_joints, self.states.possible_joints
            self.unseen.begin_stop(now, partly_seen=bool(stuck.any() or not possible.all()))
            self._end_torques(problem)
        elif self.faulty and problem.is_latched:
            # What ended torques stays named; the arm may only get something else from now on.
            self.ending = self.ending._replace(reaction=self.ending.joined_with(problem).reaction)
        elif problem.is_latched:
            self._end_torques(problem, acts=False)
        elif self.state is State.SILENT and self.enabled:
            self._record_wait(problem.last_reason)
        self._warn_while_waiting()
        return self._torque_without_state(now)

    def _torque_at_old_stamp(self, sample: StateSample, order: StampOrder) -> Array:
        """Return the torque after a state whose stamp is not after that of the state before."""
        if order is StampOrder.OUT_OF_ORDER:  # it is dropped; the last state counts
            why = self.states.repetition_reason(sample.stamp)
            if why is not None and self.state is State.SILENT and self.enabled:
                self._record_wait(why)
            self._warn_while_waiting()
            return self.tick(*self.states.tick_arguments(sample))
        now = sample.stamp if sample.now is None else sample.now
        if now < self.states.arrival:
            self.states.reset_state_losses()  # how long ago they were is not known any more
        torque = self._reject_state(Cause.STATES_LOST.ending(ReasonCode.CLOCK_SET_BACK()), now)
        self._forget_joint_states(now)  # a further torque of this instant must not differ
        return torque

    def _check_state(self, sample: StateSample, now: float) -> Ending | None:
        """Return an ending if a state cannot be used, else None; update `latest` and `desired`."""
        states, repeated = self.states, self.repeated_positions
        self.latest = self.desired = None
        problem = states.check_values(sample.q, sample.dq, sample.effort, sample.stamp)
        if problem is not None:
            if states.stamp is None and self.output.in_loop:
                states.require_radians(sample.q)
            return problem
        problem = states.update(sample, now)
        self.desired = self.reference.at(sample.stamp)
        if problem is not None:
            repeated.clear()
        else:
            torque = None if self.state is State.SILENT else self.output.last_torque
            problem = repeated.check_positions(states, torque, self.desired and self.desired.dq)
        self.latest = self.acting.terms_at(sample.stamp, sample.q, sample.dq, self.desired)
        return problem

    def _record_state(self, sample: StateSample, now: float, problem: Ending | None) -> None:
        """Record a joint state for a stop by the model, and update the friction state by it."""
        states, repeated, unseen = self.states, self.repeated_positions, self.unseen
        possible, stuck = states.possible_joints, repeated.stuck_joints
        none = np.zeros_like(stuck)
        if problem is not None and stuck.any() and self.state in ACTIVE_STATES:
            unseen.record_seen(*repeated.extrapolated_state(sample.q), now, possible, none)
        believed, why = states.trusted_velocity(sample.dq), problem and problem.last_reason
        if unseen.last_seen is not None:  # a wrong velocity says nothing against the position
            wrong = states.possible_positions & ~possible
            believed = np.where(wrong, unseen.probable_state(now)[1], believed)
            possible = states.possible_positions
        seen = possible & ~stuck & ~states.leapt_joints
        by_velocity = states.changed_velocities & (~stuck | states.outrun_joints) & ~seen
        if why is not None and why.code is ReasonCode.STALE and unseen.last_seen is not None:
            believed = unseen.probable_state(now)[1]  # an old velocity would drive the arm
            by_velocity = none
        unseen.record_seen(sample.q, believed, now, seen, by_velocity)
        if states.leapt_joints.any() and unseen.last_seen is not None:
            away = np.abs(sample.q - unseen.probable_state(now)[0])
            states.leapt_joints = states.leapt_joints & ~(away < MAX_POSITION_DRIFT_RAD)
        if self.latest is not None and self.acting.friction.model is not None:
            self.acting.friction.update(sample.stamp, sample.q)

    def _end_stop_by_model(self, dq: Array) -> None:
        """End the stop by the model at a usable state; brake an arm that moves at dq, (n,)."""
        if not self.states.are_believed:
            return
        self.unseen.stops = False
        if np.abs(dq).max() > MAX_STOPPED_SPEED_RAD_S:
            if self.faulty and self.ending.reaction in _HELD_ONCE_SEEN:
                self.ending = self.ending._replace(reaction=Reaction.HOLD)
            if self.ending.reaction not in _NOT_BRAKED:
                self._change_state(CoreEvent.RELEASE)

    def _warn_while_waiting(self) -> None:
        """Log after many silent states why no torque is sent though the user wants torques."""
        waits = self.state is State.SILENT and (self.enabled or self.faulty)
        self._silent_state_count = self._silent_state_count + 1 if waits else 0
        if self._silent_state_count == WAIT_WARNING_STATE_COUNT:
            _LOG.warning('%s', self.status)

    # 2. May torques begin, and by which settings? ----------------------------------------------
    def _begin_torques_if_allowed(self, state: StateTerms) -> Reason | None:
        """
        Begin the control law if a first torque is allowed, or brake an arm that must be held.

        Returns why torques of the settings asked for are refused, if the arm contradicts them.
        """
        self._warn_while_waiting()
        stays = self.ended and self.resting_torque_agrees  # a stopped arm stays where it is
        refused = None if stays else self._settings_contradiction(state)
        if refused is None and not stays:
            self._use_requested_terms(agrees=True)
            if not self.resting_torque_agrees:
                self.resting_torque_agrees = True
                self.disturbances.reset_at_first_torque(state.stamp)
        if self._holds_again and self.states.has_enough_states and not self.blocked:
            self._begin_torques(CoreEvent.HOLD, state)
        elif self.enabled:
            why: Reason | str | None = refused or self.blocked or self._start_refusal()
            if not why:
                self._begin_torques(CoreEvent.BEGIN, state)
            elif self.state is State.SILENT:  # else the reason of the stop stays
                self._record_wait(why)
        return refused

    def _start_refusal(self) -> Reason | None:
        """Return why joint states or gains do not allow a first torque yet, or None."""
        law, states = self.asked, self.states
        return states.start_refusal() or law.instability_reason(states.period, states.median_age)

    def _bound_violation(self) -> Reason | None:
        """Return a reason if disturbance torques by the requested settings are beyond a bound."""
        found = self.disturbances
        return found.bound_violation(found.start_bound, self.asked.terms)

    def _settings_contradiction(self, state: StateTerms) -> Reason | None:
        """
        Return a reason if the arm's torques contradict the requested settings before these act.

        What is compared is the torque that holds the arm at rest. Brakes may hold the arm before
        the first torque, and later that of a node if it does not move; without measured torque
        nothing can be compared then.
        """
        on_brakes = not self.resting_torque_agrees or not (self.output.in_loop or state.is_moving)
        changed = self.acting is not self.asked.terms
        # What was sent under the terms before holds the arm, unless brakes do: it tests changed
        # ones without a measured torque, too.
        judged = self.disturbances.can_test_terms(self.asked.terms) or (changed and not on_brakes)
        return self._bound_violation() if judged else None

    # 3 and 4. Run, or brake; limit and send -----------------------------------------------------
    def _torque_at_state(self, state: StateTerms, now: float) -> Array:
        """Compute, send and return the torque at a usable joint state, (n,) [N m]."""
        states, brake = self.states, self.brake
        if self.state is State.RUNNING:
            if self.asked.pulls and self.desired is None:
                self.reference.hold(state.q)
            desired = self.ramp.torque(self.asked, state, self.desired, self.output.last_torque)
        elif self.state in ACTIVE_STATES:
            found = self.disturbances.disturbance_torque
            desired = brake.torque(state, self.acting, found, states.elapsed, states.age)
            if brake.driven is not None:
                self._end_torques(Cause.BRAKING_FAILED.ending(brake.driven))
        elif self.state is State.STOPPING or not self.output.in_loop:
            return self._torque_without_state(now)
        else:
            desired = self._resting_torque(now)
        if not np.isfinite(desired).all():  # while active: a resting torque is finite
            self._end_torques(Cause.TORQUE_NOT_FINITE.ending(ReasonCode.TORQUE_NOT_FINITE()))
        if self.state is State.BRAKING and brake.at_rest:
            holds = self.ending.reaction is Reaction.HOLD
            self._change_state(CoreEvent.AT_REST_HELD if holds else CoreEvent.AT_REST)
        if self.state is State.STOPPING:
            # What is desired has just ended, and `acting` may have changed: the stop has its own.
            return self._stopping_torque(now)
        torque = self.output.send_torque(desired, states.elapsed, now)
        if self.state is not State.RUNNING:
            brake.record_limited_torque(desired, torque)
        return torque.copy()  # the caller may write into it

    # The torque without a usable state ---------------------------------------------------------
    def _torque_without_state(self, now: float, silence: float = 0.0) -> Array:
        """
        Return the stopping, the resting or the last torque, (n,) [N m], while no state is used.

        A loop in silence goes on with the resting torque of where the arm probably is. `silence`
        is the time since the latest state [s].
        """
        output = self.output
        if self.state is State.STOPPING:
            return self._stopping_torque(now, silence)
        if self.state is State.SILENT and output.in_loop and output.sent:
            return output.send_torque(self._resting_torque(now), now - output.sent_at, now).copy()
        return output.repeat_last_torque()

    def _stopping_torque(self, now: float, silence: float = 0.0) -> Array:
        """
        Return the next torque in state STOPPING, on the way to the resting torque, (n,) [N m].

        An arm that is not seen is first brought to rest by its model. If the target adds no
        gravity, a moving arm would fall under g(q) of an earlier q; so this lasts while states
        show that the arm moves, or come unusable and it probably moves, as one that got fast; so
        long after the last one, MAX_STATE_GAP_S is 0.05 s.
        """
        arm, terms, output = self.unseen, self.acting, self.output
        stops = arm.stops and self.ending.reaction not in _NOT_BRAKED
        stops = stops and not arm.has_stopped(terms, now)
        goal = resting = self._resting_torque(now)
        if stops:
            goal = arm.stopping_torque(terms, now) + self._hold_disturbance
        if not np.isfinite(goal).all():  # no limit of the arm bounds the velocity seen last
            stops, goal = False, resting
        goal = output.limiter.clip_torque(goal)
        torque = output.send_torque(goal, now - output.sent_at, now)
        probable = None if arm.last_seen is None else arm.probable_state(now)
        moves = probable is not None and np.abs(probable[1]).max() > MAX_STOPPED_SPEED_RAD_S
        goes_on = moves and silence <= MAX_STATE_GAP_S and not terms.adds_gravity
        if np.array_equal(torque, goal) and not (goes_on or stops):
            self._change_state(CoreEvent.AT_RESTING_TORQUE)
            output.record_end(probable, now, terms.adds_gravity)
        return torque.copy()

    def _resting_torque(self, now: float) -> Array:
        """Return the resting torque, (n,) [N m], or zero until a joint state agreed with it."""
        torque = self.unseen.resting_torque(self.acting, now) + self._hold_disturbance
        if self.ending.reaction is Reaction.COAST:
            torque = np.where(self.disturbances.misdirected_joints, 0.0, torque)
        acts = self.resting_torque_agrees and self.ending.reaction is not Reaction.ZERO
        return torque if acts and np.isfinite(torque).all() else np.zeros_like(torque)

    @property
    def _hold_disturbance(self) -> Array:
        """Disturbance torque to add to the resting torque of an arm at rest, else zero, (n,)."""
        # Without it, an arm with an undeclared load falls. One that moves may be pushed, and would
        # go on.
        unknown = self.ending.reaction in (Reaction.COAST, Reaction.RELEASE)  # who stops may push
        unknown = unknown or self.states.velocity_contradicted  # it was estimated from velocities
        carries = self.brake.is_still and not (unknown or self.acting.adds_gravity)
        return self.brake.disturbance if carries else np.zeros_like(self.brake.disturbance)

    # 6. Must torques end? ----------------------------------------------------------------------
    def _run_watchers(self, state: StateTerms, refused: Reason | None) -> None:
        """Brake the arm or end its torques if it is too fast, falls or is disturbed too much."""
        active, elapsed = self.state in ACTIVE_STATES, self.states.elapsed
        watched = self.ending.reaction not in _NOT_BRAKED and self.states.are_believed
        watched = watched and not active
        # An arm that moves before the first torque of a loop falls by the receiver's own gravity
        # torque: the loop's zero torque would not stop it.
        falls = watched and self.enabled and state.is_moving and not self.blocked
        sends = self.state is State.STOPPING or self.output.in_loop
        rests = self.resting_torque_agrees and not self.acting.adds_gravity
        rests = watched and sends and (rests or falls)
        carries = self.state is State.RUNNING or rests
        found = [  # in the order of priority; all look
            self.motion_watcher.check_fall(state.q, refused if falls else None),
            self.disturbances.check_bounds(state, elapsed, active, carries),
            self.motion_watcher.check_speeds(state, elapsed, self.desired) if carries else None,
        ]
        ending = next(filter(None, found), None)
        if ending is not None:
            self.output.counts['faults'] += 1
            unknown = self._prepare_first_torque(state, self.acting, effort_trusted=False)
            if unknown and not self.acting.adds_gravity:
                self.disturbances.reset_at_first_torque(state.stamp)  # of torques not sent
            self._end_torques(ending)
