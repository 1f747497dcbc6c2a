# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A wrong URDF is refused in one sentence; limits, notes, warnings and the flange of others."""

import math
import warnings
import xml.etree.ElementTree as ElementTree

import mujoco
import numpy as np
import pinocchio as pin
import pytest

import franka_dynamics as fd
from franka_dynamics import crosscheck, import_urdf
from franka_dynamics.arm import JointLimits, load
from franka_dynamics.errors import InertiaError, UrdfError, UrdfWarning
from franka_dynamics.urdf.mjcf_writer import mjcf_text
from franka_dynamics.urdf.plausibility import find_implausible_values
from franka_dynamics.urdf.reading import parse_robot, read_robot_text
from franka_dynamics.urdf.writer import urdf_text

from .urdf_texts import edited, with_elements, without
from ..agreement import assert_near, refuses

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
        parse_robot(text, 'F')


def test_a_bound_left_out_is_that_of_the_format():
    joint = parse_robot(
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
    assert find_implausible_values(parse_robot(text)) == find_implausible_values(parse_robot(FER))


def test_a_declared_encoding_does_not_change_the_names_of_a_text():
    head = '<?xml version="1.0" encoding="latin-1"?>'
    assert [*parse_robot(f'{head}<robot name="a"><link name="é"/></robot>').links] == ['é']


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
    document = parse_robot(edited(FER, f'{JOINT3}/{path}', **{key: text}))
    assert getattr(document.joints['fer_joint3'].limits, limit) == value
    assert [one.startswith(f"joint 'fer_joint3' {note}") for one in document.notes] == [True]


def test_a_file_that_cannot_be_read_is_refused_by_name(tmp_path):
    (tmp_path / 'latin.urdf').write_bytes(b'<robot name="\xff"/>')
    for name, said in (('missing.urdf', 'No such file'), ('latin.urdf', 'byte 13')):
        with refuses(UrdfError, name, said):
            read_robot_text(tmp_path / name)


@pytest.mark.parametrize('kind', ['revolute', 'prismatic'])
@pytest.mark.parametrize(
    ('stated', 'expected'), [(None, (-math.inf, math.inf)), ('0.5', (0.5, 0.5))]
)
def test_bounds_that_are_left_out_or_equal_are_noted(kind, stated, expected):
    text = edited(FER, f'{JOINT3}/limit', lower=stated, upper=stated)
    if kind == 'prismatic':
        text = edited(text, JOINT3, type=kind)
    read = parse_robot(text)
    limits = read.joints['fer_joint3'].limits
    assert (limits.lower, limits.upper) == expected
    (note,) = (one for one in read.notes if 'fer_joint3' in one)
    assert all(word in note for word in ((stated,) if stated else ('lower', 'upper')))


LINKS = [f'fer_link{i}' for i in range(1, 8)]


def warned(text):
    """Return the arm of a text and the sentences that `load` warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        arm = fd.load(text)
    assert all(one.category is UrdfWarning for one in caught)
    return arm, [str(one.message) for one in caught]


def massless(*links):
    text = FER
    for link in links:
        text = without(text, f"link[@name='{link}']", 'inertial')
    return text


IMPOSSIBLE = edited(FER, f'{LINK3}/inertial/inertia', iyy='-0.5')


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        (FER, []),
        (massless('fer_link3', 'fer_link5'), [["'fer_link3', 'fer_link5'"]]),
        (massless(*LINKS), [['the URDF', *LINKS, 'zero']]),
        (IMPOSSIBLE, [['fer_link3', '<inertia>', 'iyy="-0.5"'], ['refuse']]),
    ],
    ids=['sound', 'two links without mass', 'no masses', 'an impossible tensor'],
)
def test_what_changes_torques_is_warned_of_by_link_and_entry(text, expected):
    _, sentences = warned(text)
    for sentence, words in zip(sentences, expected, strict=True):
        assert [word for word in words if word not in sentence] == [], sentence


@pytest.mark.parametrize('door', [fd.load, fd.Model, fd.BatchModel, fd.base_parameters])
def test_a_warning_names_the_line_that_gave_the_arm(door):
    with pytest.warns(UrdfWarning) as caught:
        door(massless('fer_link3'))
    assert {one.filename for one in caught} == {__file__}


def test_an_arm_without_masses_has_no_torques_and_an_impossible_one_is_refused_without_repair():
    arm, _ = warned(massless(*LINKS))
    assert not fd.Model(arm).mass_matrix(arm.home).any()
    with refuses(InertiaError, 'fer_link3', '<inertial>') as refusal:
        warned(IMPOSSIBLE)[0].require_physical('anything')
    assert 'repair' not in str(refusal.value)  # which a URDF has not


def test_an_mjcf_of_unknown_efforts_loads():
    text = FER
    for i in range(1, 8):
        text = edited(text, f"joint[@name='fer_joint{i}']/limit", effort='0')
    arm, _ = warned(text)
    model = mujoco.MjModel.from_xml_string(mjcf_text(arm, ideal=True))
    data = mujoco.MjData(model)
    data.qpos[:] = arm.home
    mujoco.mj_forward(model, data)
    reading = pin.buildModelFromXML(text)
    weight = pin.computeGeneralizedGravity(reading, reading.createData(), arm.home)
    assert_near(data.qfrc_bias, weight, 1e-9)


@pytest.mark.parametrize(
    'text',
    [
        massless('fer_link7'),
        edited(
            FER,
            f'{LINK3}/inertial/inertia',
            **dict.fromkeys(('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz'), '0'),
        ),
    ],
    ids=['no mass', 'a point mass'],
)
def test_an_mjcf_that_mujoco_would_refuse_is_refused_by_link(text):
    arm, _ = warned(text)
    with refuses(InertiaError, 'fer_link', 'MuJoCo'):
        mjcf_text(arm)


@pytest.mark.parametrize('xml', ['<sensor:camera name="rgb"/>', '<a b:c="1"/>'])
def test_a_prefix_that_is_not_declared_is_read_as_pinocchio_reads_it(xml):
    text = with_elements(FER, f'<gazebo>{xml}</gazebo>')
    arm, _ = warned(text)
    assert any('not declared' in note for note in arm.notes)
    reading = pin.buildModelFromXML(text)
    weight = pin.computeGeneralizedGravity(reading, reading.createData(), arm.home)
    assert_near(fd.Model(arm).gravity(arm.home), weight, 1e-9)


@pytest.mark.parametrize('kind', ['revolute', 'prismatic'])
def test_a_joint_without_limits_loads_with_none_as_is_said(kind, capfd):
    text = FER if kind == 'revolute' else edited(FER, JOINT3, type=kind)
    arm = fd.load(without(text, JOINT3, 'limit'))
    assert arm.joints[2].kind.value == kind and arm.joints[2].limits == JointLimits()
    assert 'joint fer_joint3 has no limits; none are assumed.' in arm.notes
    assert fd.crosscheck(arm, count=5).passed and not capfd.readouterr().err


INERTIAL = """<inertial><origin xyz="0.01 0 0.05"/><mass value="1"/>
<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.005"/></inertial>"""
LIMIT = '<limit effort="50" velocity="2" lower="-2" upper="2"/>'
FORWARD, SIDEWAYS = '0 0 0', '0 -1.5707963267948966 0'  # z, or x, points away from the arm
LOAD, Q = [2.0, 0.01, 0.0, 0.05], np.array([0.4, -0.7])


def arm_with(*tools):
    """Return a URDF of two joints, about y and about z, with links fixed behind them."""
    fixed = ''.join(
        f'<link name="{name}"/><joint name="to_{name}" type="fixed"><origin '
        f'xyz="{"".join(xyz) or "0 0 0.1"}" rpy="{rpy}"/><parent link="wrist"/>'
        f'<child link="{name}"/></joint>'
        for name, rpy, *xyz in tools
    )
    return f"""<robot name="r"><link name="base"/><link name="arm">{INERTIAL}</link>
<link name="wrist">{INERTIAL}</link>
<joint name="a" type="revolute"><origin xyz="0 0 0.3"/><parent link="base"/><child link="arm"/>
 <axis xyz="0 1 0"/>{LIMIT}</joint>
<joint name="b" type="revolute"><origin xyz="0 0 0.4"/><parent link="arm"/><child link="wrist"/>
 <axis xyz="0 0 1"/>{LIMIT}</joint>{fixed}</robot>"""


@pytest.mark.parametrize(
    'tools, flange, said',
    [
        *((((name, FORWARD),), name, '') for name in ('tool0', 'ur5e_tool0', 'attachment_site')),
        *((((name, FORWARD),), name, '') for name in ('end_effector_link', 'EndEffector_Link')),
        *((((name, FORWARD),), name, '') for name in ('lbr_link_ee', 'link_eef', 'x_link3')),
        ((('flange', FORWARD),), 'flange', ''),
        ((('flange', SIDEWAYS), ('tool0', FORWARD)), 'tool0', ''),
        ((('flange', SIDEWAYS),), 'flange', '+x axis points away'),
        ((('tool0', '3.14159265358979 0 0'),), 'tool0', '-z axis points away'),
        ((('tool0', FORWARD), ('link_eef', FORWARD, '0 0 0.2')), 'tool0', 'link_eef elsewhere'),
        ((('tcp', FORWARD), ('camera', FORWARD)), 'wrist', 'fixed to it are tcp, camera'),
        ((('unstool0', FORWARD),), 'wrist', 'fixed to it are unstool0'),
        ((), 'wrist', "'wrist' is taken"),
    ],
)
def test_a_payload_is_on_the_flange_that_the_file_names(tools, flange, said):
    text = arm_with(*tools)
    bare = fd.load(text)
    doubts = [note for note in bare.notes if 'payload counts' in note]
    assert len(doubts) == bool(said) and said in ' '.join(doubts) and not bare.torque_notes
    with pytest.warns(UrdfWarning) if said else np.errstate():  # with a payload it is of torque
        arm = fd.load(text, payload=LOAD)
    assert arm.urdf.tip == flange and arm.torque_notes == tuple(doubts)
    assert_near(fd.Model(arm).gravity(Q), loaded_at(text, flange), 1e-14)


def test_a_flange_is_chosen():
    text = arm_with(('tool0', FORWARD), ('tcp', SIDEWAYS))
    arm = fd.load(text, tip='tcp', payload=LOAD)
    assert arm.urdf.tip == 'tcp' and not arm.torque_notes
    assert_near(fd.Model(arm).gravity(Q), loaded_at(text, 'tcp'), 1e-14)
    with refuses(UrdfError, "'arm'", 'tool0, tcp'):
        fd.load(text, tip='arm')
    with refuses(fd.FrankaDynamicsError, 'fr3', 'tip'):
        fd.load('fr3', tip='tcp')


def loaded_at(text, link):
    """Return Pinocchio's gravity torques with LOAD on a link."""
    model = pin.buildModelFromXML(text)
    frame = model.frames[model.getFrameId(link, pin.BODY)]
    body = pin.Inertia(LOAD[0], np.array(LOAD[1:]), np.zeros((3, 3)))
    model.appendBodyToJoint(frame.parentJoint, body, frame.placement)
    return pin.computeGeneralizedGravity(model, model.createData(), Q)


def test_what_an_arm_was_read_from_is_shown_without_its_text():
    assert len(repr(fd.load(arm_with()).urdf)) < 500
