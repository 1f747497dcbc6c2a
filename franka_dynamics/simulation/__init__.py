# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Simulation of an arm from its description, which turns torques into joint states."""
