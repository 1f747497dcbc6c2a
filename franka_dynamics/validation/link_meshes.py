# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Reads the meshes that a URDF file names, for the plausibility of its inertias."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from ..errors import MeshError, MissingDependencyError
from ..mesh.mesh import mesh_volume
from ..mesh.mesh_file import load_mesh, SUFFIXES
from ..mesh.solid_check import find_defects
from ..urdf.plausibility import Solid


def mesh_reader(urdf: Path, missing: list[str]) -> Callable[[str], Solid | None]:
    """
    Return a function that reads a mesh named in a URDF file, for `find_doubts`.

    package://NAME/PATH is looked for in each folder above the URDF, as NAME/PATH, and as PATH in a
    folder that is named NAME. The function returns None for a file that is not there or cannot be
    read, and adds its name to `missing`.
    """

    def read(filename: str) -> Solid | None:
        path = next((path for path in _places(urdf, filename) if path.is_file()), None)
        try:
            if path is None or path.suffix.lower() not in SUFFIXES:
                raise MeshError(filename)
            return _solid(path)
        except (MeshError, MissingDependencyError):
            missing.append(filename)
            return None

    return read


def _solid(path: Path) -> Solid:
    from scipy.spatial import ConvexHull, QhullError

    mesh = load_mesh(path, unit='m').mesh
    try:
        hull = ConvexHull(mesh.vertices)
    except QhullError as error:
        raise MeshError(f'{path} is flat') from error
    closed = not find_defects(mesh, self_intersection=False).sentences()
    volume = mesh_volume(mesh) if closed else 0.0
    return Solid(mesh.vertices[hull.vertices], float(hull.volume), volume)


def _places(urdf: Path, filename: str) -> Iterator[Path]:
    name = filename.removeprefix('file://')
    if not name.startswith('package://'):
        yield urdf.parent / name
        return
    name = name.removeprefix('package://')
    package, _, rest = name.partition('/')
    for folder in urdf.resolve().parents:
        yield folder / name
        if folder.name == package:
            yield folder / rest
