# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Writes an arm's file for the C++ controller, and copies the controller's package."""
