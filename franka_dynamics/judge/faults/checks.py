# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Faults without regressor columns, which checks of residuals and fitted parameters find."""

from collections.abc import Sequence

import numpy as np

from .fault import Diagnosis, Fault, MIN_HARMFUL_ERROR_RATIO
from .torques import EffortGain, WrongGravity
from ...arrays import Array, NDArray
from ...fit.torque_model import COULOMB_SYMBOL, SLIP_SYMBOL, TorqueModel
from ...recordings.preprocessing import Motion

# [rad/s or m/s] A slower joint's friction may be anything up to its Coulomb friction. Without this
# two of nine sound logs of a UR10e, which begin or end at rest, seem touched there.
_MIN_MOVING_SPEED_RAD_S = 0.02
# In seconds with more than so many times the usual residual, somebody may touch the arm.
_MIN_CONTACT_TO_USUAL_RMS = 3.0
# Largest share of such seconds: if there are more, they are not contacts.
_MAX_CONTACT_FRACTION = 0.25
# All efforts more than so many times the torques, or as much smaller, are in another unit: the
# masses of no arm are so far off.
_MAX_EFFORT_FACTOR = 2.0
# The cosine of sound logs of nine arms is 0.71 and more. Of six without gravity it is -0.03 to
# 0.35, and 0.61 of one in which the fits find that.
_MIN_GRAVITY_COSINE = 0.5
# Of eighteen sound logs of seven arms E is 0.4 to 9 % of the efforts' root mean square, of one
# 15 %. Of two joints exchanged with all their columns it is 12 to 99 %, unless both hardly bear a
# load.
_MAX_ERROR_TO_RMS = 0.2
# Nothing is explained of a joint whose residual is more than this share of its effort: at most 0.6
# of two sound logs of FERs, in rows that come in bursts of five.
_MAX_UNEXPLAINED_TO_EFFORT = 0.9


class Contact(Fault):
    """A contact of the arm; the value is the start [s] of the 1 s span of largest residuals."""

    kind = 'contact'
    joint_counts = ()
    message = (
        'Something touched the arm about {0:.0f} s after the beginning of {where}, or its efforts '
        'were wrong there. Cut this out, or record again with nobody near.'
    )


class Changed(Fault):
    """
    A change of the arm, or of joints' efforts, in a recording; values: its begin and end [s].

    They are equal if it is sudden.
    """

    kind = 'changed'
    joint_counts = ()

    @classmethod
    def sentence(cls, diagnosis: Diagnosis, joints: Sequence[str], effort_scales: Array) -> str:
        """Return a sentence that says what changes, when, and where to cut the recording."""
        names = ' and '.join(joints[joint] for joint in diagnosis.joints)
        begin, end = diagnosis.values
        if begin < end:
            drifts = (
                f'The effort of {names} drifts' if names else 'The efforts of all joints drift'
            )
            return (
                f'{drifts} all along {diagnosis.recording}. Let the arm warm up, or record in '
                'shorter pieces.'
            )
        what = f'the effort of {names} is another' if names else 'it is another arm'
        return (
            f'After about {begin:.0f} s of {diagnosis.recording} {what}: a load or a contact came '
            'or went, or efforts changed. Cut it there, and identify with one of its parts; say '
            'what hangs on the flange with --payload or --hand.'
        )


class NegativeFriction(Fault):
    """Fitted friction of the wrong sign in some joints, with friction torques [N m] as values."""

    kind = 'driven'
    joint_counts = ()
    message = (
        'Friction would drive {joints} instead of braking. Its effort has the wrong sign, is not '
        'of this joint, or was compensated for friction: record measured torques.'
    )


class UnmeasuredMasses(Fault):
    """Masses of the starting set that nobody has measured, which efforts cannot be judged by."""

    kind = 'masses'
    joint_counts = ()
    message = (
        'Nobody has measured the masses of the starting set (the warning on loading the arm says '
        'why): whether efforts are right cannot be told by them, nor, where both disagree, what '
        'is wrong. Start from a file with masses that somebody has measured.'
    )


class EffortsNotMeasured(Fault):
    """Efforts that may be no measured torques; the values bound the ratio of effort to torque."""

    kind = 'not_measured'
    joint_counts = ()
    message = (
        'Efforts contain {0:.2f} to {1:.2f} times the torques of the published masses, perhaps '
        'none: they are external torques or commands, lack gravity, or are currents '
        '(--torque-constant). Record measured torques.'
    )


class UnexplainedEfforts(Fault):
    """Efforts that the model explains badly, with torque error E / rms effort as value."""

    kind = 'unexplained'
    joint_counts = ()
    message = (
        'The model explains too little{of_joints}: E on left-out parts is {0:.0%} of the efforts. '
        "Are the columns in the order of the arm's joints, is this the arm, are these measured "
        'torques, no external ones or commands, are signs, zeros and units right (currents: '
        '--torque-constant)?'
    )


def contact_mask(motion: Motion, residual: Array, noise: Array) -> tuple[NDArray[np.bool_], float]:
    """
    Return a mask of samples in 1 s intervals of large residuals, and the worst's start [s].

    Residuals (N, n) [N m] are taken relative to each joint's usual one, by the median, or to
    `noise` (n,). The mask is (N,); of the worst second the start is returned.
    """
    usual_residual = 1.48 * np.median(np.abs(residual), axis=0)  # a Gaussian's deviation, (n,)
    relative_residual = residual / np.maximum(usual_residual, noise)
    # The residual of a joint at rest does not count, whose static friction is unknown.
    is_moving = np.abs(motion.dq) > _MIN_MOVING_SPEED_RAD_S
    mean_squares = np.mean(np.where(is_moving, relative_residual, 0.0) ** 2, axis=1)  # (N,)
    second_ids = motion.one_second_indices()  # of each sample, (N,)
    rms = np.sqrt(np.bincount(second_ids, mean_squares) / np.bincount(second_ids))  # (seconds,)
    usual_rms = float(np.median(rms))
    rms_of_most = float(np.quantile(rms, 1.0 - _MAX_CONTACT_FRACTION))
    max_untouched_rms = max(_MIN_CONTACT_TO_USUAL_RMS * usual_rms, rms_of_most)
    is_touched = np.asarray(rms > max_untouched_rms)[second_ids]
    first_samples = np.unique(second_ids, return_index=True)[1]  # of each second
    worst_start = motion.time[first_samples[np.argmax(rms)]]
    return is_touched, float(worst_start)


def negative_friction(
    model: TorqueModel, thetas: Array, mse: Array, unit_factors: Array
) -> Sequence[Diagnosis]:
    """
    Return a list of one fault if friction drives joints by more than rms residuals, else ().

    `thetas` (folds, c) are parameters fitted without each fold, `mse` (folds, n) the mean
    squared residuals there [N^2 m^2]; `unit_factors` (n,) convert efforts to the unit of E. The
    effect is that of friction with the other sign, twice as far off, beside E.
    """
    term_count = model.friction.term_count
    friction_parameters = thetas[:, model.friction_slice].reshape(-1, model.n, term_count)
    is_dry = [symbol[:2] in (COULOMB_SYMBOL, SLIP_SYMBOL) for symbol in model.friction.symbols]
    dry_friction = friction_parameters[..., is_dry].sum(axis=-1)  # (folds, n), N m
    largest = dry_friction.max(axis=0)  # of all folds, (n,)
    mean_squares = mse.mean(axis=0)  # (n,), N^2 m^2
    joints = np.flatnonzero(largest < -np.sqrt(mean_squares))
    if not len(joints):
        return ()
    # Friction of the other sign is twice as far off.
    friction_error = 2.0 * np.linalg.norm((largest * unit_factors)[joints])
    torque_error = np.sqrt(mean_squares @ unit_factors**2)  # E
    effect = float(np.hypot(1.0, friction_error / torque_error))
    values = tuple(largest[joints].tolist())
    return [Diagnosis(NegativeFriction.kind, tuple(joints.tolist()), values, effect=effect)]


def wrong_factor(gain_range: tuple[float, float]) -> Sequence[Diagnosis]:
    """
    Return a list of one fault if efforts' factor shows a wrong unit or sign, else ().

    Efforts whose factor may be zero are no measured torques.
    """
    low, high = gain_range
    if low <= _MAX_EFFORT_FACTOR and high >= 1.0 / _MAX_EFFORT_FACTOR:
        return ()
    if low <= 0.0 <= high:
        return [Diagnosis(EffortsNotMeasured.kind, (), gain_range)]
    return [Diagnosis(EffortGain.kind, (), (float(np.mean(gain_range)),))]


def unexplained_efforts(relative_error: float) -> Sequence[Diagnosis]:
    """Return a list of one fault if torque error E / rms effort is large, else ()."""
    if relative_error > _MAX_ERROR_TO_RMS:
        return [Diagnosis(UnexplainedEfforts.kind, (), (relative_error,))]
    return ()


def unexplained_joints(residuals: Array, efforts: Array) -> Sequence[Diagnosis]:
    """
    Return a list of one fault if the model explains nothing of joints that matter, else ().

    `residuals` on left-out folds and `efforts` (n,) are mean squares in the unit of E. Joints
    matter without whose residuals E would be smaller by as much as an effect is.
    """
    joints = np.flatnonzero(residuals > _MAX_UNEXPLAINED_TO_EFFORT**2 * efforts)
    other_residuals = np.delete(residuals, joints)
    effect = float(np.sqrt(residuals.sum() / other_residuals.sum()))
    if effect < MIN_HARMFUL_ERROR_RATIO:
        return ()
    error_to_effort = float(np.sqrt(residuals[joints].sum() / efforts[joints].sum()))
    return [
        Diagnosis(
            UnexplainedEfforts.kind, tuple(joints.tolist()), (error_to_effort,), effect=effect
        )
    ]


def missing_gravity(products: Array) -> Sequence[Diagnosis]:
    """
    Return a list of one fault if efforts have nothing to do with a large gravity torque, else ().

    `products` (2, 2) are the sums of products of the gravity torque and the efforts. Other masses
    may explain efforts without gravity, because the fit is free to move centres of mass to the
    axes. A gravity torque of half the size of efforts is a cosine of half to them if all else has
    nothing to do with it.
    """
    (of_gravity, common), (_, of_effort) = products.tolist()
    large = of_gravity > _MIN_GRAVITY_COSINE**2 * of_effort
    if large and abs(common) < _MIN_GRAVITY_COSINE * (of_gravity * of_effort) ** 0.5:
        return [Diagnosis(WrongGravity.kind, (), (0.0, 0.0, 0.0))]
    return ()
