# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Arm files: what is read and written, what cannot be saved, and what each refusal names."""

from copy import deepcopy
from dataclasses import replace
from functools import partial
import json
import os
from pathlib import Path
import sys

import numpy as np
import pytest
import yaml

import franka_dynamics as fd
from franka_dynamics import errors
from franka_dynamics.arm import (
    Convention,
    DHRow,
    JointKind,
    MaxwellSlipFriction,
    strict_yaml,
)
from franka_dynamics.arm.arm_fields import Joint, JointLimits
from franka_dynamics.arm.arm_file import arm_file_text
from franka_dynamics.arm.friction import SigmoidFriction, ViscousCoulombFriction
from franka_dynamics.arm.payload import read_payload
from franka_dynamics.arm_io import save
from franka_dynamics.constants import REPAIR_TO_NEAREST
from franka_dynamics.dynamics.sampling import sample_states
from franka_dynamics.errors import DescriptionError
from franka_dynamics.files import share_directory
from franka_dynamics.spatial import pose_from_xyz_rpy
from franka_dynamics.validation.compare_files import compare
from franka_dynamics.validation.crosscheck import compare_formulations

from .test_description import AMPLITUDE, D, EXAMPLE, HAND, MODEL, SLOPE
from ..agreement import refuses
from ..arms import first_joints, random_covariance, with_joint, with_link

FER = fd.load('fer')
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
    place = content
    keys = path.replace('LINK', 'inertial_sets.guess.links.0').split('.')
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
    assert [joint.kind for joint in arm.joints] == [
        JointKind.REVOLUTE,
        JointKind.PRISMATIC,
    ]
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
    [
        ('pi', np.pi),
        ('-pi/2', -np.pi / 2),
        ('3*pi/4', 3 * np.pi / 4),
        ('- .5 pi', -np.pi / 2),
    ],
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
    velocity = description.limit('velocity')
    acceleration = description.limit('acceleration')
    low = [description.limit('lower'), -velocity, -acceleration]
    high = [description.limit('upper'), velocity, acceleration]
    states = np.swapaxes(fd.sample_states(description, 2000, 0), 0, 1)
    assert states.shape == (2000, 3, 7)
    # Of 2,000 uniform draws the extremes miss the ends by 1 % with probability 2e-9.
    least, most = ((end - low) / np.subtract(high, low) for end in (states.min(0), states.max(0)))
    assert (0.0 <= least).all() and (least < 0.01).all()
    assert (0.99 < most).all() and (most <= 1.0).all()


read_mapping = partial(strict_yaml.read_mapping, format_hint='an arm file starts with name')


@pytest.mark.parametrize(
    ('text', 'value'),
    [
        *(('1e-5', 1e-5), ('3.', 3.0), ('010', 10), ('.inf', float('inf'))),
        *((text, text) for text in ('1:30', '1:30.5', '1_000', '1_0.5', '0x10')),
    ],
)
def test_given_a_scalar_when_read_then_it_is_what_a_person_means(tmp_path, text, value):
    read = read_mapping(write(tmp_path, f'key: {text}'))['key']
    assert read == value and type(read) is type(value)


ROUNDING = 1e-14  # a rotated base is written as roll, pitch and yaw; all other numbers are exact
N = 7


def written_and_read(arm, tmp_path):
    path = tmp_path / 'arm.yaml'
    path.write_text(arm_file_text(arm), encoding='utf-8')
    return fd.load(path)


SHIPPED = [
    *((arm, name, 'as_listed') for arm in fd.available_arms() for name in fd.available_sets(arm)),
    *(('fr3', 'franka_description', hand) for hand in ('none', 'franka_hand')),
]


def assert_every_field_returns(arm, tmp_path):
    assert replace(written_and_read(arm, tmp_path), file=arm.file) == arm


@pytest.mark.parametrize(('name', 'inertial_set', 'hand'), SHIPPED)
def test_a_saved_shipped_arm_returns_in_every_field(name, inertial_set, hand, tmp_path):
    assert_every_field_returns(fd.load(name, inertial_set, hand=hand), tmp_path)


def random(seed, low, high, *shape):
    return np.random.default_rng(seed).uniform(low, high, shape)


UNSURE = {'width': 0.0375, 'covariance': random_covariance(3, N, 3)}
FRICTIONS_AND_LIMITS = [
    (None, JointLimits()),
    (SigmoidFriction(*random(1, 0.1, 9.0, 3, N)), JointLimits(lower=-1.25)),
    (
        ViscousCoulombFriction(*random(2, -1.0, 1.0, 3, N), **UNSURE),
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
    (
        ViscousCoulombFriction(
            *random(7, -1.0, 1.0, 3, N),
            covariance=random_covariance(8, N, 4),
            load_dependent=random(9, 0.0, 1.0, N),
        ),
        JointLimits(),
    ),
    (
        MaxwellSlipFriction(
            *random(10, -1.0, 1.0, 3, N),
            reach=[0.004],
            slip=random(11, -1.0, 1.0, 1, N),
            covariance=random_covariance(12, N, 5),
            load_dependent=random(13, 0.0, 1.0, N),
        ),
        JointLimits(),
    ),
    (
        ViscousCoulombFriction(
            *random(14, -1.0, 1.0, 3, N),
            covariance=random_covariance(15, N, 4),
            stribeck=random(16, -1.0, 1.0, N),
            stribeck_speed=1.0 / 3.0,
        ),
        JointLimits(),
    ),
    (
        MaxwellSlipFriction(
            *random(17, -1.0, 1.0, 3, N),
            reach=[0.004],
            slip=random(18, -1.0, 1.0, 1, N),
            covariance=random_covariance(19, N, 6),
            load_dependent=random(20, 0.0, 1.0, N),
            stribeck=random(21, -1.0, 1.0, N),
        ),
        JointLimits(),
    ),
]


@pytest.mark.parametrize(('friction', 'limits'), FRICTIONS_AND_LIMITS)
def test_any_limits_and_friction_return_from_a_saved_arm(friction, limits, tmp_path):
    joints = enumerate(FER.joints)
    joints = tuple(replace(one, limits=limits, rotor_inertia=1e-5 * i) for i, one in joints)
    arm = replace(FER, home=None, friction=friction, joints=joints, repairs=('moved',))
    arm = arm.with_payload(fd.LinkInertia(0.5, np.array([0.0, 0.01, 0.05]), 0.01 * np.eye(3)))
    assert_every_field_returns(arm, tmp_path)


@pytest.mark.parametrize('rpy', [(0.0, np.pi / 2, 0.4), (0.3, -1.1, 2.0)])  # gimbal lock, any
def test_a_turned_base_returns_from_a_saved_arm(rpy, tmp_path):
    base = pose_from_xyz_rpy((0.1, -0.2, 0.3), rpy)
    back = written_and_read(replace(FER, base=base), tmp_path)
    np.testing.assert_allclose(back.base, base, rtol=0.0, atol=ROUNDING)


@pytest.mark.parametrize('name', [*'1e5 08 010 0x1F 1:30 yes .5 1_0 -3'.split(), 'a: b'])
def test_names_that_yaml_may_mistake_are_read_back(name, tmp_path):
    arm = replace(with_joint(fd.load('rpr'), 0, name=name), inertial_set=name, source=name)
    found = written_and_read(arm, tmp_path)
    assert (found.inertial_set, found.source, found.joint_names[0]) == (
        name,
        name,
        name,
    )


FER_TEXT = (share_directory() / 'config/arms/fer.yaml').read_text(encoding='utf-8')
NO_MASS = {'mass': 0.0, 'first_moment': [0.1, 0, 0], 'inertia': [0] * 6}
SIGMOID_OF_ONE = {
    'model': 'sigmoid',
    'amplitude': [1.0],
    'slope': [1.0],
    'offset': [0.0],
}
CYLINDER = {
    'shape': 'cylinder',
    'radius': 0.1,
    'length': 0.5,
    'axis': 'z',
    'density': 100.0,
}
RAGGED = [[1, 0, 0], [0, 1], [0, 0, 1]]


def mapping(path):
    return read_mapping(Path(path))


# A field of an arm file, a wrong value, and what is named beside the file.
WRONG_FIELDS = [
    ('convention', 'craig', 'line 1: convention', "'craig'", 'modified or standard'),
    ('joints', [], '0 joints and 2 links', 'at least one'),
    ('joints.1.name', 'shoulder', "names two joints 'shoulder'"),
    ('joints.0.dh.a', float('inf'), '(shoulder).dh.a is inf; it must be finite'),
    ('joints.0.limits.position', [1.0], 'limits.position must be a list of 2 numbers'),
    (
        'joints.1.dh.alpha',
        -90,
        'joints[2] (slide).dh.alpha is -90 rad, more than a turn',
    ),
    ('joints.1.dh.alpha', 'pi/0', "alpha is 'pi/0', which divides by zero"),
    (
        'joints.1.dh.alhpa',
        0.1,
        'alhpa is not a known field',
        'a, alpha, beta, d, theta',
    ),
    ('joints.0.limits.position', [1.0, -1.0], 'lower limit 1.0'),
    ('joints.0.limits.velocity_offset', 0.1, 'velocity_deceleration, or neither'),
    ('joints.0.limits.effort', 1e9, "joint 'shoulder', effort limit: 1e+09 N m", 'N mm'),
    ('joints.0.rotor_inertia', -0.1, '(shoulder).rotor_inertia is -0.1', 'negative'),
    ('home', [1.5, 0.0], 'home position 1.5 rad of shoulder', '-1 to 1'),
    ('home', [0.0], 'The home pose has shape (1,), expected (2,)'),
    ('simulated_armature', [], 'simulated armature of toy', 'of shape (0,)'),
    ('friction', SIGMOID_OF_ONE, 'friction of toy', '2 jo'),
    ('inertial_sets.guess.hand', 'gripper', "hand is 'gripper'", 'franka_hand'),
    ('LINK.inertia', RAGGED, 'LINK.inertia has rows of different len'),
    ('LINK.first_moment', [0.1, 0, 0], 'and first_moment: give exactly one of the two'),
    ('LINK', NO_MASS, 'LINK.first_moment is not zero although the mass is'),
    (
        'LINK',
        {'primitive': CYLINDER, 'mass': 1.0},
        'LINK.mass stands beside a primitive',
    ),
    ('joints.0.kind', REMOVED, 'joints[1] (shoulder).kind is missing'),
    ('inertial_sets.guess.inertia_about', REMOVED, 'say which with inertia_about'),
]
BY_NUMBERS = {'mass': 1.0, 'center_of_mass': [0.0] * 3, 'inertia': [0.1, 0, 0, 0.1, 0, 0.1]}
OF_SOLIDS = {'source': 'a guess', 'links': [{'primitive': CYLINDER}] * 2}
WRONG_FIELDS += [
    (
        'inertial_sets.guess',
        {**OF_SOLIDS, name: BY_NUMBERS},
        f'inertial_sets.guess.{name}.inertia',
        'say which with inertia_about',
    )
    for name in ('base_link', 'payload')
]
NODE = '{}:\n  ros__parameters: {{payload: [{}, 0, 0, 0.1, 0, 0, 0, 0, 0, 0]}}\n'
TWO_NODES = NODE.format('a', 0.5) + NODE.format('b', 0.7)
PAYLOAD_OF_3 = 'a:\n  ros__parameters: {payload: [0.5, 0, 0]}\n'
# A reader, a text, and what is named beside the file.
TEXTS = [
    (mapping, 'mass: 1\nother: 2\nmass: 3\n', 'line 3: mass is given twice'),
    (mapping, '2019: {}\n', 'line 1: the key 2019 is not a string', 'quotes'),
    (mapping, 'a: [1, 2\n', 'cannot be read as YAML', 'may be cut short'),
    (mapping, '', 'holds no mapping (it is empty or a bare NoneType)'),
    (mapping, '[' * 1200, 'cannot be read as YAML'),
    (
        fd.load,
        FER_TEXT.replace('87.0', '1' * 5000),
        'effort must be a number',
        '5002 characters',
    ),
    (mapping, 'a: 2024-02-30\n', 'cannot be read as YAML'),
    (mapping, 'a: !!bool x\n', 'cannot be read as YAML'),
    (
        fd.load,
        FER_TEXT.replace('87.0', '87000.0', 1),
        'fer_joint1',
        '87000 N m',
        'N mm',
    ),
    (
        fd.load_hand,
        HAND.replace('inertia: [0.001', 'inertia: [0.1'),
        'body that cannot exist',
    ),
    (fd.load_hand, HAND.replace('0.5', '800.0'), 'Are these grams'),
    (fd.load_hand, HAND.replace('0.0, 0.1]', '0.0, 100.0]'), 'Are these millimetres'),
    (read_payload, '{}', 'names no node'),
    (read_payload, TWO_NODES, 'names more than one node (a, b)'),
    (read_payload, PAYLOAD_OF_3, 'A payload, mass, ', 'must be finite'),
]
# A text of Desk's file, and what is named beside the file.
DESK = [
    ('mass: 1', 'cannot be read as JSON'),
    ('[' * 200_000, 'cannot be read as JSON', 'recursion'),
    (json.dumps({**EXAMPLE, 'mass': '0.9'}, indent='\t'), 'mass must be a number'),
    (
        json.dumps(EXAMPLE).replace('"mass": 0.9', '"mass": 0.9, "mass": 2.0'),
        'mass is given',
    ),
    ('{"inertia": [{"a": 1, "a": 2}]}', 'a is given twice; keep one of the two'),
    *(
        (
            json.dumps({k: v for k, v in {**EXAMPLE, **change}.items() if v is not None}),
            *names,
        )
        for change, *names in (
            ({'mass': None}, 'mass is missing'),
            ({'mass': 0}, 'mass is 0; leave the file out for no end effector.'),
            ({'mass': 900}, 'Are these grams'),
            (
                {'inertia': [1, 1e-4, 0, 1.0001e-4, 1, 0, 0, 0, 1]},
                'inertia is not symmetric',
            ),
            ({'inertia': [0.9, 0, 0, 0, 0.1, 0, 0, 0, 0.1]}, 'belongs to no real body'),
        )
    ),
]
IN_FILES = [
    *(
        (
            fd.load,
            'arm.yaml',
            changed(path, value),
            [name.replace('LINK', LINK) for name in names],
        )
        for path, value, *names in WRONG_FIELDS
    ),
    *((read, 'a.yaml', text, names) for read, text, *names in TEXTS),
    *((read, 'a.json', text, n) for text, *n in DESK for read in (fd.load_hand, read_payload)),
]


@pytest.mark.parametrize(('read', 'name', 'content', 'named'), IN_FILES)
def test_a_file_at_fault_is_refused_by_its_path_and_field(read, name, content, named, tmp_path):
    path = write(tmp_path, content, name)
    with refuses((errors.DescriptionError, errors.InertiaError), path, *named):
        read(str(path))


def body(*parameters):
    """Return the FER with another first link."""
    return with_link(FER, 0, fd.LinkInertia.from_parameters(parameters))


UNWRITABLE = [
    (
        with_joint(FER, 0, limits=JointLimits(effort=87e3)),
        "joint 'fer_joint1', effort limit: 87000 N m",
        'N mm',
    ),
    (body(*[1.0] * 3, *[0.0] * 6, -1.0), 'links[1].mass is -1', 'negative'),
    (
        body(*[1.0] * 3, *[0.0] * 3, 0.1, 0.0, 0.0, 0.0),
        'first_moment is not zero altho',
    ),
    (with_joint(FER, 0, name=''), "name must be a string, not ''"),
    (with_joint(FER, 0, row=DHRow(alpha=7.0)), 'alpha is 7 rad, more than a turn'),
    (replace(FER, rated_load=0.0), 'rated_load is 0', 'positive'),
    (
        replace(FER, home=np.full(7, 9.0)),
        'home position 9 rad of fer_joint1 is outside',
    ),
]


@pytest.mark.parametrize(('arm', 'named'), [(arm, named) for arm, *named in UNWRITABLE])
def test_what_load_would_refuse_is_not_written(arm, named, tmp_path):
    with refuses(errors.DescriptionError, *named):
        save(arm, tmp_path / 'arm.yaml')
    assert not [*tmp_path.iterdir()]


class Sticky:
    torque = staticmethod(np.zeros_like)


def toy(count, *names, base=FER.base):
    """Return an arm of joints with names, and a count of links."""
    joints = tuple(Joint(name, JointKind.REVOLUTE, DHRow(a=0.5)) for name in names)
    return fd.ArmDescription('toy', Convention.MODIFIED, joints, FER.links[:count], base=base)


def rounded(inertial_set):
    fd.load('fer', inertial_set, repair=REPAIR_TO_NEAREST)


def friction_of_ones(**more):
    return ViscousCoulombFriction([0.1], [0.1], [0.1], **more)


KNOWN = 'use sigmoid, viscous_coulomb, maxwell_slip'
SCALED = np.diag([1.0, 1.0, 2.0, 1.0])
LOPSIDED = [[1, 0.1, 0], [0, 1, 0], [0, 0, 1]]
NO_NUMBERS = ('1', 'heavy', '1,2,3,nan', '1_0,0,0,0', '1' * 5000)
NUMBERS = ('A payload, mass, x, y, z, xx, ', 'must be finite')
CALLS = {
    errors.UnknownArmError: [
        (lambda: fd.load('ur5'), "'ur5'", 'fer, fr3, fr3v2, fr3v2_1, '),
        (lambda: fd.load('fer', 'gaz'), "'gaz'", 'gaz2019, ledezma'),
        (lambda: fd.load('fer', hand='claw'), "'claw'", 'franka_hand, '),
    ],
    errors.SettingsError: [
        (lambda: sample_states('fer', -1), '-1'),
        (lambda: sample_states('fer', 1, seed=-1), 'seed is -1'),
        (lambda: compare_formulations('fer', count=0), 'count is 0'),
    ],
    errors.DescriptionError: [
        (lambda: fd.load('/no.yaml'), '/no.yaml does not exist'),
        (lambda: mapping('/'), '/ cannot be read'),
        *((lambda f=f: read_payload(f), f) for f in ('/no.yaml', '/no.json')),
        (
            lambda: arm_file_text(replace(FER, friction=Sticky())),
            'Sticky has no',
            KNOWN,
        ),
        (lambda: toy(1, 'a', 'b'), '2 joints and 1 links', 'one link per joint'),
        (lambda: toy(0), 'toy has 0 joints'),
        (lambda: JointLimits(velocity_offset=0.1, velocity_deceleration=-5.0), '-5.0'),
        (lambda: compare(FER, first_joints(FER, 6)), 'has 7 joints', '6; only'),
        *((lambda k=k: FER.with_joint_names(['a'] * k), '7 joints', f'{k} na') for k in (0, 9)),
        (lambda: toy(2, 'a', 'a'), "names two joints 'a'"),
        *((lambda b=b: toy(1, 'a', base=b), 'base pose of toy') for b in (np.eye(3), SCALED)),
        (lambda: DHRow(theta=np.nan), 'theta of a DH row is nan'),
    ],
    errors.InertiaError: [
        *(
            (lambda text=text: read_payload(text), *names)
            for text, *names in (
                *((text, *NUMBERS) for text in NO_NUMBERS),
                ('1,0,0,0,0.1,0,0,-0.1,0,0.1', 'belongs to no real body'),
                ('1,0,0,0,2,0,0,2,0,2', 'have at most 1'),
                ('-1,0,0,0', 'cannot be negative'),
                ('0,0,0,0', 'has no mass'),
                ('900,0,0,0.06', 'Are these grams'),
                ('0.9,0,0,60', 'Are these millimetres'),
            )
        ),
        *(
            (
                lambda m=m, i=i: fd.load('fer', payload=fd.LinkInertia(m, np.zeros(3), i)),
                named,
            )
            for m, i, named in (
                (-1.0, np.eye(3), 'negative'),
                (1.0, -np.eye(3) / 9, 'no real'),
            )
        ),
        (lambda: fd.LinkInertia(np.inf, np.zeros(3), np.eye(3)), 'must be finite'),
        (lambda: fd.LinkInertia(1.0, np.zeros(3), LOPSIDED), 'symmetric'),
        (
            lambda: fd.LinkInertia.zero().expressed_in(np.diag([1, 1, -1, 1])),
            'R a rotation',
        ),
        (lambda: rounded('franka_description'), 'behind fer_joint4', 'add `rounding`'),
    ],
    errors.FrictionError: [
        (
            lambda: SigmoidFriction(D, SLOPE[:6], D),
            'slope of a friction model',
            'of shape (7,)',
        ),
        (
            lambda: SigmoidFriction(AMPLITUDE, SLOPE, [*D[:6], np.nan]),
            'offset of a friction',
        ),
        (lambda: friction_of_ones(width=0.0), 'width of 0.0 rad/s'),
        (lambda: SigmoidFriction(*[RAGGED] * 3), 'must be finite'),
        (lambda: ViscousCoulombFriction(*[RAGGED] * 3), 'must be finite'),
        (lambda: MaxwellSlipFriction(*[RAGGED] * 5), 'must be finite'),
        (lambda: replace(MODEL, reach=[0.004, -0.3]), 'reach ', 'must be positive'),
        (lambda: replace(MODEL, reach=[0.3, 0.3]), 'have the same reach'),
        (
            lambda: replace(MODEL, covariance=[np.eye(4)] * 2),
            'covariance ',
            '(2, 5, 5)',
        ),
        (
            lambda: friction_of_ones(covariance=-np.ones((1, 3, 3))),
            'joint 1',
            'semidefinite',
        ),
        (
            lambda: friction_of_ones(load_dependent=[0.1], covariance=[np.eye(3)]),
            'covariance ',
            '(1, 4, 4)',
        ),
        (lambda: friction_of_ones(load_dependent=[1.0]), 'load_dependent', '1.'),
        (lambda: friction_of_ones(stribeck=[0.1, 0.2]), 'stribeck', '(2,)'),
        (lambda: friction_of_ones(stribeck_speed=0.0), 'stribeck_speed', '0.0'),
        (lambda: friction_of_ones(load_dependent=[-0.1]), 'load_dependent', '-0.1'),
        (lambda: friction_of_ones(load_dependent=[0.1]).torque([1.0]), 'rigid_torque'),
    ],
    errors.JointVectorError: [
        (lambda dq=dq: FER.friction.torque(dq), 'dq ')
        for dq in (0.1, np.zeros(6), np.zeros((7, 3)), 'text', [[0.1], 0.2], [1j] * 7)
    ],
}


@pytest.mark.parametrize(
    ('error', 'call', 'named'),
    [(error, call, named) for error, rows in CALLS.items() for call, *named in rows],
)
def test_a_value_at_fault_is_refused_by_its_name(error, call, named):
    with refuses(error, *named):
        call()


def test_a_repair_without_its_solver_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, 'clarabel', None)
    with refuses(errors.MissingDependencyError, "pip install '.[identify]'"):
        rounded('ledezma2021')
