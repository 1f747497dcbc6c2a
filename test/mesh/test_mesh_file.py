# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Mesh files: formats, units, repairs and their notes."""

import numpy as np
import pytest

from franka_dynamics.errors import MeshError
from franka_dynamics.mesh.mesh import mesh_inertia, mesh_volume, TriangleMesh
from franka_dynamics.mesh.mesh_file import load_mesh
from franka_dynamics.mesh.solid_check import find_defects

from .meshes import bumpy_cuboid, cuboid, joined
from ..installed import needs

pytestmark = needs('trimesh', 'igl', 'networkx')
MILLIMETRES = cuboid((30.0, 20.0, 10.0))
VOLUME = 6e-6  # m^3


def write(mesh, path):
    import trimesh

    trimesh.Trimesh(mesh.vertices, mesh.faces, process=False).export(path)
    return path


# STL stores single precision, our PLY and OBJ writers eight decimals.
@pytest.mark.parametrize(('suffix', 'rtol'), [('.stl', 1e-6), ('.obj', 1e-6), ('.ply', 1e-6)])
def test_given_each_format_when_loaded_then_the_inertia_survives(tmp_path, suffix, rtol):
    mesh = bumpy_cuboid(3)
    loaded = load_mesh(write(mesh, tmp_path / f'tool{suffix}'), unit='m').mesh
    expected = mesh_inertia(mesh, 1000.0).parameters()
    np.testing.assert_allclose(
        mesh_inertia(loaded, 1000.0).parameters(),
        expected,
        rtol=0.0,
        atol=rtol * np.abs(expected).max(),
    )
    assert find_defects(loaded).sentences() == ()


def test_an_stls_notes_tell_its_unit_and_merged_vertices(tmp_path):
    loaded = load_mesh(write(MILLIMETRES, tmp_path / 'tool.stl'))
    assert loaded.unit == 'mm'
    assert loaded.notes == (
        'unit: mm, because the largest extent is 30',
        'of 36 stored vertices 8 are used and different',
    )


@pytest.mark.parametrize(('size', 'unit'), [(0.03, 'm'), (1.5, 'm'), (10.0, 'mm'), (900.0, 'mm')])
def test_the_unit_of_an_evident_size_is_detected(tmp_path, size, unit):
    path = write(cuboid((size, size / 2, size / 3)), tmp_path / 'tool.stl')
    assert load_mesh(path).unit == unit


def test_a_far_face_without_area_does_not_decide_the_unit(tmp_path):
    box = cuboid((0.3, 0.2, 0.1))
    far = TriangleMesh([*box.vertices, [50.0, 0.0, 0.0]], [*box.faces, [8, 8, 8]])
    loaded = load_mesh(write(far, tmp_path / 'tool.stl'))
    assert loaded.unit == 'm'
    assert len(loaded.mesh.vertices) == 8


def test_given_a_unit_when_loaded_then_lengths_are_in_metres(tmp_path):
    loaded = load_mesh(write(MILLIMETRES, tmp_path / 'tool.stl'), unit='in')
    np.testing.assert_allclose(mesh_volume(loaded.mesh), 6000.0 * 0.0254**3, rtol=1e-6, atol=0.0)
    assert loaded.notes[0] == 'unit: in, as given'


def test_an_ambiguous_size_asks_for_its_unit(tmp_path):
    path = write(cuboid((4.0, 2.0, 1.0)), tmp_path / 'tool.stl')
    with pytest.raises(MeshError, match='largest extent of 4, which could be metres or'):
        load_mesh(path)


def broken(kind):
    faces = MILLIMETRES.faces.copy()
    if kind == 'hole':
        return TriangleMesh(MILLIMETRES.vertices, np.delete(faces, [2, 3], axis=0))
    if kind == 'flipped':
        faces[[1, 6]] = faces[[1, 6], ::-1]
        return TriangleMesh(MILLIMETRES.vertices, faces)
    if kind == 'repeated':
        return TriangleMesh(MILLIMETRES.vertices, np.vstack((faces, faces[3:4])))
    return joined(MILLIMETRES, flip=(0,))


@pytest.mark.parametrize(
    ('kind', 'note'),
    [
        ('hole', 'repair: holes were closed by 2 faces'),
        ('flipped', 'repair: 2 faces were flipped to be wound like their neighbours'),
        ('repeated', 'repair: 1 repeated faces were removed'),
        ('inverted', 'repair: all 12 faces of 1 part(s) pointed the wrong way and were flipped'),
    ],
)
def test_a_broken_mesh_is_repaired_and_the_repair_noted(tmp_path, kind, note):
    path = write(broken(kind), tmp_path / 'tool.stl')
    assert find_defects(load_mesh(path).mesh).sentences() != ()
    repaired = load_mesh(path, repair=True)
    assert find_defects(repaired.mesh).sentences() == ()
    np.testing.assert_allclose(mesh_volume(repaired.mesh), VOLUME, rtol=1e-6, atol=0.0)
    assert note in repaired.notes


@pytest.mark.parametrize(
    ('name', 'content', 'message'),
    [
        ('tool.step', b'', r'does not end in \.stl, \.obj, \.ply'),
        ('missing.stl', None, 'missing.stl does not exist'),
        ('tool.stl', b'not a mesh', 'cannot be read as a triangle mesh|holds no triangle'),
        ('tool.obj', b'v 0 0 0\n', 'cannot be read as a triangle mesh|holds no triangle'),
    ],
)
def test_given_no_mesh_when_loaded_then_one_sentence_says_so(tmp_path, name, content, message):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(MeshError, match=message):
        load_mesh(path)
