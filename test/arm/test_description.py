# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""ArmDescription, its DH rows, limits and densities, and numbers that are in another unit."""

from dataclasses import replace
import re

import numpy as np
import pytest

import franka_dynamics as fd
from franka_dynamics.arm import Convention, JointLimits
from franka_dynamics.arm.frames import to_modified_convention
from franka_dynamics.arm.inertia import elements_from_tensor
from franka_dynamics.arm.units import doubted_units
from franka_dynamics.errors import DescriptionError, UrdfWarning

from ..agreement import assert_near, refuses
from ..arms import random_arm, with_joint, with_link


@pytest.mark.parametrize('distance', [0.15, 0.0, -0.2])
def test_fr3_velocity_bounds_near_and_beyond_limits_are_frankas_formula(distance):
    arm = fd.load('fr3')
    off = np.array([0.6599, 0.2517, 0.2000, 0.3533, 0.5757, 0.4878, 0.4628])
    dec = np.array([6, 2.585, 3.5, 4, 17, 5.5, 17])
    braking = np.maximum(0.0, -off + np.sqrt(2.0 * dec * max(distance, 0.0)))
    expected = np.minimum(arm.limit('velocity'), braking)
    _, upper = arm.velocity_bounds(arm.limit('upper') - distance)
    lower, _ = arm.velocity_bounds(arm.limit('lower') + distance)
    np.testing.assert_allclose((upper, -lower), (expected, expected), rtol=1e-12, atol=0.0)


@pytest.mark.parametrize(
    ('mass', 'density', 'count'), [(4000, 22_500, 0), (4000, 22_700, 1), (900, 22_700, 0)]
)
def test_a_heavy_ball_of_more_than_osmiums_density_is_named(mass, density, count):
    radius = (mass / density / (4.0 / 3.0 * np.pi)) ** (1.0 / 3.0)
    ball = fd.LinkInertia.from_center_of_mass(
        mass, (0.1, 0.2, -0.3), 0.4 * mass * radius**2 * np.eye(3)
    )
    rpr = fd.load('rpr')
    found = with_link(rpr, 1, ball).inconsistencies()
    assert len(found) == count
    assert all(f'behind {rpr.joint_names[1]} is denser than any metal' in one for one in found)


@pytest.mark.parametrize('name', ['fer', 'fr3', 'stanford'])
def test_arms_are_equal_by_value_and_hash_alike(name):
    arm, again = fd.load(name), fd.load(name)
    assert arm == again and hash(arm) == hash(again) and len({arm, again}) == 1
    other = with_link(arm, 0, arm.links[1])
    assert arm != other and arm != replace(arm, name='another') and arm != name
    friction = arm.friction
    if friction is not None:
        first = next(iter(vars(friction)))
        doubled = replace(friction, **{first: 2.0 * np.asarray(getattr(friction, first))})
        assert replace(arm, friction=doubled) != arm


ATOL = 1e-11  # relative to max(1, |tau|); a hundred times the largest error measured


@pytest.mark.parametrize('convention', Convention)
def test_joint_transforms_are_products_of_matrix_exponentials(convention):
    from ..dynamics import lagrangian  # by SciPy

    arm = random_arm(np.random.default_rng(0), joints=6, convention=convention)
    q = np.linspace(-1.0, 1.0, 6)
    expected = lagrangian.steps(arm, q)[0]
    np.testing.assert_allclose(arm.joint_transforms(q), expected, rtol=0.0, atol=1e-14)


@pytest.mark.parametrize('seed', range(3))
def test_rows_made_modified_keep_torques_and_flange(seed):
    rng = np.random.default_rng(seed)
    arm = random_arm(rng, convention=Convention.STANDARD)
    arm = replace(arm, flange=replace(arm.flange, a=0.0, alpha=0.0))
    other = to_modified_convention(arm)
    assert other.convention is Convention.MODIFIED
    states = fd.sample_states(arm, 10, seed)
    assert_near(
        fd.NewtonEulerModel(other).inverse_dynamics(*states),
        fd.NewtonEulerModel(arm).inverse_dynamics(*states),
        ATOL,
    )
    poses, others = (fd.NewtonEulerModel(one).frames(states.q)[:, -1] for one in (arm, other))
    np.testing.assert_allclose(others, poses, rtol=0.0, atol=ATOL)


@pytest.mark.parametrize(('lower', 'upper'), [(5.0, np.inf), (-np.inf, -4.0), (-1.0, np.inf)])
def test_states_lie_within_a_limit_at_one_end(lower, upper):
    states = fd.sample_states(with_joint(fd.load('rpr'), 0, limits=JointLimits(lower, upper)), 500)
    drawn = states.q[:, 0]
    assert lower <= drawn.min() and drawn.max() <= upper
    assert 2.0 < np.ptp(drawn) < 10.0
    for unlimited, most in ((states.dq[:, 0], 2.0), (states.ddq[:, 0], 10.0)):
        assert 0.95 * most < np.abs(unlimited).max() <= most


SHIPPED = fd.available_arms()


def in_degrees(arm):
    joints = (
        replace(
            one, limits=JointLimits(*np.degrees([one.limits.lower, one.limits.upper]).round(1))
        )
        for one in arm.joints
    )
    return replace(arm, joints=tuple(joints))


def in_millimetres(arm):
    rows = [replace(one.row, a=1e3 * one.row.a, d=1e3 * one.row.d) for one in arm.joints]
    joints = (replace(one, row=row) for one, row in zip(arm.joints, rows))
    return replace(arm, joints=tuple(joints))


def in_grams(arm):
    return arm.map_links(
        lambda one: fd.LinkInertia.from_center_of_mass(
            1e3 * one.mass, one.center_of_mass, elements_from_tensor(one.inertia_at_center_of_mass)
        )
    )


def denser(arm):
    return arm.map_links(lambda one: fd.LinkInertia.from_parameters(1e3 * one.parameters()))


def with_velocities_in_degrees(arm):
    joints = (replace(one, limits=JointLimits(velocity=150.0)) for one in arm.joints)
    return replace(arm, joints=tuple(joints))


@pytest.mark.parametrize('name', SHIPPED)
def test_no_number_of_a_shipped_arm_is_doubted(name):
    assert not doubted_units(fd.load(name))


@pytest.mark.parametrize('name', ['fr3', 'fer'])
@pytest.mark.parametrize(
    ('other', 'said'),
    [
        (in_degrees, 'degrees'),
        (with_velocities_in_degrees, 'degrees'),
        (in_millimetres, 'millimetres'),
        (in_grams, 'grams'),
    ],
)
def test_another_unit_is_asked_about(name, other, said, tmp_path):
    arm = other(fd.load(name))
    assert any(said in one.sentence for one in doubted_units(arm))
    with refuses(DescriptionError, said):
        fd.save(replace(arm, home=None), tmp_path / 'arm.yaml')


@pytest.mark.parametrize('name', SHIPPED)
def test_an_arm_heavier_than_steel_is_asked_for_its_unit_of_mass(name, tmp_path):
    assert any('grams' in one.sentence for one in doubted_units(denser(fd.load(name))))
    with refuses(DescriptionError, 'grams'):
        fd.save(denser(fd.load(name)), tmp_path / 'arm.yaml')


@pytest.mark.parametrize(
    ('limits', 'doubted'),
    [
        ((-6.2832, 12.5, 3.0), ()),  # two turns
        ((-999999.0, 999999.0, 1000.0), ()),  # none is known
        ((-3.0, 3.0, 100.0), ()),
        ((-3.0, 3.0, 52.4), ()),
        ((-3.0, 180.0, 3.0), ('lower', 'upper')),
        ((-3.0, 3.0, 180.0), ('velocity',)),
    ],
)
def test_only_what_no_joint_does_is_taken_for_degrees(limits, doubted):
    arm = fd.load('fr3')
    first = replace(arm.joints[0], limits=JointLimits(*limits))
    questions = doubted_units(replace(arm, joints=(first, *arm.joints[1:])))
    assert [one.limit_fields for one in questions] == (
        [{arm.joint_names[0]: doubted}] if doubted else []
    )


def test_in_an_arm_in_degrees_smaller_ones_are_asked_about_too():
    arm = fd.load('fr3')
    ends = ((-170.0, 170.0), (-10.0, 10.0), (-6.2832, 6.2832))
    limits = [JointLimits(*one) for one in ends] + [one.limits for one in arm.joints[3:]]
    joints = (replace(one, limits=own) for one, own in zip(arm.joints, limits))
    (question,) = doubted_units(replace(arm, joints=tuple(joints)))
    assert [*question.limit_fields] == list(arm.joint_names[:2])


def test_a_tensor_of_no_body_is_no_question_of_units():
    arm = fd.load('rpr').map_links(lambda one: replace(one, inertia=-one.inertia))
    assert doubted_units(arm) == []


def test_a_slide_of_metres_is_asked_about():
    arm = fd.load('rpr')
    limits = (JointLimits(0.0, upper) for upper in (12.0, 300.0))
    one, other = (with_joint(arm, 1, limits=each) for each in limits)
    assert not doubted_units(one)
    (question,) = doubted_units(other)
    assert 'millimetres' in question.sentence and [*question.limit_fields] == ['rpr_joint2']


def test_a_urdf_is_loaded_with_the_question(tmp_path):
    fd.write_urdf('fr3', tmp_path / 'arm.urdf')
    text = (tmp_path / 'arm.urdf').read_text()
    degrees = fd.load(text.replace('lower="-2.9007" upper="2.9007"', 'lower="-166" upper="166"'))
    assert 'fr3_joint1' in ' '.join(one for one in degrees.notes if 'degrees' in one)
    assert np.isneginf(degrees.limit('lower')[0]) and not degrees.torque_notes
    with pytest.warns(UrdfWarning, match="'fr3_joint4', <origin>: rpy.*degrees"):
        fd.load(re.sub(r'rpy="1.5707963\d*', 'rpy="90', text))
    with pytest.warns(UrdfWarning, match='millimetres'):
        fd.load(text.replace('xyz="0 0 0.333"', 'xyz="0 0 333"'))
