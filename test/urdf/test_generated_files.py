# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The files in urdf/ are those of the generator; every reader takes them, and other limits."""

from dataclasses import replace
import shutil
import xml.etree.ElementTree as ElementTree

import mujoco
import numpy as np
import pinocchio
import pytest

import franka_dynamics as fd
from franka_dynamics.arm import arm_file, JointLimits, MaxwellSlipFriction
from franka_dynamics.arm.arm_fields import UrdfProvenance
from franka_dynamics.arm.arm_file import is_franka_arm
from franka_dynamics.files import share_directory
from franka_dynamics.urdf.generated_files import (
    exported_arms,
    generated_files,
    robot_file_text,
)
from franka_dynamics.urdf.mjcf_writer import mjcf_text
from franka_dynamics.urdf.serial_chain import read_chain
from franka_dynamics.urdf.writer import urdf_text
from franka_dynamics.validation.source_models import compare_with_urdf

ARMS = pytest.mark.parametrize('arm', exported_arms())
TORQUE = 1e-12  # N m; largest measured 8e-14


def committed(name):
    return share_directory() / 'urdf' / name


def test_the_committed_files_are_what_is_generated_again():
    for name, text in generated_files().items():
        assert committed(name).read_text('utf-8') == text, f'{name}: run make generated'


@ARMS
def test_pinocchio_has_the_torques_of_a_committed_urdf(arm, capfd):
    text = committed(f'{arm}.urdf').read_text(encoding='utf-8')
    description = fd.load(arm)
    tip = f'{arm}_link{description.n + 1}'
    origin = UrdfProvenance('', text, description.joint_names, (), tip)
    for found in compare_with_urdf(replace(description, urdf=origin)):
        assert found.difference * found.size <= TORQUE, found
    captured = capfd.readouterr()
    assert captured.out + captured.err == ''


def test_differences_from_a_urdf_are_of_masses_and_place():
    text = urdf_text(fd.load('fer'))
    other = fd.load('fer', 'franka_description')
    states = fd.sample_states(other, 50)
    between = [fd.NewtonEulerModel(arm).gravity(states.q) for arm in (fd.load('fer'), other)]
    shifted = np.eye(4)
    shifted[1, 3] = 0.1  # m
    origin = UrdfProvenance('', text, other.joint_names, (), 'fer_link8')
    found = compare_with_urdf(replace(other, base=shifted, urdf=origin), states=states)
    place, gravity = (found[i].difference * found[i].size for i in (0, 3))
    worst = np.abs(between[0] - between[1])
    assert gravity == pytest.approx(worst.max(), rel=1e-9) and gravity > 0.5
    assert found[3].joint == other.joint_names[np.argmax(worst.max(axis=0))]
    assert place == pytest.approx(0.1, abs=1e-12) and not any(one.passed for one in found)


@ARMS
@pytest.mark.parametrize('suffix', ['urdf', 'xml'])
def test_mujoco_loads_a_committed_file_with_the_rows_torques(arm, suffix, capfd):
    model = mujoco.MjModel.from_xml_path(str(committed(f'{arm}.{suffix}')))
    captured = capfd.readouterr()
    assert captured.out + captured.err == ''
    # Joint limits, contacts and friction would add torques that are no part of the dynamics.
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    model.dof_damping[:] = 0.0
    described = fd.load(arm)
    if suffix == 'xml' and described.simulated_armature is not None:
        described = described.with_armature()
    data = mujoco.MjData(model)
    states = fd.sample_states(described, 50, 0)
    found = []
    for q, dq, ddq in zip(*states):
        data.qpos[:] = q
        data.qvel[:] = dq
        data.qacc[:] = ddq
        mujoco.mj_inverse(model, data)
        found.append(data.qfrc_inverse.copy())
    expected = fd.NewtonEulerModel(described).inverse_dynamics(*states)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=TORQUE)


@pytest.mark.parametrize('arm', [*filter(is_franka_arm, exported_arms())])
def test_mujoco_finds_no_links_touching_in_the_home_pose(arm):
    model = mujoco.MjModel.from_xml_path(str(committed(f'{arm}.urdf')))
    data = mujoco.MjData(model)

    def touching(q):
        data.qpos[:] = q
        mujoco.mj_forward(model, data)
        return {
            tuple(model.body(model.geom_bodyid[geom]).name for geom in contact.geom)
            for contact in data.contact[: data.ncon]
        }

    home = fd.load(arm).home
    # Base and link 1 touch at joint 1; MuJoCo ignores neighbours' contacts, not the world's.
    neighbours = {('world', f'{arm}_link1')}
    assert touching(home) == neighbours
    assert touching(home + [0.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0]) > neighbours


def test_an_mjcfs_motors_limits_and_home_are_the_described_ones():
    model = mujoco.MjModel.from_xml_path(str(committed('fr3.xml')))
    fr3 = fd.load('fr3')
    limits = [fr3.limit(name) for name in ('lower', 'upper', 'effort')]
    np.testing.assert_array_equal((*model.jnt_range.T, model.actuator_ctrlrange[:, 1]), limits)
    np.testing.assert_allclose(model.key_qpos[0], fr3.home, rtol=0.0, atol=1e-14)
    assert tuple(model.actuator(i).name for i in range(7)) == fr3.joint_names
    np.testing.assert_array_equal(model.actuator_gainprm[:, 0], 1.0)


def test_joints_of_mjcf_are_real_unless_ideal_is_asked_for():
    model = mujoco.MjModel.from_xml_string(robot_file_text(fd.load('fr3'), 'mjcf'))
    np.testing.assert_array_equal(model.dof_armature, [0.195] * 4 + [0.074] * 3)
    np.testing.assert_array_equal(model.dof_damping, np.full(7, 0.21))
    loss = [1.137, 1.137, 1.137, 1.137, 0.763, 0.44, 0.248]  # MuJoCo Menagerie's FR3
    np.testing.assert_array_equal(model.dof_frictionloss, loss)
    ideal = mujoco.MjModel.from_xml_string(robot_file_text(fd.load('fr3'), 'mjcf', ideal=True))
    for values in (ideal.dof_armature, ideal.dof_damping, ideal.dof_frictionloss):
        assert not values.any()


def test_joints_of_unknown_limits_are_read_by_pinocchio():
    rpr = fd.load('rpr')
    free = (replace(joint, limits=JointLimits()) for joint in rpr.joints)
    text = urdf_text(replace(rpr, joints=tuple(free)))
    kinds = [joint.get('type') for joint in ElementTree.fromstring(text).findall('joint')]
    assert [kind for kind in kinds if kind != 'fixed'] == [
        'continuous',
        'prismatic',
        'continuous',
    ]
    origin = UrdfProvenance('', text, rpr.joint_names, (), 'rpr_link4')
    assert all(one.passed for one in compare_with_urdf(replace(rpr, urdf=origin)))


def test_a_stop_at_one_end_and_rotors_are_kept_in_urdf_and_mjcf():
    rpr = fd.load('rpr')
    stops = [(-1.25, np.inf), (-np.inf, 0.3), (-np.inf, 2.5)]
    joints = (
        replace(
            joint,
            limits=replace(joint.limits, lower=lower, upper=upper),
            rotor_inertia=0.2,
        )
        for joint, (lower, upper) in zip(rpr.joints, stops)
    )
    arm = replace(rpr, joints=tuple(joints), home=None)
    read = read_chain(urdf_text(arm), arm.joint_names).joints
    assert [(joint.limits.lower, joint.limits.upper) for joint in read] == stops
    model = ElementTree.fromstring(mjcf_text(arm))
    moving = [joint for joint in model.iter('joint') if joint.get('range')]
    assert [float(joint.get('armature')) for joint in moving] == [0.2] * 3
    ranges = [[float(end) for end in joint.get('range').split()] for joint in moving]
    np.testing.assert_array_equal(ranges, np.clip(stops, -1e9, 1e9))


@pytest.mark.parametrize('write', [urdf_text, mjcf_text])
@pytest.mark.parametrize('scale', [1e-5, 1e-7])
def test_a_tiny_arm_keeps_its_digits(write, scale):
    arm = fd.load('fr3', hand='none')
    links = tuple(fd.LinkInertia.from_parameters(scale * link.parameters()) for link in arm.links)
    arm, state = replace(arm, links=links), fd.sample_states(arm, 20)
    expected = fd.Model(arm).inverse_dynamics(*state)
    found = fd.Model(fd.import_urdf(write(arm))).inverse_dynamics(*state)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-12 * np.abs(expected).max())


def test_a_massless_link_keeps_its_inertia():
    arm = fd.load('fer', hand='none')
    spinning = fd.LinkInertia(0.0, np.zeros(3), np.diag([0.1, 0.1, 0.1]))
    arm = replace(arm, links=(*arm.links[:-1], spinning))
    read = fd.import_urdf(urdf_text(arm))
    found, expected = (fd.Model(one).mass_matrix(arm.home) for one in (read, arm))
    assert expected[6, 6] > 0.09
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-12)


def test_mujoco_and_pinocchio_read_identified_friction():
    rpr = fd.load('rpr')
    ones = np.ones(3)
    friction = MaxwellSlipFriction(0.3 * ones, 0.2 * ones, 0.1 * ones, [0.4 * ones], [0.004])
    arm = replace(rpr, friction=friction)
    # The even part of the torque at 1 rad/s, where every element slips, is viscous and Coulomb.
    sliding = 0.5 * (friction.torque(ones) - friction.torque(-ones))
    read = pinocchio.buildModelFromXML(urdf_text(arm))
    built = mujoco.MjModel.from_xml_string(mjcf_text(arm))
    mujocos = built.dof_damping, built.dof_frictionloss
    for viscous, coulomb in ((read.damping, read.friction), mujocos):
        np.testing.assert_allclose(viscous, friction.viscous, rtol=1e-12, atol=0.0)
        np.testing.assert_allclose(viscous + coulomb, sliding, rtol=1e-12, atol=0.0)


def test_an_arm_file_alone_makes_the_files_of_a_new_arm(tmp_path, monkeypatch):
    shutil.copytree(share_directory() / 'config', tmp_path / 'config')
    text = (tmp_path / 'config/arms/rpr.yaml').read_text('utf-8')
    (tmp_path / 'config/arms/mine.yaml').write_text(text.replace('name: rpr', 'name: mine', 1))
    monkeypatch.setattr(arm_file, 'share_directory', lambda: tmp_path)
    assert {'mine.urdf', 'mine.xml', 'xacro/mine.xacro'} <= set(generated_files())
