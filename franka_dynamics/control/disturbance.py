# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Computes disturbance torques, which the model does not explain, and checks their bounds.

A disturbance torque is what the joints get beyond what their motion needs by the model (in the
literature the residual of the momentum observer). The joints get the sent torque and the gravity
torque that the target adds:

    disturbance = sent + added gravity - needed by the motion
    external = measured without friction - needed by the motion

Without a measured torque `external` is `disturbance`.
"""

from typing import NamedTuple

import numpy as np

from . import excess_causes
from .ending import Cause, Ending, Reason, ReasonCode
from .limits import MAX_GENTLE_SPEED_RAD_S, MAX_TORQUE_RATE_NM_S, RUNAWAY_DETECTION_TIME_S
from .misdirected_torques import find_misdirected_joints, KEPT_STATE_COUNT
from .settings import friction_in_measured_effort, StateLimits
from .terms import MAX_REST_SPEED_RAD_S, MIN_MOTION_SPEED_RAD_S, StateTerms, TermModel
from ..arm import ArmDescription
from ..arm.friction import FrictionState
from ..arrays import Array, NDArray
from ..dynamics.external_torque import inverse_mass_matrix, LoadEstimator, MomentumObserver
from ..errors import distinct_texts

# Bounds on disturbance torques, by the measured or the commanded torque, as shares of a joint's
# torque limit: MAX_START_DISTURBANCE_RATIO before the first torque, MAX_DISTURBANCE_RATIO later,
# MAX_WRIST_DISTURBANCE_RATIO for limits below MAX_WRIST_TORQUE_LIMIT_NM. Two real FER at up to
# 85 % of their velocity limits reached 8.5 %, an FR3 8.5 % (12.9 % with an undeclared hand).
# libfranka's examples let the robot itself stop at 23 % and, at the wrist, 100 %.
# MAX_DISTURBANCE_RATIO was chosen on draw 22 of benchmarks/guard_false_alarms.py, and judged on
# draw 23 and on draw 9 of guard_misconfiguration.py.
MAX_DISTURBANCE_RATIO = 0.20
MAX_START_DISTURBANCE_RATIO = 0.5 * MAX_DISTURBANCE_RATIO
MAX_WRIST_DISTURBANCE_RATIO = 0.3125
MAX_WRIST_TORQUE_LIMIT_NM = 20.0
# For MAX_PICK_UP_TIME_S [s] after a change of payload the arm may carry any load between the old
# and the new one: else 10 of 16 Franka arms that pick up 2 kg at its end stop (draw 88 of
# benchmarks/guard_false_alarms.py). A joint faster than MAX_GENTLE_SPEED_RAD_S ends that: else
# gentle gains let an absent load of 2.9 kg drive an FR3 at 0.9 rad/s; 0.6 where this speed ends
# the allowance (2 kg, which hardly exceed the bounds, drive it at 2.5).
MAX_PICK_UP_TIME_S = 2.0
# A torque beyond its bound stops the arm after MAX_DISTURBANCE_TIME_S [s], because elastic gears
# ripple. One joint state, which may come after a gap, counts as at most half of it.
MAX_DISTURBANCE_TIME_S = 0.02
MAX_COUNTED_PERIOD_S = 0.5 * MAX_DISTURBANCE_TIME_S
# The brakes of an arm may open only once its receiver takes torques. Until then the arm rests
# whatever is sent, and for MAX_BRAKE_RELEASE_TIME_S [s] after the law begins an arm at rest that
# was not held is not judged.
MAX_BRAKE_RELEASE_TIME_S = 1.0
# A force on the flange explains disturbance torques of which it leaves at most this share. Of 671
# pushes of 40 to 300 N, which chose it, four were taken for exchanged torques without this (7 to
# 14 rad/s; with it at most 3.8), of 775 other ones a single one with it (13.5, the law 4.0). The
# smaller share holds where a joint is already faster than twice its limit: with 0.25 an arm whose
# torques come in the reverse order got faster (79 to 130 rad/s, draw 303), with 0.07 most pushes.
MAX_PUSH_RESIDUAL_RATIO, MAX_FAST_PUSH_RESIDUAL_RATIO = 0.4, 0.15
# In the last PUSH_STATE_COUNT states a push, not wrong wiring, drives the arm if each joint whose
# sent torque changed by MIN_SENT_CHANGE of its `start_bound`, and by half of the largest such
# share, got within MAX_SHARE_DEVIATION of ARRIVED_SHARE of that; or if a flange force leaves that
# share of what was more. Chosen on 190 hard pushes and 140 rows of wrong wiring of
# benchmarks/guard_misconfiguration.py. Where braking failed in 130 other pushes, and what was sent
# had not arrived, a force left at most 0.41; where wiring was wrong and COAST helped, 0.46 and
# more in 15 of 17 rows.
PUSH_STATE_COUNT, MIN_SENT_CHANGE, ARRIVED_SHARE, MAX_SHARE_DEVIATION = 20, 0.3, 1.5, 1.0
# So near its position limit a joint leans on its mechanical stop [rad or m].
STOP_DISTANCE_RAD = 0.02
# So many of the last torques are compared with a measured one, which may repeat one of them.
MAX_EFFORT_ECHO_DELAY_STEPS = 3

# A joint's friction may be STICTION_MARGIN_FACTOR times the one that the arm's description has
# (6.5 % of the torque limit at joint 5 of an FR3, MuJoCo Menagerie), and at least
# MIN_STICTION_TO_LIMIT times the torque limit. More, and the monitor would take a small
# measured torque for none at the start.
MIN_STICTION_TO_LIMIT = 0.02
STICTION_MARGIN_FACTOR = 1.25


class ObserverTorques(NamedTuple):
    """Torques estimated by the momentum observer, or changes of them, (n,) each [N m]."""

    disturbance: Array
    external: Array
    minus_needed: Array  # minus the torque that the motion needs


class DisturbanceMonitor:
    """
    Computes and watches the disturbance torques of one arm, state by state.

    Attributes
    ----------
    disturbance_torque, external_torque : ndarray, shape (n,)
        The last estimates of `disturbance` and `external` [N m], in FCI's sign.
    has_effort : bool
        Whether the last state came with a measured torque.
    received_torque : ndarray, shape (n,)
        The last measured torque without the gravity torque that the target adds [N m].
    start_bound, running_bound : ndarray, shape (n,)
        Bounds before the first torque and afterwards, see `disturbance_bounds` [N m].
    misdirected_joints : ndarray of bool, shape (n,)
        Joints between which torques were found to be exchanged, or whose torque was reversed.
    max_bound_ratios : ndarray, shape (n,)
        The largest share of a disturbance torque in `running_bound` that `check_bounds` has seen.

    """

    def __init__(self, arm: ArmDescription, limits: StateLimits, terms: TermModel) -> None:
        self._arm, self._friction_choice = arm, limits.effort_friction
        self._held_until_commanded = limits.held_until_commanded
        self._stiction, self._zero = stiction_torque(arm), np.zeros(arm.n)
        self.start_bound, self.running_bound = disturbance_bounds(arm)
        self.load_estimator = LoadEstimator(arm, MAX_REST_SPEED_RAD_S)
        # `_excess_s`: how long a disturbance torque has exceeded its bound [s].
        self.max_bound_ratios, self._excess_s = self._zero.copy(), 0.0
        self.misdirected_joints = np.zeros(arm.n, dtype=bool)
        # Of a state in each row: sent and received torque, velocity, both torques as estimated.
        self._torque_buffer, self._buffer_end = np.zeros((2 * KEPT_STATE_COUNT, 5, arm.n)), 0
        self._time_since_fit_s = 0.0  # how long the rows were not looked at [s]
        self._brakes_until = 0.0  # stamp until which brakes may hold an arm at rest
        self._terms = terms  # by which torques go out
        self.forget_states()

    def forget_states(self) -> None:
        """Discard all joint states, torque estimates and the allowance for a changed payload."""
        self._observer = MomentumObserver(self._terms.true_model)
        self._friction = self._new_effort_friction()
        self.load_estimator.reset()
        self.has_effort = False
        self.disturbance_torque = self.external_torque = self.received_torque = self._zero
        # Needed by the motion, and commanded by now [N m].
        self._needed_torque = self._acting_torque = self._zero
        self._buffer_end = 0
        self._state = StateTerms(0.0, *5 * (self._zero,))  # the last one
        # While the arm may carry the old load: stamp of the change, change of g(q) [N m]; or while
        # an arm that was held is let go: a stamp, minus the disturbance torque that held it.
        self._payload_change = -np.inf, self._zero

    def reset_at_first_torque(self, stamp: float) -> None:
        """Zero disturbance and external torques, restart checks, at a first torque's stamp [s]."""
        estimate = ObserverTorques(self._zero, self._zero, -self._state.gravity)
        self._observer.reset_estimate(np.array(estimate))
        self.disturbance_torque = self.external_torque = self._zero
        self._buffer_end = 0
        self._excess_s, self._brakes_until = 0.0, stamp + MAX_BRAKE_RELEASE_TIME_S
        self.misdirected_joints = np.zeros(self._arm.n, dtype=bool)

    def change_terms(self, terms: TermModel, state: StateTerms | None, *, new_load: bool) -> Array:
        """
        Change the model; return the rise of gravity torque to command, (n,) [N m]; 0 if no state.

        Torques go out by `terms` from now on, at a state; `new_load`: the payload has changed.
        """
        change = self._torque_change(terms, state)
        self.disturbance_torque = self.disturbance_torque + change.disturbance
        self.external_torque = self.external_torque + change.external
        self._observer.change_model(terms.true_model, np.array(change))
        self._terms = terms
        self._friction = self._new_effort_friction()
        if new_load:
            self.load_estimator.reset()
        if new_load and state is not None:
            self._payload_change = state.stamp, self._payload_change[1] - change.minus_needed
        return -change.disturbance

    def forgive(self, torque: Array) -> None:
        """Forgive any share of a disturbance torque, (n,) [N m], as after a change of payload."""
        self._payload_change = self._state.stamp, -torque

    def _torque_change(self, terms: TermModel, state: StateTerms | None) -> ObserverTorques:
        """Return the estimates' change if `terms` replace the present ones; 0 without state."""
        if state is None:
            return ObserverTorques(self._zero, self._zero, self._zero)
        q, before = state.q, self._terms
        old, new = before.gravity(q), terms.gravity(q)
        more = terms.gravity_to_command(q, new) - before.gravity_to_command(q, old)
        return ObserverTorques(-more, old - new if self.has_effort else -more, old - new)

    def _new_effort_friction(self) -> FrictionState:
        """Return a new friction state for the joint friction that the measured torque contains."""
        choice, profile = self._friction_choice, self._terms.profile
        return FrictionState(friction_in_measured_effort(choice, self._arm, profile))

    @property
    def is_effort_idle(self) -> bool:
        """Whether measured torques are missing or within friction, as when brakes hold the arm."""
        return not self.has_effort or bool((np.abs(self.received_torque) <= self._stiction).all())

    def update(self, state: StateTerms, effort: Array | None, sent: list[Array], lag: int) -> None:
        """
        Update disturbance and external torques and load by a state, sent and measured torques.

        `effort` is the measured torque, (n,) [N m], or None; `sent` are the torques sent before
        this state, (n,) each [N m], of which the last `lag` had not arrived when it was measured.
        """
        terms = self._terms
        if any(self._payload_change[1].tolist()):
            over = state.stamp - self._payload_change[0] > MAX_PICK_UP_TIME_S
            if over or np.abs(state.dq).max() > MAX_GENTLE_SPEED_RAD_S:
                self._payload_change = -np.inf, self._zero
        # Torques of before a gap are not late ones.
        self._buffer_end *= state.stamp - self._state.stamp < MAX_DISTURBANCE_TIME_S
        self._state = state
        added = state.gravity - terms.gravity_to_command(state.q, state.gravity)
        if sent:
            believed = added + sent[-1 - min(lag, len(sent) - 1)]
            self._acting_torque = added + sent[-1]
        else:
            # Before the first torque a target that compensates gravity carries the arm itself,
            # also on an inclined base.
            believed = self._acting_torque = state.gravity if terms.adds_gravity else added
        self.has_effort = effort is not None and any(effort.tolist())
        # Some receivers that add gravity report one of the last torques as effort, which measures
        # nothing.
        if self.has_effort and effort is not None and terms.adds_gravity:
            echoes = [one.tolist() for one in sent[-MAX_EFFORT_ECHO_DELAY_STEPS:]]
            self.has_effort = effort.tolist() not in echoes
        torque = believed
        if self.has_effort and effort is not None:
            torque = effort
            if self._friction.model is not None:
                self._friction.update(state.stamp, state.q)
                torque = effort - self._friction.torque(state.dq)
            self.received_torque = effort - added
            # No torque is sent there until `start`, which another cause must not refuse for ever.
            if any(self.misdirected_joints.tolist()):
                believed = np.where(self.misdirected_joints, torque, believed)
        torques = np.array((believed, torque, self._zero))
        found = self._observer.update(*state[:3], torques, state.gravity)
        self.disturbance_torque, self.external_torque, needed = ObserverTorques(*found)
        self._needed_torque = -needed
        if sent or self.has_effort:
            self.load_estimator.update(*state[:3], self.external_torque, terms.true_model)
        both = self.disturbance_torque - needed, -needed  # the observer filters both alike
        rows = np.array(((believed, torque) if self.has_effort else both) + both) - added
        if self._buffer_end == len(self._torque_buffer):
            self._torque_buffer[:KEPT_STATE_COUNT] = self._torque_buffer[KEPT_STATE_COUNT:]
            self._buffer_end = KEPT_STATE_COUNT
        self._torque_buffer[self._buffer_end] = *rows[:2], state.dq, *rows[2:]
        self._buffer_end += 1

    def _torque_differences(self) -> tuple[Array, Array]:
        """Return received - needed, received - commanded torque (n,) [N m] less a load's share."""
        both = np.array((self.external_torque, self.external_torque - self.disturbance_torque))
        if any((change := self._payload_change[1]).tolist()):  # any share of it, at each joint
            both = both - np.clip(both, *np.sort((0.0 * change, -change), 0))
        return both[0], both[1]

    @property
    def _latest_samples(self) -> Array:
        """Rows of the last states, with torques less what the target adds, (k, 5, n)."""
        return self._torque_buffer[max(0, self._buffer_end - KEPT_STATE_COUNT) : self._buffer_end]

    @property
    def is_torque_swinging(self) -> bool:
        """Whether a joint's sent torque lately rose and fell by more than `running_bound`."""
        sent = self._latest_samples[:, 0]
        rises = np.array([u - np.minimum.accumulate(u) for u in (sent, -sent)])
        return bool((rises.max(axis=1, initial=0.0).min(axis=0) > self.running_bound).any())

    def check_bounds(
        self, state: StateTerms, elapsed: float, is_active: bool, carries_arm: bool
    ) -> Ending | None:
        """
        Return an ending if torques are misdirected or a disturbance lasts beyond bounds, or None.

        `elapsed` is the time since the state before [s]. `is_active`: the law or the brake answers
        the state; `carries_arm`: the law does, or the resting torque that carries the arm.

        Where the joints get what was sent to others, earlier, or reversed, braking's torques would
        not arrive either. An arm that carries itself is slowed by friction once it is let go, and
        one that does not falls less fast than it is driven.
        """
        self._time_since_fit_s += elapsed
        if is_active and self._time_since_fit_s >= RUNAWAY_DETECTION_TIME_S:
            self._time_since_fit_s = 0.0
            rows, bounds = self._latest_samples, (self.running_bound, self.start_bound)
            found = find_misdirected_joints(rows, *bounds, elapsed, measured=self.has_effort)
            if found is not None and (self.has_effort or not self._is_push()):
                self.mark_misdirected_joints(found)
                return Cause.TORQUE_NOT_APPLIED.ending(ReasonCode.JOINTS_MIXED_UP())
        if not carries_arm:
            return None
        shares = np.abs(self._torque_differences()).max(axis=0) / self.running_bound
        np.maximum(self.max_bound_ratios, shares, out=self.max_bound_ratios)
        if state.stamp <= self._brakes_until and state.is_moving:
            self._brakes_until = -np.inf
        over = shares.max() > 1.0 and state.stamp > self._brakes_until
        self._excess_s = self._excess_s + min(elapsed, MAX_COUNTED_PERIOD_S) if over else 0.0
        lasts = self._excess_s >= MAX_DISTURBANCE_TIME_S
        why = self.bound_violation(self.running_bound) if lasts else None
        return None if why is None else Cause.LASTING_DISTURBANCE.ending(why)

    def mark_misdirected_joints(self, found: NDArray[np.bool_] | bool = False) -> None:
        """Set `misdirected_joints` for `found` ones, and where measured and sent torque differ."""
        last = self._latest_samples[-1:]
        other = (np.abs(last[:, 1] - last[:, 0]) > self.running_bound).any(axis=0)
        # Where the measured torque departs more from what the motion needs, it is wrong.
        by_motion = np.abs(self.disturbance_torque) >= np.abs(self.external_torque)
        self.misdirected_joints |= (found | (other & self.has_effort)) & by_motion

    def shows_push(self, max_residual_ratio: float) -> bool:
        """
        Return whether torques estimated by the motion lately followed the sent ones, as in a push.

        Or whether a flange force made what was more, up to a share of that. Not if a measured
        torque departed from the sent one; where states are exchanged none does.
        """
        measured, rows = np.split(self._latest_samples[-PUSH_STATE_COUNT:], (3,), axis=1)
        departs = (np.ptp(measured[:, :2], axis=1) > self.start_bound).any()
        if len(rows) < PUSH_STATE_COUNT or (self.has_effort and departs):
            return False
        changes = rows - rows.mean(axis=0)
        shares = np.ptp(rows[:, 0], axis=0) / self.start_bound
        changed = shares > max(MIN_SENT_CHANGE, 0.5 * shares.max())
        whole, arrived = (changes * changes[:, :1]).sum(axis=0)[:, changed]
        arrives = np.abs(arrived - ARRIVED_SHARE * whole) < MAX_SHARE_DEVIATION * whole
        surplus = np.subtract(*rows.mean(axis=0)) / self.start_bound
        pushed = self._is_flange_force(surplus, max_residual_ratio)
        return bool(pushed or (changed.any() and arrives.all()))

    def _is_push(self) -> bool:
        """
        Return whether a flange force explains several joints' disturbances, none as if exchanged.

        Not where that of the most disturbed joint is opposite to another's, as if exchanged, or
        it got the opposite of what was sent.
        """
        torque, shares = self.disturbance_torque, self.disturbance_torque / self.start_bound
        missed, worst = torque[np.abs(shares) > 1.0], np.abs(shares).argmax()
        most, (sent, received, *_) = abs(torque[worst]), self._latest_samples[-1, :, worst]
        mixed = len(missed) < 2 or abs(sent + received) < MAX_PUSH_RESIDUAL_RATIO * most
        mixed |= (np.abs(missed + torque[worst]) < 0.5 * MAX_PUSH_RESIDUAL_RATIO * most).any()
        return not mixed and self._is_flange_force(shares, MAX_PUSH_RESIDUAL_RATIO)

    def _is_flange_force(self, shares: Array, max_residual_ratio: float) -> bool:
        """Return whether a flange force explains disturbances, (n,), as shares of their bounds."""
        jacobian = self._terms.true_model.jacobian(self._state.q)[:3] / self.start_bound
        left = shares - np.linalg.lstsq(jacobian.T, shares)[0] @ jacobian
        return bool(left @ left < max_residual_ratio**2 * (shares @ shares))

    def speed_gain_at_reversal(self, state: StateTerms) -> Array | float:
        """
        Return the speed that joints still gain until torques can reverse, (n,) or 0.0 [rad/s].

        Where the model does not explain an acceleration, it lasts until the commanded torque has
        changed, at its rate limit, by what accelerates the arm. The observer says late what does,
        so a joint that the commanded torque of now, less the disturbance torque, already slows
        down gains nothing.
        """
        if all((np.abs(self.disturbance_torque) <= self.start_bound).tolist()):
            return 0.0
        both = np.array((self._needed_torque, self._acting_torque - self.disturbance_torque))
        driving = both - state.gravity - state.coriolis
        accelerations = driving @ inverse_mass_matrix(self._terms.true_model.mass_matrix(state.q))
        late, now = np.maximum(0.0, accelerations * np.sign(state.dq))
        return np.where(now > 0, 0.5 * late, 0.0) * np.abs(driving[0]).max() / MAX_TORQUE_RATE_NM_S

    def bound_violation(self, bound: Array, terms: TermModel | None = None) -> Reason | None:
        """
        Return a reason if a disturbance torque exceeds its `bound`, (n,) [N m], else None.

        If torques go out by other terms than `terms`, it is the disturbance torque that `terms`
        would give, and no share of a load is forgiven.
        """
        motion, command = self._torque_differences()
        terms = terms or self._terms
        if terms is not self._terms:
            change = self._torque_change(terms, self._state)
            motion = self.external_torque + change.external
            command = motion - (self.disturbance_torque + change.disturbance)
        shares = np.abs((motion, command)) / bound
        joint = int(shares.max(axis=0).argmax())
        if shares[:, joint].max() <= 1.0:
            return None
        torque, other = motion[joint], 'what its motion needs'
        if shares[0, joint] <= 1.0:
            torque = command[joint]
            other = f'what is commanded and target {terms.profile.name} adds'
        size, most = distinct_texts(abs(torque), bound[joint], 2)
        size, name = ('-' if torque < 0.0 else '+') + size, self._arm.joint_names[joint]
        kind = 'measured' if self.has_effort else 'commanded'
        found = {'kind': kind, 'joint': name, 'torque': size, 'other': other, 'most': most}
        causes = self._causes_of(motion, command, joint, terms)
        return ReasonCode.LARGE_DISTURBANCE(**found, causes=causes)

    def probable_causes(self) -> str:
        """Return ': ' and probable causes of the present disturbance torques; '' if small."""
        (motion, command), bound = self._torque_differences(), self.start_bound
        shares = np.abs((motion, command)).max(axis=0) / bound
        causes = self._causes_of(motion, command, int(shares.argmax()), self._terms)
        return f': {causes}' if shares.max() > 1.0 else ''

    def _causes_of(self, motion: Array, command: Array, joint: int, terms: TermModel) -> str:
        """Return causes of the differences `motion` and `command`, largest at `joint`, as text."""
        name, load = self._arm.joint_names[joint], self.load_estimator.load_mass_text()
        state, bound, more = self._state, self.start_bound, motion[joint]
        if load and (np.abs(motion - self.load_estimator.load_torque()) <= bound).all():
            return load
        # Where efforts are wrong, both differ.
        by_command = self.has_effort and (np.abs(motion) <= bound).all()
        kind = excess_causes.MOTION if self.has_effort else excess_causes.NO_SENSOR
        kind, torque = (excess_causes.COMMAND, command) if by_command else (kind, motion)
        limit = self._arm.limit('upper' if more > 0.0 else 'lower')[joint]
        leans = abs(more) > bound[joint] and abs(state.q[joint] - limit) < STOP_DISTANCE_RAD
        stop = excess_causes.MECHANICAL_STOP.format(joint=name) if leans else ''
        who = terms.adds_gravity, terms.profile.name, name
        excess = kind, torque, state.gravity, bound, state.is_moving, *who
        likely = excess_causes.probable_causes(excess_causes.TorqueExcess(*excess))
        return ', or '.join(filter(None, (load, stop, likely)))

    def can_test_terms(self, terms: TermModel) -> bool:
        """
        Return whether measured torque can test `terms` before the first torque is sent.

        Motor brakes hold an arm that does not carry itself until a torque comes: no torque is
        measured then, or one that says nothing.
        """
        motor_brakes = self.is_effort_idle or self._held_until_commanded
        return self.has_effort and not (motor_brakes and not terms.adds_gravity)


def disturbance_bounds(arm: ArmDescription) -> tuple[Array, Array]:
    """Return bounds on disturbance torques before the first torque, and later, (n,) each [N m]."""
    effort = arm.limit('effort')
    is_wrist = effort < MAX_WRIST_TORQUE_LIMIT_NM
    wide = np.where(is_wrist, MAX_WRIST_DISTURBANCE_RATIO, MAX_DISTURBANCE_RATIO)
    return MAX_START_DISTURBANCE_RATIO * effort, wide * effort


def stiction_torque(arm: ArmDescription) -> Array:
    """Return the change of torque below which friction may hold a joint, (n,) [N m]."""
    known, speed = arm.friction or arm.simulated_friction, np.full(arm.n, MIN_MOTION_SPEED_RAD_S)
    slides = np.zeros(arm.n) if known is None else np.abs(known.torque(speed))
    return np.maximum(MIN_STICTION_TO_LIMIT * arm.limit('effort'), STICTION_MARGIN_FACTOR * slides)
