# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The arm in a URDF: its bodies and DH rows against Pinocchio's, and what is refused."""

import xml.etree.ElementTree as ElementTree

import numpy as np
import pinocchio as pin
import pytest

from franka_dynamics import crosscheck, import_urdf
from franka_dynamics.arm import Convention, LinkInertia, load
from franka_dynamics.errors import UrdfError
from franka_dynamics.urdf.arm_choice import gripper_joints, joint_chains
from franka_dynamics.urdf.importer import joint_names_of_arm
from franka_dynamics.urdf.reading import parse_robot
from franka_dynamics.urdf.serial_chain import read_chain
from franka_dynamics.urdf.writer import urdf_text
from franka_dynamics.validation.source_models import compare_with_urdf

from .urdf_texts import (
    assert_as_in_the_file,
    edited,
    inertial,
    random_chain,
    with_elements,
    without,
)
from ..agreement import refuses

NAMES = load('fer').joint_names
FER = urdf_text(load('fer'))
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
    other = LinkInertia.from_center_of_mass(expected.mass, expected.lever, expected.inertia)
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
    arm, known = (
        import_urdf(one, joint_names=names)
        for one, names in ((renamed, [new[name] for name in NAMES]), (text, NAMES))
    )
    assert arm.links == known.links and arm.urdf.tip == known.urdf.tip
    crosscheck(arm, count=5).require()


def test_fingers_get_notes_of_what_is_held_and_what_left_out():
    text = with_elements(FER, HAND + SECOND)
    chain = read_chain(text, NAMES)
    # A finger that follows another one is no branch, and no part of a chain.
    assert set(joint_chains(parse_robot(text))) == {(*NAMES, 'finger_joint1'), ('other_joint1',)}
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
    assert_inertia(
        read_chain(opened, NAMES).inertia('fer_link7'), pinocchios_inertias(moved, NAMES)[-1]
    )


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
        (edited(FER, "joint[@name='fer_joint4']", type='fixed'), NAMES, ["'fer_joint4' is fixed"]),
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
    chain, bare = read_chain(text, NAMES), read_chain(FER, NAMES)
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
def test_an_arms_names_in_a_urdf_have_any_prefix_or_are_those_of_its_chain(text, arm, first):
    names = joint_names_of_arm(parse_robot(text), load(arm))
    assert (names[0], len(names)) == (first, 7)


def test_an_arm_of_more_joints_than_the_urdf_has_is_refused():
    with refuses(UrdfError, 'fer 7', 'rpr_joint1, rpr_joint2, rpr_joint3'):
        joint_names_of_arm(parse_robot(urdf_text(load('rpr'))), load('fer'))


def drawn(seed):
    """Return the URDF of a chain of 1 to 7 joints."""
    rng = np.random.default_rng(seed)
    return random_chain(rng, rng.choice(['revolute', 'revolute', 'prismatic'], rng.integers(1, 8)))


@pytest.mark.parametrize('convention', list(Convention))
@pytest.mark.parametrize(
    'text', [*map(drawn, range(6)), *(urdf_text(load(n)) for n in ('fer', 'rpr'))]
)
def test_rows_recovered_of_a_chain_move_and_weigh_alike(convention, text):
    arm = import_urdf(text, convention=convention)
    assert arm.convention is convention
    assert_as_in_the_file(arm, text)
    pose = compare_with_urdf(arm)[0]
    assert pose.difference * pose.size < 1e-12  # m; 2.4e-14 on 400 random chains


def test_rows_recovered_of_frankas_urdf_are_frankas_own_table():
    description = load('fer')
    arm = import_urdf(urdf_text(description))
    assert [one.row for one in arm.joints] == [one.row for one in description.joints]
    assert arm.flange == description.flange
    np.testing.assert_array_equal(arm.base, np.eye(4))


def test_a_tip_that_moves_is_refused_with_the_fixed_ones_listed():
    with refuses(UrdfError, "'fer_link3'", "'fer_link7'", 'fer_link8'):
        import_urdf(urdf_text(load('fer')), tip='fer_link3')
