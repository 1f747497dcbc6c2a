# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Brings a moving arm to rest by its joint states, or by its model while none can be used.

The brake also holds the arm, without a reference. Its torque is G + C dq + d - kp (q - q_b) -
kd dq - M a: G is the part of g(q) that the target does not add, d the torque that the model does
not explain, q_b where braking began, and a the deceleration of a critically damped joint, as far
as kd damps less.
"""

import numpy as np

from .ending import Reason, ReasonCode
from .limits import BRAKING_TIME_CONSTANT_S, MAX_BRAKING_DECELERATION_RAD_S2, MAX_STEP_S
from .state_check import MIN_GOOD_STATE_COUNT
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
# age.
MIN_TIME_CONSTANT_TO_AGE_RATIO = 3.0
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
        self._joint_names = arm.joint_names
        self._max_speed = MAX_BRAKED_SPEED_TO_LIMIT * arm.limit('velocity')
        self.begin(np.zeros(arm.n))

    def begin(self, disturbance: Array, gains: tuple[Array, Array] | None = None) -> None:
        """Start braking; `gains` are kp and kd, (n,) each; None: it only damps, without a pose."""
        self.disturbance = disturbance
        self._pulls = gains is not None
        self._kp, self._kd = (0.0 * disturbance, 0.0 * disturbance) if gains is None else gains
        self.at_rest = False
        self.failure_reason: Reason | None = None
        self._stop_pose: Array | None = None
        self._time_s = 0.0
        self._rest_count = 0
        self._first_speed = 0.0 * disturbance  # largest in MIN_BRAKING_TIME_S, (n,)
        self._held_back = np.zeros(disturbance.shape, dtype=bool)

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
        self._time_s += elapsed
        self._watch(dq)
        late = MIN_TIME_CONSTANT_TO_AGE_RATIO * (age + max(0.0, elapsed - MAX_STEP_S))
        time_constant = max(BRAKING_TIME_CONSTANT_S, late)
        softness = np.maximum(1.0, late * self._kd / mass.diagonal())
        kp = self._kp / softness
        kd = self._kd / softness
        stiffness = 1.0 / (2.0 * time_constant) ** 2  # of a critically damped joint [1/s^2]
        away = self._move_stop_pose(q, MAX_BRAKING_DECELERATION_RAD_S2 / stiffness)
        bound = MAX_BRAKING_DECELERATION_RAD_S2
        slowing = np.clip(dq / time_constant, -bound, bound)
        if self._pulls:
            slowing = slowing + stiffness * away
        undamped = 1.0 - np.minimum(1.0, kd * time_constant / mass.diagonal())
        feedforward = terms.gravity_to_command(q, state.gravity) + state.coriolis
        compensated = self._compensated_disturbance(dq, excess, elapsed)
        return feedforward + compensated - kp * away - kd * dq - mass @ (undamped * slowing)

    def _watch(self, dq: Array) -> None:
        """Note whether the arm has come to rest, and which joint braking does not slow down."""
        speed = np.abs(dq)
        self._rest_count = self._rest_count + 1 if speed.max() < MAX_STOPPED_SPEED_RAD_S else 0
        rests = self._rest_count >= MIN_GOOD_STATE_COUNT or self._time_s > MAX_BRAKING_TIME_S
        if rests and not self.at_rest:
            self._stop_pose = None  # it is held where it came to rest
            self.at_rest = True
        self.failure_reason = None
        if self._time_s <= MIN_BRAKING_TIME_S:
            self._first_speed = np.maximum(self._first_speed, speed)
            return
        too_fast = speed > np.maximum(self._max_speed, self._first_speed)
        if any(too_fast.tolist()):
            joint = int(too_fast.argmax())
            found = {'joint': self._joint_names[joint], 'velocity': float(dq[joint])}
            self.failure_reason = ReasonCode.BRAKING_FAILED(**found)

    def _move_stop_pose(self, q: Array, most: float) -> Array:
        """
        Move the pose that the arm is pulled to; return how far the arm is from it, (n,) [rad].

        It begins where braking began, and anew where the arm came to rest. While the arm is braked
        it is wherever a joint is whose brake a limit of torque holds back. A push beyond `most`
        [rad] takes it along.
        """
        if self._stop_pose is None:  # braking begins, or the arm has come to rest
            pose = q
        elif self.at_rest:
            pose = self._stop_pose
        else:
            pose = np.where(self._held_back, q, self._stop_pose)
        away = np.clip(q - pose, -most, most)
        self._stop_pose = q - away
        return away

    def _compensated_disturbance(self, dq: Array, excess: Array, elapsed: float) -> Array:
        """Let d follow the unexplained torque, (n,) [N m]; return the part that is compensated."""
        share = min(1.0, elapsed / BRAKING_TIME_CONSTANT_S)
        self.disturbance = self.disturbance + share * (excess - self.disturbance)
        # Compensated along the motion of a joint that surely moves, it would keep that up.
        along = np.maximum(0.0, 1.0 - np.abs(dq) / MIN_MOTION_SPEED_RAD_S)
        return self.disturbance * np.where(self.disturbance * dq > 0.0, along, 1.0)

    def change_load(self, before: TermModel, after: TermModel, q: Array) -> None:
        """Keep the torque at q, (n,) [rad], when the terms change."""
        old = before.gravity_to_command(q, before.gravity(q))
        new = after.gravity_to_command(q, after.gravity(q))
        self.disturbance = self.disturbance + old - new

    def record_limited_torque(self, desired: Array, sent: Array) -> None:
        """Record where limits changed a desired torque into the sent one, (n,) each [N m]."""
        self._held_back = desired != sent


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
        if self._seen is not None and np.abs(self._seen[1]).max() > MAX_REST_SPEED_RAD_S:
            self._begin_time = now
            self._seen_at = now

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
