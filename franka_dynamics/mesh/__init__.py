# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Closed triangle meshes: `mesh_file` reads them, `mesh` computes the inertia of the solids inside.

`mesh` also has the derivatives of the inertia by the vertices and by a motion of the solid.
"""
