# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""An identification as one HTML page that needs nothing else: tables, sentences, pictures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .html_page import heading, page, paragraph, picture, table
from .identification_data import doubts, verdict
from .identification_plots import parameter_figure, torque_figure, validation_figure
from ..identification.bag_job import BagNote
from ..identification.identification_result import Identification
from ..identification.signal_processing import Motion, SignalOptions


def identification_page(result: Identification, bags: Sequence[BagNote],
                        signal: SignalOptions, motions: Sequence[Motion] = (),
                        failures: Sequence[str] = ()) -> str:
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
        heading('Errors'), _score_table(result), _joint_table(result),
        heading('Torques'), *_torques(result, bags, motions),
        heading('Parameters'),
        picture(parameter_figure(result), 'base parameters with their standard deviations'),
        _parameter_table(result)]
    validation = validation_figure(result)
    if validation is not None:
        parts += [heading('Strength of the pull'),
                  picture(validation, 'cross-validated error over the strength of the pull')]
    parts += [heading('Noise'), _noise_table(result), heading('How'),
              paragraph(_method(result, signal))]
    return page(f'Identification of {result.start.name}', parts)


def _score_table(result: Identification) -> str:
    cutoffs = list(result.scores[0].other_cutoffs)
    headings = ['parameters', 'first half', 'unseen half', 'unseen, unfiltered effort',
                *(f'unseen, {cutoff:g} Hz' for cutoff in cutoffs)]
    rows = [[one.name, *(f'{errors.whole:.3f}' for errors in (
        one.train, one.test, one.test_unfiltered,
        *(one.other_cutoffs[cutoff] for cutoff in cutoffs)))] for one in result.scores]
    return table(headings, rows, 'E over the whole vector [N m]; published sets have friction '
                  'fitted on the first half as well')


def _joint_table(result: Identification) -> str:
    rows = [[one.name, *(f'{value:.3f}' for value in one.test.joints)] for one in result.scores]
    return table(['parameters', *result.start.joint_names], rows,
                  'root mean square per joint on the unseen half [N m]')


def _torques(result: Identification, bags: Sequence[BagNote], motions: Sequence[Motion],
             ) -> Iterable[str]:
    if not motions:
        yield paragraph('The samples stayed on the cluster; replay a bag with the arm file to '
                        'see.')
    for bag, motion in zip(bags, motions):
        yield picture(torque_figure(result, motion, result.start.joint_names, bag.bag),
                      f'measured and predicted torques of {bag.bag}')


def _parameter_table(result: Identification) -> str:
    b = len(result.model.base)
    start = result.model.base.values(result.start)
    meanings = [str(relation) for relation in result.model.base.relations]
    free = result.unregularised
    rows = []
    for i, name in enumerate(result.model.names):
        rows.append([
            meanings[i] if i < b else name, f'{start[i]:.4g}' if i < b else '',
            '' if free is None else f'{free.theta[i]:.4g} ± {free.deviations[i]:.2g}',
            f'{result.base.theta[i]:.4g} ± {result.base.deviations[i]:.2g}',
            f'{result.consistent.theta[i]:.4g}',
            *([] if result.bias is None else [f'{result.bias[i]:.2g}'])])
    return table(['parameter', 'start', 'without pull', 'base parameters', 'consistent',
                   *([] if result.bias is None else ['bias from encoder noise'])], rows,
                  'kg m², kg m, kg; friction N m s/rad, N m, N m; ± one standard deviation')


def _noise_table(result: Identification) -> str:
    rows = zip(result.start.joint_names, (f'{value:.3f}' for value in result.noise.deviation),
               (f'{value:.1f}' for value in result.noise.inflation))
    return table(['joint', 'residual [N m]', 'samples per independent one'], rows,
                  f'the filter alone makes {result.filter_inflation:.1f} samples one; more means '
                  'that the model, not only the sensor, is off for longer')


def _method(result: Identification, signal: SignalOptions) -> str:
    return (
        f'Signals at {signal.rate:g} Hz, zero-phase second-order Butterworth at '
        f'{signal.cutoff:g} Hz on position, velocity and effort, {signal.trim:g} s trimmed. '
        f'{len(result.model.base)} base parameters (Gautier and Khalil 1990) and '
        f'{len(result.model.friction.names)} of friction, weighted least squares on the first '
        'half of every recording. Standard deviations count independent samples: those of the '
        'filter, or of the residual where it repeats itself for longer; with a pull the starting '
        'set counts as a prior. The consistent fit keeps every pseudo-inertia positive definite, '
        f'every mass within a factor of {result.options.mass_factor:g} of the start, and every '
        'friction braking.')
