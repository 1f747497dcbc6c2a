# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Reads, filters and checks recorded joint states, and compares them with models, without ROS."""
