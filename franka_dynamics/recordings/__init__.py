# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Recorded joint states: read from bags and logs without ROS, filtered, compared with models."""
