# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
No room imports a room above it, and no module imports itself by way of others.

The order of the rooms is that of the table in docs/architecture.md. Every import statement counts,
also those inside functions and under TYPE_CHECKING: a reader has to follow those just as well.
"""

import ast
from graphlib import TopologicalSorter
from importlib.util import resolve_name
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
MODULES = {
    '.'.join(path.relative_to(FOLDER.parent).with_suffix('').parts).removesuffix('.__init__'): path
    for path in sorted(FOLDER.rglob('*.py'))
}


def room(module):
    """Return the first part of a module's name below the package; '' for the package itself."""
    return module.split('.')[1] if '.' in module else ''


def imported(name, text, is_package):
    """Yield the modules of the package that a module's text imports."""
    package = name if is_package else name.rpartition('.')[0]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in MODULES)
        elif isinstance(node, ast.ImportFrom):
            base = resolve_name('.' * node.level + (node.module or ''), package)
            for alias in node.names:
                inner = f'{base}.{alias.name}'
                if inner in MODULES or base in MODULES:
                    yield inner if inner in MODULES else base


@pytest.fixture(scope='module')
def edges():
    """Return the modules that each module imports."""
    return {
        name: {*imported(name, path.read_text('utf-8'), path.name == '__init__.py')} - {name}
        for name, path in MODULES.items()
    }


def upward(edges, rank):
    """Return sentences for the imports of a room at or above the importer's own line."""
    return [
        f'{name} imports {other}'
        for name in sorted(edges)
        for other in sorted(edges[name])
        if room(name) and room(other) not in ('', room(name))
        if rank[room(other)] >= rank[room(name)]
    ]


def test_no_room_imports_a_room_above_it(edges):
    assert {room(name) for name in MODULES} - {'', '__main__'} <= set(RANK)
    assert upward(edges, {**RANK, '__main__': TOP}) == []


def test_no_module_imports_itself_by_way_of_others(edges):
    # A package's __init__ offers names of its own modules without importing them (PEP 562).
    own = {
        name: others
        for name, others in edges.items()
        if MODULES[name].name != '__init__.py' or room(name) == 'arm'
    }
    TopologicalSorter(own).prepare()  # a circle is an error


def test_formulations_do_not_share_the_spatial_module(edges):
    """An error in shared code would not be found by comparing the formulations."""
    assert f'{PACKAGE}.spatial' not in edges[f'{PACKAGE}.dynamics.newton_euler']


@pytest.mark.parametrize('module', ['symbolic.chain', 'rpr.symbolic'])
def test_formulas_in_letters_share_no_equations_with_the_models(edges, module):
    others = {
        name for name in edges[f'{PACKAGE}.{module}'] if room(name) in ('dynamics', 'codegen')
    }
    assert others <= {f'{PACKAGE}.dynamics.model'}  # the names of reference frames


def test_ros_is_imported_by_the_command_line_alone(edges):
    importers = {room(name) for name, others in edges.items() if 'ros' in map(room, others)}
    assert importers <= {'ros', 'cli'}


def test_the_check_sees_imports_inside_functions():
    name, text = f'{PACKAGE}.arm.inertia', 'def f():\n    from ..ros import messages\n'
    found = set(imported(name, text, is_package=False))
    assert found == {f'{PACKAGE}.ros.messages'} and upward({name: found}, RANK)
