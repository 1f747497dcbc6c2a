# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The HTML page about an identification: sentences, tables and plots."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from .elements import (
    figure_of_size,
    heading,
    MEASURED,
    page,
    paragraph,
    picture,
    PREDICTED,
    RESIDUAL,
    torque_figure,
)
from .identification import headline, parameter_table, tables, verdict, warning_lines
from .table import Head, Table
from ..identification.results import Identification
from ..identification.samples import filter_inflation
from ..recordings.preprocessing import Motion


def recording_figure(result: Identification, motion: Motion, name: str) -> Any:
    """Return a figure of measured torque, the identified arm's torque and their difference."""
    predicted = result.model.torque(motion, result.consistent.theta)
    scaled = replace(motion, effort=motion.effort * result.effort_scale)
    return torque_figure(scaled, predicted, 'identified', result.start.joint_names, name)


def parameter_figure(result: Identification) -> Any:
    """
    Return a bar chart of the base parameters (with 3 sigma) and the consistent arm's values.

    Masses, first moments and inertias are shown minus those of the starting set; friction is not.
    """
    names, b = result.model.names, len(result.model.base)
    start = np.concatenate([result.model.base.values(result.start), np.zeros(len(names) - b)])
    moment = [name.startswith('m') for name in names[:b]]
    groups = {
        'first moments and masses, change from the start [kg m, kg]': np.flatnonzero(moment),
        'inertias, change from the start [kg m^2]': np.flatnonzero(np.logical_not(moment)),
        'friction [N m s/rad, N m, N m]': np.arange(b, len(names)),
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


def identification_page(result: Identification, motions: Iterable[tuple[str, Motion]] = ()) -> str:
    """
    Return the HTML page of an identification, with a torque plot for each named motion.

    `motions` are pairs (name, motion); an iterator need not hold all motions in memory.
    """
    fit = result.fit
    noise = Table(
        'samples per independent sample: the filter alone causes '
        f'{filter_inflation(result.recorded.signal):.1f}; more means that errors of the model '
        'last longer than filtered noise',
        [
            'joint',
            Head('residual', 'N m', '.3f'),
            Head('samples per independent one', form='.1f'),
        ],
        list(zip(result.start.joint_names, fit.noise.deviation, fit.noise.inflation)),
    )
    parts: list[str | Table] = [
        paragraph(headline(result), 'good' if result.accepted else 'bad'),
        *(paragraph(line) for line in verdict(result)),
        *(paragraph(line, 'warning') for line in warning_lines(result)),
        heading('Errors'),
        *tables(result),
        heading('Torques'),
        *(
            picture(
                recording_figure(result, motion, name),
                f'measured and predicted torques of {name}',
            )
            for name, motion in motions
        ),
        heading('Parameters'),
        picture(parameter_figure(result), 'base parameters with their standard deviations'),
        parameter_table(result),
        heading('Noise'),
        noise,
        heading('How'),
        paragraph(_method(result)),
    ]
    return page(f'Identification of {result.start.name}', parts)


def _method(result: Identification) -> str:
    signal, model = result.recorded.signal, result.model
    return (
        f'Signals at {signal.rate:g} Hz, zero-phase second-order Butterworth at '
        f'{signal.cutoff:g} Hz on position, velocity and effort, {signal.trim:g} s trimmed; '
        f'{len(model.base)} base parameters (Gautier and Khalil 1990) and '
        f'{len(model.friction.names)} friction parameters. The documentation (Theory, '
        'Identification) explains the fit, its bounds and the standard deviations.'
    )
