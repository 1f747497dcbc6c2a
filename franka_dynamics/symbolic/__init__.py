# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Symbolic formulas: kinematics and RPR dynamics by sympy, M, C and g as generated code.

The derivations use no model of dynamics/, so that every model can be compared with the
derivations.
"""

from ..errors import needing

with needing('Derivations in letters need sympy', 'symbolic'):
    import sympy as _sympy  # noqa: F401
