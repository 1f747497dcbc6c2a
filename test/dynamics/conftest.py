# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Fixtures of this room's tests."""

from ..arms import make_random_arm, random_arm  # noqa: F401
