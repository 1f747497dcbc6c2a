# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Identifies an arm's inertias and friction from recorded motion: the procedure and its results.

    identify               all stages: read, prepare, sum, fit, test, judge
    results                the identified arm, and its file; `identification_record` and
                           `arm_text` are what it is made of
    receiver_offset        offsets beside the gravity that a robot adds
    torque_deviation       what the external torque of the identified arm deviates by
"""
