# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Customised equations of motion: symbolic, counted, emitted."""

from typing import TYPE_CHECKING

from .._lazy import lazy_exports

if TYPE_CHECKING:  # for editors and type checkers
    from .emit import c_header as c_header
    from .emit import operation_count as operation_count
    from .emit import OperationCount as OperationCount
    from .emit import Origin as Origin
    from .emit import python_module as python_module
    from .equations import customised_equations as customised_equations
    from .equations import Equations as Equations
    from .equations import Parameters as Parameters
    from .equations import Quantity as Quantity
    from .plan import find_plan as find_plan
    from .plan import Plan as Plan

__getattr__, __dir__, __all__ = lazy_exports(__name__)
