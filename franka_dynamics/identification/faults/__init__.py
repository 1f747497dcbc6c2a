# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The faults that a recording may have: each file of this folder is one kind.

A kind is a subclass of `Fault`: its columns by name, its value in the user's terms, when it is
possible, and its sentence. Nothing else in the package names a kind to find it.
"""

from importlib import import_module
from pkgutil import iter_modules

from .fault import Diagnosis as Diagnosis
from .fault import Fault as Fault

for _file in iter_modules(__path__, f'{__name__}.'):
    import_module(_file.name)

KINDS: dict[str, type[Fault]] = {kind.kind: kind for kind in Fault.__subclasses__()}


def faults_of(n: int) -> list[Fault]:
    """Return every fault of recordings of an arm of n joints."""
    return [fault for kind in KINDS.values() for fault in kind.every(n)]
