# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""ROS nodes and their clients; other packages compute the dynamics and the torques."""

# Namespace of simulated arms, of their nodes and of their torque topics. A real arm's controller
# listens on effort_controller/commands in the root namespace, and ROS discovers the whole subnet.
SIMULATION = 'simulation'
