# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Fields of dataclasses that are options of the command line as well, declared once.

A field's annotation says how many values there are and of what type, its default what holds
without them; what a person has to be told besides is here. The command line reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, MISSING
from typing import Any


@dataclass(frozen=True)
class Option:
    """
    How a field is given on the command line.

    Attributes
    ----------
    help : str
        What it is, for people; its default is added.
    metavar : str or tuple of str, optional
        What stands for the value, or for each of several, in the help.
    flags : tuple of str
        Spellings, such as '--set'; without any its name with dashes.
    positional : bool
        Whether it is given by its place.
    choices : tuple of str, optional
        What it can be.
    least, most : float, optional
        The range of a number.
    kind : callable, optional
        What makes the value of a word, in place of the annotated type.
    const : object
        The value where the option is given without one.
    rare : bool
        Whether only --help-all shows it.

    """

    help: str
    metavar: str | tuple[str, ...] | None = None
    flags: tuple[str, ...] = ()
    positional: bool = False
    choices: tuple[str, ...] | None = None
    least: float | None = None
    most: float | None = None
    kind: Callable[[str], Any] | None = None
    const: Any = None
    rare: bool = False


def option(
    help: str,
    metavar: str | tuple[str, ...] | None = None,
    *,
    default: Any = MISSING,
    choices: Iterable[str] | None = None,
    **more: Any,
) -> Any:
    """Return a dataclass field with an Option; without a default it has to be given."""
    choices = None if choices is None else tuple(choices)
    return field(
        default=default, metadata={'option': Option(help, metavar, choices=choices, **more)}
    )
