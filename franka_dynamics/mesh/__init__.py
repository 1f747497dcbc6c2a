# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Closed triangle meshes -> inertia, with derivatives, from STL, OBJ and PLY."""

from typing import TYPE_CHECKING

from .._lazy import lazy_exports

if TYPE_CHECKING:  # for editors and type checkers
    from .mesh import mesh_inertia as mesh_inertia
    from .mesh import mesh_volume as mesh_volume
    from .mesh import motion_derivative as motion_derivative
    from .mesh import TriangleMesh as TriangleMesh
    from .mesh import vertex_derivatives as vertex_derivatives
    from .mesh_file import load_mesh as load_mesh
    from .mesh_file import MeshFile as MeshFile
    from .solid_check import find_defects as find_defects
    from .solid_check import MeshDefects as MeshDefects
    from .solid_check import require_solid as require_solid

__getattr__, __dir__, __all__ = lazy_exports(__name__)
