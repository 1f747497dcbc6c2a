# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Checks of descriptions, URDFs and torques: cross-check, comparison, fault search."""
