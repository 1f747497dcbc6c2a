# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Is this description, URDF or torque that arm? Cross-check, comparison, fault search."""
