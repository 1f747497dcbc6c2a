# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Descriptions of arms: kinematics, inertias, limits and friction, without ROS or Pinocchio."""

from .arm_file import available_arms, available_sets, load
from .denavit_hartenberg import Convention, DHRow
from .description import ArmDescription, Joint, JointLimits
from .friction import FrictionModel, MaxwellSlipFriction, SigmoidFriction, ViscousCoulombFriction
from .hand_file import available_hands, load_hand
from .inertia import LinkInertia
from ..spatial import JointKind

__all__ = [
    'ArmDescription',
    'Convention',
    'DHRow',
    'FrictionModel',
    'Joint',
    'JointKind',
    'JointLimits',
    'LinkInertia',
    'MaxwellSlipFriction',
    'SigmoidFriction',
    'ViscousCoulombFriction',
    'available_arms',
    'available_hands',
    'available_sets',
    'load',
    'load_hand',
]
