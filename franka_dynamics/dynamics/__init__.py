# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Dynamics of arms by independent formulations, with derivatives and external torques."""
