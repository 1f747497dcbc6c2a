# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Former names of attributes, arguments and functions, which work for one release and warn.

A name that changes keeps its old one by one line beside it, and both stand in CHANGELOG.rst:

    @former_names.of_attributes('0.3', tip='tip_link')      # over a class; also its arguments
    @former_names.of_arguments('0.3', spatial='vectors')    # over a function
    __getattr__ = former_names.of_module(__name__, '0.3', BASE='.BASE_BODY')    # in a module

The release is the one that no longer has the old name; `test/public_interface` says when it has
come.
"""

from collections.abc import Callable
from functools import wraps
from importlib import import_module
import inspect
from typing import Any, NamedTuple, TypeVar
import warnings

_FunctionType = TypeVar('_FunctionType', bound=Callable[..., Any])
_ClassType = TypeVar('_ClassType', bound=type)


class FormerName(NamedTuple):
    """The name that has taken the place of a former one, and the release without that one."""

    now: str
    until: str

    def warn(self, old: str) -> None:
        """Warn the caller of the caller that a name has changed."""
        text = f'{old} is now {self.now}; the old name goes in release {self.until}.'
        warnings.warn(text, DeprecationWarning, stacklevel=3)


class FormerAttribute:
    """An attribute by its former name: whoever reads, calls or sets it gets a warning, too."""

    def __init__(self, old: str, former: FormerName) -> None:
        """Make the attribute `old` of a class, which stands for the one that `former` names."""
        self.old = old
        self.former = former

    def __get__(self, instance: Any, owner: type) -> Any:
        """Return the attribute of an instance, or of the class itself; warn."""
        found = getattr(owner if instance is None else instance, self.former.now)
        self.former.warn(f'{owner.__name__}.{self.old}')
        return found

    def __set__(self, instance: Any, value: Any) -> None:
        """Set the attribute of an instance; warn."""
        self.former.warn(f'{type(instance).__name__}.{self.old}')
        setattr(instance, self.former.now, value)


def of_attributes(until: str, **new_names: str) -> Callable[[_ClassType], _ClassType]:
    """
    Return a decorator that gives a class former names of attributes, methods and arguments.

    `new_names` are the new names by the old ones. Those of arguments of the class are taken as
    arguments, too.
    """

    def decorate(cls: _ClassType) -> _ClassType:
        """Add the former names to a class, and return it."""
        for old, new in new_names.items():
            setattr(cls, old, FormerAttribute(old, FormerName(new, until)))
        maker = '__init__' if '__init__' in vars(cls) else '__new__'
        made = vars(cls).get(maker)
        if made is not None:
            function = made.__func__ if isinstance(made, staticmethod) else made
            given = inspect.signature(function).parameters
            arguments = {old: new for old, new in new_names.items() if new in given}
            if arguments:
                setattr(cls, maker, of_arguments(until, **arguments)(function))
        return cls

    return decorate


def of_arguments(until: str, **new_names: str) -> Callable[[_FunctionType], _FunctionType]:
    """Return a decorator that lets a function take arguments by their former names, too."""
    former = {old: FormerName(new, until) for old, new in new_names.items()}

    def decorate(function: _FunctionType) -> _FunctionType:
        """Return the function with its former names of arguments."""

        @wraps(function)
        def renamed_call(*args: Any, **kwargs: Any) -> Any:
            """Return the function's result; warn of each argument that has its former name."""
            for old in former.keys() & kwargs.keys():
                now = former[old].now
                if now in kwargs:
                    raise TypeError(f'{function.__name__} got both {old} and {now}.')
                shown = function.__qualname__.removesuffix('.__init__').removesuffix('.__new__')
                former[old].warn(f'{shown}({old}=)')
                kwargs[now] = kwargs.pop(old)
            return function(*args, **kwargs)

        renamed_call.former_arguments = former  # type: ignore[attr-defined]
        return renamed_call  # type: ignore[return-value]

    return decorate


def of_module(module: str, until: str, **new_places: str) -> Callable[[str], Any]:
    """
    Return a module's `__getattr__`, which finds names that it had, and warns.

    `new_places` are by the old names where each is now: MODULE.NAME, relative to the package of
    `module`, as in `from` statements.
    """

    def find(name: str) -> Any:
        """Return what a former name of the module means now, else raise AttributeError."""
        if name not in new_places:
            raise AttributeError(f'module {module!r} has no attribute {name!r}')
        place, _, new = new_places[name].rpartition('.')
        found = import_module(place, module.rpartition('.')[0])
        FormerName(f'{found.__name__}.{new}', until).warn(f'{module}.{name}')
        return getattr(found, new)

    find.former_names = dict.fromkeys(new_places, until)  # type: ignore[attr-defined]
    return find
