# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""URDF, MJCF and xacro, read into a described arm and written from one."""
