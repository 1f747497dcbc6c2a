# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Elements that several reports use: rounded numbers, pieces of HTML pages, plots of torques."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from html import escape
import io
import math
from pathlib import Path
from typing import Any, TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .table import Table
from ..errors import require_extra
from ..files import atomic_write
from ..typing import Array

if TYPE_CHECKING:
    from ..recordings.preprocessing import Motion

_DIGITS_OF_DEVIATION = 2  # significant digits of a standard deviation
_MAX_DECIMALS = 12


def rounded_to_deviation(value: float, deviation: float) -> tuple[str, str]:
    """
    Return a value and its standard deviation as text with the same number of decimals.

    The deviation keeps two significant digits, and the number is rounded to the same decimal
    place. The number keeps four significant digits if the deviation is zero or not finite, and
    twelve if the deviation is below 1e-11.
    """
    if not (math.isfinite(value) and math.isfinite(deviation) and deviation > 0.0):
        return f'{value:.4g}', f'{deviation:.2g}'
    # The deviation is rounded first, because rounding may add a digit: 0.0996 becomes 0.10.
    exponent = int(f'{deviation:.{_DIGITS_OF_DEVIATION - 1}e}'.partition('e')[2])
    places = _DIGITS_OF_DEVIATION - 1 - exponent
    if places > _MAX_DECIMALS:
        return f'{value:.{_MAX_DECIMALS}g}', f'{deviation:.2g}'
    texts = (f'{round(number, places) + 0.0:.{max(places, 0)}f}' for number in (value, deviation))
    shown, spread = texts
    return shown, spread


MEASURED_COLOR = '#222222'
PREDICTED_COLOR = '#0072b2'
RESIDUAL_COLOR = '#d55e00'


def save(figure: Any, path: str | Path) -> None:
    """Save a figure in the format of its suffix; the file appears complete or not at all."""
    with atomic_write(path) as scratch:
        figure.savefig(scratch, dpi=120)


def figure_of_size(size: tuple[float, float]) -> Any:
    """Return an empty matplotlib figure of (width, height) [inches], without a display."""
    with require_extra('Plots need matplotlib', 'replay'):
        from matplotlib.figure import Figure
    return Figure(figsize=size, layout='constrained')


def with_nan_gaps(values: NDArray[np.float64], piece: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return a curve (N,) with NaN wherever `piece` changes, so that no line bridges the gap."""
    return np.asarray(np.insert(values, np.flatnonzero(np.diff(piece)) + 1, np.nan))


def torque_figure(
    motion: Motion, predicted: Array, label: str, joint_names: Sequence[str], title: str
) -> Any:
    """
    Return a figure of every joint's measured torque, predicted torque and their difference.

    `predicted` (samples, n) is the torque of a model [N m]; `label` is its name in the legend.
    """
    n = motion.q.shape[1]
    figure = figure_of_size((12.0, 1.7 * n + 0.8))
    axes = figure.subplots(n, 2, sharex=True, squeeze=False)
    time = with_nan_gaps(motion.time, motion.piece)
    for (left, right), name, measured, model in zip(
        axes, joint_names, motion.effort.T, predicted.T
    ):
        residual = measured - model
        for values, style in (
            (measured, {'color': MEASURED_COLOR, 'lw': 1.6, 'label': 'measured, filtered'}),
            (model, {'color': PREDICTED_COLOR, 'lw': 1.0, 'ls': '--', 'label': label}),
        ):
            left.plot(time, with_nan_gaps(values, motion.piece), **style)
        right.axhline(0.0, color='#aaaaaa', lw=0.6)
        right.plot(time, with_nan_gaps(residual, motion.piece), color=RESIDUAL_COLOR, lw=1.0)
        # The difference's root mean square is written above the axes, where it covers no curve.
        right.set_title(f'{np.sqrt(np.mean(residual**2)):.2f} N m rms', loc='right', fontsize=8)
        left.set_ylabel(f'{name}\n[N m]', fontsize=8)
        for axis in (left, right):
            axis.tick_params(labelsize=8)
            axis.grid(alpha=0.25)
    figure.legend(
        *axes[0, 0].get_legend_handles_labels(), loc='outside upper left', ncols=2, fontsize=8
    )
    axes[0, 0].set_title('joint torque', fontsize=10)
    axes[0, 1].set_title('measured - predicted', fontsize=10)
    for axis in axes[-1]:
        axis.set_xlabel('time [s]', fontsize=9)
    figure.suptitle(title, fontsize=11)
    return figure


_PAGE_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem;
       padding: 0 1rem; color: #222 }
table { border-collapse: collapse; margin: 1rem 0 }
th, td { border-bottom: 1px solid #ddd; padding: .2rem .7rem; text-align: right;
         font-variant-numeric: tabular-nums }
th:first-child, td:first-child { text-align: left }
img { max-width: 100%; height: auto }
code { background: #f4f4f4; padding: .1rem .3rem }
caption { text-align: left; color: #555; padding-bottom: .3rem }
.warning { background: #fff3cd; padding: .5rem 1rem }
.good { background: #d9f2e3; padding: .5rem 1rem }
.bad { background: #f8d7da; padding: .5rem 1rem }
td.bad { background: #f8d7da; padding: .2rem .7rem }
"""


def page(title: str, parts: Iterable[str | Table]) -> str:
    """Return an HTML page; `parts` are pieces of HTML or tables, the title is plain text."""
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"/>'
        f'<title>{escape(title)}</title><style>{_PAGE_STYLE}</style></head>\n<body>\n'
        f'<h1>{escape(title)}</h1>\n'
        + '\n'.join(part.html() if isinstance(part, Table) else part for part in parts)
        + '\n</body></html>\n'
    )


def heading(text: str) -> str:
    """Return text as an HTML heading of a section."""
    return f'<h2>{escape(text)}</h2>'


def paragraph(text: str, style: str = '') -> str:
    """Return text as an HTML paragraph; style is '', 'warning', 'good' or 'bad'."""
    return f'<p class="{style}">{escape(text)}</p>' if style else f'<p>{escape(text)}</p>'


def picture(figure: Any, description: str) -> str:
    """Return a matplotlib figure as an HTML image with its data; `description` is the alt text."""
    data = io.BytesIO()
    figure.savefig(data, format='png', dpi=100)
    text = base64.b64encode(data.getvalue()).decode('ascii')
    return f'<img alt="{escape(description)}" src="data:image/png;base64,{text}"/>'
