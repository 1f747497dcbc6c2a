# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Checks whether a triangle mesh bounds a solid, and names its defects."""

from __future__ import annotations

from dataclasses import dataclass
import importlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .mesh import mesh_volume, TriangleMesh
from ..errors import MeshError, require_extra
from ..spatial import cross
from ..typing import Array

# An enclosed volume up to this, relative to area times extent, is a rounding error.
_MAX_ROUNDING_VOLUME = 1e-9
# Distance from a face of the points where winding numbers are computed, relative to the extent.
_PROBE_DISTANCE = 1e-6


@dataclass(frozen=True)
class MeshDefects:
    """
    Defects that keep a mesh from bounding a solid; zero, False or empty for a solid.

    `open_edges` is the number of edges with an odd number of faces, `flipped_edges` the number of
    other edges whose faces are wound against each other: their normals point to different sides.
    `flat` says that the mesh encloses no volume. `inverted_parts` are the indices (of
    `connected_components`) of parts whose normals point the wrong way (inwards, for an outermost
    part), `doubled_parts` of parts that lie inside another part, or repeat it, and are not wound
    as cavities, so that their volume counts twice. `intersecting_faces` is the number of pairs of
    faces that cross, or touch elsewhere than at vertices they share.
    """

    open_edges: int
    flipped_edges: int
    flat: bool
    inverted_parts: tuple[int, ...] = ()
    doubled_parts: tuple[int, ...] = ()
    intersecting_faces: int = 0

    def descriptions(self) -> tuple[str, ...]:
        """Return a clause for each kind of defect that the mesh has; () if it bounds a solid."""
        found = []
        if self.open_edges:
            edges = f'{self.open_edges} edges belong to an odd number of faces'
            found.append(f'it is not closed: {edges}')
        if self.flipped_edges:
            found.append(
                f'some normals are flipped: across {self.flipped_edges} edges the faces '
                'are wound against each other'
            )
        if self.flat:
            found.append('it encloses no volume')
        if self.inverted_parts:
            found.append(f'the normals of {_parts(self.inverted_parts)} point the wrong way')
        if self.doubled_parts:
            found.append(
                f'{_parts(self.doubled_parts)} lies inside another part, or repeats '
                'it, and would count twice'
            )
        if self.intersecting_faces:
            found.append(
                f'{self.intersecting_faces} pairs of faces cross or touch, so that '
                'volume may overlap and count twice'
            )
        return tuple(found)


def find_defects(mesh: TriangleMesh, *, self_intersection: bool = True) -> MeshDefects:
    """
    Return the defects that keep a mesh from bounding a solid.

    Coinciding vertices must have been merged. Parts and crossing faces are examined only if edges
    and volume have no defect. With `self_intersection` libigl's exact predicates find pairs of
    faces that cross or touch.

    Raises
    ------
    MissingDependencyError
        If libigl is not installed.

    """
    open_edges, flipped_edges = _edge_defects(mesh.faces)
    flat = is_flat(mesh)
    if open_edges or flipped_edges or flat:
        return MeshDefects(open_edges, flipped_edges, flat)
    inverted, doubled = _misplaced_parts(mesh)
    crossing = _crossing_pairs(mesh) if self_intersection else 0
    return MeshDefects(0, 0, False, inverted, doubled, crossing)


def require_solid(mesh: TriangleMesh, name: str, *, self_intersection: bool = True) -> None:
    """
    Raise MeshError for a mesh that bounds no solid.

    `name` is the mesh's name in the message; `self_intersection` is as in `find_defects`.

    Raises
    ------
    MeshError
        If the mesh has a defect; the message names each of them and the fix.
    MissingDependencyError
        If libigl is not installed.

    """
    sentences = find_defects(mesh, self_intersection=self_intersection).descriptions()
    if sentences:
        raise MeshError(
            f'{name} bounds no solid: {"; ".join(sentences)}. Fix it in the program '
            'it came from; --mend closes holes and turns normals, and '
            '--accept-crossing-faces takes parts that touch, and counts overlaps '
            'twice.'
        )


def is_flat(mesh: TriangleMesh) -> bool:
    """Return whether the enclosed volume is zero within rounding, as that of a folded sheet."""
    area = 0.5 * np.linalg.norm(_normals(mesh), axis=1).sum()
    return bool(abs(mesh_volume(mesh)) <= _MAX_ROUNDING_VOLUME * area * mesh.bounding_box_diagonal)


def connected_components(mesh: TriangleMesh) -> NDArray[np.int64]:
    """Return the index of the connected component of each of F faces, shape (F,)."""
    labels = np.asarray(_libigl('igl').vertex_components(mesh.faces))
    return np.unique(labels[mesh.faces[:, 0]], return_inverse=True)[1]


def _edge_defects(faces: NDArray[np.int64]) -> tuple[int, int]:
    """Return the number of edges with an odd number of faces, and that of flipped edges."""
    start, end = faces.ravel(), np.roll(faces, -1, axis=1).ravel()
    forward = np.where(start < end, 1, -1)
    key = np.minimum(start, end) * np.int64(faces.max() + 1) + np.maximum(start, end)
    _, edge, uses = np.unique(key, return_inverse=True, return_counts=True)
    balance = np.bincount(edge, forward, minlength=len(uses))
    is_open = uses % 2 == 1
    return int(is_open.sum()), int((~is_open & (balance != 0)).sum())


def _misplaced_parts(mesh: TriangleMesh) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """
    Return the indices of the inverted and of the doubled parts.

    On both sides of the largest face of every part, also of a cavity or of a part that touches
    another, the winding number of the whole mesh must be 0 or 1. Flat parts are not judged.
    """
    labels, igl = connected_components(mesh), _libigl('igl')
    parts = [_part(mesh, labels == label) for label in range(labels.max() + 1)]
    inverted, doubled = [], []
    for number, part in enumerate(parts):
        if is_flat(part):
            continue  # a folded sheet, which encloses no volume
        # The winding number of a solid is 1 at points inside, 0 at points outside.
        winding = sum(
            np.rint(igl.winding_number(other.vertices, other.faces, _points_beside(part)))
            for other in parts
        )
        if np.min(winding) < 0:
            inverted.append(number)
        elif np.max(winding) > 1:
            doubled.append(number)
    return tuple(inverted), tuple(doubled)


def _part(mesh: TriangleMesh, chosen: NDArray[np.bool_]) -> TriangleMesh:
    rows, faces = np.unique(mesh.faces[chosen], return_inverse=True)
    return TriangleMesh(mesh.vertices[rows], faces.reshape(-1, 3))


def _points_beside(part: TriangleMesh) -> Array:
    """Return points just in front of and just behind the largest face of a part, (2, 3)."""
    normals = _normals(part)
    lengths = np.linalg.norm(normals, axis=1)
    largest = int(np.argmax(lengths))
    step = _PROBE_DISTANCE * part.bounding_box_diagonal * normals[largest] / lengths[largest]
    middle = part.vertices[part.faces[largest]].mean(axis=0)
    return np.stack((middle + step, middle - step))


def _normals(mesh: TriangleMesh) -> Array:
    """Return the faces' normals, twice as long as their areas, shape (F, 3)."""
    a, b, c = mesh.vertices[mesh.faces].swapaxes(0, 1)
    return cross(b - a, c - a)


def _crossing_pairs(mesh: TriangleMesh) -> int:
    find = _libigl('igl.predicates').find_self_intersections
    return len(find(mesh.vertices, mesh.faces)[1])


def _libigl(module: str) -> Any:
    with require_extra('Checking whether a mesh bounds a solid needs libigl', 'mesh'):
        return importlib.import_module(module)


def _parts(numbers: tuple[int, ...]) -> str:
    noun = 'part' if len(numbers) == 1 else 'parts'
    return f'{noun} {", ".join(str(number + 1) for number in numbers)}'
