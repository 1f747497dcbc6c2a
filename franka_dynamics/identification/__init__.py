# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Identification of an arm's inertias and friction from recorded motion."""
