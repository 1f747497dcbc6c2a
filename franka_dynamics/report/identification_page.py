# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""An identification as one HTML page that needs nothing else: tables, sentences, pictures."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from html import escape
import io
from typing import Any

from .identification_data import doubts, verdict
from .identification_plots import parameter_figure, torque_figure, validation_figure
from ..identification.bag_job import BagNote
from ..identification.identification_result import Identification
from ..identification.signal_processing import Motion, SignalOptions

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem;
       padding: 0 1rem; color: #222 }
table { border-collapse: collapse; margin: 1rem 0 }
th, td { border-bottom: 1px solid #ddd; padding: .2rem .7rem; text-align: right }
th:first-child, td:first-child { text-align: left }
img { max-width: 100%; height: auto }
.doubt { background: #fff3cd; padding: .5rem 1rem }
caption { text-align: left; color: #555; padding-bottom: .3rem }
"""


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
    title = f'Identification of {result.start.name}'
    parts = [
        f'<h1>{escape(title)}</h1>', *(f'<p>{escape(line)}</p>' for line in verdict(result)),
        *(f'<p class="doubt">{escape(line)}</p>' for line in doubts(result, bags, failures)),
        '<h2>Errors</h2>', _score_table(result), _joint_table(result),
        '<h2>Torques</h2>', *_torques(result, bags, motions),
        '<h2>Parameters</h2>', _picture(parameter_figure(result)), _parameter_table(result)]
    validation = validation_figure(result)
    if validation is not None:
        parts += ['<h2>Strength of the pull</h2>', _picture(validation)]
    parts += ['<h2>Noise</h2>', _noise_table(result), '<h2>How</h2>', _method(result, signal)]
    return (f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}'
            f'</title><style>{_STYLE}</style></head>\n<body>\n' + '\n'.join(parts)
            + '\n</body></html>\n')


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]], caption: str = '') -> str:
    head = ''.join(f'<th>{escape(text)}</th>' for text in headings)
    body = '\n'.join('<tr>' + ''.join(f'<td>{escape(text)}</td>' for text in row) + '</tr>'
                     for row in rows)
    return (f'<table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead>'
            f'<tbody>{body}</tbody></table>')


def _score_table(result: Identification) -> str:
    cutoffs = list(result.scores[0].other_cutoffs)
    headings = ['parameters', 'first half', 'unseen half', 'unseen, unfiltered effort',
                *(f'unseen, {cutoff:g} Hz' for cutoff in cutoffs)]
    rows = [[one.name, *(f'{errors.whole:.3f}' for errors in (
        one.train, one.test, one.test_unfiltered,
        *(one.other_cutoffs[cutoff] for cutoff in cutoffs)))] for one in result.scores]
    return _table(headings, rows, 'E over the whole vector [N m]; published sets have friction '
                  'fitted on the first half as well')


def _joint_table(result: Identification) -> str:
    rows = [[one.name, *(f'{value:.3f}' for value in one.test.joints)] for one in result.scores]
    return _table(['parameters', *result.start.joint_names], rows,
                  'root mean square per joint on the unseen half [N m]')


def _torques(result: Identification, bags: Sequence[BagNote], motions: Sequence[Motion],
             ) -> Iterable[str]:
    if not motions:
        yield '<p>The samples stayed on the cluster; replay a bag with the arm file to see.</p>'
    for bag, motion in zip(bags, motions):
        yield _picture(torque_figure(result, motion, result.start.joint_names, bag.bag))


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
    return _table(['parameter', 'start', 'without pull', 'base parameters', 'consistent',
                   *([] if result.bias is None else ['bias from encoder noise'])], rows,
                  'kg m², kg m, kg; friction N m s/rad, N m, N m; ± one standard deviation')


def _noise_table(result: Identification) -> str:
    rows = zip(result.start.joint_names, (f'{value:.3f}' for value in result.noise.deviation),
               (f'{value:.1f}' for value in result.noise.inflation))
    return _table(['joint', 'residual [N m]', 'samples per independent one'], rows,
                  f'the filter alone makes {result.filter_inflation:.1f} samples one; more means '
                  'that the model, not only the sensor, is off for longer')


def _method(result: Identification, signal: SignalOptions) -> str:
    return (
        f'<p>Signals at {signal.rate:g} Hz, zero-phase second-order Butterworth at '
        f'{signal.cutoff:g} Hz on position, velocity and effort, {signal.trim:g} s trimmed. '
        f'{len(result.model.base)} base parameters (Gautier and Khalil 1990) and '
        f'{len(result.model.friction.names)} of friction, weighted least squares on the first '
        'half of every recording. Standard deviations count independent samples: those of the '
        'filter, or of the residual where it repeats itself for longer; with a pull the starting '
        'set counts as a prior. The consistent fit keeps every pseudo-inertia positive definite, '
        f'every mass within a factor of {result.options.mass_factor:g} of the start, and every '
        'friction braking.</p>')


def _picture(figure: Any) -> str:
    data = io.BytesIO()
    figure.savefig(data, format='png', dpi=100)
    text = base64.b64encode(data.getvalue()).decode('ascii')
    return f'<img alt="" src="data:image/png;base64,{text}">'
