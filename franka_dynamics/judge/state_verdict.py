# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Decides whether recordings have a fault of their states, and which.

Such faults (an axis the other way, a zero off by quarter turns, exchanged columns) have no
regressor columns. They are tried by fits at corrected states (`corrected_states`), and compared
with others by log evidence.
"""

from collections.abc import Sequence

import numpy as np

from .corrected_states import StateFaultFit
from .fault_fits import TriedFaults
from .faults import MIN_HARMFUL_ERROR_RATIO
from .faults.torques import EffortGain, WrongGravity
from .recording_verdict import RecordingVerdict
from ..fit.prior_widths import DEFAULT_PRIOR_PRECISION

# Log evidence by which a fault without columns exceeds others, or none, "very strong" (Kass and
# Raftery 1995).
_MIN_CLEAR_LOG_BAYES_FACTOR = 5.0


def state_fault_verdict(
    state_fits: Sequence[StateFaultFit], tried: TriedFaults
) -> RecordingVerdict | None:
    """
    Return a verdict by the likeliest fault of states, None unless it is harmful and very likely.

    `state_fits` are fits at corrected states, the likeliest first; `tried` are the faults with
    columns, its rivals. If it is not clear, its joints and those of the second likeliest are
    suspected.
    """
    if not state_fits:
        return None
    likeliest, *others = state_fits
    is_harmful = likeliest.error_growth > MIN_HARMFUL_ERROR_RATIO
    if not is_harmful:
        return None
    column_evidence = _column_fault_evidence(tried, likeliest)
    if not likeliest.log_bayes_factor > max(column_evidence, _MIN_CLEAR_LOG_BAYES_FACTOR):
        return None
    second = others[0] if others else None
    rival_evidence = max([column_evidence, *(fit.log_bayes_factor for fit in others[:1])])
    is_far_likelier = likeliest.log_bayes_factor > rival_evidence + _MIN_CLEAR_LOG_BAYES_FACTOR
    # One that makes masses likelier, but predicts no torque better, is not clear.
    predicts_better = likeliest.error_after < likeliest.error_before
    if is_far_likelier and predicts_better and not _looks_like_column_fault(likeliest, tried):
        return RecordingVerdict((likeliest.diagnosis(second),))
    joints = {joint for fit in state_fits[:2] for joint in fit.fault.joints}
    return RecordingVerdict(suspected_joints=tuple(sorted(joints)))


def _column_fault_evidence(tried: TriedFaults, state_fit: StateFaultFit) -> float:
    """
    Return the log evidence of the likeliest fault with columns, a rival of a state fault.

    A harmless fault of another joint is a rival as well. One of the same joint is how a fault of
    the states looks nearby, as a zero off by a little does beside one off by a quarter turn.
    """
    rivals = [fit.fault for fit in tried.harmful[:1]]
    if tried.harmless is not None and tried.harmless.fault.joints != state_fit.fault.joints:
        rivals.append(tried.harmless.fault)
    evidence = (tried.system.log_bayes_factor(fault, DEFAULT_PRIOR_PRECISION) for fault in rivals)
    return max(evidence, default=-np.inf)


def _looks_like_column_fault(state_fit: StateFaultFit, tried: TriedFaults) -> bool:
    """
    Return whether a fault of the states hardly differs from a harmful one with columns.

    Half a turn of the second joint hardly differs from a base that hangs, an axis the other way
    from an effort of the other sign.
    """
    if tried.harmful and tried.harmful[0].fault.kind == WrongGravity.kind:
        return True
    gain = EffortGain(state_fit.fault.joints)
    return any(fit.fault == gain and fit.reported_values[0] < 0.0 for fit in tried.harmful)
