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

from franka_dynamics.mesh.mesh import mesh_inertia, TriangleMesh, vertex_derivatives
from franka_dynamics.mesh.solid_check import find_defects

SUBDIVISIONS = (3, 5, 7, 8)  # 1280, 20480, 327680 and 1310720 faces


def row(subdivisions: int) -> None:
    """Measure an ellipsoid and print its row."""
    ball = trimesh.creation.icosphere(subdivisions)
    mesh = TriangleMesh(np.array(ball.vertices) * (0.1, 0.2, 0.05) + (0.1, 0.2, 0.3), ball.faces)
    triangles = mesh.vertices[mesh.faces]  # what trimesh's function starts from
    timings = [
        measure(lambda: mesh_inertia(mesh, 2700.0), 0.6),
        measure(lambda: trimesh.triangles.mass_properties(triangles, density=2700.0), 0.6),
        measure(lambda: vertex_derivatives(mesh, 2700.0), 0.6),
        measure(lambda: find_defects(mesh), 0.6),
    ]
    ours, theirs, slopes, check = (1e3 * timing.seconds for timing in timings)
    expected = trimesh.triangles.mass_properties(triangles, density=2700.0).inertia
    actual = mesh_inertia(mesh, 2700.0).inertia_at_center_of_mass
    difference = np.abs(actual - expected).max() / np.abs(expected).max()
    print(
        f'| {len(mesh.faces):,} | {ours:,.3g} | {theirs:,.3g} | {theirs / ours:.1f} '
        f'| {slopes:,.4g} | {check:,.4g} | {difference:.0e} '
        f'| {max(timing.foreign for timing in timings):.1f} |',
        flush=True,
    )


def main() -> None:
    """Measure and print."""
    print(f'{machine()}, trimesh {trimesh.__version__}')
    print()
    print(
        '| faces | inertia [ms] | trimesh mass_properties [ms] | ratio | by vertices [ms] '
        '| solid and crossing check [ms] | largest difference | others busy [cores] |'
    )
    print('|---|---|---|---|---|---|---|---|')
    for subdivisions in SUBDIVISIONS:
        row(subdivisions)


if __name__ == '__main__':
    main()
