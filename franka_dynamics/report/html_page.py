# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Pieces of an HTML page that needs no other file: headings, tables, sentences, pictures."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from html import escape
import io
from typing import Any

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem;
       padding: 0 1rem; color: #222 }
table { border-collapse: collapse; margin: 1rem 0 }
th, td { border-bottom: 1px solid #ddd; padding: .2rem .7rem; text-align: right;
         font-variant-numeric: tabular-nums }
th:first-child, td:first-child { text-align: left }
img { max-width: 100%; height: auto }
code { background: #f4f4f4; padding: .1rem .3rem }
caption { text-align: left; color: #555; padding-bottom: .3rem }
.doubt { background: #fff3cd; padding: .5rem 1rem }
.good { background: #d9f2e3; padding: .5rem 1rem }
.bad { background: #f8d7da; padding: .5rem 1rem }
td.bad { background: #f8d7da; padding: .2rem .7rem }
"""


class Cell(str):
    """The text of a table's cell that is out of bounds."""


def page(title: str, parts: Iterable[str]) -> str:
    """Return a whole page; `parts` are HTML, the title is text."""
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<title>{escape(title)}</title><style>{_STYLE}</style></head>\n<body>\n'
        f'<h1>{escape(title)}</h1>\n' + '\n'.join(parts) + '\n</body></html>\n'
    )


def heading(text: str) -> str:
    """Return a heading of a section."""
    return f'<h2>{escape(text)}</h2>'


def paragraph(text: str, style: str = '') -> str:
    """Return a paragraph of text; style is '', 'doubt', 'good' or 'bad'."""
    return f'<p class="{style}">{escape(text)}</p>' if style else f'<p>{escape(text)}</p>'


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], caption: str = '') -> str:
    """Return a table of texts; a `Cell` is marked as out of bounds."""
    head = ''.join(f'<th>{escape(text)}</th>' for text in headings)
    body = '\n'.join('<tr>' + ''.join(_cell(text) for text in row) + '</tr>' for row in rows)
    return (
        f'<table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead>'
        f'<tbody>{body}</tbody></table>'
    )


def picture(figure: Any, description: str) -> str:
    """Return a matplotlib figure as an image within the page; `description` is its alt text."""
    data = io.BytesIO()
    figure.savefig(data, format='png', dpi=100)
    text = base64.b64encode(data.getvalue()).decode('ascii')
    return f'<img alt="{escape(description)}" src="data:image/png;base64,{text}">'


def _cell(text: str) -> str:
    style = ' class="bad"' if isinstance(text, Cell) else ''
    return f'<td{style}>{escape(text)}</td>'
