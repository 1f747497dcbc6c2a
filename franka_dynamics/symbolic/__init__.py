# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Symbolic formulas: kinematics and RPR dynamics by sympy, M, C and g as generated code.

Kinematics follow from the rows of the arm, the RPR arm's dynamics from its energies: neither uses
equations of dynamics/ or codegen/, so that their models can be compared with both. M, C and g of
other arms are the program of codegen/, which takes its bodies from dynamics.body_tree.
"""

from ..errors import require_extra

with require_extra('Derivations in symbols need sympy', 'symbolic'):
    import sympy as _sympy  # noqa: F401
