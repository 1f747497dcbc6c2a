# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The figures of an identification: data for JSON, sentences and tables for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, TYPE_CHECKING

import numpy as np

from .elements import rounded
from ..identification.bag_job import BagNote
from ..identification.effort_scale import SCALE_NOT_SHOWN
from ..identification.held_out import LEAST_GAIN, Verdict
from ..identification.qr_factors import BY_BAG
from ..identification.result import Identification, Score
from ..recordings.preprocessing import SignalOptions
from ..recordings.replay import ResidualRms

if TYPE_CHECKING:
    from rich.console import Console

_NAMES = 5  # so many names a sentence lists


def identification_as_data(
    result: Identification,
    bags: Sequence[BagNote],
    signal: SignalOptions,
    failures: Sequence[str] = (),
) -> dict[str, Any]:
    """Return all figures of an identification in types that JSON has; SI units."""
    return {
        'arm': result.start.name,
        'starting_set': result.start.inertial_set,
        'hand': result.start.hand,
        'bags': [asdict(one) for one in bags],
        'bags_left_out': list(failures),
        'signal': asdict(signal),
        'options': {
            **asdict(result.options),
            'gravity': np.asarray(result.options.gravity).tolist(),
        },
        'scores': [_score(one) for one in result.scores],
        'noise': {
            'deviation': result.noise.deviation.tolist(),
            'samples_per_independent_one': result.noise.inflation.tolist(),
            'of_which_the_filter': result.filter_inflation,
        },
        'prior': {
            'strength': result.base.regularization,
            'shown_precision': asdict(result.precision),
            'cross_validation': None if result.validation is None else asdict(result.validation),
        },
        'condition_number': {
            'without_prior': None
            if result.unregularised is None
            else result.unregularised.condition_number,
            'with_prior': result.base.condition_number,
        },
        'parameters': _parameters(result),
        'not_shown': list(result.not_shown),
        'friction_held_at_zero': list(result.friction_held),
        'slip_reaches_rad': list(result.reaches),
        'effort_scale': result.effort_scale.tolist(),
        'effort_scale_relative_deviation': result.found_scale.deviation.tolist(),
        'verdict': {**asdict(result.verdict), 'better': result.verdict.better},
        'residual_of_bags': dict(result.bags),
        'unseen_bags': [name for name, _ in result.bags[len(result.bags) - result.unseen_bags :]],
        'contradictions': list(result.contradictions),
        'masses': [link.mass for link in result.consistent.arm.links],
        'consistency_margins': [link.consistency_margin() for link in result.consistent.arm.links],
        'remarks': list(result.remarks),
    }


def _parameters(result: Identification) -> list[dict[str, Any]]:
    start = result.model.base.values(result.start)
    free = result.unregularised
    rows = []
    for i in np.flatnonzero(result.offered):
        name = result.model.names[i]
        rows.append(
            {
                'name': name,
                'start': float(start[i]) if i < len(start) else None,
                'without_prior': None if free is None else float(free.theta[i]),
                'without_prior_deviation': None if free is None else float(free.deviations[i]),
                'base': float(result.base.theta[i]),
                'base_deviation': float(result.base.deviations[i]),
                'bias_from_encoder_noise': None if result.bias is None else float(result.bias[i]),
                'consistent': float(result.consistent.theta[i]),
            }
        )
    return rows


def _score(one: Score) -> dict[str, Any]:
    return {
        'name': one.name,
        'train': _errors(one.train),
        'test': _errors(one.test),
        'test_without_friction': _errors(one.test_rigid),
        'test_unfiltered': _errors(one.test_unfiltered),
        'parts': [
            {
                'name': part.name,
                'samples': part.samples,
                'E': part.error,
                'E_without_friction': part.rigid_error,
            }
            for part in one.parts
        ],
        'test_at_other_cutoffs': {
            f'{cutoff:g}': _errors(errors) for cutoff, errors in one.other_cutoffs.items()
        },
    }


def _errors(errors: ResidualRms) -> dict[str, Any]:
    return {'E': errors.whole, 'joints': errors.joints.tolist()}


def verdict(result: Identification) -> list[str]:
    """Return what a reader must know, one sentence each, the most important first."""
    arm, said = result.arm_score, result.verdict
    sentences = [
        f'{_left_out(result)} the identified arm has E = {arm.test.whole:.3f} N m '
        f'({arm.test_unfiltered.whole:.3f} on unfiltered effort), without its friction and offset '
        f'{said.rigid:.3f} N m.'
    ]
    if said.best:
        theirs = next(one for one in result.published if one.name == said.best)
        sentences.append(
            f'The best published set with friction fitted alike, {said.best}, has '
            f'{theirs.test.whole:.3f} N m there: the identified arm is {_judged(said)}.'
        )
    if not said.rigid_holds:
        sentences.append(
            f'Without friction and offset, which is what a node commands by default, the '
            f'identified arm is NOT as good as {result.start.inertial_set} ({said.rigid:.3f} '
            f'against {said.start_rigid:.3f} N m): its friction or offset has taken over what '
            'gravity explains; record a motion that turns every joint to and fro.'
        )
    return [
        *sentences,
        *_about_the_scale(result),
        *_about_the_prior(result),
        *_about_friction(result),
    ]


def _about_the_scale(result: Identification) -> list[str]:
    """Return what an ampere was found to be, and what of that the motion does not say."""
    if not result.options.scale_unknown:
        return []
    names, start = result.start.joint_names, result.start.inertial_set
    scale, deviation = result.effort_scale, result.found_scale.deviation
    untold = [name for name, part in zip(names, deviation) if part > SCALE_NOT_SHOWN]
    figures = ', '.join(
        f'{name} {value:.4g} ({"not shown" if part > SCALE_NOT_SHOWN else f"{part:.0%}"})'
        for name, value, part in zip(names, scale, deviation)
    )
    sentences = [
        f'N m per A of motor current, with the standard deviation relative to each other: '
        f'{figures}.',
        f'What they amount to as a whole no current says: it rests on the inertias of {start}, '
        'and if that arm is 10% too heavy, so are these scales, every mass and every N m here. '
        'Give the scales with --effort-scale where that matters.',
    ]
    if untold:
        sentences.append(
            f'The motion does not show what an ampere is at {shown_names(untold)}: held at the '
            "median of the others'. Torques there are right in amperes alone."
        )
    return sentences


def _left_out(result: Identification) -> str:
    """Return where the errors are from."""
    parts = result.arm_score.parts
    if result.unseen_bags:
        return (
            f'On {result.unseen_bags} unseen bag{"s" * (result.unseen_bags > 1)}, learnt from '
            f'{len(result.bags) - result.unseen_bags},'
        )
    what = 'bags' if len(result.bags) >= BY_BAG else 'stretches'
    return f'On {len(parts)} {what}, each predicted from the others,'


def _judged(said: Verdict) -> str:
    gain, spread = rounded(said.gain, said.spread)
    figures = f'by {gain} N m on average, spread {spread} N m'
    if said.lost:
        return (
            f'NOT better, because it is worse on {shown_names(said.lost)} ({figures}); record a '
            'richer motion before using it'
        )
    if said.gain > max(said.spread, said.least):
        return f'better ({figures})'
    if said.gain > said.spread:
        return (
            f'NOT better by as much as {LEAST_GAIN:.0%}, or {said.least:.3f} N m ({figures}); '
            'stay with the published set'
        )
    return (
        f'NOT better by more than the spread ({figures}); record a richer motion before using it'
    )


def shown_names(names: Sequence[str]) -> str:
    """Return some names as a list of bounded length."""
    more = f' and {len(names) - _NAMES} more' if len(names) > _NAMES else ''
    return ', '.join(names[:_NAMES]) + more


def _about_friction(result: Identification) -> list[str]:
    """Return sentences on friction: which terms were held, and what reaches were chosen."""
    sentences = []
    if result.reaches:
        sentences.append(
            'The slip elements reach '
            f'{" and ".join(f"{1e3 * reach:g} mrad" for reach in result.reaches)}, '
            'chosen by cross-validation.'
        )
    if result.friction_held:
        sentences.append(
            f'The motion does not determine {len(result.friction_held)} friction parameters, '
            'which are smaller than their own deviation and held at zero: '
            f'{", ".join(result.friction_held)}.'
        )
    return sentences


def warning_lines(
    result: Identification, bags: Sequence[BagNote], failures: Sequence[str]
) -> list[str]:
    """Return what looks wrong about the recordings, one sentence each."""
    return [
        *(f'left out: {failure}' for failure in failures),
        *(
            sentence if sentence.startswith(one.bag) else f'{one.bag}: {sentence}'
            for one in bags
            for sentence in (*one.suspicions, *one.remarks)
        ),
        *result.contradictions,
        *result.remarks,
    ]


def _about_the_prior(result: Identification) -> list[str]:
    regularization, start = result.base.regularization, result.start.inertial_set
    chosen = 'by cross-validation' if result.options.regularization is None else 'by hand'
    free = result.unregularised
    reason = (
        'the motion alone does not determine every parameter'
        if free is None
        else f'without it the condition number is {free.condition_number:.0f}'
    )
    sentences = [
        f'The prior on inertias is {start}, known to {regularization**-0.5:.0%} (precision '
        f'{regularization:.3g}, chosen {chosen}; {reason}). Deviations take it for known to '
        f'{min(regularization, result.precision.masses) ** -0.5:.0%} in masses and centres and '
        f'to {min(regularization, result.precision.inertias) ** -0.5:.0%} in inertias about them, '
        'the worst that these torques do not contradict.'
    ]
    if result.not_shown:
        sentences.append(
            f'This motion tells little or nothing about {len(result.not_shown)} of '
            f'{len(result.model.base)} base parameters, which stay near {start}: '
            f'{", ".join(result.not_shown)}. {advice(result.not_shown)}'
        )
    return sentences


def _part(precision: float) -> str:
    """Return to what part something of a precision is known."""
    part = precision**-0.5
    return f'{part:.0%}' if part > 0.01 else f'{100.0 * part:.1g}%'


def advice(names: Sequence[str]) -> str:
    """Return what motion would show base parameters, by their names."""
    symbols = {name.split('_')[0].removesuffix('R') for name in names}
    joints = sorted({int(name.rpartition('_')[2]) for name in names})
    listed = ', '.join(map(str, joints))
    said = []
    if symbols & {'XX', 'XY', 'XZ', 'YY', 'YZ', 'ZZ', 'Ia'}:
        said.append(
            f'Faster motion with more acceleration of the joints up to {joints[-1]} '
            f'shows inertias of links {listed}'
        )
    if symbols & {'mX', 'mY', 'mZ', 'm'}:
        said.append(
            f'poses in which links {listed} are tilted differently against gravity show '
            'first moments'
        )
    return '; '.join(said) + '.' if said else ''


def print_identification(
    console: Console,
    result: Identification,
    bags: Sequence[BagNote],
    failures: Sequence[str] = (),
) -> None:
    """Print the figures as tables, then what is doubtful and the verdict."""
    from rich.table import Table
    from rich.text import Text

    cutoffs = list(result.scores[0].other_cutoffs)
    table = Table(
        title='E over the whole vector [N m], friction of published sets fitted alike; '
        'rigid alone: without friction and offset',
        title_justify='left',
    )
    table.add_column('parameters', no_wrap=True)
    for heading in (
        'all data',
        'unseen',
        'rigid alone',
        'unfiltered',
        *(f'{c:g} Hz' for c in cutoffs),
    ):
        table.add_column(heading, justify='right')
    for one in result.scores:
        table.add_row(
            one.name,
            f'{one.train.whole:.3f}',
            Text(f'{one.test.whole:.3f}', 'bold'),
            f'{one.test_rigid.whole:.3f}',
            f'{one.test_unfiltered.whole:.3f}',
            *(f'{one.other_cutoffs[cutoff].whole:.3f}' for cutoff in cutoffs),
        )
    console.print(table)
    joints = Table(
        title='root mean square per joint on what was left out [N m], '
        f'{result.start.joint_names[0]} to {result.start.joint_names[-1]}',
        title_justify='left',
    )
    joints.add_column('parameters', no_wrap=True)
    for number in range(1, result.start.n + 1):
        joints.add_column(str(number), justify='right')
    for one in result.scores:
        joints.add_row(one.name, *(f'{value:.2f}' for value in one.test.joints))
    console.print(joints)
    parts = Table(title='E of what was left out, part by part [N m]', title_justify='left')
    for heading in ('left out', 'identified', 'rigid alone', result.verdict.best or '-'):
        parts.add_column(heading, justify='left' if heading == 'left out' else 'right')
    best = next((one for one in result.published if one.name == result.verdict.best), None)
    for k, own in enumerate(result.arm_score.parts):
        parts.add_row(
            own.name,
            f'{own.error:.3f}',
            f'{own.rigid_error:.3f}',
            '-' if best is None else f'{best.parts[k].error:.3f}',
        )
    console.print(parts)
    if len(result.bags) > 1:
        table = Table(
            title='residual of each bag under the final fit to all of them [N m]',
            title_justify='left',
        )
        table.add_column('bag')
        table.add_column('root mean square', justify='right')
        for name, error in result.bags:
            table.add_row(name, f'{error:.3f}')
        console.print(table)
    for sentence in warning_lines(result, bags, failures):
        console.print(f'warning: {sentence}', style='yellow', markup=False, highlight=False)
    for sentence in verdict(result):
        console.print(sentence, markup=False, highlight=False)
