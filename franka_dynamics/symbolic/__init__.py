# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Formulas in letters: kinematics and the RPR report's forms by sympy, M, C and g as generated code.

What is derived imports no formulation of dynamics/, so that it can be compared with them.
"""

from typing import TYPE_CHECKING

from .._lazy import lazy_exports
from ..errors import MissingDependencyError

if TYPE_CHECKING:  # for editors and type checkers
    from .chain import chain_of as chain_of
    from .chain import Kinematics as Kinematics
    from .derivations import equations as equations

try:
    import sympy as _sympy  # noqa: F401
except ImportError as error:
    raise MissingDependencyError(
        "Derivations in letters need sympy: pip install 'franka_dynamics[symbolic]'."
    ) from error

__getattr__, __dir__, __all__ = lazy_exports(__name__)
