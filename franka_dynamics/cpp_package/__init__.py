# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What the C++ package of the ros2_control controller gets: its files, constants and arms."""
