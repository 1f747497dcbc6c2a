# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Reads STL, OBJ and PLY files as meshes in metres, with notes on what was changed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .mesh import TriangleMesh
from .solid_check import connected_components, find_defects
from ..errors import MeshError, require_extra

METRES_PER_UNIT = {'m': 1.0, 'cm': 0.01, 'mm': 0.001, 'in': 0.0254}
SUFFIXES = ('.stl', '.obj', '.ply')
# Bounds of a mesh's largest extent by which the file's unit is found. An extent up to 1.5 is taken
# for metres, an extent from 10 on for millimetres; for an extent between, the user must name the
# unit.
_LARGEST_IN_METRES, _SMALLEST_IN_MILLIMETRES = 1.5, 10.0


@dataclass(frozen=True)
class MeshFile:
    """A mesh in metres, the `unit` of its file, and `notes` on the unit and what was changed."""

    mesh: TriangleMesh
    unit: str
    notes: tuple[str, ...]


def load_mesh(path: str | Path, *, unit: str | None = None, repair: bool = False) -> MeshFile:
    """
    Read an STL, OBJ or PLY file as a triangle mesh in metres.

    Polygons are split into triangles, coinciding vertices are merged (STL has no shared vertices),
    and then unused vertices and faces with coinciding corners are left out. Repeated faces, the
    winding of faces and holes are changed with `repair` only.

    Parameters
    ----------
    path : str or Path
        A file that ends in .stl, .obj or .ply.
    unit : {'m', 'cm', 'mm', 'in'}, optional
        Unit of the file's numbers; by default found from the size of the mesh.
    repair : bool
        Remove repeated faces, wind all faces consistently, close holes by fans of triangles from
        one corner (right for flat convex holes), and flip parts whose normals point the wrong way.

    Returns
    -------
    MeshFile
        The mesh in metres, the unit of the file, and notes on what was changed.

    Raises
    ------
    MeshError
        If the file cannot be read, or the unit is unknown, or neither given nor evident.
    MissingDependencyError
        If trimesh is not installed; for a repair also networkx or libigl.

    """
    raw, notes = _read(Path(path))
    if repair:
        notes += _repaired(raw)
    size = float(np.ptp(np.asarray(raw.vertices), axis=0).max())
    unit, sentence = _unit(unit, size, path)
    mesh = TriangleMesh(np.asarray(raw.vertices) * METRES_PER_UNIT[unit], np.asarray(raw.faces))
    if repair:
        mesh, flip_notes = _flipped_outwards(mesh)
        notes += flip_notes
    return MeshFile(mesh, unit, (sentence, *notes))


def _read(path: Path) -> tuple[Any, list[str]]:
    """Return trimesh's mesh in the file's unit with coinciding vertices merged, and notes."""
    with require_extra('Reading a mesh file needs trimesh', 'mesh'):
        import trimesh
    if path.suffix.lower() not in SUFFIXES:
        raise MeshError(
            f'{path} does not end in {", ".join(SUFFIXES)}; export the mesh as one of these.'
        )
    if not path.is_file():
        raise MeshError(f'{path} does not exist; correct its path.')
    try:
        raw = trimesh.load_mesh(path, process=False, skip_materials=True)
        faces = len(raw.faces)
    except Exception as error:  # trimesh's readers raise errors of many types
        raise MeshError(f'{path} cannot be read as a triangle mesh: {error}') from error
    if not faces or not np.isfinite(raw.vertices).all():
        raise MeshError(
            f'{path} holds no triangle.'
            if not faces
            else f'{path} has a vertex that is not a finite number.'
        )
    vertices = len(raw.vertices)
    raw.merge_vertices(merge_tex=True, merge_norm=True)
    a, b, c = np.asarray(raw.faces).T
    proper = (a != b) & (b != c) & (c != a)
    raw.update_faces(proper)
    raw.remove_unreferenced_vertices()
    notes = []
    if len(raw.vertices) < vertices:
        notes.append(f'of {vertices} stored vertices {len(raw.vertices)} are used and different')
    if not proper.all():
        notes.append(f'{int((~proper).sum())} faces with coinciding corners were left out')
    return raw, notes


def _unit(unit: str | None, size: float, path: str | Path) -> tuple[str, str]:
    """Return a mesh file's unit and a note on how `unit` or the largest extent `size` gave it."""
    if unit is not None:
        if unit not in METRES_PER_UNIT:
            raise MeshError(
                f'There is no length unit {unit!r}; the choices are {", ".join(METRES_PER_UNIT)}.'
            )
        return unit, f'unit: {unit}, as given'
    if size <= _LARGEST_IN_METRES:
        return 'm', f'unit: m, because the largest extent is {size:.4g}'
    if size >= _SMALLEST_IN_MILLIMETRES:
        return 'mm', f'unit: mm, because the largest extent is {size:.4g}'
    raise MeshError(
        f'{path} has a largest extent of {size:.4g}, which could be metres or '
        'millimetres; say which (--unit m, --unit mm).'
    )


def _repaired(raw: Any) -> list[str]:
    """Remove repeated faces, wind all faces consistently, close holes, in place; return notes."""
    from trimesh import repair

    notes = []
    unique = raw.unique_faces()
    if not unique.all():
        raw.update_faces(unique)
        notes.append(f'repair: {int((~unique).sum())} repeated faces were removed')
    before = np.array(raw.faces)
    with require_extra('Repairing a mesh needs networkx', 'mesh'):  # trimesh imports it here
        repair.fix_winding(raw)
        flipped = int((np.asarray(raw.faces) != before).any(axis=1).sum())
        repair.fill_holes(raw, use_fan=True)
    if flipped:
        notes.append(f'repair: {flipped} faces were flipped to be wound like their neighbours')
    added = len(raw.faces) - len(before)
    if added:
        notes.append(f'repair: holes were closed by {added} faces')
    return notes


def _flipped_outwards(mesh: TriangleMesh) -> tuple[TriangleMesh, list[str]]:
    """Return the mesh, with the `inverted_parts` that `find_defects` finds flipped, and notes."""
    inverted = find_defects(mesh, self_intersection=False).inverted_parts
    if not inverted:
        return mesh, []
    flip = np.isin(connected_components(mesh), inverted)
    faces = np.where(flip[:, None], mesh.faces[:, ::-1], mesh.faces)
    return TriangleMesh(mesh.vertices, faces), [
        f'repair: all {int(flip.sum())} faces of {len(inverted)} part(s) pointed the wrong way '
        'and were flipped'
    ]
