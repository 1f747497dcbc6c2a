# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Brings a moving arm to rest by its joint states, or by its model while none can be trusted.

The brake also holds the arm, without a reference. Its torque is g(q) + C(q, dq) dq, a PD torque
towards the pose where braking began, then where the arm came to rest, M(q) a as far as kd damps
less, and the disturbance torque, as far as it was there at one of these times or is small. What
grows in between may be braking's own torque, which a wrong sensor cannot tell from a load. A push
that ends while it is compensated drives the arm back, until the torque has turned.

Joint states that cease, that cannot be used, and positions that stand still are one case: the arm
is brought to rest by its model, then gets the resting torque. A joint whose position cannot be
believed is followed by its velocity where that can. The first state that can be used again hands a
moving arm to the brake; one whose velocities its positions contradict does not, nor the first
after a gap: the model goes on from its position and velocity.
"""

import numpy as np

from .disturbance import MAX_DISTURBANCE_TIME_S, MAX_START_DISTURBANCE_RATIO
from .ending import Reason, ReasonCode
from .limits import (
    BRAKING_TIME_CONSTANT_S,
    MAX_BRAKING_DECELERATION_RAD_S2,
    MAX_STEP_S,
    MAX_TORQUE_RATE_NM_S,
    RUNAWAY_DETECTION_TIME_S,
)
from .state_check import MIN_GOOD_STATE_COUNT
from .terms import MAX_REST_SPEED_RAD_S, MIN_MOTION_SPEED_RAD_S, StateTerms, TermModel
from .watchers import MAX_SPEED_TO_LIMIT
from ..arm import ArmDescription
from ..arm.friction import MAX_STATE_GAP_S
from ..arrays import Array, NDArray
from ..dynamics.external_torque import inverse_mass_matrix, OBSERVER_SETTLING_TIME_S

# Braking slows down less where states are old: its time constant is at least so many times the age
# of the state. The pull to the stop pose damps critically with it, or is kp if that is larger.
MIN_TIME_CONSTANT_TO_AGE_RATIO = 3.0
# A braked arm is driven by something else (the model, a sensor or the wiring is wrong) if a joint
# is faster than at first for RUNAWAY_DETECTION_TIME_S by this share of its velocity limit: one
# that was braked because of its speed has reached the limit then.
MAX_SPEED_INCREASE_RATIO = 1.0 - MAX_SPEED_TO_LIMIT
# Up to this speed a braked arm is at rest, because gears ripple. After MAX_BRAKING_TIME_S [s] it
# counts as held, even if it still moves.
MAX_STOPPED_SPEED_RAD_S = 2.0 * MAX_REST_SPEED_RAD_S
MAX_BRAKING_TIME_S = 1.0
# Time constant with which an arm whose motion is not seen is brought to rest [s], and time after
# which that is over, in such constants. On draw 73 of benchmarks/guard_misconfiguration.py an FR3
# with firm gains, all joints frozen in motion, reached 7.6 rad/s with a time constant of 0.06, and
# 2.5 with 0.1, each over after 0.3 s; with the values below 1.6.
UNSEEN_STOP_TIME_CONSTANT_S = 0.1
UNSEEN_STOP_TIME_S = 2.5 * UNSEEN_STOP_TIME_CONSTANT_S


class BrakingController:
    """
    Computes the torque that brakes one arm to rest and holds the arm.

    Attributes
    ----------
    disturbance : ndarray, shape (n,)
        The compensated part of the torque that the model does not explain [N m], in FCI's sign.
    at_rest : bool
        Whether the arm has come to rest since `begin`.
    is_still : bool
        Whether the arm rested in the last MIN_GOOD_STATE_COUNT states, or in all since `begin`.
    bears_load : bool
        Whether `disturbance` may act once braking is over: the arm was not let go since `begin`.
    failure_reason : Reason or None
        Why braking cannot succeed: something drives the arm.

    """

    def __init__(self, arm: ArmDescription) -> None:
        self._joint_names = arm.joint_names
        self._max_speed_gain = MAX_SPEED_INCREASE_RATIO * arm.limit('velocity')
        # A disturbance that a start would allow is compensated whenever it comes: else one who
        # pushes a held arm with 80 N moves it so far that it is let go.
        self._small_torque = MAX_START_DISTURBANCE_RATIO * arm.limit('effort')
        self.begin(np.zeros(arm.n))

    def begin(
        self,
        disturbance: Array,
        gains: tuple[Array, Array] | None = None,
        *,
        torque_swings: bool = False,
        is_still: bool = False,
    ) -> None:
        """
        Start braking at the next joint state.

        `disturbance` is the present disturbance torque, (n,) [N m]; `gains` are kp and kd of a PD
        torque, (n,) each [N m/rad, N m s/rad]. None: there is no PD torque. `torque_swings`: the
        sent torque swung, as by gains too high for the delay of torques; until the arm has rested
        they are scaled down. `is_still`: the arm is at rest.
        """
        self.disturbance, self._disturbance_range = disturbance, (disturbance, disturbance)
        self._gains = np.zeros((2, *disturbance.shape)) if gains is None else np.array(gains)
        self._has_gains, self._driving = gains is not None, False
        self._min_time_constant = BRAKING_TIME_CONSTANT_S if torque_swings else 0.0
        self.at_rest, self._comes_to_rest, self.bears_load = False, False, True
        self.failure_reason: Reason | None = None
        self._sent_torque = self._withheld_torque = np.zeros_like(disturbance)
        # Since `begin`, when each joint's torque can have changed from before to braking [s].
        self._torque_changed_s: Array | None = None
        self._stop_pose: Array | None = None
        self._time_s = self._faster_s = 0.0
        self._max_speed = np.zeros_like(disturbance)
        self._rest_count, self.is_still = 0, is_still

    def torque(
        self, state: StateTerms, terms: TermModel, excess: Array, elapsed: float, age: float = 0.0
    ) -> Array:
        """
        Return the torque that brakes and then holds the arm, shape (n,) [N m].

        `excess` is the torque that the model does not explain now, (n,) [N m], zero if it is not
        estimated, `elapsed` the time since the state before [s], `age` the age of `state` [s].
        With old states, and in a slow loop, whose torques are late, too, gains are scaled down
        until kd alone would not slow a joint within MIN_TIME_CONSTANT_TO_AGE_RATIO ages; and what
        kd damps is left to it.
        If the sent torque swung, BRAKING_TIME_CONSTANT_S is the least such time until the arm has
        rested.
        """
        q, dq, mass = state.q, state.dq, terms.true_model.mass_matrix(state.q)
        self._watch_speeds(np.abs(dq), elapsed, excess)
        aged = MIN_TIME_CONSTANT_TO_AGE_RATIO * (age + max(0.0, elapsed - MAX_STEP_S))
        least = max(self._min_time_constant, aged)
        time_constant = max(BRAKING_TIME_CONSTANT_S, least)
        kp, kd = self._gains / np.maximum(1.0, least * self._gains[1] / mass.diagonal())
        bound, squared = MAX_BRAKING_DECELERATION_RAD_S2, (2.0 * time_constant) ** 2
        away = self._offset_from_stop_pose(q, bound * squared)
        compensated = self._update_disturbance(excess, dq, elapsed)
        feedforward = terms.gravity_to_command(q, state.gravity) + state.coriolis
        if not self.at_rest and any(excess.tolist()):
            # Where limits withhold torque, what slows a joint, as a push called for it, ends late:
            # by the velocity of now it would drive the joint back.
            net = self._sent_torque - feedforward - excess
            change = net @ inverse_mass_matrix(mass) * np.abs(net) / (2.0 * MAX_TORQUE_RATE_NM_S)
            dq = np.where((change * dq < 0.0) & (self._withheld_torque != 0.0), dq + change, dq)
        slowing = self._has_gains / squared * away + np.clip(dq / time_constant, -bound, bound)
        undamped = _inertial_braking_share(mass, kd, time_constant, age)
        braking = compensated - kp * away - kd * dq - mass @ (undamped * slowing)
        # Smaller torques drive no joint, nor one that gets another's: it is pushed, as a wrist of
        # which M is next to nothing.
        self._driving = bool(np.abs(braking).max() > self._small_torque.min())
        return feedforward + braking

    def _offset_from_stop_pose(self, q: Array, max_offset: float) -> Array:
        """
        Return q minus the stop pose, (n,) [rad or m]; move that pose to within `max_offset` of q.

        It yields where M(q) a would reach its bound, at a distance of `max_offset`, and the arm
        stays where it was pushed to.
        """
        if self._stop_pose is None or self._comes_to_rest:
            self._stop_pose = q
        elif not self.at_rest:
            # Where limits hold back the torque, a pull to where braking began would come too late,
            # and make a joint with firm gains faster than it was.
            self._stop_pose = np.where(self._withheld_torque != 0.0, q, self._stop_pose)
        away = np.clip(q - self._stop_pose, -max_offset, max_offset)
        self._stop_pose = q - away
        return away

    def _update_disturbance(self, disturbance: Array, dq: Array, elapsed: float) -> Array:
        """Update `disturbance` by the present one; return the part to compensate, (n,) [N m]."""
        least, most, small = *self._disturbance_range, self._small_torque
        # At first (0.05 s) the observer lags behind an arm that falls: an FR3 mounted upside down,
        # undeclared, was not held without this.
        if self._comes_to_rest or self._time_s < OBSERVER_SETTLING_TIME_S:
            least, most = np.minimum(disturbance, least), np.maximum(disturbance, most)
            self._disturbance_range = least, most
        # States or torques may be late though no age says so: compensated at once, the torque
        # would drive a held arm with firm gains.
        filtered = 1.0 if self._comes_to_rest else min(1.0, elapsed / BRAKING_TIME_CONSTANT_S)
        disturbance = self.disturbance + filtered * (disturbance - self.disturbance)
        self.disturbance = np.clip(disturbance, np.minimum(-small, least), np.maximum(small, most))
        # Compensated along the motion of a joint that surely moves, it would keep that up.
        along = np.maximum(0.0, 1.0 - np.abs(dq) / MIN_MOTION_SPEED_RAD_S)
        return self.disturbance * np.where(self.disturbance * dq > 0.0, along, 1.0)

    def change_load(self, added_gravity: Array) -> None:
        """Keep the brake's torque unchanged when g(q) grows by `added_gravity`, (n,) [N m]."""
        self.disturbance = self.disturbance - added_gravity
        self._disturbance_range = self.disturbance, self.disturbance

    def record_limited_torque(self, desired: Array, sent: Array) -> None:
        """Record a desired torque and the torque sent after limiting, (n,) each [N m]."""
        self._withheld_torque, self._sent_torque = desired - sent, sent
        if self._torque_changed_s is None:
            # Before this the torque from before braking may still act.
            turning = np.abs(self._withheld_torque) / MAX_TORQUE_RATE_NM_S
            self._torque_changed_s = np.maximum(MAX_DISTURBANCE_TIME_S, turning)

    def bear_speed(self) -> None:
        """Judge no speeds any more until `begin`: a push drives the arm, not the brake."""
        self.failure_reason, self._max_speed = None, np.full_like(self._max_speed, np.inf)

    def _watch_speeds(self, speed: Array, elapsed: float, excess: Array) -> None:
        """Update `at_rest`, `is_still` and `failure_reason` by joint speeds, (n,) [rad/s]."""
        self._time_s += elapsed
        rests = bool(speed.max() < MAX_STOPPED_SPEED_RAD_S)
        self._rest_count = self._rest_count + 1 if rests else 0
        rested = self._rest_count >= MIN_GOOD_STATE_COUNT
        self.is_still = rested or (self.is_still and rests)
        self._min_time_constant *= not rested
        # What kp bears is then borne by the disturbance torque, which stays if states are lost; a
        # receiver, which estimates none, goes on by kp.
        self._comes_to_rest = rested and not self.at_rest and bool(excess.any())
        self.at_rest = self.at_rest or rested or self._time_s > MAX_BRAKING_TIME_S
        turning = True if self._torque_changed_s is None else self._time_s < self._torque_changed_s
        self._max_speed = np.where(turning, np.maximum(self._max_speed, speed), self._max_speed)
        faster = speed - self._max_speed
        joint = int((faster - self._max_speed_gain).argmax())
        gains = self._driving and not self.at_rest and faster[joint] > self._max_speed_gain[joint]
        self._faster_s = self._faster_s + elapsed if gains else 0.0
        if self._faster_s >= RUNAWAY_DETECTION_TIME_S:
            name, more = self._joint_names[joint], float(faster[joint])
            self.failure_reason = ReasonCode.BRAKING_FAILED(joint=name, faster=more)


def _inertial_braking_share(mass: Array, kd: Array, time_constant: float, age: float) -> Array:
    """Return the share, 0 to 1, (n,), of the torque M(q) a that braking adds to damping by kd."""
    # With old states M(q) a makes light directions swing that kd damps, as of an iiwa's joints 1
    # and 3: it goes where kd alone takes at most twice as long, the other joints being free.
    aged = min(1.0, MIN_TIME_CONSTANT_TO_AGE_RATIO * age / BRAKING_TIME_CONSTANT_S)
    damped: Array | float = 0.0
    if aged:
        damped = np.minimum(1.0, 2.0 * kd * time_constant * inverse_mass_matrix(mass).diagonal())
    undamped = 1.0 - np.minimum(1.0, kd * time_constant / mass.diagonal())
    return np.asarray((1.0 - aged * damped) * undamped)


class OpenLoopStop:
    """
    Brings an arm whose joint states are missing to rest by its model; computes its resting torque.

    Attributes
    ----------
    last_seen : tuple or None
        Position and velocity, (n,) each, of each joint when it was seen last, and when, one time
        or one for each joint [s].
    is_stopping : bool
        Whether the arm is brought to rest by the model, until its states can be used again.

    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Discard the last state, and end a stop by the model."""
        self.last_seen: tuple[Array, Array, Array | float] | None = None
        self.is_stopping, self._begin_time, self._followed_mask = False, 0.0, np.array(False)

    def record_state(
        self, q: Array, dq: Array, now: float, seen: NDArray[np.bool_], followed: NDArray[np.bool_]
    ) -> None:
        """
        Record q and dq, (n,) each, of the joints `seen`, and dq of those `followed`, at `now` [s].

        Those `followed` by their velocity, as their positions are not believed, go on from their
        last position. The others keep theirs; an arm that was never seen as a whole has none.
        """
        self._followed_mask = followed
        if all(seen.tolist()):
            self.last_seen = q, dq, now
        elif self.last_seen is not None:
            q_last, dq_last, when = self.last_seen
            moved, known = np.where(seen, q, self.probable_state(now)[0]), seen | followed
            both = np.where(known, moved, q_last), np.where(known, dq, dq_last)
            self.last_seen = *both, np.where(known, now, when)

    def begin_stop(self, now: float, partly_seen: bool = False) -> None:
        """
        At `now` [s], begin the stop by the model of an arm last seen moving, or `partly_seen`.

        `partly_seen`: joints are lost of an arm whose others are seen, and may move.
        """
        if self.last_seen is not None and not self.is_stopping:
            q, dq, _ = self.last_seen
            self.last_seen = q, dq, now
            self.is_stopping = partly_seen or bool(np.abs(dq).max() > MAX_REST_SPEED_RAD_S)
            self._begin_time = now

    def probable_state(self, now: float) -> tuple[Array, Array]:
        """
        Return the probable position [rad] and velocity [rad/s] at a time [s], (n,) each.

        The velocity of a joint that is not seen is taken to decay exponentially.
        """
        assert self.last_seen is not None, 'only an arm that was seen is stopped'
        q, dq, since = self.last_seen
        left = np.exp(-np.maximum(0.0, now - since) / UNSEEN_STOP_TIME_CONSTANT_S)
        return q + (1.0 - left) * UNSEEN_STOP_TIME_CONSTANT_S * dq, left * dq

    def stopping_torque(self, terms: TermModel, now: float) -> Array:
        """Return the torque that stops the arm by the model at a time [s], (n,) [N m]."""
        q, dq = self.probable_state(now)
        slowing = terms.inertia_torque(q, dq / UNSEEN_STOP_TIME_CONSTANT_S)
        return terms.gravity_to_command(q, terms.gravity(q)) + terms.coriolis(q, dq) - slowing

    def has_stopped(self, terms: TermModel, now: float) -> bool:
        """
        Return whether the stop by the model is over at a time [s].

        Joints that are seen, or believed by their velocity, are slowed until they rest, for at
        most MAX_BRAKING_TIME_S. Where the target adds no gravity, joints may fall: while some are
        seen, the stop goes on until all are. Where it does, it ends if one is not followed.
        """
        since_begin = now - self._begin_time
        if since_begin < UNSEEN_STOP_TIME_S or self.last_seen is None:
            return since_begin >= UNSEEN_STOP_TIME_S
        _, dq, since = self.last_seen
        seen = np.broadcast_to(now - since < MAX_STATE_GAP_S, dq.shape)
        if terms.adds_gravity and not seen.all():
            return True  # swapped joints would be driven for ever
        if not terms.adds_gravity and seen.any() and not (seen & ~self._followed_mask).all():
            return False
        moves = np.abs(dq) > MAX_REST_SPEED_RAD_S
        return since_begin > MAX_BRAKING_TIME_S or not moves[seen].any()

    def resting_torque(self, terms: TermModel, now: float) -> Array:
        """Return the probable g(q) less what the target adds, (n,) [N m]; zero if never seen."""
        if self.last_seen is None:
            return np.zeros(terms.loaded_arm.n)
        q, _ = self.probable_state(now)
        return terms.gravity_to_command(q, terms.gravity(q))
