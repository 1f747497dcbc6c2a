# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
How Sphinx makes the pages: `make docs`, and `make rosdoc2` as docs.ros.org does.

Three sets of pages are written anew by every build, into reference/generated: each package's
public names, from their docstrings, the command line's own help, and the examples.
"""

import ast
from contextlib import suppress
from importlib import import_module
import inspect
import os
from pathlib import Path
import pkgutil
import re
import sys
from typing import NamedTuple

# rosdoc2 runs this text in a conf.py of its own, in a copy of docs/; that one names this file.
_WRAPPED = re.search(r'exec\(open\("(.+)"\)', Path(__file__).read_text('utf-8'))
ROOT = Path(_WRAPPED[1] if _WRAPPED else __file__).parents[1]
sys.path.insert(0, str(ROOT))
os.environ['COLUMNS'] = '80'  # of the commands' help

import click

import franka_dynamics
from franka_dynamics.cli.commands.root import root_command
from franka_dynamics.errors import MissingDependencyError

project = 'franka_dynamics'
author = 'The franka_dynamics authors'
copyright = f'2026, {author}'
version = release = franka_dynamics.__version__

extensions = ['myst_parser', 'sphinx.ext.autodoc', 'sphinx.ext.napoleon']
myst_enable_extensions = ['dollarmath']
myst_heading_anchors = 4
# Beside these pages rosdoc2 makes an index.rst and a page for each module.
exclude_patterns = ['_build', '*.rst', 'standard_docs']
rosdoc2_settings = {'override_theme': False}
html_theme = 'alabaster'
html_static_path = ['_static']
# Wide enough for the title, which would break in the middle of the word.
html_theme_options = {
    'page_width': '1220px',
    'sidebar_width': '320px',
    'fixed_sidebar': True,
}
highlight_language = 'text'  # of code that names no language
html_title = f'{project} {release}'
napoleon_google_docstring = False
# As parameters' types, words of a docstring such as the n of a shape would become references.
napoleon_use_param = napoleon_use_rtype = False
napoleon_custom_sections = [('Attributes', 'params_style')]
autodoc_typehints = 'signature'
autodoc_typehints_format = 'short'
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 90
autodoc_member_order = 'bysource'
if _WRAPPED:
    suppress_warnings = ['myst.xref_missing']  # files beside docs/ are not in rosdoc2's copy

GENERATED = Path(__file__).parent / 'reference' / 'generated'
_ALIAS = re.compile(r"~?(?:sphinx\.util\.inspect\.)?TypeAliasForwardRef\('(\w+)'\)")
_LITERAL = re.compile(r'(``[^`]*``|`[^`]*`)')
# Formulas in docstrings: what reStructuredText would read as emphasis or as a reference.
_MARKUP = re.compile(r'([*|]|(?<=\w)_(?=\W|$))')


# The example with which each part of their page begins.
EXAMPLE_HEADINGS = {
    '02_with_and_without': 'First steps',
    '05_fci': 'The real arm',
    '11_policy': 'Learning',
    'dual_arm': 'Of the documents behind the code',
}
# Users run the command line and the nodes and do not import them; commands print the reports.
NOT_IMPORTED = ('cli', 'ros', 'report')


def rooms():
    """Yield every package with its public names: the front door's, then each room's own."""
    yield project, list(offered())
    for package in pkgutil.iter_modules(franka_dynamics.__path__, f'{project}.'):
        if package.ispkg and package.name.rpartition('.')[2] not in NOT_IMPORTED:
            yield (
                package.name,
                [one for module in modules(package.name) for one in own(module)],
            )


def offered():
    """Yield the front door's names that can be imported here, under the names that users write."""
    for name in vars(franka_dynamics)['__all__']:
        with suppress(MissingDependencyError):  # on a host that lacks an extra
            value = getattr(franka_dynamics, name)
            if inspect.isclass(value):
                value.__name__ = name  # or autodoc says no more of Model than whose alias it is
            yield name, value


def modules(room):
    """Yield the public modules of a room that can be imported here."""
    for found in pkgutil.iter_modules(import_module(room).__path__, f'{room}.'):
        with suppress(MissingDependencyError, ModuleNotFoundError):
            yield import_module(found.name)


def own(module):
    """Yield the public classes and functions that a module defines, with their names."""
    for name, value in vars(module).items():
        if not name.startswith('_') and (inspect.isclass(value) or inspect.isfunction(value)):
            if value.__module__ == module.__name__ and value.__doc__:
                yield name, value


def write(name, lines):
    """Write a generated page, if it is not there with the same text already."""
    path = GENERATED / name
    text = '\n'.join(lines) + '\n'
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text('utf-8') != text:
        path.write_text(text, 'utf-8')


def title(text, line='='):
    """Return a heading in reStructuredText."""
    return [text, line * len(text), '']


def remove_former_pages(app):
    """Remove generated pages that no function below writes any more."""
    for path in GENERATED.glob('*.rst'):
        if path.stem not in ('cli', 'examples'):
            path.unlink()


def write_python_pages(app):
    """Write a page for each package: its names, with their docstrings."""
    found = dict(rooms())
    for path in (GENERATED / 'python').glob('*.rst'):
        if path.stem not in found:  # a package that has gone
            path.unlink()
    for room, names in found.items():
        text = (import_module(room).__doc__ or '').strip().split('\n\n')[:1]
        lines = [*title(room), *text, '']
        for name, value in names:
            home = f'{room if room == project else value.__module__}.{name}'
            # The rooms' pages are where a reference leads to.
            front = ['   :no-index:'] if room == project else []
            if inspect.isclass(value):
                if value.__base__.__module__.startswith(project):
                    front.append('   :inherited-members:')
                lines += [f'.. autoclass:: {home}', '   :members:', *front, '']
            elif callable(value):
                lines += [f'.. autofunction:: {home}', *front, '']
            else:
                lines += [f'.. py:data:: {home}', f'   :value: {value!r}', '']
        write(f'python/{room}.rst', lines)


def commands(command, words=''):
    """Yield a command and all commands below it, with their words."""
    yield words, command
    for name, below in getattr(command, 'commands', {}).items():
        yield from commands(below, f'{words} {name}'.strip())


def write_command_line_page(app):
    """Write what --help says of every word and action."""
    lines = title('The command line in full')
    for words, command in commands(root_command):
        context = click.Context(command, info_name=f'franka-dynamics {words}'.strip())
        context.show_default = True
        said = command.get_help(context)
        lines += [
            *(title(words, '-') if words else ()),
            '::',
            '',
            *(f'   {line}' for line in said.splitlines()),
            '',
        ]
    write('cli.rst', lines)


def write_examples_page(app):
    """Write what each example says of itself, with its picture if there is one."""
    lines = [
        *title('Examples'),
        'Each is one file in ``examples/`` to read, copy and run (07 imports 06): '
        '``python examples/NAME.py``. The first, ``01_first_steps.ipynb``, is a notebook.',
        '',
    ]
    folder = ROOT / 'examples'
    for path in [
        *sorted(folder.glob('[0-9]*.py')),
        *sorted(folder.glob('documents/*.py')),
    ]:
        if heading := EXAMPLE_HEADINGS.get(path.stem):
            lines += title(heading, '-')
        lines += example(path)
    write('examples.rst', lines)


def example(path):
    """Return what an example says of itself, with its picture if there is one."""
    text = ast.get_docstring(ast.parse(path.read_text('utf-8'))) or ''
    lines = title(path.stem, '~')
    for part in text.split('\n\n'):  # paragraphs, and commands, which are indented
        shown = _MARKUP.sub(r'\\\1', part.replace('`', '``'))
        lines += ['::', '', part, ''] if part.startswith('    ') else [shown, '']
    for picture in (Path(__file__).parent / 'images').glob(f'{path.stem.lstrip("_0123456789")}.*'):
        lines += [
            f'.. image:: ../../images/{picture.name}',
            f'   :alt: {path.stem}',
            '',
        ]
    return lines


def escape_formulas(app, what, name, obj, options, lines):
    """Escape `J*w`, |a| and x_, which reStructuredText would read as markup."""
    for i, line in enumerate(lines):
        parts = _LITERAL.split(line)
        parts[::2] = [_MARKUP.sub(r'\\\1', part) for part in parts[::2]]
        parts[1::2] = [part if part.startswith('``') else f'`{part}`' for part in parts[1::2]]
        lines[i] = ''.join(parts)


def name_aliases(app, config):
    """Let signatures show the name of an alias instead of the type and rules behind it."""
    config.autodoc_type_aliases = {name: name for name in ('Array', 'ArrayLike')} | {
        name: name
        for room, _ in rooms()
        for module in modules(room)
        for name, value in vars(module).items()
        if hasattr(value, '__metadata__')
    }


def shorten_aliases(app, what, name, obj, options, arguments, returned):
    """Replace how Sphinx shows an alias within another type, as in `tuple[Array, Array]`."""
    shown = [text and _ALIAS.sub(r'\1', text) for text in (arguments, returned)]
    return tuple(shown)


def skip_tuple_fields(app, what, name, obj, skip, options):
    """Leave out the fields of named tuples, which the class's docstring explains."""
    return True if isinstance(obj, type(_Pair.first)) else None


class _Pair(NamedTuple):
    first: int


def setup(app):
    """Connect the functions above with a build."""
    app.connect('config-inited', name_aliases)
    app.connect('autodoc-process-signature', shorten_aliases)
    app.connect('autodoc-skip-member', skip_tuple_fields)
    app.connect('builder-inited', remove_former_pages)
    app.connect('builder-inited', write_python_pages)
    app.connect('builder-inited', write_command_line_page)
    app.connect('builder-inited', write_examples_page)
    app.connect('autodoc-process-docstring', escape_formulas, priority=400)
