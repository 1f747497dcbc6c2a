# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A page's pieces escape what they are given and parse as HTML."""

from html.parser import HTMLParser

from franka_dynamics.report.elements import heading, page, paragraph
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
