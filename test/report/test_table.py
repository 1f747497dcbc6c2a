# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A table in a terminal and on a page: no number is cut, and no text is taken as markup."""

from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from franka_dynamics.arm import JointKind
from franka_dynamics.report.table import Cell, Head, plain, Table

HOSTILE = 'a [red]name[/] \\[bold] with [/nothing] and <b>&</b>'


def shown(table, width):
    console = Console(width=width, color_system=None)
    with console.capture() as capture:
        console.print(table)
    return capture.get()


@pytest.mark.parametrize('width', [40, 80, 120])
def test_words_are_folded_before_numbers_and_nothing_is_lost(width):
    rng = np.random.default_rng(3)
    numbers = rng.uniform(-1000.0, 1000.0, (3, 9))
    heads = ['set, hand', *(Head(f'a_long_joint_name_{i}', 'N m', '.3f') for i in range(9))]
    table = Table('rms', heads, [['name ' * 6, *row] for row in numbers])
    lines = shown(table, width)
    assert max(map(len, lines.splitlines())) <= width
    assert lines.count('.') == numbers.size
    assert width < 120 or all(f' {number:.3f} ' in lines for number in numbers.ravel())


@pytest.mark.parametrize('width', [40, 80])
def test_a_number_with_its_deviation_is_printed_whole_and_aligned_to_the_right(width):
    rows = [['a', '-123456 ± 120000'], ['b', '7 ± 12']]
    lines = shown(Table('t', ['name', 'N m'], rows), width).splitlines()
    ends = [line.index(text) + len(text) for line in lines for _, text in rows if text in line]
    assert len(ends) == 2 and ends[0] == ends[1]


def test_foreign_text_is_shown_as_it_is():
    table = Table(HOSTILE, [HOSTILE, Head('E', 'N m')], [[HOSTILE, Cell(HOSTILE)]])
    assert shown(table, 300).count(HOSTILE) == 4


def test_what_numpy_and_dataclasses_hold_becomes_json():
    given = {
        'kind': JointKind.REVOLUTE,
        'array': np.array([[1.0, np.nan], [3.0, 4.0]]),
        'numbers': (np.False_, np.float64('inf'), np.int64(3)),
        'head': Head('q', 'rad'),
        'others': (Path('a/b'), None, True),
    }
    assert plain(given) == {
        'kind': 'revolute',
        'array': [[1.0, None], [3.0, 4.0]],
        'numbers': [False, None, 3],
        'head': {'name': 'q', 'unit': 'rad', 'form': ''},
        'others': ['a/b', None, True],
    }
    with pytest.raises(TypeError, match='object has no form in JSON'):
        plain(object())
