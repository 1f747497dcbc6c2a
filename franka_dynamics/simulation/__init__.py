# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A simulated arm: description in, joint states out, torques in."""

from typing import TYPE_CHECKING

from .._lazy import lazy_exports

if TYPE_CHECKING:  # for editors and type checkers
    from .arm_simulation import ArmSimulation as ArmSimulation
    from .arm_simulation import Push as Push
    from .arm_simulation import SimulationSettings as SimulationSettings
    from .mujoco_model import build_mujoco as build_mujoco
    from .mujoco_model import build_spec as build_spec

__getattr__, __dir__, __all__ = lazy_exports(__name__)
