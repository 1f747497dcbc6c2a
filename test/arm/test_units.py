# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Numbers in another unit are asked about: by `load` of a file, by `save`, and of a URDF."""

from dataclasses import replace
import re

import numpy as np
import pytest

import franka_dynamics as fd
from franka_dynamics.arm import JointLimits, LinkInertia
from franka_dynamics.arm.inertia import six_from_tensor
from franka_dynamics.arm.units import unit_questions
from franka_dynamics.errors import DescriptionError, UrdfWarning

from ..agreement import refuses
from ..arms import with_joint

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
        lambda one: LinkInertia.from_center_of_mass(
            1e3 * one.mass, one.center_of_mass, six_from_tensor(one.inertia_at_center_of_mass)
        )
    )


def with_velocities_in_degrees(arm):
    joints = (replace(one, limits=JointLimits(velocity=150.0)) for one in arm.joints)
    return replace(arm, joints=tuple(joints))


@pytest.mark.parametrize('name', SHIPPED)
def test_no_number_of_a_shipped_arm_is_doubted(name):
    assert not unit_questions(fd.load(name))


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
    assert any(said in one.sentence for one in unit_questions(arm))
    with refuses(DescriptionError, said):
        fd.save(replace(arm, home=None), tmp_path / 'arm.yaml')


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
    questions = unit_questions(replace(arm, joints=(first, *arm.joints[1:])))
    assert [one.limits for one in questions] == (
        [{arm.joint_names[0]: doubted}] if doubted else []
    )


def test_in_an_arm_in_degrees_smaller_ones_are_asked_about_too():
    arm = fd.load('fr3')
    ends = ((-170.0, 170.0), (-10.0, 10.0), (-6.2832, 6.2832))
    limits = [JointLimits(*one) for one in ends] + [one.limits for one in arm.joints[3:]]
    joints = (replace(one, limits=own) for one, own in zip(arm.joints, limits))
    (question,) = unit_questions(replace(arm, joints=tuple(joints)))
    assert [*question.limits] == list(arm.joint_names[:2])


def test_a_tensor_of_no_body_is_no_question_of_units():
    arm = fd.load('rpr').map_links(lambda one: replace(one, inertia=-one.inertia))
    assert unit_questions(arm) == []


def test_a_slide_of_metres_is_asked_about():
    arm = fd.load('rpr')
    limits = (JointLimits(0.0, upper) for upper in (12.0, 300.0))
    one, other = (with_joint(arm, 1, limits=each) for each in limits)
    assert not unit_questions(one)
    (question,) = unit_questions(other)
    assert 'millimetres' in question.sentence and [*question.limits] == ['rpr_joint2']


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
