# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The table of commands behind the pages' figures holds all of them, and its bounds are kept."""

import re

import pytest

from . import scripts
from .test_pages import PAGES, ROOT

with scripts.loaded(ROOT / 'docs/promises.py') as promises:
    TABLE = promises.promises()
# Pages for people who change this package: they name commands, and promise no figure.
NOT_FOR_USERS = {ROOT / 'CONTRIBUTING.md'}


def commands_of(page):
    """Return the commands of scripts and of make in a page, without their arguments."""
    text = PAGES[page].replace('\\\n', ' ')
    spans = re.findall(r'`([^`\n]+)`', text)
    blocks = re.findall(r'```(?:sh|bash)\n(.*?)```', text, re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    found = set()
    for line in (*spans, *lines):
        found.update(re.findall(r'^(?:sudo .* )?(python (?:benchmarks|examples)/\S+\.py)', line))
        found.update(re.findall(r'^make [a-z0-9-]+', line))
    return found


@pytest.mark.parametrize('page', sorted({*PAGES} - NOT_FOR_USERS), ids=str)
def test_each_command_that_a_page_names_is_in_the_table(page):
    rows = [one.command for one in TABLE if ROOT / one.page == page]
    missing = {
        command
        for command in commands_of(page)
        if not any(row == command or row.startswith(f'{command} ') for row in rows)
    }
    assert missing == set()


@pytest.mark.parametrize('row', TABLE, ids=lambda row: f'{row.page}: {row.command}')
def test_a_row_is_what_its_page_says(row):
    page = PAGES[ROOT / row.page]
    assert row.command in page.replace('\\\n', ' ')
    for figure in row.figures:
        numbers, wrong = promises.numbers_in(page, figure.page, row.page)
        assert not wrong
        assert len(numbers) == figure.printed.count('{}')
    for table in row.tables:
        assert promises.rows_under(page, table.heads)
        assert all(f'| {head} |' in table.heads for head in table.columns)
    if row.elsewhere == '.ci/run':
        target = row.command.split()[1]
        assert re.search(rf'\bmake\b.*\b{target}\b', (ROOT / '.ci/run').read_text('utf-8'))
    elif row.elsewhere:
        assert (ROOT / row.elsewhere).is_file()


PAGE = """It is off by 2.0 mm.

| arm | error [mm] | time [us] |
|---|---|---|
| one | 1.00 | 10 |
| two | 2.00 | 1,000 |

More.
"""
HEADS = '| arm | error [mm] | time [us] |'


@pytest.fixture
def promise(tmp_path, monkeypatch):
    """Return a function that makes a promise of PAGE, kept by a script that prints a text."""
    monkeypatch.setattr(promises, 'ROOT', tmp_path)
    (tmp_path / 'page.md').write_text(PAGE)

    def make(printed, status=0, **given):
        (tmp_path / 'kept.py').write_text(f'print({printed!r})\nraise SystemExit({status})\n')
        return promises.Promise('page.md', 'python kept.py', **given)

    return make


@pytest.mark.parametrize(
    ('printed', 'bounds', 'kept'),
    [
        ('off: 2.1 mm', {'factor': 1.1}, True),
        ('off: 2.3 mm', {'factor': 1.1}, False),
        ('off: 1.7 mm', {'factor': 1.1}, False),
        ('off: 3.9 mm', {'at_most': 4.0}, True),
        ('off: 4.1 mm', {'at_most': 4.0}, False),
        ('off: 0.9 mm', {'at_least': 1.0}, False),
        ('off: nan mm', {'at_most': 4.0}, False),
        ('off by much', {}, False),
    ],
)
def test_a_figure_outside_its_bounds_fails(promise, printed, bounds, kept):
    figure = promises.Figure('off by {} mm', 'off: {} mm', **bounds)
    assert (promises.check(promise(printed, figures=(figure,))).wrong == []) is kept


@pytest.mark.parametrize(
    ('rows', 'kept'),
    [
        ('| one | 1.04 | 99 |', True),
        ('| two | 2.04 | |', True),
        ('| one | 1.2 | 10 |', False),
        ('| three | 1.0 | 10 |', False),
        ('', False),
    ],
)
def test_a_cell_outside_its_bounds_fails(promise, rows, kept):
    table = promises.Table(HEADS, {'error [mm]': {'factor': 1.1}})
    printed = f'{HEADS}\n|---|---|---|\n{rows}\n'
    assert (promises.check(promise(printed, tables=(table,))).wrong == []) is kept


def test_a_phrase_may_be_of_several_lines():
    printed = 'first: 1.5 mm\nnext\nfirst: 2.5 mm\n'
    assert promises.numbers_in(printed, '**first: {} mm**first: {} *', '')[0] == ['1.5', '2.5']
    assert promises.numbers_in(printed, 'first: {} mm*first: {} mm', '')[0] == []


def test_a_command_that_fails_fails(promise):
    wrong = promises.check(promise('off: 2.0 mm', status=3)).wrong
    assert len(wrong) == 1 and 'off: 2.0 mm' in wrong[0]


def test_what_a_command_prints_is_written_into_its_page(promise, tmp_path):
    figure = promises.Figure('off by {} mm', 'off: {} mm')
    printed = f'off: 2.34 mm\n\n{HEADS}\n|---|---|---|\n| one | 1.5 | 1,234 |\n'
    given = promise(printed, figures=(figure,), tables=(promises.Table(HEADS, {}),))
    assert promises.write(given).wrong == []
    expected = (
        PAGE.replace('2.0 mm', '2.34 mm').split('| one')[0] + '| one | 1.5 | 1,234 |\n\nMore.\n'
    )
    assert (tmp_path / 'page.md').read_text() == expected
    assert promises.check(given).wrong == []


def test_rows_that_a_machine_cannot_measure_stay_in_the_page(promise, tmp_path):
    table = promises.Table(HEADS, {}, partial=True)
    printed = f'{HEADS}\n|---|---|---|\n| two | 2.5 | 999 |\n| three | 3.0 | 7 |\n'
    assert promises.write(promise(printed, tables=(table,))).wrong == []
    rows = promises.rows_under((tmp_path / 'page.md').read_text(), HEADS)
    assert rows == [['one', '1.00', '10'], ['two', '2.5', '999'], ['three', '3.0', '7']]


def test_a_command_that_does_not_finish_says_nothing_of_its_page(promise, monkeypatch):
    monkeypatch.setattr(promises, 'run', lambda *_: (promises.TIMED_OUT, 'so far'))
    slow = promises.check(promise(''))
    assert slow.unfinished and 'so far' in slow.wrong[0]
    monkeypatch.undo()
    broken = promises.check(promise('', status=1))
    assert not broken.unfinished and broken.wrong
