# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Sentences on too large residual torques of an identification: size, cause, what to do."""

from __future__ import annotations

import numpy as np

from ..identification.explanations import Explanation, MOST_TIMES, tilted_gravity
from ..identification.results import Identification
from ..identification.samples import STRETCH


def diagnosis_lines(result: Identification) -> list[str]:
    """Return sentences on joints with large residuals, doubtful effort scales, likely faults."""
    found, names = result.diagnosis, result.start.joint_names
    lines = []
    if found.suspicious_joints:
        each = ', '.join(f'{names[j]} {found.times[j]:.0f} times' for j in found.suspicious_joints)
        lines.append(
            'Recordings and model do not agree: residuals of unseen torque are too large '
            f'({each} the normal residual of such a joint; at most {MOST_TIMES:g} times).'
        )
    lines += [
        f'The identified effort scales are doubtful: {doubt}. Give them with --effort-scale.'
        for doubt in found.scale_doubts
    ]
    lines += [explained(result, one) for one in (found.fault, found.rotors) if one is not None]
    if found.suspicious_joints and found.fault is None:
        lines.append(
            'No single fault that was tried explains it (gain or sign of a joint, two joints '
            'exchanged, delay, gravity, a load that came or went, contact): look at the residuals '
            'of these joints with --report.'
        )
    return lines


def cause_and_fix(result: Identification) -> tuple[str, str]:
    """Return why the recordings of an identification are faulty, and what the user should do."""
    found, names = result.diagnosis, result.start.joint_names
    if found.fault is not None:
        what, fix = _what_and_fix(result, found.fault)
        return f'{what}.', fix
    if found.scale_doubts:
        return 'The identified effort scales are doubtful.', 'Give them with --effort-scale.'
    suspicious = ', '.join(names[joint] for joint in found.suspicious_joints)
    return (
        f'The residuals of {suspicious} are too large, and no single fault explains them.',
        'Look at the residuals of these joints with --report.',
    )


def explained(result: Identification, one: Explanation) -> str:
    """Return sentences on a fault: cause, residuals of fits with and without it, what to do."""
    before, after = (float(np.linalg.norm(each)) for each in (one.before, one.after))
    what, fix = _what_and_fix(result, one)
    return (
        f'{what}: a fit that allows for it has a residual of {after:.2f} N m instead of '
        f'{before:.2f}. {fix}'
    )


def _what_and_fix(result: Identification, one: Explanation) -> tuple[str, str]:
    """Return what a fault is, as a sentence without its full stop, and what to do about it."""
    names = [result.start.joint_names[joint] for joint in one.joints]
    match one.kind:
        case 'gain':
            (gain,), (joint,) = one.values, one.joints
            what = (
                f'The effort of {names[0]} seems to be {gain:.2f} times the torque that the '
                'starting set and the other joints suggest'
            )
            fix = 'Check its column.'
            if gain > 0.0:
                scale = _effort_scale(result, joint, 1.0 / gain)
                fix = f'Check its column, torque constant, unit and gear; {scale}'
            return what, fix
        case 'sign':
            return (
                f'The effort of {names[0]} seems to have a flipped sign',
                f'Check its column; {_effort_scale(result, one.joints[0], -1.0)}',
            )
        case 'exchanged':
            return (
                f'The efforts of {names[0]} and {names[1]} seem to be exchanged',
                'Exchange their columns, such as in --effort of bag import.',
            )
        case 'delay':
            delay = one.values[0]
            late, moved = ('late', 'earlier') if delay > 0.0 else ('early', 'later')
            return (
                f'Efforts seem to be {abs(delay) * 1e3:.0f} ms {late} against positions',
                'Record both in one message, or import the log with its effort columns moved by '
                f'this time to {moved} rows.',
            )
        case 'tilt':
            angle = np.degrees(np.arctan(np.linalg.norm(one.values)))
            along = ' '.join(f'{value:.2f}' for value in tilted_gravity(result.fit.prior, one))
            return (
                f'Gravity seems to point {angle:.0f} degrees away from the given direction',
                f'Check how the arm is mounted; --gravity {along} gives the direction found.',
            )
        case 'load':
            mass, (bag, _, stretch) = one.values[0], one.where.partition(STRETCH)
            return (
                f'About {abs(mass):.1f} kg seem to have been '
                f'{"put on" if mass > 0.0 else "taken off"} the flange in {bag}, about where its '
                f'stretch {stretch} begins',
                'Cut the recording there, and identify with one of its parts.',
            )
        case 'contact':
            shown = zip(one.values[:10:2], one.values[1:10:2])
            spans = ', '.join(f'{begin:.1f} to {end:.1f} s' for begin, end in shown)
            more = ' and more' if len(one.values) > 10 else ''
            return (
                f'Something seems to have touched the arm in {one.where} from {spans}{more}',
                'Cut this out, or record again with nobody near.',
            )
        case 'rotors':
            return (
                'The model seems to lack rotor inertia, a torque proportional to the '
                'acceleration of each joint',
                'Identify it with --rotor-inertia.',
            )
        case _:
            raise ValueError(f'no sentence for the fault {one.kind!r}')


def _effort_scale(result: Identification, joint: int, factor: float) -> str:
    """Return a sentence with the --effort-scale that corrects a joint's effort by a factor."""
    scale = np.array(result.effort_scale, dtype=float)
    scale[joint] *= factor
    values = ' '.join(f'{value:.3g}' for value in scale)
    return f'--effort-scale {values} corrects it when the log is read.'
