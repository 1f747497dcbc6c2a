# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Modules, modules that one other imports, and private functions of the package, of any revision.

    python benchmarks/size.py [REVISION ...]

Without a revision the working tree is counted. docs/architecture.md has the figures.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
import subprocess
import sys

PACKAGE = 'franka_dynamics'
LONGEST = 400  # lines
ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Size:
    """Counts of a package's modules, of their lines and of their functions."""

    modules: int
    lines: int
    over_400: int
    single: tuple[str, ...]  # imported by one other module; lists of exports do not count
    from_elsewhere: int  # of these, by one of another room
    too_long: int  # of the rest, those that would make more than 400 lines together
    functions: int  # without those of two underscores
    private: int
    private_once: int  # named once in their file beside the definition


def main() -> None:
    """Print a line for each revision."""
    for revision in sys.argv[1:] or ['']:
        size = measure(sources(revision))
        print(
            f'{revision or "working tree"}: {size.modules} modules, {size.lines} lines, '
            f'{size.over_400} files over 400 lines; {len(size.single)} imported by one other, '
            f'{size.from_elsewhere} of them from another room, {size.too_long} of the rest long '
            f'together; {size.functions} functions, '
            f'{size.private} private ({size.private / size.functions:.1%}), '
            f'{size.private_once} of them used once'
        )


def sources(revision: str) -> dict[str, str]:
    """Return the text of every module of the package by its path, at a revision or as it is."""
    if not revision:
        return {
            str(path.relative_to(ROOT)): path.read_text('utf-8')
            for path in sorted((ROOT / PACKAGE).rglob('*.py'))
        }
    listed = _git('ls-tree', '-r', '--name-only', revision, PACKAGE).split()
    return {path: _git('show', f'{revision}:{path}') for path in listed if path.endswith('.py')}


def _git(*arguments: str) -> str:
    return subprocess.run(
        ['git', *arguments], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout


def measure(texts: Mapping[str, str]) -> Size:
    """Return the counts of modules given by path and text."""
    trees = {name_of(path): ast.parse(text) for path, text in texts.items()}
    rooms = {name_of(path) for path in texts if path.endswith('__init__.py')}
    importers: dict[str, set[str]] = {name: set() for name in trees}
    for name, tree in trees.items():
        for imported in imports(name, tree, name in rooms, importers):
            importers[imported].add(name)
    lengths = {name_of(path): text.count('\n') for path, text in texts.items()}
    single = {
        name: importer
        for name, found in importers.items()
        if name not in rooms and len(found - rooms - {name}) == 1
        for importer in found - rooms - {name}
    }
    elsewhere = {name for name in single if room(name) != room(single[name])}
    functions = [
        (node.name, used[node.name])
        for tree in trees.values()
        for used in [_names_used(tree)]
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and not node.name.startswith('__')
    ]
    private = [count for name, count in functions if name.startswith('_')]
    return Size(
        modules=len(texts),
        lines=sum(lengths.values()),
        over_400=sum(length > LONGEST for length in lengths.values()),
        single=tuple(single),
        from_elsewhere=len(elsewhere),
        too_long=sum(
            lengths[name] + lengths[importer] > LONGEST
            for name, importer in single.items()
            if name not in elsewhere
        ),
        functions=len(functions),
        private=len(private),
        private_once=sum(count <= 1 for count in private),
    )


def name_of(path: str) -> str:
    """Return the dotted name of a module from its path."""
    return path.removesuffix('.py').removesuffix('/__init__').replace('/', '.')


def room(name: str) -> str:
    """Return the first part of a module's name below the package."""
    return name.split('.')[1] if '.' in name else ''


def imports(name: str, tree: ast.AST, is_room: bool, known: Mapping[str, object]) -> Iterator[str]:
    """Yield the known modules that a module imports, wherever in it the statement is."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom):
            above = name.split('.')
            above = above[: len(above) - node.level + is_room] if node.level else []
            base = '.'.join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                inner = f'{base}.{alias.name}'
                if inner in known or base in known:
                    yield inner if inner in known else base


def _names_used(tree: ast.AST) -> Counter[str]:
    return Counter(
        node.id if isinstance(node, ast.Name) else node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Name | ast.Attribute)
    )


if __name__ == '__main__':
    main()
