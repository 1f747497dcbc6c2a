# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The parts of the demonstration that need no ROS, such as controllers, metrics and the report."""
