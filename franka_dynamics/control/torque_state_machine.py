# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The controller's state, the torque that is commanded in it, and what a change of it brings.

`core_step.py` tells what each state commands and decides when states change; `core_state.py` has
the table of transitions.
"""

from collections import deque
import logging
import math
import threading

import numpy as np

from .control_law import ControlLaw, TorqueRamp
from .core_state import ACTIVE_STATES, State, StateEvent, Status, TRANSITIONS
from .core_table import Cause, Reaction, Remedy
from .disturbance import DisturbanceMonitor
from .ending import Ending, ending_by, NO_ENDING, Reason, ReasonCode
from .speed_watcher import SpeedWatcher
from .state_check import StateCheck
from .state_input import is_finite
from .state_timing import MIN_GOOD_STATE_COUNT
from .stopping import BrakingController, OpenLoopStop
from .terms import Desired, StateTerms, TermModel
from .torque_output import TorqueOutput
from ..arrays import Array
from ..motion.reference import ReferenceFollower

# After so many states without a first torque the log says why, once.
WAIT_WARNING_STATE_COUNT = 10 * MIN_GOOD_STATE_COUNT

_LOG = logging.getLogger(__name__)


class TorqueStateMachine:
    """
    Holds the controller's state and why torques ended, and sends the torque of that state.

    `law` is that of the first settings.
    """

    def __init__(self, output: TorqueOutput, states: StateCheck, law: ControlLaw) -> None:
        arm = law.arm
        self.output = output
        self.states = states
        self.requested_law = law  # of the latest settings
        self._law = law  # by which torques go out
        self.disturbances = DisturbanceMonitor(arm, states.limits, law.terms)
        self.speed_watcher = SpeedWatcher(arm)
        self.reference = ReferenceFollower(arm)
        self.ramp = TorqueRamp()
        self.brake = BrakingController(arm)
        self.open_loop_stop = OpenLoopStop()
        self.state = State.SILENT
        self.ending = NO_ENDING  # what ended torques, or keeps them from beginning
        self.unreported_endings = deque[Ending](maxlen=100)  # whoever reports them removes them
        self.settings_agree = False  # whether a usable state has agreed with the settings
        self.latest: StateTerms | None = None  # None if a value of it is impossible
        self.desired: Desired | None = None  # at the latest state
        self.blocked = ''
        self._is_stop_requested = False  # by the user, and no `start` since
        self._waiting_state_count = 0  # how often no torque began since the last one ended
        self._zero = np.zeros(arm.n)
        self._lock = threading.RLock()

    def reset(self) -> None:
        """
        Forget states, torques, motion and faults, for reset simulations; a user's stop stays.

        The next torque may be any step away from the last one.
        """
        with self._lock:
            is_final = self.ending.remedy is Remedy.CONFIGURE
            if not is_final and self.ending.reaction is not Reaction.ZERO:
                self.ending = self._ending_after_reset()
            self.state = State.SILENT
            self._waiting_state_count = 0
            self.latest = None
            self.desired = None
            self.states.reset()
            self.disturbances.forget_states()
            self.speed_watcher.reset()
            self.reference.clear('reset')
            self.open_loop_stop.reset()
            self.output.reset_torques()
            self.acting_terms.friction.reset()

    def _ending_after_reset(self) -> Ending:
        """Return the ending that a reset leaves: a stop, or the wait for a first torque."""
        if not self._is_stop_requested:
            return ending_by(Cause.TORQUE_AWAITED, ReasonCode.NO_STATE())
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

    # Changes of the state -----------------------------------------------------------------------
    def _record_wait(self, why: Reason | str | None) -> None:
        """Record why no first torque is sent yet; a pause of the receiver is named before it."""
        wait = ending_by(Cause.TORQUE_AWAITED, why or ReasonCode.STATES_AWAITED())
        if self.blocked and self.ending.reaction is Reaction.ZERO:
            self.ending = self.ending.joined_with(wait)._replace(remedy=wait.remedy)
        else:
            self.ending = wait
        self._waiting_state_count += 1
        if self._waiting_state_count == WAIT_WARNING_STATE_COUNT:
            _LOG.warning('%s', self.status)

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
        # Where the arm was seen last, not where its model has taken it since: hence no time.
        self.output.begin_at_torque(self._resting_torque(-math.inf))
        self._change_state(StateEvent.BRAKE)

    def _end(self, new: Ending) -> None:
        """End the torques by an ending, joined with the present one if that must last."""
        self.output.counts['faults'] += int(new.remedy.is_fault)
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

    # The torque of each state -------------------------------------------------------------------
    def _active_torque(self, state: StateTerms, now: float) -> Array:
        """Send the torque of the law or of the brake at a usable state, (n,) [N m]; return it."""
        elapsed = self.states.elapsed
        if self.state is State.RUNNING:
            desired = self._law_torque(state)
        else:
            desired = self._braking_torque(state, elapsed)
        if not is_finite(desired):
            self._end(ending_by(Cause.TORQUE_NOT_FINITE, ReasonCode.TORQUE_NOT_FINITE()))
        if self.state not in ACTIVE_STATES:  # the torque has ended torques
            return self._torque_without_state(now)
        torque = self.output.send_torque(desired, now, elapsed)
        self.brake.record_limited_torque(desired, torque)
        return torque

    def _law_torque(self, state: StateTerms) -> Array:
        """Return the torque of the law, (n,) [N m]; without a motion kp holds the arm here."""
        if self._law.has_kp and self.desired is None:
            self.reference.hold(state.q)
        return self.ramp.torque(self._law, state, self.desired, self.output.last_torque)

    def _braking_torque(self, state: StateTerms, elapsed: float) -> Array:
        """Return the torque that brakes or holds the arm, (n,) [N m]; note where that ends."""
        excess = self.disturbances.disturbance_torque
        age = self.states.age
        torque = self.brake.torque(state, self.acting_terms, excess, elapsed, age)
        if self.brake.failure_reason is not None:
            self._end(ending_by(Cause.BRAKING_FAILED, self.brake.failure_reason))
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
            return self.output.send_torque(torque if is_finite(torque) else resting_torque, now)
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
        return torque if is_finite(torque) else self._zero

    def _gravity_to_command(self, state: StateTerms) -> Array:
        """Return what the acting law sends of g(q) at a state, (n,) [N m]."""
        return self.acting_terms.gravity_to_command(state.q, state.gravity)
