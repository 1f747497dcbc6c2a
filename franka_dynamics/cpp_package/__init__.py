# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""An arm's C++ package: a core with its equations, a ros2_control controller, a solver plugin."""
