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

from .options import ExcitationLimits
from .prior import Prior
from .torque_model import TorqueModel
from ..arm import ArmDescription, JointKind
from ..arrays import Array, ArrayLike, NDArray
from ..dynamics.model import GRAVITY
from ..dynamics.newton_euler import NewtonEulerModel
from ..dynamics.sampling import sample_states
from ..errors import IdentificationError
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
        static = np.abs(NewtonEulerModel(self.arm, self.gravity).gravity(q)).max(axis=0)
        return Prior.centered_at(self.arm, self.model, np.maximum(static, _MIN_STATIC_TORQUE_NM))

    def parameter_std(self, q: Array, dq: Array, ddq: Array) -> Array:
        """
        Return the predicted standard deviation of every parameter, shape (..., p).

        The motion's states (..., samples, n) [rad, rad/s, rad/s^2] are evenly spread in time.
        """
        rows = self.regressor(q, dq, ddq) / self.prior.expected_residual[:, None]
        stacked = rows.reshape(*rows.shape[:-3], -1, rows.shape[-1])
        samples_per_state = self.duration * _INDEPENDENT_SAMPLE_RATE_HZ / rows.shape[-3]
        information = samples_per_state * np.swapaxes(stacked, -1, -2) @ stacked
        known = 0.0 if self.known_information is None else self.known_information
        information = information + (self.prior.information(1.0)[0] + known)
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
        rows = np.abs(self.model.base.regressor(*states)) / self.prior.expected_residual[:, None]
        return np.asarray(rows.max(axis=(0, 1)))

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
        left = parameter_std[: len(self.model.base)] / self.prior.std[: len(self.model.base)]
        essential = self.torque_to_noise_ratio(parameter_std) > _MIN_ESSENTIAL_TORQUE_TO_NOISE
        return np.asarray((left > MAX_STD_TO_PRIOR_RATIO) & essential, dtype=bool)

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
        lowest, highest = arm.velocity_bounds(q)
        velocity = dq / np.maximum(np.where(dq < 0.0, -lowest, highest), _MIN_VELOCITY_LIMIT_RAD_S)
        acceleration = ddq / arm.limit('acceleration')
        torque = NewtonEulerModel(arm, self.gravity).inverse_dynamics(q, dq, ddq)
        torque = torque / arm.limit('effort')
        below, above = (np.minimum(one, 2.0 * np.pi) for one in (q - lower, upper - q))
        parts = [below - limits.position_margin, above - limits.position_margin]
        for share in (velocity, acceleration, torque):
            parts += [limits.fraction - share, limits.fraction + share]
        parts.append(heights_above_table(points, limits.table_height) - limits.table_margin)
        parts.append(link_clearances(points) - limits.clearance)
        return np.concatenate(parts, axis=-1)


def start_advice(problem: ExcitationProblem) -> str:
    """
    Return text on what to do about a start pose at which limits are violated.

    It proposes the random pose at rest that keeps the greatest margin to all limits.
    """
    poses = np.round(_in_one_turn(problem.arm), 2)
    still = np.zeros_like(poses)
    margins = problem.state_margins(poses, still, still).min(axis=-1)
    best = int(margins.argmax())
    if margins[best] <= 0.0:
        return (
            f'none of {_START_CANDIDATE_COUNT} random poses keeps the limits either: lower '
            '--table, --clearance or --tool'
        )
    pose = ','.join(f'{one:g}' for one in poses[best] + 0.0)
    return f'choose another, such as --start {pose}, or smaller margins'


def _in_one_turn(arm: ArmDescription) -> Array:
    """Return random poses (k, n) within limits, angles within half a turn where these allow it."""
    drawn = sample_states(arm, _START_CANDIDATE_COUNT).q
    turns = 2.0 * np.pi * np.round(drawn / (2.0 * np.pi))
    revolute = [one.kind is JointKind.REVOLUTE for one in arm.joints]
    wrapped = np.where(revolute, drawn - turns, drawn)
    allowed = (wrapped >= arm.limit('lower')) & (wrapped <= arm.limit('upper'))
    return np.where(allowed, wrapped, drawn)


def information_matrix(problem: ExcitationProblem, motion: Motion) -> Array:
    """Return the information matrix (p, p) of all parameters that a recorded motion gives."""
    columns = motion.q, motion.dq, motion.ddq
    rows = problem.regressor(*columns) / problem.prior.expected_residual[:, None]
    return np.asarray(np.einsum('tja,tjb->ab', rows, rows))


def soft_min(values: Array) -> Array:
    """
    Return a smooth lower bound of the minimum of values (..., samples, m) over samples, (..., m).

    For values g the bound is -log(sum exp(-r g)) / r (Kreisselmeier and Steinhauser 1979,
    "Systematic control design by optimizing a vector performance index"). The plain minimum has
    kinks, at which sequential quadratic programming stops, at different points on different
    machines.
    """
    from scipy.special import (
        logsumexp,
    )  # the caller, `optimise_excitation`, requires scipy

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
    neighbours are the two segments before and the two segments after it.
    """
    one = points.reshape(-1, *points.shape[-2:])[0]  # any pose: segments have constant length
    segments = []
    last = 0
    for i in range(1, len(one)):
        if np.linalg.norm(one[i] - one[last]) >= _MIN_SEGMENT_LENGTH_M:
            segments.append((last, i))
            last = i
    distances = [
        segment_gap(points[..., a, :], points[..., b, :], points[..., c, :], points[..., d, :])
        for i, (a, b) in enumerate(segments)
        for c, d in segments[i + _FIRST_CHECKED_NEIGHBOUR :]
    ]
    none = np.empty((*points.shape[:-2], 0))  # the links of a short arm are all neighbours
    return np.stack(distances, axis=-1) if distances else none


def segment_gap(a: Array, b: Array, c: Array, d: Array) -> Array:
    """Return the gap [m] between segments ab and cd (Ericson, "Real-Time Collision Detection")."""
    along = b - a
    other = d - c
    between = a - c
    aa, ae, af = (np.sum(along * one, -1) for one in (along, other, between))
    ee, ef = (np.sum(other * one, -1) for one in (other, between))
    spread = aa * ee - ae * ae  # zero for parallel segments, for which any s is right
    crossing = (ae * ef - af * ee) / np.where(spread > 0.0, spread, 1.0)
    s = np.clip(np.where(spread > 1e-12 * aa * ee, crossing, 0.0), 0.0, 1.0)
    t = np.clip((ae * s + ef) / ee, 0.0, 1.0)
    s = np.clip((ae * t - af) / aa, 0.0, 1.0)
    gap = between + s[..., None] * along - t[..., None] * other
    return np.asarray(np.linalg.norm(gap, axis=-1))
