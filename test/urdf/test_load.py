# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What `load` says of a URDF: warnings of what changes torques, refusals with a fix."""

import warnings

import mujoco
import pinocchio as pin
import pytest

import franka_dynamics as fd
from franka_dynamics.arm import JointLimits, load
from franka_dynamics.errors import InertiaError, UrdfWarning
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


def test_warnings_are_bounded_in_number():
    text = FER
    for link in LINKS:
        text = edited(text, f"link[@name='{link}']/inertial/inertia", iyy='-0.5')
    arm, sentences = warned(text)
    assert len(sentences) < len(arm.torque_notes)


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
        massless('fer_link3'),
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
    with refuses(InertiaError, 'fer_link3', 'MuJoCo'):
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
