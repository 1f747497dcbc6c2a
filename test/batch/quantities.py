# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The number of arguments of each method that all array libraries have."""

ARGUMENTS = {
    'inverse_dynamics': 3,
    'nonlinear_effects': 2,
    'coriolis': 2,
    'gravity': 1,
    'mass_matrix': 1,
    'forward_dynamics': 3,
    'flange_pose': 1,
}
