# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Computes the torque of a control law from model terms and PD gains, by one set of settings.

Creating a ControlLaw takes about a millisecond, too long for a control cycle. Therefore the node
creates each ControlLaw outside the control cycle.
"""

import numpy as np

from .ending import Reason, ReasonCode
from .limits import MAX_GENTLE_SPEED_RAD_S, MAX_STEP_S, MAX_TORQUE_RATE_NM_S, PERIOD_MARGIN_FACTOR
from .settings import Settings
from .terms import StateTerms, TermModel
from ..arm import ArmDescription
from ..arrays import Array
from ..errors import SettingsError
from ..motion.trajectory import MAX_ROUNDING_ERROR, ReferencePoint, rest_states, Trajectory

# kp that acts with a delay of T seconds takes kp T from the damping; a joint has
# ASSUMED_FRICTION_DAMPING_NMS_RAD of its own (MuJoCo Menagerie, franka_fr3).
ASSUMED_FRICTION_DAMPING_NMS_RAD = 0.2
RAMP_DURATION_S = 0.2  # duration of the ramp to the torque of another control law [s]


class ControlLaw:
    """
    Computes the torque at a joint state from model terms and PD gains.

    `arm` is the arm without the settings' payload. With `is_exact` its joints have no
    other rotor inertia and friction than it says, as in a simulation; else at least those of the
    target's arms. Raises SettingsError if the settings cannot be used on this arm.
    """

    def __init__(self, arm: ArmDescription, settings: Settings, *, is_exact: bool = False) -> None:
        settings.validate(arm)
        self.arm, self.settings, n = arm, settings, arm.n
        self.terms = TermModel(arm, settings)
        self.kp, self.kd = settings.gains(n)
        self.has_kp = bool(self.kp.any())
        # Damping [N m s/rad] and rotor inertia [kg m^2] that the joints have beyond the model.
        damps = not is_exact or arm.friction is not None
        damped = self.kd + (ASSUMED_FRICTION_DAMPING_NMS_RAD if damps else 0.0)
        rotors = 0.0 if is_exact else settings.profile.min_rotor_inertia
        mass = self.terms.true_model.mass_matrix(arm.home_position) + rotors * np.eye(n)
        self._mass_diagonal = mass.diagonal()
        # Largest stable delay of torques [s], for kp of each joint, (n,), and for all gains. kd
        # makes joint velocities decay at home at some rate [1/s], and alone oscillates if its
        # phase lag, rate times delay, exceeds pi / 2.
        self._max_kd_delay, unlimited = np.inf, np.full(n, np.inf)
        if self.kd.any():
            decays = np.linalg.eigvals(np.linalg.solve(mass, np.diag(self.kd)))
            self._max_kd_delay = 0.5 * np.pi / float(decays.real.max())
        self._max_kp_delay = np.divide(damped, self.kp, out=unlimited, where=self.kp > 0.0)
        self._max_delay = min(self._max_kd_delay, self._max_kp_delay.min())
        self._zero, self._effort_limit = np.zeros(n), arm.limit('effort')

    def instability_reason(self, state_period: float, state_age: float) -> Reason | None:
        """Return why the loop would oscillate with states of this period and age [s], or None."""
        delay = max(0.5 * state_period, state_age) + 0.5 * state_period  # half: torque is held
        if delay <= self._max_delay:
            return None
        joint = int((self._max_kp_delay < delay).argmax())
        if self._max_kp_delay[joint] < delay:
            name, kp, kd = self.arm.joint_names[joint], self.kp[joint], self.kd[joint]
            needed = PERIOD_MARGIN_FACTOR * (kd + kp * (delay - self._max_kp_delay[joint]))
            remedy = f'a kd of at least {needed:.2g}'
            if needed * delay > self._mass_diagonal[joint]:  # it would swing by kd
                remedy = f'a kp of at most {kp * self._max_kp_delay[joint] / delay:.2g}'
            late = 1e3 * delay
            return ReasonCode.KP_TOO_LARGE(joint=name, kp=kp, kd=kd, delay=late, remedy=remedy)
        rate, share = 0.5 * np.pi / self._max_kd_delay, self._max_kd_delay / delay
        return ReasonCode.KD_TOO_LARGE(rate=rate, delay=1e3 * delay, share=share)

    def require_stable(self, state_period: float, state_age: float) -> None:
        """
        Raise SettingsError if the loop would oscillate at 1.05 times this period and this age [s].

        The margin keeps the period that is measured later from refusing gains accepted here.
        """
        unstable = self.instability_reason(PERIOD_MARGIN_FACTOR * state_period, state_age)
        if unstable:
            raise SettingsError(f'{unstable}.')

    def double_payload_warning(self) -> str:
        """Return a warning if both the arm and the settings have a payload, else ''."""
        own, more = self.arm.payload.mass, self.settings.payload[0]
        if not (own and more):
            return ''
        return (
            f'payload is {more:g} kg, beside {own:g} kg that {self.arm.name} was loaded '
            'with: both are counted. If it is one body, give it once.'
        )

    def unused_friction_note(self) -> str:
        """Return a note if the arm's friction is known but not commanded, else ''."""
        model, kp = self.arm.friction, self.kp
        if model is None or self.settings.terms.friction:
            return ''
        torque = np.abs(model.torque(np.full(len(kp), MAX_GENTLE_SPEED_RAD_S)))
        errors = 1e3 * torque[kp > 0.0] / kp[kp > 0.0]
        left = f', and kp makes up for by errors of {errors.max():.2g} mrad' if errors.size else ''
        return (
            f'The joints have a friction of {torque.min():.2g} to {torque.max():.2g} N m at '
            f'{MAX_GENTLE_SPEED_RAD_S:g} rad/s, which nobody commands{left}; terms.friction '
            '(true) commands it.'
        )

    def torque(self, state: StateTerms, reference: ReferencePoint | None) -> Array:
        """
        Return the desired torque at a joint state, (n,) [N m].

        It is the sum of `feedforward_torque` and the PD torque. Without a reference, friction
        (with its offset) and inertia torque are zero, and the PD torque only damps.
        """
        if reference is None:
            return self.feedforward_torque(state, self._zero) - self.kd * state.dq
        friction = self.terms.friction.torque(reference.dq, state.dq)
        torque = self.feedforward_torque(state, friction)
        return torque + self.kp * (reference.q - state.q) + self.kd * (reference.dq - state.dq)

    def feedforward_torque(self, state: StateTerms, friction_torque: Array) -> Array:
        """
        Return the model's part of the desired torque, without PD feedback, (n,) [N m].

        It is the gravity torque that the target does not add, plus `scale` times the enabled
        Coriolis and inertia torques and `friction_torque`, (n,) [N m].
        """
        switches, total = self.settings.terms, friction_torque
        if switches.coriolis:
            total = total + state.coriolis
        if switches.inertia:
            total = total + state.inertia_torque
        return self.settings.scale * total + self.terms.gravity_to_command(state.q, state.gravity)

    def trajectory_efforts(self, trajectory: Trajectory) -> Array:
        """
        Return feedforward torques at a trajectory's k points, (k, n) [N m], within torque limits.

        Maxwell-slip friction depends on the displacement, so it is computed for the whole motion
        at once.
        """
        q, dq = trajectory.positions, trajectory.velocities
        friction = self.terms.friction.torque_along(q, dq)
        points = (ReferencePoint(*point) for point in trajectory.states)
        states = (self.terms.terms_at(0.0, point.q, point.dq, point) for point in points)
        efforts = np.array([self.feedforward_torque(*pair) for pair in zip(states, friction)])
        return np.clip(efforts, -self._effort_limit, self._effort_limit)

    def motion_with_efforts(self, motion: Trajectory) -> tuple[Trajectory, Array]:
        """
        Return the motion, made to end without acceleration, and feedforward torques (k, n) [N m].

        joint_trajectory_controller repeats the last point, effort included, until another goal
        comes. A motion that ends while decelerating, as MoveIt's plans do, would leave the torque
        M ddq on the arm at rest. It gets one more point at rest at the same position, after the
        time that the change of torque takes at MAX_TORQUE_RATE_NM_S.
        """
        if np.abs(motion.accelerations[-1]).max() < MAX_ROUNDING_ERROR:
            return motion, self.trajectory_efforts(motion)
        end, rest = motion.times[-1:], rest_states(motion.positions[-1:])
        efforts = self.trajectory_efforts(motion.extended_by(end + MAX_STEP_S, rest))
        lasts = np.abs(efforts[-1] - efforts[-2]).max() / MAX_TORQUE_RATE_NM_S
        return motion.extended_by(end + max(MAX_STEP_S, lasts), rest), efforts


class TorqueRamp:
    """
    Moves the torque gradually to that of the control law, after a start or a change of the law.

    The ramp takes RAMP_DURATION_S. `law` is the law that gave the last torque, None if none did.
    """

    def __init__(self) -> None:
        self.begin()

    def begin(self, start_torque: Array | None = None) -> None:
        """Let the next torque begin a ramp at `start_torque`, (n,) [N m]; None: the last one."""
        self.law: ControlLaw | None = None
        self._start_torque = start_torque
        self._offset: Array | float = 0.0  # from the law's torque [N m]
        self._begin_stamp = 0.0  # stamp at which the ramp began

    def torque(
        self, law: ControlLaw, state: StateTerms, reference: ReferencePoint | None, last: Array
    ) -> Array:
        """Return a law's torque plus the ramp's offset, (n,) [N m]; a new law begins a ramp."""
        desired, before, self.law = law.torque(state, reference), self.law, law
        left = max(0.0, 1.0 - (state.stamp - self._begin_stamp) / RAMP_DURATION_S)
        if before is law:
            return desired + left * self._offset if left else desired
        if before is None:
            torque = last if self._start_torque is None else self._start_torque
        else:
            terms = before.terms.terms_at(state.stamp, state.q, state.dq, reference)
            torque = before.torque(terms, reference) + left * self._offset
        self._offset, self._begin_stamp = torque - desired, state.stamp
        return torque
