# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A view of an arm and its torques in the browser, of live states or a recording, without ROS."""
