# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Lazy exports: names of a package that are imported at their first use (PEP 562)."""

from __future__ import annotations

from collections.abc import Callable
import functools
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def lazy_exports(
    package: str, optional: tuple[str, ...] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """
    Return the functions `__getattr__`, which also computes `__all__`, and `__dir__` of a package.

    The `if TYPE_CHECKING:` block of a package is the only list of its exported names, and imports
    them for editors and type checkers. The block is parsed when an exported name, `__all__` or
    `dir` is first used; the command line uses none of them, and so starts without parsing. `dir`,
    and so completion in an editor or a Python prompt, lists the exported names, imported or not,
    and names such as `__file__`, but no submodules.

    Parameters
    ----------
    package : str
        The package's `__name__`. An exported name must not equal the name of a module of the
        package, because importing that module would replace the exported object.
    optional : tuple of str
        Exported names that `__all__` leaves out, because their modules need an extra.

    """

    @functools.cache
    def places() -> dict[str, tuple[str, str]]:
        import ast
        from pathlib import Path

        source = Path(str(sys.modules[package].__file__)).read_text(encoding='utf-8')
        return {
            alias.asname: (f'.{node.module}', alias.name)
            for guarded in ast.parse(source).body
            if isinstance(guarded, ast.If)
            for node in guarded.body
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
            if alias.asname
        }

    def load(name: str) -> Any:
        from importlib import import_module

        if name == '__all__':
            return sorted(places().keys() - set(optional))
        if name.startswith('__') or name not in places():
            raise AttributeError(f'module {package!r} has no attribute {name!r}')
        module, attribute = places()[name]
        value = getattr(import_module(module, package), attribute)
        setattr(sys.modules[package], name, value)  # later look-ups find the attribute directly
        return value

    def listed() -> list[str]:
        own = [name for name in vars(sys.modules[package]) if name.startswith('__')]
        return sorted({*own, *places()})

    return load, listed
