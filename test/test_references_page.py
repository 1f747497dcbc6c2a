# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The map of the documents: what it names exists, what it calls runs, and nothing is left out."""

from importlib import import_module
from pathlib import Path
import re
import shlex

import pytest

from franka_dynamics.cli.main import build_parser

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / 'docs' / 'theory' / 'references.md').read_text(encoding='utf-8')
TESTS = {}
for path in sorted((ROOT / 'test').rglob('test_*.py')):
    TESTS[path.name] = TESTS.get(path.name, '') + path.read_text(encoding='utf-8')
# Sections whose own numbers have a dash; other dashes stand between the ends of a range.
DASHED = {'4-1', '4-2', '4-3', '7-2'}

# What the documents number or name: sections, equations, theorems, tables, figures, cells.
CONTENTS = {
    "Derivation of Franka's Inertia Parameters": {
        'table': range(1, 3),
        'equation': range(1, 5),
        'figure': range(1, 2),
    },
    "Franka Emika Panda Manipulator's Dynamics": {
        'section': ('1.1', '1.2', '1.3'),
        'cell': [*range(1, 15), *range(16, 25)],
    },
    'Gautier and Khalil 1990': {
        'section': [*range(2, 13), '4-1', '4-2', '4-3', '7-2'],
        '': range(1, 24),
        'theorem': range(1, 8),
        'table': range(1, 2),
        'figure': range(1, 3),
        'appendix': ('A.1', 'A.2'),
    },
    'Kwon, Differential Dynamics and Mesh-Based Inertia': {
        'section': range(1, 6),
        '': range(1, 35),
        'lines': range(1, 32),
        'figure': range(1, 2),
    },
    'Busellato 2023': {
        'section': ('1.1', '1.2', '1.3', '1.4', '1.5', '2', '2.1', '2.2', '3', '4'),
        'table': range(1, 2),
        'figure': range(1, 3),
    },
}


def rows_of(title):
    """Return the rows of a document's table: where, code, call, tests."""
    section = PAGE.split(f'\n## {title}\n')[1].split('\n## ')[0]
    lines = [line for line in section.splitlines() if line.startswith('| ')][1:]
    rows = [[cell.strip() for cell in line.strip('|').split(' | ')] for line in lines]
    assert all(len(row) == 5 for row in rows), [row for row in rows if len(row) != 5]
    return [(where, code, call.strip('`'), tests) for where, _, code, call, tests in rows]


ROWS = [(title, *row) for title in CONTENTS for row in rows_of(title)]
IDS = [f'{title[:8]} {where}' for title, where, *_ in ROWS]


def parts_named(where, kind):
    """Return the parts of one kind in the first column, ranges such as 2-5 written out."""
    if kind == '':
        spans = [
            first + (f'-{last}' if last else '')
            for first, last in re.findall(r'\((\d+)\)(?:-\((\d+)\))?', where)
        ]
    else:
        spans = re.findall(rf'\b{kind}s? ([\w.]+(?:-[\w.]+)?)', where)
    found = set()
    for span in spans:
        first, _, last = span.partition('-')
        if span in DASHED:
            found |= {span, first}
        elif last:
            found |= {str(number) for number in range(int(first), int(last) + 1)}
        else:
            found.add(first)
    return found


@pytest.mark.parametrize('title', CONTENTS)
def test_no_part_of_a_document_is_missing(title):
    for kind, parts in CONTENTS[title].items():
        named = set().union(*(parts_named(where, kind) for where, *_ in rows_of(title)))
        missing = {str(part) for part in parts} - named
        assert not missing, f'{title}: {kind or "equation"} {sorted(missing)}'


@pytest.mark.parametrize('title, where, code, call, tests', ROWS, ids=IDS)
def test_given_a_row_when_its_code_is_looked_up_then_it_exists(title, where, code, call, tests):
    assert '`' in code
    for group in code.split(';'):
        module, names = group.split(':', 1)
        found = import_module('franka_dynamics.' + module.strip(' `'))
        for name in re.findall(r'`([\w.]+)`', names):
            thing, *parts = name.split('.')
            value = getattr(found, thing)
            for part in parts:
                assert hasattr(value, part) or part in getattr(value, '__annotations__', {}), name
                value = getattr(value, part, None)


@pytest.mark.parametrize('title, where, code, call, tests', ROWS, ids=IDS)
def test_the_tests_that_a_row_names_exist(title, where, code, call, tests):
    named = re.findall(r'(test_\w+\.py): ([^;|]*?)(?=, test_\w+\.py|$)', tests)
    assert named
    for file, fragments in named:
        for fragment in fragments.split(','):
            pattern = rf'def test_\w*{re.escape(fragment.strip())}'
            assert re.search(pattern, TESTS[file]), f'{file}: {fragment}'


@pytest.fixture(scope='module')
def names():
    """Return what the page's block of Python defines."""
    pytest.importorskip('sympy')
    (block,) = re.findall(r'```python\n(.*?)```', PAGE, re.DOTALL)
    namespace = {}
    exec(compile(block, 'references.md', 'exec'), namespace)
    return namespace


@pytest.mark.parametrize('title, where, code, call, tests', ROWS, ids=IDS)
def test_given_a_row_when_its_call_is_made_then_it_runs(title, where, code, call, tests, names):
    if call.startswith('franka-dynamics '):
        build_parser().parse_args(shlex.split(call)[1:])
    else:
        assert eval(compile(call, where, 'eval'), names) is not None
