# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Comparison of predicted and measured torques of a recorded motion, and their error E."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from .preprocessing import Motion, moving_mask
from ..arm import ArmDescription, JointKind
from ..arm.friction import (
    friction_along,
    FrictionModel,
    grows_with_load,
    LinearFriction,
    sliding_friction_terms,
)
from ..arm.hands import hand_name
from ..arrays import Array, ArrayLike
from ..constants import GRAVITY, NO_HAND
from ..dynamics.pinocchio_model import PinocchioModel
from ..errors import RecordingError

# Fits with E below _MAX_RIVAL_TO_BEST_E times the best E are as good as the best fit.
_MAX_RIVAL_TO_BEST_E = 1.01


@dataclass(frozen=True)
class TorqueErrorUnit:
    """
    Unit of the torque error E over all joints, and each joint's factor from effort to the unit.

    `name` is 'N m', or '% of the limits' for arms with prismatic joints, whose efforts are in N.
    `factors` are the factors from each joint's effort [N m or N] to the unit.
    """

    name: str
    factors: tuple[float, ...]

    @classmethod
    def for_arm(cls, arm: ArmDescription) -> 'TorqueErrorUnit':
        """
        Return the unit of an arm's torque error E: N m, or % of effort limits if a joint slides.

        E is in % of the effort limits if the arm has a prismatic joint. Raises RecordingError if
        an arm with a prismatic joint has a joint without a finite effort limit above zero.
        """
        if all(joint.kind is JointKind.REVOLUTE for joint in arm.joints):
            return cls('N m', (1.0,) * arm.n)
        limit = arm.limit('effort')
        known = np.isfinite(limit) & (limit > 0.0)
        if not known.all():
            raise RecordingError(
                f'{arm.name} has prismatic joints, so that its efforts [N and N m] can only be '
                f'compared relative to their limits, and {arm.joint_names[int(np.argmin(known))]} '
                'has none: state its effort limit in the arm file.'
            )
        return cls('% of the limits', tuple((100.0 / limit).tolist()))


@dataclass(frozen=True, eq=False)
class ResidualRms:
    """
    Root mean square errors of predicted torques over time, by joint and over all joints.

    `E` is the error of all joints together, the norm of `per_joint` after conversion to a
    `TorqueErrorUnit`; `per_joint` are the errors of single joints, shape (n,) [N m, of a prismatic
    joint N].
    """

    E: float
    per_joint: Array

    @classmethod
    def from_residuals(cls, residual: Array, unit: TorqueErrorUnit) -> 'ResidualRms':
        """Return the rms errors of residuals, measured minus predicted torques (N, n)."""
        return cls.from_squares(np.sum(residual * residual, axis=0), len(residual), unit)

    @classmethod
    def from_squares(cls, square_sums: Array, count: int, unit: TorqueErrorUnit) -> 'ResidualRms':
        """Return the rms errors from joints' sums of squared residuals (n,) of `count` samples."""
        mean = square_sums / count
        return cls(float(np.sqrt(mean @ np.square(unit.factors))), np.sqrt(mean))


@dataclass(frozen=True, eq=False)
class TorquePrediction:
    """
    Torques that the model of `arm` predicts for a motion, and the torque errors.

    `predicted_torque` is M ddq + C dq + g plus any friction of the arm file, (N, n) [N m]. `error`
    compares `predicted_torque` with the filtered effort, `unfiltered_error` with the resampled
    effort. `frictionless_error` compares M ddq + C dq + g with the filtered effort. `moving_error`
    is `error` over the samples at which a joint moves, as an identification compares them; None if
    none does.
    `squared_residuals`, (N,), are sums over joints of (filtered effort - `predicted_torque`)^2, in
    the square of `error_unit`.
    """

    arm: ArmDescription
    predicted_torque: Array
    error: ResidualRms
    unfiltered_error: ResidualRms
    frictionless_error: ResidualRms
    squared_residuals: Array
    error_unit: TorqueErrorUnit
    moving_error: ResidualRms | None

    @property
    def set_and_hand(self) -> str:
        """Names of the arm's inertial set and hand, such as 'gaz2019 bare'."""
        return f'{self.arm.inertial_set} {hand_in_words(self.arm.hand)}'


def predict_torque(
    arm: ArmDescription, motion: Motion, *, gravity: ArrayLike = GRAVITY
) -> TorquePrediction:
    """
    Return the torques that an arm's model predicts for a motion, and their errors.

    `gravity` is in the space frame [m/s^2].
    """
    model = PinocchioModel(arm, gravity)
    friction = arm.friction
    rigid = np.asarray(model.inverse_dynamics(motion.q, motion.dq, motion.ddq))
    predicted = rigid
    if friction is not None:
        predicted = rigid + filtered_friction(friction, motion, rigid)
    residual = motion.effort - predicted
    unit = TorqueErrorUnit.for_arm(arm)
    whole = ResidualRms.from_residuals(residual, unit)
    unfiltered = ResidualRms.from_residuals(motion.effort_unfiltered - predicted, unit)
    bodies = ResidualRms.from_residuals(motion.effort - rigid, unit)
    squares = np.square(residual) @ np.square(unit.factors)
    moves = moving_mask(motion)
    moving = ResidualRms.from_residuals(residual[moves], unit) if moves.any() else None
    return TorquePrediction(arm, predicted, whole, unfiltered, bodies, squares, unit, moving)


def effort_lag(prediction: TorquePrediction, motion: Motion) -> float:
    """
    Return the time by which efforts lag the motion, by least squares over all joints [s].

    Efforts that are late by d differ from the prediction by about -d times its rate of change.
    What is like friction, or constant, is fitted beside it, since the rate of gravity is like a
    velocity. Joints count by the change of their predicted torques.
    """
    pieces = [motion.piece_ids == number for number in np.unique(motion.piece_ids)]
    of_pieces = [np.gradient(prediction.predicted_torque[piece], axis=0) for piece in pieces]
    rate = np.concatenate(of_pieces) * motion.options.rate  # (N, n), N m/s
    residual = motion.effort - prediction.predicted_torque
    shared = residual_sum = 0.0
    for joint, dq in enumerate(motion.dq.T):
        other = np.column_stack([np.ones(len(dq)), sliding_friction_terms(dq)])
        pair = np.column_stack([rate[:, joint], residual[:, joint]])
        change, left = (pair - other @ np.linalg.lstsq(other, pair, rcond=None)[0]).T
        factor = prediction.error_unit.factors[joint] ** 2
        shared += factor * float(change @ change)
        residual_sum += factor * float(change @ left)
    return -residual_sum / shared if shared else 0.0


def filtered_friction(friction: FrictionModel, motion: Motion, rigid_torque: Array) -> Array:
    """
    Return a model's friction torque along a motion, filtered like its efforts, (N, n) [N m].

    A model with a state needs the positions before resampling. `rigid_torque` is as for
    `filtered_load_friction`.
    """
    found = motion.filter(lambda q, dq: friction_along(friction, q, dq, 0.0)[..., None])[..., 0]
    if grows_with_load(friction):
        found = found + filtered_load_friction(friction, motion, rigid_torque)
    return found


def filtered_load_friction(friction: FrictionModel, motion: Motion, rigid_torque: Array) -> Array:
    """
    Return the friction that grows with the load, filtered like a motion's efforts, (N, n) [N m].

    Its sign is filtered, which jumps at reversals, and multiplied with `rigid_torque` (N, n)
    [N m], the rigid bodies' torque along the filtered motion, which does not. It is zero without
    such friction.
    """
    if not isinstance(friction, LinearFriction) or friction.load_dependent is None:
        return np.zeros_like(rigid_torque)
    sign = motion.filter(lambda _, dq: np.tanh(dq / friction.width)[..., None])[..., 0]
    return np.asarray(friction.load_dependent * sign * np.abs(rigid_torque))


def torque_predictions(
    arms: Iterable[ArmDescription], motion: Motion, *, gravity: ArrayLike = GRAVITY
) -> tuple[TorquePrediction, ...]:
    """Return arms' `TorquePrediction`s of a motion, smallest error first; `gravity` in m/s^2."""
    fits = [predict_torque(arm, motion, gravity=gravity) for arm in arms]
    return tuple(sorted(fits, key=lambda fit: fit.error.E))


def rival_predictions(fits: Sequence[TorquePrediction], motion: Motion) -> list[TorquePrediction]:
    """
    Return those of `fits` after the first, which is the best, that predict almost as well.

    A fit is as good as the best fit if its E is less than 1 % above, or if the difference of the
    mean squared errors is below two standard errors of this difference, with stretches of one
    second as independent samples.
    """
    second = motion.one_second_indices()
    count = np.bincount(second)
    best = fits[0]
    found = []
    for fit in fits[1:]:
        more = fit.squared_residuals - best.squared_residuals
        means = np.bincount(second, more) / count
        error = np.sqrt(np.sum((count / count.sum()) ** 2 * (means - means.mean()) ** 2))
        is_near = fit.error.E < _MAX_RIVAL_TO_BEST_E * best.error.E
        if is_near or float(np.mean(more)) < 2.0 * float(error):
            found.append(fit)
    return found


def hand_in_words(hand: str) -> str:
    """Return 'bare' for no hand, otherwise 'with' and the hand's name."""
    return 'bare' if hand == NO_HAND else f'with {hand_name(hand)}'
