# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What to command: feedforward terms, limits, supervision; without ROS or clocks."""
