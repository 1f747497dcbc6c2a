# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Dataclass fields that are also command-line options, and numbers read from their text.

A field's annotation gives the number and type of the option's values; the field's default is the
value of an option that is not given. `Option` adds help text, flags, choices and range.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, MISSING
from typing import Any


@dataclass(frozen=True)
class Option:
    """
    The command-line option that sets a dataclass field.

    Attributes
    ----------
    help : str
        Help text; the default is appended unless it is None, False, 0 or empty, or the text states
        it.
    metavar : str or tuple of str, optional
        Placeholder of the value, or of each of several values, in the help.
    flags : tuple of str
        Names of the option, such as '--set'; by default the field's name with dashes.
    positional : bool
        Whether the field is a positional argument instead of an option with a flag.
    choices : tuple of str, optional
        Allowed values.
    least, most : float, optional
        The range of a number; an integer without `least` must be at least 0.
    kind : callable, optional
        Function that converts the option's text to its value, in place of the annotated type.
    const : object
        Value of the field if the option is given without a value; None if the option needs one.
    callback : callable, optional
        Function of click's context, its parameter and the whole value, which it returns.

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
    callback: Callable[[Any, Any, Any], Any] | None = None

    def spelled(self, name: str) -> tuple[str, ...]:
        """Return what users write for a field of that name: its flags, or the metavar."""
        if self.positional:
            return (f'{self.metavar}',)
        return self.flags or (f'--{name.replace("_", "-")}',)


def option(
    help: str,
    metavar: str | tuple[str, ...] | None = None,
    *,
    default: Any = None,
    choices: Iterable[str] | None = None,
    **more: Any,
) -> Any:
    """Return a dataclass field with an Option; with the default MISSING the option is required."""
    choices = None if choices is None else tuple(choices)
    return field(
        default=default, metadata={'option': Option(help, metavar, choices=choices, **more)}
    )


def argument(help: str, metavar: str, *, default: Any = MISSING, **more: Any) -> Any:
    """Return a field with a positional argument, required unless it has a default."""
    return option(help, metavar, default=default, positional=True, **more)


def switch(help: str) -> Any:
    """Return a field with an option without a value, false unless it is given."""
    return option(help, default=False)


def decimal(text: str, kind: Callable[[str], float] = float) -> float:
    """
    Convert a string to a float or an int.

    Raises
    ------
    ValueError
        If it is no number, or not a plain decimal one: Python would read 1_0 as ten.

    """
    if '_' in text or not text.isascii():
        raise ValueError(f'{text!r} is no decimal number')
    return kind(text)
