# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What `load` says of a URDF: warnings of what changes torques, refusals, and the flange."""

import warnings

import mujoco
import numpy as np
import pinocchio as pin
import pytest

import franka_dynamics as fd
from franka_dynamics.arm import JointLimits, load
from franka_dynamics.errors import InertiaError, UrdfError, UrdfWarning
from franka_dynamics.urdf.mjcf_writer import mjcf_text
from franka_dynamics.urdf.writer import urdf_text

from .urdf_texts import edited, with_elements, without
from ..agreement import assert_near, refuses

FER = urdf_text(load('fer'))
LINKS = [f'fer_link{i}' for i in range(1, 8)]
JOINT3, LINK3 = "joint[@name='fer_joint3']", "link[@name='fer_link3']"


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
    np.testing.assert_allclose(
        fd.Model(arm).gravity(Q), loaded_at(text, flange), rtol=0.0, atol=1e-13
    )


def test_a_flange_is_chosen():
    text = arm_with(('tool0', FORWARD), ('tcp', SIDEWAYS))
    arm = fd.load(text, tip='tcp', payload=LOAD)
    assert arm.urdf.tip == 'tcp' and not arm.torque_notes
    np.testing.assert_allclose(
        fd.Model(arm).gravity(Q), loaded_at(text, 'tcp'), rtol=0.0, atol=1e-13
    )
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
