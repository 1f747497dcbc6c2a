# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Dynamics of many states at once, by compiled code or in an array library's operations."""
