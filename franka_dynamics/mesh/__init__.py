# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Closed triangle meshes -> inertia, with derivatives, from STL, OBJ and PLY."""
