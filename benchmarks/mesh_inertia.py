# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Cost of a mesh's inertia beside trimesh's, over the number of faces, as a table in Markdown.

Run `python benchmarks/mesh_inertia.py`; it takes about half a minute.
"""

from __future__ import annotations

import numpy as np
from timing import machine, measure
import trimesh

from franka_dynamics.arm.mesh import mesh_inertia, TriangleMesh
from franka_dynamics.arm.mesh_derivatives import vertex_derivatives
from franka_dynamics.arm.mesh_solid import find_defects

SUBDIVISIONS = (3, 5, 7, 8)  # 1280, 20480, 327680 and 1310720 faces


def main() -> None:
    """Measure and print."""
    print(f'{machine()}, trimesh {trimesh.__version__}')
    print()
    print('| faces | inertia | trimesh mass_properties | ratio | by vertices | solid and crossing '
          'check | largest difference | others busy |')
    print('|---|---|---|---|---|---|---|---|')
    for subdivisions in SUBDIVISIONS:
        ball = trimesh.creation.icosphere(subdivisions)
        mesh = TriangleMesh(np.array(ball.vertices) * (0.1, 0.2, 0.05) + (0.1, 0.2, 0.3),
                            ball.faces)
        triangles = mesh.vertices[mesh.faces]
        ours = measure(lambda: mesh_inertia(mesh, 2700.0), 0.6)
        theirs = measure(lambda: trimesh.triangles.mass_properties(triangles, density=2700.0), 0.6)
        slopes = measure(lambda: vertex_derivatives(mesh, 2700.0), 0.6)
        check = measure(lambda: find_defects(mesh), 0.6)
        expected = trimesh.triangles.mass_properties(triangles, density=2700.0)
        actual = mesh_inertia(mesh, 2700.0).inertia_at_center_of_mass
        difference = np.abs(actual - expected.inertia).max() / np.abs(expected.inertia).max()
        cells = ' | '.join((
            f'{1e3 * ours.seconds:.3g} ms', f'{1e3 * theirs.seconds:.3g} ms',
            f'{theirs.seconds / ours.seconds:.1f}', f'{1e3 * slopes.seconds:.3g} ms',
            f'{1e3 * check.seconds:.3g} ms', f'{difference:.0e}',
            f'{max(t.foreign for t in (ours, theirs, slopes, check)):.1f} cores'))
        print(f'| {len(mesh.faces)} | {cells} |', flush=True)


if __name__ == '__main__':
    main()
