# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The identified arm as the text of an arm file, with notes on how it was found."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from .identification_record import IdentificationRecord, IDENTIFIED_SET_NAME
from ..arm import ArmDescription, LinkInertia
from ..arm.arm_file import arm_file_text
from ..arm.friction import grows_with_load
from ..arm.payload import as_payload, PayloadLike
from ..errors import IdentificationError

_MASS_ROUNDING_KG = 1e-9
_MAX_NAMED_RECORDING_COUNT = 5
_MAX_WARNING_COUNT = 10


def identified_arm_text(result: IdentificationRecord, payload: PayloadLike | None = None) -> str:
    """
    Return the accepted or identified arm, less `payload`, as an arm file's text.

    It names the recordings and the errors. `payload`, on the flange during the recordings, is
    subtracted from the links and from the payload that the arm states, if any. The inertias are
    the published ones if only the friction was accepted; then it is subtracted only if they state
    it. Raises IdentificationError if the arm states less than `payload`.
    """
    origin = f'identified by franka-dynamics from {_list_of_names(result.recordings.names)}'
    if result.keeps_published_inertias:
        arm = result.published_fit.arm
        source = arm.source
        title = f'{arm.name}, friction identified'
    else:
        # What the starting set did not know of masses, the recordings have told.
        arm = replace(result.arm, inertial_set=IDENTIFIED_SET_NAME, unmeasured=())
        source = origin
        title = f'{arm.name}, identified'
    notes = [_torque_error_note(result), *_fit_notes(result), *_warning_notes(result)]
    if payload is not None:
        body = as_payload(payload)
        arm = _without_recorded_payload(arm, body, fitted=not result.keeps_published_inertias)
        arm = result.with_receiver_offset(arm)
        notes.append(f'recorded with a payload of {body.mass:g} kg, not in these numbers')
    return arm_file_text(
        arm, title=title, source=source, notes='; '.join(notes), friction_source=origin
    )


def _list_of_names(names: Sequence[str]) -> str:
    """Return the first names of recordings, and how many more there are."""
    listed = ', '.join(names[:_MAX_NAMED_RECORDING_COUNT])
    more_count = len(names) - _MAX_NAMED_RECORDING_COUNT
    return f'{listed} and {more_count} more' if more_count > 0 else listed


def _without_recorded_payload(
    arm: ArmDescription, body: LinkInertia, fitted: bool
) -> ArmDescription:
    """
    Return an arm less a load that was on the flange; IdentificationError if it states another.

    If the arm states no load, links that were `fitted` to recordings hold it all the same, and
    published links do not.
    """
    stated = arm.payload
    states_load = bool(stated.parameters().any())
    if states_load and stated.mass - body.mass < -_MASS_ROUNDING_KG:
        raise IdentificationError(
            f'The payload of {body.mass:g} kg is no part of the {stated.mass:g} kg that the arm '
            'states it carries: give that which the start was loaded with.'
        )
    if not states_load and not fitted:
        return arm
    bare = arm.with_payload(LinkInertia.zero() - body)
    if states_load:
        return bare
    return replace(bare, payload=stated, carried_mass=arm.carried_mass)


def _torque_error_note(result: IdentificationRecord) -> str:
    """Return an arm file's note on the torque errors of its arm."""
    errors = result.saved_errors
    unit = result.error_unit
    return (
        f'E on unseen data {errors.test.E:.4f} {unit}, without friction and offset '
        f'{errors.frictionless.E:.4f} {unit}'
    )


def _fit_notes(result: IdentificationRecord) -> Iterator[str]:
    """Yield an arm file's notes on how its arm was fitted, and whether that is better."""
    if result.options.add_gravity:
        yield f'efforts came without gravity: {added_gravity_sentence(result)}'
    if result.keeps_published_inertias:
        yield 'inertias as published, to which the identified ones were NOT better'
        yield 'friction fitted to all of the data'
    else:
        yield f'{"" if result.improvement.better else "NOT "}better than the best published set'
        if not result.verdict.sound:
            yield 'recordings that are NOT sound'
        yield 'fitted to all of the data'
    if load := load_friction_sentence(result):
        yield load
    if not result.keeps_published_inertias:
        yield 'physically consistent'
        yield f'prior about {result.start.inertial_set}'
    yield prior_sentence(result)


def prior_sentence(result: IdentificationRecord) -> str:
    """Return how wide the prior is, and which of its widths torques chose."""
    widths = result.estimate.prior.widths
    fixed = result.options.fixed_widths
    known = {
        'regularization': f'precision {widths.regularization:.3g} of masses',
        'inertia': f'inertias {widths.inertia:.3g} times as wide',
        'friction': f'friction of {widths.friction:.2%}',
        'offset': f'offsets of {widths.offset:.2%}',
        'slip': f'slip elements of {widths.slip:.2%} of the torque limits' if widths.slip else '',
        'stribeck': f'friction that falls with speed of {widths.stribeck:.2%}',
        'load': f'friction that grows with the load, of {widths.load:.2%} of it',
    }
    if not widths.slip:
        known['slip'] = 'no slip elements'
    if not widths.stribeck:
        known['stribeck'] = 'no friction that falls with speed'
    if not widths.load:
        known['load'] = 'no friction that grows with the load'
    chosen = ', '.join(text for name, text in known.items() if name not in fixed)
    given = ', '.join(text for name, text in known.items() if name in fixed)
    parts = [f'torques chose a prior with {chosen}'] if chosen else []
    if given:
        parts.append(f'given were {given}')
    return '; '.join(parts)


def load_friction_sentence(result: IdentificationRecord) -> str:
    """Return that friction grows with the load, '' if it does not."""
    if not grows_with_load(result.saved_arm.friction):
        return ''
    return 'friction grows with the load (load_dependent), which makes the torques likelier'


def added_gravity_sentence(result: IdentificationRecord) -> str:
    """Return what holds the parameters that gravity shows, where efforts came without it."""
    return (
        f'the gravity torque of {result.start.inertial_set} was added before the fit, so that '
        'what gravity alone shows of masses and their centres is of that set, and not of the data'
    )


def _warning_notes(result: IdentificationRecord) -> Iterator[str]:
    """Yield an arm file's note on the warnings of its recordings, if there are any."""
    # A question about masses that nobody knows has no value.
    questions = [
        ' '.join((f'asks: {question.kind}', *(f'{value:.3g}' for value in question.values[:1])))
        for question in result.verdict.questions
    ]
    doubts = [
        f'{note.name}: {warning}' for note in result.recordings.notes for warning in note.warnings
    ]
    warnings = [*questions, *result.recordings.remarks, *doubts]
    if warnings:
        listed = ' | '.join(warnings[:_MAX_WARNING_COUNT])
        yield f'{len(warnings)} warnings when it was made: {listed}'
