# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Reads STL, OBJ and PLY files as triangle meshes in metres that bound solids."""

from dataclasses import dataclass
import os
from pathlib import Path
from typing import Any

import numpy as np

from .mesh import TriangleMesh
from ..arrays import Array
from ..errors import MeshError, require_extra
from ..files import expanded_path

METRES_PER_UNIT = {'m': 1.0, 'cm': 0.01, 'mm': 0.001, 'in': 0.0254}
MESH_SUFFIXES = ('.stl', '.obj', '.ply')
# A mesh whose largest extent is at most this number is taken to be in metres, one whose largest
# extent is at least the next number in millimetres. Between them the user must name the unit.
_MAX_EXTENT_IN_METRES = 1.5
_MIN_EXTENT_IN_MILLIMETRES = 10.0


@dataclass(frozen=True)
class MeshFile:
    """A mesh in metres, the `unit` of its file, and `notes` on the unit and what was changed."""

    mesh: TriangleMesh
    unit: str
    notes: tuple[str, ...]


def load_mesh(path: str | Path, *, unit: str | None = None) -> MeshFile:
    """
    Read an STL, OBJ or PLY file as a triangle mesh in metres that bounds a solid.

    Polygons are split into triangles. Vertices that coincide are merged, because STL has no shared
    ones; unused vertices and faces with coinciding corners are then left out. Volume counts twice
    where parts of a mesh overlap; a note says how many parts there are.

    Parameters
    ----------
    path : str or Path
        A file that ends in .stl, .obj or .ply.
    unit : {'m', 'cm', 'mm', 'in'}, optional
        Unit of the file's numbers; by default found from the size of the mesh.

    Returns
    -------
    MeshFile
        The mesh in metres, the unit of the file, and notes on what was changed.

    Raises
    ------
    MeshError
        If the file cannot be read, the mesh bounds no solid, or the unit is unknown, or neither
        given nor evident.
    MissingDependencyError
        If trimesh is not installed.

    """
    file = expanded_path(path)
    raw = _load_with_trimesh(file)
    notes = _merge_and_clean(raw, file)
    extent = float(np.ptp(np.asarray(raw.vertices), axis=0).max())
    unit, unit_note = _length_unit(unit, extent, path)
    notes += _require_solid(raw, path)
    mesh = TriangleMesh(np.asarray(raw.vertices) * METRES_PER_UNIT[unit], np.asarray(raw.faces))
    return MeshFile(mesh, unit, (unit_note, *notes))


def _load_with_trimesh(path: Path) -> Any:
    """Return trimesh's mesh as the file has it; raise MeshError without finite triangles."""
    with require_extra('Reading a mesh file needs trimesh and scipy', 'mesh'):
        import scipy  # noqa: F401  # by which trimesh finds a mesh's parts
        import trimesh
    if path.suffix.lower() not in MESH_SUFFIXES:
        raise MeshError(f'{path} does not end in {", ".join(MESH_SUFFIXES)}; export it as such.')
    if not os.path.isfile(path):
        raise MeshError(f'{path} does not exist; correct its path.')
    try:
        raw = trimesh.load_mesh(path, process=False, skip_materials=True)
        face_count = len(raw.faces)
    except Exception as error:  # trimesh's readers raise errors of many types
        raise MeshError(f'{path} cannot be read as a triangle mesh: {error}') from error
    if not face_count:
        raise MeshError(f'{path} holds no triangle.')
    if not np.isfinite(raw.vertices).all():
        raise MeshError(f'{path} has a vertex that is not a finite number.')
    return raw


def _merge_and_clean(raw: Any, path: Path) -> list[str]:
    """
    Merge vertices that coincide and remove what is then unused or flat; return notes on it.

    trimesh merges vertices up to about 1e-8 apart, in the unit of the file. Raises MeshError if no
    triangle is left.
    """
    stored_count = len(raw.vertices)
    raw.merge_vertices(merge_tex=True, merge_norm=True)
    first, second, third = np.asarray(raw.faces).T
    has_distinct_corners = (first != second) & (second != third) & (third != first)
    if not has_distinct_corners.any():
        raise MeshError(f'{path} holds no triangle with three different corners.')
    raw.update_faces(has_distinct_corners)
    raw.remove_unreferenced_vertices()
    notes = []
    if len(raw.vertices) < stored_count:
        notes.append(
            f'of {stored_count} stored vertices {len(raw.vertices)} are used and different'
        )
    left_out_count = int(np.count_nonzero(~has_distinct_corners))
    if left_out_count:
        notes.append(f'{left_out_count} faces with coinciding corners were left out')
    return notes


def _require_solid(mesh: Any, path: str | Path) -> list[str]:
    """Raise MeshError if a mesh bounds no solid; return a list with a note on several parts."""
    parts = list(mesh.split(only_watertight=False, repair=False))
    with np.errstate(divide='ignore', invalid='ignore'):  # of a sheet without volume
        volumes = [part.volume for part in parts]
        encloses_volume = mesh.is_volume
    solids = [part.bounds for part, volume in zip(parts, volumes) if volume > 0.0]
    cavities = [part.bounds for part, volume in zip(parts, volumes) if volume < 0.0]
    problem = ''
    if not mesh.is_watertight:
        problem = 'it is not closed'
    elif not mesh.is_winding_consistent:
        problem = 'some of its faces are wound against their neighbours'
    elif not encloses_volume or not all(_is_inside_one(cavity, solids) for cavity in cavities):
        problem = 'it encloses no volume, or the normals of a part point inwards'
    if problem:
        raise MeshError(
            f'{path} bounds no solid: {problem}. Repair it in the program it came from, or by '
            'trimesh.repair (fill_holes, fix_normals).'
        )
    if len(parts) < 2:
        return []
    note = f'{len(parts)} parts'
    if cavities:
        note += f', of which {len(cavities)} with inward normals are cavities'
    if len(solids) > 1:
        note += '; where solid parts overlap, volume counts twice'
    return [note]


def _is_inside_one(cavity: Array, solids: list[Array]) -> bool:
    """Return whether a bounding box (2, 3) lies inside one of several."""
    for solid in solids:
        if (solid[0] <= cavity[0]).all() and (solid[1] >= cavity[1]).all():
            return True
    return False


def _length_unit(unit: str | None, extent: float, path: str | Path) -> tuple[str, str]:
    """Return a mesh file's unit, given or by its `extent`, and a note; MeshError if unclear."""
    if unit is not None:
        if unit not in METRES_PER_UNIT:
            raise MeshError(f'The unit {unit!r} is none of {", ".join(METRES_PER_UNIT)}.')
        return unit, f'unit: {unit}, as given'
    if extent <= _MAX_EXTENT_IN_METRES:
        return 'm', f'unit: m, because the largest extent is {extent:.4g}'
    if extent >= _MIN_EXTENT_IN_MILLIMETRES:
        return 'mm', f'unit: mm, because the largest extent is {extent:.4g}'
    raise MeshError(
        f'{path} has a largest extent of {extent:.4g}, which could be metres or '
        'millimetres; say which (--unit m, --unit mm).'
    )
