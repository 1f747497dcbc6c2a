# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The demonstration without ROS: controllers on a simulated arm, metrics and the report."""
