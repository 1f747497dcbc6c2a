# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The controller class, which users create, start, stop and change, and which follows motions.

`core_step.py` computes the torque for each joint state.
"""

from collections import Counter
from collections.abc import Callable
import logging
from pathlib import Path
from typing import Any

import numpy as np

from .control_law import ControlLaw
from .core_state import ACTIVE_STATES, State, Stop
from .core_step import CoreStep
from .core_table import Cause, Reaction, Remedy
from .default_gains import low_gains
from .ending import ending_by
from .settings import Settings, StateLimits
from .state_check import StateCheck
from .torque_output import TorqueOutput
from ..arguments import with_argument_checks
from ..arm import ArmDescription
from ..arm_io import as_description
from ..arrays import Array, ArrayLike
from ..errors import NotActiveError, SettingsError, StartRefusedError
from ..motion.planning import MAX_START_DISTANCE_RAD
from ..motion.trajectory import Trajectory

_LOG = logging.getLogger(__name__)


@with_argument_checks
class Feedforward(CoreStep):
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
    output : TorqueOutput
        The last torque, and the largest shares of limits.
    sends : bool
        Whether the latest torque is new; only then a node publishes it.
    disturbances : DisturbanceMonitor
        The measured and the commanded torque beyond what the motion needs.
    settings_agree : bool
        Whether a usable state has agreed with the settings.
    blocked : str
        A reason, set from outside, for which no first torque may begin yet.

    Raises
    ------
    DescriptionError
        If the arm is unknown.
    SettingsError
        If settings cannot be used on it, or gains swing at `period`.

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
        arm = as_description(arm)
        if soft_gains is not None:
            if not soft_gains >= 0.0:
                raise SettingsError(f'soft_gains is {soft_gains:g} 1/s; it must be 0 or more.')
            settings = dict(zip(('kp', 'kd'), low_gains(arm, soft_gains))) | settings
        output = TorqueOutput(arm, period if applied_when_silent else None, send)
        states = StateCheck(arm, limits or StateLimits(), period)
        law = _stable_law(arm, Settings().changed(target=target, **settings), output, states)
        super().__init__(output, states, law)
        friction_note = law.unused_friction_note()
        if friction_note:
            _LOG.info('%s', friction_note)

    def start(self) -> None:
        """
        Clear a fault, and let the law begin when the arm allows it; `status` says if it waits.

        A held arm is started at once. Raises StartRefusedError while an arm is to be braked and
        held and is not held yet, while a held arm's states are too old or a torque on it is not
        explained, while the receiver is not known (`blocked`), and after a fault that only a new
        object clears.
        """
        with self._lock:
            if self.ending.remedy is Remedy.CONFIGURE:
                raise StartRefusedError(f'{self.why}; configure the controller again.')
            is_held = self.state is State.HOLDING
            if self.ending.reaction is Reaction.HOLD and not is_held:
                raise StartRefusedError('The arm is still to be braked and held; try again.')
            if is_held:
                self._require_held_arm_may_start()
                self._use_law(self.requested_law)  # settings may have changed while states ceased
            self.output.reset_counts()
            self.disturbances.max_bound_ratios[:] = 0.0
            self._is_stop_requested = False
            if is_held:
                self._begin(self.output.last_torque)
            elif self.state is not State.RUNNING:
                self._record_wait(self.states.problem or self.blocked)

    def _require_held_arm_may_start(self) -> None:
        """Raise StartRefusedError if the law must not take over the arm that is held."""
        unexplained = self.disturbances.violation(self.disturbances.start_bound)
        has_changed = self.requested_law is not self._law
        if has_changed and not unexplained:
            unexplained = self.disturbances.contradiction(self.requested_law.terms)
        why_not = self.blocked or self._start_refusal() or unexplained
        if why_not:
            raise StartRefusedError(f'Not started: {why_not}. Correct that, or stop.')

    @with_argument_checks
    def stop(self, reason: str, then: Stop = Stop.LET_GO) -> None:
        """
        End torques for a reason; `then` selects if the arm is let go, held or gets zero torque.

        By default an arm that moves is braked to rest, by the gains there are and by its model,
        and then gets the resting torque. A fault stays latched. An arm whose torques have ended
        is not caught by a stop.
        """
        with self._lock:
            self._is_stop_requested = self._is_stop_requested or then is not Stop.PAUSE
            cause = then.value
            is_held = self.state in ACTIVE_STATES or self.ending.reaction is Reaction.HOLD
            if then is Stop.HOLD and not is_held:  # nothing that rests is caught
                cause = Cause.HOLD_WITHOUT_TORQUE
            self._end(ending_by(cause, reason))

    def change(self, **settings: Any) -> None:
        """
        Change settings: while the arm is commanded from the next step on, else once it agrees.

        While RUNNING the torque ramps from the old law's to the new. A braked or held arm keeps
        its torque, and its brake the old gains until `start`. Raises SettingsError, and changes
        nothing, if the settings cannot be used, if torques are sent for another target, or if kp
        grows at a joint that is far from the motion that is followed.
        """
        while True:
            # A law takes a millisecond to make: without the lock.
            before = self.requested_law
            law = self.changed_law(**settings)
            with self._lock:
                if self.requested_law is not before:
                    continue  # another thread was faster
                self._require_law_allowed(law)
                begins_to_pull = (law.kp > 0.0) & (before.kp == 0.0)
                if (self._joints_pulled_more_by(law) | begins_to_pull).any():
                    self.reference.hold(None)  # a person may have guided the arm away
                self.requested_law = law
                if self.state in ACTIVE_STATES:
                    self._use_law(law)
                return

    def changed_law(self, **settings: Any) -> ControlLaw:
        """Return the control law that `change` would use with settings, or raise its error."""
        changed = self.settings.changed(**settings)
        law = _stable_law(self.description, changed, self.output, self.states)
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
            raise SettingsError(
                f'kp of {joint.name} cannot grow while this joint is more than '
                f'{MAX_START_DISTANCE_RAD:g} {joint.kind.position_unit} from the motion that is '
                'followed: it would be pulled there. End the motion first, by one without points.'
            )

    def _joints_pulled_more_by(self, law: ControlLaw) -> Array:
        """Return the mask, (n,), of joints far from the reference whose kp `law` would raise."""
        is_far = self.reference.position_errors(self.states.q) > MAX_START_DISTANCE_RAD
        return np.asarray(is_far & (law.kp > self.requested_law.kp))

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
            has_kp = self.requested_law.has_kp
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

    @property
    def description(self) -> ArmDescription:
        """The arm, without the payload of the settings."""
        return self.requested_law.arm

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The names of the joints."""
        return self.description.joint_names

    @property
    def settings(self) -> Settings:
        """The settings that were set last; changed ones may act later, and gradually."""
        return self.requested_law.settings

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


def _stable_law(
    arm: ArmDescription, settings: Settings, output: TorqueOutput, states: StateCheck
) -> ControlLaw:
    """Return the control law of some settings; raise SettingsError if unstable or unusable."""
    # In a loop's MuJoCo model, joints have the rotor inertia and friction that `arm` states.
    law = ControlLaw(arm, settings, is_exact=output.in_loop and settings.target == 'mujoco')
    law.require_stable(states.period, states.median_age)
    payload_warning = law.double_payload_warning()
    if payload_warning:
        _LOG.warning('%s', payload_warning)
    return law
