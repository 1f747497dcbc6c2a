# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Plans the motions that an arm is to follow, within its limits, and gives their state at any time.

    planning      a request, its checks, and the present motion -> a motion
    trajectory    a motion: piecewise quintic, blended, braked to rest
    reference     the motions that are followed one after the other, and what becomes of each
"""
