# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Formulas in letters, derived with sympy: kinematics, equations of motion, the RPR report's forms.

What is derived imports arm/ only, so that it can be compared with dynamics/; only `checked`, which
does that, imports both.
"""

from typing import TYPE_CHECKING

from .._lazy import lazy_exports
from ..errors import MissingDependencyError

if TYPE_CHECKING:  # for editors and type checkers
    from .chain import chain_of as chain_of
    from .chain import Kinematics as Kinematics
    from .equations import derive as derive
    from .equations import SymbolicEquations as SymbolicEquations

try:
    import sympy as _sympy  # noqa: F401
except ImportError as error:
    raise MissingDependencyError(
        "Derivations in letters need sympy: pip install 'franka_dynamics[symbolic]'."
    ) from error

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        'chain': (
            'chain_of',
            'Kinematics',
        ),
        'equations': (
            'derive',
            'SymbolicEquations',
        ),
    },
)
