# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The RPR manipulator's closed-form inverse kinematics, and all its formulas in symbols."""
