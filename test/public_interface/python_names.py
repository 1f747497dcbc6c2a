# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Public names of the Python package.

These are the names that `franka_dynamics` exports and those that an example imports from one of
its modules, with their parameters and public attributes, and the same of the classes that stand in
the annotations of these: what a function returns, or takes.
"""

import ast
from collections.abc import Iterator
from enum import Enum
from functools import cache
from importlib import import_module
import inspect
from pathlib import Path
import sys
import textwrap
from typing import Any, get_args

import franka_dynamics as fd
from franka_dynamics import errors

PACKAGE = fd.__name__
EXAMPLES = Path(fd.__file__).parents[1] / 'examples'
# Modules and classes of parts that public objects are made of: nothing is promised of these but
# what is exported, or imported by an example.
PARTS = (
    'arm.arm_fields.FormatWords',
    'batch.generated_model',
    'codegen.expression',
    'codegen.program',
    'control.control_law',
    'control.state_check',
    'control.terms',
    'control.torque_output',
)


def python_names(listed: set[str]) -> set[str]:
    """Return the public names; of modules also those of `listed` that are still there."""
    names = set(fd.__all__)
    found = {name: getattr(fd, name) for name in fd.__all__}
    exported_names = {thing: name for name, thing in found.items() if inspect.isclass(thing)}
    for name, thing in vars(errors).items():
        if inspect.isclass(thing) and issubclass(thing, (fd.FrankaDynamicsError, UserWarning)):
            found[name] = thing
    for place in {*_imported_by_examples(), *_places_in(listed)}:
        module, _, name = place.rpartition('.')
        try:
            found[place] = getattr(import_module(f'{PACKAGE}.{module}'), name)
        except AttributeError:
            continue  # the comparison with the list says so
        except ModuleNotFoundError as error:
            if not f'{error.name}'.startswith(PACKAGE):
                raise  # a library that is not installed
            continue
        names.add(place)
    waiting: list[Any] = []
    for name, thing in found.items():
        # The members of a class are listed by its own name, wherever it is imported from.
        if inspect.isclass(thing):
            waiting.append(thing)
        elif inspect.isfunction(thing):
            names.update(_with_parameters(name.rpartition('.')[2], thing))
            waiting.extend(_classes_in_annotations(thing))
    known: set[type] = set()
    while waiting:
        cls = waiting.pop()
        if cls in known or not _is_own(cls) or cls.__name__.startswith('_'):
            continue
        place = f'{cls.__module__}.{cls.__name__}'.removeprefix(f'{PACKAGE}.')
        if place.startswith(PARTS) and cls not in found.values():
            continue
        known.add(cls)
        names.update(_names_of_class(cls, exported_names.get(cls, cls.__name__)))
        waiting.extend(_classes_in_class(cls))
    return names


def _imported_by_examples() -> set[str]:
    """Return the names that examples import from the package's modules, with the modules."""
    found = set()
    for path in EXAMPLES.rglob('*.py'):
        for node in ast.walk(ast.parse(path.read_text('utf-8'))):
            if isinstance(node, ast.ImportFrom) and (node.module or '').startswith(f'{PACKAGE}.'):
                module = node.module.removeprefix(f'{PACKAGE}.')
                found |= {f'{module}.{alias.name}' for alias in node.names}
    return found


def _places_in(listed: set[str]) -> set[str]:
    """Return the names of a list that begin with a module of the package."""
    folders = {path.stem for path in Path(fd.__file__).parent.iterdir()}
    return {name for name in listed if '(' not in name and name.partition('.')[0] in folders}


def _is_own(thing: Any) -> bool:
    """Return whether a class or function is of this package."""
    return getattr(thing, '__module__', '').partition('.')[0] == PACKAGE


def _own_bases(cls: type) -> list[type]:
    """Return a class and its bases, without those of other packages."""
    return [base for base in cls.__mro__ if _is_own(base)]


def _with_parameters(name: str, function: Any) -> set[str]:
    """Return the parameters of a function as NAME(PARAMETER)."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # of a builtin
        return set()
    public = [one.name for one in parameters if not one.name.startswith('_')]
    return {f'{name}({one})' for one in public if one not in ('self', 'cls')}


def _names_of_class(cls: type, shown: str) -> set[str]:
    """Return what is public of a class under the name `shown`: parameters, attributes, methods."""
    names = {shown}
    if not issubclass(cls, Enum):
        names |= _with_parameters(shown, cls)
    for base in _own_bases(cls):
        for name in {
            *vars(base),
            *inspect.get_annotations(base),
            *_assigned_to_self(base),
        }:
            if name.startswith('_'):
                continue
            thing = inspect.getattr_static(cls, name, None)
            names.add(f'{shown}.{name}')
            if isinstance(thing, (staticmethod, classmethod)):
                thing = thing.__func__
            if inspect.isfunction(thing):
                names |= _with_parameters(f'{shown}.{name}', thing)
    return names


@cache
def _syntax_of(cls: type) -> ast.Module:
    """Return the parsed source of a class."""
    try:
        return ast.parse(textwrap.dedent(inspect.getsource(cls)))
    except (OSError, TypeError):
        return ast.Module([], [])


def _assigned_to_self(cls: type) -> set[str]:
    """Return the names of attributes that the methods of a class assign to `self`."""
    return {
        node.attr
        for node in ast.walk(_syntax_of(cls))
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == 'self'
    }


def _classes_in_class(cls: type) -> Iterator[type]:
    """Yield the classes in the annotations of a class's public members."""
    for base in _own_bases(cls):
        module = sys.modules[base.__module__]
        for name, hint in inspect.get_annotations(base).items():
            if not name.startswith('_'):
                yield from _classes_in(hint, module)
        for name, thing in vars(base).items():
            # The parameters of a base's constructor are not given by users of the class.
            if name.startswith('_') and not (name == '__init__' and base is cls):
                continue
            if isinstance(thing, (staticmethod, classmethod)):
                thing = thing.__func__
            thing = getattr(thing, 'fget', None) or getattr(thing, 'func', None) or thing
            if inspect.isfunction(thing):
                yield from _classes_in_annotations(thing)


def _classes_in_annotations(function: Any) -> Iterator[type]:
    """Yield the classes in the annotations of a function."""
    function = inspect.unwrap(function)
    for hint in getattr(function, '__annotations__', {}).values():
        yield from _classes_in(hint, sys.modules[function.__module__])


def _classes_in(hint: Any, module: Any) -> Iterator[type]:
    """Yield the classes in an annotation that stands in a module."""
    if isinstance(hint, str):
        for node in ast.walk(ast.parse(hint, mode='eval')):
            if isinstance(node, ast.Name):
                yield from _classes_in(_resolved(node.id, module), module)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield from _classes_in(node.value, module)
    elif isinstance(hint, type) and not get_args(hint):
        yield hint
    else:
        for inner in get_args(hint):
            if inner is not ... and not isinstance(inner, list):
                yield from _classes_in(inner, module)


def _resolved(name: str, module: Any) -> Any:
    """Return what a name means in a module, also one that is imported for type checkers only."""
    if hasattr(module, name):
        return getattr(module, name)
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    place = '.' * node.level + (node.module or '')
                    package = module.__name__.rpartition('.')[0]
                    return getattr(import_module(place, package), alias.name, None)
    return None
