# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A live picture of an arm in the browser: scene, torques, playback; no ROS."""
