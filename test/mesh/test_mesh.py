# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Inertias of meshes and their derivatives; mesh files, and what bounds no solid."""

import numpy as np
import pytest

import franka_dynamics as fd
from franka_dynamics.errors import MeshError
from franka_dynamics.mesh.mesh import mesh_volume
from franka_dynamics.spatial import exp6, pose_from_xyz_rpy

from ..agreement import differences, refuses
from ..dynamics.trees import random_link

# Corner k of a unit cube has the bits of k as coordinates; faces turn left seen from outside.
_CORNERS = np.array([[(k >> axis) & 1 for axis in range(3)] for k in range(8)], dtype=float)
_SIDES = [
    [0, 2, 3, 1],
    [4, 5, 7, 6],
    [0, 1, 5, 4],
    [2, 6, 7, 3],
    [0, 4, 6, 2],
    [1, 3, 7, 5],
]
_FACES = np.array([[a, *pair] for a, b, c, d in _SIDES for pair in ((b, c), (c, d))])


def cuboid(size, center=(0.0, 0.0, 0.0)):
    """Return a box with edges along the axes [m]."""
    return fd.TriangleMesh((_CORNERS - 0.5) * np.asarray(size) + np.asarray(center), _FACES)


def bumpy_cuboid(seed, scale=0.1):
    """Return a closed mesh without symmetry: a box with randomly moved corners."""
    rng = np.random.default_rng(seed)
    box = cuboid((1.0, 0.8, 0.6), (0.3, -0.2, 0.5))
    moved = box.vertices + rng.uniform(-0.15, 0.15, box.vertices.shape)
    return fd.TriangleMesh(scale * moved, box.faces)


def joined(*meshes, flip=()):
    """Return several meshes as one; those with a number in `flip` are wound inside out."""
    starts = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes)])
    faces = [mesh.faces[:, ::-1] if i in flip else mesh.faces for i, mesh in enumerate(meshes)]
    faces = [one + start for one, start in zip(faces, starts)]
    return fd.TriangleMesh(np.vstack([mesh.vertices for mesh in meshes]), np.vstack(faces))


DENSITY = 2700.0  # kg/m^3, aluminium
# Relative to the largest entry. Sums of a few dozen products: 3e-16 measured.
RTOL = 2e-14
# Sums of a million terms in another order than trimesh's: 2e-15 measured.
RTOL_LARGE = 1e-13


def assert_inertias_close(actual, expected, rtol):
    for name in ('mass', 'first_moment', 'inertia'):
        named = np.asarray(getattr(expected, name))
        atol = rtol * np.abs(named).max()
        np.testing.assert_allclose(getattr(actual, name), named, rtol=0.0, atol=atol)


def test_a_corner_tetrahedron_has_the_integrals_products():
    # Given the tetrahedron x, y, z >= 0, x + y + z <= 1, for which the integral of x y is 1/120,
    # of x^2 1/60, of x 1/24 and of 1 is 1/6.
    faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
    actual = fd.mesh_inertia(fd.TriangleMesh(np.eye(4, 3, -1), faces), 1.0)
    inertia = np.full((3, 3), -1 / 120) + np.eye(3) * (2 / 60 + 1 / 120)
    assert_inertias_close(actual, fd.LinkInertia(1 / 6, np.full(3, 1 / 24), inertia), RTOL)


def test_many_faces_agree_with_trimesh():
    ball = pytest.importorskip('trimesh').creation.icosphere(6)
    ball.apply_scale((0.1, 0.2, 0.05))
    ball.apply_translation((0.1, -0.2, 0.3))
    ball.density = DENSITY
    actual = fd.mesh_inertia(fd.TriangleMesh(ball.vertices, ball.faces), DENSITY)
    mass = ball.mass_properties.mass
    expected = fd.LinkInertia.from_center_of_mass(mass, ball.center_mass, ball.moment_inertia)
    assert_inertias_close(actual, expected, RTOL_LARGE)


def test_a_mesh_far_away_keeps_its_central_inertias_digits():
    # Given a 6 cm part described 13 m from its frame's origin, as CAD exports sometimes are.
    near = bumpy_cuboid(1)
    offset = (3.0, 4.0, 12.0)
    far = near.expressed_in(pose_from_xyz_rpy(offset, np.zeros(3)))
    actual, expected = (fd.mesh_inertia(mesh, DENSITY) for mesh in (far, near))
    center = expected.center_of_mass + offset
    np.testing.assert_allclose(actual.center_of_mass, center, rtol=0.0, atol=1e-13)
    # Then only the parallel-axis term of 169 m^2 against 4e-4 m^2 takes digits: 2e-11 measured;
    # sums about the far origin lose 4e-10.
    np.testing.assert_allclose(
        actual.inertia_at_center_of_mass,
        expected.inertia_at_center_of_mass,
        rtol=0.0,
        atol=1e-10 * np.abs(expected.inertia).max(),
    )


@pytest.mark.parametrize(
    ('step', 'density', 'names'),
    [(-1, DENSITY, ['-0.001', 'inwards']), (1, -1.0, ['-1.0']), (1, np.nan, ['nan'])],
)
def test_normals_inwards_or_an_impossible_density_are_refused(step, density, names):
    box = cuboid((0.1, 0.1, 0.1))
    mesh = fd.TriangleMesh(box.vertices, box.faces[:, ::step])
    np.testing.assert_allclose(mesh_volume(mesh), step * 1e-3, rtol=RTOL, atol=0.0)
    for compute in (fd.mesh_inertia, fd.vertex_derivatives)[: 1 if density > 0.0 else 2]:
        with refuses(MeshError, *names):
            compute(mesh, density)


@pytest.mark.parametrize(
    ('vertices', 'faces', 'names'),
    [
        (np.zeros((3, 2)), [[0, 1, 2]], ['vertices', '(k, 3)']),
        (np.zeros((3, 3)), np.zeros((0, 3), int), ['faces', '(0, 3)']),
        (np.zeros((3, 3)), [[0.0, 1.0, 2.0]], ['faces', 'float64']),
        (np.zeros((3, 3)), [[0, 1, 3]], ['vertex 3', '0..2']),
        ([[0, 0, 0], [1, np.nan, 0], [0, 1, 0]], [[0, 1, 2]], ['nan at [1, 1]']),
    ],
)
def test_malformed_mesh_arrays_are_refused_by_name(vertices, faces, names):
    with refuses(MeshError, *names):
        fd.TriangleMesh(vertices, faces)


@pytest.mark.parametrize('seed', range(3))
def test_vertex_derivatives_hold_equations_18_21_23_and_27(seed):
    mesh = bumpy_cuboid(seed)

    def parameters(change):
        vertices = mesh.vertices + change.reshape(-1, 3)
        return fd.mesh_inertia(fd.TriangleMesh(vertices, mesh.faces), DENSITY).parameters()

    # m; the parameters are polynomials of degree 5 in 6 cm, so truncation is h^2 / L^2
    expected = differences(parameters, mesh.vertices.size, 1e-4)
    actual = fd.vertex_derivatives(mesh, DENSITY).reshape(10, -1)
    scale = np.abs(expected).max(axis=1, keepdims=True)
    # 8e-13 measured
    np.testing.assert_allclose(actual / scale, expected / scale, rtol=0.0, atol=3e-11)


@pytest.mark.parametrize('seed', range(3))
def test_the_ten_by_six_matrix_is_the_slope_of_a_moved_body(seed):
    inertia = random_link(np.random.default_rng(seed))

    def moved(change):
        return inertia.expressed_in(exp6(change)).parameters()

    expected = differences(moved, 6, 1e-3)
    actual = fd.inertia_motion_derivative(inertia)
    # 6e-12 measured for entries up to 11.
    np.testing.assert_allclose(actual, expected, rtol=0.0, atol=1e-10)


MILLIMETRES = cuboid((30.0, 20.0, 10.0))


def write(mesh, path):
    import trimesh

    trimesh.Trimesh(mesh.vertices, mesh.faces, process=False).export(path)
    return path


@pytest.mark.parametrize('suffix', ['.stl', '.obj', '.ply'])
def test_given_each_format_when_loaded_then_the_inertia_survives(tmp_path, suffix):
    mesh = bumpy_cuboid(3)
    loaded = fd.load_mesh(write(mesh, tmp_path / f'tool{suffix}'), unit='m').mesh
    found, expected = (fd.mesh_inertia(one, 1000.0).parameters() for one in (loaded, mesh))
    # STL stores single precision, PLY and OBJ eight decimals.
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-6 * np.abs(expected).max())


def test_an_stls_notes_tell_its_unit_and_merged_vertices(tmp_path):
    loaded = fd.load_mesh(write(MILLIMETRES, tmp_path / 'tool.stl'))
    assert loaded.unit == 'mm'
    assert ' 30' in loaded.notes[0] and {'36', '8'} <= set(loaded.notes[1].split())
    inches = fd.load_mesh(tmp_path / 'tool.stl', unit='in')
    np.testing.assert_allclose(mesh_volume(inches.mesh), 6000.0 * 0.0254**3, rtol=1e-6, atol=0.0)
    assert 'unit: in' in inches.notes[0]


@pytest.mark.parametrize(('size', 'unit'), [(0.03, 'm'), (1.5, 'm'), (10.0, 'mm'), (900.0, 'mm')])
def test_the_unit_of_an_evident_size_is_detected(tmp_path, size, unit):
    box = cuboid((size, size / 2, size / 3))
    # A face without area, 50 away, does not count.
    far = fd.TriangleMesh([*box.vertices, [size + 50.0, 0.0, 0.0]], [*box.faces, [8, 8, 8]])
    loaded = fd.load_mesh(write(far, tmp_path / 'tool.stl'))
    assert (loaded.unit, len(loaded.mesh.vertices)) == (unit, 8)


def test_an_ambiguous_size_asks_for_its_unit(tmp_path):
    path = write(cuboid((4.0, 2.0, 1.0)), tmp_path / 'tool.stl')
    with refuses(MeshError, 'extent of 4'):
        fd.load_mesh(path)


@pytest.mark.parametrize(
    ('name', 'content', 'said'),
    [
        ('tool.step', b'', '.stl, .obj, .ply'),
        ('missing.stl', None, 'missing.stl'),
        *((name, text, 'triangle') for name, text in (('a.stl', b'text'), ('a.obj', b'v 0 0 0'))),
    ],
)
def test_a_file_without_a_mesh_is_refused_by_name(tmp_path, name, content, said):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with refuses(MeshError, name, said):
        fd.load_mesh(path)


BOX = cuboid((0.2, 0.2, 0.2))
SMALL = cuboid((0.05, 0.05, 0.05))
BESIDE = cuboid((0.1, 0.1, 0.1), (0.5, 0.0, 0.0))
FACES = BOX.faces
WINDING = np.where(np.isin(np.arange(12), (1, 6))[:, None], FACES[:, ::-1], FACES)
SHEET = fd.TriangleMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 1]])


def test_a_solid_of_two_parts_with_a_cavity_is_read(tmp_path):
    loaded = fd.load_mesh(write(joined(BOX, SMALL, BESIDE, flip=(1,)), tmp_path / 'tool.stl'))
    np.testing.assert_allclose(mesh_volume(loaded.mesh), 8e-3 - 1.25e-4 + 1e-3, rtol=1e-6)
    assert '3 parts' in loaded.notes[-1]


@pytest.mark.parametrize(
    ('mesh', 'said'),
    [
        (fd.TriangleMesh(BOX.vertices, np.delete(FACES, [2, 3], axis=0)), 'not closed'),
        (fd.TriangleMesh(BOX.vertices, WINDING), 'wound against'),
        (fd.TriangleMesh(BOX.vertices, [*FACES, FACES[3]]), 'not closed'),
        (joined(BOX, flip=(0,)), 'inwards'),
        (joined(BOX, BESIDE, flip=(1,)), 'inwards'),
        (SHEET, 'no volume'),
    ],
    ids=['hole', 'winding', 'repeated', 'inverted', 'one inverted', 'sheet'],
)
def test_a_mesh_of_no_solid_is_refused_with_file_and_defect(tmp_path, mesh, said):
    path = write(mesh, tmp_path / 'tool.stl')
    with refuses(MeshError, 'tool.stl', said, 'trimesh.repair'):
        fd.load_mesh(path)
