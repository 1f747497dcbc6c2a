# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The verdict on recordings as sentences, of a replay or an identification."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..errors import plural
from ..judge.published_masses import MassAmbiguity
from ..judge.sentences import diagnosis_sentence
from ..judge.verdict import Diagnosis, RecordingVerdict

# A scale of efforts and a load together are told only if the scale is off by less than this
# factor, and the load is less than this factor times the largest that explains all by itself.
_MAX_PLAUSIBLE_FACTOR = 2.0


def verdict_lines(
    verdict: RecordingVerdict, joint_names: Sequence[str], effort_scale: Any
) -> list[str]:
    """
    Return sentences on sure and possible faults: what to do, what E becomes, how sure it is.

    `effort_scale` (n,) are the scales with which the recordings were read [N m per unit].
    """
    lines = [_diagnosis_sentence(cause, joint_names, effort_scale) for cause in verdict.causes]
    for cause in verdict.causes:
        if np.isfinite(cause.error_after):
            lines.append(
                'With this in the fit, E on left-out parts falls from '
                f'{cause.error_before:.3f} to {cause.error_after:.3f}, with the next best fault '
                f'to {cause.rival_error:.3f}.'
            )
        if np.isfinite(cause.effect):
            lines.append(
                f'By it E of the identified arm is about {cause.effect:.1f} times what it would '
                'be without it.'
            )
    if verdict.suspected_joints:
        names = [joint_names[joint] for joint in verdict.suspected_joints]
        lines.append(
            f'Cause unknown, {plural(len(names), "joint")} {", ".join(names)}: faults that would '
            'change the identified torques explain the recordings better, but none is clear. Look '
            'at these joints in the plots: sign, unit, gear, zero, order of the columns.'
        )
    lines += [
        _diagnosis_sentence(question, joint_names, effort_scale) for question in verdict.questions
    ]
    return [*lines, *_effort_scale_question(verdict)]


def _effort_scale_question(verdict: RecordingVerdict) -> Iterator[str]:
    """
    Yield a sentence if the efforts' scale is open, or if they do not match published masses.

    A mismatch is not mentioned if the verdict names causes of it.
    """
    ambiguity = verdict.mass_ambiguity
    if ambiguity is None:
        return
    min_scale, max_scale = ambiguity.scale_range
    factor = f'{min_scale:.2f} to {max_scale:.2f} times the torques'
    where = ambiguity.published_set
    if ambiguity.is_scale_undetermined:
        yield (
            f'These torques and the masses of {where} hardly tell the size of the efforts: '
            f'they could be {factor}. Trust masses only if a known one on the flange is found.'
        )
    elif ambiguity.rules_out_faultless and not verdict.causes:
        yield (
            'Are efforts scaled, or does the flange carry something else than declared? If the '
            f'masses of {where} are about right, all efforts are {factor}, or '
            f'{_load_text(ambiguity)}. '
            'Correct the unit (--effort-scale, --torque-constant) or the load (--hand, '
            '--payload); where it is right, say so by one of these options.'
        )


def _load_text(ambiguity: MassAmbiguity) -> str:
    """Return text on the load that published masses allow, or on load and effort scale alike."""
    min_mass, max_mass = ambiguity.load_range
    load = f'{max(min_mass, 0.0):.2f} to {max_mass:.2f} kg are on the flange'
    if max_mass <= 0.0:
        load = (
            f'a hand or load was declared that is {-max_mass:.2f} to {-min_mass:.2f} kg too heavy'
        )
    scale, mass = ambiguity.likeliest_scale_and_load
    is_plausible_scale = 1.0 / _MAX_PLAUSIBLE_FACTOR < scale < _MAX_PLAUSIBLE_FACTOR
    is_plausible_load = 0.0 < mass < _MAX_PLAUSIBLE_FACTOR * max_mass
    if is_plausible_scale and is_plausible_load:
        return f'{load}, or both: likeliest {scale:.2f} times and {mass:.2f} kg'
    return load


def mass_ambiguity_sentences(verdict: RecordingVerdict, joints: Sequence[str]) -> Iterator[str]:
    """Yield sentences on what torques leave open, here or always; none without a published set."""
    ambiguity = verdict.mass_ambiguity
    if ambiguity is None:
        return
    min_scale, max_scale = ambiguity.scale_range
    min_mass, max_mass = ambiguity.load_range
    yield (
        f'Not known from torques alone: a factor of all efforts ({min_scale:.2f} to '
        f'{max_scale:.2f} by the masses of {ambiguity.published_set}), to which all masses are in '
        f'proportion; a load on the flange ({max(min_mass, 0.0):.2f} to {max(max_mass, 0.0):.2f} '
        'kg); a turn of the base about gravity. `identify payload --known-mass` tells the factor.'
    )
    range_texts = [
        _range_text(fault.kind, joints[fault.joint], fault.low, fault.high)
        for fault in ambiguity.joint_ranges
    ]
    if range_texts:
        yield f'By this motion, {", ".join(range_texts)}. `identify plan` plans one for more.'


def _range_text(fault_kind: str, joint_name: str, least: float, most: float) -> str:
    """Return text on the range of a joint's effort gain or encoder zero that a motion allows."""
    if fault_kind == 'gain':
        if least <= 0.0:
            return f'the effort of {joint_name} is not known'
        return f'the effort of {joint_name} may be {least:.2f} to {most:.2f} times its torque'
    if most - least > np.pi:
        return f'the zero of {joint_name} is not known'
    return f'the zero of {joint_name} may be off by {least:.2f} to {most:.2f} rad'


def verdict_headline(verdict: RecordingVerdict) -> str:
    """Return a sentence on whether the recordings are sound; '' without fault or question."""
    if verdict.causes or verdict.value_faults:
        return 'The recordings are NOT sound.'
    if not verdict.sound:
        return 'The recordings are NOT sound, cause unknown.'
    return 'The recordings are sound, with a question.' if verdict.has_questions else ''


def _diagnosis_sentence(fault: Diagnosis, joints: Sequence[str], effort_scale: Any) -> str:
    """Return a sentence on one diagnosed fault of recordings or question to the user."""
    return diagnosis_sentence(fault, joints, np.asarray(effort_scale, dtype=float))
