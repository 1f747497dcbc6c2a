# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Cross-checked gravity, Coriolis and mass-matrix feedforward for Franka arms."""

__version__ = '0.1.0'
