# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The shell: nodes that only convert messages, read parameters and keep time."""
