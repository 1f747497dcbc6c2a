# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Faults planted into a URDF are named in the DH terms of the arm that it should be."""

from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.arm import LinkInertia, load
from franka_dynamics.arm.dh_conversion import with_joint_reversed
from franka_dynamics.urdf.writer import write_urdf
from franka_dynamics.validation.comparison import compare_urdf

from ..arms import with_row_shifted


def named(arm, **keywords):
    _, found = compare_urdf(write_urdf(arm), 'robot.urdf', **keywords)
    return [(one.place, one.parameter) for one in found]


@pytest.mark.parametrize('arm', ['fer', 'fr3'])
def test_given_a_sound_urdf_when_compared_then_nothing_is_named(arm):
    assert named(load(arm)) == []


# Of a tilt between the base and joint 1 there is more than one row: see below.
@pytest.mark.parametrize(('joint', 'name'), [
    (joint, name) for joint in range(7) for name in ('a', 'd', 'alpha', 'theta')
    if (joint, name) != (0, 'alpha')])
def test_given_a_wrong_origin_when_compared_then_the_row_is_named(joint, name):
    faulty = with_row_shifted(load('fr3'), joint, **{name: 0.01})
    assert named(faulty) == [(f'fr3_joint{joint + 1}', name)]


def test_given_a_tilted_first_axis_when_compared_then_its_twist_is_among_what_is_named():
    # The common normal of nearly parallel axes may lie anywhere, so the tilt shows in a as well.
    found = named(with_row_shifted(load('fr3'), 0, alpha=0.01))
    assert ('fr3_joint1', 'alpha') in found
    assert {place for place, _ in found} <= {'fr3_joint1', 'fr3_joint2'}


@pytest.mark.parametrize('joint', range(6))
def test_given_a_reversed_axis_when_compared_then_the_sign_is_named(joint):
    assert named(with_joint_reversed(load('fr3'), joint)) == [
        (f'fr3_joint{joint + 1}', 'joint sign')]


@pytest.mark.parametrize('link', range(7))
@pytest.mark.parametrize('parameter', ['mass', 'centre of mass x',
                                       'inertia yz about the centre of mass'])
def test_given_a_wrong_inertial_when_compared_then_its_number_is_named(link, parameter):
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


def test_given_a_wrong_limit_when_compared_then_it_is_named_without_effect():
    arm = load('fer')
    limits = replace(arm.joints[3].limits, upper=0.0)
    joints = tuple(replace(joint, limits=limits) if i == 3 else joint
                   for i, joint in enumerate(arm.joints))
    _, (found,) = compare_urdf(write_urdf(replace(arm, joints=joints)), 'robot.urdf')
    assert (found.place, found.parameter, found.has_effect) == ('fer_joint4', 'limit upper', False)


def test_given_another_gravity_when_compared_then_it_is_named():
    assert named(load('fer'), second_gravity=np.array([0.0, 0.0, -9.80665])) == [
        ('arm', 'gravity z')]
