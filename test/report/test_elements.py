# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Numbers are rounded by their deviations; pages escape text and close their tags."""

from xml.etree import ElementTree

import pytest

from franka_dynamics.report.elements import (
    figure_of_size,
    heading,
    page,
    paragraph,
    picture,
    rounded,
)
from franka_dynamics.report.table import Cell, Table

HOSTILE = '<script>alert("&")</script>'


def test_hostile_text_stays_text_on_a_page():
    texts = heading(HOSTILE), paragraph(HOSTILE), paragraph(HOSTILE, 'bad')
    table = Table(HOSTILE, [HOSTILE], [[HOSTILE], [Cell(HOSTILE)]])
    image = picture(figure_of_size((1.0, 1.0)), HOSTILE)
    # The page is also XML, whose strict parser checks the tags.
    tree = ElementTree.fromstring(page(HOSTILE, [*texts, image, table]))
    assert not list(tree.iter('script'))
    assert ''.join(tree.itertext()).count(HOSTILE) == 9
    (image,) = tree.iter('img')
    assert image.get('alt') == HOSTILE


@pytest.mark.parametrize(
    'value, deviation, texts',
    [
        (1.23456, 0.0234, ('1.235', '0.023')),
        (-1.23456, 0.5, ('-1.23', '0.50')),
        (0.00012345, 0.00000678, ('0.0001234', '0.0000068')),
        (1234.5, 56.0, ('1234', '56')),
        (1234.5, 567.0, ('1230', '570')),
        (0.5, 0.0996, ('0.50', '0.10')),
        (0.9999, 0.0996, ('1.00', '0.10')),
        (-0.001, 0.1, ('0.00', '0.10')),
        (3.14159265, 0.0, ('3.142', '0')),
        (3.14159265, float('nan'), ('3.142', 'nan')),
        (3.14159265, float('inf'), ('3.142', 'inf')),
    ],
)
def test_a_number_ends_where_its_deviation_ends(value, deviation, texts):
    assert rounded(value, deviation) == texts
