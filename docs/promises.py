# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Run the commands behind the pages' figures, and compare what they print with the pages.

    python docs/promises.py [WORD ...]            # short forms: `make promises`, as CI runs them
    python docs/promises.py --write [WORD ...]    # whole forms, into the pages: `make figures`
    python docs/promises.py --list                # commands, pages and what CI does

The table is docs/promises.yaml, whose head says what its fields mean; with WORDs only rows whose
command contains one of them are run. A row is left out, and that said, if this machine lacks what
it needs.

Exit status 1: a command failed, or a figure is missing or outside its bounds.
"""

import argparse
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
import importlib.util
import os
from pathlib import Path
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
TABLE = ROOT / 'docs' / 'promises.yaml'
NUMBER = r'-?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?'
TIMEOUT_S = 600.0  # of a command's short form; only reached if something is broken
TIMED_OUT = 124  # the exit status of timeout(1)
# What a row may need: how it is found, and what is said without it.
NEEDS = {
    'a C++ compiler': lambda: shutil.which('g++') or shutil.which('c++'),
    'ROS 2': lambda: importlib.util.find_spec('rclpy'),
    'recordings': lambda: os.environ.get('FRANKA_DYNAMICS_RECORDINGS'),
    'clones of public logs': lambda: os.environ.get('FRANKA_DYNAMICS_PUBLIC_LOGS'),
    'a GPU': lambda: shutil.which('nvidia-smi'),
    'Gazebo': lambda: shutil.which('gz') or shutil.which('ign'),
}


@dataclass(frozen=True)
class Figure:
    """
    Numbers of a page's phrase that a command prints.

    `page` and `printed` have the same number of `{}`, each a number; in `printed` `*` is any text
    in a line, `**` any lines. A number printed is within a `factor` of the page's, or `at_most` or
    `at_least` a bound that holds for each.
    """

    page: str
    printed: str
    factor: float | None = None
    at_most: float | None = None
    at_least: float | None = None


@dataclass(frozen=True)
class Table:
    """
    A table that a command prints, and a page has under the same line of heads.

    `columns` gives the bounds of a column's numbers by its head, as those of a `Figure`; rows are
    known by their first `keys` cells. A short form may leave out rows, and cells; so may the whole
    form of a `partial` table, whose other rows stay in the page.
    """

    heads: str
    columns: dict[str, dict[str, float]]
    keys: int = 1
    partial: bool = False

    def key(self, row: Sequence[str]) -> str:
        """Return what tells a row apart."""
        return ', '.join(row[: self.keys])


@dataclass(frozen=True)
class Promise:
    """A command that a page names, and what it prints."""

    page: str
    command: str
    quick: str = ''
    whole: str = ''
    needs: tuple[str, ...] = ()
    elsewhere: str = ''
    not_in_ci: str = ''
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()

    @property
    def run_by_ci(self) -> str:
        """The command of the short form."""
        return self.quick or self.command

    @property
    def missing(self) -> list[str]:
        """What this machine lacks."""
        return [need for need in self.needs if not NEEDS[need]()]


@dataclass
class Result:
    """
    What became of a promise: seconds, and a sentence for each thing that is wrong.

    A command that is `unfinished` reached the time limit: nothing is known of its page.
    """

    seconds: float = 0.0
    unfinished: bool = False
    wrong: list[str] = field(default_factory=list)
    compared: int = 0


def promises() -> list[Promise]:
    """Return the rows of the table; raise TypeError for a field that no row has."""
    rows = yaml.safe_load(TABLE.read_text('utf-8'))
    return [_promise(row) for row in rows]


def _promise(row: dict[str, Any]) -> Promise:
    given = dict(row)
    given['needs'] = tuple(given.get('needs', ()))
    given['figures'] = tuple(Figure(**one) for one in given.get('figures', ()))
    given['tables'] = tuple(Table(**one) for one in given.get('tables', ()))
    return Promise(**given)


def pattern(phrase: str) -> str:
    """Return the regular expression of a phrase with `{}` for numbers and `*` for any text."""
    any_lines = (re.escape('**'), '(?s:.*?)')
    any_text = (re.escape('*'), '.*?')
    parts = [re.escape(part).replace(*any_lines).replace(*any_text) for part in phrase.split('{}')]
    return f'({NUMBER})'.join(parts)


def as_number(text: str) -> float:
    """Return the number that a text such as 1,063 is."""
    return float(text.replace(',', ''))


def outside(value: float, promised: float | None, bounds: dict[str, float]) -> str:
    """Return a sentence about a value outside its bounds, or nothing."""
    if 'at_most' in bounds and not value <= bounds['at_most']:
        return f'{value:g} is more than {bounds["at_most"]:g}'
    if 'at_least' in bounds and not value >= bounds['at_least']:
        return f'{value:g} is less than {bounds["at_least"]:g}'
    if 'factor' in bounds:
        factor = bounds['factor']
        if promised is None:
            return f'{value:g} has no number in the page to be compared with'
        low, high = sorted((promised / factor, promised * factor))
        if not low <= value <= high:
            return f'{value:g} is more than {factor:g} times off {promised:g}, as the page has it'
    return ''


def bounds_of(figure: Figure) -> dict[str, float]:
    """Return the bounds that a figure has, by name."""
    named = ('factor', 'at_most', 'at_least')
    return {name: value for name in named if (value := getattr(figure, name)) is not None}


def numbers_in(text: str, phrase: str, where: str) -> tuple[list[str], str]:
    """Return the numbers of a phrase that a text has once, or a sentence about what is wrong."""
    found = [match.groups() for match in re.finditer(pattern(phrase), text)]
    if len(found) != 1:
        return [], f'{where} has {len(found)} times {phrase!r}'
    return list(found[0]), ''


def check_figure(figure: Figure, page: str, output: str) -> Iterator[str]:
    """Yield a sentence for each number printed that is not what the page promises."""
    promised, missing = numbers_in(page, figure.page, 'the page')
    printed, not_printed = numbers_in(output, figure.printed, 'the output')
    if missing or not_printed:
        yield missing or not_printed
        return
    for value, number in zip(printed, promised, strict=True):
        wrong = outside(as_number(value), as_number(number), bounds_of(figure))
        if wrong:
            yield f'{figure.page}: {wrong}'


def rows_under(text: str, heads: str) -> list[list[str]] | None:
    """Return the cells of the table under a line of heads, or None if the text has none."""
    lines = text.splitlines()
    if heads not in lines:
        return None
    rows = []
    for line in lines[lines.index(heads) + 2 :]:
        if not line.startswith('|'):
            break
        rows.append([cell.strip() for cell in line.strip().strip('|').split('|')])
    return rows


def check_table(table: Table, page: str, output: str) -> Iterator[str]:
    """Yield a sentence for each cell printed that is not what the page promises."""
    printed = rows_under(output, table.heads)
    promised = rows_under(page, table.heads)
    if printed is None or promised is None or not printed:
        where = 'the page' if promised is None else 'the output'
        yield f'{where} has no table {table.heads}'
        return
    heads = [head.strip() for head in table.heads.strip('|').split('|')]
    known = {table.key(row): row for row in promised}
    for row in printed:
        name = table.key(row)
        if name not in known:
            yield f'the page has no row {name}'
            continue
        for head, cell, expected in zip(heads, row, known[name]):
            found = re.search(NUMBER, cell)
            if head not in table.columns or not found:
                continue
            number = re.search(NUMBER, expected)
            promise = as_number(number[0]) if number else None
            wrong = outside(as_number(found[0]), promise, table.columns[head])
            if wrong:
                yield f'{name}, {head}: {wrong}'


def with_figure(page: str, figure: Figure, output: str) -> str:
    """Return a page with a phrase's numbers as they are printed; ValueError if one is missing."""
    printed, wrong = numbers_in(output, figure.printed, 'the output')
    _, missing = numbers_in(page, figure.page, 'the page')
    if wrong or missing:
        raise ValueError(wrong or missing)
    return re.sub(pattern(figure.page), lambda _: figure.page.format(*printed), page)


def with_table(page: str, table: Table, output: str) -> str:
    """Return a page with the rows of a table as they are printed; ValueError without them."""
    printed = rows_under(output, table.heads)
    promised = rows_under(page, table.heads)
    if not printed or promised is None:
        raise ValueError(f'page or output has no table {table.heads}')
    if table.partial:
        new = {table.key(row): row for row in printed}
        printed = [new.pop(table.key(row), row) for row in promised] + [*new.values()]
    before, rest = page.split(table.heads + '\n', 1)
    ruler, *lines = rest.split('\n')
    end = next((k for k, line in enumerate(lines) if not line.startswith('|')), len(lines))
    rows = [f'| {" | ".join(cells)} |'.replace('|  |', '| |') for cells in printed]
    return before + '\n'.join([table.heads, ruler, *rows, *lines[end:]])


def run(command: str, folder: str, limit: float | None) -> tuple[int, str]:
    """Run a command of a page in a folder of its own; return its status and what it printed."""
    words = shlex.split(os.path.expandvars(command.replace('REPOSITORY', str(ROOT))))
    programs = Path(sys.executable).parent
    if words[0] == 'make':
        words[1:1] = ['--no-print-directory', '-C', str(ROOT)]
    elif words[0] == 'python':
        words = [sys.executable, str(ROOT / words[1]), *words[2:]]
    elif words[0] != 'bash':
        words[0] = str(programs / words[0])
    try:
        done = subprocess.run(
            words,
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={
                **os.environ,
                'COLUMNS': '200',  # sentences in one line
                'PATH': f'{programs}:{os.environ["PATH"]}',
            },
            text=True,
            timeout=limit,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        said = error.stdout.decode() if isinstance(error.stdout, bytes) else error.stdout or ''
        return TIMED_OUT, said
    return done.returncode, done.stdout


def check(promise: Promise) -> Result:
    """Run the short form of a command, and compare what it prints with the page."""
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        status, output = run(promise.run_by_ci, folder, TIMEOUT_S)
    result = Result(time.monotonic() - begun)
    if status:
        last = '\n'.join(output.splitlines()[-15:])
        result.unfinished = status == TIMED_OUT
        end = f'is stopped after {TIMEOUT_S:.0f} s' if result.unfinished else f'ends with {status}'
        result.wrong.append(f'{end}:\n{last}')
        return result
    page = (ROOT / promise.page).read_text('utf-8')
    for figure in promise.figures:
        result.wrong.extend(check_figure(figure, page, output))
    for table in promise.tables:
        result.wrong.extend(check_table(table, page, output))
    result.compared = len(promise.figures) + len(promise.tables)
    return result


def write(promise: Promise) -> Result:
    """Run a whole command, and put what it prints into the page."""
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        status, output = run(promise.whole or promise.command, folder, None)
    print(output, flush=True)
    result = Result(time.monotonic() - begun)
    if status:
        result.wrong.append(f'ends with status {status}')
        return result
    path = ROOT / promise.page
    text = path.read_text('utf-8')
    try:
        for figure in promise.figures:
            text = with_figure(text, figure, output)
        for table in promise.tables:
            text = with_table(text, table, output)
    except ValueError as error:
        result.wrong.append(str(error))
    path.write_text(text, 'utf-8')
    result.compared = len(promise.figures) + len(promise.tables)
    return result


def listed(rows: Sequence[Promise]) -> None:
    """Print the table for people."""
    print('| page | command | CI | figures |\n|---|---|---|---|')
    for one in rows:
        ci = one.not_in_ci or one.elsewhere or f'`{one.run_by_ci}`'
        needs = f' (needs {", ".join(one.needs)})' if one.needs else ''
        count = len(one.figures) + len(one.tables)
        print(f'| {one.page} | `{one.command}` | {ci}{needs} | {count} |')


def unrun(promise: Promise, *, whole: bool) -> str:
    """Return why a row is not run now, or nothing."""
    if promise.elsewhere or promise.not_in_ci:
        return promise.elsewhere or promise.not_in_ci
    if whole and not (promise.figures or promise.tables):
        return 'it has no figures'
    if promise.missing:
        return f'left out, because this machine lacks {", ".join(promise.missing)}'
    return ''


def main() -> int:
    """Run the rows that are asked for; return the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('words', nargs='*', metavar='WORD', help='only commands with one of these')
    parser.add_argument('--write', action='store_true', help='whole forms, into the pages')
    parser.add_argument('--list', action='store_true', help='run nothing')
    parser.add_argument('--jobs', type=int, default=1, help='short forms at a time (default: 1)')
    given = parser.parse_args()
    rows = [
        one
        for one in promises()
        if not given.words or any(word in one.command for word in given.words)
    ]
    if given.list:
        listed(rows)
        return 0
    begun = time.monotonic()
    failed = 0
    unfinished = 0
    run_count = 0
    # Whole forms are timed and write into the same pages: one after another.
    with ThreadPoolExecutor(1 if given.write else given.jobs) as pool:
        results = []
        for one in rows:
            why = unrun(one, whole=given.write)
            results.append(why or pool.submit(write if given.write else check, one))
        for number, (one, result) in enumerate(zip(rows, results), 1):
            name = f'[{number}/{len(rows)}] {one.command if given.write else one.run_by_ci}'
            if isinstance(result, str):
                print(f'{name}: {result}', flush=True)
                continue
            run_count += 1
            found = result.result()
            unfinished += found.unfinished
            failed += bool(found.wrong) and not found.unfinished
            said = 'FAILED' if found.wrong else 'runs'
            if found.unfinished:
                said = 'NOT FINISHED'
            print(
                f'{name}: {said}, {found.compared} compared, {found.seconds:.1f} s',
                flush=True,
            )
            for sentence in found.wrong:
                print(f'    {one.page}: {sentence}', flush=True)
    slow = f', {unfinished} did not finish' if unfinished else ''
    print(f'{failed} of {run_count} commands failed{slow}; {time.monotonic() - begun:.0f} s')
    if failed:
        return 1
    return 3 if unfinished else 0


if __name__ == '__main__':
    sys.exit(main())
