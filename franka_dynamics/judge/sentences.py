# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The sentences of a verdict: the table's, with names, numbers and words put in."""

from collections.abc import Sequence

import numpy as np

from .table import OTHERS, Row, ROWS
from .verdict import Diagnosis
from ..arrays import Array, NDArray

_WRONG_SIGN_GAIN_TOLERANCE = 0.25  # a gain that is as near to -1 is a wrong sign
_MAX_LINEAR_ANGLE_RAD = 0.2  # a larger angle found by a first derivative is only about right
_OTHERS = {row.kind: row for row in OTHERS}
_GRAVITY_LEFT_OUT = (
    'Efforts leave gravity out. Add the torque of the starting set by add_gravity '
    '(--add-gravity), or record a topic with measured torques.'
)


def row_of_diagnosis(found: Diagnosis) -> Row:
    """Return the row of the table that has the sentence on a fault or question."""
    return _OTHERS.get(found.kind) or ROWS[found.kind, len(found.joints)]


def diagnosis_sentence(found: Diagnosis, joint_names: Sequence[str], effort_scales: Array) -> str:
    """
    Return sentences that say what is wrong with recordings, and what to do about it.

    `effort_scales` (n,) are the factors with which efforts were read [N m per unit].
    """
    if found.kind == 'gravity' and not found.joints and not any(found.values):
        return _GRAVITY_LEFT_OUT
    value = found.values[0] if found.values else 0.0
    names = [joint_names[joint] for joint in found.joints]
    problem, scales = '', ''
    if found.kind == 'gain':
        problem, scales = _gain_words(value, found.joints, effort_scales)
    return row_of_diagnosis(found).sentence.format(
        *found.values,
        effort=f'The effort of {names[0]}' if names else 'Every effort',
        joints=' and '.join(names),
        of_joints=f' of {" and ".join(names)}' if names else '',
        about='about ' if abs(value) > _MAX_LINEAR_ANGLE_RAD else '',
        ms=1e3 * abs(value),
        late_or_early='late' if value > 0.0 else 'early',
        where=found.recording,
        changed=_changed_sentence(found, names) if found.kind == 'changed' else '',
        problem=problem,
        scales=scales,
    )


def _gain_words(ratio: float, joints: tuple[int, ...], effort_scales: Array) -> tuple[str, str]:
    """Return what is wrong with efforts, and the value of --effort-scale that corrects it."""
    problem = (
        f'is {ratio:.3g} times its torque. Check its column, sign, unit (currents: '
        '--torque-constant) and gear'
    )
    divisor = ratio
    if abs(ratio + 1.0) < _WRONG_SIGN_GAIN_TOLERANCE:
        problem = (
            'has the wrong sign: the torque that moves the joint is positive where it turns '
            'the joint positively'
        )
        divisor = -1.0
    n = len(effort_scales)
    at_fault: NDArray[np.bool_] = np.isin(np.arange(n), joints or range(n))
    right_scales = np.where(at_fault, effort_scales / divisor, effort_scales)
    if not np.ptp(right_scales):
        right_scales = right_scales[:1]  # one number for all joints
    return problem, ','.join(f'{scale:.3g}' for scale in right_scales)


def _changed_sentence(found: Diagnosis, names: Sequence[str]) -> str:
    """Return a sentence that says what changes, when, and where to cut the recording."""
    joints = ' and '.join(names)
    begin, end = found.values
    if begin < end:
        drifts = f'The effort of {joints} drifts' if names else 'The efforts of all joints drift'
        return (
            f'{drifts} all along {found.recording}. Let the arm warm up, or record in shorter '
            'pieces.'
        )
    what = f'the effort of {joints} is another' if names else 'it is another arm'
    return (
        f'After about {begin:.0f} s of {found.recording} {what}: a load or a contact came or '
        'went, or efforts changed. Cut it there, and identify with one of its parts; say what '
        'hangs on the flange with --payload or --hand.'
    )
