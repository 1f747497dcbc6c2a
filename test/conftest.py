# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What all tests share: a ROS domain of their own, so that parallel runs hear no other."""

import os

# 1..101 are free of the ephemeral port range on Linux; each xdist worker is a process.
os.environ['ROS_DOMAIN_ID'] = str(1 + os.getpid() % 101)
os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
os.environ.setdefault('MPLBACKEND', 'Agg')
