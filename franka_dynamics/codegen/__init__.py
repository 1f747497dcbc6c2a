# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Equations of motion customised to one arm, in symbols and as generated code.

Customised means: zeros, constants and base parameters of the arm are used (Khalil).
"""
