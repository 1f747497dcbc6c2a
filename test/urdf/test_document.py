# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""URDFs: the arm in it, its DH rows, limits, notes and warnings, and what is refused."""

import math
import warnings
import xml.etree.ElementTree as ElementTree

import mujoco
import numpy as np
import pinocchio as pin
import pytest

import franka_dynamics as fd
from franka_dynamics.arm import Convention, JointLimits, load
from franka_dynamics.errors import InertiaError, UrdfError, UrdfWarning
from franka_dynamics.urdf.arm_choice import gripper_joints, joint_chains
from franka_dynamics.urdf.file_numbers import judge_file
from franka_dynamics.urdf.importer import joint_names_of_arm
from franka_dynamics.urdf.mjcf_writer import mjcf_text
from franka_dynamics.urdf.reading import parse_robot, read_robot_text
from franka_dynamics.urdf.serial_chain import read_chain
from franka_dynamics.urdf.writer import urdf_text
from franka_dynamics.validation.source_models import compare_with_urdf

from .urdf_texts import (
    assert_as_in_file,
    edited,
    inertial,
    random_chain,
    with_elements,
    without,
)
from ..agreement import assert_near, refuses

FER = urdf_text(load('fer'))
JOINT3 = "joint[@name='fer_joint3']"
LINK3 = "link[@name='fer_link3']"


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
        (with_elements(FER, '<link name="other"/>'), ['several roots', 'base, other']),
        (without(FER, JOINT3, 'parent'), ["'fer_joint3'", 'parent']),
        *((doubled(parent, tag), [where, f'two <{tag}>']) for parent, where, tag in TWICE),
        (SPELT, ['<Inertial>', '<inertial>']),
        *(
            (edited(FER, path, **{key: value}), names)
            for path, key, value, names in (
                (
                    f'{JOINT3}/origin',
                    'xyz',
                    '0 0 0,3',
                    ["'fer_joint3', <origin>", '"0 0 0,3"'],
                ),
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
    assert (joint.limits.lower, joint.limits.upper, joint.limits.effort) == (
        0.0,
        1.0,
        5.0,
    )
    assert joint.limits.velocity == math.inf


@pytest.mark.parametrize(
    'text',
    [
        f'\n <!-- a comment --> {FER}',
        '<!-- a comment -->' * 60 + FER.partition('?>')[2],
        FER.replace('<robot', '<robot xmlns="http://drake.mit.edu"', 1),
        with_elements(FER, '<material name="a"/><material name="a"/>'),
        FER.replace('<axis', '<dynamics damping="0" friction="-1"/><axis'),
    ],
    ids=[
        'blanks before the declaration',
        'comments and no declaration',
        'a namespace',
        'a material twice',
        'negative friction',
    ],
)
def test_what_changes_no_torque_is_no_reason_to_refuse(text):
    arm = fd.import_urdf(text)
    expected = fd.import_urdf(FER)
    assert arm.joint_names == expected.joint_names and fd.crosscheck(arm, count=5).passed
    assert judge_file(parse_robot(text)) == judge_file(parse_robot(FER))


def test_a_declared_encoding_does_not_change_the_names_of_a_text():
    head = '<?xml version="1.0" encoding="latin-1"?>'
    assert [*parse_robot(f'{head}<robot name="a"><link name="é"/></robot>').links] == ['é']


@pytest.mark.parametrize(
    ('path', 'key', 'text', 'limit', 'value', 'note'),
    [
        (
            'axis',
            'xyz',
            '0 0 2',
            'lower',
            -2.8973,
            'has an axis of length 2; its direction alone',
        ),
        (
            'limit',
            'effort',
            '0',
            'effort',
            math.inf,
            'has effort="0" as its limit, taken for',
        ),
        (
            'limit',
            'effort',
            None,
            'effort',
            math.inf,
            'has no effort as its limit, taken for',
        ),
        (
            'limit',
            'velocity',
            None,
            'velocity',
            math.inf,
            'has no velocity as its limit',
        ),
        (
            'limit',
            'velocity',
            '0',
            'velocity',
            math.inf,
            'has velocity="0" as its limit, taken',
        ),
        (
            '.',
            'type',
            'continuous',
            'lower',
            -math.inf,
            'is continuous: its lower and upper',
        ),
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
@pytest.mark.parametrize('stated, expected', [(None, (-math.inf, math.inf)), ('0.5', (0.5, 0.5))])
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


ELEMENTS = 'ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz'
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


def test_without_repair_an_unphysical_arm_is_refused():
    arm, _ = warned(massless(*LINKS))
    assert not fd.Model(arm).mass_matrix(arm.home).any()
    with refuses(InertiaError, 'fer_link3', '<inertial>') as refusal:
        warned(IMPOSSIBLE)[0].require_physical('anything')
    assert 'repair' not in str(refusal.value)  # which a URDF has not


def test_a_urdf_without_masses_has_no_center_of_mass():
    arm, _ = warned(massless(*LINKS))
    with warnings.catch_warnings(), refuses(InertiaError, 'the URDF', 'fer_link3'):
        warnings.simplefilter('error', DeprecationWarning)
        fd.Model(arm).center_of_mass(arm.home)


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
        edited(FER, f'{LINK3}/inertial/inertia', **dict.fromkeys(ELEMENTS, '0')),
    ],
    ids=['no mass', 'a point mass'],
)
def test_an_mjcf_that_mujoco_would_refuse_is_refused_by_link(text):
    arm, _ = warned(text)
    with refuses(InertiaError, 'fer_link', 'MuJoCo'):
        mjcf_text(arm)


@pytest.mark.parametrize('xml', ['<sensor:camera name="rgb"/>', '<a b:c="1"/>'])
def test_an_undeclared_prefix_is_read_as_by_pinocchio(xml):
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
    assert any('fer_joint3' in one and 'limits' in one for one in arm.notes)
    assert fd.crosscheck(arm, count=5).passed and not capfd.readouterr().err


INERTIAL = """<inertial><origin xyz="0.01 0 0.05"/><mass value="1"/>
<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.005"/></inertial>"""
LIMIT = '<limit effort="50" velocity="2" lower="-2" upper="2"/>'
FORWARD, SIDEWAYS = (
    '0 0 0',
    '0 -1.5707963267948966 0',
)  # z, or x, points away from the arm
LOAD = [2.0, 0.01, 0.0, 0.05]
Q = np.array([0.4, -0.7])


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
        (
            (('tool0', FORWARD), ('link_eef', FORWARD, '0 0 0.2')),
            'tool0',
            'link_eef elsewhere',
        ),
        (
            (('tcp', FORWARD), ('camera', FORWARD)),
            'wrist',
            'fixed to it are tcp, camera',
        ),
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
    assert arm.urdf.tip_link == flange and arm.torque_notes == tuple(doubts)
    assert_near(fd.Model(arm).gravity(Q), loaded_at(text, flange), 1e-14)


def test_a_flange_is_chosen():
    text = arm_with(('tool0', FORWARD), ('tcp', SIDEWAYS))
    arm = fd.load(text, tip='tcp', payload=LOAD)
    assert arm.urdf.tip_link == 'tcp' and not arm.torque_notes
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


NAMES = load('fer').joint_names
# A hand with a finger that is driven and one that mimics it, a camera on link 5, a second arm.
HAND = f"""
<link name="fer_hand">{inertial(0.6)}</link><link name="left">{inertial(0.03)}</link>
<link name="right">{inertial(0.04)}</link><link name="tcp"/>
<joint name="hand_joint" type="fixed"><parent link="fer_link8"/><child link="fer_hand"/>
 <origin xyz="0 0 0" rpy="0 0 -0.7853981633974483"/></joint>
<joint name="finger_joint1" type="prismatic"><parent link="fer_hand"/><child link="left"/>
 <origin xyz="0 0 0.0584"/><axis xyz="0 1 0"/><limit lower="0" upper="0.04" effort="9"
 velocity="1"/></joint>
<joint name="finger_joint2" type="prismatic"><parent link="fer_hand"/><child link="right"/>
 <origin xyz="0 0 0.0584"/><axis xyz="0 -1 0"/><limit lower="0" upper="0.04" effort="9"
 velocity="1"/><mimic joint="finger_joint1"/></joint>
<joint name="tcp_joint" type="fixed"><parent link="fer_hand"/><child link="tcp"/>
 <origin xyz="0 0 0.1034"/></joint>"""
CAMERA = f"""<link name="camera">{inertial(0.2)}</link>
<joint name="camera_joint" type="fixed"><parent link="fer_link5"/><child link="camera"/>
 <origin xyz="0.1 0 0.05" rpy="0.4 0.5 0.6"/></joint>"""
SECOND = """<link name="other"/><joint name="other_joint1" type="continuous">
<parent link="base"/><child link="other"/></joint>"""
ROUNDING = 1e-14  # kg m^2: sums of a few tensors of order 1


def pinocchios_inertias(text, names):
    """Return the inertias of the bodies that the named joints move, other joints at zero."""
    model = pin.buildModelFromXML(text)
    others = [i for i, name in enumerate(model.names) if i and name not in names]
    reduced = pin.buildReducedModel(model, others, pin.neutral(model))
    return [reduced.inertias[reduced.getJointId(name)] for name in names]


def assert_inertia(found, expected):
    other = fd.LinkInertia.from_center_of_mass(expected.mass, expected.lever, expected.inertia)
    np.testing.assert_allclose(found.parameters(), other.parameters(), rtol=0.0, atol=ROUNDING)


def assert_links_equal(chain, expected):
    for joint, inertia in zip(chain.joints, expected, strict=True):
        assert_inertia(chain.inertia(joint.child), inertia)


@pytest.mark.parametrize(
    'text',
    [FER, with_elements(FER, HAND + CAMERA + SECOND)],
    ids=['bare', 'hand, camera and second arm'],
)
def test_links_with_bodies_along_the_arm_are_pinocchios(text):
    assert_links_equal(read_chain(text, NAMES), pinocchios_inertias(text, NAMES))


def test_joints_may_have_the_names_of_links():
    text = with_elements(FER, HAND + CAMERA)
    robot = ElementTree.fromstring(text)
    joints = robot.findall('joint')
    links = [joint.find('child').get('link') for joint in joints]
    new = {joint.get('name'): links[i - 1] for i, joint in enumerate(joints)}
    for joint in joints:
        joint.set('name', new[joint.get('name')])
        for mimic in joint.findall('mimic'):
            mimic.set('joint', new[mimic.get('joint')])
    renamed = ElementTree.tostring(robot, encoding='unicode')
    arm = fd.import_urdf(renamed, joint_names=[new[name] for name in NAMES])
    known = fd.import_urdf(text, joint_names=NAMES)
    assert arm.links == known.links and arm.urdf.tip_link == known.urdf.tip_link
    fd.crosscheck(arm, count=5).require()


def test_fingers_get_notes_of_what_is_held_and_what_left_out():
    text = with_elements(FER, HAND + SECOND)
    chain = read_chain(text, NAMES)
    # A finger that follows another one is no branch, and no part of a chain.
    assert set(joint_chains(parse_robot(text))) == {
        (*NAMES, 'finger_joint1'),
        ('other_joint1',),
    }
    assert chain.held_positions == {'finger_joint1': 0.0, 'finger_joint2': 0.0}
    assert gripper_joints(parse_robot(text)) == ('finger_joint1', 'finger_joint2')
    noted = [note.split(':')[0] for note in (*chain.torque_notes, *chain.notes)]
    assert noted == ['finger_joint1 at 0, finger_joint2 at 0', 'other_joint1']
    assert set(chain.tool_links) == {'fer_link7', 'fer_link8', 'fer_hand', 'tcp'}


def test_a_held_joint_stands_at_its_limit_nearest_zero():
    text = with_elements(FER, HAND)
    opened = edited(text, "joint[@name='finger_joint1']/limit", lower='0.01')
    # The other finger follows it.
    moved = edited(text, "joint[@name='finger_joint1']/origin", xyz='0 0.01 0.0584')
    moved = edited(moved, "joint[@name='finger_joint2']/origin", xyz='0 -0.01 0.0584')
    found = read_chain(opened, NAMES).inertia('fer_link7')
    assert_inertia(found, pinocchios_inertias(moved, NAMES)[-1])


LEFT = urdf_text(load('fer', prefix='left_'))
MIMIC = FER.replace('<axis xyz="0 0 1" />', '<axis xyz="0 0 1"/><mimic joint="fer_joint1"/>')


@pytest.mark.parametrize(
    ('text', 'names', 'said'),
    [
        (FER, ('left_joint1',), ["'left_joint1'", 'fer_joint1']),
        (LEFT, NAMES, ["'left_'", '--arm-prefix']),
        (FER, (), ['no joint names']),
        (FER, NAMES[::-1], ['fer_joint7, ', 'this order']),
        (FER, NAMES[1:], ["'fer_joint2'", "revolute joint 'fer_joint1'"]),
        (
            edited(FER, "joint[@name='fer_joint4']", type='fixed'),
            NAMES,
            ["'fer_joint4' is fixed"],
        ),
        (MIMIC, NAMES, ["'fer_joint1' mimics"]),
        (
            edited(FER, "joint[@name='fer_link0_joint']", type='floating'),
            NAMES,
            ["floating joint 'fer_link0_joint'"],
        ),
    ],
)
def test_another_chain_is_refused_by_its_joints(text, names, said):
    with refuses(UrdfError, *said):
        read_chain(text, names)


# Some exporters write a motor as an inertia without mass, and its mass in another link.
ROTOR = inertial(0.0, '0 0 0', '0 0 0', 'ixx="0.5" ixy="0" ixz="0" iyy="0.5" iyz="0" izz="0.5"')


def test_a_body_of_inertia_without_mass_counts():
    text = with_elements(
        FER,
        f'<link name="rotor">{ROTOR}</link><joint name="rotor_joint" type="fixed">'
        '<parent link="fer_link3"/><child link="rotor"/></joint>',
    )
    chain = read_chain(text, NAMES)
    bare = read_chain(FER, NAMES)
    added = (chain.inertia('fer_link3') - bare.inertia('fer_link3')).inertia
    np.testing.assert_allclose(added, 0.5 * np.eye(3), rtol=0.0, atol=ROUNDING)
    assert 'rotor' in chain.links_with_mass['fer_link3']
    empty = without(FER, "link[@name='fer_link7']", 'inertial')
    assert read_chain(empty, NAMES).massless_links == ('fer_link7',)
    text = empty.replace('<link name="fer_link7">', f'<link name="fer_link7">{ROTOR}')
    assert read_chain(text, NAMES).massless_links == ()


def test_the_base_is_all_that_stands_still():
    text = with_elements(
        FER,
        f'<link name="pedestal">{inertial(5.0)}</link><joint name="stand" type="fixed">'
        '<parent link="base"/><child link="pedestal"/><origin xyz="0.1 0 -0.4" rpy="0 0 1"/>'
        f'</joint><link name="box">{inertial(0.7)}</link><joint name="beside" type="fixed">'
        '<parent link="fer_link0"/><child link="box"/><origin xyz="0 0.2 0"/></joint>'
        + SECOND.replace('<link name="other"/>', f'<link name="other">{inertial()}</link>'),
    )
    text = edited(text, "joint[@name='fer_link0_joint']/origin", xyz='0.3 0 0.5', rpy='0.4 0 0.2')
    chain = read_chain(text, NAMES)
    # The second arm moves, and is no part of the base.
    assert_inertia(chain.inertia('base'), pin.buildModelFromXML(text).inertias[0])


FR3 = urdf_text(load('fr3'))


@pytest.mark.parametrize(
    ('text', 'arm', 'first'),
    [
        (urdf_text(load('fer', prefix='a/b_')), 'fer', 'a/b_fer_joint1'),
        (FR3.replace('fr3_', 'left_fr3_'), 'fr3', 'left_fr3_joint1'),
        (FR3.replace('fr3_joint', 'axis'), 'fr3', 'axis1'),
    ],
)
def test_an_arms_names_in_a_urdf_may_have_any_prefix(text, arm, first):
    names = joint_names_of_arm(parse_robot(text), load(arm))
    assert (names[0], len(names)) == (first, 7)


def test_an_arm_of_more_joints_than_the_urdf_has_is_refused():
    with refuses(UrdfError, 'fer has 7', 'rpr_joint1, rpr_joint2, rpr_joint3'):
        joint_names_of_arm(parse_robot(urdf_text(load('rpr'))), load('fer'))


def drawn(seed):
    """Return the URDF of a chain of 1 to 7 joints."""
    rng = np.random.default_rng(seed)
    return random_chain(rng, rng.choice(['revolute', 'revolute', 'prismatic'], rng.integers(1, 8)))


@pytest.mark.parametrize('convention', list(Convention))
@pytest.mark.parametrize('text', [*map(drawn, range(6)), FER, urdf_text(load('rpr'))])
def test_rows_recovered_of_a_chain_move_and_weigh_alike(convention, text):
    arm = fd.import_urdf(text, convention=convention)
    assert arm.convention is convention
    assert_as_in_file(arm, text)
    pose = compare_with_urdf(arm)[0]
    assert pose.difference * pose.size < 1e-12  # m; 2.4e-14 on 400 random chains


def test_rows_recovered_of_frankas_urdf_are_frankas_own_table():
    description = load('fer')
    arm = fd.import_urdf(urdf_text(description))
    assert [one.row for one in arm.joints] == [one.row for one in description.joints]
    assert arm.flange == description.flange
    np.testing.assert_array_equal(arm.base, np.eye(4))


def test_a_tip_that_moves_is_refused_with_the_fixed_ones_listed():
    with refuses(UrdfError, "'fer_link3'", "'fer_link7'", 'fer_link8'):
        fd.import_urdf(urdf_text(load('fer')), tip='fer_link3')
