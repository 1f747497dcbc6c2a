# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Brings a moving arm to rest by its joint states, or by its model while none can be used.

The brake also holds the arm, without a reference. Its torque is

    G + C dq + d - kp (q - q_b) - kd dq - M (1 - s) a

G is the part of g(q) that the target does not add, d the torque that the model does not explain,
and q_b the pose at which braking began. a is the deceleration of a critically damped joint, of
which kd gives the share s already.
"""

import numpy as np

from .ending import Reason, ReasonCode
from .limits import (
    BRAKING_TIME_CONSTANT_S,
    MAX_BRAKING_DECELERATION_RAD_S2,
    MAX_STEP_S,
    MIN_GOOD_STATE_COUNT,
)
from .terms import MAX_REST_SPEED_RAD_S, MIN_MOTION_SPEED_RAD_S, StateTerms, TermModel
from ..arm import ArmDescription
from ..arrays import Array

# Up to this speed a braked arm is at rest, because gears ripple.
MAX_STOPPED_SPEED_RAD_S = 2.0 * MAX_REST_SPEED_RAD_S
# After this time a braked arm counts as held, even if it still moves.
MAX_BRAKING_TIME_S = 1.0
# Braking fails if after this time a joint is faster than MAX_BRAKED_SPEED_TO_LIMIT times its
# velocity limit, and than ever before in this time: torques do not act as they are sent. So long a
# torque of 50 N m takes to turn, and the arm may still get faster.
MIN_BRAKING_TIME_S = 0.05
MAX_BRAKED_SPEED_TO_LIMIT = 2.0
# Braking slows down less where states are old: its time constant is at least so many times the
# age. With 3 an iiwa-like arm whose states become 10 ms late while it is pushed gets up to 4.1
# times as fast as by its law alone, with 8 up to 1.2 times (chosen on draw 407 of
# benchmarks/guard_misconfiguration.py).
MIN_TIME_CONSTANT_TO_AGE_RATIO = 8.0
# Time constant with which an arm whose motion is not seen is brought to rest [s], and the time
# after which it rests.
UNSEEN_STOP_TIME_CONSTANT_S = 0.1
UNSEEN_STOP_TIME_S = 2.5 * UNSEEN_STOP_TIME_CONSTANT_S


class BrakingController:
    """
    Computes the torque that brakes one arm to rest and holds the arm.

    `disturbance` is the part of the torque that the model does not explain which is compensated,
    (n,) [N m]; `at_rest` says whether the arm has come to rest since `begin`, and `failure_reason`
    which joint is too fast in spite of braking, None if none is.
    """

    def __init__(self, arm: ArmDescription) -> None:
        self._arm = arm
        self._max_speed = MAX_BRAKED_SPEED_TO_LIMIT * arm.limit('velocity')
        self.begin(np.zeros(arm.n))

    def begin(self, disturbance: Array, gains: tuple[Array, Array] | None = None) -> None:
        """
        Start braking with d = `disturbance`, (n,) [N m].

        `gains` are kp and kd, (n,) each. Without them the brake damps only, and pulls the arm to
        no pose.
        """
        self.disturbance = disturbance
        self._pulls_to_pose = gains is not None
        no_gain = 0.0 * disturbance
        self._kp, self._kd = gains or (no_gain, no_gain)
        self.at_rest = False
        self.failure_reason: Reason | None = None
        self._stop_pose: Array | None = None
        self._time_s = 0.0
        self._rest_count = 0
        self._max_first_speed = no_gain  # of each joint in the first MIN_BRAKING_TIME_S, (n,)
        self._is_held_back = np.zeros(disturbance.shape, dtype=bool)

    def torque(
        self,
        state: StateTerms,
        terms: TermModel,
        excess: Array,
        elapsed: float,
        age: float = 0.0,
    ) -> Array:
        """
        Return the torque that brakes and then holds the arm, shape (n,) [N m].

        `excess` is the torque that the model does not explain now, (n,) [N m], zero if it is not
        estimated, `elapsed` the time since the state before [s], `age` the age of `state` [s].
        """
        q = state.q
        dq = state.dq
        mass = terms.true_model.mass_matrix(q)
        inertia = mass.diagonal()
        self._time_s += elapsed
        self._record_speeds(dq)
        # States that are old, or come rarely, bear slower damping only, and softer gains.
        delay = age + max(0.0, elapsed - MAX_STEP_S)
        min_time_constant = MIN_TIME_CONSTANT_TO_AGE_RATIO * delay
        time_constant = max(BRAKING_TIME_CONSTANT_S, min_time_constant)
        # A joint that moves no mass has no gains: it slows down as the others take it along.
        damping_rate = np.divide(self._kd, inertia, out=0.0 * inertia, where=inertia > 0.0)
        softness = np.maximum(1.0, min_time_constant * damping_rate)
        kp = self._kp / softness
        kd = self._kd / softness
        stiffness = 1.0 / (2.0 * time_constant) ** 2  # of a critically damped joint [1/s^2]
        max_deceleration = MAX_BRAKING_DECELERATION_RAD_S2
        from_pose = self._move_stop_pose(q, max_distance=max_deceleration / stiffness)
        deceleration = np.clip(dq / time_constant, -max_deceleration, max_deceleration)
        if self._pulls_to_pose:
            deceleration = deceleration + stiffness * from_pose
        missing_share = 1.0 - np.minimum(1.0, damping_rate / softness * time_constant)  # 1 - s
        feedforward = terms.gravity_to_command(q, state.gravity) + state.coriolis
        compensated = self._compensated_disturbance(dq, excess, elapsed)
        inertia_torque = mass @ (missing_share * deceleration)
        return feedforward + compensated - kp * from_pose - kd * dq - inertia_torque

    def _record_speeds(self, dq: Array) -> None:
        """Note whether the arm has come to rest, and which joint braking does not slow down."""
        speed = np.abs(dq)
        self._rest_count = self._rest_count + 1 if speed.max() < MAX_STOPPED_SPEED_RAD_S else 0
        is_over = self._rest_count >= MIN_GOOD_STATE_COUNT or self._time_s > MAX_BRAKING_TIME_S
        if is_over and not self.at_rest:
            self._stop_pose = None  # it is held where it came to rest
            self.at_rest = True
        self.failure_reason = None
        if self._time_s <= MIN_BRAKING_TIME_S:
            self._max_first_speed = np.maximum(self._max_first_speed, speed)
            return
        is_too_fast = speed > np.maximum(self._max_speed, self._max_first_speed)
        if any(is_too_fast.tolist()):
            joint = int(is_too_fast.argmax())
            self.failure_reason = ReasonCode.BRAKING_FAILED(
                joint=self._arm.joint_names[joint],
                unit=self._arm.joints[joint].kind.position_unit,
                velocity=float(dq[joint]),
            )

    def _move_stop_pose(self, q: Array, max_distance: float) -> Array:
        """
        Move the pose that the arm is pulled to; return how far the arm is from it, (n,) [rad].

        The pose is where braking began, and later where the arm came to rest. It moves with the
        arm in two cases: a joint that is being braked takes it along while a limit holds its
        torque back, and so does a joint that is pushed further away than `max_distance` [rad].
        """
        if self._stop_pose is None:  # braking begins, or the arm has come to rest
            pose = q
        elif self.at_rest:
            pose = self._stop_pose
        else:
            pose = np.where(self._is_held_back, q, self._stop_pose)
        from_pose = np.clip(q - pose, -max_distance, max_distance)
        self._stop_pose = q - from_pose
        return from_pose

    def _compensated_disturbance(self, dq: Array, excess: Array, elapsed: float) -> Array:
        """Let d follow the unexplained torque, (n,) [N m]; return the part that is compensated."""
        share = min(1.0, elapsed / BRAKING_TIME_CONSTANT_S)
        self.disturbance = self.disturbance + share * (excess - self.disturbance)
        # A compensation along a joint's motion would keep that up: it fades out with the speed.
        share_along = np.maximum(0.0, 1.0 - np.abs(dq) / MIN_MOTION_SPEED_RAD_S)
        is_along = self.disturbance * dq > 0.0
        return self.disturbance * np.where(is_along, share_along, 1.0)

    def forget_disturbance(self) -> None:
        """Forget d, where the arm is not held any more."""
        self.disturbance = 0.0 * self.disturbance

    def record_limited_torque(self, desired: Array, sent: Array) -> None:
        """Record where limits changed a desired torque into the sent one, (n,) each [N m]."""
        self._is_held_back = desired != sent


class OpenLoopStop:
    """Knows where an arm was seen last, and brings it to rest from there by its model."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget where the arm was."""
        self._seen: tuple[Array, Array] | None = None
        self._seen_at = -np.inf  # [s]
        self._begin_time = -np.inf  # of the stop [s]; infinite if there is none

    def record_state(self, q: Array, dq: Array, now: float) -> None:
        """Record where the arm is seen at `now` [s], and how fast, (n,) each; a stop goes on."""
        self._seen = q, dq
        self._seen_at = now
        if not self.stops(now):
            self._begin_time = -np.inf

    def begin_stop(self, now: float) -> None:
        """Begin the stop at `now` [s], if the arm moved when it was seen last."""
        if self._seen is None:
            return
        _, dq = self._seen
        if np.abs(dq).max() > MAX_REST_SPEED_RAD_S:
            self._begin_time = now
            self._seen_at = now  # the model sets out from there

    def stops(self, now: float) -> bool:
        """Return whether the arm is being stopped at `now` [s]; not if that clock was set back."""
        return 0.0 <= now - self._begin_time < UNSEEN_STOP_TIME_S

    def probable_state(self, now: float) -> tuple[Array, Array] | None:
        """Return where the arm probably is and how fast, (n,) each; None if it was never seen."""
        if self._seen is None or self._begin_time == -np.inf:
            return self._seen
        q, dq = self._seen
        left = np.exp(-max(0.0, now - self._seen_at) / UNSEEN_STOP_TIME_CONSTANT_S)
        return q + (1.0 - left) * UNSEEN_STOP_TIME_CONSTANT_S * dq, left * dq

    def stopping_torque(self, terms: TermModel, now: float) -> Array:
        """Return the torque that stops an arm that was seen, by its model, (n,) [N m]."""
        state = self.probable_state(now)
        assert state is not None, 'the arm was seen'
        q, dq = state
        slowing = terms.inertia_torque(q, dq / UNSEEN_STOP_TIME_CONSTANT_S)
        gravity = terms.gravity_to_command(q, terms.gravity(q))
        return gravity + terms.coriolis(q, dq) - slowing
