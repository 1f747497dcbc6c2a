# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Computes torques from joint state, reference and settings: the part of the node without ROS.

A FeedforwardController takes joint states and returns terms and commands. Only the
FeedforwardController decides whether a torque may be published.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .braking import Braking, REST_SPEED, resting_torque
from .control_law import ControlLaw
from .cycle_result import COMMANDING, ControllerStatus, Counters, CycleResult, Mode
from .fault_latch import ClearedBy, FaultLatch
from .guard import FirstTorque, Guard, GuardLimits
from .limits import all_finite, CommandOutput, LimitedTorque
from .oscillation import MOST_PHASE, OscillationWatch
from .possible_motion import Condition
from .reference import Reference
from .running_crosscheck import RunningCrosscheck
from .settings import Settings
from .supervision import Observation, StateSupervisor, SupervisionLimits
from .terms import StateTerms, TermModel
from .trajectory import ReferencePoint, Trajectory
from ..arm import ArmDescription
from ..errors import ReferenceRefusedError, SettingsError
from ..typing import Array
from ..urdf.source import described

# If a joint moves by more than _MOVED_SINCE [rad or m] after a stop sequence, the last torque of
# the sequence no longer holds the arm.
_MOVED_SINCE = 0.1


# A stiffness kp that acts with a delay T reduces the damping by kp T. _FRICTION_DAMPING is the
# damping by joint friction [N m s/rad] (MuJoCo Menagerie, franka_fr3).
_FRICTION_DAMPING = 0.2
_MOST_LOAD_KG = 6.0  # largest undeclared load carried after a stop sequence
# A measured effort beyond _MOST_EFFORT times the torque limit is not in N m.
_MOST_EFFORT = 10.0


# Conditions that show a faulty sensor or driver, or two publishers. Each _LATCHING condition
# latches a fault while torques are commanded.
_LATCHING = frozenset(
    {
        Condition.NOT_FINITE,
        Condition.OUT_OF_RANGE,
        Condition.JUMPED,
        Condition.CONTRADICTORY,
        Condition.INTERLEAVED,
    }
)


# Conditions of joint states with which an arm can be braked; TOO_SLOW allows no other command.
_BRAKING = frozenset({Condition.TRUSTED, Condition.TOO_SLOW})


class FeedforwardController:
    """
    Computes feedforward torques for one arm, and stops the arm when a check fails.

    The node calls `update` for each state, publishes the command, then calls `update_monitors`. In
    mode STOPPING the node calls `stop_step` until the result is None. Another thread calls
    `check_models`.

    `description` is the arm (or its name or file) without the settings' payload, `settings` the
    live parameters to begin with. `held_until_commanded` says whether the receiver holds the arm
    until the first command. Without a `crosscheck` the controller does not compare its model with
    the Newton-Euler model.

    Raises
    ------
    DescriptionError
        If `description` is neither an arm nor the name or file of one.
    SettingsError
        If the settings cannot be used on this arm.

    """

    def __init__(
        self,
        description: ArmDescription | str | Path,
        settings: Settings | None = None,
        supervision: SupervisionLimits | None = None,
        *,
        crosscheck: RunningCrosscheck | None = None,
        held_until_commanded: bool = False,
        guard: GuardLimits | None = None,
    ) -> None:
        supervision = supervision or SupervisionLimits()
        description = described(description)
        self.description = description
        self.supervisor = StateSupervisor(description, supervision)
        self.reference = Reference(description)
        self.counters = Counters(largest_share=np.zeros(description.n))
        self.faults = FaultLatch(supervision.max_restarts)
        self.mode = Mode.SILENT
        self.stop_reason = ''
        self.enabled = False
        self._effort = description.limit('effort')
        self._most_effort = _MOST_EFFORT * self._effort
        self.output = CommandOutput(self._effort, description.limit('effort_rate'))
        self._braking = Braking(description)
        self._zero = np.zeros(description.n)
        self._age = 0.0  # age of the latest state [s]
        # The latest state with its effort, command and desired velocity, until the guard judges
        # the state.
        self._unjudged: (
            tuple[StateTerms, Array | None, LimitedTorque | None, Array | None] | None
        ) = None
        # Stamp [s], positions and velocities, shape (n,), of the last valid joint state.
        self.latest: tuple[float, Array, Array] | None = None
        self._arrival = 0.0
        self._stop_goal = self._zero
        self._stopped_by_state = False
        self._rest_position: Array | None = None  # where the last stop sequence began
        # Whether the last published torque may still act, and the arm has hardly moved since the
        # stop.
        self._last_torque_acts = False
        self.crosscheck = crosscheck or RunningCrosscheck(0.0, 0.0)
        self._held_until_commanded = held_until_commanded
        self._swings = OscillationWatch(self._effort)
        self._feedback: Array | None = None  # feedback torque in the last command [N m]
        # Torque law and reference before a change, from whose torque the next command ramps.
        self._before_change: tuple[ControlLaw, Trajectory | None] | None = None
        self._first_torque = FirstTorque.NOT_YET
        self._waits_for = ''  # why no first torque is allowed yet
        self.law = self.prepare(settings or Settings())  # the torque law in use
        self.guard = Guard(self.law.terms, guard)

    @property
    def settings(self) -> Settings:
        """The live parameters in use."""
        return self.law.settings

    @property
    def terms(self) -> TermModel:
        """The model of the torque terms in use."""
        return self.law.terms

    @property
    def holding(self) -> bool:
        """Whether torques hold the arm at rest after a fault."""
        return self.mode is Mode.BRAKING and self._braking.holds and self._braking.at_rest

    @property
    def waits_for(self) -> str:
        """Why guard or gains refuse a first torque; '' also while states are too few to tell."""
        return self._waits_for if self.mode is Mode.SILENT and self.enabled else ''

    def unstable_gains(self, law: ControlLaw | None = None) -> str:
        """Return why the gains of `law` (default: law in use) make the arm oscillate, else ''."""
        law = law or self.law
        half_period = 0.5 * self.supervisor.period
        late = max(half_period, self.supervisor.typical_age) + half_period
        undamped = np.flatnonzero(law.kp * late > law.kd + _FRICTION_DAMPING)
        if undamped.size:
            joint = int(undamped[0])
            return (
                f'kp of {self.description.joint_names[joint]} is {law.kp[joint]:g} and its kd '
                f'{law.kd[joint]:g}, and torques are {1e3 * late:.1f} ms late: the arm would '
                f'oscillate; use a kd of at least {law.kp[joint] * late:.2g}'
            )
        if not law.damping_rate * late > MOST_PHASE:
            return ''
        return (
            f'kd makes velocities decay at {law.damping_rate:.0f} 1/s, and torques are '
            f'{1e3 * late:.1f} ms late: the arm would oscillate; use at most '
            f'{MOST_PHASE / (law.damping_rate * late):.2g} of this kd, or send states faster'
        )

    # Settings ----------------------------------------------------------------------------------

    def prepare(self, settings: Settings) -> ControlLaw:
        """
        Return the control law of `settings` without using it yet; takes a millisecond.

        Raises
        ------
        SettingsError
            If `settings` cannot be used on this arm, if the gains would make the arm oscillate, or
            if the target changes while the controller is enabled or not yet silent.

        """
        in_use = self.enabled or self.mode is not Mode.SILENT
        if in_use and settings.target != self.settings.target:
            raise SettingsError(
                f'target is {self.settings.target} and cannot become {settings.target} while the '
                'node is active: who carries the arm is decided before the first torque. '
                'Deactivate it, set target, and activate it again.'
            )
        law = ControlLaw(self.description, settings)
        swings = self.unstable_gains(law)
        if swings:
            raise SettingsError(f'{swings}.')
        return law

    def use(self, law: ControlLaw) -> None:
        """
        Use all live parameters of `law` from the next cycle on.

        The command ramps from the torque of the old law to the torque of `law` within `ramp_time`.
        """
        self._run_guard()
        self._note_change()
        before, self.law = self.law, law
        self.guard.use(law.terms)
        if law.settings.target != before.settings.target:
            # The guard's observations under the old target do not apply to the first torque under
            # the new target.
            self._last_torque_acts = False
            self.guard.restart()
        if law.has_gains != before.has_gains:
            # Without gains a person may guide the arm away from the held position.
            self.reference.hold(None)

    def apply(self, settings: Settings) -> None:
        """Use other live parameters; if `prepare` raises, the present live parameters stay."""
        self.use(self.prepare(settings))

    # One cycle ---------------------------------------------------------------------------------

    def reset(self) -> None:
        """Restart supervision and guard as if no joint state had come yet."""
        self.supervisor.reset()
        self._unjudged = None
        self.guard.restart()
        if self.output.last is not None and self._last_torque_acts:
            self.guard.commanded(self.output.last)

    @property
    def ready(self) -> bool:
        """Whether no fault is latched, and a torque is allowed or the last one may still act."""
        return not self.fault and (
            self._last_torque_acts or self._may_begin()[0] is not FirstTorque.NOT_YET
        )

    def update(
        self,
        stamp: float,
        q: Array,
        dq: Array,
        arrival: float,
        *,
        effort: Array | None = None,
        age: float | None = None,
    ) -> CycleResult:
        """
        Take one joint state; return its terms and, if a torque may be published, the command.

        `effort` is the measured torque, shape (n,) [N m], None if the driver gives none; the other
        parameters are those of StateSupervisor.observe. The controller keeps the arrays; the
        caller must not change them afterwards.
        """
        self._arrival = arrival
        self._run_guard()  # for the previous state, if update_monitors was not called
        finite = effort is None or all_finite(effort)
        if effort is not None and not finite and np.isnan(effort).all():
            effort, finite = None, True  # hardware without an effort interface gives NaN
        if effort is not None and not (finite and (np.abs(effort) <= self._most_effort).all()):
            return CycleResult(self.reject(*self._wrong_effort(effort)))
        observation = self.supervisor.observe(stamp, q, dq, arrival, age)
        if not observation.valid:
            self._follow_up(observation)
            return CycleResult(observation)
        self.latest = (stamp, q, dq)
        terms = self.law.terms
        if terms.friction is not None:
            terms.friction.follow(stamp, q)
        counted = age is not None and self.supervisor.limits.max_state_age > 0.0
        self._age = max(age, 0.0) if counted and age is not None else 0.0
        self._forget_if_moved(q)
        reference = self.reference.at(stamp) if observation.trusted else None
        state = terms.at(stamp, q, dq, None if reference is None else reference.ddq)
        limited = None
        if self._follow_up(observation):
            if reference is not None and self.mode is Mode.RUNNING:
                deviation = self.law.astray(q, reference.q)
                if deviation:
                    self.latch_fault(deviation, ClearedBy.ACKNOWLEDGEMENT)
            limited = self._command(state, reference)
        desired = None if reference is None else reference.dq
        self._unjudged = state, effort, limited, desired
        return CycleResult(observation, state, limited)

    def _wrong_effort(self, effort: Array) -> tuple[Condition, str]:
        """Return condition and message for efforts that are not finite or beyond _MOST_EFFORT."""
        finite = np.isfinite(effort)
        wrong = ~finite if not finite.all() else np.abs(effort) / self._effort
        joint = int(wrong.argmax())
        said = f'{self.description.joint_names[joint]} has a measured effort of'
        if not finite.all():
            return Condition.NOT_FINITE, f'{said} {effort[joint]}; check its driver'
        return Condition.OUT_OF_RANGE, (
            f'{said} {effort[joint]:.3g} N m, and its limit is {self._effort[joint]:g}; check the '
            'unit in which its driver gives efforts'
        )

    def _run_guard(self) -> None:
        """Let the guard judge the last joint state, unless already judged."""
        if self._unjudged is None:
            return
        (state, effort, limited, desired), self._unjudged = self._unjudged, None
        self.guard.observe(state, effort, age=self._age)
        if limited is not None:
            self.guard.commanded(limited.torque)
        if self.mode is Mode.RUNNING:
            wrong = self.guard.judge(desired)
            if wrong:
                self.latch_fault(wrong, ClearedBy.ACKNOWLEDGEMENT)

    def update_monitors(self, cycle: CycleResult) -> None:
        """
        Run the checks that can wait until the cycle's command is published.

        The checks are the guard and the detection of oscillation, which latch faults.
        `update_monitors` also counts the command and stores the state for the cross-check.
        """
        self._run_guard()
        if cycle.state is None:
            return
        if cycle.limited is not None:
            self.counters.count(cycle.limited, self._effort)
            feedback, self._feedback = self._feedback, None
            joint = None if feedback is None else self._swings.add(cycle.state.stamp, feedback)
            if joint is not None:
                self.latch_fault(
                    f'{self.description.joint_names[joint]} oscillates under kp and kd; '
                    'reduce them, or the delay of the torques',
                    ClearedBy.ACKNOWLEDGEMENT,
                )
        self.crosscheck.offer(cycle.state, self.terms)

    def check_models(self, lock: AbstractContextManager[Any]) -> None:
        """
        Compare the node's model with the Newton-Euler model at a newly stored state.

        Call `check_models` from another thread than `update`. `check_models` takes `lock` only to
        latch a fault if the models differ; `update` must be called with `lock` held.
        """
        failure = self.crosscheck.run()
        if failure:
            with lock:
                self.latch_fault(failure, ClearedBy.CONFIGURATION)

    # References --------------------------------------------------------------------------------

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
        Follow a trajectory, a chunk or a set-point from any thread; return the motion.

        The parameters, and the errors raised, are those of `Reference.follow`. If joint states
        come too slowly for commands, a trajectory is planned but not followed, which its events
        say: perhaps another controller follows it, with the torques of ~/feedforward_trajectory.
        Raises ReferenceRefusedError if no torque is commanded.
        """
        if self.latest is None:
            raise ReferenceRefusedError(
                'The reference came before any joint state; wait until the arm publishes its '
                'state.'
            )
        stamp, measured, _ = self.latest
        status = self.status()
        if status.mode is not Mode.RUNNING:
            if self.supervisor.condition is not Condition.TOO_SLOW or times is None:
                raise ReferenceRefusedError(
                    'No torque is being commanded, so nothing would follow the reference '
                    f'({status}). Send it again once torques are commanded.'
                )
            beside = Reference(self.description)
            beside.at(stamp)
            planned = beside.follow(q, times, dq, ddq, start=start, measured=measured)
            reason = f'torques were added to it, but it is not followed here: {status.reason}'
            self.reference.pass_by(planned, stamp, reason, mark)
            return planned
        if not self.law.has_gains:
            self.reference.hold(None)  # a person may have guided the arm away
        if times is None and dq is not None and not self.reference.active:
            self._note_change()  # a set-point with velocity may begin with a step of torque
        return self.reference.follow(q, times, dq, ddq, start=start, mark=mark, measured=measured)

    def refuse_reference(self, reason: str, mark: str = '') -> None:
        """Add the event of a refused reference."""
        stamp = 0.0 if self.latest is None else self.latest[0]
        self.reference.refuse(stamp, reason, mark)

    def _note_change(self) -> None:
        """Remember torque law and reference before a change, for a ramp from their torque."""
        if self.mode is Mode.RUNNING and self._before_change is None:
            self._before_change = self.law, self.reference.motion

    def _torque_before(self, state: StateTerms) -> Array | None:
        """Return the torque of law and reference before a change, once; None without a change."""
        if self._before_change is None:
            return None
        law, motion = self._before_change
        self._before_change = None
        reference = None if motion is None else motion.at(state.stamp)
        ddq = None if reference is None else reference.ddq
        return law.torque(law.terms.at(state.stamp, state.q, state.dq, ddq), reference)[1]

    # Start, stop and faults --------------------------------------------------------------------

    @property
    def fault(self) -> str:
        """The latched fault, or ''."""
        return self.faults.reason

    def status(self) -> ControllerStatus:
        """Return the mode, why the mode is so, and what makes the controller command again."""
        fault, supervisor = self.faults.reason, self.supervisor
        if fault:
            return ControllerStatus(self.mode, fault, self.faults.cleared_by, True)
        if self.mode is Mode.RUNNING:
            return ControllerStatus(self.mode, COMMANDING, '', False)
        if self.waits_for and supervisor.condition is Condition.TRUSTED:
            reason = f'no torque yet: {self.waits_for}'
            return ControllerStatus(self.mode, reason, 'correct what it names', False)
        if not self.enabled:
            reason = self.stop_reason or 'not activated'
            return ControllerStatus(self.mode, reason, 'activate the node', False)
        present = f'{supervisor.condition.value}: {supervisor.reason}'
        # After the stop sequence the status says what keeps the controller silent now, which may
        # differ from what stopped the controller.
        stopping = self.mode is not Mode.SILENT or supervisor.condition is Condition.TRUSTED
        reason = (self.stop_reason if stopping else '') or present
        return ControllerStatus(self.mode, reason, 'wait until the states are trusted', False)

    @property
    def stop_ends(self) -> str:
        """Log message about the torque at which the last stop sequence ended."""
        if not self._stop_goal.any():
            return 'the stop sequence has ended at zero torque'
        return (
            'the stop sequence has ended at the torque that held the arm, which fits it only '
            'where it stands now. While it is applied the arm drifts, and may then fall: brake '
            'it, activate the node again, or let the receiver time out'
        )

    def enable(self) -> None:
        """Allow commands; reset the counters, and clear the faults that ACTIVATION clears."""
        self.enabled = True
        if self.mode is Mode.SILENT:
            self.stop_reason = ''
        self.faults.activated()
        self._stopped_by_state = False
        self.counters = Counters(largest_share=np.zeros(self.description.n))
        self.guard.largest = np.zeros(self.description.n)

    def refuse_activation(self, reason: str) -> None:
        """Let `status` say why the controller was not enabled, until it is enabled."""
        self.stop_reason = f'not activated: {reason}'

    def disable(self, reason: str, *, brake: bool = True) -> None:
        """Stop commanding or holding the arm; commanding begins again only after `enable`."""
        self.enabled = False
        self._braking.release()
        self.stop(reason, brake=brake)

    def stop(self, reason: str, *, brake: bool = True, hold: bool = False) -> None:
        """
        Stop commanding: brake a moving arm, then begin the stop sequence.

        `update` brakes, as long as joint states are trusted or only too slow; `stop_step` returns
        the torques of the stop sequence, which ends at the torque of `_resting_torque`. `reason`
        is for log and diagnostics. If `brake` is False, the stop sequence begins at once. With
        `hold` an arm at rest is braked too; the braked arm is held until the fault is cleared, the
        controller is disabled or braking is impossible.
        """
        if self.mode is Mode.RUNNING and self.latest is not None:
            self.reference.clear(self.latest[0], reason)
        if self.mode is Mode.RUNNING and self.output.last is None:
            self.mode = Mode.SILENT  # nothing was published, so nothing is ramped down
        elif self.mode is Mode.RUNNING:
            self.stop_reason = reason
            self.counters.stops += 1
            self._braking.begin(self.guard.command_residual, hold=hold)
            self.guard.end()
            if brake and self._is_trusted() and (hold or self._moves()):
                self.mode = Mode.BRAKING
            else:
                self._begin_stop_sequence()
        elif self.mode is Mode.BRAKING and not (brake and self._is_trusted()):
            self.stop_reason += f'; not braked to rest: {reason}'
            self._begin_stop_sequence()

    def latch_fault(self, reason: str, until: ClearedBy) -> None:
        """
        Latch a fault: brake, and follow no reference until the fault is cleared as `until` says.

        If acknowledgement clears the fault, the arm is held at rest until the acknowledgement, as
        long as joint states are trusted and braking does not fail. After a fault that
        acknowledgement does not clear, the stop sequence follows the braking.
        """
        self.faults.latch(reason, until)
        hold = until <= ClearedBy.ACKNOWLEDGEMENT
        if not hold:
            self._braking.release()  # also if an earlier fault holds the arm
        self.stop(reason, hold=hold)

    def clear_fault(self) -> tuple[bool, str]:
        """
        Acknowledge the latched fault; return whether no fault remains, and a sentence.

        The fault stays if acknowledgement does not clear it, while the arm is braked before a
        hold, or while the model does not explain the torque that holds the arm: the arm might fall
        or push again.
        """
        if self.fault and self.mode is Mode.BRAKING and self._braking.holds:
            if not self.holding:
                return False, 'not cleared: the arm is still being braked; try again'
            wrong = self.guard.unexplained()
            if wrong:
                return False, (
                    f'not cleared: {wrong}; if that cannot be changed while the arm is held, '
                    'deactivate the node'
                )
        return self.faults.acknowledge()

    def stop_step(self, elapsed: float) -> Array | None:
        """
        Return the next torque of the stop sequence, (n,) [N m]; None if no stop sequence runs.

        `elapsed` is the time since the last published torque [s], by any clock. When the sequence
        has ended, the mode becomes SILENT.
        """
        self._run_guard()
        if self.mode is not Mode.STOPPING:
            return None
        if self.output.last is None or np.array_equal(self.output.last, self._stop_goal):
            self.mode = Mode.SILENT
            return None
        torque = self.output.step(self._stop_goal, elapsed)
        self.guard.commanded(torque)
        return torque

    def _begin_stop_sequence(self) -> None:
        self._stop_goal = self.output.clipped(self._resting_torque())
        self._rest_position = self.latest[1] if self.latest is not None else None
        self._last_torque_acts = self.latest is not None
        self.mode = Mode.STOPPING

    def _resting_torque(self) -> Array:
        """Return the torque at which to end the stop sequence now, shape (n,) [N m]."""
        if self.latest is None:
            return self._zero
        q, terms = self.latest[1], self.law.terms
        if terms.adds_gravity and not self._braking.after_fault:
            return self._zero  # the target carries the arm
        gravity = terms.gravity(q)
        ours = self.law.gravity(q, gravity)
        residual = (
            self._braking.residual if self.mode is Mode.BRAKING else self.guard.command_residual
        )
        return resting_torque(
            terms.gravity_to_command(q, gravity) + residual,
            ours,
            (self._zero, gravity),
            # A target that carries the arm gets no torque for an undeclared load, because a person
            # who leans on the arm causes the same residual. For a target that does not carry the
            # arm, the undeclared load is negative if the arm lacks the declared payload.
            None if terms.adds_gravity else (-self.settings.payload[0], _MOST_LOAD_KG),
            -terms.true.jacobian(q)[:3].T @ terms.true.model.gravity.linear,
            self._effort,
        )

    def _is_trusted(self) -> bool:
        return self.latest is not None and self.supervisor.condition in _BRAKING

    def _moves(self) -> bool:
        return self.latest is not None and bool(np.abs(self.latest[2]).max() > REST_SPEED)

    def _state_fault(self, condition: Condition, reason: str) -> None:
        """Stop; while commanding, a _LATCHING condition latches a fault, others count as stops."""
        commanding = self.mode in (Mode.RUNNING, Mode.BRAKING) and self.output.last is not None
        self.stop(reason)
        if condition in _LATCHING - {Condition.NOT_FINITE}:
            self._braking.release()  # the arm may run away, or its measurement is wrong
        if commanding and condition in _LATCHING:
            self.faults.latch(reason, ClearedBy.ACKNOWLEDGEMENT)
        elif commanding:
            self._stopped_by_state = True
            self.faults.note_stop(reason, self._arrival)

    # States at fault, changes of mode -----------------------------------------------------------

    def reject(self, condition: Condition, reason: str) -> Observation:
        """Count a joint-state message as invalid, and stop if commanding; return the verdict."""
        observation = self.supervisor.reject(condition, reason)
        self._follow_up(observation)
        return observation

    def check_silence(self, now: float, simulated: float | None = None) -> None:
        """Stop if joint states have ceased; parameters as in StateSupervisor.check_silence."""
        self._arrival = max(self._arrival, now)
        if self.supervisor.check_silence(now, simulated) is Condition.STALE:
            self._state_fault(Condition.STALE, self.supervisor.reason)

    def _follow_up(self, observation: Observation) -> bool:
        """Set the mode by the condition of the states; return whether to compute a command."""
        condition = observation.condition
        if not observation.valid and condition in (Condition.TRUSTED, Condition.ACQUIRING):
            return False  # a repeated or late message is no fault
        if condition is not Condition.TRUSTED:
            if not (self.mode is Mode.BRAKING and condition is Condition.TOO_SLOW):
                self._state_fault(condition, f'{condition.value}: {observation.reason}')
            return self.mode is Mode.BRAKING and observation.valid
        if self.fault and self._braking.holds and self.mode in (Mode.STOPPING, Mode.SILENT):
            # Joint states were not trusted for a while, which interrupted the hold.
            self._braking.begin(self._braking.residual, hold=True)
            self.mode, self.stop_reason = Mode.BRAKING, self.fault
        if self.enabled and self.mode is not Mode.RUNNING and not self.fault:
            if self.holding:
                self._begin(held=True)
            elif self.mode is Mode.SILENT:
                self._first_torque, self._waits_for = self._may_begin()
                if self._first_torque is not FirstTorque.NOT_YET:
                    self._begin()
        return self.mode in (Mode.RUNNING, Mode.BRAKING)

    def _may_begin(self) -> tuple[FirstTorque, str]:
        """Return how commanding may begin; for NOT_YET also the reason, if known."""
        if self._last_torque_acts and self._moves():
            # The last torque acts on a moving arm: commanding begins, so that the guard judges the
            # motion, and the arm is braked if it departs from the model.
            return FirstTorque.RAMPED, ''
        swings = self.unstable_gains()
        if swings:
            return FirstTorque.NOT_YET, swings
        return self.guard.first_torque(
            braked_until_commanded=self.settings.profile.braked_until_commanded,
            held_until_commanded=self._held_until_commanded,
        )

    def _begin(self, *, held: bool = False) -> None:
        """Start commanding; `held`: torques hold the arm, so its mechanical brakes are open."""
        self.mode, self.stop_reason = Mode.RUNNING, ''
        self.faults.restarts += self._stopped_by_state
        self._stopped_by_state = False
        at_once = self._first_torque is FirstTorque.AT_ONCE
        if at_once and self.guard.idle and not (held or self._last_torque_acts):
            # AT_ONCE while the measured torques are zero, or none is measured, means that the arm
            # is braked or falls, so no receiver applies the last torque any more.
            self.output.last = None
        self.output.blend_requested = True
        self._braking.release()
        self._before_change = None
        self._swings.restart()
        self.reference.clear()
        if self.latest is not None:
            self.guard.begin(self.latest[0], self.latest[1], moved=held)

    def _forget_if_moved(self, q: Array) -> None:
        """Restart the guard if a joint left the place of the last stop by over _MOVED_SINCE."""
        if (
            self.mode is Mode.SILENT
            and self._rest_position is not None
            and self._last_torque_acts
            and np.abs(q - self._rest_position).max() > _MOVED_SINCE
        ):
            # `output.last` is kept: a receiver without a time-out may still apply the last torque,
            # so the next command starts from the last torque, within the rate limit.
            self._last_torque_acts = False
            self.guard.restart()

    def _command(
        self, state: StateTerms, reference: ReferencePoint | None
    ) -> LimitedTorque | None:
        law, stamp, q = self.law, state.stamp, state.q
        if self.mode is Mode.BRAKING:
            braking, residual = self._braking, self.guard.command_residual
            brake = braking.torque(state, law.terms, residual, self._age)
            if brake is None:
                if braking.failure:
                    self.stop_reason += f'; not braked to rest: {braking.failure}'
                    braking.release()  # the model is wrong: to hold would drive the arm again
                self._begin_stop_sequence()
                return None
            # Gravity is compensated even if terms.gravity is off: an arm that is braked must not
            # fall.
            ours = law.terms.gravity_to_command(q, state.gravity)
            desired = ours + state.coriolis + brake
        else:
            if law.has_gains and reference is None:
                # The gains need a reference: hold the measured position.
                self.reference.hold(q)
            ours, desired, self._feedback = law.torque(state, reference)
        if not all_finite(desired):
            self.stop('the computed torque is not finite', brake=False)
            return None
        if self.output.last is None:
            # No command acts yet. With FirstTorque.AT_ONCE begin with the gravity torque, else
            # with the torque that, according to the guard, acts already.
            at_once = self._first_torque is FirstTorque.AT_ONCE
            begin = ours if at_once else self.guard.held_torque()
            self.output.take(self.output.clipped(begin), stamp)
        if self.mode is Mode.RUNNING:
            before = self._torque_before(state)
            desired = self.output.glide(stamp, desired, law.settings.ramp_time, before)
        limited = self.output.limited(stamp, desired)
        if not all_finite(limited.torque):
            self.stop('the limited torque is not finite', brake=False)
            return None
        self.output.take(limited.torque, stamp)
        return limited
