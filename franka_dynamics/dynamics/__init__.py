# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""How an arm moves: one protocol, independent formulations, and their cross-check."""

from .model import DynamicsModel, GRAVITY
from ..spatial import adjoint, adjoint_inverse, exp3, exp6, hat, joint_twist, rpy, vee

__all__ = ['GRAVITY', 'DynamicsModel', 'adjoint', 'adjoint_inverse', 'exp3', 'exp6', 'hat',
           'joint_twist', 'rpy', 'vee']
