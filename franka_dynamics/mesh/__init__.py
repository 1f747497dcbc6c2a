# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Reads closed triangle meshes (STL, OBJ, PLY) and computes their inertia and its derivatives."""
