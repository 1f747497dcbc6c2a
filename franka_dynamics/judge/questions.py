# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Questions to the user about sound recordings: faults that are harmless, or only likely."""

from collections.abc import Iterator, Sequence

from .cross_validation import CrossValidation
from .fault_fits import FaultFits, fits_with_each
from .faults import CRITICAL_T_VALUE, Diagnosis, MIN_HARMFUL_ERROR_RATIO, possible_faults
from .faults.checks import unexplained_joints
from .faults.torques import EffortOffset
from ..fit.torque_model import MAX_OFFSET_STD_COUNT


def questions_about_faults(system: CrossValidation) -> Iterator[Diagnosis]:
    """Yield questions about harmless or likely faults, unexplained joints and large offsets."""
    yield from (question for question in system.questions if not question.joints)
    squared_units = system.unit_factors**2
    yield from unexplained_joints(
        system.baseline.squared_residuals.mean(axis=0) * squared_units,
        system.mean_squared_efforts * squared_units,
    )
    yield from _likeliest_question(fits_with_each(system, possible_faults(system.prior.model.n)))
    yield from _large_offsets(system)


def _likeliest_question(fits: Sequence[FaultFits]) -> Iterator[Diagnosis]:
    """
    Yield the question about the likeliest fault that is asked about, if any.

    Where a harmless fault of all joints explains more, that is asked about: a base that is tilted
    a little also looks like a gain of its first joint.
    """
    asking = next((fit for fit in fits if fit.asks()), None)
    if asking is None:
        return
    likelier_harmless = (
        fit
        for fit in fits
        if fit.fault.asks_if_harmless and fit.is_significant() and fit.is_better(asking)
    )
    yield next(likelier_harmless, asking).question()


def _large_offsets(system: CrossValidation) -> Iterator[Diagnosis]:
    """
    Yield the offsets of efforts that are surely there, matter, and are not usual.

    An offset is sure by its deviation over folds, matters beside E on left-out folds, and is usual
    within some standard deviations of its prior.
    """
    baseline = system.baseline
    min_mattering = MIN_HARMFUL_ERROR_RATIO * baseline.test_error()  # N m
    for fault in EffortOffset.for_joint_count(system.prior.model.n):
        (column,) = system.grams.column_indices(fault.column_names)
        offset = float(baseline.total_theta[column])
        std = float(baseline.covariance_over_folds(fault).item() ** 0.5)
        max_usual = MAX_OFFSET_STD_COUNT * system.prior.std[column]
        if abs(offset) > max(max_usual, min_mattering, CRITICAL_T_VALUE * std):
            yield Diagnosis(fault.kind, fault.joints, (offset,))
