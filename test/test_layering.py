# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
No room imports a room above it, and no module imports itself by way of others.

The order of the rooms is that of the table in docs/architecture.md.

Every import statement counts, also those inside functions and under TYPE_CHECKING: a reader has
to follow those just as well.
"""

import ast
from collections import defaultdict
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
import re

import pytest

import franka_dynamics

PACKAGE = 'franka_dynamics'
FOLDER = Path(franka_dynamics.__file__).parent

PAGE = (FOLDER.parent / 'docs' / 'architecture.md').read_text('utf-8')
# From the ground up. A room imports rooms of lower lines; rooms of one line do not import each
# other.
RANK = {room: int(line) for line, room in re.findall(r'^\| (\d+) \| `(\w+)` \|', PAGE, re.M)}
TOP = max(RANK.values()) + 1


def module_name(path):
    """Return the dotted name of a file of the package."""
    parts = path.relative_to(FOLDER.parent).with_suffix('').parts
    return '.'.join(parts[:-1] if parts[-1] == '__init__' else parts)


MODULES = {module_name(path): path for path in sorted(FOLDER.rglob('*.py'))}


def room(module):
    """Return the first part of a module's name below the package; '' for the package itself."""
    return module.split('.')[1] if '.' in module else ''


def imported(name, text, is_package):
    """Yield the modules of the package that a module's text imports."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in MODULES)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ''
            if node.level:
                above = name.split('.')
                above = above[: len(above) - node.level + is_package]
                base = '.'.join((*above, *base.split('.'))) if base else '.'.join(above)
            for alias in node.names:
                inner = f'{base}.{alias.name}'
                if inner in MODULES:
                    yield inner
                elif base in MODULES:
                    yield base


@pytest.fixture(scope='module')
def edges():
    """Return the modules that each module imports."""
    found = defaultdict(set)
    for name, path in MODULES.items():
        found[name].update(imported(name, path.read_text('utf-8'), path.name == '__init__.py'))
        found[name].discard(name)
    return found


def upward(edges, rank):
    """Return sentences for the imports of a room at or above the importer's own line."""
    return [
        f'{name} imports {other}'
        for name in sorted(edges)
        for other in sorted(edges[name])
        if room(name)
        and room(other) not in ('', room(name))
        and rank[room(other)] >= rank[room(name)]
    ]


def circle(edges):
    """Return the modules of an import circle; empty if there is none."""
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def test_every_room_has_its_line():
    rooms = {room(name) for name in MODULES} - {'', '__main__'}
    assert rooms <= set(RANK)


def test_no_room_imports_a_room_above_it(edges):
    assert upward(edges, {**RANK, '__main__': TOP}) == []


def test_no_module_imports_itself_by_way_of_others(edges):
    # A package's __init__ offers names of its own modules without importing them (PEP 562).
    ours = {
        name: others
        for name, others in edges.items()
        if MODULES[name].name != '__init__.py' or room(name) == 'arm'
    }
    assert circle(ours) == []


def test_formulations_do_not_share_the_spatial_module(edges):
    """An error in shared code would not be found by comparing the formulations."""
    assert f'{PACKAGE}.spatial' not in edges[f'{PACKAGE}.dynamics.newton_euler']


def test_ros_is_imported_by_the_command_line_alone(edges):
    importers = {
        name for name, others in edges.items() if any(room(other) == 'ros' for other in others)
    }
    assert {room(name) for name in importers} <= {'ros', 'cli'}


def test_the_check_sees_upward_imports_and_circles():
    text = 'def f():\n    from ..ros import qos\n'
    found = set(imported(f'{PACKAGE}.arm.inertia', text, is_package=False))
    assert found == {f'{PACKAGE}.ros.qos'}
    assert upward({f'{PACKAGE}.arm.inertia': found}, RANK)
    assert set(circle({'a': {'b'}, 'b': {'c'}, 'c': {'a'}})) == {'a', 'b', 'c'}
