# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The controller class, which users create, start, stop and change, and which follows motions.

`core_step.py` computes the torque for each joint state, by parts that `core_state.py` holds.
"""

from collections import Counter
from collections.abc import Callable
import logging
from pathlib import Path
from typing import Any

import numpy as np

from .control_law import ControlLaw
from .core_state import ACTIVE_STATES, State, StateEvent, Stop
from .core_step import CoreStep
from .default_gains import low_gains
from .ending import Reaction, Remedy
from .settings import Settings, StateLimits
from .state_check import StateCheck
from .torque_output import TorqueOutput
from .. import former_names
from ..arguments import with_argument_checks
from ..arm import ArmDescription
from ..arm_io import as_description
from ..arrays import Array, ArrayLike
from ..errors import NotActiveError, SettingsError, StartRefusedError
from ..motion.planning import MAX_START_DISTANCE_RAD
from ..motion.trajectory import Trajectory

_LOG = logging.getLogger(__name__)


@former_names.of_attributes(
    '0.3',
    TICK_S='TICK_PERIOD_S',
    acting='acting_terms',
    asked='requested_law',
    ended='needs_start',
    names='joint_names',
)
@with_argument_checks
class Feedforward(CoreStep):
    """
    Computes the feedforward and PD torque of one arm for each joint state.

    `step` always returns a torque that is finite, within the torque limits and, but for the first
    one after `reset` or where the last one acts no more, within 1000 N m/s of the torque before.
    Torques begin by themselves; `start` is needed after `stop` or a fault only. Any thread may
    call any method.

    `arm` is without the payload, or its name or file. `target` says who receives the torques: fci,
    franka_gazebo, gz_ros2_control or mujoco. `period` is the expected time between two joint
    states, 0.5 to 10 ms [s]. `limits` says which joint states and efforts can be used. A loop
    applies the torque that `step` returns also in state SILENT (`applied_when_silent`); a node
    publishes nothing then, and its last torque may go on acting. `send`, if given, is called with
    each new torque (n,) [N m] before the disturbance check and the watchers of `step`, and must
    not change it. With `soft_gains`, kp and kd that settings do not give are the `low_gains` of
    this rate [1/s]. `settings` are other fields of Settings: kp, kd, payload,
    gravity_vector, terms, ... Raises DescriptionError for an unknown arm, SettingsError if
    settings cannot be used on it or gains swing at `period`.

    `state` is the present state, and `status` says why. `ending` is what ended torques or keeps
    them from beginning. `requested_law` is the control law of the present settings, `acting_terms`
    are those by which torques go out. `latest` is the latest joint state with its torque terms,
    None if one of its values is impossible; `state_problem` says why that state cannot be used, ''
    if it can. `output` has the last torque and the largest shares of limits. `blocked` is a
    reason, set from outside, for which no first torque may begin yet. `states` has period and age
    of the joint states, `disturbances` the measured and the commanded torque beyond what the
    motion needs. `sends` says whether the latest torque is new; only then a node
    publishes it.
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
            settings = dict(zip(('kp', 'kd'), low_gains(arm, soft_gains))) | settings
        output = TorqueOutput(arm, period if applied_when_silent else None, send)
        states = StateCheck(arm, limits or StateLimits(), period)
        law = _stable_law(arm, Settings().changed(target=target, **settings), output, states)
        super().__init__(output, states, law)
        if rubs := law.unused_friction_note():
            _LOG.info('%s', rubs)

    def start(self) -> None:
        """
        Clear a fault, command torques from the next state that allows them, or raise if refused.

        `status` says why none are commanded yet. While a stop that is no fault still brakes the
        arm, torques begin once it is at rest, without the motion. After a stop by the model they
        begin after 20 usable states, even if the arm moves; seen in STOPPING above 0.04 rad/s it
        is braked first.

        Raises StartRefusedError while the arm is still braked after a fault, while a held arm's
        states are too old, its torque is unexplained or it is `blocked`, and after a fault that
        only a new object clears.
        """
        with self._lock:
            if self.ending.remedy is Remedy.CONFIGURE:
                raise StartRefusedError(f'{self.why}; configure the controller again.')
            if self.faulty and self.state is State.BRAKING:
                raise StartRefusedError('The arm is still being braked; try again.')
            held = self.state is State.HOLDING
            if self._must_hold_arm and not held:
                raise StartRefusedError('The arm is to be held first, once it is seen; try again.')
            if why := held and (self.blocked or self._start_refusal() or self._bound_violation()):
                raise StartRefusedError(f'Not started: {why}. Correct that, or stop.')
            self._torques_wanted = True
            self.states.trust_states_again()
            self.output.reset_counts()
            self.disturbances.max_bound_ratios[:] = 0.0
            if held:
                self._begin_torques(StateEvent.BEGIN)
            elif self.state is State.SILENT:
                self._record_wait(self.states.problem or self.blocked)
            elif self.state is State.STOPPING and self.ending.reaction is not Reaction.COAST:
                then = self.ending.reaction  # RELEASE would let go of a load that is borne
                then = Reaction.RESTING_TORQUE if then is Reaction.HOLD else then
                self.ending = self.ending._replace(reaction=then, remedy=Remedy.WAIT)
            elif self.state is not State.RUNNING:
                self.ending = self.ending.with_release()

    @with_argument_checks
    def stop(self, reason: str, then: Stop = Stop.LET_GO) -> None:
        """
        End torques for a reason; `then` selects if the arm is let go, held or gets zero torque.

        By default an arm that moves is braked to rest, by the gains there are and by its model,
        and then gets the resting torque. A stop that does not hold lets go of a held arm; a fault
        stays latched. An arm whose torque rests is not caught by a stop, only one that was to be
        held before.
        """
        with self._lock:
            later, holds = then.value.ending(reason), self.ending.reaction is Reaction.HOLD
            stopped = self.state is State.STOPPING and self.faulty
            if then is Stop.HOLD and (stopped or self.state is State.SILENT) and not holds:
                later = later._replace(reaction=Reaction.RESTING_TORQUE)
            self._torques_wanted = self._torques_wanted and later.remedy is Remedy.WAIT
            self._end_torques(later, changes_state=self.state in ACTIVE_STATES)

    def change(self, **settings: Any) -> None:
        """
        Change settings from the next step on or, unless RUNNING, when the arm or `start` allows.

        While running, the torque ramps from the old law's to the new. That of a held arm does not
        change, and its brake has the old gains until `start`; a payload is not judged for 2 s.
        A stopped core whose torque acts keeps the old settings until `start`. After that start,
        and while torques are refused, the old settings act until no joint departs by more than
        10 % of its torque limit from what the new ones explain; then the new ones act, within the
        torque's rate. Raises SettingsError, and changes nothing, if they cannot be used, or if
        torques are sent for another target.
        """
        while True:
            # A law takes a millisecond to make: without the lock.
            before, law = self.requested_law, self.changed_law(**settings)
            with self._lock:
                if self.requested_law is not before:
                    continue  # another thread was faster
                self._require_law_allowed(law)
                used = self.ramp.law or before
                if (self._joints_pulled_more_by(law) | ((law.kp > 0.0) & (used.kp == 0.0))).any():
                    self.reference.hold(None)  # a person may have guided the arm away
                self.requested_law = law
                loaded = law.settings.payload != before.settings.payload
                self._use_requested_terms(settings_agree=False, new_load=loaded)
                return

    def changed_law(self, **settings: Any) -> ControlLaw:
        """Return the control law that `change` would use with settings, or raise its error."""
        changed = self.settings.changed(**settings)
        law = _stable_law(self.description, changed, self.output, self.states)
        self._require_law_allowed(law)
        return law

    def _require_law_allowed(self, law: ControlLaw) -> None:
        """Raise SettingsError if the present state does not allow a change to a control law."""
        before, after = self.settings.target, law.settings.target
        if self.state is not State.SILENT and before != after:
            raise SettingsError(
                f'target is {before} and cannot become {after} while torques are sent; stop '
                f'first. Torques for {after} then begin once the arm agrees with it.'
            )
        pulled = self._joints_pulled_more_by(law)
        if pulled.any() and self.reference.has_open_motion:
            raise SettingsError(
                f'kp of {self.joint_names[int(pulled.argmax())]} cannot grow while this joint is '
                f'more than {MAX_START_DISTANCE_RAD:g} rad from the motion that is followed: it '
                'would be pulled there. End the motion first, by one without points.'
            )

    def _joints_pulled_more_by(self, law: ControlLaw) -> Array:
        """Return the mask, (n,), of joints far from the reference whose kp `law` would raise."""
        far = self.reference.position_errors(self.states.q) > MAX_START_DISTANCE_RAD
        return np.asarray(far & (law.kp > (self.ramp.law or self.requested_law).kp))

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
            pulled = self.requested_law.has_kp
            if not pulled:  # a person may have guided the arm away
                self.reference.hold(None)
        how: Any = {'start': start, 'ahead': ahead, 'window': window, 'goal_id': goal_id}
        how |= {'measured_q': self.states.q, 'has_kp': pulled}
        motion = self.reference.follow(q, times, dq, ddq, **how)
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
    if twice := law.double_payload_warning():
        _LOG.warning('%s', twice)
    return law
