# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Formulas in letters, derived with sympy: kinematics, equations of motion, the RPR report's forms.

What is derived imports arm/ only, so that it can be compared with dynamics/; only `checked`, which
does that, imports both.
"""

from ..errors import MissingDependencyError

try:
    import sympy as _sympy  # noqa: F401
except ImportError as error:
    raise MissingDependencyError(
        "Derivations in letters need sympy: pip install 'franka_dynamics[symbolic]'."
    ) from error
