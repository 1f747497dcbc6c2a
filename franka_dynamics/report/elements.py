# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Tables for terminal and HTML, parts of HTML pages, and figures of reports."""

import base64
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
import io
import math
from pathlib import Path
import re
from typing import Any, Literal, NamedTuple, TYPE_CHECKING

import numpy as np

from ..arrays import Array
from ..errors import require_extra
from ..files import atomic_write

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.table import Table as RichTable
    from rich.text import Text

    from ..arm import ArmDescription
    from ..recordings.preprocessing import Motion


Mark = Literal['', 'good', 'bad', 'warning', 'strong', 'faint']

_STYLES = {
    'good': 'green',
    'bad': 'red',
    'warning': 'yellow',
    'strong': 'bold',
    'faint': 'dim',
}
_DEVIATION_DIGIT_COUNT = 2  # significant digits of a standard deviation
_MAX_DECIMAL_COUNT = 12
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
MEASURED_COLOR = '#222222'
PREDICTED_COLOR = '#0072b2'
RESIDUAL_COLOR = '#d55e00'


class Header(NamedTuple):
    """
    Header of a table's column with its name, and the unit and number format of its values.

    `format` is a format specification such as '.3f'; if it is empty, numbers are shown as str()
    writes them.
    """

    name: str
    unit: str = ''
    format: str = ''

    @property
    def text(self) -> str:
        """The column's name, followed by its unit in brackets if there is one."""
        return f'{self.name} [{self.unit}]' if self.unit else self.name


def headers(names: Iterable[str], number_format: str, unit: str = '') -> list[Header]:
    """Return the headers of columns whose numbers have one unit and one format."""
    return [Header(name, unit, number_format) for name in names]


class Cell(NamedTuple):
    """A value of a table marked as good, bad, warning, strong (the main number) or faint."""

    value: Any
    mark: Mark = ''


class _ShownCell(NamedTuple):
    """A cell with its value, its mark and the text that is shown."""

    value: Any
    mark: Mark
    text: str


@dataclass(frozen=True)
class Table:
    """
    A table with title, column headers and rows, for a terminal and for HTML.

    Parameters
    ----------
    title : str
        Says what the numbers are.
    headers : sequence of Header or str
        One per column; a string is a Header without unit and format.
    rows : sequence of sequences
        Strings, numbers, None for an empty cell, or a Cell of these. A column after the first is
        aligned to the right if it has a number, or a string that begins with one ('1.2 ± 0.1').

    """

    title: str
    headers: Sequence[Header | str]
    rows: Sequence[Sequence[Any]]

    def html(self) -> str:
        """Return the table as HTML; each cell's CSS class is its mark."""
        heads = ''.join(f'<th>{escape(head.text)}</th>' for head in self._full_headers())
        rows = [
            ''.join(f'<td class="{cell.mark}">{escape(cell.text)}</td>' for cell in row)
            for row in self._shown_rows()
        ]
        body = '\n'.join(f'<tr>{row}</tr>' for row in rows)
        return (
            f'<table><caption>{escape(self.title)}</caption><thead><tr>{heads}</tr></thead>'
            f'<tbody>{body}</tbody></table>'
        )

    def __rich_console__(
        self, console: 'Console', options: 'ConsoleOptions'
    ) -> 'Iterator[RichTable | Text | str]':
        """Yield title, table and a blank line for rich; a narrow terminal gets less padding."""
        from rich.box import SIMPLE_HEAD
        from rich.table import Table as RichTable
        from rich.text import Text

        # Strings become rich's Text, because rich reads brackets in a plain string as markup.
        if self.title:
            yield Text(self.title, 'bold')
        heads = self._full_headers()
        rows = self._shown_rows()
        texts_by_row = [
            [head.text for head in heads],
            *([cell.text for cell in row] for row in rows),
        ]
        width = sum(max(map(len, column)) + 2 for column in zip(*texts_by_row))
        right_padding = 1 if width <= options.max_width else 0
        padding = (0, right_padding, 0, 0)  # top, right, bottom, left
        table = RichTable(box=SIMPLE_HEAD, padding=padding, show_edge=False, header_style='')
        for column, head in enumerate(heads):
            is_right = column > 0 and any(_is_numeric(row[column].value) for row in rows)
            justify: Literal['left', 'right'] = 'right' if is_right else 'left'
            table.add_column(Text(head.text), justify=justify, overflow='fold')
        for row in rows:
            table.add_row(*(Text(cell.text, _STYLES.get(cell.mark, '')) for cell in row))
        yield table
        yield ''

    def _full_headers(self) -> list[Header]:
        """Return the columns' headers, strings as Headers."""
        return [Header(head) if isinstance(head, str) else head for head in self.headers]

    def _shown_rows(self) -> list[list[_ShownCell]]:
        """Return the rows with each cell's value, mark and text."""
        heads = self._full_headers()
        return [
            [_shown_cell(value, head) for value, head in zip(row, heads, strict=True)]
            for row in self.rows
        ]


def _shown_cell(value: Any, head: Header) -> _ShownCell:
    """Return a value, or a Cell, of a column with its text."""
    cell = value if isinstance(value, Cell) else Cell(value)
    return _ShownCell(cell.value, cell.mark, _cell_text(cell.value, head))


def _cell_text(value: Any, head: Header) -> str:
    """Return a value as text: '' for None, yes or no for a bool, numbers in `head`'s format."""
    if value is None:
        return ''
    if isinstance(value, (bool, np.bool_)):
        return 'yes' if value else 'no'
    if isinstance(value, (int, float, np.number)):
        return format(value, head.format)
    return str(value)


def _is_numeric(value: Any) -> bool:
    """Return whether a value is a number, no Boolean, or a string that begins with a number."""
    if isinstance(value, str):
        return re.match(r'[-+]?\d', value) is not None
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


def value_and_deviation_texts(value: float, deviation: float) -> tuple[str, str]:
    """
    Return a value and its standard deviation as text, usually with the same number of decimals.

    The deviation keeps two significant digits, and the number is rounded to the same decimal
    place. The number keeps four significant digits if the deviation is zero or not finite, and
    twelve if the deviation is below 1e-11.
    """
    if not (math.isfinite(value) and math.isfinite(deviation) and deviation > 0.0):
        return f'{value:.4g}', f'{deviation:.2g}'
    # The deviation is rounded first, because rounding may add a digit: 0.0996 becomes 0.10.
    exponent = int(f'{deviation:.{_DEVIATION_DIGIT_COUNT - 1}e}'.partition('e')[2])
    places = _DEVIATION_DIGIT_COUNT - 1 - exponent
    if places > _MAX_DECIMAL_COUNT:
        return f'{value:.{_MAX_DECIMAL_COUNT}g}', f'{deviation:.2g}'
    return _rounded_text(value, places), _rounded_text(deviation, places)


def _rounded_text(number: float, places: int) -> str:
    """Return a number rounded to decimal places, to tens and more if they are negative."""
    return f'{round(number, places) + 0.0:.{max(places, 0)}f}'  # + 0.0 turns -0.0 into 0.0


def html_page(title: str, parts: Iterable[str | Table]) -> str:
    """Return an HTML page with a plain-text title, from `parts` that are HTML or tables."""
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"/>'
        f'<title>{escape(title)}</title><style>{_PAGE_STYLE}</style></head>\n<body>\n'
        f'<h1>{escape(title)}</h1>\n'
        + '\n'.join(part.html() if isinstance(part, Table) else part for part in parts)
        + '\n</body></html>\n'
    )


def heading_html(text: str) -> str:
    """Return text as an HTML heading of a section."""
    return f'<h2>{escape(text)}</h2>'


def paragraph_html(text: str, style: str = '') -> str:
    """
    Return text as an HTML paragraph; style is '', 'warning', 'good' or 'bad'.

    What stands between backticks, as commands do in sentences, is set as code.
    """
    html = re.sub('`([^`]*)`', r'<code>\1</code>', escape(text))
    return f'<p class="{style}">{html}</p>' if style else f'<p>{html}</p>'


def picture_html(figure: Any, alt_text: str) -> str:
    """Return a matplotlib figure as an HTML image with its data and an alternative text."""
    data = io.BytesIO()
    figure.savefig(data, format='png', dpi=100)
    text = base64.b64encode(data.getvalue()).decode('ascii')
    return f'<img alt="{escape(alt_text)}" src="data:image/png;base64,{text}"/>'


def save_figure(figure: Any, path: str | Path) -> None:
    """Save a figure in the format of its suffix; the file appears complete or not at all."""
    with atomic_write(path) as scratch:
        figure.savefig(scratch, dpi=120)


def figure_of_size(size_inches: tuple[float, float]) -> Any:
    """Return an empty matplotlib figure of (width, height) [inches], without a display."""
    with require_extra('Plots need matplotlib', 'replay'):
        from matplotlib.figure import Figure
    return Figure(figsize=size_inches, layout='constrained')


def effort_units(arm: 'ArmDescription') -> list[str]:
    """Return the unit of each joint's effort: N m, or N of a joint that slides."""
    return [joint.kind.effort_unit for joint in arm.joints]


def effort_unit_text(arm: 'ArmDescription') -> str:
    """Return the unit of an arm's efforts, 'N m or N' if it has joints of both kinds."""
    return ' or '.join(dict.fromkeys(effort_units(arm)))


def torque_figure(
    motion: 'Motion',
    predicted: Array,
    model_label: str,
    joint_names: Sequence[str],
    title: str,
    units: Sequence[str],
) -> Any:
    """
    Return a figure of every joint's measured torque, predicted torque and their difference.

    `predicted` (samples, n) is the torque of a model, each joint's in its unit of `units` (n,);
    `model_label` names it in the legend.
    """
    n = motion.q.shape[1]
    figure = figure_of_size((12.0, 1.7 * n + 0.8))
    axes = figure.subplots(n, 2, sharex=True, squeeze=False)
    piece_begins = np.flatnonzero(np.diff(motion.piece_ids)) + 1

    def with_gaps(values: Array) -> Array:
        """Return values with NaN between the motion's pieces, so that no line bridges a gap."""
        return np.insert(values, piece_begins, np.nan)

    time = with_gaps(motion.time)
    joints = zip(axes, joint_names, units, motion.effort.T, predicted.T)
    for (left, right), name, unit, effort, model in joints:
        residual = effort - model
        left.plot(time, with_gaps(effort), MEASURED_COLOR, lw=1.6, label='measured, filtered')
        left.plot(time, with_gaps(model), PREDICTED_COLOR, lw=1.0, ls='--', label=model_label)
        right.axhline(0.0, color='#aaaaaa', lw=0.6)
        right.plot(time, with_gaps(residual), RESIDUAL_COLOR, lw=1.0)
        # The difference's root mean square is written above the axes, where it covers no curve.
        right.set_title(f'{np.sqrt(np.mean(residual**2)):.2f} {unit} rms', loc='right', fontsize=8)
        left.set_ylabel(f'{name}\n[{unit}]', fontsize=8)
        for axis in (left, right):
            axis.tick_params(labelsize=8)
            axis.grid(alpha=0.25)
    lines, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(lines, labels, loc='outside upper left', ncols=2, fontsize=8)
    axes[0, 0].set_title('joint torque', fontsize=10)
    axes[0, 1].set_title('measured - predicted', fontsize=10)
    for axis in axes[-1]:
        axis.set_xlabel('time [s]', fontsize=9)
    figure.suptitle(title, fontsize=11)
    return figure
