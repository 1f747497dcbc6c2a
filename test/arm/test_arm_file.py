# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Shipped arm files have the published numbers; what is written is read the same."""

from copy import deepcopy
from dataclasses import replace
from functools import partial
import os

import numpy as np
import pytest
import yaml

import franka_dynamics as fd
from franka_dynamics.arm import (
    JointKind,
    JointLimits,
    MaxwellSlipFriction,
    SigmoidFriction,
    strict_yaml,
    ViscousCoulombFriction,
)
from franka_dynamics.arm.arm_file import arm_file_text
from franka_dynamics.arm.units import doubted_units
from franka_dynamics.errors import DescriptionError
from franka_dynamics.spatial import pose_from_xyz_rpy

from ..agreement import refuses
from ..arms import random_covariance, with_joint

VALID = yaml.safe_load("""
name: toy
convention: modified
joints:
  - name: shoulder
    kind: revolute
    dh: {d: 0.3}
    limits: {position: [-1.0, 1.0], velocity: 2.0}
  - {name: slide, kind: prismatic, dh: {a: 0.1, alpha: -pi/2}}
home: [0.5, 0.0]
friction: {model: viscous_coulomb, viscous: [0.1, 0.2], coulomb: [0.3, 0.4], offset: [0.0, 0.0]}
default_set: guess
inertial_sets:
  guess:
    source: a guess
    inertia_about: center_of_mass
    links:
      - {mass: 1.0, center_of_mass: [0.1, 0.0, 0.0], inertia: [0.1, 0.0, 0.0, 0.2, 0.0, 0.2]}
      - {mass: 2.0, center_of_mass: [0.0, 0.0, 0.2], inertia: [0.3, 0.0, 0.0, 0.3, 0.0, 0.1]}
""")
LINK = 'inertial_sets.guess.links[1]'
REMOVED = object()


def changed(path, value=REMOVED):
    """Return a copy of VALID with the field at a dotted path set to a value, or removed."""
    content = deepcopy(VALID)
    place, keys = content, path.replace('LINK', 'inertial_sets.guess.links.0').split('.')
    for key in keys[:-1]:
        place = place[int(key) if key.isdigit() else key]
    last = int(keys[-1]) if keys[-1].isdigit() else keys[-1]
    if value is REMOVED:
        del place[last]
    else:
        place[last] = value
    return content


def write(tmp_path, content, name='arm.yaml'):
    """Return the path of a file with a text, or with a content as YAML."""
    path = tmp_path / name
    text = content if isinstance(content, str) else yaml.safe_dump(content)
    path.write_text(text, encoding='utf-8')
    return path


def test_given_a_valid_file_when_loaded_then_every_field_arrives(tmp_path):
    arm = fd.load(write(tmp_path, VALID), prefix='left_')
    assert arm.joint_names == ('left_shoulder', 'left_slide')
    assert [joint.kind for joint in arm.joints] == [JointKind.REVOLUTE, JointKind.PRISMATIC]
    assert (arm.joints[0].row.d, arm.joints[1].row.alpha) == (0.3, -np.pi / 2)
    assert (arm.joints[0].limits.lower, arm.joints[1].limits.lower) == (-1.0, -np.inf)
    np.testing.assert_array_equal(arm.home, [0.5, 0.0])
    assert isinstance(arm.friction, ViscousCoulombFriction)
    np.testing.assert_allclose(arm.links[0].inertia, np.diag([0.1, 0.21, 0.21]), rtol=1e-14)
    assert arm.hand == 'none'


def test_a_refusal_says_the_line_and_a_changed_file_is_read_anew(tmp_path):
    file = write(tmp_path, VALID)
    text = file.read_text()
    assert fd.load(file).n == 2
    file.write_text(text.replace('mass: 2.0', 'mass: -2.0'))
    os.utime(file, ns=(1, 1))  # a file system's clock may be coarser than this test
    line = text.split('\n').index('      mass: 2.0') + 1
    with refuses(DescriptionError, f'line {line}: inertial', 'links[2].mass'):
        fd.load(file)


@pytest.mark.parametrize(
    ('text', 'expected'),
    [('pi', np.pi), ('-pi/2', -np.pi / 2), ('3*pi/4', 3 * np.pi / 4), ('- .5 pi', -np.pi / 2)],
)
def test_given_an_angle_when_read_then_it_is_in_radians(text, expected, tmp_path):
    arm = fd.load(write(tmp_path, changed('joints.1.dh.alpha', text)))
    assert arm.joints[1].row.alpha == pytest.approx(expected, rel=1e-14, abs=0.0)


PUBLISHED = {
    'fer': {
        'upper': [2.8973, 1.7628, 2.8973, -0.0698, 2.8973, 3.7525, 2.8973],
        'lower': [-2.8973, -1.7628, -2.8973, -3.0718, -2.8973, -0.0175, -2.8973],
        'velocity': [2.175, 2.175, 2.175, 2.175, 2.61, 2.61, 2.61],
        'acceleration': [15, 7.5, 10, 12.5, 15, 20, 20],
        'jerk': [7500, 3750, 5000, 6250, 7500, 10000, 10000],
    },
    'fr3': {
        'upper': [2.9007, 1.8361, 2.9007, -0.1169, 2.8763, 4.6216, 3.0508],
        'lower': [-2.9007, -1.8361, -2.9007, -3.0770, -2.8763, 0.4398, -3.0508],
        'velocity': [2.62, 2.62, 2.62, 2.62, 5.26, 4.18, 5.26],
        'acceleration': [10.0] * 7,
        'jerk': [5000.0] * 7,
    },
}

# lower, upper [rad], velocity [rad/s], effort [N m], velocity_offset [rad/s], deceleration_limit
# [rad/s^2] of franka_description 2.8.0, robots/fr3v2_1/joint_limits.yaml (also robots/fr3v2).
FR3V2_1 = [
    [-2.9007400166666666, 2.9007400166666666, 2.62, 87.0, 0.6520000381679385, 6.0],
    [-1.8360900166666667, 1.8360900166666667, 2.62, 87.0, 0.2499685851463105, 2.585],
    [-2.9007400166666666, 2.9007400166666666, 2.62, 87.0, 0.20053055661577582, 3.5],
    [-3.077020016666667, -0.11693708333333333, 2.62, 87.0, 0.3542181933842238, 4.0],
    [-2.87630335, 2.87630335, 5.26, 12.0, 0.5738321197718637, 17.0],
    [0.43982265, 4.62163335, 4.18, 12.0, 0.4884649342105264, 5.5],
    [-3.05083335, 3.05083335, 5.26, 12.0, 0.4591952376425851, 17.0],
]

FIELDS = 'lower upper velocity effort velocity_offset velocity_deceleration'.split()
EFFORTS = {'effort': [87, 87, 87, 87, 12, 12, 12], 'effort_rate': [1000.0] * 7}


@pytest.mark.parametrize(
    ('arm', 'published'),
    [
        *((arm, {**limits, **EFFORTS}) for arm, limits in PUBLISHED.items()),
        *((arm, dict(zip(FIELDS, map(list, zip(*FR3V2_1))))) for arm in ('fr3v2', 'fr3v2_1')),
    ],
)
def test_a_shipped_arms_limits_are_frankas(arm, published):
    assert {field: fd.load(arm).limit(field).tolist() for field in published} == published


@pytest.mark.parametrize('arm', ['fer', 'fr3'])
def test_states_fill_an_arms_limits_and_stay_within(arm):
    description = fd.load(arm)
    velocity, acceleration = description.limit('velocity'), description.limit('acceleration')
    low = [description.limit('lower'), -velocity, -acceleration]
    high = [description.limit('upper'), velocity, acceleration]
    states = np.swapaxes(fd.sample_states(description, 2000, 0), 0, 1)
    assert states.shape == (2000, 3, 7)
    # Of 2,000 uniform draws the extremes miss the ends by 1 % with probability 2e-9.
    least, most = ((end - low) / np.subtract(high, low) for end in (states.min(0), states.max(0)))
    assert (0.0 <= least).all() and (least < 0.01).all()
    assert (0.99 < most).all() and (most <= 1.0).all()


read_mapping = partial(strict_yaml.read_mapping, expected='an arm file starts with name')


@pytest.mark.parametrize(
    ('text', 'value'),
    [
        *(('1e-5', 1e-5), ('3.', 3.0), ('010', 10), ('.inf', float('inf'))),
        *((text, text) for text in ('1:30', '1:30.5', '1_000', '1_0.5', '0x10')),
    ],
)
def test_given_a_scalar_when_read_then_it_is_what_a_person_means(tmp_path, text, value):
    read = read_mapping(write(tmp_path, f'key: {text}'))['key']
    assert read == value
    assert type(read) is type(value)


def test_the_weight_of_an_arm_that_slides_without_limits_has_no_bound():
    rpr = fd.load('rpr')
    strong = with_joint(rpr, 0, limits=replace(rpr.joints[0].limits, effort=3000.0))
    assert doubted_units(strong)
    assert not doubted_units(with_joint(strong, 1, limits=JointLimits()))


ROUNDING = 1e-14  # a rotated base is written as roll, pitch and yaw; all other numbers are exact
N, FER = 7, fd.load('fer')


def written_and_read(arm, tmp_path):
    path = tmp_path / 'arm.yaml'
    path.write_text(arm_file_text(arm), encoding='utf-8')
    return fd.load(path)


SHIPPED = [
    *((arm, name, 'as_listed') for arm in fd.available_arms() for name in fd.available_sets(arm)),
    *(('fr3', 'franka_description', hand) for hand in ('none', 'franka_hand')),
]


def assert_every_field_returns(arm, tmp_path):
    back = written_and_read(arm, tmp_path)
    assert replace(back, file=arm.file) == arm


@pytest.mark.parametrize(('name', 'inertial_set', 'hand'), SHIPPED)
def test_a_saved_shipped_arm_returns_in_every_field(name, inertial_set, hand, tmp_path):
    assert_every_field_returns(fd.load(name, inertial_set, hand=hand), tmp_path)


def random(seed, low, high, *shape):
    return np.random.default_rng(seed).uniform(low, high, shape)


FRICTIONS_AND_LIMITS = [
    (None, JointLimits()),
    (SigmoidFriction(*random(1, 0.1, 9.0, 3, N)), JointLimits(lower=-1.25)),
    (
        ViscousCoulombFriction(
            *random(2, -1.0, 1.0, 3, N), width=0.0375, covariance=random_covariance(3, N, 3)
        ),
        JointLimits(upper=0.1),
    ),
    (
        MaxwellSlipFriction(
            *random(4, -1.0, 1.0, 3, N),
            reach=[0.004, 1.0 / 3.0],
            slip=random(5, -1.0, 1.0, 2, N),
            width=0.0125,
            covariance=random_covariance(6, N, 5),
        ),
        JointLimits(-1.0 / 3.0, 2.0 / 3.0, 1e-5, 1e5, 7.0, 0.3, 1000.0, 0.46, 17.0),
    ),
]


@pytest.mark.parametrize(('friction', 'limits'), FRICTIONS_AND_LIMITS)
def test_any_limits_and_friction_return_from_a_saved_arm(friction, limits, tmp_path):
    joints = (
        replace(joint, limits=limits, rotor_inertia=1e-5 * i) for i, joint in enumerate(FER.joints)
    )
    arm = replace(FER, home=None, friction=friction, joints=tuple(joints), repairs=('moved',))
    arm = arm.with_payload(fd.LinkInertia(0.5, np.array([0.0, 0.01, 0.05]), 0.01 * np.eye(3)))
    assert_every_field_returns(arm, tmp_path)


@pytest.mark.parametrize('rpy', [(0.0, np.pi / 2, 0.4), (0.3, -1.1, 2.0)])  # gimbal lock, any
def test_a_turned_base_returns_from_a_saved_arm(rpy, tmp_path):
    base = pose_from_xyz_rpy((0.1, -0.2, 0.3), rpy)
    back = written_and_read(replace(FER, base=base), tmp_path)
    np.testing.assert_allclose(back.base, base, rtol=0.0, atol=ROUNDING)


@pytest.mark.parametrize(
    'name', ['1e5', '08', '010', '0x1F', '1:30', 'yes', '.5', '1_0', '-3', 'a: b']
)
def test_names_that_yaml_could_take_for_something_else_are_read_back(name, tmp_path):
    arm = replace(with_joint(fd.load('rpr'), 0, name=name), inertial_set=name, source=name)
    found = written_and_read(arm, tmp_path)
    assert (found.inertial_set, found.source, found.joint_names[0]) == (name, name, name)
