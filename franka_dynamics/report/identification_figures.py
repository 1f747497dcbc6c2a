# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures of an identification: torques over time, friction over speed, base parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from .figures import figure_of_size, MEASURED_COLOR, PREDICTED_COLOR, torque_figure
from ..identification.results import Identification
from ..recordings.preprocessing import Motion

_COLUMN_COUNT = 4  # of joints in the figure of friction


def recording_figure(result: Identification, motion: Motion, name: str) -> Any:
    """Return a figure of measured torque, the identified arm's, and their difference."""
    predicted = result.estimate.model.torque(motion, result.estimate.theta)
    return torque_figure(motion, predicted, 'identified', result.start.joint_names, name)


def friction_figure(result: Identification, motion: Motion, name: str) -> Any:
    """
    Return a figure of each joint's friction torque [N m] over its velocity [rad/s].

    Points are the measured torques less those of the identified rigid bodies. The curve is the
    identified friction while the joint slides, the band twice its standard deviation.
    """
    model, estimate, own = result.estimate.model, result.estimate, len(result.estimate.model.base)
    friction = model.friction.model(estimate.theta[own:], estimate.covariance[own:, own:])
    bodies = np.append(estimate.theta[:own], np.zeros(len(model.friction.names)))
    rest = motion.effort - model.torque(motion, bodies)
    speeds = np.linspace(-1.0, 1.0, 401)[:, None] * np.abs(motion.dq).max(axis=0)
    curve, spread = friction.torque(speeds), friction.deviation(friction.terms(speeds))
    rows = -(-model.n // _COLUMN_COUNT)
    figure = figure_of_size((12.0, 2.4 * rows + 0.6))
    axes = [*figure.subplots(rows, _COLUMN_COUNT, squeeze=False).flat]
    for i, (axis, joint) in enumerate(zip(axes, result.start.joint_names)):
        axis.plot(motion.dq[:, i], rest[:, i], '.', color=MEASURED_COLOR, ms=2, label='measured')
        axis.plot(speeds[:, i], curve[:, i], color=PREDICTED_COLOR, label='identified, sliding')
        low, high = ((curve + sign * 2.0 * spread)[:, i] for sign in (-1.0, 1.0))
        axis.fill_between(
            speeds[:, i], low, high, color=PREDICTED_COLOR, alpha=0.3, label='two deviations'
        )
        axis.set_title(joint, fontsize=9)
        axis.tick_params(labelsize=8)
        axis.grid(alpha=0.25)
    for axis in axes[model.n :]:
        axis.set_axis_off()
    figure.supxlabel('velocity [rad/s]', fontsize=9)
    figure.supylabel('friction torque [N m]', fontsize=9)
    figure.legend(*axes[0].get_legend_handles_labels(), loc='outside upper right', ncols=3)
    figure.suptitle(name, x=0.01, ha='left', fontsize=11)
    return figure


def parameter_figure(result: Identification) -> Any:
    """Return a figure of each base parameter's change from the starting set, with deviations."""
    model, estimate = result.estimate.model, result.estimate
    count = len(model.base)
    start, names = model.base.values(result.start), np.array(model.names[:count])
    first_moments = np.char.startswith(names, 'm')
    figure = figure_of_size((12.0, 6.0))
    panels = (('first moments [kg m]', first_moments), ('inertias [kg m²]', ~first_moments))
    for axis, (what, which) in zip(figure.subplots(2), panels):
        change, places = estimate.base[:count] - start, np.arange(which.sum())
        axis.errorbar(
            places,
            change[which],
            2.0 * estimate.std[:count][which],
            fmt='o',
            color=PREDICTED_COLOR,
            capsize=3,
            label='by the recordings, with two standard deviations',
        )
        consistent = (estimate.theta[:count] - start)[which]
        axis.plot(places, consistent, 'x', color=MEASURED_COLOR, label='of the identified arm')
        axis.axhline(0.0, color='#aaaaaa', lw=0.6)
        axis.set_xticks(places, names[which], rotation=90, fontsize=8)
        axis.set_ylabel(what)
        axis.grid(alpha=0.25)
    figure.legend(*axis.get_legend_handles_labels(), loc='outside upper right', ncols=2)
    figure.suptitle('change from the starting set', x=0.01, ha='left', fontsize=11)
    return figure
