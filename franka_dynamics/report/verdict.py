# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The verdict on recordings as sentences: is it normal, what is the cause, what does it ask."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..identification.verdict import Cause, MOST_TIMES, Verdict

# What a fault is, and what to do about it; and what is asked, and how to answer. {0} is the first
# of a cause's values.
_CAUSES = {
    'gain': '{effort} is {0:.3g} times its torque. Check its column, sign, unit and gear; {fix} '
    'corrects it.',
    'drift': '{effort} drifts: {0:.2f} times its torque at the beginning, {1:.2f} at the end. Let '
    'the arm warm up, or record in shorter pieces.',
    'offset': '{effort} is off by {0:.2f} N m. Zero its torque sensor, or subtract this from its '
    'column.',
    'zero': 'The position of {joints} is off by {0:.3f} rad. Calibrate its encoder, or subtract '
    'this from its column.',
    'exchanged': 'The efforts of {joints} are exchanged. Exchange their columns.',
    'delay': 'Efforts are {ms:.0f} ms {late} against positions. Record both in one message, or '
    'move the effort columns.',
    'weightless': 'Efforts leave gravity out, as those of many drivers. Record a topic with '
    'measured torques.',
    'gravity': 'Gravity points elsewhere than given. Check how the arm is mounted; --gravity '
    '{0:.2f} {1:.2f} {2:.2f} gives the direction found.',
    'load': 'About {kg:.1f} kg were {done} the flange{when}. Cut the recording there, and '
    'identify with one of its parts; say what hangs on the flange with --payload or --hand.',
    'contact': 'Something touched the arm about {0:.0f} s after the beginning of {where}. Cut '
    'this out, or record again with nobody near.',
}
_QUESTIONS = {
    'gain': 'Are all efforts {0:.2f} times the torques? The masses of {where} say so, and nothing '
    'else in the recordings can tell. If the unit or torque constant may be wrong, {fix} corrects '
    'it; every identified mass is in proportion to it.',
    'load': 'Does the flange carry {kg:.2f} kg more than {where}? Name the hand with --hand, or '
    'a load with --payload {0:.2f},{center}; otherwise it becomes part of the last link.',
    'lighter': 'Does the flange carry {kg:.2f} kg less than {where}? If it lacks the hand, say '
    '--hand none; otherwise the last link becomes lighter.',
    'offset': _CAUSES['offset'],
    'hidden': 'Is an effort wrong, or a position, or late? A fault would lower the residual of '
    '{joints} from {before:.2f} to {after:.2f} times that of a good model, which no inertias do, '
    'but it is too small to be named. Check gains, zeros and times, or identify from another '
    'recording and compare.',
    'unusual': 'Does the arm differ from its published sets? {where} has {0:.1f} times the '
    'residual of a good model at {joints}; on recordings of two FER and an FR3 the best set had '
    'at most 1.5. A fault that no residual shows (a gain, an offset, an encoder) has the same '
    'effect, and would be identified as part of the arm.',
}


def verdict_lines(found: Verdict, joint_names: Sequence[str], effort_scale: Any) -> list[str]:
    """
    Return sentences on faults of recordings and on questions, each with what to do.

    `effort_scale` (n,) are the scales with which the recordings were read [N m per unit].
    """
    if found.causes:
        first, last = found.causes[0], found.causes[-1]
        together = '' if first is last else ' Together they explain the residuals.'
        return [
            *(_sentence(_CAUSES, one, joint_names, effort_scale) for one in found.causes),
            f'With this in the fit, residuals on left-out parts fall from {first.before:.1f} to '
            f'{last.after:.1f} times those of a good model.{together}',
        ]
    lines = []
    if found.abnormal:
        each = ', '.join(f'{joint_names[j]} {found.times[j]:.0f} times' for j in found.abnormal)
        lines.append(
            f'Residuals on unseen parts are too large ({each} that of a good model; at most '
            f'{MOST_TIMES:g} times), cause unknown: no single fault that was tried, and no two, '
            'explain them clearly. Look at the residuals of these joints in the plots.'
        )
    elif found.unclear:
        lines.append(
            'A fault of the recordings would explain their residuals much better, but it is not '
            'clear which, so the cause is unknown. Look at the residuals in the plots, and record '
            'again.'
        )
    asked = (_sentence(_QUESTIONS, one, joint_names, effort_scale) for one in found.questions)
    return [*lines, *asked]


def headline(found: Verdict) -> str:
    """Return the verdict on the recordings in a few words."""
    if found.causes:
        return 'The recordings are NOT sound.'
    if not found.sound:
        return 'The recordings are NOT normal, cause unknown.'
    return 'The recordings are normal, with a question.' if found.questions else ''


def _sentence(texts: dict[str, str], one: Cause, names: Sequence[str], effort_scale: Any) -> str:
    """Return the sentence of `texts` on a cause or question."""
    value, kind = one.values[0], one.kind
    if kind == 'gravity' and np.linalg.norm(one.values) < 5.0:
        kind = 'weightless'
    if kind == 'load' and texts is _QUESTIONS and value < 0.0:
        kind = 'lighter'
    # The `joints` of a load are the quarter where it comes or goes.
    joints = () if kind == 'load' else tuple(names[joint] for joint in one.joints)
    factors = np.ones(len(names))
    if kind == 'gain':
        factors[list(one.joints) or slice(None)] = 1.0 / value
    scales = np.asarray(effort_scale, dtype=float) * factors
    shown = scales[:1] if np.ptp(scales) == 0.0 else scales
    return texts[kind].format(
        *one.values,
        effort=f'The effort of {joints[0]}' if joints else 'Every effort',
        joints=' and '.join(joints),
        fix=f'--effort-scale {",".join(f"{scale:.3g}" for scale in shown)}',
        ms=1e3 * abs(value),
        late='late' if value > 0.0 else 'early',
        kg=abs(value),
        done='put on' if value > 0.0 else 'taken off',
        when=f' about {one.joints[0]} quarters through' if one.joints else '',
        center=','.join(f'{moment / value:.3f}' for moment in one.values[1:]),
        where=one.where,
        before=one.before,
        after=one.after,
    )
