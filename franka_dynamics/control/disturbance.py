# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Computes disturbance torques, which the model does not explain, and checks their bounds.

A disturbance torque is what the joints get beyond what their motion needs by the model (in the
literature the residual of the momentum observer). The joints get the sent torque and the gravity
torque that the target adds:

    disturbance = sent + added gravity - needed by the motion
    external = measured without friction - needed by the motion

Without a measured torque `external` is `disturbance`. Two differences are checked: `external`, and
`external - disturbance`, which is what is measured beyond what was sent and the target adds (zero
without a measured torque). Two things are not counted: an arm at rest just after the first torque,
whose brakes may open late, and for some time a share of a payload that was changed.
"""

from enum import Enum
from typing import NamedTuple

import numpy as np

from .ending import Reason, ReasonCode
from .limits import MAX_GENTLE_SPEED_RAD_S
from .settings import friction_in_measured_effort, StateLimits
from .terms import (
    MAX_REST_SPEED_RAD_S,
    StateTerms,
    stiction_torque,
    TermModel,
)
from ..arm import ArmDescription, LinkInertia
from ..arm.friction_state import FrictionState
from ..arrays import Array, NDArray
from ..dynamics.external_torque import LoadEstimator, MomentumObserver
from ..errors import distinct_texts

# Bound on disturbance torques, as a share of a joint's torque limit. Two real FER at up to 85 % of
# their velocity limits reached 8.5 %, an FR3 8.5 % (12.9 % with an undeclared hand).
MAX_DISTURBANCE_RATIO = 0.20
# The same before the first torque: half of it, because the arm rests.
MAX_START_DISTURBANCE_RATIO = 0.5 * MAX_DISTURBANCE_RATIO
# The same for torque limits below MAX_WRIST_TORQUE_LIMIT_NM, of which friction is a larger share.
MAX_WRIST_DISTURBANCE_RATIO = 0.3125
MAX_WRIST_TORQUE_LIMIT_NM = 20.0
# For this time [s] after a change of payload, or until a joint is faster than
# MAX_GENTLE_SPEED_RAD_S, the arm may carry any load between the old and the new one.
MAX_PICK_UP_TIME_S = 2.0
# A torque beyond its bound stops the arm after this time [s], because elastic gears ripple.
MAX_DISTURBANCE_TIME_S = 0.02
# One joint state, which may come after a gap, counts as at most half of it [s].
MAX_COUNTED_PERIOD_S = 0.5 * MAX_DISTURBANCE_TIME_S
# The brakes of an arm may open only once its receiver takes torques: for so long [s] after the law
# begins an arm at rest is not judged.
MAX_BRAKE_RELEASE_TIME_S = 1.0
# So many of the last torques are compared with a measured one, which may repeat one of them.
MAX_EFFORT_ECHO_DELAY_STEPS = 3
# An excess is along or against g(q) if it is so by this share at all joints that bear weight.
MIN_EXCESS_TO_GRAVITY = 0.3
# A load explains an external torque if its weight leaves at most this share of the torque.
MAX_UNEXPLAINED_BY_LOAD = 0.5
# A declared payload is not there if the torque lacks so many times its weight: the observer is
# late, and an arm that falls lacks the inertia torque, too.
MIN_ABSENT_WEIGHTS = 0.5
MAX_ABSENT_WEIGHTS = 2.5
# The least load that is named [kg]: of less, friction and errors of the model may be the cause.
MIN_NAMED_LOAD_KG = 0.1

_CAUSES_UNLIKE_GRAVITY = (
    'target {target} (who adds g(q)?), payload, gravity_vector or the order of joints are wrong, '
    'or something touches the arm'
)


class Compared(Enum):
    """The two torques that differ."""

    MEASURED_AND_COMMANDED = 'the measured torque, and what is sent and the target adds'
    MEASURED_AND_NEEDED = 'the measured torque, and what the motion needs'
    SENT_AND_NEEDED = 'the sent torque, where none is measured, and what the motion needs'


class Along(Enum):
    """Whether an excess has the direction of g(q) at all joints that bear weight."""

    GRAVITY = 'along g(q)'
    AGAINST_GRAVITY = 'against g(q)'
    NEITHER = 'neither'


# Probable causes of an excess, by what differs and its direction.
CAUSES_OF_EXCESS = {
    (Compared.MEASURED_AND_COMMANDED, Along.GRAVITY): (
        'g(q) or a load is added twice (the receiver, Desk?), the receiver still applies an '
        'earlier torque, or somebody else sends'
    ),
    (Compared.MEASURED_AND_COMMANDED, Along.AGAINST_GRAVITY): (
        'no torque arrives, or nobody adds the g(q) that target {target} expects'
    ),
    (Compared.MEASURED_AND_COMMANDED, Along.NEITHER): (
        'somebody else sends torques, too, or the joints have another order'
    ),
    (Compared.MEASURED_AND_NEEDED, Along.GRAVITY): (
        'a payload or hand that nobody declared, something touches the arm, or other units'
    ),
    (Compared.MEASURED_AND_NEEDED, Along.AGAINST_GRAVITY): (
        'a load that is not there, a wrong gravity_vector, or efforts that lack gravity or are '
        "currents, as a UR's (let it publish joint states without efforts)"
    ),
    (Compared.MEASURED_AND_NEEDED, Along.NEITHER): _CAUSES_UNLIKE_GRAVITY,
    (Compared.SENT_AND_NEEDED, Along.GRAVITY): (
        'a payload or hand that nobody declared, or nobody adds the g(q) that target {target} '
        'expects'
    ),
    (Compared.SENT_AND_NEEDED, Along.AGAINST_GRAVITY): (
        'the receiver adds g(q), which target {target} takes for missing, a load is not there, or '
        'gravity_vector is wrong'
    ),
    (Compared.SENT_AND_NEEDED, Along.NEITHER): _CAUSES_UNLIKE_GRAVITY,
}
# The first cause where the caller's own law gives the torque.
CAUSE_OF_OWN_TORQUE = 'the torque of your own law presses a joint against its stop or an obstacle'
# What is said of a load [kg] that alone explains the external torque.
ABSENT_LOAD = '{mass:.2g} kg are declared that the motion does not show'
UNDECLARED_LOAD = 'about {mass:.1f} kg at the flange that nobody declared'

# What is said first of a joint at a limit, if it is pressed there or a torque is impossible.
JOINT_AT_STOP = '{joint} is at its {side} limit, and may have hit its stop'


def near_limits(arm: ArmDescription) -> tuple[Array, Array]:
    """
    Return the positions at or beyond which joints may be at their stops, lower and upper, (n,).

    A joint at its greatest velocity goes from there to its limit in MAX_DISTURBANCE_TIME_S, since
    a joint that hits its stop has bounced back until then. Without a velocity limit it is the
    limit.
    """
    velocity = arm.limit('velocity')
    near = MAX_DISTURBANCE_TIME_S * np.where(np.isfinite(velocity), velocity, 0.0)
    return arm.limit('lower') + near, arm.limit('upper') - near


class _Differences(NamedTuple):
    """
    What the joints get beyond what it is compared with, (n,) each [N m].

    `from_motion` is compared with what the motion needs by the model, `from_command` with what was
    sent and the target adds.
    """

    from_motion: Array
    from_command: Array


class DisturbanceMonitor:
    """
    Computes and watches the disturbance torques of one arm, state by state.

    Attributes
    ----------
    disturbance_torque, external_torque : ndarray, shape (n,)
        The last estimates of `disturbance` and `external` [N m], in FCI's sign.
    has_effort : bool
        Whether the last state came with a measured torque.
    start_bound, running_bound : ndarray, shape (n,)
        Bounds before the first torque and afterwards, see `disturbance_bounds` [N m].
    has_own_torque : bool
        Whether the torque of the caller's own law is sent; set from outside.
    stiction : ndarray, shape (n,)
        The change of torque below which friction may hold a joint [N m].
    max_bound_ratios : ndarray, shape (n,)
        The largest share of a disturbance torque in `running_bound` that `check_bounds` has seen.
    load_estimator : LoadEstimator
        The mass on the flange that nobody declared.

    """

    def __init__(self, arm: ArmDescription, limits: StateLimits, terms: TermModel) -> None:
        self._arm = arm
        self._limits = limits
        self._terms = terms
        self._zero = np.zeros(arm.n)
        self.stiction = stiction_torque(arm)
        self.start_bound, self.running_bound = disturbance_bounds(arm)
        self.load_estimator = LoadEstimator(arm, MAX_REST_SPEED_RAD_S)
        self.max_bound_ratios = self._zero.copy()
        self.has_own_torque = False
        self.forget_states()

    def forget_states(self) -> None:
        """Discard all joint states, torque estimates and the allowance for a changed payload."""
        self._observer = MomentumObserver(self._terms.true_model)
        self._friction = self._new_friction()
        self.load_estimator.reset()
        self.has_effort = False
        self._effort = self._zero  # the last measured torque [N m]
        # The sent torque that acted at the last state [N m]; None if that does not carry the arm.
        self._acting_torque: Array | None = None
        self.disturbance_torque = self._zero
        self.external_torque = self._zero
        self._excess_time_s = 0.0
        self._brakes_until = -np.inf  # stamp until which an arm at rest is not judged [s]
        self._state: StateTerms | None = None
        self._payload_change = self._zero  # change of g(q) [N m]
        self._payload_change_stamp = -np.inf  # [s]

    def _new_friction(self) -> FrictionState:
        """Return a new friction state for the joint friction that the measured torque contains."""
        choice = self._limits.effort_friction
        return FrictionState(friction_in_measured_effort(choice, self._arm, self._terms.profile))

    def reset_at_first_torque(self, stamp: float) -> None:
        """Restart the estimates and checks at a first torque's stamp [s]."""
        self._observer.reset_estimate(np.array((self._zero, self._zero)))
        self.disturbance_torque = self._zero
        self.external_torque = self._zero
        self._excess_time_s = 0.0
        self._brakes_until = stamp + MAX_BRAKE_RELEASE_TIME_S

    def may_brakes_hold(self, stamp: float) -> bool:
        """Return whether at a stamp [s] brakes may hold the arm, which open late."""
        return stamp <= self._brakes_until

    def change_terms(self, terms: TermModel, *, new_load: bool = False) -> None:
        """Change the model by which torques go out; `new_load`: the payload has changed."""
        if self._state is None:
            self._observer = MomentumObserver(terms.true_model)
        else:
            change = self._change_of_estimates(terms, self._state)
            self._observer.change_model(terms.true_model, change)
            self.disturbance_torque = self.disturbance_torque + change[0]
            self.external_torque = self.external_torque + change[1]
            if new_load:
                self._begin_load_allowance(terms, self._state)
        self._terms = terms
        self._friction = self._new_friction()

    def _begin_load_allowance(self, terms: TermModel, state: StateTerms) -> None:
        """Allow for any load between that of the terms until now and that of new `terms`."""
        gravity_change = terms.gravity(state.q) - self._terms.gravity(state.q)
        self._payload_change = self._payload_change + gravity_change
        self._payload_change_stamp = state.stamp
        self._end_load_allowance()
        self.load_estimator.reset()

    def update(
        self,
        state: StateTerms,
        effort: Array | None,
        sent: list[Array],
        lag: int,
        *,
        silent: bool,
    ) -> None:
        """
        Update disturbance and external torques and load by a state, sent and measured torques.

        `effort` is the measured torque, (n,) [N m], or None; `sent` are the torques sent before
        this state, (n,) each [N m], of which the last `lag` had not arrived when it was measured.
        A `silent` core has sent none for the law or the brake.
        """
        terms = self._terms
        self._state = state
        self._end_load_allowance()
        self._acting_torque = None
        if sent and not (silent and terms.adds_gravity):
            self._acting_torque = sent[-1 - min(lag, len(sent) - 1)]
        believed_torque = self._believed_torque(terms, state)
        received_torque = believed_torque
        self.has_effort = False
        if effort is not None and self._is_measured(effort, sent, silent=silent):
            self.has_effort = True
            self._effort = effort
            received_torque = self._without_friction(effort, state)
        self.disturbance_torque, self.external_torque = self._observer.update(
            state.stamp,
            state.q,
            state.dq,
            np.array((believed_torque, received_torque)),
            state.gravity,
        )
        if self._acting_torque is not None or self.has_effort:
            self.load_estimator.update(
                state.stamp, state.q, state.dq, self.external_torque, terms.true_model
            )

    def _is_measured(self, effort: Array, sent: list[Array], *, silent: bool) -> bool:
        """
        Return whether an effort, (n,) [N m], is a measured torque.

        All zeros are none. Some receivers that add gravity report one of the last torques that
        were `sent` as effort, which measures nothing.
        """
        if not any(effort.tolist()):
            return False
        if silent or not self._terms.adds_gravity:
            return True
        last_torques = [torque.tolist() for torque in sent[-MAX_EFFORT_ECHO_DELAY_STEPS:]]
        return effort.tolist() not in last_torques

    def _without_friction(self, effort: Array, state: StateTerms) -> Array:
        """Return a measured torque less the joint friction that it contains, (n,) [N m]."""
        if self._friction.model is None:
            return effort
        self._friction.update(state.stamp, state.q)
        # Accelerations are not measured: the load is that of a steady motion.
        load = state.gravity + state.coriolis
        return np.asarray(effort - self._friction.torque(state.dq, rigid_torque=load))

    def _end_load_allowance(self) -> None:
        """Forget a change of payload after MAX_PICK_UP_TIME_S, or once the arm is fast."""
        if self._state is None or self._payload_change_stamp == -np.inf:
            return
        is_fast = np.abs(self._state.dq).max() > MAX_GENTLE_SPEED_RAD_S
        if is_fast or self._state.stamp - self._payload_change_stamp > MAX_PICK_UP_TIME_S:
            self._payload_change = self._zero
            self._payload_change_stamp = -np.inf

    def _believed_torque(self, terms: TermModel, state: StateTerms) -> Array:
        """
        Return the torque that the joints get if sender and receiver do as `terms` say, (n,) [N m].

        Before the first torque a target that compensates gravity carries the arm itself, also on
        an inclined base.
        """
        if self._acting_torque is not None:
            return self._added_gravity(terms, state) + self._acting_torque
        return self._gravity(terms, state) if terms.adds_gravity else self._zero

    def _added_gravity(self, terms: TermModel, state: StateTerms) -> Array:
        """Return the gravity torque that the target adds by `terms`, (n,) [N m]."""
        gravity = self._gravity(terms, state)
        return gravity - terms.gravity_to_command(state.q, gravity)

    def _gravity(self, terms: TermModel, state: StateTerms) -> Array:
        """Return g(q) by `terms`, (n,) [N m]; a state has that of the terms by which it came."""
        return state.gravity if terms is self._terms else terms.gravity(state.q)

    def _change_of_estimates(self, terms: TermModel, state: StateTerms) -> Array:
        """Return how other `terms` change disturbance and external torque at rest, (2, n)."""
        needed = self._gravity(terms, state) - state.gravity
        believed = self._believed_torque(terms, state) - self._believed_torque(self._terms, state)
        # A measured torque does not depend on what is believed of it.
        measured = self._zero if self.has_effort else believed
        return np.array((believed - needed, measured - needed))

    def contradiction(self, terms: TermModel) -> Reason | None:
        """
        Return a reason if a measured torque contradicts `terms` before the first torque, or None.

        Motor brakes hold an arm that does not carry itself until a torque comes: none is measured
        then, or one within friction, which says nothing.
        """
        if not self.has_effort:
            return None
        is_idle = (
            self._limits.held_until_commanded or (np.abs(self._effort) <= self.stiction).all()
        )
        if is_idle and not terms.adds_gravity:
            return None
        return self.violation(self.start_bound, terms)

    def check_bounds(self, state: StateTerms, elapsed: float, bound: Array) -> Reason | None:
        """
        Return a reason if for MAX_DISTURBANCE_TIME_S a disturbance was beyond its bound, or None.

        `bound` is `running_bound` or `start_bound`; `elapsed` is the time since the state before
        [s].
        """
        differences = self._differences(self._terms)
        largest = np.maximum(np.abs(differences.from_motion), np.abs(differences.from_command))
        bound_ratios = largest / self.running_bound
        np.maximum(self.max_bound_ratios, bound_ratios, out=self.max_bound_ratios)
        if state.is_moving:  # its brakes are open
            self._brakes_until = -np.inf
        is_judged = not self.may_brakes_hold(state.stamp)
        if is_judged and any((largest > bound).tolist()):
            self._excess_time_s += min(elapsed, MAX_COUNTED_PERIOD_S)
        else:
            self._excess_time_s = 0.0
        if self._excess_time_s < MAX_DISTURBANCE_TIME_S:
            return None
        return self.violation(bound, self._terms)

    def _differences(self, terms: TermModel) -> _Differences:
        """Return the differences by `terms`, less what a changed payload may explain of them."""
        disturbance = self.disturbance_torque
        external = self.external_torque
        if self._state is not None and terms is not self._terms:
            change = self._change_of_estimates(terms, self._state)
            disturbance = disturbance + change[0]
            external = external + change[1]
        differences = _Differences(external, external - disturbance)
        if self._payload_change_stamp == -np.inf:
            return differences
        # An arm that still carries the old load gets less than the new one needs, by the change.
        lowest = np.minimum(0.0, -self._payload_change)
        highest = np.maximum(0.0, -self._payload_change)
        return _Differences(*(one - np.clip(one, lowest, highest) for one in differences))

    def violation(self, bound: Array, terms: TermModel | None = None) -> Reason | None:
        """
        Return a reason if a disturbance torque exceeds its `bound`, (n,) [N m], else None.

        `terms` are those that the arm is compared with, by default those by which torques go out.
        """
        terms = self._terms if terms is None else terms
        differences = self._differences(terms)
        to_bound = np.abs(differences) / bound  # (2, n)
        joint = int(to_bound.max(axis=0).argmax())
        if to_bound[:, joint].max() <= 1.0:
            return None
        by_motion = bool(to_bound[0, joint] > 1.0)
        excess = differences.from_motion if by_motion else differences.from_command
        size, max_size = distinct_texts(abs(excess[joint]), bound[joint], 2)
        return ReasonCode.LARGE_DISTURBANCE(
            kind='measured' if self.has_effort else 'commanded',
            joint=self._arm.joint_names[joint],
            torque=('-' if excess[joint] < 0.0 else '+') + size,
            unit=self._arm.joints[joint].kind.effort_unit,
            other=self._compared_torque_text(terms, joint, by_motion=by_motion),
            most=max_size,
            causes=self._probable_causes(terms, excess, bound, by_motion=by_motion),
        )

    def violation_at_start(self, terms: TermModel) -> Reason | None:
        """
        Return why a held arm contradicts the terms by which it is to start, or None.

        It may carry any load between that of the terms until now and that of `terms`.
        """
        kept = self._payload_change, self._payload_change_stamp
        if self._state is not None and terms is not self._terms:
            self._begin_load_allowance(terms, self._state)
        found = self.violation(self.start_bound, terms)
        self._payload_change, self._payload_change_stamp = kept
        return found

    def _compared_torque_text(self, terms: TermModel, joint: int, *, by_motion: bool) -> str:
        """Return as text what a joint's torque was compared with."""
        if not by_motion:
            return f'what is commanded and target {terms.profile.name} adds'
        if self._arm.torque_deviation is None:
            return 'what its motion needs'
        deviation = self._arm.torque_deviation.observed[joint]
        unit = self._arm.joints[joint].kind.effort_unit
        return f'what its motion needs (known to {deviation:.2g} {unit})'

    def causes_of_excess(self) -> str:
        """
        Return as text what may drive a joint, '' if nothing is known.

        These are the probable causes of a torque beyond `start_bound`, or a load within it: gains
        may be so low that it moves the arm.
        """
        reason = self.violation(self.start_bound)
        causes = reason.text_values['causes'] if reason else self._load_text(self._terms)
        return f': {causes}' if causes else ''

    def _load_text(self, terms: TermModel) -> str:
        """Return text on a load that alone explains the external torque, '' if none does."""
        load = self._load_beyond_declared(terms)
        text = ABSENT_LOAD if load < 0.0 else UNDECLARED_LOAD
        return text.format(mass=abs(load)) if load else ''

    def _load_beyond_declared(self, terms: TermModel) -> float:
        """
        Return the load whose weight alone explains the external torque [kg], 0.0 if none does.

        It is below zero if a declared payload is not there, else that of a point at the flange.
        Torques count by their share of `start_bound`.
        """
        assert self._state is not None, 'a state has come'
        external = self._differences(terms).from_motion / self.start_bound
        payload = terms.loaded_arm.payload
        is_declared = payload.mass > 0.0
        body = payload if is_declared else LinkInertia(1.0, np.zeros(3), np.zeros((3, 3)))
        carried = body.expressed_in(terms.loaded_arm.flange_transform())
        weight = terms.weight(self._state.q, carried) / self.start_bound
        square = float(weight @ weight)
        if square == 0.0:
            return 0.0
        share = float(external @ weight) / square  # [kg] without a payload
        rest = external - share * weight
        if rest @ rest > MAX_UNEXPLAINED_BY_LOAD**2 * (external @ external):
            return 0.0
        if is_declared:
            is_absent = MIN_ABSENT_WEIGHTS <= -share <= MAX_ABSENT_WEIGHTS
            return -payload.mass if is_absent else 0.0
        return share if share >= MIN_NAMED_LOAD_KG else 0.0

    def _stop_text(self, q: Array, excess: Array, bound: Array) -> str:
        """Return text on a joint that an excess torque presses against its stop, or ''."""
        arm = self._arm
        lower, upper = near_limits(arm)
        at_upper = (q >= upper) & (excess > bound)
        at_lower = (q <= lower) & (excess < -bound)
        if not (at_upper | at_lower).any():
            return ''
        joint = int(np.where(at_upper | at_lower, np.abs(excess) / bound, 0.0).argmax())
        side = 'upper' if at_upper[joint] else 'lower'
        return JOINT_AT_STOP.format(joint=arm.joint_names[joint], side=side)

    def _probable_causes(
        self, terms: TermModel, excess: Array, bound: Array, *, by_motion: bool
    ) -> str:
        """
        Return the probable causes of an excess torque, (n,) [N m], by what was compared.

        It is beyond its `bound`, (n,) [N m], at one joint or more.
        """
        assert self._state is not None, 'a state has come'
        compared = Compared.MEASURED_AND_NEEDED if by_motion else Compared.MEASURED_AND_COMMANDED
        if not self.has_effort:
            compared = Compared.SENT_AND_NEEDED
        gravity = self._gravity(terms, self._state)
        along = direction_of_excess(excess, gravity, is_heavy=np.abs(gravity) > self.start_bound)
        texts = [CAUSES_OF_EXCESS[compared, along].format(target=terms.profile.name)]
        load = self.load_estimator.load_mass_text()
        if by_motion and not load:
            load = self._load_text(terms)
        if load:
            texts.insert(0, load)
        if self.has_own_torque:
            texts.insert(0, CAUSE_OF_OWN_TORQUE)
        stop = self._stop_text(self._state.q, excess, bound)
        if stop:
            texts.insert(0, stop)
        return ', or '.join(texts)


def disturbance_bounds(arm: ArmDescription) -> tuple[Array, Array]:
    """Return bounds on disturbance torques before the first torque, and later, (n,) each [N m]."""
    effort = arm.limit('effort')
    is_wrist = effort < MAX_WRIST_TORQUE_LIMIT_NM
    running_ratio = np.where(is_wrist, MAX_WRIST_DISTURBANCE_RATIO, MAX_DISTURBANCE_RATIO)
    return MAX_START_DISTURBANCE_RATIO * effort, running_ratio * effort


def direction_of_excess(excess: Array, gravity: Array, *, is_heavy: NDArray[np.bool_]) -> Along:
    """
    Return whether an excess torque is along or against g(q), (n,) each [N m].

    `is_heavy`, (n,), says which joints bear weight; only these count.
    """
    if not is_heavy.any():
        return Along.NEITHER
    excess_to_gravity = excess[is_heavy] / gravity[is_heavy]
    if (excess_to_gravity > MIN_EXCESS_TO_GRAVITY).all():
        return Along.GRAVITY
    if (excess_to_gravity < -MIN_EXCESS_TO_GRAVITY).all():
        return Along.AGAINST_GRAVITY
    return Along.NEITHER
