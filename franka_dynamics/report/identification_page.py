# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The page about an identification: sentences, tables and plots."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .elements import (
    broken,
    figure_of_size,
    heading,
    MEASURED,
    page,
    paragraph,
    picture,
    plus_minus,
    PREDICTED,
    RESIDUAL,
    rounded,
    table,
)
from .identification import verdict, warning_lines
from ..identification.bag_job import BagNote
from ..identification.link_room import CENTER_MARGIN_M
from ..identification.result import Identification
from ..recordings.preprocessing import Motion, SignalOptions


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
    """Return the cross-validation error over the prior's regularization; None without one."""
    if result.validation is None or not result.validation.regularizations:
        return None
    regularizations, errors = np.array(result.validation.regularizations), result.validation.errors
    figure = figure_of_size((8.0, 3.6))
    axis = figure.subplots()
    axis.semilogx(regularizations, errors, 'o-', color=PREDICTED, ms=4, label='with friction')
    axis.semilogx(
        regularizations,
        result.validation.rigid_errors,
        'o-',
        color=MEASURED,
        ms=4,
        label='without friction and offset',
    )
    axis.axvline(result.base.regularization, color=RESIDUAL, lw=1.0, ls='--', label='chosen')
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
        *(paragraph(line, 'warning') for line in warning_lines(result, bags, failures)),
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
        'repeats itself for longer; the prior counts as far as the torques bear it out. The '
        'consistent fit keeps every pseudo-inertia positive definite, '
        f'every mass within a factor of {result.options.mass_factor:g} of the start, every centre '
        f'of mass within {1e3 * CENTER_MARGIN_M:g} mm of the shapes of its link, and every '
        'friction braking.'
    )
