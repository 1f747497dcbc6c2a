# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Faults planted into a URDF are named in the DH terms of the arm that it should be."""

from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.arm import LinkInertia, load
from franka_dynamics.arm.dh_conversion import with_joint_reversed
from franka_dynamics.urdf.writer import write_urdf
from franka_dynamics.validation.urdf_comparison import compare_urdf

from ..arms import with_row_shifted


def named(arm, **keywords):
    found = compare_urdf(write_urdf(arm), 'robot.urdf', **keywords).differences
    return [(one.place, one.parameter) for one in found]


@pytest.mark.parametrize('arm', ['fer', 'fr3'])
def test_given_a_sound_urdf_when_compared_then_nothing_is_named(arm):
    assert named(load(arm)) == []


# Of a tilt between the base and joint 1 there is more than one row: see below.
@pytest.mark.parametrize(
    ('joint', 'name'),
    [
        (joint, name)
        for joint in range(7)
        for name in ('a', 'd', 'alpha', 'theta')
        if (joint, name) != (0, 'alpha')
    ],
)
def test_a_wrong_origin_is_named_by_its_row(joint, name):
    faulty = with_row_shifted(load('fr3'), joint, **{name: 0.01})
    assert named(faulty) == [(f'fr3_joint{joint + 1}', name)]


def test_a_tilted_first_axis_names_its_twist_among_others():
    # The common normal of nearly parallel axes may lie anywhere, so the tilt shows in a as well.
    found = named(with_row_shifted(load('fr3'), 0, alpha=0.01))
    assert ('fr3_joint1', 'alpha') in found
    assert {place for place, _ in found} <= {'fr3_joint1', 'fr3_joint2'}


@pytest.mark.parametrize('joint', range(6))
def test_a_reversed_axis_is_named_as_the_joints_sign(joint):
    assert named(with_joint_reversed(load('fr3'), joint)) == [
        (f'fr3_joint{joint + 1}', 'joint sign')
    ]


@pytest.mark.parametrize('link', range(7))
@pytest.mark.parametrize(
    'parameter', ['mass', 'centre of mass x', 'inertia yz about the centre of mass']
)
def test_a_wrong_inertial_is_named_by_its_number(link, parameter):
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


def test_a_wrong_limit_is_named_without_effect():
    arm = load('fer')
    limits = replace(arm.joints[3].limits, upper=0.0)
    joints = tuple(
        replace(joint, limits=limits) if i == 3 else joint for i, joint in enumerate(arm.joints)
    )
    (found,) = compare_urdf(write_urdf(replace(arm, joints=joints)), 'robot.urdf').differences
    assert (found.place, found.parameter, found.has_effect) == ('fer_joint4', 'limit upper', False)


def test_given_another_gravity_when_compared_then_it_is_named():
    assert named(load('fer'), second_gravity=np.array([0.0, 0.0, -9.80665])) == [
        ('arm', 'gravity z')
    ]


def test_a_wrong_length_has_one_effect_and_a_cause():
    arm = load('fr3')
    found = compare_urdf(write_urdf(with_row_shifted(arm, 3, a=0.01)), 'robot.urdf')
    (one,), (finding,) = found.differences, found.verdict.findings
    assert not found.passed
    assert one.cause == finding.cause != ''
    # One effect, whether the finding or the difference is read: both round it to two digits here.
    assert finding.effect.startswith(f'up to {one.torque_effect:.2g} N m (at ')
    assert f'likeliest cause: {one.cause}.' in str(one)


def test_several_wrong_rows_have_an_effect_each():
    arm = with_row_shifted(with_row_shifted(load('fr3'), 3, a=0.01), 1, d=0.02)
    found = compare_urdf(write_urdf(arm), 'robot.urdf')
    effects = {one.parameter: one.torque_effect for one in found.differences}
    said = {one.quantity: one.effect for one in found.verdict.findings}
    assert set(effects) == set(said) == {'a', 'd'}
    for name, effect in effects.items():
        assert said[name].startswith(f'up to {effect:.2g} N m')


def test_a_published_set_with_a_hand_differs_in_nothing():
    arm = load('fer', 'franka_description', hand='franka_hand')
    found = compare_urdf(write_urdf(load('fer', 'gaz2019', hand='franka_hand')), 'robot.urdf')
    assert found.passed and found.differences == ()
    assert (found.arm.inertial_set, found.arm.hand) == ('gaz2019', 'franka_hand')
    assert arm.inertial_set != found.arm.inertial_set


def test_an_edited_mass_is_named_with_the_cause_of_its_link():
    arm = load('fer')
    link = arm.links[2]
    swapped = LinkInertia.from_center_of_mass(
        link.mass,
        link.center_of_mass,
        link.inertia_at_center_of_mass[np.ix_([1, 0, 2], [1, 0, 2])],
    )
    found = compare_urdf(
        write_urdf(replace(arm, links=(*arm.links[:2], swapped, *arm.links[3:]))), 'robot.urdf'
    )
    assert {one.place for one in found.differences} == {'fer_joint3'}
    assert all('x y z taken as y x z' in one.cause for one in found.differences)
    assert found.findings == ()
