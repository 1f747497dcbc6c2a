# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The flange of a foreign file: taken by its name or chosen, and never guessed without a word."""

import numpy as np
import pinocchio as pin
import pytest

import franka_dynamics as fd
from franka_dynamics.errors import UrdfError, UrdfWarning

from ..agreement import refuses

INERTIAL = """<inertial><origin xyz="0.01 0 0.05"/><mass value="1"/>
<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.005"/></inertial>"""
LIMIT = '<limit effort="50" velocity="2" lower="-2" upper="2"/>'
FORWARD, SIDEWAYS = '0 0 0', '0 -1.5707963267948966 0'  # z, or x, points away from the arm
LOAD, Q = [2.0, 0.01, 0.0, 0.05], np.array([0.4, -0.7])


def arm_with(*tools):
    """Return a URDF of two joints, about y and about z, with links fixed behind them."""
    fixed = ''.join(
        f'<link name="{name}"/><joint name="to_{name}" type="fixed"><origin xyz="0 0 0.1" '
        f'rpy="{rpy}"/><parent link="wrist"/><child link="{name}"/></joint>'
        for name, rpy in tools
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
