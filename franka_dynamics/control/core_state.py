# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
State machine of the torque controller, and the terms that describe what it commands.

`core_step.py` says by these words what is commanded when. `ending.py` has the causes that end
torques, TRANSITIONS all changes of the state but that of `reset`, which makes the core SILENT; an
event without a row changes nothing.

Loop, node: a *loop* applies each torque that `step` and `tick` return, in each state. A *node*
  sends nothing in state SILENT: its last torque goes on acting. What names neither is for both.
Usable: a state in which part 1 of `CoreStep.step` finds nothing wrong.
Moves, rests: an arm moves if a joint is faster than 0.02 rad/s. A braked one has come to rest
  once all joints were below 0.04 rad/s in 20 states in a row, or after 1 s.
Latched: a fault. After it, as after each stop but a pause, the law begins only by `start` (after a
  fault without a stop, by `reset`, too), after other endings by itself.
G(q): g(q), the gravity torque with payload, less what the target adds. It is g(q) under targets
  mujoco and gz_ros2_control. Under fci and franka_gazebo it is zero, or what these do not add, as
  of a payload that the robot does not know.

  state      what is commanded
  SILENT     in a loop the resting torque, by a node nothing
  RUNNING    the law: G + scale (C dq + M ddq_d + friction, as `terms` say) + kp (q_d - q)
             + kd (dq_d - dq), and in the first 0.2 s the ramp
  BRAKING    the brake: G + C dq + d - kp (q - q_b) - kd dq - M a, until the arm rests
  HOLDING    the same as in BRAKING, until `start`, a stop, or states are lost (with these d, if
             a light joint without friction swings then)
  STOPPING   the stop by the model: G + C dq - M dq / (0.1 s), of an arm that is not seen; then,
             or at once if the arm rested or is let go, the resting torque. Once this is reached,
             SILENT; but where the target adds no gravity, not while one is seen above 0.04 rad/s.
             An arm that begins to fall later does so in SILENT

Law: q_d, dq_d, ddq_d are those of the motion at the state's stamp, also of a late state. After it
  its last position is held, without a motion that where the law began; if all kp are zero, none:
  G + scale C dq - kd dq.
Ramp: the torque sent last (at a change of settings the old law's) less that of the law; it is
  added to the law's torque, to zero in 0.2 s. If the target adds gravity, after reaction ZERO, or
  in a fall in STOPPING, as after COAST, what the torque sent last lacks of G is not in it: that
  comes by the rate alone. So does, if the target adds none, g(q) of a SILENT loop whose torque,
  not zero, is not yet that of the law's settings and place, as after COAST, a leap, or a change.
Rate: each torque is within the torque limits, and within 1000 N m/s (or the arm's lower rate) of
  the one before, at most 1 N m per state (in a loop of a longer period: per ms of that). Only a
  first torque, and the one after `reset`, may be any step away.
Brake: q_b is where braking began, then where the arm came to rest. Until it rests, q_b moves with
  joints whose torque a limit of torque or rate cuts; it always follows a joint that is pushed more
  than 0.11 rad away. d follows the disturbance torque with a time constant of 0.03 s, but does not
  act along the motion of a joint faster than 0.1 rad/s. At each joint d may reach 10 % of the
  torque limit, or what the disturbance torque was in the first 0.05 s of braking or when the arm
  came to rest; then d bears what kp bore. Where states are lost in RUNNING, d is all of it. M a,
  as far as kd does less, slows each joint with a time constant of 0.03 s and pulls it to q_b, also
  without kp, each at most 30 rad/s^2. Where a limit cuts a torque that slows a joint, dq is the
  velocity that the joint will have once that torque can have ended. With states older than 10 ms
  the time constant is 3 times their age, kp, kd are lowered to it, 0.11 rad grow with its square.
Stop by the model: it takes q and dq as seen last (`core_step.py`), lets dq decay with a time
  constant of 0.1 s, and moves q by this dq. A joint counts as seen for 50 ms.
Resting torque: zero after reaction ZERO, and in a loop until a usable state agrees with g(q). Else
  zero if the target adds gravity, whatever it lacks, but G + d of an arm that is to be held and
  rested when its states were lost. Else g(q) of where the arm is or, unseen, of where the stop by
  the model takes it; and d is added, in that stop, too (under a target that adds gravity only if
  it is to be held), if no joint was faster than 0.04 rad/s when states were lost, under a brake in
  the last 20 or since it began. So it stays with a load that nobody declared, or goes on pressing
  against an obstacle, until `stop` (in a loop, `reset`), as far as d goes; what kp bore beyond, as
  of a load that came in HOLDING, is lost, and it falls with that, as with all of it after a motion
  or a stop.

A reaction says what follows once torques have ended; each cause in `ending.py` has one. If the arm
rests, the last column begins at once, but with RELEASE and HOLD after BRAKING for 20 states:

  reaction        if the arm moves              then
  RELEASE         BRAKING                       the resting torque
  HOLD            BRAKING                       HOLDING, also again after states were lost
  AWAIT           STOPPING by the model; once   the resting torque, until states are usable again:
                  a state is usable, BRAKING    table in `core_step.py`, States are missing
  RESTING_TORQUE  as AWAIT                      as AWAIT, but what was to be held is so no more:
                                                `faulty`, repeating positions
  COAST           STOPPING, not by the model    the resting torque, zero at joints whose torques
                                                then, or later at twice a speed limit, seem wrong,
                                                often at right ones, too (none on brakes, or by
                                                speed unmeasured, or that misses under 20 %);
                                                nothing watches or brakes it until `start`, `reset`
  ZERO            STOPPING, not by the model    zero torque, else as COAST

What ends torques by itself (part 6 of `CoreStep.step`; bounds there, under Torques are wrong):

  what is watched                               when
  torques exchanged, reversed or late: COAST    RUNNING, BRAKING, HOLDING
  a joint that the brake makes faster: COAST    BRAKING, if no torque is measured
  disturbance torques, speeds: HOLD             RUNNING; resting torque g(q) of a loop, and in
                                                STOPPING; one that moves before its first torque
  a fall while torques are refused: HOLD        SILENT, STOPPING, if the law is to begin by itself,
                                                or a loop sends zero (`reset` after a stop, not
                                                TO_ZERO) and the target adds no gravity

So after a plain stop a loop sends g(q) of wherever a person guides the arm, and brakes and holds
an arm that is pushed beyond these bounds; but not where the target adds gravity, nor after COAST
or ZERO.
"""

from collections import deque
from enum import Enum
import logging
import math
import threading
from typing import NamedTuple

import numpy as np

from .control_law import ControlLaw, TorqueRamp
from .disturbance import DisturbanceMonitor
from .ending import Cause, Ending, NO_ENDING, Reaction, Reason, ReasonCode, Remedy
from .state_check import StateCheck
from .stopping import BrakingController, MAX_STOPPED_SPEED_RAD_S, OpenLoopStop
from .terms import StateTerms, TermModel
from .torque_output import TorqueOutput
from .watchers import MotionWatcher, RepeatedPositionCheck
from ..motion.reference import ReferenceFollower
from ..motion.trajectory import ReferencePoint

_LOG = logging.getLogger(__name__)


class State(str, Enum):
    """States of the torque controller, which decide which torque is sent."""

    SILENT = 'silent'  # a node sends nothing, a loop gets the resting torque
    RUNNING = 'running'  # the control law's torque is sent
    BRAKING = 'braking'  # the arm is brought to rest
    HOLDING = 'holding'  # the arm is held at rest until the fault is cleared, or states cease
    STOPPING = 'stopping'  # the torque goes to the resting torque; no joint state is needed


# In these states the control law or the brake answers each joint state.
ACTIVE_STATES = (State.RUNNING, State.BRAKING, State.HOLDING)


# After these the load that the arm bore may be taken off it: it is not borne again.
_REACTIONS_THAT_LET_GO = Reaction.RELEASE, Reaction.COAST, Reaction.ZERO


class StateEvent(str, Enum):
    """Events that change the controller's state, where TRANSITIONS has them; so does `reset`."""

    BEGIN = 'the first torque is allowed, or the fault of a held arm is cleared'
    RELEASE = 'torques end, and the arm is to be braked and let go'
    HOLD = 'the arm is to be braked and held'
    TORQUES_END = 'torques end; an arm that moves is stopped by its model, unless it is let go'
    AT_REST = 'the braked arm is at rest'
    AT_REST_HELD = 'the braked arm is at rest, and is to be held'
    AT_RESTING_TORQUE = 'the resting torque is reached'


TRANSITIONS = {
    (State.SILENT, StateEvent.BEGIN): State.RUNNING,
    (State.SILENT, StateEvent.HOLD): State.BRAKING,
    (State.RUNNING, StateEvent.RELEASE): State.BRAKING,
    (State.RUNNING, StateEvent.HOLD): State.BRAKING,
    (State.RUNNING, StateEvent.TORQUES_END): State.STOPPING,
    (State.BRAKING, StateEvent.AT_REST): State.STOPPING,
    (State.BRAKING, StateEvent.AT_REST_HELD): State.HOLDING,
    (State.BRAKING, StateEvent.TORQUES_END): State.STOPPING,
    (State.HOLDING, StateEvent.BEGIN): State.RUNNING,
    (State.HOLDING, StateEvent.RELEASE): State.STOPPING,
    (State.HOLDING, StateEvent.TORQUES_END): State.STOPPING,
    (State.STOPPING, StateEvent.BEGIN): State.RUNNING,
    (State.STOPPING, StateEvent.RELEASE): State.BRAKING,
    (State.STOPPING, StateEvent.HOLD): State.BRAKING,
    (State.STOPPING, StateEvent.AT_RESTING_TORQUE): State.SILENT,
}


class Stop(Enum):
    """
    Kinds of stop that a user can request; they differ in the torque after them or the remedy.

    LET_GO and PAUSE, which lasts while `blocked`, latch no fault.
    """

    LET_GO = Cause.STOP_REQUESTED
    HOLD = Cause.HOLD_REQUESTED
    TO_ZERO = Cause.WRONG_RECEIVER
    PAUSE = Cause.RECEIVER_PAUSES
    FINAL = Cause.MODEL_CHANGED


class Status(NamedTuple):
    """The controller's state, its reason, the user's remedy, and whether a fault is latched."""

    state: State
    why: str
    remedy: Remedy | str
    faulty: bool

    def __str__(self) -> str:
        """Return state, reason and, if there is one, the remedy as one text."""
        said = self.remedy.value if isinstance(self.remedy, Remedy) else self.remedy
        return f'{self.state.value}: {self.why}' + (said and f'; to command again: {said}')


class StateMachine:
    """
    State machine of the torque controller; it holds the objects that check, compute and send.

    Only its methods change the state. `law` is that of the first settings.
    """

    def __init__(self, output: TorqueOutput, states: StateCheck, law: ControlLaw) -> None:
        arm = law.arm
        self.output, self.states = output, states
        self.requested_law, self.acting_terms = law, law.terms
        self.disturbances = DisturbanceMonitor(arm, states.limits, law.terms)
        self.reference, self.ramp = ReferenceFollower(arm), TorqueRamp()
        self.brake, self.open_loop_stop = BrakingController(arm), OpenLoopStop()
        self.motion_watcher = MotionWatcher(arm, self.disturbances)
        self.repeated_positions = RepeatedPositionCheck(arm)
        self.blocked, self._torques_wanted = '', True  # whether the user wants torques
        self.unreported_endings = deque[Ending](maxlen=100)  # whoever reports them removes them
        self.ending = NO_ENDING
        self._lock = threading.RLock()
        self.resting_torque_agrees = False
        self.reset()

    def reset(self) -> None:
        """
        Discard states, torques, motion and most faults that `start` clears, for reset simulations.

        A fault that only a new object clears and a user's stop stay, after `Stop.TO_ZERO` with
        zero torque. A held arm is let go, also of a load that nobody declared. The next torque may
        be any step away from the last one; a loop's g(q) goes on from its first state, which a
        `tick` before it does not know.
        """
        with self._lock:
            self.reference.clear('reset')
            self.states.reset()
            # A loop's arm must not fall through a reset: its g(q) goes on, if nothing contradicts.
            goes_on = self.resting_torque_agrees and self._bound_violation() is None
            goes_on = goes_on and self.ending.reaction not in (Reaction.ZERO, Reaction.COAST)
            self.state = State.SILENT
            self.latest: StateTerms | None = None
            self.desired: ReferencePoint | None = None  # at the latest state
            final = self.ending.remedy is Remedy.CONFIGURE
            if self._torques_wanted and not final:
                self._record_wait(self.states.problem)
            elif self.ending.reaction is not Reaction.ZERO:
                remedy = Remedy.CONFIGURE if final else Remedy.START
                self.ending = self.ending.with_release(remedy)
            self._silent_state_count = 0  # states while silent though the user wants torques
            # Whether a usable state did not contradict the resting torque; without a measured
            # torque none does, and a node, which sends none before the law begins, needs none.
            self.resting_torque_agrees = goes_on or not self.output.in_loop
            self.open_loop_stop.reset()
            self.brake.begin(0.0 * self.brake.disturbance)
            self.motion_watcher.reset()
            self.output.reset_torques()
            self._use_requested_terms(settings_agree=True)
            self._forget_joint_states()
            self.requested_law.terms.friction.reset()

    def _bound_violation(self) -> Reason | None:
        """Return a reason if disturbances by requested settings exceed `start_bound`, or None."""
        found = self.disturbances
        return found.bound_violation(found.start_bound, self.requested_law.terms)

    def _forget_joint_states(self, now: float = -math.inf) -> None:
        """Forget states but the last position; record the last torque as sent at `now` [s]."""
        self.states.reset_except_position()
        self.repeated_positions.clear()
        self.disturbances.forget_states()
        self.output.keep_only_last_torque(now)

    @property
    def why(self) -> str:
        """Why torques have ended or do not begin; '' while RUNNING."""
        return self.ending.why

    @property
    def status(self) -> Status:
        """The controller's state, its reason, the remedy, and whether a fault is latched."""
        with self._lock:
            load = self.disturbances.load_estimator.load_mass_text()
            why = self.why or 'torques are sent' + (load and f'; {load}')
            return Status(self.state, why, self.ending.remedy, self.faulty)

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
        return self.state is State.SILENT and not (self.enabled or self._must_hold_arm)

    @property
    def _must_hold_arm(self) -> bool:
        """Whether the arm is to be braked and held, and joint states are trusted."""
        return self.ending.reaction is Reaction.HOLD and self.states.trusts_states

    def _record_wait(self, wait_reason: Reason | str | None) -> None:
        """Record why no first torque is sent yet; a pause of the receiver is named before it."""
        paused = self.blocked and self.ending.reaction is Reaction.ZERO
        later = Cause.TORQUE_AWAITED.ending(wait_reason or ReasonCode.STATES_AWAITED())
        joined = self.ending.joined_with(later)._replace(remedy=later.remedy)
        self.ending = joined if paused else later

    def _use_requested_terms(self, *, settings_agree: bool, new_load: bool = False) -> None:
        """
        Use the requested terms if the arm agrees, no torque acts, or a law or brake holds the arm.

        `settings_agree`: the arm agrees with them; `new_load`: the payload has changed.
        The law or the brake takes other settings at once: their torques ramp, or are taken up by
        what holds the arm. Else the arm has to agree with them before they change a torque that
        acts, in a loop or as a node's last one, and is not zero because nothing was compared yet.
        """
        acts = self.resting_torque_agrees and (self.output.in_loop or bool(self.output.torques))
        before, after = self.acting_terms, self.requested_law.terms
        if before is not after and (settings_agree or not acts or self.state in ACTIVE_STATES):
            more = self.disturbances.change_terms(after, self.latest, new_load=new_load)
            self.brake.change_load(more)
            self.acting_terms = after

    def _begin_torques(self, event: StateEvent, state: StateTerms | None = None) -> None:
        """
        Start the law or braking, from the last torque if it still acts, else from a first one.

        `state` is that of an arm to which nothing was sent for a while; None: the brake holds it.
        Under a target that adds gravity, after reaction ZERO, and while the arm moves in STOPPING,
        what the last torque lacks of the part of g(q) that the target does not add is left out of
        the ramp: it comes by the rate alone, because the arm falls without it, or will once its
        brakes open.
        """
        begins_at = None
        if state is not None:
            terms = self.requested_law.terms
            falls = self.state is State.STOPPING and max(abs(state.dq)) > MAX_STOPPED_SPEED_RAD_S
            if self._prepare_first_torque(state, terms) or event is StateEvent.BEGIN:
                self.disturbances.reset_at_first_torque(state.stamp)
            if falls or terms.adds_gravity or self.ending.reaction is Reaction.ZERO:
                last, due = self.output.last_torque, terms.gravity(state.q)
                due = terms.gravity_to_command(state.q, due)
                begins_at = last + due - np.clip(last, *np.sort((0.0 * due, due), 0))
        if event is StateEvent.BEGIN:
            self.motion_watcher.reset()
            self.ramp.begin(begins_at)
            self.reference.clear('torques begin')
            self.ending, self._silent_state_count = NO_ENDING, 0
        self._change_state(event)

    def _prepare_first_torque(
        self, state: StateTerms, terms: TermModel, *, effort_trusted: bool = True
    ) -> bool:
        """
        If no torque acts, set the one at which rate limiting begins; return whether none acted.

        A first torque is zero if the target adds gravity, else the measured torque or, if none is
        measured or it is not `effort_trusted`, g(q).
        """
        output, found = self.output, self.disturbances
        acts = output.last_torque_may_act(state, self.states.arrival_time, terms.adds_gravity)
        unknown = self.state is State.SILENT and not acts
        if unknown:
            output.torques.clear()  # another receiver, or the arm was moved
        if not output.torques:
            gravity, measured = terms.gravity(state.q), effort_trusted and not found.is_effort_idle
            first = found.received_torque if measured else gravity
            output.begin_at_torque(0.0 * gravity if terms.adds_gravity else first)
        return unknown

    def _end_torques(self, new_ending: Ending, *, changes_state: bool = True) -> None:
        """
        End the torques by `new_ending`, joined with the present ending if that must last.

        An ending that waits for `start`, that pauses, or by which the arm is braked or held, is
        joined with a later one. `changes_state`: the state changes, too.
        """
        pauses = self.ending.reaction is Reaction.ZERO
        lasts = not self.enabled or pauses or self.state in (State.BRAKING, State.HOLDING)
        self.ending = self.ending.joined_with(new_ending) if lasts else new_ending
        if changes_state:
            events = {Reaction.RELEASE: StateEvent.RELEASE, Reaction.HOLD: StateEvent.HOLD}
            then = Reaction.ZERO if pauses else new_ending.reaction
            self._change_state(events.get(then, StateEvent.TORQUES_END))
        brake, lets_go = self.brake, self.ending.reaction in _REACTIONS_THAT_LET_GO
        brake.bears_load = not lets_go and (brake.bears_load or self.state in ACTIVE_STATES)

    def _change_state(self, event: StateEvent) -> None:
        """Change and log the state by an event, if TRANSITIONS has it; prepare the brake."""
        before = self.state
        if (before, event) not in TRANSITIONS:
            return
        self.state = TRANSITIONS[before, event]
        self.resting_torque_agrees = self.resting_torque_agrees or self.state in ACTIVE_STATES
        self._use_requested_terms(settings_agree=False)
        if before is State.RUNNING:
            self.unreported_endings.append(self.ending)
            self.reference.clear(self.ending)
        # An arm whose positions repeat seems to rest, and what drives it seems a load.
        seen, stuck = self.open_loop_stop.last_seen, self.repeated_positions.stuck_joints.any()
        speed = np.inf if seen is None or stuck else np.abs(seen[1]).max()
        own, is_still = self.disturbances, bool(speed < MAX_STOPPED_SPEED_RAD_S)
        if self.state is State.BRAKING:
            gains, swings = (self.requested_law.kp, self.requested_law.kd), own.is_torque_swinging
            torque = own.disturbance_torque
            self.brake.begin(torque, gains, torque_swings=swings, is_still=is_still)
            self.brake.bears_load = self.ending.reaction not in _REACTIONS_THAT_LET_GO
        elif self.state is State.STOPPING and before is State.RUNNING:
            self.brake.begin(own.disturbance_torque, is_still=is_still)
        calm = self.state in (State.RUNNING, State.SILENT)
        _LOG.log(logging.INFO if calm else logging.WARNING, '%s', self.status)
