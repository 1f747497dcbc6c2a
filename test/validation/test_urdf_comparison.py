# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Faults planted into a URDF are named in the DH terms of the arm that it should be."""

from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.arm import LinkInertia, load
from franka_dynamics.urdf.writer import write_urdf
from franka_dynamics.validation.comparison import compare
from franka_dynamics.validation.source import read_pair

from ..arms import with_row_shifted


@pytest.fixture
def compared(tmp_path):
    """Return a function that compares an arm's URDF with the arm that it should be."""

    def against(arm, first=None, **keywords):
        path = tmp_path / 'robot.urdf'
        path.write_text(write_urdf(arm), encoding='utf-8')
        return compare(*read_pair(first, path), **keywords)

    return against


def test_millimetres_and_few_digits_are_named_as_the_cause(compared):
    arm = load('fr3')
    for change, cause in (
        ({'a': 82.5 - 0.0825}, 'millimetres in place of metres'),
        ({'alpha': 1.57 - np.pi / 2}, 'an angle written with too few digits'),
    ):
        (found,) = compared(with_row_shifted(arm, 3, **change)).differences
        assert found.cause == cause and f'likeliest cause: {cause}.' in str(found)


def with_link_mass(arm, link, more):
    body = arm.links[link]
    heavier = LinkInertia.from_center_of_mass(
        body.mass + more, body.center_of_mass, body.inertia_at_center_of_mass
    )
    return replace(arm, links=(*arm.links[:link], heavier, *arm.links[link + 1 :]))


def test_an_arm_is_itself_in_rows_that_are_cut_otherwise():
    # What the base lifts the first row need not, and a last frame may lie anywhere on its axis.
    arm = load('fr3')
    base, moved = np.array(arm.base), np.eye(4)
    base[2, 3], moved[2, 3] = 0.1, -0.05
    other = with_row_shifted(with_row_shifted(arm, 0, d=-0.1), 6, d=0.05)
    other = replace(
        other,
        base=base,
        links=(*arm.links[:6], arm.links[6].expressed_in(moved)),
        flange=replace(arm.flange, d=arm.flange.d - 0.05),
    )
    assert compare(arm, other).differences == ()
    (found,) = compare(arm, with_link_mass(other, 6, 0.1)).differences
    assert (found.place, found.parameter) == ('fr3_joint7', 'mass')
