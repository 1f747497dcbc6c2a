# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The verdict on recordings as sentences: the cause, questions, and what cannot be known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..identification.faults import Diagnosis, FAULT_CLASSES
from ..identification.verdict import RecordingVerdict


def verdict_lines(
    found: RecordingVerdict, joint_names: Sequence[str], effort_scale: Any
) -> list[str]:
    """
    Return sentences on sure and possible faults of recordings, each with what to do.

    `effort_scale` (n,) are the scales with which the recordings were read [N m per unit].
    """
    lines = [_diagnosis_sentence(one, joint_names, effort_scale) for one in found.causes]
    for one in found.causes:
        if np.isfinite(one.after):
            lines.append(
                f'With this in the fit, E on left-out parts falls from {one.before:.3f} to '
                f'{one.after:.3f}, with the next best fault to {one.second:.3f}.'
            )
    if found.suspected:
        names = ', '.join(joint_names[joint] for joint in found.suspected)
        lines.append(
            f'Cause unknown, joint{"s" * (len(found.suspected) > 1)} {names}: faults that would '
            'change the identified torques explain the recordings better, but none is clear. Look '
            'at these joints in the plots: sign, unit, gear, zero, order of the columns.'
        )
    lines += [_diagnosis_sentence(one, joint_names, effort_scale) for one in found.questions]
    return lines + _scale_question(found)


def _scale_question(verdict: RecordingVerdict) -> list[str]:
    """Return a sentence that asks about the effort scale or load, or [] without doubt."""
    found = verdict.mass_ambiguity
    if found is None:
        return []
    (low, high), (least, most), (scale, mass) = found.scale, found.load, found.together
    factor, where, lines = f'{low:.2f} to {high:.2f} times the torques', found.where, []
    if found.is_undetermined:
        lines.append(
            f'These torques and the masses of {where} hardly tell the size of the efforts: '
            f'they could be {factor}. Do not trust the identified masses before a known mass on '
            'the flange was found.'
        )
    elif found.excludes and not verdict.causes:
        load = f'{max(least, 0.0):.2f} to {most:.2f} kg are on the flange'
        if most <= 0.0:
            load = f'a hand or load was declared that is {-most:.2f} to {-least:.2f} kg too heavy'
        likely = 0.5 < scale < 2.0 and 0.0 < mass < 2.0 * most
        both = f', or both: likeliest {scale:.2f} times and {mass:.2f} kg' if likely else ''
        lines.append(
            'Are efforts scaled, or does the flange carry something else than declared? If the '
            f'masses of {where} are about right, all efforts are {factor}, or {load}{both}. '
            'Correct the unit with --effort-scale (of currents in A: --torque-constant), name the '
            'load with --hand or --payload.'
        )
    return lines


def undetermined_lines(verdict: RecordingVerdict, names: Sequence[str]) -> list[str]:
    """Return sentences on what joint torques cannot determine, and what this motion does not."""
    found = verdict.mass_ambiguity
    if found is None:
        return []
    (low, high), (least, most) = found.scale, found.load
    lines = [
        f'Not known from torques alone: a factor of all efforts ({low:.2f} to {high:.2f} by the '
        f'masses of {found.where}), to which all masses are in proportion; a load on the flange '
        f'({max(least, 0.0):.2f} to {max(most, 0.0):.2f} kg); a turn of the base about gravity. '
        '`identify payload --known-mass` tells the factor.'
    ]
    hidden = [_range_text(kind, names[joint], *span) for kind, joint, *span in found.hidden]
    if hidden:
        lines.append(f'By this motion, {", ".join(hidden)}. `identify plan` plans one for more.')
    return lines


def _range_text(kind: str, name: str, least: float, most: float) -> str:
    """Return text on the range that a motion leaves open of a joint's gain or encoder zero."""
    if kind == 'gain':
        if least <= 0.0:
            return f'the effort of {name} is not known'
        return f'the effort of {name} may be {least:.2f} to {most:.2f} times its torque'
    if most - least > np.pi:
        return f'the zero of {name} is not known'
    return f'the zero of {name} may be off by {least:.2f} to {most:.2f} rad'


def verdict_headline(found: RecordingVerdict) -> str:
    """Return a sentence on whether the recordings are sound; '' if nothing is doubted."""
    if found.causes:
        return 'The recordings are NOT sound.'
    if not found.sound:
        return 'The recordings are NOT sound, cause unknown.'
    return 'The recordings are sound, with a question.' if found.has_questions else ''


def _diagnosis_sentence(one: Diagnosis, names: Sequence[str], effort_scale: Any) -> str:
    """Return the sentence on one diagnosed cause or question."""
    return FAULT_CLASSES[one.kind].sentence(one, names, np.asarray(effort_scale, dtype=float))
