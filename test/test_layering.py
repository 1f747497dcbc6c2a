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
# From the ground up. A room imports rooms of lower lines, none of its own.
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


def test_ros_alone_imports_ros():
    """Packages of ROS are known by their names; the commands (cli) import what `ros` offers."""
    packages = r'(?:rclpy|launch|ament|\w+_(?:msgs|srvs|interfaces))'
    of_ros = re.compile(rf'^\s*(?:from|import) {packages}', re.M)
    users = {name for name, path in MODULES.items() if of_ros.search(path.read_text('utf-8'))}
    assert users and {room(name) for name in users} == {'ros'}


def test_folders_of_ros_import_only_what_the_page_says(edges):
    """What every folder uses stands beside them, and imports none of them."""
    section = PAGE.partition('## The folders of `ros`')[2].partition('\n## ')[0]
    allowed = {
        folder: set(re.findall(r'`(\w+)`', others))
        for folder, others in re.findall(r'^\| `(\w+)` \|[^|]*\|([^|]*)\|$', section, re.M)
    }
    ros = f'{PACKAGE}.ros'
    folders = {path.parent.name for path in (FOLDER / 'ros').glob('*/__init__.py')}
    assert folders == set(allowed)

    def folder(module):
        return module.removeprefix(f'{ros}.').split('.')[0] if module.startswith(f'{ros}.') else ''

    wrong = [
        f'{name} imports {other}'
        for name in sorted(edges)
        if name.startswith(ros)
        for other in sorted(edges[name])
        if folder(other) in folders - {folder(name)} - allowed.get(folder(name), set())
    ]
    assert not wrong, wrong


def test_no_module_imports_itself_by_way_of_others(edges):
    # A package's __init__ offers names of its own modules without importing them (PEP 562).
    packages = {name for name, path in MODULES.items() if path.name == '__init__.py'}
    own = {name: edges[name] for name in edges if name not in packages or room(name) == 'arm'}
    TopologicalSorter(own).prepare()  # a circle is an error


def test_the_mathematics_imports_no_urdf_reader_or_controller(edges):
    for name, others in edges.items():
        if room(name) in ('dynamics', 'codegen', 'batch', 'rpr'):
            assert not {'urdf', 'motion', 'control'} & {room(other) for other in others}, name


# An error in shared code would not be found by comparing what shares it.
@pytest.mark.parametrize(
    ('module', 'without', 'but'),
    [
        ('dynamics.newton_euler', {'spatial'}, set()),
        ('rpr.symbolic', {'dynamics', 'codegen'}, {'dynamics.model'}),
    ],
)
def test_formulations_share_no_equations(module, without, but, edges):
    others = {name for name in edges[f'{PACKAGE}.{module}'] if room(name) in without}
    assert others <= {f'{PACKAGE}.{name}' for name in but}


@pytest.mark.parametrize('folder', ['benchmarks', 'examples', 'docs', 'launch'])
def test_scripts_import_modules_that_exist(folder):
    """A script that is started by hand imports no module of this repository that has moved."""
    root = FOLDER.parent
    absent = []
    written = [path for path in (root / folder).rglob('*.py') if '_build' not in path.parts]
    for path in sorted(written):
        for node in ast.walk(ast.parse(path.read_text('utf-8'))):
            module = node.module if isinstance(node, ast.ImportFrom) and not node.level else None
            if module and module.split('.')[0] in (PACKAGE, 'test', 'benchmarks'):
                place = root.joinpath(*module.split('.'))
                if not (place.is_dir() or place.with_suffix('.py').is_file()):
                    absent.append(f'{path.relative_to(root)}: {module}')
    assert not absent, absent
