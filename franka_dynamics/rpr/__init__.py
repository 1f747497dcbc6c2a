# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The RPR manipulator: closed-form kinematics and dynamics, in numbers and in letters."""

from typing import TYPE_CHECKING

from .._lazy import lazy_exports

if TYPE_CHECKING:  # for editors and type checkers
    from .dynamics import RprDynamics as RprDynamics
    from .dynamics import RprMasses as RprMasses
    from .kinematics import RprKinematics as RprKinematics

__getattr__, __dir__, __all__ = lazy_exports(__name__)
