# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What takes the torques of a node: found, told apart by kind, watched."""
