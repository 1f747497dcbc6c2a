# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Limits, lengths and masses of an arm that seem to be in another unit are asked about."""

from dataclasses import replace

import numpy as np
import pytest

import franka_dynamics as fd
from franka_dynamics.arm import JointLimits
from franka_dynamics.arm.inertia import elements_from_tensor
from franka_dynamics.arm.judgements import judge
from franka_dynamics.errors import DescriptionError

from ..agreement import refuses
from ..arms import with_joint

SHIPPED = fd.available_arms()


def in_degrees(arm):
    ranges = np.degrees([arm.limit('lower'), arm.limit('upper')]).round(1).T
    joints = (replace(one, limits=JointLimits(*x)) for one, x in zip(arm.joints, ranges))
    return replace(arm, joints=tuple(joints))


def in_millimetres(arm):
    rows = [replace(one.row, a=1e3 * one.row.a, d=1e3 * one.row.d) for one in arm.joints]
    joints = (replace(one, row=row) for one, row in zip(arm.joints, rows))
    return replace(arm, joints=tuple(joints))


def in_grams(arm):
    return arm.map_links(
        lambda one: fd.LinkInertia.from_center_of_mass(
            1e3 * one.mass,
            one.center_of_mass,
            elements_from_tensor(one.inertia_at_center_of_mass),
        )
    )


def denser(arm):
    return arm.map_links(lambda one: fd.LinkInertia.from_parameters(1e3 * one.parameters()))


def with_velocities_in_degrees(arm):
    joints = (replace(one, limits=JointLimits(velocity=150.0)) for one in arm.joints)
    return replace(arm, joints=tuple(joints))


@pytest.mark.parametrize('name', SHIPPED)
def test_no_number_of_a_shipped_arm_is_doubted(name):
    assert not any(judge(fd.load(name)))


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
    assert any(said in one.reason for one in judge(arm))
    with refuses(DescriptionError, said):
        fd.save(replace(arm, home=None), tmp_path / 'arm.yaml')


@pytest.mark.parametrize('name', SHIPPED)
def test_an_arm_heavier_than_steel_is_asked_for_its_unit_of_mass(name, tmp_path):
    assert any('grams' in one.reason for one in judge(denser(fd.load(name))))
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
    found = judge(replace(arm, joints=(first, *arm.joints[1:])))
    assert [one.limits_by_joint for one in found] == ([{first.name: doubted}] if doubted else [])


def test_in_an_arm_in_degrees_smaller_ones_are_asked_about_too():
    arm = fd.load('fr3')
    ends = ((-170.0, 170.0), (-10.0, 10.0), (-6.2832, 6.2832))
    limits = [JointLimits(*one) for one in ends] + [one.limits for one in arm.joints[3:]]
    joints = (replace(one, limits=own) for one, own in zip(arm.joints, limits))
    (found,) = judge(replace(arm, joints=tuple(joints)))
    assert [*found.limits_by_joint] == list(arm.joint_names[:2])


def test_a_tensor_of_no_body_is_no_question_of_units():
    arm = fd.load('rpr').map_links(lambda one: replace(one, inertia=-one.inertia))
    assert not any(judge(arm))


def test_a_slide_of_metres_is_asked_about():
    arm = fd.load('rpr')
    limits = (JointLimits(0.0, upper) for upper in (12.0, 300.0))
    one, other = (with_joint(arm, 1, limits=each) for each in limits)
    assert not any(judge(one))
    (found,) = judge(other)
    assert 'millimetres' in found.reason and [*found.limits_by_joint] == ['rpr_joint2']


def test_a_slide_without_limits_has_no_bound_of_weight():
    rpr = fd.load('rpr')
    strong = with_joint(rpr, 0, limits=replace(rpr.joints[0].limits, effort=3000.0))
    assert any(judge(strong))
    assert not any(judge(with_joint(strong, 1, limits=JointLimits())))
