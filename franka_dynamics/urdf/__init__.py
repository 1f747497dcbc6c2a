# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Reads URDF and xacro into arm descriptions, and writes descriptions as URDF, MJCF and xacro."""
