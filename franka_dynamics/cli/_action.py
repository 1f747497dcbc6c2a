# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""An action of the command line: a dataclass whose fields are its options."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, Field, fields
import inspect
from typing import Any, ClassVar, Self, TypeVar

from ..errors import SettingsError
from ..options import Option

T = TypeVar('T')
RARE = 'rarely used'
GET_ROS = 'source it, or install its wheels with pip install "franka_dynamics[ros-jazzy]"'


@dataclass(frozen=True, kw_only=True)
class Action(ABC):
    """
    Base class of an action, such as `arm check`: its options, and `run`, which does its work.

    A subclass's docstring is the help text. Each field that the subclass or a base class declares
    by `options.option` is an option of the action.

    Attributes
    ----------
    options_given : frozenset of str
        Names of the options that were given, whatever their values.
    heading : str
        Heading of a class's options in the help of the actions that inherit them; without a
        heading they are listed with the action's own.

    """

    heading: ClassVar[str] = ''
    options_given: frozenset[str] = frozenset()

    @abstractmethod
    def run(self) -> int:
        """Do the action's work; return the exit status, such as 0 done, 1 a check failed."""

    def resolved(self) -> Self:
        """Return the action with options that its input tells, such as the arm of a bag."""
        return self

    def refuse(self, why: str, *names: str) -> None:
        """
        Raise a SettingsError if one of the named fields was given as an option.

        `why` names the option or input with which the named fields have no effect, and gives the
        reason.
        """
        for name in names:
            if name in self.options_given:
                raise SettingsError(
                    f'{self.spelled(name)} has no meaning with {why}. Leave one of them out.'
                )

    def require_with(self, needed: str, *names: str) -> None:
        """Raise a SettingsError if a named field, which needs the missing option, was given."""
        for name in names:
            if name in self.options_given:
                given = self.spelled(name)
                raise SettingsError(f'{given} needs {needed}; add it, or leave {given} out.')

    def spelled(self, name: str) -> str:
        """Return a field's option, such as --arm-prefix, or a positional argument's metavar."""
        declared = declarations(type(self))[name]
        return f'{declared.metavar}' if declared.positional else flags(name, declared)[0]

    def part(self, kind: type[T]) -> T:
        """Return a dataclass of type `kind`, filled from the action's fields of equal names."""
        names = {one.name for one in fields(self)} & {one.name for one in _fields(kind)}
        return kind(**{name: getattr(self, name) for name in names})


def _fields(kind: Any) -> tuple[Field[Any], ...]:
    return fields(kind)


def flags(name: str, declared: Option) -> tuple[str, ...]:
    """Return an option's flags, such as ('--arm-prefix',)."""
    return declared.flags or (f'--{name.replace("_", "-")}',)


def declarations(kind: type[Action]) -> dict[str, Option]:
    """
    Return the options of an action's fields by the fields' names, in the order of its help.

    The action's own options come first, then those that it inherits without a heading, then those
    under headings, then the rarely used ones; in each group positional arguments come first.
    """
    declared = {one.name: one.metadata['option'] for one in fields(kind) if one.metadata}

    def place(name: str) -> tuple[int, str, bool]:
        title = heading(kind, name, declared[name])
        inherited = name not in inspect.get_annotations(kind)
        rank = 3 if title == RARE else 2 if title else int(inherited)
        return rank, title, not declared[name].positional

    return {name: declared[name] for name in sorted(declared, key=place)}


def heading(kind: type[Action], name: str, declared: Option) -> str:
    """Return the heading under which an action's help lists an option; empty without one."""
    if declared.rare:
        return RARE
    home = next(one for one in kind.__mro__ if name in inspect.get_annotations(one))
    return '' if home is kind else vars(home).get('heading', '')
