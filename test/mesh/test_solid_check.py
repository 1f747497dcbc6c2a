# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What keeps a mesh from bounding a solid is found and named."""

import numpy as np
import pytest

from franka_dynamics.errors import MeshError
from franka_dynamics.mesh.mesh import TriangleMesh
from franka_dynamics.mesh.solid_check import find_defects, require_solid, winding_number

from .meshes import bumpy_cuboid, cuboid, joined

pytest.importorskip('scipy')
pytest.importorskip('igl')
BOX = cuboid((0.2, 0.2, 0.2))
SMALL = cuboid((0.05, 0.05, 0.05))


def test_given_a_solid_with_a_cavity_and_a_second_part_when_checked_then_nothing_is_found():
    beside = cuboid((0.1, 0.1, 0.1), (0.5, 0.0, 0.0))
    assert find_defects(joined(BOX, SMALL, beside, flip=(1,))).sentences() == ()


def test_given_a_missing_face_when_checked_then_its_three_edges_are_open():
    defects = find_defects(TriangleMesh(BOX.vertices, np.delete(BOX.faces, 4, axis=0)))
    assert (defects.open_edges, defects.flipped_edges) == (3, 0)


def test_given_one_flipped_face_when_checked_then_its_three_edges_disagree():
    faces = BOX.faces.copy()
    faces[4] = faces[4, ::-1]
    defects = find_defects(TriangleMesh(BOX.vertices, faces))
    assert (defects.open_edges, defects.flipped_edges) == (0, 3)


@pytest.mark.parametrize(
    ('mesh', 'inverted', 'doubled'),
    [
        (joined(BOX, flip=(0,)), (0,), ()),
        (joined(BOX, cuboid((0.1, 0.1, 0.1), (0.5, 0.0, 0.0)), flip=(1,)), (1,), ()),
        (joined(BOX, SMALL), (), (1,)),
        (joined(BOX, SMALL, flip=(0,)), (0, 1), ()),
        (TriangleMesh(BOX.vertices, np.vstack((BOX.faces, BOX.faces))), (), (0,)),
    ],
)
def test_given_wrongly_wound_parts_when_checked_then_they_are_named(mesh, inverted, doubled):
    defects = find_defects(mesh)
    assert (defects.inverted_parts, defects.doubled_parts) == (inverted, doubled)


def test_given_a_folded_sheet_when_checked_then_it_encloses_nothing():
    sheet = TriangleMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 1]])
    assert find_defects(sheet).sentences() == ('it encloses no volume',)


def test_given_parts_that_touch_when_checked_then_none_is_misplaced_but_the_contact_is_told():
    defects = find_defects(joined(BOX, cuboid((0.2, 0.2, 0.2), (0.2, 0.0, 0.0))))
    assert (defects.inverted_parts, defects.doubled_parts) == ((), ())
    assert defects.intersecting_faces > 0


def test_given_two_boxes_that_overlap_when_checked_then_crossing_faces_are_counted():
    mesh = joined(BOX, cuboid((0.2, 0.21, 0.19), (0.13, 0.02, 0.03)))
    assert find_defects(mesh).intersecting_faces > 0
    assert find_defects(mesh, self_intersection=False).intersecting_faces == 0


def test_given_defects_when_a_solid_is_required_then_one_sentence_names_file_defect_and_mend():
    mesh = TriangleMesh(BOX.vertices, BOX.faces[1:])
    with pytest.raises(MeshError) as caught:
        require_solid(mesh, 'tool.stl')
    assert str(caught.value) == (
        'tool.stl bounds no solid: it has holes: 3 edges belong to one face only. Mend it in the '
        'program it came from; --repair closes holes and turns normals, and '
        '--accept-crossing-faces takes parts that touch, and counts overlaps '
        'twice.'
    )


@pytest.mark.parametrize(
    ('point', 'expected'),
    [((0.03, 0.02, 0.05), 1.0), ((0.3, 0.1, 0.0), 0.0), ((10.0, 0.0, 0.0), 0.0)],
)
def test_given_a_point_when_wound_around_then_the_number_tells_inside_from_outside(
    point, expected
):
    mesh = bumpy_cuboid(0)
    np.testing.assert_allclose(
        winding_number(mesh, np.array(point)), expected, rtol=0.0, atol=1e-12
    )
