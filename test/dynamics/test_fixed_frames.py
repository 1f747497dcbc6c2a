# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Frames by the names people use: a hand's, a tool's, the links of a URDF; against Pinocchio."""

import mujoco
import numpy as np
import pinocchio as pin
import pytest

import franka_dynamics as fd
from franka_dynamics.codegen.emit import python_callable
from franka_dynamics.control.external_wrench import WrenchEstimator
from franka_dynamics.validation.crosscheck import FORMULATIONS

from ..agreement import refuses

ARM = fd.load('fr3', hand='franka_hand')
ATOL = 1e-13  # poses within a metre, some 20 products of rotations
# franka_description: the hand on link 8, the centre between its fingers' tips.
HAND = """<link name="fr3_hand"/><link name="fr3_hand_tcp"/><link name="camera"/>
<joint name="a" type="fixed"><origin rpy="0 0 -0.785398163397448279"/>
 <parent link="fr3_link8"/><child link="fr3_hand"/></joint>
<joint name="b" type="fixed"><origin xyz="0 0 0.1034"/>
 <parent link="fr3_hand"/><child link="fr3_hand_tcp"/></joint>
<joint name="c" type="fixed"><origin xyz="0.1 0 0.02" rpy="0.1 -0.7 2"/>
 <parent link="fr3_link5"/><child link="camera"/></joint></robot>"""
# What we call a frame, and Pinocchio in the URDF.
FRAMES = {
    **{name: name for name in ('fr3_hand', 'fr3_hand_tcp', 'camera', 'fr3_link5', 'fr3_link8')},
    **{'flange': 'fr3_link8', 8: 'fr3_link8', 'fr3_joint3': 'fr3_link3', 3: 'fr3_link3'},
}


@pytest.fixture(scope='module')
def urdf(tmp_path_factory):
    path = tmp_path_factory.mktemp('urdf') / 'arm.urdf'
    fd.write_urdf('fr3', path)
    path.write_text(path.read_text().replace('</robot>', HAND))
    return path


@pytest.mark.parametrize('name', FRAMES)
@pytest.mark.parametrize('reference', ['LOCAL', 'WORLD', 'LOCAL_WORLD_ALIGNED'])
def test_frames_of_a_urdf_and_of_a_hand_are_pinocchios(urdf, name, reference):
    native = pin.buildModelFromUrdf(str(urdf))
    data, q = native.createData(), fd.sample_states(ARM, 1).q[0]
    pin.framesForwardKinematics(native, data, q)
    at = native.getFrameId(FRAMES[name], pin.BODY)
    axes = getattr(pin.ReferenceFrame, reference)
    jacobian = pin.computeFrameJacobian(native, data, q, at, axes)
    arms = [fd.load(urdf)] if name == 'camera' else [fd.load(urdf), ARM]
    for formulation in FORMULATIONS.values():
        for model in (formulation(arm, (0.0, 0.0, -9.81)) for arm in arms):
            pose = model.frame_pose(np.stack((q, q)), name)
            np.testing.assert_allclose(pose[1], data.oMf[at].homogeneous, rtol=0.0, atol=ATOL)
            found = model.jacobian(q, name, reference)
            np.testing.assert_allclose(found, jacobian, rtol=0.0, atol=ATOL)


def test_files_keep_the_frames(tmp_path, urdf):
    for arm in (ARM, fd.load(urdf)):
        expected = fd.Model(arm).frame_pose(arm.home, 'fr3_hand_tcp')
        fd.save(arm, tmp_path / 'arm.yaml')
        fd.write_urdf(arm, tmp_path / 'arm.urdf')
        for name in ('arm.yaml', 'arm.urdf'):
            pose = fd.Model(tmp_path / name).frame_pose(arm.home, 'fr3_hand_tcp')
            np.testing.assert_allclose(pose, expected, rtol=0.0, atol=ATOL)
        fd.write_mjcf(arm, tmp_path / 'arm.xml')
        model = mujoco.MjModel.from_xml_path(str(tmp_path / 'arm.xml'))
        data = mujoco.MjData(model)
        data.qpos[:] = arm.home
        mujoco.mj_kinematics(model, data)
        site = data.site('fr3_hand_tcp')
        np.testing.assert_allclose(site.xpos, expected[:3, 3], rtol=0.0, atol=ATOL)
        np.testing.assert_allclose(site.xmat, expected[:3, :3].ravel(), rtol=0.0, atol=ATOL)


def test_a_tool_of_ones_own_has_mass_and_frames(tmp_path):
    text = """name: probe
source: weighed
bodies:
  - {name: probe, xyz: [0, 0, 0.1], rpy: [0, 0, 0],
     primitive: {shape: cylinder, radius: 0.01, length: 0.2, axis: z, mass: 0.4}}
frames:
  - {name: tip, xyz: [0, 0, 0.2], rpy: [pi, 0, 0]}
"""
    (tmp_path / 'probe.yaml').write_text(text)
    arm = fd.load('fr3', hand=str(tmp_path / 'probe.yaml'))
    model = fd.Model(arm)
    tip = np.linalg.inv(model.flange_pose(arm.home)) @ model.frame_pose(arm.home, 'tip')
    expected = np.diag([1.0, -1.0, -1.0, 1.0])
    expected[2, 3] = 0.2
    np.testing.assert_allclose(tip, expected, rtol=0.0, atol=ATOL)
    assert not fd.load('fr3').fixed_frames
    with refuses(fd.FrankaDynamicsError, 'other.yaml', 'frames[1] (tip).joint', 'flange'):
        text = text.replace('name: tip,', 'name: tip, joint: 9,')
        (tmp_path / 'other.yaml').write_text(text)
        fd.load('fr3', hand=str(tmp_path / 'other.yaml'))


def test_a_frame_of_a_hand_that_is_not_mounted_names_the_hand():
    with refuses(fd.FrankaDynamicsError, "'fr3_hand_tcp'", "'franka_hand'", '--hand'):
        fd.Model('fr3').frame_pose(fd.load('fr3').home, 'fr3_hand_tcp')


@pytest.mark.parametrize('frame', ['fr3_hand_tcp', 'fr3_joint3', 'fr3_link8'])
def test_generated_code_and_wrenches_are_of_the_frame(frame):
    model, q = fd.Model(ARM), fd.sample_states(ARM, 1).q[0]
    jacobian = model.jacobian(q, frame)
    for quantity, shape, expected in (
        ('jacobian', (6, 7), jacobian),
        ('flange_pose', (4, 4), model.frame_pose(q, frame)),
    ):
        out = np.zeros(shape)
        equations = fd.customised_equations(ARM, quantity, frame=frame)
        python_callable(equations, np.sin, np.cos)(q, out)
        np.testing.assert_allclose(out, expected, rtol=0.0, atol=ATOL)
    point = WrenchEstimator(model, frame, [0.0, 0.1, 0.0]).jacobian(q)
    arm = model.frame_pose(q, frame)[:3, 1] * 0.1
    moved = jacobian[:3] + np.cross(jacobian[3:], arm, axis=0)
    np.testing.assert_allclose(point, np.vstack((moved, jacobian[3:])), rtol=0.0, atol=ATOL)
