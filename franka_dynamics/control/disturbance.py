# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Computes disturbance torques, which the model does not explain, and checks their bounds.

A disturbance torque is what the joints get beyond what their motion needs by the model (in the
literature the residual of the momentum observer). The joints get the sent torque and the gravity
torque that the target adds:

    disturbance = sent + added gravity - needed by the motion
    external = measured without friction - needed by the motion

Without a measured torque `external` is `disturbance`. Checked are `external` and, with a measured
torque, `external - disturbance`: what is measured beyond what was sent and the target adds. Two
things are not counted: an arm at rest just after the first torque, whose brakes may open late, and
for some time a share of a payload that was changed.
"""

import numpy as np

from .ending import Reason, ReasonCode
from .limits import MAX_GENTLE_SPEED_RAD_S
from .settings import friction_in_measured_effort, StateLimits
from .terms import (
    friction_at_home,
    MAX_REST_SPEED_RAD_S,
    MIN_MOTION_SPEED_RAD_S,
    StateTerms,
    TermModel,
)
from ..arm import ArmDescription
from ..arm.friction_state import FrictionState
from ..arrays import Array
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
# Below this share of the torque limit friction may hold a joint,
MIN_STICTION_TO_LIMIT = 0.02
# or below this multiple of the friction that the arm's description states.
STICTION_MARGIN_FACTOR = 1.25
# An excess is along or against g(q) if it is so by this share at all joints that bear weight.
MIN_EXCESS_TO_GRAVITY = 0.3

# Probable causes of an excess along (+) or against (-) g(q), or neither, by what is compared: the
# measured torque with the commanded one, or with what the motion needs; or, without a measured
# torque, the sent one with that.
CAUSES_OF_EXCESS = {
    'command+': 'g(q) or a load is added twice (the receiver, Desk?), the receiver still applies '
    'an earlier torque, or somebody else sends',
    'command-': 'no torque arrives, or nobody adds the g(q) that target {target} expects',
    'command': 'somebody else sends torques, too, or the joints have another order',
    'motion+': 'a payload or hand that nobody declared, something touches the arm, or other units',
    'motion-': 'a load that is not there, a wrong gravity_vector, or efforts that lack gravity or '
    "are currents, as a UR's (let it publish joint states without efforts)",
    'sent+': 'a payload or hand that nobody declared, or nobody adds the g(q) that target '
    '{target} expects',
    'sent-': 'the receiver adds g(q), which target {target} takes for missing, a load is not '
    'there, or gravity_vector is wrong',
    'unlike gravity': 'target {target} (who adds g(q)?), payload, gravity_vector or the order of '
    'joints are wrong, or something touches the arm',
}
# The first cause where the caller's own law gives the torque.
CAUSE_OF_OWN_TORQUE = 'the torque of your own law presses a joint against its stop or an obstacle'


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
        self._sent: Array | None = None  # None: the arm is not carried by what was sent
        self.disturbance_torque = self._zero
        self.external_torque = self._zero
        self._excess_time_s = 0.0
        self._brakes_until = -np.inf  # stamp [s]
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

    def change_terms(self, terms: TermModel, *, new_load: bool = False) -> None:
        """Change the model by which torques go out; `new_load`: the payload has changed."""
        if self._state is not None:
            change = self._change_of_estimates(terms, self._state)
            self._observer.change_model(terms.true_model, change)
            self.disturbance_torque, self.external_torque = (
                np.array((self.disturbance_torque, self.external_torque)) + change
            )
            if new_load:
                q = self._state.q
                more = terms.gravity(q) - self._terms.gravity(q)
                self._payload_change = self._payload_change + more
                self._payload_change_stamp = self._state.stamp
                self._end_load_allowance()
                self.load_estimator.reset()
        else:
            self._observer = MomentumObserver(terms.true_model)
        self._terms = terms
        self._friction = self._new_friction()

    def update(
        self,
        state: StateTerms,
        effort: Array | None,
        sent: list[Array],
        lag: int,
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
        self._sent = None
        if sent and not (silent and terms.adds_gravity):
            self._sent = sent[-1 - min(lag, len(sent) - 1)]
        believed = self._believed_torque(terms, state)
        self.has_effort = effort is not None and any(effort.tolist())
        # Some receivers that add gravity report one of the last torques as effort, which measures
        # nothing.
        if self.has_effort and effort is not None and terms.adds_gravity and not silent:
            echoes = [torque.tolist() for torque in sent[-MAX_EFFORT_ECHO_DELAY_STEPS:]]
            self.has_effort = effort.tolist() not in echoes
        torque = believed
        if self.has_effort and effort is not None:
            torque = effort
            self._effort = effort
            if self._friction.model is not None:
                self._friction.update(state.stamp, state.q)
                # Accelerations are not measured: the load is that of a steady motion.
                load = state.gravity + state.coriolis
                torque = effort - self._friction.torque(state.dq, rigid_torque=load)
        motion = state.stamp, state.q, state.dq
        estimates = self._observer.update(*motion, np.array((believed, torque)), state.gravity)
        self.disturbance_torque, self.external_torque = estimates
        if self._sent is not None or self.has_effort:
            self.load_estimator.update(*motion, self.external_torque, terms.true_model)

    def _end_load_allowance(self) -> None:
        """Forget a change of payload after MAX_PICK_UP_TIME_S, or once the arm is fast."""
        if self._state is None or self._payload_change_stamp == -np.inf:
            return
        fast = np.abs(self._state.dq).max() > MAX_GENTLE_SPEED_RAD_S
        if fast or self._state.stamp - self._payload_change_stamp > MAX_PICK_UP_TIME_S:
            self._payload_change = self._zero
            self._payload_change_stamp = -np.inf

    def _believed_torque(self, terms: TermModel, state: StateTerms) -> Array:
        """
        Return the torque that the joints get if sender and receiver do as `terms` say, (n,) [N m].

        Before the first torque a target that compensates gravity carries the arm itself, also on
        an inclined base.
        """
        if self._sent is not None:
            return self._added_gravity(terms, state) + self._sent
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
        largest = np.abs(self._differences(self._terms)).max(axis=0)
        np.maximum(
            self.max_bound_ratios,
            largest / self.running_bound,
            out=self.max_bound_ratios,
        )
        if state.is_moving:
            self._brakes_until = -np.inf
        over = any((largest > bound).tolist()) and state.stamp > self._brakes_until
        counted = min(elapsed, MAX_COUNTED_PERIOD_S)
        self._excess_time_s = self._excess_time_s + counted if over else 0.0
        lasts = self._excess_time_s >= MAX_DISTURBANCE_TIME_S
        return self.violation(bound, self._terms) if lasts else None

    def _differences(self, terms: TermModel) -> Array:
        """Return received - needed, received - commanded torque, (2, n), less a load's share."""
        estimates = np.array((self.disturbance_torque, self.external_torque))
        if self._state is not None and terms is not self._terms:
            estimates = estimates + self._change_of_estimates(terms, self._state)
        disturbance, external = estimates
        both = np.array((external, external - disturbance))
        if self._payload_change_stamp == -np.inf:
            return both
        # An arm that still carries the old load gets less than the new one needs, by the change.
        least, most = np.sort((self._zero, -self._payload_change), 0)
        return both - np.clip(both, least, most)

    def violation(self, bound: Array, terms: TermModel | None = None) -> Reason | None:
        """
        Return a reason if a disturbance torque exceeds its `bound`, (n,) [N m], else None.

        `terms` are those that the arm is compared with, by default those by which torques go out.
        """
        terms = self._terms if terms is None else terms
        motion, command = self._differences(terms)
        shares = np.abs((motion, command)) / bound
        joint = int(shares.max(axis=0).argmax())
        if shares[:, joint].max() <= 1.0:
            return None
        by_motion = shares[0, joint] > 1.0
        torque = motion if by_motion else command
        unit = self._arm.joints[joint].kind.effort_unit
        other = 'what its motion needs'
        if self._arm.torque_deviation is not None:
            known = self._arm.torque_deviation.observed[joint]
            other += f' (known to {known:.2g} {unit})'
        if not by_motion:
            other = f'what is commanded and target {terms.profile.name} adds'
        size, most = distinct_texts(abs(torque[joint]), bound[joint], 2)
        return ReasonCode.LARGE_DISTURBANCE(
            kind='measured' if self.has_effort else 'commanded',
            joint=self._arm.joint_names[joint],
            torque=('-' if torque[joint] < 0.0 else '+') + size,
            unit=unit,
            other=other,
            most=most,
            causes=self._probable_causes(terms, torque, by_motion=by_motion),
        )

    def causes_of_excess(self) -> str:
        """Return the probable causes of a torque beyond `start_bound` as text, '' if none is."""
        reason = self.violation(self.start_bound)
        return f': {reason.text_values["causes"]}' if reason else ''

    def _probable_causes(self, terms: TermModel, torque: Array, *, by_motion: bool) -> str:
        """Return the probable causes of an excess torque, (n,) [N m], by what was compared."""
        assert self._state is not None, 'a state has come'
        compared = ('motion' if by_motion else 'command') if self.has_effort else 'sent'
        gravity = self._gravity(terms, self._state)
        heavy = np.abs(gravity) > self.start_bound
        along = torque[heavy] / gravity[heavy]
        sign = ''
        if heavy.any() and (along > MIN_EXCESS_TO_GRAVITY).all():
            sign = '+'
        elif heavy.any() and (along < -MIN_EXCESS_TO_GRAVITY).all():
            sign = '-'
        causes = CAUSES_OF_EXCESS.get(compared + sign, CAUSES_OF_EXCESS['unlike gravity'])
        load = self.load_estimator.load_mass_text()
        own = CAUSE_OF_OWN_TORQUE if self.has_own_torque else ''
        return ', or '.join(filter(None, (own, load, causes.format(target=terms.profile.name))))


def disturbance_bounds(arm: ArmDescription) -> tuple[Array, Array]:
    """Return bounds on disturbance torques before the first torque, and later, (n,) each [N m]."""
    effort = arm.limit('effort')
    is_wrist = effort < MAX_WRIST_TORQUE_LIMIT_NM
    wide = np.where(is_wrist, MAX_WRIST_DISTURBANCE_RATIO, MAX_DISTURBANCE_RATIO)
    return MAX_START_DISTURBANCE_RATIO * effort, wide * effort


def stiction_torque(arm: ArmDescription) -> Array:
    """Return the change of torque below which friction may hold a joint, (n,) [N m]."""
    known = arm.friction or arm.simulated_friction
    slides = np.zeros(arm.n)
    if known is not None:
        slides = friction_at_home(arm, known, MIN_MOTION_SPEED_RAD_S)
    return np.maximum(MIN_STICTION_TO_LIMIT * arm.limit('effort'), STICTION_MARGIN_FACTOR * slides)
