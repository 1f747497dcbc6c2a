# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The Franka Control Interface without ROS: connection, torque loop, what to command."""
