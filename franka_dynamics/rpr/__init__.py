# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The RPR manipulator: closed-form kinematics and dynamics, in numbers and in symbols."""
