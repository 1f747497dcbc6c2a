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


@pytest.fixture
def named(compared):
    """Return a function that names the places and parameters that differ."""

    def found(arm, **keywords):
        return [(one.place, one.parameter) for one in compared(arm, **keywords).differences]

    return found


@pytest.mark.parametrize('arm', ['fer', 'fr3'])
def test_given_a_sound_urdf_when_compared_then_nothing_is_named(arm, named):
    assert named(load(arm)) == []


@pytest.mark.parametrize(
    ('link', 'parameter'),
    [(0, 'mass'), (3, 'centre of mass x'), (6, 'inertia yz about the centre of mass')],
)
def test_a_wrong_inertial_is_named_by_its_number(link, parameter, named):
    arm = load('fer')
    body = arm.links[link]
    mass, center, tensor = body.mass, body.center_of_mass, body.inertia_at_center_of_mass.copy()
    if parameter == 'mass':
        mass += 0.1
    elif parameter.startswith('centre'):
        center = center + (0.01, 0.0, 0.0)
    else:
        tensor[1, 2] = tensor[2, 1] = tensor[1, 2] + 1e-5
    links = list(arm.links)
    links[link] = LinkInertia.from_center_of_mass(mass, center, tensor)
    assert named(replace(arm, links=tuple(links))) == [(f'fer_joint{link + 1}', parameter)]


def test_millimetres_and_few_digits_are_named_as_the_cause(compared):
    arm = load('fr3')
    for change, cause in (
        ({'a': 82.5 - 0.0825}, 'millimetres in place of metres'),
        ({'alpha': 1.57 - np.pi / 2}, 'an angle written with too few digits'),
    ):
        (found,) = compared(with_row_shifted(arm, 3, **change)).differences
        assert found.cause == cause and f'likeliest cause: {cause}.' in str(found)


def test_a_published_set_with_a_hand_differs_in_nothing(compared):
    arm = load('fer', 'franka_description', hand='franka_hand')
    found = compared(load('fer', 'gaz2019', hand='franka_hand'))
    assert found.passed and found.differences == ()
    assert (found.first.inertial_set, found.first.hand) == ('gaz2019', 'franka_hand')
    assert arm.inertial_set != found.first.inertial_set


def test_an_edited_mass_is_named_with_the_cause_of_its_link(compared):
    arm = load('fer')
    link = arm.links[2]
    swapped = LinkInertia.from_center_of_mass(
        link.mass,
        link.center_of_mass,
        link.inertia_at_center_of_mass[np.ix_([1, 0, 2], [1, 0, 2])],
    )
    found = compared(replace(arm, links=(*arm.links[:2], swapped, *arm.links[3:])))
    assert {one.place for one in found.differences} == {'fer_joint3'}
    assert all('x y z taken as y x z' in one.cause for one in found.differences)


def test_two_urdfs_of_one_arm_differ_in_nothing(tmp_path, compared):
    first = tmp_path / 'first.urdf'
    first.write_text(write_urdf(load('fr3', hand='franka_hand')))
    assert compared(load('fr3', hand='franka_hand'), first=first).differences == ()
    (found,) = compared(
        with_link_mass(load('fr3', hand='franka_hand'), 3, 0.1), first=first
    ).differences
    assert (found.place, found.parameter) == ('fr3_joint4', 'mass')


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
