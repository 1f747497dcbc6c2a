# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Closed meshes for tests, made without any library."""

import numpy as np

from franka_dynamics.mesh.mesh import TriangleMesh

# Corner k of a unit cube has the bits of k as coordinates; faces are counter-clockwise from
# outside.
_CORNERS = np.array([[(k >> axis) & 1 for axis in range(3)] for k in range(8)], dtype=float)
_SIDES = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]]
_FACES = np.array([[a, *pair] for a, b, c, d in _SIDES for pair in ((b, c), (c, d))])


def cuboid(size, center=(0.0, 0.0, 0.0)):
    """Return a box with edges along the axes [m]."""
    return TriangleMesh((_CORNERS - 0.5) * np.asarray(size) + np.asarray(center), _FACES)


def bumpy_cuboid(seed, scale=0.1):
    """Return a closed mesh without symmetry: a box with randomly moved corners."""
    rng = np.random.default_rng(seed)
    box = cuboid((1.0, 0.8, 0.6), (0.3, -0.2, 0.5))
    moved = box.vertices + rng.uniform(-0.15, 0.15, box.vertices.shape)
    return TriangleMesh(scale * moved, box.faces)


def joined(*meshes, flip=()):
    """Return several meshes as one; those with a number in `flip` are wound inside out."""
    starts = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes)])
    faces = [
        (mesh.faces[:, ::-1] if number in flip else mesh.faces) + start
        for number, (mesh, start) in enumerate(zip(meshes, starts))
    ]
    return TriangleMesh(np.vstack([mesh.vertices for mesh in meshes]), np.vstack(faces))
