# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""An action of the command line: a dataclass whose fields are its options."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from importlib import import_module
import inspect
from pathlib import Path
import re
from typing import ClassVar, Self, TypeVar

from ..errors import SettingsError
from ..options import Option

T = TypeVar('T')
GET_ROS = (
    "source it, or install its wheels with pip install '.[ros-jazzy]' in a clone of "
    'franka_dynamics'
)
PRINTED = Path('-')  # path that stands for standard output


@dataclass(frozen=True, kw_only=True)
class Action:
    """
    Base class of an action, such as `arm check`: its options.

    A subclass's docstring is the help text. Each field that the subclass or a base class declares
    by `options.option` is an option of the action. The modules that declare actions import
    neither NumPy nor what does the work, so that help and completion are quick.

    Attributes
    ----------
    options_given : frozenset of str
        Names of the options that were given, whatever their values.
    heading : str
        Heading of a class's options in the help of the actions that inherit them; without a
        heading they are listed with the action's own.
    work : str
        MODULE.FUNCTION of this folder that does the work; by default `run` in the module of the
        action's words, such as arm_check.

    """

    heading: ClassVar[str] = ''
    work: ClassVar[str] = ''
    options_given: frozenset[str] = frozenset()

    def run(self) -> int:
        """Do the action's work; return the exit status, such as 0 done, 1 a check failed."""
        words = re.sub('(?<=.)(?=[A-Z])', '_', type(self).__name__).lower()
        module, _, function = (self.work or f'{words}.run').partition('.')
        work = getattr(import_module(f'.{module}', __package__), function)
        status: int = work(self)
        return status

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
        declared: Option = type(self).__dataclass_fields__[name].metadata['option']
        return declared.spelled(name)[0]

    def part(self, kind: Callable[..., T]) -> T:
        """Return a dataclass of type `kind`, filled from the action's fields of equal names."""
        names = {one.name for one in fields(self)} & set(inspect.signature(kind).parameters)
        return kind(**{name: getattr(self, name) for name in names})
