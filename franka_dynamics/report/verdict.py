# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The verdict on recordings as sentences: is it normal, what is the cause, what does it ask."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..identification.verdict import Cause, MOST_TIMES, Verdict

_USUALLY = 'on recordings of two FER and an FR3 it was at most 1.5'


def verdict_lines(found: Verdict, joint_names: Sequence[str], effort_scale: Any) -> list[str]:
    """
    Return sentences on faults of recordings and on questions, each with what to do.

    `effort_scale` (n,) are the scales with which the recordings were read [N m per unit].
    """
    if found.causes:
        together = ' Together they explain the residuals.' if len(found.causes) > 1 else ''
        last = found.causes[-1]
        return [
            *(_cause(one, joint_names, effort_scale) for one in found.causes),
            f'With this in the fit, residuals on left-out parts fall from '
            f'{found.causes[0].before:.1f} to {last.after:.1f} times those of a good model.'
            f'{together}',
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
    return lines + [_question(one, joint_names, effort_scale) for one in found.questions]


def headline(found: Verdict) -> str:
    """Return the verdict on the recordings in a few words."""
    if found.causes:
        return 'The recordings are NOT sound.'
    if not found.sound:
        return 'The recordings are NOT normal, cause unknown.'
    return 'The recordings are normal, with a question.' if found.questions else ''


def _corrected(effort_scale: Any, factors: Any) -> str:
    """Return the option that corrects efforts by factors, one or one per joint (n,)."""
    values = np.asarray(effort_scale, dtype=float) * factors
    shown = values[:1] if np.ptp(values) == 0.0 else values
    return f'--effort-scale {" ".join(f"{value:.3g}" for value in shown)}'


def _scaled(one: Cause, names: Sequence[str], effort_scale: Any) -> tuple[str, str]:
    """Return whose effort is scaled, and the option that corrects it."""
    factors = np.ones(len(names))
    factors[list(one.joints) or slice(None)] = 1.0 / one.values[0]
    whose = f'The effort of {names[one.joints[0]]}' if one.joints else 'Every effort'
    return whose, _corrected(effort_scale, factors)


def _cause(one: Cause, names: Sequence[str], effort_scale: Any) -> str:
    """Return what a fault is and what to do about it."""
    joints = ' and '.join(names[joint] for joint in one.joints) if one.kind != 'load' else ''
    value = one.values[0]
    match one.kind:
        case 'gain':
            whose, fix = _scaled(one, names, effort_scale)
            what = (
                'has a flipped sign' if -1.2 < value < -0.8 else f'is {value:.3g} times its torque'
            )
            return f'{whose} {what}. Check its column, sign, unit and gear; {fix} corrects it.'
        case 'drift':
            whose = f'The effort of {joints}' if joints else 'Every effort'
            first, last = one.values
            return (
                f'{whose} drifts: {first:.2f} times its torque at the beginning, {last:.2f} at '
                'the end. Let the arm warm up, or record in shorter pieces.'
            )
        case 'offset':
            return (
                f'The effort of {joints} is off by {value:.2f} N m. Zero its torque sensor, or '
                'subtract this from its column.'
            )
        case 'zero':
            return (
                f'The position of {joints} is off by {value:.3f} rad. Calibrate its encoder, or '
                'subtract this from its column.'
            )
        case 'exchanged':
            return f'The efforts of {joints} are exchanged. Exchange their columns.'
        case 'delay':
            late = 'late' if value > 0.0 else 'early'
            return (
                f'Efforts are {abs(value) * 1e3:.0f} ms {late} against positions. Record both in '
                'one message, or move the effort columns.'
            )
        case 'gravity':
            size = float(np.linalg.norm(one.values))
            if size < 5.0:
                return (
                    'Efforts leave gravity out, as those of many drivers. Record a topic with '
                    'measured torques.'
                )
            along = ' '.join(f'{part:.2f}' for part in one.values)
            return (
                f'Gravity points elsewhere than given. Check how the arm is mounted; --gravity '
                f'{along} gives the direction found.'
            )
        case 'load':
            done = 'put on' if value > 0.0 else 'taken off'
            when = f' about {one.joints[0]} quarters through' if one.joints else ''
            return (
                f'About {abs(value):.1f} kg were {done} the flange{when}. Cut the recording '
                'there, and identify with one of its parts; say what hangs on the flange with '
                '--payload or --hand.'
            )
        case 'contact':
            return (
                f'Something touched the arm about {value:.0f} s after the beginning of '
                f'{one.where}. Cut this out, or record again with nobody near.'
            )
        case _:
            raise ValueError(f'no sentence for the fault {one.kind!r}')


def _question(one: Cause, names: Sequence[str], effort_scale: Any) -> str:
    """Return a question of the published sets, and how to answer it."""
    if one.kind == 'gain':
        _, fix = _scaled(one, names, effort_scale)
        return (
            f'Are all efforts {one.values[0]:.2f} times the torques? The published masses say so, '
            'and nothing else in the recordings can tell. If the unit or torque constant may be '
            f'wrong, {fix} corrects it; every identified mass is in proportion to it.'
        )
    if one.kind == 'load':
        mass, x, y, z = one.values
        center = ','.join(f'{moment / mass:.3f}' for moment in (x, y, z))
        more = 'more' if mass > 0.0 else 'less'
        return (
            f'Does the flange carry {abs(mass):.2f} kg {more} than said? Name the hand with '
            f'--hand, or a load with --payload {mass:.2f},{center}; otherwise it becomes part of '
            'the last link.'
        )
    if one.kind == 'offset':
        return _cause(one, names, effort_scale)
    if one.kind == 'inertias':
        return (
            'Do masses or centres of mass differ by much more than 10 % from the starting set? '
            f'With such masses residuals are {one.after:.1f} instead of {one.before:.1f} times '
            'those of a good model. A fault of the recordings (an encoder, a gain) has the same '
            'effect, and would be identified as part of the arm.'
        )
    return (
        f'Is the arm different from all published sets? The best of them has '
        f'{one.values[0]:.1f} times the residual of a good model at {names[one.joints[0]]}; '
        f'{_USUALLY}. A fault of the recordings that no residual shows (a gain, an offset, an '
        'encoder) has the same effect, and would be identified as part of the arm.'
    )
