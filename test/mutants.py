# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Change one operator, constant or condition of the package at a time, and see which tests notice.

    python -m test.mutants [--count 100] [--seed 1] [--rooms arm control]

Changes are drawn by the seed over the lines of the package and made by cosmic-ray in a copy of the
files that git lists, `build/mutants`. Each is run against the nearest tests: the files of the
room's tests that import the changed module, and if these do not notice it all of the room's. Tests
that fail without a change, too, count for nothing. Printed are the share that was noticed, by
room, and the difference of each change that was not. Exit 1 if one was not noticed.
"""

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
import random
import shlex
import shutil
import subprocess
import sys
import time

from cosmic_ray.ast import ast_nodes, get_ast_from_path
from cosmic_ray.mutating import mutate_and_test
from cosmic_ray.plugins import get_operator, operator_names
from cosmic_ray.work_item import MutationSpec, TestOutcome

ROOT = Path(__file__).parents[1]
COPY = ROOT / 'build' / 'mutants'
PACKAGE = 'franka_dynamics'
# A change whose tests take so many times as long as without it, and a minute more, hangs: it is
# noticed.
MAX_SLOWDOWN_RATIO = 10.0
MIN_TIMEOUT_S = 60.0
# Besides comparisons and binary operators. That of types (`float | None`) is no operator.
KINDS = (
    'core/AddNot',
    'core/NumberReplacer',
    'core/ReplaceAndWithOr',
    'core/ReplaceOrWithAnd',
    'core/ReplaceFalseWithTrue',
    'core/ReplaceTrueWithFalse',
    'core/ReplaceUnaryOperator_Delete_Not',
    'core/ReplaceUnaryOperator_Delete_USub',
)
BY_PAIR = ('core/ReplaceComparisonOperator_', 'core/ReplaceBinaryOperator_')
OF_TYPES = 'core/ReplaceBinaryOperator_BitOr_'


def is_drawn(name: str) -> bool:
    """Return whether changes of a kind are drawn."""
    return name in KINDS or (name.startswith(BY_PAIR) and not name.startswith(OF_TYPES))


def copied_files() -> list[Path]:
    """Copy what git lists to COPY, and return the modules there."""
    shutil.rmtree(COPY, ignore_errors=True)
    listed = subprocess.run(
        ['git', 'ls-files', '--cached', '--others', '--exclude-standard'],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    for name in listed:
        if (ROOT / name).is_file():
            (COPY / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, COPY / name)
    return sorted((COPY / PACKAGE).rglob('*.py'))


def room_of(module: Path) -> str:
    """Return the room of a module: the folder or file below the package."""
    return module.relative_to(COPY / PACKAGE).with_suffix('').parts[0]


def drawn_change(modules: Sequence[Path], choose: random.Random) -> MutationSpec:
    """Return a change at a place drawn from all of a module, which is drawn by its lines."""
    lines = [len(module.read_text('utf-8').splitlines()) for module in modules]
    while True:
        (module,) = choose.choices(modules, lines)
        tree = get_ast_from_path(module)
        found = []
        for name in filter(is_drawn, operator_names()):
            operator = get_operator(name)()
            places = [
                place for node in ast_nodes(tree) for place in operator.mutation_positions(node)
            ]
            found += [(name, number, place) for number, place in enumerate(places)]
        if found:
            # Of operators there are many kinds at a place; each place counts once.
            place = choose.choice(sorted({one[2] for one in found}))
            name, number, _ = choose.choice([one for one in found if one[2] == place])
            return MutationSpec(str(module), name, number, place[0], place[1])


def nearest_tests(module: Path) -> tuple[list[str], ...]:
    """Return the test files of a module's room that import it, and the room's others."""
    room = room_of(module)
    folder = COPY / 'test' / room
    files = sorted(folder.rglob('test_*.py')) if folder.is_dir() else []
    if not files:
        files = sorted((COPY / 'test').glob(f'test_{room}*.py'))
    if not files:
        files = sorted((COPY / 'test').rglob('test_*.py'))
    name = '.'.join(module.relative_to(COPY).with_suffix('').parts)
    parent, _, last = name.rpartition('.')
    importing = [
        file
        for file in files
        if name in (text := file.read_text('utf-8')) or f'from {parent} import {last}' in text
    ]
    own = [file for file in files if file.stem == f'test_{module.stem}']
    near = {*importing, *own}
    chosen = sorted(near), sorted({*files} - near)
    return tuple([str(file.relative_to(COPY)) for file in some] for some in chosen)


def passing_tests(files: Sequence[str], durations: dict[str, float | None]) -> dict[str, float]:
    """
    Return how long those test files take that pass without a change [s].

    `durations` has some already, None for those that fail, and gets the others.
    """
    for file in files:
        if file not in durations:
            begin = time.monotonic()
            run = subprocess.run(shlex.split(command([file])), cwd=COPY, capture_output=True)
            has_passed = run.returncode in (0, 5)  # 5: all of it is left out
            durations[file] = time.monotonic() - begin if has_passed else None
    return {file: seconds for file in files if (seconds := durations[file]) is not None}


def command(files: Sequence[str]) -> str:
    """Return the command that runs test files in the copy, whose package comes first."""
    python = shlex.quote(str(ROOT / '.venv' / 'bin' / 'python'))
    run = f'cd {shlex.quote(str(COPY))} && {python} -m pytest -q -x -n 0 -p no:cacheprovider'
    return f'bash -c {shlex.quote(f"{run} {shlex.join(files)}")}'


def main() -> int:
    """Draw the changes, run their tests and print what was noticed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('--count', type=int, default=100, help='changes to draw')
    parser.add_argument('--seed', type=int, default=1, help='of what is drawn')
    parser.add_argument('--rooms', nargs='+', help='only these rooms')
    given = parser.parse_args()
    modules = [one for one in copied_files() if not given.rooms or room_of(one) in given.rooms]
    choose = random.Random(given.seed)
    made: Counter[str] = Counter()
    noticed: Counter[str] = Counter()
    durations: dict[str, float | None] = {}
    unnoticed = []
    for number in range(1, given.count + 1):
        change = drawn_change(modules, choose)
        module = Path(change.module_path)
        room = room_of(module)
        is_noticed = False
        for files in nearest_tests(module):
            if files and not is_noticed and (tests := passing_tests(files, durations)):
                timeout = MIN_TIMEOUT_S + MAX_SLOWDOWN_RATIO * sum(tests.values())
                result = mutate_and_test([change], command(list(tests)), timeout)
                is_noticed = result.test_outcome is not TestOutcome.SURVIVED
        made[room] += 1
        noticed[room] += is_noticed
        where = f'{module.relative_to(COPY)}:{change.start_pos[0]}'
        word = 'noticed' if is_noticed else 'NOT noticed'
        print(f'[{number}/{given.count}] {where}: {word}', flush=True)
        if not is_noticed:
            unnoticed.append(result.diff)
    print('\n' + '\n'.join(unnoticed))
    print('| room | changes | noticed |\n|---|---|---|')
    for room in sorted(made):
        print(f'| {room} | {made[room]} | {noticed[room]} |')
    print(f'| all | {made.total()} | {noticed.total()} |')
    return int(noticed.total() < made.total())


if __name__ == '__main__':
    sys.exit(main())
