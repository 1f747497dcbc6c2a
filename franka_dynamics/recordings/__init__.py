# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Recorded joint states: rosbag2 without ROS, preprocessing, replay through a model."""

from typing import TYPE_CHECKING

from .._lazy import lazy_exports

if TYPE_CHECKING:  # for editors and type checkers
    from .plausibility import suspicions as suspicions
    from .preprocessing import Motion as Motion
    from .preprocessing import prepare as prepare
    from .preprocessing import SignalOptions as SignalOptions
    from .recording import read_recording as read_recording
    from .recording import Recording as Recording
    from .recording import write_recording as write_recording
    from .replay import Fit as Fit
    from .replay import fit as fit
    from .replay import fit_all as fit_all
    from .replay import predicted_torque as predicted_torque
    from .replay import recorded_terms as recorded_terms

__getattr__, __dir__, __all__ = lazy_exports(__name__)
