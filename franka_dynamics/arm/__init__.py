# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Arm descriptions with kinematics, inertias, limits and friction, without ROS or Pinocchio."""

from .arm_fields import Joint as Joint
from .arm_fields import JointLimits as JointLimits
from .arm_file import available_arms as available_arms
from .arm_file import available_sets as available_sets
from .arm_file import load as load
from .denavit_hartenberg import DHRow as DHRow
from .description import ArmDescription as ArmDescription
from .friction import FrictionModel as FrictionModel
from .friction import MaxwellSlipFriction as MaxwellSlipFriction
from .friction import SigmoidFriction as SigmoidFriction
from .friction import ViscousCoulombFriction as ViscousCoulombFriction
from .hands import available_hands as available_hands
from .hands import load_hand as load_hand
from .inertia import LinkInertia as LinkInertia
from ..constants import Convention as Convention
from ..spatial import JointKind as JointKind
