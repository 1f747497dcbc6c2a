# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A page's pieces escape what they are given, and all their tags close."""

from xml.etree import ElementTree

from franka_dynamics.report.elements import figure_of_size, heading, page, paragraph, picture
from franka_dynamics.report.table import Cell, Table

HOSTILE = '<script>alert("&")</script>'


def test_hostile_text_stays_text_on_a_page():
    whole = page(
        HOSTILE,
        [
            heading(HOSTILE),
            paragraph(HOSTILE),
            paragraph(HOSTILE, 'bad'),
            picture(figure_of_size((1.0, 1.0)), HOSTILE),
            Table(HOSTILE, [HOSTILE], [[HOSTILE], [Cell(HOSTILE)]]),
        ],
    )
    # Written so that an XML parser, which is strict, reads it.
    tree = ElementTree.fromstring(whole)
    assert not list(tree.iter('script'))
    assert ''.join(tree.itertext()).count(HOSTILE) == 9
    (image,) = tree.iter('img')
    assert image.get('alt') == HOSTILE
