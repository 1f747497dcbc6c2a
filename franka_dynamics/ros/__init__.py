# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""ROS nodes and their clients; other packages compute the dynamics and the torques."""

import sys

from .start import end_at_once

# Namespace of simulated arms, of their nodes and of their torque topics. A real arm's controller
# listens on effort_controller/commands in the root namespace, and ROS discovers the whole subnet.
SIMULATION = 'simulation'

# `python -m franka_dynamics.ros.NAME` imports this package before NAME, with '-m' as sys.argv[0].
# A signal during the imports ends the process at once.
if sys.argv[:1] == ['-m']:
    end_at_once()
