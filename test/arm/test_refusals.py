# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Faults in arm, hand and payload: one sentence each, with the file, the field and the value."""

from dataclasses import replace
import json
from pathlib import Path
import sys

import numpy as np
import pytest

from franka_dynamics import errors
from franka_dynamics.arm import (
    ArmDescription,
    Convention,
    DHRow,
    Joint,
    JointKind,
    JointLimits,
    LinkInertia,
    load,
    load_hand,
    SigmoidFriction,
    ViscousCoulombFriction,
)
from franka_dynamics.arm.arm_file import arm_file_text
from franka_dynamics.arm.payload import read_payload
from franka_dynamics.arm_io import save
from franka_dynamics.dynamics.sampling import sample_states
from franka_dynamics.files import share_directory
from franka_dynamics.names import REPAIR_TO_NEAREST
from franka_dynamics.validation.compare_files import compare
from franka_dynamics.validation.crosscheck import compare_formulations

from .test_arm_file import changed, LINK, read_mapping, REMOVED, write
from .test_friction import AMPLITUDE, D, MODEL, SLOPE
from .test_hands_and_payloads import EXAMPLE, HAND
from ..agreement import refuses
from ..arms import first_joints, with_joint, with_link

FER = load('fer')
FER_TEXT = (share_directory() / 'config/arms/fer.yaml').read_text(encoding='utf-8')
NO_MASS = {'mass': 0.0, 'first_moment': [0.1, 0, 0], 'inertia': [0] * 6}
SIGMOID_OF_ONE = {'model': 'sigmoid', 'amplitude': [1.0], 'slope': [1.0], 'offset': [0.0]}
CYLINDER = {'shape': 'cylinder', 'radius': 0.1, 'length': 0.5, 'axis': 'z', 'density': 100.0}
RAGGED = [[1, 0, 0], [0, 1], [0, 0, 1]]


def mapping(path):
    return read_mapping(Path(path))


# A field of an arm file, a wrong value, and what is named beside the file.
FIELDS = [
    ('convention', 'craig', 'line 1: convention', "'craig'", 'modified or standard'),
    ('joints', [], '0 joints and 2 links', 'at least one'),
    ('joints.1.name', 'shoulder', "more than one joint named 'shoulder'"),
    ('joints.0.dh.a', float('inf'), '(shoulder).dh.a is inf; it must be finite'),
    ('joints.0.limits.position', [1.0], 'limits.position must be a list of 2 numbers'),
    ('joints.1.dh.alpha', -90, 'joints[2] (slide).dh.alpha is -90 rad, more than a turn'),
    ('joints.1.dh.alpha', 'pi/0', "alpha is 'pi/0', which divides by zero"),
    ('joints.1.dh.alhpa', 0.1, 'alhpa is not a known field', 'a, alpha, beta, d, theta'),
    ('joints.0.limits.position', [1.0, -1.0], 'lower position limit 1.0'),
    ('joints.0.limits.velocity_offset', 0.1, 'belong together; give both or neither'),
    ('joints.0.limits.effort', 1e9, 'effort limit of shoulder is 1e+09 N m', 'N mm'),
    ('joints.0.rotor_inertia', -0.1, '(shoulder).rotor_inertia is -0.1', 'negative'),
    ('home', [1.5, 0.0], 'home position 1.5 of shoulder', '-1 to 1'),
    ('home', [0.0], 'The home pose has shape (1,), expected (2,)'),
    ('friction', SIGMOID_OF_ONE, 'friction of toy', '2 jo'),
    ('inertial_sets.guess.hand', 'gripper', "hand is 'gripper'", 'franka_hand'),
    ('LINK.inertia', RAGGED, 'LINK.inertia has rows of different len'),
    ('LINK.first_moment', [0.1, 0, 0], 'and first_moment: give exactly one of the two'),
    ('LINK', NO_MASS, 'LINK.first_moment is not zero although the mass is'),
    ('LINK', {'primitive': CYLINDER, 'mass': 1.0}, 'LINK.mass stands beside a primitive'),
    ('joints.0.kind', REMOVED, 'joints[1] (shoulder).kind is missing'),
    ('inertial_sets.guess.inertia_about', REMOVED, 'say which with inertia_about'),
]
TWO_NODES = ''.join(
    f'{name}:\n  ros__parameters: {{payload: [{mass}, 0, 0, 0.1, 0, 0, 0, 0, 0, 0]}}\n'
    for name, mass in (('a', 0.5), ('b', 0.7))
)
PAYLOAD_OF_3 = 'a:\n  ros__parameters: {payload: [0.5, 0, 0]}\n'
# A reader, a text, and what is named beside the file.
TEXTS = [
    (mapping, 'mass: 1\nother: 2\nmass: 3\n', 'line 3: mass is given twice'),
    (mapping, '2019: {}\n', 'line 1: the key 2019 is not a string', 'quotes'),
    (mapping, 'a: [1, 2\n', 'cannot be read as YAML', 'may be cut short'),
    (mapping, '', 'holds no mapping (it is empty or a bare NoneType)'),
    (mapping, '[' * 1200, 'cannot be read as YAML'),
    (load, FER_TEXT.replace('87.0', '1' * 5000), 'effort must be a number', '5002 characters'),
    (load, FER_TEXT.replace('effort: 87.0', 'effort: 87000.0'), 'fer_joint1', '87000 N m', 'N mm'),
    (load_hand, HAND.replace('inertia: [0.001', 'inertia: [0.1'), 'body that cannot exist'),
    (load_hand, HAND.replace('0.5', '800.0'), 'Are these grams'),
    (load_hand, HAND.replace('0.0, 0.1]', '0.0, 100.0]'), 'Are these millimetres'),
    (read_payload, '{}', 'names no node'),
    (read_payload, TWO_NODES, 'names more than one node (a, b)'),
    (read_payload, PAYLOAD_OF_3, 'A payload, mass, ', 'must be finite numbers'),
]
# A text of Desk's file, and what is named beside the file.
DESK = [
    ('mass: 1', 'no JSON'),
    ('[' * 200_000, 'no JSON object (', 'recursion'),
    (json.dumps(EXAMPLE).replace('"mass": 0.9', '"mass": 0.9, "mass": 2.0'), 'mass is given'),
    ('{"inertia": [{"a": 1, "a": 2}]}', 'a is given twice; keep one of the two'),
    *(
        (json.dumps({k: v for k, v in {**EXAMPLE, **change}.items() if v is not None}), *names)
        for change, *names in (
            ({'mass': None}, 'mass is missing'),
            ({'mass': 0}, 'mass is 0; leave the file out for no end effector.'),
            ({'mass': 900}, 'Are these grams'),
            ({'inertia': [1, 1e-4, 0, 1.0001e-4, 1, 0, 0, 0, 1]}, 'inertia is not symmetric'),
            ({'inertia': [0.9, 0, 0, 0, 0.1, 0, 0, 0, 0.1]}, 'belongs to no real body'),
        )
    ),
]
IN_FILES = [
    *(
        (load, 'arm.yaml', changed(path, value), [name.replace('LINK', LINK) for name in names])
        for path, value, *names in FIELDS
    ),
    *((read, 'a.yaml', text, names) for read, text, *names in TEXTS),
    *((read, 'a.json', text, n) for text, *n in DESK for read in (load_hand, read_payload)),
]


@pytest.mark.parametrize(('read', 'name', 'content', 'named'), IN_FILES)
def test_a_file_at_fault_is_refused_by_its_path_and_field(read, name, content, named, tmp_path):
    path = write(tmp_path, content, name)
    with refuses((errors.DescriptionError, errors.InertiaError), path, *named):
        read(str(path))


def body(*parameters):
    """Return the FER with another first link."""
    return with_link(FER, 0, LinkInertia.from_parameters(parameters))


UNWRITABLE = [
    (with_joint(FER, 0, limits=JointLimits(effort=87e3)), 'fer_joint1 is 87000 N m', 'N mm'),
    (body(*[1.0] * 3, *[0.0] * 6, -1.0), 'links[1].mass is -1', 'negative'),
    (body(*[1.0] * 3, *[0.0] * 3, 0.1, 0.0, 0.0, 0.0), 'first_moment is not zero altho'),
    (with_joint(FER, 0, name=''), "name must be a string, not ''"),
    (with_joint(FER, 0, row=DHRow(alpha=7.0)), 'alpha is 7 rad, more than a turn'),
    (replace(FER, rated_load=0.0), 'rated_load is 0', 'positive'),
    (replace(FER, home=np.full(7, 9.0)), 'home position 9 of fer_joint1 is outside'),
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
    return ArmDescription('toy', Convention.MODIFIED, joints, FER.links[:count], base=base)


def rounded(inertial_set):
    load('fer', inertial_set, repair=REPAIR_TO_NEAREST)


def friction_of_ones(**more):
    return ViscousCoulombFriction([0.1], [0.1], [0.1], **more)


KNOWN = 'use one of sigmoid, viscous_coulomb, maxwell_slip'
SCALED, LOPSIDED = np.diag([1.0, 1.0, 2.0, 1.0]), [[1, 0.1, 0], [0, 1, 0], [0, 0, 1]]
NO_NUMBERS = ('1', 'heavy', '1,2,3,nan', '1_0,0,0,0', '1' * 5000)
NUMBERS = ('A payload, mass, x, y, z, xx, ', 'must be finite numbers')
CALLS = {
    errors.UnknownArmError: [
        (lambda: load('ur5'), "'ur5'", 'fer, fr3, fr3v2, fr3v2_1, '),
        (lambda: load('fer', 'gaz'), "'gaz'", 'gaz2019, ledezma'),
        (lambda: load('fer', hand='claw'), "'claw'", 'franka_hand, '),
    ],
    errors.SettingsError: [
        (lambda: sample_states('fer', -1), '-1'),
        (lambda: sample_states('fer', 1, seed=-1), 'seed is -1'),
        (lambda: compare_formulations('fer', count=0), 'count is 0'),
    ],
    errors.DescriptionError: [
        (lambda: load('/no.yaml'), '/no.yaml does not exist'),
        (lambda: mapping('/'), '/ cannot be read'),
        *((lambda f=f: read_payload(f), f) for f in ('/no.yaml', '/no.json')),
        (lambda: arm_file_text(replace(FER, friction=Sticky())), 'Sticky has no', KNOWN),
        (lambda: toy(1, 'a', 'b'), '2 joints and 1 links', 'one link per joint'),
        (lambda: toy(0), 'toy has 0 joints'),
        (lambda: compare(FER, first_joints(FER, 6)), 'has 7 joints', 'has 6;'),
        *(
            (lambda k=k: FER.with_joint_names(['a', 'b', 'c'] * k), '7 joints', f'{3 * k} names')
            for k in range(4)
        ),
        (lambda: FER.with_joint_names(['a'] * 7), "more than one joint named 'a'"),
        (lambda: toy(2, 'a', 'a'), "more than one joint named 'a'"),
        *((lambda b=b: toy(1, 'a', base=b), 'base pose of toy') for b in (np.eye(3), SCALED)),
        *(
            (lambda f=f: DHRow(**{f: float('nan')}), f'{f} of a Denavit-Hartenberg row is nan')
            for f in ('a', 'alpha', 'd', 'theta')
        ),
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
        (lambda: LinkInertia(np.inf, np.zeros(3), np.eye(3)), 'must be finite'),
        (lambda: LinkInertia(1.0, np.zeros(3), LOPSIDED), 'must be symmetric'),
        (lambda: LinkInertia.zero().expressed_in(np.diag([1, 1, -1, 1])), 'R a rotation'),
        (lambda: rounded('franka_description'), 'behind fer_joint4', 'add `rounding`'),
    ],
    errors.FrictionError: [
        (lambda: SigmoidFriction(D, SLOPE[:6], D), 'slope of a friction model', 'of shape (7,)'),
        (lambda: SigmoidFriction(AMPLITUDE, SLOPE, [*D[:6], np.nan]), 'offset of a friction'),
        (lambda: friction_of_ones(width=0.0), 'width ', 'is 0.0'),
        (lambda: replace(MODEL, reach=[0.004, -0.3]), 'reach ', 'must be positive'),
        (lambda: replace(MODEL, reach=[0.3, 0.3]), 'have the same reach'),
        (lambda: replace(MODEL, covariance=[np.eye(4)] * 2), 'covariance ', '(2, 5, 5)'),
        (lambda: friction_of_ones(covariance=-np.ones((1, 3, 3))), 'joint 1', 'semidefinite'),
    ],
    errors.JointVectorError: [
        (lambda dq=dq: FER.friction.torque(dq), 'expected (..., 7)')
        for dq in (0.1, np.zeros(6), np.zeros((7, 3)))
    ]
    + [
        (lambda dq=dq: FER.friction.torque(dq), 'dq cannot be read as numbers')
        for dq in ('text', [[0.1], 0.2], [1j] * 7)
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
