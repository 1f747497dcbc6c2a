# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Names that a package offers and imports only when they are asked for (PEP 562)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
import sys
from typing import Any


def lazy_exports(
    package: str,
    homes: Mapping[str, Sequence[str]],
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """
    Return `__getattr__`, `__dir__` and `__all__` of a package.

    What `dir` lists, and so what an editor or a Python prompt completes, is what is promised:
    modules are not, whether they have been imported or not.

    Parameters
    ----------
    package : str
        The package's `__name__`.
    homes : mapping of str to sequence of str
        Modules, relative to the package, and the names that each lends to it; 'name as other'
        offers a name under another. A name must differ from those of the package's own modules,
        because importing such a module would put the module in its place.

    """
    places = {}
    for module, names in homes.items():
        for entry in names:
            name, _, other = entry.partition(' as ')
            places[other or name] = (module, name)

    def load(name: str) -> Any:
        if name not in places:
            raise AttributeError(f'module {package!r} has no attribute {name!r}')
        module, attribute = places[name]
        value = getattr(import_module(f'{package}.{module}'), attribute)
        setattr(sys.modules[package], name, value)  # later look-ups do not come here
        return value

    def listed() -> list[str]:
        own = [name for name in vars(sys.modules[package]) if name.startswith('__')]
        return sorted({*own, *places})

    return load, listed, sorted(places)
