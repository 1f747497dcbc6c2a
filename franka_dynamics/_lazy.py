# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Names that a package offers and imports only when they are asked for (PEP 562)."""

from __future__ import annotations

from collections.abc import Callable
import functools
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def lazy_exports(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """
    Return `__getattr__`, which knows `__all__` too, and `__dir__` of a package.

    What it offers is what its `if TYPE_CHECKING:` imports, for editors and type checkers: there is
    no second list. It is read at the first question, so that the command line, which asks none,
    starts without it. `dir`, and so the completion of an editor or a Python prompt, lists these
    names and no modules, whether imported or not.

    Parameters
    ----------
    package : str
        The package's `__name__`. A name that it offers must differ from those of its own modules,
        because importing such a module would put the module in its place.

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
            return sorted(places())
        if name.startswith('__') or name not in places():
            raise AttributeError(f'module {package!r} has no attribute {name!r}')
        module, attribute = places()[name]
        value = getattr(import_module(module, package), attribute)
        setattr(sys.modules[package], name, value)  # later look-ups do not come here
        return value

    def listed() -> list[str]:
        own = [name for name in vars(sys.modules[package]) if name.startswith('__')]
        return sorted({*own, *places()})

    return load, listed
