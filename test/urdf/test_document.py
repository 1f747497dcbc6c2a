# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A wrong URDF is refused in one sentence; limits and notes of a valid one."""

import math

import pytest

from franka_dynamics.arm import load
from franka_dynamics.errors import UrdfError
from franka_dynamics.urdf.document import parse_urdf, read_urdf
from franka_dynamics.urdf.writer import write_urdf

from .urdf_texts import edited, with_elements, without

FER = write_urdf(load('fer'))
JOINT3, LINK3 = "joint[@name='fer_joint3']", "link[@name='fer_link3']"


@pytest.mark.parametrize(
    ('text', 'sentence'),
    [
        ('', 'F: is empty'),
        (FER[:700], 'F: is not well-formed XML: .*cut short'),
        ('<sdf version="1.9"/>', 'F: is SDF, not URDF'),
        ('<robot name="a"/>', 'F: has no links'),
        (
            '<robot xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:arg name="a"/></robot>',
            'F: is a xacro file .*xacro FILE',
        ),
        (
            FER.replace('0 0 0.333', '0 0 0,333'),
            '\'fer_joint1\', <origin>: xyz="0 0 0,333" is no finite',
        ),
        (FER.replace('0 0 0.333', '0 0 0_333'), 'xyz="0 0 0_333" is no finite'),
        (FER.replace('0 0 0.333', '0 0.333'), 'xyz="0 0.333" must be three numbers'),
        (edited(FER, JOINT3, type='hinge'), "joint 'fer_joint3' has the type 'hinge'; URDF knows"),
        (edited(FER, f'{JOINT3}/axis', xyz='0 0 0'), "'fer_joint3' has the axis .*no direction"),
        (edited(FER, f'{JOINT3}/child', link='elbow'), "'fer_joint3' refers to the link 'elbow'"),
        (edited(FER, f'{JOINT3}/child', link='fer_link2'), "'fer_link2' hangs on two joints"),
        (
            edited(FER, f'{JOINT3}/parent', link='fer_link7'),
            'fer_link3, fer_link4, fer_link5, fer_link6, fer_link7, fer_link8 form a loop',
        ),
        (edited(FER, JOINT3, name='fer_joint2'), "two <joint> elements named 'fer_joint2'"),
        (without(FER, JOINT3, 'parent'), "'fer_joint3' names no parent link"),
        (edited(FER, f'{LINK3}/inertial/inertia', iyz=None), "<inertia> has no attribute 'iyz'"),
        (edited(FER, f'{LINK3}/inertial/mass', value='-1'), 'has a mass of -1.0 kg'),
        (
            edited(FER, f'{JOINT3}/limit', lower='3'),
            '<limit>: The lower position limit 3.0',
        ),
        (
            edited(FER, f'{JOINT3}/limit', effort='-3'),
            '<limit>: The effort limit of a joint is -3.0',
        ),
        (without(FER, JOINT3, 'limit'), "'fer_joint3' is revolute without <limit>"),
        (edited(FER, f'{JOINT3}/limit', effort=None), "<limit> has no attribute 'effort'"),
        (with_elements(FER, '<link name="other"/>'), r'has 2 root links \(base, other\)'),
    ],
)
def test_a_text_at_fault_is_refused_in_one_sentence(text, sentence):
    with pytest.raises(UrdfError, match=f'(?s)^F: .*{sentence.removeprefix("F: ")}') as raised:
        parse_urdf(text, 'F')
    assert '\n' not in str(raised.value)


def test_bounds_left_out_are_those_of_the_format():
    joint = parse_urdf(
        '<robot name="a"><link name="a"/><link name="b"/><joint name="j" '
        'type="revolute"><parent link="a"/><child link="b"/>'
        '<limit effort="5" velocity="1e9"/></joint></robot>'
    ).joints['j']
    assert (joint.limits.lower, joint.limits.upper, joint.limits.effort) == (0.0, 0.0, 5.0)
    assert joint.limits.velocity == math.inf


def test_a_declared_encoding_does_not_change_the_names_of_a_text():
    head = '<?xml version="1.0" encoding="latin-1"?>'
    assert parse_urdf(f'{head}<robot name="a"><link name="é"/></robot>').root == 'é'


def test_an_axis_of_length_two_is_noted():
    document = parse_urdf(edited(FER, f'{JOINT3}/axis', xyz='0 0 2'))
    assert document.notes == (
        "joint 'fer_joint3' has an axis of length 2; its direction alone was used.",
    )


def test_an_effort_that_no_joint_has_is_taken_for_none_and_noted():
    document = parse_urdf(edited(FER, f'{JOINT3}/limit', effort='1e6'))
    assert document.joints['fer_joint3'].limits.effort == math.inf
    assert document.notes == ("joint 'fer_joint3' has an effort limit of 1e+06, taken for none.",)


@pytest.mark.parametrize('name', ['effort', 'velocity'])
def test_a_limit_of_zero_is_kept_and_noted(name):
    document = parse_urdf(edited(FER, f'{JOINT3}/limit', **{name: '0'}))
    assert getattr(document.joints['fer_joint3'].limits, name) == 0.0
    (note,) = document.notes
    assert note.startswith(f"joint 'fer_joint3' has a limit of 0 on its {name}")


@pytest.mark.parametrize(
    ('content', 'sentence'),
    [
        (None, r'arm\.urdf cannot be read: No such file or directory\. Correct its path'),
        (
            b'<robot name="\xff"/>',
            r'arm\.urdf cannot be read: byte 13 is not UTF-8; is it a URDF\?$',
        ),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_in_one_sentence(tmp_path, content, sentence):
    path = tmp_path / 'arm.urdf'
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UrdfError, match=sentence):
        read_urdf(path)
