# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A table that can be written to a terminal and to an HTML page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
import math
import re
from typing import Any, Literal, NamedTuple, TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.table import Table as RichTable
    from rich.text import Text

Mark = Literal['', 'good', 'bad', 'warning', 'strong', 'faint']

_STYLES = {'good': 'green', 'bad': 'red', 'warning': 'yellow', 'strong': 'bold', 'faint': 'dim'}
_DIGITS_OF_DEVIATION = 2  # significant digits of a standard deviation
_MAX_DECIMALS = 12


class Header(NamedTuple):
    """
    Header of a table's column: its name, and the unit and number format of its values.

    `format` is a format specification such as '.3f'; if it is empty, numbers are shown as
    str() writes them.
    """

    name: str
    unit: str = ''
    format: str = ''

    @property
    def text(self) -> str:
        """The column's name, followed by its unit in brackets if there is one."""
        return f'{self.name} [{self.unit}]' if self.unit else self.name


class Cell(NamedTuple):
    """A value of a table with a mark: good, bad, warning, strong (the main number) or faint."""

    value: Any
    mark: Mark = ''


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

    def cell_texts(self) -> list[list[str]]:
        """Return the text of every cell, row by row."""
        heads = self._header_objects()
        return [
            [_cell_text(cell.value, head) for cell, head in zip(row, heads, strict=True)]
            for row in self._cell_objects()
        ]

    def html(self) -> str:
        """Return the table as HTML; each cell's CSS class is its mark."""
        heads = ''.join(f'<th>{escape(head.text)}</th>' for head in self._header_objects())
        body = '\n'.join(
            '<tr>'
            + ''.join(
                f'<td class="{cell.mark}">{escape(text)}</td>' for cell, text in zip(row, texts)
            )
            + '</tr>'
            for row, texts in zip(self._cell_objects(), self.cell_texts())
        )
        return (
            f'<table><caption>{escape(self.title)}</caption><thead><tr>{heads}</tr></thead>'
            f'<tbody>{body}</tbody></table>'
        )

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RichTable | Text | str]:
        """Yield title, table and a blank line for rich; a narrow terminal gets less padding."""
        from rich.box import SIMPLE_HEAD
        from rich.table import Table as RichTable
        from rich.text import Text

        # Strings become rich's Text, because rich reads brackets in a plain string as markup.
        if self.title:
            yield Text(self.title, 'bold')
        cells, texts = self._cell_objects(), self.cell_texts()
        heads = [head.text for head in self._header_objects()]
        width = sum(max(map(len, column)) + 2 for column in zip(heads, *texts))
        blanks = (0, int(width <= options.max_width), 0, 0)
        table = RichTable(box=SIMPLE_HEAD, padding=blanks, show_edge=False, header_style='')
        for place, head in enumerate(heads):
            right = place and any(_is_numeric(row[place].value) for row in cells)
            justify: Literal['left', 'right'] = 'right' if right else 'left'
            table.add_column(Text(head), justify=justify, overflow='fold')
        for row, shown in zip(cells, texts):
            table.add_row(
                *(Text(text, _STYLES.get(one.mark, '')) for one, text in zip(row, shown))
            )
        yield table
        yield ''

    def _header_objects(self) -> list[Header]:
        """Return the columns' headers as Header objects, also of those given as plain strings."""
        return [Header(head) if isinstance(head, str) else head for head in self.headers]

    def _cell_objects(self) -> list[list[Cell]]:
        """Return the rows' cells as Cell objects, also of those given as plain values."""
        return [[one if isinstance(one, Cell) else Cell(one) for one in row] for row in self.rows]


def _cell_text(value: Any, head: Header) -> str:
    """Return a cell's value as text, a number in the format of its column."""
    if value is None:
        return ''
    if isinstance(value, (bool, np.bool_)):
        return 'yes' if value else 'no'
    return format(value, head.format) if isinstance(value, (int, float, np.number)) else str(value)


def _is_numeric(value: Any) -> bool:
    """Return whether a value is a number, or a string that begins with one."""
    if isinstance(value, str):
        return re.match(r'[-+]?\d', value) is not None
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


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
