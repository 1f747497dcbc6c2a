# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A wrong URDF is refused in one sentence; limits and notes of a valid one."""

import math
import xml.etree.ElementTree as ElementTree

import pytest

from franka_dynamics import crosscheck, import_urdf
from franka_dynamics.arm import load
from franka_dynamics.errors import UrdfError
from franka_dynamics.urdf.plausibility import find_implausible_values
from franka_dynamics.urdf.reading import parse_urdf, read_urdf
from franka_dynamics.urdf.writer import urdf_text

from .urdf_texts import edited, with_elements, without
from ..agreement import refuses

FER = urdf_text(load('fer'))
JOINT3, LINK3 = "joint[@name='fer_joint3']", "link[@name='fer_link3']"


def doubled(parent, tag):
    """Return the FER's URDF with a second element of a tag in a parent."""
    robot = ElementTree.fromstring(FER)
    element = robot.find(parent)
    element.append(element.find(tag))
    return ElementTree.tostring(robot, encoding='unicode')


LOOP = ', '.join(f'fer_link{i}' for i in range(3, 9))
XACRO = '<robot xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:arg name="a"/></robot>'
SPELT = FER.replace('<inertial>', '<Inertial>').replace('</inertial>', '</Inertial>')
BODY3 = f'{LINK3}/inertial'
TWICE = [
    *((JOINT3, "joint 'fer_joint3'", tag) for tag in 'parent child origin axis limit'.split()),
    (LINK3, "link 'fer_link3'", 'inertial'),
    *((BODY3, "link 'fer_link3', <inertial>", tag) for tag in ('mass', 'inertia', 'origin')),
]


@pytest.mark.parametrize(
    ('text', 'names'),
    [
        ('', ['is empty']),
        (FER[:700], ['XML', 'cut short']),
        ('<sdf version="1.9"/>', ['SDF']),
        ('<robot name="a"/>', ['no links']),
        ('<robot><link name="a"/></robot>', ['<robot>', 'name="']),
        (XACRO, ['xacro FILE']),
        (with_elements(FER, '<link name="other"/>'), ['2 root links', 'base, other']),
        (without(FER, JOINT3, 'parent'), ["'fer_joint3'", 'parent']),
        *((doubled(parent, tag), [where, f'two <{tag}>']) for parent, where, tag in TWICE),
        (SPELT, ['<Inertial>', '<inertial>']),
        *(
            (edited(FER, path, **{key: value}), names)
            for path, key, value, names in (
                (f'{JOINT3}/origin', 'xyz', '0 0 0,3', ["'fer_joint3', <origin>", '"0 0 0,3"']),
                (f'{JOINT3}/origin', 'xyz', '0 0 0_3', ['"0 0 0_3"']),
                (f'{JOINT3}/origin', 'xyz', '0 0.3', ['"0 0.3"', 'three']),
                (f'{JOINT3}/axis', 'xyz', '0 0 0', ["'fer_joint3'", 'no direction']),
                (JOINT3, 'type', 'hinge', ["'fer_joint3'", "'hinge'"]),
                (JOINT3, 'name', 'fer_joint2', ['two <joint>', "'fer_joint2'"]),
                (f'{JOINT3}/child', 'link', 'elbow', ["'fer_joint3'", "'elbow'"]),
                (f'{JOINT3}/child', 'link', 'fer_link2', ["'fer_link2'", 'two joints']),
                (f'{JOINT3}/parent', 'link', 'fer_link7', [LOOP, 'loop']),
                (f'{BODY3}/inertia', 'iyz', None, ['<inertia>', "'iyz'"]),
                (f'{BODY3}/mass', 'value', '-1', ['-1.0 kg']),
                (f'{JOINT3}/limit', 'lower', '3', ['<limit>', 'lower', '3.0']),
                (f'{JOINT3}/limit', 'effort', '-3', ['<limit>', 'effort', '-3.0']),
            )
        ),
    ],
)
def test_a_text_at_fault_is_refused_naming_the_place(text, names):
    with refuses(UrdfError, 'F: ', *names):
        parse_urdf(text, 'F')


def test_a_bound_left_out_is_that_of_the_format():
    joint = parse_urdf(
        '<robot name="a"><link name="a"/><link name="b"/><joint name="j" '
        'type="revolute"><parent link="a"/><child link="b"/>'
        '<limit upper="1" effort="5" velocity="1e9"/></joint></robot>'
    ).joints['j']
    assert (joint.limits.lower, joint.limits.upper, joint.limits.effort) == (0.0, 1.0, 5.0)
    assert joint.limits.velocity == math.inf


@pytest.mark.parametrize(
    'text',
    [
        f'\n <!-- a comment --> {FER}',
        FER.replace('<robot', '<robot xmlns="http://drake.mit.edu"', 1),
        with_elements(FER, '<material name="a"/><material name="a"/>'),
        FER.replace('<axis', '<dynamics damping="0" friction="-1"/><axis'),
    ],
    ids=['blanks before the declaration', 'a namespace', 'a material twice', 'negative friction'],
)
def test_what_changes_no_torque_is_no_reason_to_refuse(text):
    arm, expected = import_urdf(text), import_urdf(FER)
    assert arm.joint_names == expected.joint_names
    assert crosscheck(arm, count=5).passed
    assert find_implausible_values(parse_urdf(text)) == find_implausible_values(parse_urdf(FER))


def test_a_declared_encoding_does_not_change_the_names_of_a_text():
    head = '<?xml version="1.0" encoding="latin-1"?>'
    assert [*parse_urdf(f'{head}<robot name="a"><link name="é"/></robot>').links] == ['é']


@pytest.mark.parametrize(
    ('path', 'key', 'text', 'limit', 'value', 'note'),
    [
        ('axis', 'xyz', '0 0 2', 'lower', -2.8973, 'has an axis of length 2; its direction alone'),
        ('limit', 'effort', '0', 'effort', math.inf, 'has effort="0" as its limit, taken for'),
        ('limit', 'effort', None, 'effort', math.inf, 'has no effort as its limit, taken for'),
        ('limit', 'velocity', None, 'velocity', math.inf, 'has no velocity as its limit'),
        ('limit', 'velocity', '0', 'velocity', math.inf, 'has velocity="0" as its limit, taken'),
        ('.', 'type', 'continuous', 'lower', -math.inf, 'is continuous: its lower and upper'),
    ],
)
def test_numbers_that_are_not_meant_are_noted(path, key, text, limit, value, note):
    document = parse_urdf(edited(FER, f'{JOINT3}/{path}', **{key: text}))
    assert getattr(document.joints['fer_joint3'].limits, limit) == value
    assert [one.startswith(f"joint 'fer_joint3' {note}") for one in document.notes] == [True]


def test_a_file_that_cannot_be_read_is_refused_by_name(tmp_path):
    (tmp_path / 'latin.urdf').write_bytes(b'<robot name="\xff"/>')
    for name, said in (('missing.urdf', 'No such file'), ('latin.urdf', 'byte 13')):
        with refuses(UrdfError, name, said):
            read_urdf(tmp_path / name)


@pytest.mark.parametrize('kind', ['revolute', 'prismatic'])
@pytest.mark.parametrize(
    ('stated', 'expected'), [(None, (-math.inf, math.inf)), ('0.5', (0.5, 0.5))]
)
def test_bounds_that_are_left_out_or_equal_are_noted(kind, stated, expected):
    text = edited(FER, f'{JOINT3}/limit', lower=stated, upper=stated)
    if kind == 'prismatic':
        text = edited(text, JOINT3, type=kind)
    read = parse_urdf(text)
    limits = read.joints['fer_joint3'].limits
    assert (limits.lower, limits.upper) == expected
    (note,) = (one for one in read.notes if 'fer_joint3' in one)
    assert all(word in note for word in ((stated,) if stated else ('lower', 'upper')))
