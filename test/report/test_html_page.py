# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A page's pieces escape what they are given and parse as HTML."""

import base64
from html.parser import HTMLParser
import re

import pytest

from franka_dynamics.report.elements import heading, page, paragraph, picture
from franka_dynamics.report.table import Cell, Table

VOID = {'meta', 'img'}
HOSTILE = '<script>alert("&")</script>'


class Balanced(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.text = [], []

    def handle_starttag(self, tag, attributes):
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def parse(text):
    parser = Balanced()
    parser.feed(text)
    parser.close()
    assert parser.open == []
    return parser


def test_hostile_text_stays_text_on_a_page():
    whole = page(
        HOSTILE,
        [
            heading(HOSTILE),
            paragraph(HOSTILE),
            paragraph(HOSTILE, 'bad'),
            Table(HOSTILE, [HOSTILE], [[HOSTILE], [Cell(HOSTILE)]]),
        ],
    )
    assert '<script>' not in whole
    assert parse(whole).text.count(HOSTILE) == 9


def test_only_a_cell_out_of_bounds_is_marked():
    text = Table('', ['a', 'b'], [[1, Cell(2)]]).html()
    assert re.findall(r'<td[^>]*>[^<]*</td>', text) == ['<td>1</td>', '<td class="bad">2</td>']


def test_given_a_figure_when_embedded_then_its_bytes_are_a_png():
    figure = pytest.importorskip('matplotlib.figure').Figure(figsize=(1.0, 1.0))
    text = picture(figure, 'an "empty" figure')
    assert 'alt="an &quot;empty&quot; figure"' in text
    data = base64.b64decode(re.search(r'base64,([^"]+)"', text).group(1))
    assert data.startswith(b'\x89PNG')
