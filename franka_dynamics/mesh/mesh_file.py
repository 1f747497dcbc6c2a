# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Reads STL, OBJ and PLY files as meshes in metres, with notes on what was changed."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .mesh import TriangleMesh
from ..errors import MeshError, require_extra

METRES_PER_UNIT = {'m': 1.0, 'cm': 0.01, 'mm': 0.001, 'in': 0.0254}
MESH_SUFFIXES = ('.stl', '.obj', '.ply')
# Bounds of a mesh's largest extent by which the file's unit is found. An extent up to 1.5 is taken
# for metres, an extent from 10 on for millimetres; for an extent between, the user must name the
# unit.
_MAX_SIZE_IN_METRES, _MIN_SIZE_IN_MILLIMETRES = 1.5, 10.0


@dataclass(frozen=True)
class MeshFile:
    """A mesh in metres, the `unit` of its file, and `notes` on the unit and what was changed."""

    mesh: TriangleMesh
    unit: str
    notes: tuple[str, ...]


def load_mesh(path: str | Path, *, unit: str | None = None) -> MeshFile:
    """
    Read an STL, OBJ or PLY file as a triangle mesh in metres that bounds a solid.

    Polygons are split into triangles, coinciding vertices are merged (STL has no shared vertices),
    and then unused vertices and faces with coinciding corners are left out. Volume counts twice
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
    raw, notes = _read_mesh(Path(path))
    size = float(np.ptp(np.asarray(raw.vertices), axis=0).max())
    unit, sentence = _unit_of_length(unit, size, path)
    notes += _require_solid(raw, path)
    mesh = TriangleMesh(np.asarray(raw.vertices) * METRES_PER_UNIT[unit], np.asarray(raw.faces))
    return MeshFile(mesh, unit, (sentence, *notes))


def _require_solid(raw: Any, path: str | Path) -> list[str]:
    """Raise MeshError if a mesh bounds no solid; else return a note if it has several parts."""
    parts, problem = list(raw.split(only_watertight=False, repair=False)), ''
    with np.errstate(divide='ignore', invalid='ignore'):  # of a sheet without volume
        volumes = [part.volume for part in parts]
        is_volume = raw.is_volume
    # A part with its normals inwards is a cavity if it lies within one that has them outwards.
    outer, inwards = (
        [part.bounds for part, volume in zip(parts, volumes) if sign * volume > 0.0]
        for sign in (1.0, -1.0)
    )
    loose = [
        one
        for one in inwards
        if not any((each[0] <= one[0]).all() and (each[1] >= one[1]).all() for each in outer)
    ]
    if not raw.is_watertight:
        problem = 'it is not closed'
    elif not raw.is_winding_consistent:
        problem = 'some of its faces are wound against their neighbours'
    elif loose or not is_volume:
        problem = 'it encloses no volume, or the normals of a part point inwards'
    if problem:
        raise MeshError(
            f'{path} bounds no solid: {problem}. Repair it in the program it came from, or by '
            'trimesh.repair (fill_holes, fix_normals).'
        )
    return [f'{len(parts)} parts; where they overlap, volume counts twice'][: len(parts) > 1]


def _read_mesh(path: Path) -> tuple[Any, list[str]]:
    """Return trimesh's mesh in the file's unit with coinciding vertices merged, and notes."""
    with require_extra('Reading a mesh file needs trimesh and scipy', 'mesh'):
        import scipy  # noqa: F401  # by which trimesh finds a mesh's parts
        import trimesh
    if path.suffix.lower() not in MESH_SUFFIXES:
        raise MeshError(f'{path} does not end in {", ".join(MESH_SUFFIXES)}; export it as such.')
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


def _unit_of_length(unit: str | None, size: float, path: str | Path) -> tuple[str, str]:
    """Return a mesh file's unit and a note on how `unit` or the largest extent `size` gave it."""
    if unit is not None:
        if unit not in METRES_PER_UNIT:
            raise MeshError(f'The unit {unit!r} is none of {", ".join(METRES_PER_UNIT)}.')
        return unit, f'unit: {unit}, as given'
    if size <= _MAX_SIZE_IN_METRES:
        return 'm', f'unit: m, because the largest extent is {size:.4g}'
    if size >= _MIN_SIZE_IN_MILLIMETRES:
        return 'mm', f'unit: mm, because the largest extent is {size:.4g}'
    raise MeshError(
        f'{path} has a largest extent of {size:.4g}, which could be metres or '
        'millimetres; say which (--unit m, --unit mm).'
    )
