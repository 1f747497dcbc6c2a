# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Pieces of HTML pages: the page, headings, paragraphs and pictures."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from html import escape
import io
from typing import Any

from .table import Table

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


def html_page(title: str, parts: Iterable[str | Table]) -> str:
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
