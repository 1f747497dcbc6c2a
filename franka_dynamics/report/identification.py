# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The figures of an identification as data for JSON and as sentences for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from .html_page import heading, page, paragraph, picture, table
from .plotting import broken, figure_of_size, MEASURED, PREDICTED, RESIDUAL
from .rounding import plus_minus, rounded
from ..identification.bag_job import BagNote
from ..identification.effort_scale import SCALE_NOT_SHOWN
from ..identification.held_out import LEAST_GAIN, Verdict
from ..identification.link_room import CENTER_MARGIN_M
from ..identification.qr_factors import BY_BAG
from ..identification.result import Identification, Score
from ..recordings.preprocessing import Motion, SignalOptions
from ..recordings.replay import Errors

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
            'strength': result.base.strength,
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


def _errors(errors: Errors) -> dict[str, Any]:
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


def doubts(result: Identification, bags: Sequence[BagNote], failures: Sequence[str]) -> list[str]:
    """Return what looks wrong about the recordings, one sentence each."""
    return [
        *(f'left out: {failure}' for failure in failures),
        *(
            f'{one.bag}: {sentence}'
            for one in bags
            for sentence in (*one.suspicions, *one.remarks)
        ),
        *result.contradictions,
        *result.remarks,
    ]


def _about_the_prior(result: Identification) -> list[str]:
    strength, start = result.base.strength, result.start.inertial_set
    chosen = 'by cross-validation' if result.options.strength is None else 'by hand'
    free = result.unregularised
    reason = (
        'the motion alone does not determine every parameter'
        if free is None
        else f'without it the condition number is {free.condition_number:.0f}'
    )
    sentences = [
        f'The prior on inertias is {start}, known to {strength**-0.5:.0%} (precision '
        f'{strength:.3g}, chosen {chosen}; {reason}).'
    ]
    if result.not_shown:
        sentences.append(
            f'This motion tells little or nothing about {len(result.not_shown)} of '
            f'{len(result.model.base)} base parameters, which stay near {start}: '
            f'{", ".join(result.not_shown)}. {advice(result.not_shown)}'
        )
    return sentences


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


def torque_figure(
    result: Identification, motion: Motion, joint_names: Sequence[str], title: str
) -> Any:
    """Return measured and predicted torque and residual of one recording."""
    predicted = result.model.torque(motion, result.consistent.theta)
    n = motion.q.shape[1]
    figure = figure_of_size((12.0, 1.6 * n + 0.8))
    axes = figure.subplots(n, 2, sharex=True, squeeze=False)
    time = broken(motion.time, motion.piece)
    for row, name, measured, model in zip(axes, joint_names, motion.effort.T, predicted.T):
        row[0].plot(
            time,
            broken(measured, motion.piece),
            color=MEASURED,
            lw=1.6,
            label='measured, filtered',
        )
        row[0].plot(
            time, broken(model, motion.piece), color=PREDICTED, lw=1.0, ls='--', label='identified'
        )
        row[1].axhline(0.0, color='#aaaaaa', lw=0.6)
        row[1].plot(time, broken(measured - model, motion.piece), color=RESIDUAL, lw=1.0)
        row[0].set_ylabel(f'{name}\n[N m]', fontsize=8)
        for axis in row:
            axis.tick_params(labelsize=8)
            axis.grid(alpha=0.25)
    figure.legend(
        *axes[0, 0].get_legend_handles_labels(), loc='outside upper right', ncols=2, fontsize=8
    )
    axes[0, 1].set_title('measured - identified', fontsize=10)
    for axis in axes[-1]:
        axis.set_xlabel('time [s]', fontsize=9)
    figure.suptitle(title, fontsize=11, x=0.02, ha='left')
    return figure


def parameter_figure(result: Identification) -> Any:
    """Return bars of what changed from the start, and of friction, with 3-sigma error bars."""
    names, b = result.model.names, len(result.model.base)
    start = np.concatenate([result.model.base.values(result.start), np.zeros(len(names) - b)])
    moment = [name.startswith('m') for name in names[:b]]
    groups = {
        'first moments and masses, change from the start [kg m, kg]': np.flatnonzero(moment),
        'inertias, change from the start [kg m^2]': np.flatnonzero(np.logical_not(moment)),
        'friction [N m s/rad, N m, N m]': b + np.flatnonzero(result.offered[b:]),
    }
    figure = figure_of_size((13.0, 10.5))
    for axis, (title, members) in zip(figure.subplots(len(groups), 1), groups.items()):
        place = np.arange(len(members))
        axis.bar(
            place - 0.2,
            (result.base.theta - start)[members],
            0.38,
            color=PREDICTED,
            yerr=3.0 * result.base.deviations[members],
            ecolor=MEASURED,
            capsize=2,
            label='base parameters, 3 sigma',
        )
        axis.bar(
            place + 0.2,
            (result.consistent.theta - start)[members],
            0.38,
            color=RESIDUAL,
            label='consistent',
        )
        axis.set_xticks(place, [names[i] for i in members], rotation=60, fontsize=8)
        axis.axhline(0.0, color='#888888', lw=0.6)
        axis.set_title(title, fontsize=10, loc='left')
        axis.grid(axis='y', alpha=0.25)
    figure.axes[0].legend(fontsize=8)
    figure.suptitle(f'start: {result.start.inertial_set}', fontsize=10)
    return figure


def validation_figure(result: Identification) -> Any | None:
    """Return the cross-validation error over the prior's strength; None without one."""
    if result.validation is None or not result.validation.strengths:
        return None
    strengths, errors = np.array(result.validation.strengths), result.validation.errors
    figure = figure_of_size((8.0, 3.6))
    axis = figure.subplots()
    axis.semilogx(strengths, errors, 'o-', color=PREDICTED, ms=4, label='with friction')
    axis.semilogx(
        strengths,
        result.validation.rigid_errors,
        'o-',
        color=MEASURED,
        ms=4,
        label='without friction and offset',
    )
    axis.axvline(result.base.strength, color=RESIDUAL, lw=1.0, ls='--', label='chosen')
    axis.set_xlabel('precision of the prior', fontsize=9)
    axis.set_ylabel('left-out E [N m]', fontsize=9)
    axis.grid(alpha=0.25)
    axis.legend(fontsize=8)
    return figure


def identification_page(
    result: Identification,
    bags: Sequence[BagNote],
    signal: SignalOptions,
    motions: Sequence[Motion] = (),
    failures: Sequence[str] = (),
) -> str:
    """
    Return the page's HTML.

    Parameters
    ----------
    result : Identification
        What was found.
    bags : sequence of BagNote
        What was read.
    signal : SignalOptions
        How it was prepared.
    motions : sequence of Motion
        The bags' samples in the same order; without them there are no pictures of torques.
    failures : sequence of str
        Sentences on bags that were left out.

    """
    parts = [
        *(paragraph(line) for line in verdict(result)),
        *(paragraph(line, 'doubt') for line in doubts(result, bags, failures)),
        heading('Errors'),
        _score_table(result),
        _joint_table(result),
        _parts_table(result),
        _bag_table(result),
        heading('Torques'),
        *_torques(result, bags, motions),
        heading('Parameters'),
        picture(parameter_figure(result), 'base parameters with their standard deviations'),
        _parameter_table(result),
    ]
    validation = validation_figure(result)
    if validation is not None:
        parts += [
            heading('Precision of the prior'),
            picture(validation, 'cross-validated error over the precision of the prior'),
        ]
    parts += [
        heading('Noise'),
        _noise_table(result),
        heading('How'),
        paragraph(_method(result, signal)),
    ]
    return page(f'Identification of {result.start.name}', parts)


def _score_table(result: Identification) -> str:
    cutoffs = list(result.scores[0].other_cutoffs)
    headings = [
        'parameters',
        'all data',
        'unseen',
        'unseen, without friction and offset',
        'unseen, unfiltered effort',
        *(f'unseen, {cutoff:g} Hz' for cutoff in cutoffs),
    ]
    rows = [
        [
            one.name,
            *(
                f'{errors.whole:.3f}'
                for errors in (
                    one.train,
                    one.test,
                    one.test_rigid,
                    one.test_unfiltered,
                    *(one.other_cutoffs[cutoff] for cutoff in cutoffs),
                )
            ),
        ]
        for one in result.scores
    ]
    return table(
        headings, rows, 'E over the whole vector [N m]; published sets have friction fitted alike'
    )


def _joint_table(result: Identification) -> str:
    rows = [[one.name, *(f'{value:.3f}' for value in one.test.joints)] for one in result.scores]
    return table(
        ['parameters', *result.start.joint_names],
        rows,
        'root mean square per joint on what was left out [N m]',
    )


def _parts_table(result: Identification) -> str:
    best = next((one for one in result.published if one.name == result.verdict.best), None)
    rows = [
        [
            own.name,
            f'{own.error:.3f}',
            f'{own.rigid_error:.3f}',
            '' if best is None else f'{best.parts[k].error:.3f}',
        ]
        for k, own in enumerate(result.arm_score.parts)
    ]
    return table(
        ['left out', 'identified', 'identified, without friction and offset', result.verdict.best],
        rows,
        'E of what was left out, part by part [N m]',
    )


def _bag_table(result: Identification) -> str:
    return table(
        ['bag', 'residual'],
        [[name, f'{error:.3f}'] for name, error in result.bags],
        'root mean square of each bag under the final fit to all of them [N m]',
    )


def _torques(
    result: Identification,
    bags: Sequence[BagNote],
    motions: Sequence[Motion],
) -> Iterable[str]:
    if not motions:
        yield paragraph(
            'The samples stayed on the cluster; replay a bag with the arm file to see.'
        )
    for bag, motion in zip(bags, motions):
        yield picture(
            torque_figure(result, motion, result.start.joint_names, bag.bag),
            f'measured and predicted torques of {bag.bag}',
        )


def _parameter_table(result: Identification) -> str:
    b = len(result.model.base)
    start = result.model.base.values(result.start)
    meanings = [str(relation) for relation in result.model.base.relations]
    free = result.unregularised
    rows = []
    for i in np.flatnonzero(result.offered):
        name = result.model.names[i]
        rows.append(
            [
                meanings[i] if i < b else name,
                f'{start[i]:.4g}' if i < b else '',
                '' if free is None else plus_minus(free.theta[i], free.deviations[i]),
                plus_minus(result.base.theta[i], result.base.deviations[i]),
                rounded(result.consistent.theta[i], result.base.deviations[i])[0],
                *([] if result.bias is None else [f'{result.bias[i]:.2g}']),
            ]
        )
    return table(
        [
            'parameter',
            'start',
            'without prior',
            'base parameters',
            'consistent',
            *([] if result.bias is None else ['bias from encoder noise']),
        ],
        rows,
        'kg m², kg m, kg; friction N m s/rad, N m, N m; ± one standard deviation',
    )


def _noise_table(result: Identification) -> str:
    rows = zip(
        result.start.joint_names,
        (f'{value:.3f}' for value in result.noise.deviation),
        (f'{value:.1f}' for value in result.noise.inflation),
    )
    return table(
        ['joint', 'residual [N m]', 'samples per independent one'],
        rows,
        f'the filter alone makes {result.filter_inflation:.1f} samples one; more means '
        'that the model, not only the sensor, is off for longer',
    )


def _method(result: Identification, signal: SignalOptions) -> str:
    return (
        f'Signals at {signal.rate:g} Hz, zero-phase second-order Butterworth at '
        f'{signal.cutoff:g} Hz on position, velocity and effort, {signal.trim:g} s trimmed. '
        f'{len(result.model.base)} base parameters (Gautier and Khalil 1990) and '
        f'{int(result.offered.sum()) - len(result.model.base)} of friction, weighted least '
        'squares under a prior about the starting set and about zero friction. Standard '
        'deviations count independent samples: those of the filter, or of the residual where it '
        'repeats itself for longer; the prior counts. The consistent fit keeps every '
        'pseudo-inertia positive definite, '
        f'every mass within a factor of {result.options.mass_factor:g} of the start, every centre '
        f'of mass within {1e3 * CENTER_MARGIN_M:g} mm of the shapes of its link, and every '
        'friction braking.'
    )
