# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Computes torque commands and checks joint states; uses neither ROS nor a clock."""
