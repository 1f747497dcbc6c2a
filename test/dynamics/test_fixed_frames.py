# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Frames by their names, against Pinocchio; inertia and accelerations of frames of any arm."""

from dataclasses import replace

import mujoco
import numpy as np
import pinocchio as pin
import pytest

import franka_dynamics as fd
from franka_dynamics.arm import JointKind, LinkInertia
from franka_dynamics.arm.frames import frame_placement, frame_table
from franka_dynamics.codegen.python_code import python_callable
from franka_dynamics.dynamics.external_torque import WrenchEstimator
from franka_dynamics.errors import InertiaError
from franka_dynamics.urdf.mjcf_writer import mjcf_text
from franka_dynamics.validation.crosscheck import FORMULATIONS

from ..agreement import refuses
from ..arms import random_arm

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
    **{name: name for name in ('base', 'fr3_link0')},
    'c': 'camera',  # a fixed joint
    **{
        'flange': 'fr3_link8',
        8: 'fr3_link8',
        'fr3_joint3': 'fr3_link3',
        3: 'fr3_link3',
    },
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
    data = native.createData()
    q = fd.sample_states(ARM, 1).q[0]
    pin.framesForwardKinematics(native, data, q)
    at = native.getFrameId(FRAMES[name], pin.BODY)
    axes = getattr(pin.ReferenceFrame, reference)
    jacobian = pin.computeFrameJacobian(native, data, q, at, axes)
    arms = [fd.load(urdf)] if name in ('c', 'camera') else [fd.load(urdf), ARM]
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
    model = fd.Model(ARM)
    q = fd.sample_states(ARM, 1).q[0]
    jacobian = model.jacobian(q, frame)
    pose = model.frame_pose(q, frame)
    rows = ('jacobian', (6, 7), jacobian), ('flange_pose', (4, 4), pose)
    for quantity, shape, expected in rows:
        out = np.zeros(shape)
        python_callable(fd.customised_equations(ARM, quantity, frame=frame), np)(q, out)
        np.testing.assert_allclose(out, expected, rtol=0.0, atol=ATOL)
    point = WrenchEstimator(model, frame, [0.0, 0.1, 0.0]).jacobian(q)
    moved = jacobian[:3] + np.cross(jacobian[3:], model.frame_pose(q, frame)[:3, 1] * 0.1, axis=0)
    np.testing.assert_allclose(point, np.vstack((moved, jacobian[3:])), rtol=0.0, atol=ATOL)


# Links in other frames than the DH ones: joints that share a link's name, a link of the base, and
# a `flange` whose x axis points away from the arm, as REP 199 has it, beside `tool0`.
LINK = """<link name="{}"><inertial><origin xyz="0.02 0 0.1"/><mass value="2"/>
<inertia ixx="0.02" ixy="0.001" ixz="0" iyy="0.02" iyz="0" izz="0.01"/></inertial></link>"""
JOINT = """<joint name="{}" type="{}"><origin xyz="{}" rpy="{}"/><parent link="{}"/>
<child link="{}"/><axis xyz="{}"/><limit effort="90" velocity="2" lower="-2" upper="2"/></joint>"""
OTHER_FRAMES = (
    '<robot name="r">'
    + ''.join(f'<link name="{one}"/>' for one in ('world', 'stand', 'eye', 'tool0', 'flange'))
    + ''.join(map(LINK.format, ('shoulder', 'elbow', 'wrist')))
    + JOINT.format('post', 'fixed', '0 0.1 1', '0.3 0 0.2', 'world', 'stand', '1 0 0')
    + JOINT.format('shoulder', 'revolute', '0 0 0.3', '0 0 1', 'stand', 'shoulder', '0 1 0')
    + JOINT.format('wrist_joint', 'prismatic', '.1 0 .4', '.2 .1 0', 'shoulder', 'elbow', '1 0 0')
    + JOINT.format('elbow', 'revolute', '0 0.2 0', '0 0.7 0', 'elbow', 'wrist', '0 0.6 0.8')
    + JOINT.format('a', 'fixed', '0 0 0.1', '0 -1.5707963267949 0', 'wrist', 'flange', '1 0 0')
    + JOINT.format('b', 'fixed', '0 0 0.1', '0 0 0', 'wrist', 'tool0', '1 0 0')
    + JOINT.format('c', 'fixed', '0.1 0 0', '0 1 0', 'stand', 'eye', '1 0 0')
    + '</robot>'
)


def written_again(arm, folder, ending):
    file = folder / f'a.{ending}'
    joints = None if ending == 'yaml' else arm.joint_names
    {'yaml': fd.save, 'urdf': fd.write_urdf, 'xml': fd.write_mjcf}[ending](arm, file)
    return fd.load(file, joints=joints)


@pytest.mark.parametrize('ending', [None, 'yaml', 'urdf', 'xml'])
def test_every_link_and_joint_is_the_frame_of_the_file(ending, tmp_path):
    native = pin.buildModelFromXML(OTHER_FRAMES)
    data = native.createData()
    q = np.array([0.3, -0.2, 0.9])
    pin.framesForwardKinematics(native, data, q)
    arm = fd.load(OTHER_FRAMES)
    if ending:
        arm = written_again(arm, tmp_path, ending)
    # Of 'elbow', a joint and the link of another joint, it is the link.
    moved = {'shoulder': 'shoulder', 'wrist_joint': 'elbow'}
    links = [frame.name for frame in native.frames if frame.type == pin.BODY]
    if ending == 'xml':  # whose root is called world
        links.remove('world')
    for name in (*moved, *links):
        at = native.getFrameId(moved.get(name, name), pin.BODY)
        expected = pin.computeFrameJacobian(native, data, q, at, pin.ReferenceFrame.LOCAL)
        for formulation in FORMULATIONS.values():
            model = formulation(arm, (0.0, 0.0, -9.81))
            pose = model.frame_pose(q, name)
            jacobian = model.jacobian(q, name, 'LOCAL')
            np.testing.assert_allclose(pose, data.oMf[at].homogeneous, rtol=0.0, atol=1e-11)
            np.testing.assert_allclose(jacobian, expected, rtol=0.0, atol=1e-11)


def test_a_frame_of_the_base_does_not_move():
    arm, (q, dq, _) = fd.load(OTHER_FRAMES), fd.sample_states(fd.load(OTHER_FRAMES), 3)
    for formulation in (*FORMULATIONS.values(), fd.BatchModel):
        model = formulation(arm, (0.0, 0.0, -9.81))
        poses = model.frame_pose(q, 'eye')
        np.testing.assert_array_equal(poses, [frame_placement('eye', arm).pose] * 3)
        assert not model.jacobian(q, 'eye').any()
    assert not fd.Model(arm).bias_acceleration(q, dq, 'eye').any()


GRAVITY = (1.0, -2.0, -9.0)
STEP = 1e-5  # errors of differences: STEP^2, and rounding / STEP


def case(seed, **kinds):
    """Return a random arm of six to eight joints (0: an FR3), two states of it and frames."""
    rng = np.random.default_rng(seed)
    arm = random_arm(rng, joints=int(rng.integers(6, 9)), **kinds)
    frames = ('flange', arm.n, int(rng.integers(1, arm.n)))
    if not seed:
        arm = fd.load('fr3', hand='franka_hand')
        frames = (*frames, 'hand_tcp')
    return arm, fd.sample_states(arm, 2, seed), frames


def near(found, expected, rtol):
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=rtol * np.abs(expected).max())


@pytest.mark.parametrize('seed', range(6))
def test_bias_accelerations_are_the_jacobians_change(seed):
    arm, (q, dq, _), frames = case(seed)
    by_exponentials = fd.ExponentialsModel(arm, GRAVITY)
    for frame in frames:
        before, after = (by_exponentials.jacobian(q + h * dq, frame) for h in (-STEP, STEP))
        expected = np.einsum('sij,sj->si', (after - before) / (2.0 * STEP), dq)
        near(fd.Model(arm, GRAVITY).bias_acceleration(q, dq, frame), expected, 1e-8)


@pytest.mark.parametrize('seed', range(4))
def test_a_force_at_the_frame_accelerates_its_inertia(seed):
    # With enough sliding joints some arms cannot turn in every direction.
    arm, (q, dq, _), _ = case(seed, kinds=(JointKind.REVOLUTE,))
    force = np.random.default_rng(seed).normal(size=6)
    for make in FORMULATIONS.values():
        model = make(arm, GRAVITY)
        push = np.einsum('sij,i->sj', model.jacobian(q), force)
        ddq = model.forward_dynamics(q, dq, model.nonlinear_effects(q, dq) + push)
        acceleration = np.einsum('sij,sj->si', model.jacobian(q), ddq)
        inertia = fd.Model(arm, GRAVITY).operational_space_inertia(q)
        np.testing.assert_array_equal(inertia, np.swapaxes(inertia, -1, -2))
        given = np.broadcast_to(force, acceleration.shape)
        near(np.einsum('sij,sj->si', inertia, acceleration), given, 1e-7)


def test_a_singular_posture_has_no_operational_space_inertia():
    with refuses(fd.FrankaDynamicsError, 'singular'):
        fd.Model('fer').operational_space_inertia(np.zeros(7))
    with refuses(fd.FrankaDynamicsError, 'six joints'):
        fd.Model('rpr').operational_space_inertia(np.full(3, 0.1))


def test_a_last_link_without_inertia_has_none_either():
    fer = fd.load('fer', hand='none')
    last = replace(fer.joints[-1], rotor_inertia=0.0)
    links = (*fer.links[:-1], LinkInertia.zero())
    arm = replace(fer, joints=(*fer.joints[:-1], last), links=links)
    for q in (np.asarray(fer.home), np.array([fer.home] * 2)):
        with pytest.raises(InertiaError, match='mass matrix is singular'):
            fd.Model(arm).operational_space_inertia(q)


@pytest.mark.parametrize('seed', range(2))
def test_acceleration_derivatives_are_those_of_differences(seed):
    arm, (q, dq, ddq), _ = case(seed)
    model = fd.Model(arm)
    other = fd.NewtonEulerModel(arm)
    tau = other.inverse_dynamics(q, dq, ddq)
    found = model.forward_dynamics_derivatives(q, dq, tau)
    batch = fd.BatchModel(arm).forward_dynamics_derivatives(q, dq, tau)
    for k in range(2):
        here = fd.linearize(fd.BodyTree.from_description(arm), q[k], dq[k], tau[k])
        expected = here.A[arm.n :, : arm.n], here.A[arm.n :, arm.n :], here.B[arm.n :]
        for one, two, three in zip(found, batch, expected):
            near(one[k], three, 1e-9)
            near(two[k], three, 1e-9)
    slopes = [
        np.subtract(*(other.forward_dynamics(q, dq + h * unit, tau) for h in (STEP, -STEP)))
        for unit in np.eye(arm.n)
    ]
    near(found.by_velocity, np.stack(slopes, axis=-1) / (2.0 * STEP), 1e-5)


def test_no_frame_has_a_prefix_twice(urdf):
    names = [name for name in frame_table(fd.load(urdf)) if isinstance(name, str)]
    assert 'fr3_link5' in names and not [name for name in names if name.count('fr3_') > 1]


def test_an_mjcf_keeps_the_frame_of_the_base():
    arm = fd.load(mjcf_text(fd.load('fr3')))
    np.testing.assert_array_equal(fd.Model(arm).frame_pose(arm.home, 'fr3_link0'), np.eye(4))
