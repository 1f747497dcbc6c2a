# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The Franka Control Interface without ROS: connection, torque loop, what to command."""

from typing import TYPE_CHECKING

from .._lazy import lazy_exports

if TYPE_CHECKING:  # for editors and type checkers
    from .connection import FciConnection as FciConnection
    from .connection import FciReading as FciReading
    from .model_difference import compare_models as compare_models
    from .model_difference import ModelDifference as ModelDifference
    from .sources import CommandSource as CommandSource
    from .sources import FeedforwardSource as FeedforwardSource
    from .torque_loop import LoopState as LoopState
    from .torque_loop import TorqueLoop as TorqueLoop

__getattr__, __dir__, __all__ = lazy_exports(__name__)
