# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What to command: feedforward terms, limits, supervision; pure, no ROS."""

from typing import TYPE_CHECKING

from .._lazy import lazy_exports

if TYPE_CHECKING:  # for editors and type checkers
    from .contact import Contact as Contact
    from .contact import ContactLimits as ContactLimits
    from .contact import ContactMonitor as ContactMonitor
    from .external_torque import MomentumObserver as MomentumObserver
    from .external_torque import TorqueResidual as TorqueResidual
    from .feedforward import FeedforwardController as FeedforwardController
    from .gravity_monitor import GravityState as GravityState
    from .limits import TorqueLimiter as TorqueLimiter
    from .planning import TrajectoryRequest as TrajectoryRequest
    from .reference import ReferencePoint as ReferencePoint
    from .reference import Trajectory as Trajectory
    from .settings import Settings as Settings
    from .settings import target_profile as target_profile
    from .settings import TargetProfile as TargetProfile
    from .supervision import StateSupervisor as StateSupervisor
    from .supervision import SupervisionLimits as SupervisionLimits
    from .terms import TermModel as TermModel

__getattr__, __dir__, __all__ = lazy_exports(__name__)
