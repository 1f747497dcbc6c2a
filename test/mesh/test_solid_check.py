# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Defects for which a mesh bounds no solid are found and named."""

import numpy as np
import pytest

from franka_dynamics.errors import MeshError
from franka_dynamics.mesh.mesh import TriangleMesh
from franka_dynamics.mesh.solid_check import find_defects, require_solid

from .meshes import cuboid, joined

pytest.importorskip('igl')
BOX = cuboid((0.2, 0.2, 0.2))
SMALL = cuboid((0.05, 0.05, 0.05))


BESIDE = cuboid((0.1, 0.1, 0.1), (0.5, 0.0, 0.0))
TOUCHING = cuboid((0.2, 0.2, 0.2), (0.2, 0.0, 0.0))


def test_a_solid_of_two_parts_with_a_cavity_has_no_defects():
    assert find_defects(joined(BOX, SMALL, BESIDE, flip=(1,))).sentences() == ()


@pytest.mark.parametrize(
    ('mesh', 'inverted', 'doubled', 'crossing'),
    [
        (joined(BOX, flip=(0,)), (0,), (), False),
        (joined(BOX, BESIDE, flip=(1,)), (1,), (), False),
        (joined(BOX, SMALL), (), (1,), False),
        (joined(BOX, SMALL, flip=(0,)), (0, 1), (), False),
        (joined(BOX, TOUCHING), (), (), True),
        (TriangleMesh(BOX.vertices, np.vstack((BOX.faces, BOX.faces))), (), (0,), False),
    ],
)
def test_wrongly_wound_doubled_and_crossing_parts_are_named(mesh, inverted, doubled, crossing):
    defects = find_defects(mesh)
    assert (defects.inverted_parts, defects.doubled_parts) == (inverted, doubled)
    assert (defects.intersecting_faces > 0) == crossing


def test_a_doubled_part_is_told_by_its_number():
    (sentence,) = find_defects(joined(BOX, SMALL)).sentences()
    assert sentence == 'part 2 lies inside another part, or repeats it, and would count twice'


def test_a_folded_sheet_encloses_no_volume():
    sheet = TriangleMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 1]])
    assert find_defects(sheet).sentences() == ('it encloses no volume',)


def test_a_required_solids_refusal_names_file_defect_and_fix():
    mesh = TriangleMesh(BOX.vertices, BOX.faces[1:])
    sentence = (
        'tool.stl bounds no solid: it is not closed: 3 edges belong to an odd number of faces. .*'
        '--mend closes holes .*--accept-crossing-faces takes parts .* counts overlaps twice.$'
    )
    with pytest.raises(MeshError, match=sentence):
        require_solid(mesh, 'tool.stl')
