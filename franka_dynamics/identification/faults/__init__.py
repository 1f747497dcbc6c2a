# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The faults that a recording may have: each file of this folder is one kind, or a few alike.

A kind is a subclass of `Fault`: its columns by name, its value in the user's terms, when it is
possible, and its sentence. A new file needs no entry elsewhere: all files of this folder are
imported here, and all classes below `Fault` that have a sentence are kinds. Code that treats some
kinds apart (`verdict`, `cross_validation`, `mass_ambiguity`) imports their classes by name.
"""

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules

from .fault import Diagnosis as Diagnosis
from .fault import Fault as Fault
from .restated import Restated as Restated

for _file in iter_modules(__path__, f'{__name__}.'):
    import_module(_file.name)


def _below(kind: type[Fault]) -> Iterator[type[Fault]]:
    """Yield a class of faults and those below it."""
    yield kind
    for one in kind.__subclasses__():
        yield from _below(one)


# The kinds of faults by name. Base classes of several kinds have no `text`, and are no kinds.
KINDS: dict[str, type[Fault]] = {one.kind: one for one in _below(Fault) if hasattr(one, 'text')}


def faults_of(n: int) -> list[Fault]:
    """Return every fault of recordings of an arm of n joints."""
    return [fault for kind in KINDS.values() for fault in kind.every(n)]


def restated_of(n: int) -> list[Restated]:
    """Return every fault of recordings of an arm of n joints that has no columns."""
    return [fault for fault in faults_of(n) if isinstance(fault, Restated)]
