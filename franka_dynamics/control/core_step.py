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

Parts 5 and 6 come after the torque was sent, but in SILENT and STOPPING parts 5 and 2 before it.
What they find changes the next torque.

What is commanded when: read `core_state.py` first. It has the torque of each state, the resting
torque, the ramp, the reactions (HOLD, COAST, ...) and the other words. The cases:

Torques begin (from SILENT)
- A loop's first state, if usable, gives the resting torque at once, of any size: g(q), but zero if
  the target adds gravity or a measured torque contradicts. If a `tick` or an unusable state came
  first, it comes by the rate, zero at the first usable state (up to some 15, if a measured torque
  seems to contradict while the estimate lags behind the fall: with a load HOLD may come first); a
  freed arm falls meanwhile. A node sends nothing.
- The law begins at the 20th usable state in a row, even if the arm moves, unless a torque
  contradicts, the last 20 states have a median age above 15 ms, gains swing with that age and the
  period, or it is `blocked` (which ends nothing). It begins, by the ramp, at the torque sent last,
  such as a loop's resting torque, if that still acts, else at a first torque: zero if the target
  adds gravity, else the measured torque or, without one, g(q). None acts of a node at the
  beginning, after a change to a target that adds gravity otherwise, or of an arm that was carried
  off and rests there, nor in SILENT a zero torque (of a loop either).
- Contradicts: a joint's measured torque departs by more than 10 % of its limit from what the
  motion needs, or from what was sent (zero at the beginning) plus what the target adds. While
  it does, no law begins; a loop gets zero, or if a state agreed before, the resting torque by the
  settings that acted then; an arm that falls by 3 mrad, or in a loop departs as a disturbance, is
  braked (where zero was sent and the target adds no gravity, at first by g(q) with d = 0) and
  held. Once it agrees or counts as none, the law begins, as above; before the 20th state a
  loop's g(q) comes, by the rate.
- A measured torque with a NaN, all zero, if the target adds no gravity before the law within
  friction (or any, with `held_until_commanded`), if it adds it one of the last 3 that were sent,
  counts as none. Without one nothing contradicts at the beginning; settings that changed later are
  compared with what was sent, by a node only if the arm moves.

States are missing or wrong
- In SILENT and STOPPING: the count of 20 begins anew, and what is latched (table) needs `start`.
- In RUNNING, BRAKING, HOLDING: at once the motion ends. An arm that rested gets the resting torque
  by the rate: SILENT. One that moved, or of which some joints are seen and others not (so if a
  velocity is impossible or no number; not if states are old or joints only leapt), is stopped by
  the model (STOPPING) for 0.25 s; while a joint that is seen has by the table below over 0.02
  rad/s, up to 1 s; under a target that adds no gravity as long as states come in which a q is not
  SEEN, under one that adds it, not beyond 0.25 s if a q is MODEL. Then the resting torque, SILENT.
- When the first usable state comes (law: it begins, and holds the arm where it is then, without
  motion; rest: the resting torque until `start`, so in each row if a `stop` came before, in the
  first after BRAKING, but HOLDING after `faulty` or repeating positions; 20: at the 20th usable
  state, which a gap's first is not, unless `blocked`):

  the arm then                      gets at once    not latched  latched      was to be held
  in STOPPING, above 0.04 rad/s     BRAKING         law as (2)   HOLDING      HOLDING
  in STOPPING, slower               resting torque  20: law      rest         20: BRAKING, HOLDING
  SILENT after it, above 0.04       resting torque  20: law      20: as held  20: BRAKING, HOLDING
  else, as if it rested when lost   resting torque  20: law      rest         20: BRAKING, HOLDING

  Meanwhile a disturbance or a speed gives HOLD (below, Torques are wrong), mostly at once where
  the arm was held for one that lasts.

- A gap of up to 20 ms (`state_timeout`, by stamps less by age / `max_state_age`; at least 3
  periods) in which no state comes is none (a wrong one is, at once): `tick` repeats the last
  torque. Then `tick` begins the stop, in a node and in a loop that calls it. Another loop applies
  its last torque throughout; the first state after the gap begins the stop, with one torque by
  this state, and the next one, if usable, ends it.
- What the stop takes for a joint's motion (SEEN: the measured position and velocity; OWN: the
  velocity alone from the last believed position, if possible and changing, else MODEL; MODEL: the
  last believed velocity as it decays), until when states are not trusted (after over 20 ms of
  stamps without a possible one, with `tick`, too, always one state longer), and what is latched:

  what is wrong                                 joints                  until            latched
  no new state for 20 ms (`tick`)               MODEL                   the next state   no
  a first finite, possible state after > 20 ms  SEEN                    the next state   no
  stamps set back 1 s or 20 states; q may leap  MODEL                   the next state   no
  states older than `max_state_age` (0.1 s)     q SEEN, every dq MODEL  younger states   no
  states below `min_input_rate`, or ahead       SEEN                    faster states    no
  a position is no number                       that OWN, others SEEN   it is a number   no
  a velocity is no number                       q SEEN, its dq MODEL    it is a number   no
  an impossible position                        that OWN, others SEEN   it is possible   yes
  an impossible velocity                        q SEEN, its dq MODEL    it is possible   yes
  an effort beyond 3 torque limits              SEEN                    it is possible   yes
  a position leaps (2 limits and 0.02 rad)      that OWN, others SEEN   0.02 rad of OWN  yes
  velocities contradict positions               SEEN, by positions      `start`          yes
  positions repeat, though the arm must move    those OWN, others SEEN  1st or 2nd new   yes
  `reject_state`, with faulty=True latched      MODEL                   the next state   no, yes

- Not wrong, the law goes on: an effort with a NaN; states of up to 0.1 s of age (the brake softens
  its gains; light joints may still swing). A state whose stamp is not new is dropped, as if none
  had come.
- Answered until noticed, unless as a disturbance first: wrong velocities (0.02 rad away, 5 mrad if
  all are zero); repeating positions (20 ms; the last torque, if all do in fast motion: 0.1 rad/s).
- After a leap that stays, or velocities that contradict positions, states soon count among the
  20, but nothing brakes, holds or watches the arm until `start`, which trusts them at once: a
  loop gets g(q) of where OWN took the joint, then the law of where states say it is.
- The 6th loss within a minute and since `start` is latched; COAST if states were impossible. A
  velocity beyond twice its limit that positions confirm twice: COAST, but if a push does it
  (as in Driven, but by 15 %, and each measured torque was the sent one to 10 % of a limit) it is
  possible until `start`. Once latched, a loss within 50 ms of the last, BRAKING again, is the
  same one.

Torques are wrong
- Disturbance: the measured torque departs from what the motion needs, or from what was sent plus
  what the target adds (without one: this sum from what the motion needs), by more than 20 % of a
  limit (31 % at limits below 20 N m), found 23 to 35 ms later (50 if hardly beyond): HOLD. Not at
  rest for 1 s after the law begins, unless it was held; less any share of a changed payload's
  g(q) for 2 s, or until a joint has 0.5 rad/s; in a stop that lets go, only of what 20 ms ago
  was sent beyond the resting torque.
- Speed, found first in a hard push: a joint beyond 0.6 of its limit (1.15 until 0.5 s after the
  reference moved), with what it gains before its torque can turn, for 3 ms: HOLD; also one above
  0.5 rad/s that cannot stop before its position limit, if no reference moved.
- Wiring: torques sent to other joints, earlier or reversed explain what is beyond 20 % in the last
  6 (a joint's own, reversed; unmeasured after 0.06 s) or 10 to 50 states: COAST, mostly before
  HOLD, with zero at these joints, and if a torque is measured often at right ones, too.
  Unmeasured not if a force on the flange explains it, too, but for opposite disturbances of
  two joints or a reversed torque; nor if it fits less closely and a single joint gets much that
  another hardly misses.
- Driven: without a measured torque, in BRAKING a joint is for 5 ms faster, by 0.4 of its limit,
  than it got until its torque could turn (20 ms, or as the rate allows, without torque limits):
  COAST. But it is a push, braked on, if in the last 20 states each joint got 0.5 to 2.5 of what
  was sent more, or a flange force leaves at most 40 % of what all got beyond that. HOLDING yields
  to one beyond d and 10 % of limits, up to twice a speed limit; back it comes by 0.11 rad.
- A torque that is not finite, of the law or the brake, is never sent: COAST.

  what is wrong                   with a measured torque (not zero)  without
  target adds no g(q), all do     zero, no law; HOLD if it moves     the law; HOLD as it rises
  target adds g(q), nobody does   zero, no law; HOLD as it falls     the law; HOLD as it falls
  exchanged, reversed: mujoco     g(q); HOLD as it falls; COAST;     g(q) or the law; HOLD; COAST
                                  a node: the law; COAST             (g(q), if by speed)
  the same, fci                   the law; in motion as next row     the same
  the same, begins in RUNNING     COAST, or HOLD, then COAST         the same
  1 or 2 joints' torque is dead   HOLD, or COAST as if exchanged;    the same, or COAST if driven:
                                  zero from twice a limit on if      g(q) goes on; either is flung
                                  20 % are missing                   if it returns in BRAKING
  a push; a load; weak torques    HOLD                               HOLD; COAST if driven, no push

  Under fci exchanged torques are not noticed at rest, small ones nowhere before feedback swings
  (0.01 to 2 s). The law, and the resting torque, bear what is below the bounds, as a load that
  departs by less while it falls than it did at rest, until a speed ends that (5 kg on an FR3 after
  a stop: 0.18 s); with kp the arm yields a little.

Stops and start. Each stop adds its reason; a fault stays latched whatever follows.
  call                RUNNING         BRAKING         HOLDING         STOPPING, SILENT
  stop                RELEASE         RELEASE         resting torque  no d; the law only by `start`
  Stop.HOLD           HOLD            HOLD            goes on         a fault; held by (1)
  Stop.PAUSE          ZERO            ZERO            ZERO            zero; a SILENT node: nothing
  Stop.TO_ZERO        ZERO, latched   ZERO, latched   ZERO, latched   the same, latched
  Stop.FINAL          as stop, and `start` is refused for good
  `start`             goes on         (2)             the law (3)     the law (4)
  `reset`             SILENT; all but a stop is forgotten, after which (but a PAUSE) the law still
                      needs `start` (TO_ZERO: zero goes on); as at first (5)

- (1) In STOPPING without fault or PAUSE: held after 20 usable states, or as BRAKING ends. Else
  latched, not held; an unseen arm as `latched` above, once it is seen.
- (2) After a stop: the law begins one state after the arm rests, at the torque then sent, if the
  median age is up to 15 ms. After a fault: refused.
- (3) At once, by the ramp, without a motion: kp pulls to where the arm is. Refused if `blocked`,
  if the median age is above 15 ms or torques depart by over 10 % of a limit (less a share of a
  changed payload's g(q), as long as above: a wrong one moves the arm, unwatched below bounds).
- (4) As Torques begin, mostly at the next state, also in a free fall after COAST, which mostly
  contradicts nothing; an arm that is unseen since a stop by the model began, after COAST, too, but
  not ZERO, is first BRAKING if seen above 0.04 rad/s in STOPPING, else it waits for 20 usable
  states. Refused if it was to be held.
- (5) But a loop's g(q), by new settings, goes on from its first state (after a `tick` or an
  unusable one as at first). If a torque is measured and COAST came or torques departed as in (3),
  zero while one contradicts (one state, if this zero is measured within friction), then by rate.
- ZERO: under a target that adds no gravity the arm falls, STOPPING while it moves, or SILENT if it
  was; if `blocked` also after `start`, `reset`; after TO_ZERO and `reset` SILENT, unwatched, until
  `start`. After a PAUSE the law begins by itself at the first state not so (20 were usable; until
  then SILENT gets g(q) by the rate, STOPPING zero), in STOPPING at the torque reached, in SILENT
  at g(q); but if a stop or fault came before or since, zero goes on until `start`. While
  `blocked`, nothing watches a fall under zero torque, but twice a speed limit is a fault. A fall
  that the law then finds beyond a bound (FR3: after some 80 ms of zero) is HOLD, latched.

Settings change (`Feedforward.change`)
  RUNNING            the law of the new ones at once, by the ramp; the motion goes on. kp from 0,
                     or higher at a joint 0.1 rad from q_d: without a motion the arm is held where
                     it is then; in one the latter is a SettingsError
  BRAKING, HOLDING   payload, gravity: at once, but d takes up the difference, so that the torque
                     at rest has no step (in motion by the rate) until `stop`: a wrong one then
                     drives the arm, until a disturbance, of the wrist first, or a speed is found.
                     kp, kd, scale, terms: at `start` by the ramp, or braked again
  SILENT, STOPPING   the old ones act in SILENT until `start`, if the law needs it, and in both
                     until no torque contradicts the new ones or a held arm is held again; these
                     at once after `reset`, or if no torque acts. d, if borne, takes up the rest
  `target`           SettingsError, but in SILENT as above
"""

import logging
import math

import numpy as np

from .core_state import ACTIVE_STATES, State, StateEvent, StateMachine
from .disturbance import MAX_FAST_PUSH_RESIDUAL_RATIO, MAX_PUSH_RESIDUAL_RATIO
from .ending import Cause, Ending, Reaction, Reason, ReasonCode
from .limits import MAX_STEP_S
from .state_check import MAX_POSITION_DRIFT_RAD, MIN_GOOD_STATE_COUNT, StampOrder, StateSample
from .stopping import MAX_STOPPED_SPEED_RAD_S
from .terms import StateTerms
from ..arguments import with_argument_checks
from ..arm.friction import MAX_STATE_GAP_S
from ..arrays import Array, ArrayLike, as_seconds

_LOG = logging.getLogger(__name__)

# After so many silent states of an enabled or faulty core, the log says why.
WAIT_WARNING_STATE_COUNT = 10 * MIN_GOOD_STATE_COUNT
# After which an arm is not braked, and after which a moving one is held once it is seen.
_UNBRAKED_REACTIONS = Reaction.ZERO, Reaction.COAST
_HOLD_LATER_REACTIONS = Reaction.AWAIT, Reaction.RESTING_TORQUE


class CoreStep(StateMachine):
    """Computes the torque for each joint state, or for a time at which no joint state came."""

    TICK_PERIOD_S = MAX_STEP_S  # how often `tick` is to be called without a state [s]

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
        Take one joint state; send the next torque if it is new, and return it, (n,) [N m].

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
            now = sample.stamp if sample.arrival_time is None else sample.arrival_time
            problem = self._check_state(sample, now)  # part 1
            if problem is None and self.repeated_positions.all_positions_repeat:
                return self._torque_without_state(now)  # nothing new is seen
            self._record_state(sample, now, problem)
            if problem is not None:
                return self._reject_state(problem, now)
            self.states.accept_latest_state()
            if self.open_loop_stop.is_stopping:
                self._end_open_loop_stop(sample.dq)
            assert self.latest is not None, 'the state is possible'
            latest, refused, acts = self.latest, None, self.state in ACTIVE_STATES
            sent, age = list(self.output.torques), self.states.age_in_periods
            if acts:
                torque = self._torque_at_state(latest, now)  # parts 3 and 4
            elif self.state is State.SILENT and self._receiver_carries_arm:
                sent = []
            elif self.output.in_loop and self.resting_torque_agrees and not sent:
                sent = [self._resting_torque(now)]  # it goes on through a reset
            self.disturbances.update(latest, sample.effort, sent, age)  # part 5
            if not acts:
                refused = self._begin_torques_if_allowed(latest)  # part 2
                self.latest = latest = self.acting_terms.terms_at(*latest[:3], self.desired)
                torque = self._torque_at_state(latest, now)  # parts 3 and 4
            self._run_watchers(latest, refused)  # part 6
            return torque

    def tick(self, now: float, silence: float | None = None) -> Array:
        """
        Return the torque while no joint state comes, (n,) [N m]; after the time-out stop the arm.

        Call each TICK_PERIOD_S without a state. `silence` is the time since the last state by the
        clock of stamps, as in simulated time [s]; None: by `now` [s], the clock of `step`'s `now`.
        """
        now = as_seconds('now', now, finite=False)
        silence = None if silence is None else as_seconds('silence', silence, finite=False)
        with self._lock:
            timeout = self.states.silence_timeout(from_stamps=silence is not None)
            silence = now - self.states.arrival_time if silence is None else silence
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

    def _reject_state(self, ending: Ending, now: float) -> Array:
        """Reject the latest state, ending active torques; return the next one, (n,) [N m]."""
        assert ending.last_reason is not None, 'it has a reason'
        self.states.reject_latest_state(ending.last_reason)
        self.output.counts['unusable states'] += 1
        if self.state in ACTIVE_STATES:
            self.output.counts['stops'] += 1
            brakes_again = self.state is State.BRAKING and self.faulty
            if n := self.states.record_state_loss(now, brakes_again):
                often = Cause.IMPOSSIBLE_OFTEN if ending.is_latched else Cause.STATES_LOST_OFTEN
                ending = often.ending(ReasonCode.STOPPED_OFTEN(count=n, why=ending.last_reason))
            stuck, possible = self.repeated_positions.stuck_joints, self.states.possible_joint_mask
            partly_seen = bool(stuck.any() or not possible.all())
            self.open_loop_stop.begin_stop(now, partly_seen=partly_seen)
            self._end_torques(ending)
        elif self.faulty and ending.is_latched:
            # What ended torques stays named; the arm may only get something else from now on.
            self.ending = self.ending._replace(reaction=self.ending.joined_with(ending).reaction)
        elif ending.is_latched:
            self._end_torques(ending, changes_state=False)
        elif self.state is State.SILENT and self.enabled:
            self._record_wait(ending.last_reason)
        self._warn_while_waiting()
        return self._torque_without_state(now)

    def _torque_at_old_stamp(self, sample: StateSample, stamp_order: StampOrder) -> Array:
        """Drop or reject a state whose stamp is not new; return the next torque, (n,) [N m]."""
        if stamp_order is StampOrder.OUT_OF_ORDER:  # it is dropped; the last state counts
            why = self.states.repeated_stamps_reason(sample.stamp)
            if why is not None and self.state is State.SILENT and self.enabled:
                self._record_wait(why)
            self._warn_while_waiting()
            return self.tick(*self.states.tick_arguments(sample))
        now = sample.stamp if sample.arrival_time is None else sample.arrival_time
        if now < self.states.arrival_time:
            self.states.reset_state_losses()  # how long ago they were is not known any more
        torque = self._reject_state(Cause.STATES_LOST.ending(ReasonCode.CLOCK_SET_BACK()), now)
        self._forget_joint_states(now)  # a further torque of this instant must not differ
        return torque

    def _check_state(self, sample: StateSample, now: float) -> Ending | None:
        """Return why a state is unusable or None; set `latest`, `desired`; raise for degrees."""
        states, repeated = self.states, self.repeated_positions
        self.latest = self.desired = None
        problem = states.check_values(sample.q, sample.dq, sample.effort, sample.stamp)
        if problem is not None:
            coasts, pushed = problem.reaction is Reaction.COAST, self.disturbances.shows_push
            if coasts and pushed(MAX_FAST_PUSH_RESIDUAL_RATIO):
                states.believes_fast_joints = True
                problem = problem._replace(reaction=Reaction.AWAIT)
            elif coasts:
                self.disturbances.mark_misdirected_joints()
            if states.stamp is None and self.output.in_loop:
                states.require_radians(sample.q)
            return problem
        problem = states.record_sample(sample, now)
        self.desired = self.reference.at(sample.stamp)
        if problem is not None:
            repeated.clear()
        else:
            torque = None if self.state is State.SILENT else self.output.last_torque
            problem = repeated.check_positions(states, torque, self.desired and self.desired.dq)
        self.latest = self.acting_terms.terms_at(sample.stamp, sample.q, sample.dq, self.desired)
        return problem

    def _record_state(self, sample: StateSample, now: float, ending: Ending | None) -> None:
        """Record a joint state for a stop by the model, and update the friction state from it."""
        states, repeated, unseen = self.states, self.repeated_positions, self.open_loop_stop
        possible, stuck = states.possible_joint_mask, repeated.stuck_joints
        none = np.zeros(len(stuck), dtype=bool)
        if ending is not None and any(stuck.tolist()) and self.state in ACTIVE_STATES:
            unseen.record_state(*repeated.extrapolated_state(sample.q), now, possible, none)
        contradicted, why = states.velocity_contradicted, ending and ending.last_reason
        believed = states.velocity_by_positions(sample.dq) if contradicted else sample.dq
        if unseen.last_seen is not None:  # a wrong velocity says nothing against the position
            wrong = states.possible_position_mask & ~possible
            if any(wrong.tolist()):
                believed = np.where(wrong, unseen.probable_state(now)[1], believed)
            possible = states.possible_position_mask
        seen = possible & ~stuck & ~states.leapt_joints
        by_velocity = states.changed_velocity_mask & (~stuck | states.outrun_joint_mask) & ~seen
        if why is not None and why.code is ReasonCode.STALE and unseen.last_seen is not None:
            believed = unseen.probable_state(now)[1]  # an old velocity would drive the arm
            by_velocity = none
        unseen.record_state(sample.q, believed, now, seen, by_velocity)
        if any(states.leapt_joints.tolist()) and unseen.last_seen is not None:
            away = np.abs(sample.q - unseen.probable_state(now)[0])
            states.leapt_joints = states.leapt_joints & ~(away < MAX_POSITION_DRIFT_RAD)
        if self.latest is not None and self.acting_terms.friction.model is not None:
            self.acting_terms.friction.update(sample.stamp, sample.q)

    def _end_open_loop_stop(self, dq: Array) -> None:
        """If states are trusted, end the stop by the model; brake a moving arm not let go."""
        if not self.states.trusts_states:
            return
        self.open_loop_stop.is_stopping = False
        if np.abs(dq).max() > MAX_STOPPED_SPEED_RAD_S:
            if self.faulty and self.ending.reaction in _HOLD_LATER_REACTIONS:
                self.ending = self.ending._replace(reaction=Reaction.HOLD)
            if self.ending.reaction not in _UNBRAKED_REACTIONS:
                self._change_state(StateEvent.RELEASE)

    def _warn_while_waiting(self) -> None:
        """Count states in SILENT of an enabled or faulty core; once they are many, log why."""
        waits = self.state is State.SILENT and (self.enabled or self.faulty)
        self._silent_state_count = self._silent_state_count + 1 if waits else 0
        if self._silent_state_count == WAIT_WARNING_STATE_COUNT:
            _LOG.warning('%s', self.status)

    # 2. May torques begin, and by which settings? ----------------------------------------------
    def _begin_torques_if_allowed(self, state: StateTerms) -> Reason | None:
        """Begin the law if allowed, or brake to hold; return why settings are refused or None."""
        self._warn_while_waiting()
        stays = self.needs_start and self.resting_torque_agrees  # a stopped arm stays where it is
        refused = None if stays else self._settings_contradiction(state)
        if refused is None and not stays:
            self._use_requested_terms(settings_agree=True)
            if not self.resting_torque_agrees:
                self.resting_torque_agrees = True
                self.disturbances.reset_at_first_torque(state.stamp)
        if self._must_hold_arm and self.states.has_enough_states and not self.blocked:
            self._begin_torques(StateEvent.HOLD, state)
        elif self.enabled:
            why: Reason | str | None = refused or self.blocked or self._start_refusal()
            if not why:
                # In a loop g(q) may still be on its way, from zero: the arm falls until it acts.
                carries = self.state is State.SILENT and self.output.in_loop
                carries = carries and self.ending.reaction is not Reaction.ZERO
                resting = self._resting_torque(-math.inf)
                self._begin_torques(StateEvent.BEGIN, state)
                if carries and not self.acting_terms.adds_gravity:
                    self.ramp.begin(resting)
            elif self.state is State.SILENT:  # else the reason of the stop stays
                self._record_wait(why)
        return refused

    def _start_refusal(self) -> Reason | None:
        """Return why joint states or gains do not allow a first torque yet, or None."""
        law, states = self.requested_law, self.states
        return states.start_refusal() or law.instability_reason(states.period, states.median_age)

    def _settings_contradiction(self, state: StateTerms) -> Reason | None:
        """
        Return a reason if torques contradict the requested settings, where comparable, or None.

        What is compared is the torque that holds the arm at rest. Brakes may hold the arm before
        the first torque, and later that of a node if it does not move; without measured torque
        nothing can be compared then.
        """
        on_brakes = not self.resting_torque_agrees or not (self.output.in_loop or state.is_moving)
        changed = self.acting_terms is not self.requested_law.terms
        # What was sent under the terms before holds the arm, unless brakes do: it tests changed
        # ones without a measured torque, too.
        tested = self.disturbances.can_test_terms(self.requested_law.terms)
        return self._bound_violation() if tested or (changed and not on_brakes) else None

    # 3 and 4. Run, or brake; limit and send -----------------------------------------------------
    def _torque_at_state(self, state: StateTerms, now: float) -> Array:
        """Return the torque at a usable joint state, (n,) [N m], sent unless a node is SILENT."""
        states, brake = self.states, self.brake
        if self.state is State.RUNNING:
            if self.requested_law.has_kp and self.desired is None:
                self.reference.hold(state.q)
            law, last = self.requested_law, self.output.last_torque
            desired = self.ramp.torque(law, state, self.desired, last)
        elif self.state in ACTIVE_STATES:
            own = self.disturbances
            excess, elapsed = own.disturbance_torque, states.elapsed
            desired = brake.torque(state, self.acting_terms, excess, elapsed, states.age)
            if brake.failure_reason is not None:
                # A measured torque tells by itself whether what is sent arrives.
                if own.has_effort or own.shows_push(MAX_PUSH_RESIDUAL_RATIO):
                    brake.bear_speed()
                else:
                    self._end_torques(Cause.BRAKING_FAILED.ending(brake.failure_reason))
        elif self.state is State.STOPPING or not self.output.in_loop:
            return self._torque_without_state(now)
        else:
            desired = self._resting_torque(now)
        # While active: a resting torque is finite.
        if not all(map(math.isfinite, desired.tolist())):
            self._end_torques(Cause.TORQUE_NOT_FINITE.ending(ReasonCode.TORQUE_NOT_FINITE()))
        if self.state is State.BRAKING and brake.at_rest:
            holds = self.ending.reaction is Reaction.HOLD
            self._change_state(StateEvent.AT_REST_HELD if holds else StateEvent.AT_REST)
        if self.state is State.STOPPING:
            # What is desired has just ended, and the terms may have changed: the stop has its own.
            return self._stopping_torque(now)
        # At an unusable state, too, a torque was sent.
        torque = self.output.send_torque(desired, now, min(states.elapsed, states.raw_elapsed))
        if self.state is not State.RUNNING:
            brake.record_limited_torque(desired, torque)
        return torque.copy()  # the caller may write into it

    # The torque without a usable state ---------------------------------------------------------
    def _torque_without_state(self, now: float, silence: float = 0.0) -> Array:
        """
        Return the next torque without a usable joint state: stopping, resting or last, (n,) [N m].

        A loop in silence, of `silence` [s], gets the resting torque of where the arm probably is.
        """
        output = self.output
        if output.sent_at - now > self.states.silence_timeout(from_stamps=False):
            output.keep_only_last_torque(now)  # the clock was set back: the rate is by it now
        if self.state is State.STOPPING:
            return self._stopping_torque(now, silence)
        if self.state is State.SILENT and output.in_loop and output.torques:
            return output.send_torque(self._resting_torque(now), now).copy()
        return output.repeat_last_torque()

    def _stopping_torque(self, now: float, silence: float = 0.0) -> Array:
        """
        Send and return the next torque in STOPPING, on the way to the resting torque, (n,) [N m].

        An arm that is not seen is first brought to rest by its model. If the target adds no
        gravity, a moving arm would fall under g(q) of an earlier q; so this lasts while states
        show that the arm moves, or come unusable and it probably moves, as one that got fast; so
        long after the last one, MAX_STATE_GAP_S is 0.05 s.
        """
        arm, terms, output = self.open_loop_stop, self.acting_terms, self.output
        stops = arm.is_stopping and self.ending.reaction not in _UNBRAKED_REACTIONS
        stops = stops and not arm.has_stopped(terms, now)
        goal = resting = self._resting_torque(now)
        if stops:
            goal = arm.stopping_torque(terms, now) + self._borne_disturbance_torque
        if not np.isfinite(goal).all():  # no limit of the arm bounds the velocity seen last
            stops, goal = False, resting
        goal = output.limiter.clip_torque(goal)
        torque = output.send_torque(goal, now)
        probable = None if arm.last_seen is None else arm.probable_state(now)
        moves = probable is not None and np.abs(probable[1]).max() > MAX_STOPPED_SPEED_RAD_S
        goes_on = moves and silence <= MAX_STATE_GAP_S and not terms.adds_gravity
        if np.array_equal(torque, goal) and not (goes_on or stops):
            self._change_state(StateEvent.AT_RESTING_TORQUE)
            output.record_torque_end(probable, now, terms.adds_gravity)
        return torque.copy()

    def _resting_torque(self, now: float) -> Array:
        """Return the resting torque, (n,) [N m]: G plus the disturbance if borne, or zero."""
        torque = self.open_loop_stop.resting_torque(self.acting_terms, now)
        torque = torque + self._borne_disturbance_torque
        if self.ending.reaction is Reaction.COAST:
            torque = np.where(self.disturbances.misdirected_joints, 0.0, torque)
        acts = self.resting_torque_agrees and self.ending.reaction is not Reaction.ZERO
        acts = acts and not self._receiver_carries_arm and all(map(math.isfinite, torque.tolist()))
        return torque if acts else np.zeros_like(torque)

    @property
    def _borne_disturbance_torque(self) -> Array:
        """Disturbance torque to add to the resting torque of an arm at rest, or 0, (n,) [N m]."""
        # Without it, an arm with an undeclared load falls. One that moves may be pushed, and would
        # go on, as who stops it may push it. It was estimated from velocities.
        unknown = not self.brake.bears_load or self.states.velocity_contradicted
        bears = self.brake.is_still and not (unknown or self._receiver_carries_arm)
        return self.brake.disturbance if bears else np.zeros_like(self.brake.disturbance)

    @property
    def _receiver_carries_arm(self) -> bool:
        """Whether the target adds gravity and the arm is not held at rest: resting torque is 0."""
        held = self.ending.reaction is Reaction.HOLD and self.brake.is_still
        return self.acting_terms.adds_gravity and not held

    # 6. Must torques end? ----------------------------------------------------------------------
    def _run_watchers(self, state: StateTerms, refusal_reason: Reason | None) -> None:
        """Brake the arm or end its torques if it is too fast, falls or is disturbed too much."""
        active, elapsed = self.state in ACTIVE_STATES, self.states.elapsed
        watched = self.ending.reaction not in _UNBRAKED_REACTIONS and self.states.trusts_states
        watched = watched and not active
        # An arm that moves before the first torque of a loop falls by the receiver's own gravity
        # torque: the loop's zero torque would not stop it. After a stop and `reset`, by the zero.
        drops = not (self.resting_torque_agrees or self.acting_terms.adds_gravity)
        falls = watched and (self.enabled or drops) and state.is_moving and not self.blocked
        sends = self.state is State.STOPPING or self.output.in_loop
        rests = falls or (self.resting_torque_agrees and not self.acting_terms.adds_gravity)
        carries = self.state is State.RUNNING or (watched and sends and rests)
        if self.state is State.STOPPING and self.brake.at_rest and not self.brake.bears_load:
            # An obstacle's torque goes with what presses the arm against it; that is seen late.
            earlier = [*self.output.torques][-MIN_GOOD_STATE_COUNT:][0]
            self.disturbances.forgive(earlier - self._resting_torque(-math.inf))
        found = [  # in the order of priority; all look
            self.motion_watcher.check_fall(state.q, refusal_reason if falls else None),
            self.disturbances.check_bounds(state, elapsed, active, carries),
            self.motion_watcher.check_speeds(state, elapsed, self.desired) if carries else None,
        ]
        ending = next(filter(None, found), None)
        if ending is not None:
            self.output.counts['faults'] += 1
            unknown = self._prepare_first_torque(state, self.acting_terms, effort_trusted=False)
            if unknown and not self.acting_terms.adds_gravity:
                self.disturbances.reset_at_first_torque(state.stamp)  # of torques not sent
            self._end_torques(ending)
