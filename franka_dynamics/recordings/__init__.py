# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Recorded joint states: rosbag2 without ROS, preprocessing, replay through a model."""
