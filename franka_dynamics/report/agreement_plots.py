# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures of how far formulations are apart, on logarithmic scales."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .agreement_data import LINK_ASPECTS
from .plotting import figure_of_size
from ..dynamics.agreement import Agreement

# Okabe and Ito's colours, which the colour-blind tell apart.
_COLORS = ('#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9')
_LEAST = 1e-17  # exact agreement has no logarithm


def matrix_figure(agreement: Agreement) -> Any:
    """Return quantities by formulations, coloured from exact agreement to the tolerance."""
    names = [quantity.name for quantity in agreement.quantities]
    figure = figure_of_size((2.6 + 1.5 * len(agreement.formulations), 1.0 + 0.36 * len(names)))
    axes = figure.subplots()
    _heat_map(axes, agreement.deviations, agreement.tolerance)
    axes.set_xticks(range(len(agreement.formulations)), agreement.formulations)
    axes.set_yticks(range(len(names)), names)
    axes.set_title('largest difference from the median', fontsize=10)
    return figure


def pair_figure(agreement: Agreement) -> Any:
    """Return the largest difference of every pair of formulations in any quantity."""
    count = len(agreement.formulations)
    figure = figure_of_size((2.4 + 1.3 * count, 1.2 + 0.55 * count))
    axes = figure.subplots()
    _heat_map(axes, np.max(list(agreement.pairs.values()), axis=0), agreement.tolerance)
    axes.set_xticks(range(count), agreement.formulations)
    axes.set_yticks(range(count), agreement.formulations)
    return figure


def link_figure(agreement: Agreement) -> Any:
    """Return frames, twists and wrenches of every link, a line for each formulation."""
    figure = figure_of_size((12.0, 3.6))
    panels = figure.subplots(1, 3, sharey=True)
    for axes, aspect in zip(panels, LINK_ASPECTS):
        for blame, color in zip(agreement.blames, _colors(agreement)):
            values = np.maximum(getattr(blame, aspect), _LEAST)
            axes.semilogy(np.arange(1, len(values) + 1), values, 'o-', color=color, ms=4,
                          lw=1.2, label=blame.formulation)
        axes.axhline(agreement.tolerance, color='#888888', lw=1.0, ls='--')
        axes.set_title(aspect, fontsize=10)
        axes.set_xlabel('link, from base to tip')
        axes.set_xticks(np.arange(1, len(values) + 1))
        axes.grid(alpha=0.25)
    panels[0].set_ylabel('largest difference')
    panels[0].legend(fontsize=8)
    return figure


def torque_figure(agreement: Agreement) -> Any:
    """Return which share of the states is how far from the median, in inverse dynamics."""
    figure = figure_of_size((9.0, 3.6))
    axes = figure.subplots()
    share = (np.arange(agreement.states) + 1.0) / agreement.states
    for row, name, color in zip(agreement.torques, agreement.formulations, _colors(agreement)):
        axes.semilogx(np.sort(np.maximum(row, _LEAST)), share, color=color, lw=1.5, label=name)
    axes.axvline(agreement.tolerance, color='#888888', lw=1.0, ls='--', label='tolerance')
    axes.set_xlabel('difference of the inverse dynamics from the median')
    axes.set_ylabel('share of states at most that far')
    axes.legend(fontsize=8)
    axes.grid(alpha=0.25)
    return figure


def _heat_map(axes: Any, values: NDArray[np.float64], tolerance: float) -> None:
    """Draw differences in the colours of their logarithms, each with its figure."""
    logarithms = np.log10(np.maximum(np.nan_to_num(values, nan=1.0), _LEAST))
    bound = np.log10(tolerance)
    axes.imshow(logarithms, cmap='YlOrRd', vmin=-17.0, vmax=bound + 2.0, aspect='auto')
    for (row, column), value in np.ndenumerate(values):
        off = not value <= tolerance
        axes.text(column, row, f'{value:.0e}', ha='center', va='center', fontsize=8,
                  fontweight='bold' if off else 'normal', color='white' if off else 'black')


def _colors(agreement: Agreement) -> list[str]:
    return [_COLORS[i % len(_COLORS)] for i in range(len(agreement.formulations))]
