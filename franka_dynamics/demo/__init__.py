# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The demonstration without ROS: an arm unlike its model, figures of a run, the report."""
