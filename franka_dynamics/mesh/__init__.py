# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Reads closed triangle meshes (STL, OBJ, PLY) and computes the inertia of the solids they bound.

Also computes the derivatives of the inertia by the vertices and by a motion of the solid.
"""
