# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A live picture of an arm in the browser: scene, torques, playback; no ROS."""

from typing import TYPE_CHECKING

from .._lazy import lazy_exports

if TYPE_CHECKING:  # for editors and type checkers
    from .scene import ArmScene as ArmScene
    from .scene import ViewState as ViewState
    from .window import Playback as Playback
    from .window import Window as Window

__getattr__, __dir__, __all__ = lazy_exports(__name__)
