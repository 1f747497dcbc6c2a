# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Customised equations of motion: symbolic form, operation counts, generated code."""
