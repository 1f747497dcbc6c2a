# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Motions to record for an identification.

    excitation_problem  criterion and limits of a motion
    excitation          the motion of least deviations within the limits
    rest_poses          poses at which an arm rests with and without a load
"""
