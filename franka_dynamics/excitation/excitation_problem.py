# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Criterion and limits for the optimisation of a motion for identification.

The standard deviations of all parameters are predicted before the arm moves: the covariance of the
estimate from torques with known noise along the motion (Swevers et al. 1997, "Optimal robot
excitation and identification", IEEE T-RA 13(5)), extended by a weak prior and by the information
of earlier recordings.

For the distances to the table and between links, links are straight segments.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .limits import ExcitationLimits
from ..arm import ArmDescription, JointKind
from ..arrays import Array, ArrayLike, NDArray
from ..constants import GRAVITY
from ..dynamics.newton_euler import NewtonEulerModel
from ..dynamics.sampling import sample_states
from ..errors import IdentificationError
from ..fit.prior import Prior
from ..fit.torque_model import TorqueModel
from ..recordings.preprocessing import Motion

# Assumed number of samples with independent noise per second of a recording. Filtered samples are
# correlated, but the assumed noise is larger than measured: for recordings of two FERs the
# predicted deviations are 1.5 and 1.0 times (median of the base parameters) those of `identify`.
_INDEPENDENT_SAMPLE_RATE_HZ = 30.0
_MIN_STATIC_TORQUE_NM = 1.0  # smallest static torque assumed for a joint without torque limit
# A parameter is identifiable if the motion leaves at most MAX_STD_TO_PRIOR_RATIO times its prior
# standard deviation.
MAX_STD_TO_PRIOR_RATIO = 0.5
# A parameter is essential if its remaining standard deviation causes, in one of
# _RANDOM_STATE_COUNT random states, a torque above _MIN_ESSENTIAL_TORQUE_TO_NOISE times a joint's
# noise (Pham and Gautier 1991, "Essential parameters of robots", CDC).
_MIN_ESSENTIAL_TORQUE_TO_NOISE = 0.1
_RANDOM_STATE_COUNT = 500
_POWER_MEAN_EXPONENT = 8  # exponent of the power mean that replaces the maximum over parameters
# Exponent r of `soft_min`: the bound for 100 equal values is log(100) / 200 below them.
_SOFT_MIN_EXPONENT = 200.0
_MIN_VELOCITY_LIMIT_RAD_S = 1e-9  # [rad/s]; divisor in place of a velocity limit of zero
_MIN_SEGMENT_LENGTH_M = 0.03  # [m]; no segment joins frames that are nearer to each other
# A segment's distances from the next two segments are not checked: joint limits keep the segments
# apart, and the first of the two may be an elbow's short offset.
_FIRST_CHECKED_NEIGHBOUR = 3
# Index of the first point that must be above the table: frame 3's origin.
_FIRST_POINT_ABOVE_TABLE = 3
# Number of random poses of which one is proposed as start.
_START_CANDIDATE_COUNT = 2000


@dataclass(frozen=True, eq=False)
class ExcitationProblem:
    """
    The optimisation problem of finding an excitation motion for an arm.

    Torques are computed with the arm's inertias, which are also the centre of the prior. `gravity`
    is in the space frame [m/s^2], `duration` is that of the whole recording, repetitions included
    [s], and `known_information` (p, p) the information (inverse covariance) that earlier
    recordings give.
    """

    arm: ArmDescription
    limits: ExcitationLimits
    gravity: ArrayLike = GRAVITY
    duration: float = 100.0
    known_information: Array | None = None

    def __post_init__(self) -> None:
        """Raise IdentificationError if a joint's velocity, acceleration or torque limit is 0."""
        for name in ('velocity', 'acceleration', 'effort'):
            zero = np.flatnonzero(self.arm.limit(name) == 0.0)
            if zero.size:
                raise IdentificationError(
                    f'{self.arm.joint_names[zero[0]]} of {self.arm.name} has a limit of 0 on its '
                    f'{name}, so no motion can excite it; correct the limit.'
                )

    @cached_property
    def model(self) -> TorqueModel:
        """The torque model whose parameters the motion shall determine."""
        return TorqueModel.for_arm(self.arm, gravity=self.gravity)

    @cached_property
    def prior(self) -> Prior:
        """The prior about the arm's inertias, by which masses have 100 % standard deviation."""
        q = sample_states(self.arm, _RANDOM_STATE_COUNT).q
        gravity_torque = NewtonEulerModel(self.arm, self.gravity).gravity(q)
        max_torque = np.maximum(np.abs(gravity_torque).max(axis=0), _MIN_STATIC_TORQUE_NM)
        return Prior.centered_at(self.arm, self.model, max_torque)

    def parameter_std(self, q: Array, dq: Array, ddq: Array) -> Array:
        """
        Return the predicted standard deviation of every parameter, shape (..., p).

        The motion's states (..., samples, n) [rad, rad/s, rad/s^2] are evenly spread in time.
        """
        regressor = self.regressor(q, dq, ddq) / self.prior.expected_residual[:, None]
        *motion_shape, sample_count, _, parameter_count = regressor.shape
        rows = regressor.reshape(*motion_shape, -1, parameter_count)  # (..., samples * joints, p)
        samples_per_state = self.duration * _INDEPENDENT_SAMPLE_RATE_HZ / sample_count
        information = samples_per_state * np.swapaxes(rows, -1, -2) @ rows  # (..., p, p)
        prior_information, _ = self.prior.information(1.0)
        known_information = 0.0 if self.known_information is None else self.known_information
        information = information + (prior_information + known_information)
        # The matrix to invert is better conditioned in units of the prior's standard deviations.
        scale = self.prior.std
        covariance = np.linalg.inv(information * scale * scale[:, None])
        return np.asarray(scale * np.sqrt(np.diagonal(covariance, axis1=-2, axis2=-1)))

    def std_to_prior_ratios(self, q: Array, dq: Array, ddq: Array) -> Array:
        """Return predicted divided by prior standard deviations of base parameters, (..., b)."""
        b = len(self.model.base)
        return np.asarray(self.parameter_std(q, dq, ddq)[..., :b] / self.prior.std[:b])

    @cached_property
    def _max_regressor_to_noise(self) -> Array:
        """Largest torque / noise, over random states, by one unit of each base parameter, (b,)."""
        states = sample_states(self.arm, _RANDOM_STATE_COUNT)
        unit_torques = np.abs(self.model.base.regressor(*states))  # (states, n, b), N m
        torque_to_noise = unit_torques / self.prior.expected_residual[:, None]
        return np.asarray(torque_to_noise.max(axis=(0, 1)))

    def torque_to_noise_ratio(self, parameter_std: Array) -> Array:
        """
        Return the torque / noise that one standard deviation of each base parameter causes, (b,).

        For each base parameter the ratio is the largest over joints and over random states within
        the arm's limits, because a parameter that the motion does not determine causes little
        torque along the motion itself.
        """
        return np.asarray(parameter_std[: len(self.model.base)] * self._max_regressor_to_noise)

    def unidentified_mask(self, parameter_std: Array) -> NDArray[np.bool_]:
        """Return a mask (b,) of base parameters that affect torques, but remain uncertain."""
        b = len(self.model.base)
        std_to_prior = parameter_std[:b] / self.prior.std[:b]
        is_uncertain = std_to_prior > MAX_STD_TO_PRIOR_RATIO
        is_essential = self.torque_to_noise_ratio(parameter_std) > _MIN_ESSENTIAL_TORQUE_TO_NOISE
        return np.asarray(is_uncertain & is_essential, dtype=bool)

    def criterion(self, q: Array, dq: Array, ddq: Array) -> Array:
        """Return a motion's cost, the log of the power mean of `std_to_prior_ratios`, (...)."""
        powers = self.std_to_prior_ratios(q, dq, ddq) ** _POWER_MEAN_EXPONENT
        return np.asarray(np.log(np.mean(powers, axis=-1)) / _POWER_MEAN_EXPONENT)

    def regressor(self, q: Array, dq: Array, ddq: Array) -> Array:
        """Return the regressor of base and friction parameters (..., n, p) at states (..., n)."""
        model = self.model
        friction = self.model.friction.regressor_columns(q, dq)
        return model.regressor(model.base.regressor(q, dq, ddq), friction)

    def limit_margins(self, q: Array, dq: Array, ddq: Array) -> Array:
        """
        Return each motion's smallest margin to each of m limits, negative if violated, (..., m).

        The states along the motions have shape (..., samples, n) [rad, rad/s, rad/s^2].
        """
        return np.asarray(self.state_margins(q, dq, ddq).min(axis=-2))

    def state_margins(self, q: Array, dq: Array, ddq: Array) -> Array:
        """
        Return the margin of every state to each of m limits, shape (..., samples, m).

        The m limits are: lower and upper positions of all joints [rad] (without a limit the margin
        is a turn); velocities, accelerations and torques in both directions, relative to their
        limits; heights of the third frame and later points above the table, and distances of pairs
        of segments [m].
        """
        limits = self.limits
        arm = self.arm
        lower = arm.limit('lower')
        upper = arm.limit('upper')
        points = skeleton_points(arm, q, limits.tool_length)
        min_velocity, max_velocity = arm.velocity_bounds(q)
        velocity_limit = np.where(dq < 0.0, -min_velocity, max_velocity)
        torque = NewtonEulerModel(arm, self.gravity).inverse_dynamics(q, dq, ddq)
        shares_of_limits = (
            dq / np.maximum(velocity_limit, _MIN_VELOCITY_LIMIT_RAD_S),
            ddq / arm.limit('acceleration'),
            torque / arm.limit('effort'),
        )
        to_lower = np.minimum(q - lower, 2.0 * np.pi)
        to_upper = np.minimum(upper - q, 2.0 * np.pi)
        margins = [to_lower - limits.position_margin, to_upper - limits.position_margin]
        for share in shares_of_limits:
            margins += [limits.fraction - share, limits.fraction + share]
        margins.append(heights_above_table(points, limits.table_height) - limits.table_margin)
        margins.append(link_clearances(points) - limits.clearance)
        return np.concatenate(margins, axis=-1)


def start_advice(problem: ExcitationProblem) -> str:
    """
    Return text on what to do about a start pose at which limits are violated.

    It proposes the random pose at rest that keeps the greatest margin to all limits.
    """
    poses = np.round(_in_one_turn(problem.arm), 2)
    at_rest = np.zeros_like(poses)
    margins = problem.state_margins(poses, at_rest, at_rest).min(axis=-1)
    best = int(margins.argmax())
    if margins[best] <= 0.0:
        return (
            f'none of {_START_CANDIDATE_COUNT} random poses keeps the limits either: lower '
            '--table, --clearance or --tool'
        )
    pose = ','.join(f'{position:g}' for position in poses[best] + 0.0)
    return f'choose another, such as --start {pose}, or smaller margins'


def _in_one_turn(arm: ArmDescription) -> Array:
    """Return random poses (k, n) within limits, angles within half a turn where these allow it."""
    drawn = sample_states(arm, _START_CANDIDATE_COUNT).q
    turns = 2.0 * np.pi * np.round(drawn / (2.0 * np.pi))
    is_revolute = [joint.kind is JointKind.REVOLUTE for joint in arm.joints]
    wrapped = np.where(is_revolute, drawn - turns, drawn)
    is_allowed = (wrapped >= arm.limit('lower')) & (wrapped <= arm.limit('upper'))
    return np.where(is_allowed, wrapped, drawn)


def information_matrix(problem: ExcitationProblem, motion: Motion) -> Array:
    """Return the information matrix (p, p) of all parameters that a recorded motion gives."""
    regressor = problem.regressor(motion.q, motion.dq, motion.ddq)  # (samples, n, p)
    weighted = regressor / problem.prior.expected_residual[:, None]
    return np.asarray(np.einsum('tja,tjb->ab', weighted, weighted))


def soft_min(values: Array) -> Array:
    """
    Return a smooth lower bound of the minimum of values (..., samples, m) over samples, (..., m).

    For values g the bound is -log(sum exp(-r g)) / r (Kreisselmeier and Steinhauser 1979,
    "Systematic control design by optimizing a vector performance index"). The plain minimum has
    kinks, at which sequential quadratic programming stops, at different points on different
    machines.
    """
    from scipy.special import logsumexp  # the caller, `optimise_excitation`, requires scipy

    return np.asarray(-logsumexp(-_SOFT_MIN_EXPONENT * values, axis=-2) / _SOFT_MIN_EXPONENT)


def skeleton_points(arm: ArmDescription, q: ArrayLike, tool_length: float = 0.0) -> Array:
    """
    Return the points of an arm's stick figure in the space frame, (..., n + 3, 3) [m].

    The points are the base, the frames' origins, the flange and the tool's tip. The tool's length
    [m] is along the flange's z; positions q have shape (..., n).
    """
    frames = NewtonEulerModel(arm).frames(q)
    base = np.broadcast_to(np.asarray(arm.base)[:3, 3], (*frames.shape[:-3], 1, 3))
    tip = frames[..., -1:, :3, 3] + tool_length * frames[..., -1:, :3, 2]
    return np.concatenate([base, frames[..., :3, 3], tip], axis=-2)


def heights_above_table(points: Array, table_height: float = 0.0) -> Array:
    """Return heights of an arm's points from frame 3 on above a table's z in {S}, (..., n) [m]."""
    return np.asarray(points[..., _FIRST_POINT_ABOVE_TABLE:, 2] - table_height)


def link_clearances(points: Array) -> Array:
    """
    Return the distances of each segment from later ones but the next two, (..., pairs) [m].

    Each link is a segment, which starts where the last segment ends and leads to the next point of
    `skeleton_points` that is at least 0.03 m away; points between are skipped. A segment's
    neighbours are the two segments before and the two segments after it. Which points are skipped
    is decided at the first pose, because segments between revolute joints have constant length;
    of an arm with prismatic joints it should be one at which they are extended.
    """
    first_pose = points.reshape(-1, *points.shape[-2:])[0]
    segments = []
    start = 0
    for end in range(1, len(first_pose)):
        if np.linalg.norm(first_pose[end] - first_pose[start]) >= _MIN_SEGMENT_LENGTH_M:
            segments.append((start, end))
            start = end
    distances = [
        segment_gap(points[..., a, :], points[..., b, :], points[..., c, :], points[..., d, :])
        for i, (a, b) in enumerate(segments)
        for c, d in segments[i + _FIRST_CHECKED_NEIGHBOUR :]
    ]
    if not distances:  # the links of a short arm are all neighbours
        return np.empty((*points.shape[:-2], 0))
    return np.stack(distances, axis=-1)


def segment_gap(a: Array, b: Array, c: Array, d: Array) -> Array:
    """
    Return the gap [m] between segments ab and cd.

    The nearest points are a + s (b - a) and c + t (d - c), with s and t from 0 to 1 (Ericson 2005,
    "Real-Time Collision Detection", section 5.1.9).
    """
    ab = b - a
    cd = d - c
    ca = a - c
    ab_ab = np.sum(ab * ab, -1)
    ab_cd = np.sum(ab * cd, -1)
    ab_ca = np.sum(ab * ca, -1)
    cd_cd = np.sum(cd * cd, -1)
    cd_ca = np.sum(cd * ca, -1)
    determinant = ab_ab * cd_cd - ab_cd * ab_cd  # zero for parallel segments: any s is right
    crossing = (ab_cd * cd_ca - ab_ca * cd_cd) / np.where(determinant > 0.0, determinant, 1.0)
    is_parallel = determinant <= 1e-12 * ab_ab * cd_cd
    s = np.clip(np.where(is_parallel, 0.0, crossing), 0.0, 1.0)
    t = np.clip((ab_cd * s + cd_ca) / cd_cd, 0.0, 1.0)
    s = np.clip((ab_cd * t - ab_ca) / ab_ab, 0.0, 1.0)
    gap = ca + s[..., None] * ab - t[..., None] * cd
    return np.asarray(np.linalg.norm(gap, axis=-1))
