# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Decides which fault recordings have by what each fault explains in fits.

Faults of three kinds compete: a change within a recording (`changes`), a fault of its states
(`state_verdict`), and one with regressor columns (`fault_fits`). A harmful fault with columns is
named if it is significantly better than any other, and has about its size beside the starting
set's inertias. If none is named, but one matters, the joints where it shows are suspected.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .changes import FoundChange
from .corrected_states import StateFaultFit
from .cross_validation import CrossValidation
from .fault_fits import FaultFits, tried_faults, TriedFaults
from .faults import Diagnosis, MIN_HARMFUL_ERROR_RATIO
from .recording_verdict import RecordingVerdict
from .state_verdict import state_fault_verdict

# Of the largest gain in log-likelihood, the share at a joint where a fault shows. Inertias are
# common to joints, so that a fault of one explains some residuals of others.
_MIN_SHOWN_TO_LARGEST_GAIN = 0.5


class FitDiagnosis(NamedTuple):
    """
    A verdict by fits, with any causes or suspected joints.

    `system` has the columns of dominant harmless faults in all its fits, and questions about them.
    """

    verdict: RecordingVerdict
    system: CrossValidation


def diagnose_fits(
    system: CrossValidation,
    state_fits: Sequence[StateFaultFit] = (),
    changes: Sequence[FoundChange] = (),
) -> FitDiagnosis:
    """
    Return a verdict by what faults explain; the first of its steps that decides makes it.

    `state_fits` are fits at corrected states, the likeliest first, `changes` those in single
    recordings.
    """
    tried = tried_faults(system)
    harmful_changes = [change for change in changes if change.is_harmful]
    constant_fit = _constant_fault(tried, harmful_changes)
    verdict = (
        _dominant_change_verdict(harmful_changes, constant_fit, state_fits)
        or state_fault_verdict(state_fits, tried)
        or _column_fault_verdict(tried, changes)
        or _likely_change_verdict(harmful_changes, constant_fit)
    )
    return FitDiagnosis(verdict, tried.system)


def _constant_fault(
    tried: TriedFaults, harmful_changes: Sequence[FoundChange]
) -> FaultFits | None:
    """
    Return the fit of the likeliest fault of whole recordings, a rival of changes in them, or None.

    Where a change is harmful, one that is only likely to be harmful is a rival, too: that which
    lowers E on left-out folds most.
    """
    if tried.harmful:
        return tried.harmful[0]
    if not harmful_changes:
        return None
    likely = (fit for fit in tried.fits if fit.is_likely_harmful())
    return max(likely, key=FaultFits.improvement, default=None)


def _dominant_change_verdict(
    harmful_changes: Sequence[FoundChange],
    constant_fit: FaultFits | None,
    state_fits: Sequence[StateFaultFit],
) -> RecordingVerdict | None:
    """
    Return a verdict that names changes if one explains much more than any other fault, or None.

    A fault of all of a recording also looks like a change in it.
    """
    if not harmful_changes:
        return None
    rivals = [fit.diagnosis() for fit in (constant_fit, *state_fits[:1]) if fit is not None]
    min_improvement = 1.0
    if rivals:
        min_improvement = MIN_HARMFUL_ERROR_RATIO * max(map(_improvement, rivals))
    causes = tuple(change.diagnosis for change in harmful_changes)
    if any(_improvement(cause) > min_improvement for cause in causes):
        return RecordingVerdict(causes)
    return None


def _improvement(diagnosis: Diagnosis) -> float:
    """Return E on left-out parts without a fault in the fit, relative to that with it."""
    return diagnosis.error_before / diagnosis.error_after


def _column_fault_verdict(
    tried: TriedFaults, changes: Sequence[FoundChange]
) -> RecordingVerdict | None:
    """Return a verdict by the harmful faults with columns, None if there is none."""
    if not tried.harmful:
        return None
    verdict = _likeliest_fault_verdict(tried)
    likelier_changes = tuple(
        change.diagnosis for change in changes if _is_likelier(change, verdict.causes)
    )
    return RecordingVerdict(likelier_changes) if likelier_changes else verdict


def _is_likelier(change: FoundChange, causes: Sequence[Diagnosis]) -> bool:
    """
    Return whether a change is likelier than the only one of `causes`, of which it is a change.

    A constant gain stands beside changes of it: what still changes is not constant.
    """
    diagnosed = [(cause.kind, cause.joints) for cause in causes]
    is_of_the_cause = diagnosed == [(change.fault.kind, change.fault.joints)]
    return is_of_the_cause and change.is_likelier_alone


def _likeliest_fault_verdict(tried: TriedFaults) -> RecordingVerdict:
    """Return a verdict that names the likeliest harmful fault or, if unclear, suspects joints."""
    likeliest = tried.harmful[0]
    simplest = _simplest_as_good(likeliest, tried.harmful)
    rival = _rival_of(likeliest, tried.fits)
    has_its_size = simplest.holds_at_fixed_inertias()
    if has_its_size and (rival is None or likeliest.is_better(rival)):
        return RecordingVerdict((simplest.diagnosis(rival),))
    if has_its_size and likeliest.improvement(rival) > MIN_HARMFUL_ERROR_RATIO:
        return RecordingVerdict((likeliest.diagnosis(rival),))
    return RecordingVerdict(suspected_joints=_joints_where_it_shows(likeliest))


def _simplest_as_good(likeliest: FaultFits, harmful: Sequence[FaultFits]) -> FaultFits:
    """Return the fit of the fault that the likeliest one extends, if that fits no better."""
    simpler_fault = likeliest.fault.simpler_fault
    as_good = (
        fit for fit in harmful if fit.fault == simpler_fault and not likeliest.is_better(fit)
    )
    return next(as_good, likeliest)


def _rival_of(likeliest: FaultFits, fits: Sequence[FaultFits]) -> FaultFits | None:
    """Return the likeliest possible fit of another fault than `likeliest` or what it extends."""
    simpler_fault = likeliest.fault.simpler_fault
    rivals = (
        fit for fit in fits if fit.fault.simpler_fault != simpler_fault and fit.counts_as_fault()
    )
    return next(rivals, None)


def _likely_change_verdict(
    harmful_changes: Sequence[FoundChange], constant_fit: FaultFits | None
) -> RecordingVerdict:
    """
    Return a verdict that names harmful changes, a sound one without any.

    Where a fault of whole recordings may be the cause as well, its joints are suspected.
    """
    if harmful_changes and constant_fit is not None:
        return RecordingVerdict(suspected_joints=_joints_where_it_shows(constant_fit))
    return RecordingVerdict(tuple(change.diagnosis for change in harmful_changes))


def _joints_where_it_shows(fit: FaultFits) -> tuple[int, ...]:
    """Return the joints whose residuals a fault explains much better."""
    squares_without = fit.system.baseline.squared_residuals
    gains = np.log(squares_without / fit.squared_residuals).mean(axis=0)  # (n,)
    shows = gains >= _MIN_SHOWN_TO_LARGEST_GAIN * gains.max()
    return tuple(np.flatnonzero(shows).tolist())
