# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""How an arm moves: one protocol, independent formulations, derivatives, closed chains."""
