# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The counts of docs/architecture.md are what they say, on a package that is counted by hand."""

from pathlib import Path

import pytest

SOURCES = {
    'p/__init__.py': 'from .room import offered\n',
    'p/room/__init__.py': 'from .single import offered\n',
    'p/room/single.py': 'def offered():\n    return _once() + _twice() + _twice()\n\n\n'
    'def _once():\n    return 1\n\n\ndef _twice():\n    return 2\n',
    'p/room/shared.py': 'class A:\n    def __init__(self):\n        pass\n\n'
    '    def _never(self):\n        pass\n',
    'p/room/hidden.py': 'x = 1\n',
    'p/other.py': 'def f():\n    from .room.single import offered\n    return offered()\n'
    '\n\nfrom .room import shared\nimport p.room.hidden\n',
    'p/third.py': 'from p.room.shared import A\n',
}
PAGE = Path(__file__).parents[2] / 'docs' / 'architecture.md'


@pytest.fixture
def size(benchmark):
    return benchmark.measure(SOURCES)


def test_modules_of_one_importer_leave_export_lists_out(size):
    # single: other alone beside its room's list; hidden: other alone; shared: other and third.
    assert size.single == ('p.room.single', 'p.room.hidden')
    assert (size.from_elsewhere, size.too_long) == (2, 0)
    assert size.modules == len(SOURCES)


def test_private_functions_are_counted_by_their_uses(size):
    # offered, _once, _twice, _never, f; __init__ does not count.
    assert (size.functions, size.private, size.private_once) == (5, 3, 2)


def test_the_page_names_the_command_of_its_figures():
    assert 'python benchmarks/size.py' in PAGE.read_text('utf-8')
