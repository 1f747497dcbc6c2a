# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The files in urdf/ are those of the generator; every reader takes them, and other limits."""

from dataclasses import replace
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree

import mujoco
import numpy as np
import pinocchio
import pytest

from franka_dynamics.arm import arm_file, JointLimits, LinkInertia, load, MaxwellSlipFriction
from franka_dynamics.arm.arm_file import is_franka
from franka_dynamics.arm.urdf_provenance import UrdfProvenance
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.dynamics.sampling import sample_states
from franka_dynamics.resources import share_directory
from franka_dynamics.urdf.importer import import_urdf
from franka_dynamics.urdf.mjcf_writer import mjcf_text
from franka_dynamics.urdf.serial_chain import read_chain
from franka_dynamics.urdf.writer import urdf_text
from franka_dynamics.urdf.xacro_writer import exported_arms, generated_files, robot_text
from franka_dynamics.validation.pinocchio_urdf_model import compare_with_urdf

FILES = generated_files()
ARMS = pytest.mark.parametrize('arm', exported_arms())
TORQUE = 1e-12  # N m; largest measured 8e-14


def committed(name):
    return share_directory() / 'urdf' / name


@pytest.mark.parametrize('name', sorted(FILES))
def test_a_committed_file_is_what_is_generated_again(name):
    assert committed(name).read_text(encoding='utf-8') == FILES[name], 'run: make generated'


@ARMS
def test_pinocchio_reads_a_committed_urdf_in_silence_with_the_rows_torques(arm, capfd):
    text, description = committed(f'{arm}.urdf').read_text(encoding='utf-8'), load(arm)
    tip = f'{arm}_link{description.n + 1}'
    origin = UrdfProvenance('', text, description.joint_names, tip)
    for found in compare_with_urdf(replace(description, urdf=origin)):
        assert found.difference * found.size <= TORQUE, found
    captured = capfd.readouterr()
    assert captured.out + captured.err == ''


def test_differences_from_a_urdf_are_those_of_its_masses_and_its_place():
    text, other = urdf_text(load('fer')), load('fer', 'franka_description')
    states = sample_states(other, 50)
    between = [NewtonEulerModel(arm).gravity(states.q) for arm in (load('fer'), other)]
    shifted = np.eye(4)
    shifted[1, 3] = 0.1  # m
    origin = UrdfProvenance('', text, other.joint_names, 'fer_link8')
    found = compare_with_urdf(replace(other, base=shifted, urdf=origin), states=states)
    place, gravity = (found[i].difference * found[i].size for i in (0, 3))
    worst = np.abs(between[0] - between[1])
    assert gravity == pytest.approx(worst.max(), rel=1e-9) and gravity > 0.5
    assert found[3].joint == other.joint_names[np.argmax(worst.max(axis=0))]
    assert place == pytest.approx(0.1, abs=1e-12)
    assert not any(one.passed for one in found)


@ARMS
@pytest.mark.parametrize('suffix', ['urdf', 'xml'])
def test_mujoco_loads_a_committed_file_with_the_rows_torques(arm, suffix, capfd):
    model = mujoco.MjModel.from_xml_path(str(committed(f'{arm}.{suffix}')))
    captured = capfd.readouterr()
    assert captured.out + captured.err == ''
    # Joint limits, contacts and friction would add torques that are no part of the dynamics.
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    model.dof_damping[:] = 0.0
    described = load(arm)
    if suffix == 'xml' and described.simulated_armature is not None:
        described = described.with_armature()
    data, states, found = mujoco.MjData(model), sample_states(described, 50, 0), []
    for q, dq, ddq in zip(*states):
        data.qpos[:], data.qvel[:], data.qacc[:] = q, dq, ddq
        mujoco.mj_inverse(model, data)
        found.append(data.qfrc_inverse.copy())
    expected = NewtonEulerModel(described).inverse_dynamics(*states)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=TORQUE)


@pytest.mark.parametrize('arm', [*filter(is_franka, exported_arms())])
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

    home = load(arm).home
    # The base and link 1 touch at joint 1; MuJoCo ignores contacts of neighbours, but not with
    # the world.
    neighbours = {('world', f'{arm}_link1')}
    assert touching(home) == neighbours
    folded = home + [0.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0]
    assert touching(folded) > neighbours


def test_an_mjcfs_motors_limits_and_home_are_the_described_ones():
    model, fr3 = mujoco.MjModel.from_xml_path(str(committed('fr3.xml'))), load('fr3')
    limits = [fr3.limit(name) for name in ('lower', 'upper', 'effort')]
    np.testing.assert_array_equal((*model.jnt_range.T, model.actuator_ctrlrange[:, 1]), limits)
    np.testing.assert_allclose(model.key_qpos[0], fr3.home, rtol=0.0, atol=1e-14)
    assert tuple(model.actuator(i).name for i in range(7)) == fr3.joint_names
    np.testing.assert_array_equal(model.actuator_gainprm[:, 0], 1.0)


@pytest.mark.parametrize('arm', ['fr3', 'rpr'])
def test_sdformat_keeps_every_moving_link_of_a_committed_urdf(arm):
    tool = shutil.which('ign') or shutil.which('gz')
    if tool is None:
        pytest.skip('no sdformat command line (Debian: ignition-tools and libsdformat-dev)')
    path, options = str(committed(f'{arm}.urdf')), {'capture_output': True, 'text': True}
    checked = subprocess.run([tool, 'sdf', '-k', path], timeout=600, check=False, **options)
    if 'sdf' not in checked.stdout + checked.stderr and checked.returncode == 1:
        pytest.skip('the installed ign or gz has no sdf verb (Debian: libsdformat-dev)')
    assert checked.stdout == 'Valid.\n'
    messages = [line for line in checked.stderr.splitlines() if 'libignition-tools' not in line]
    assert messages == []
    printed = subprocess.run([tool, 'sdf', '-p', path], timeout=600, check=True, **options).stdout
    model = ElementTree.fromstring(printed[printed.index('<sdf') :]).find('model')
    description = load(arm)
    joints = [(joint.get('name'), joint.get('type')) for joint in model.findall('joint')]
    moving = tuple(name for name, kind in joints if kind != 'fixed')
    assert moving == description.joint_names
    masses = [float(link.find('inertial/mass').text) for link in model.findall('link')]
    expected = [link.mass for link in description.links]
    np.testing.assert_allclose(masses[1:], expected, rtol=1e-9, atol=0.0)


def test_joints_of_mjcf_are_like_the_real_ones_unless_the_ideal_arm_is_asked_for():
    model = mujoco.MjModel.from_xml_string(robot_text(load('fr3'), 'mjcf'))
    np.testing.assert_array_equal(model.dof_armature, [0.195] * 4 + [0.074] * 3)
    np.testing.assert_array_equal(model.dof_damping, np.full(7, 0.21))
    loss = [1.137, 1.137, 1.137, 1.137, 0.763, 0.44, 0.248]  # MuJoCo Menagerie's FR3
    np.testing.assert_array_equal(model.dof_frictionloss, loss)
    ideal = mujoco.MjModel.from_xml_string(robot_text(load('fr3'), 'mjcf', ideal=True))
    for values in (ideal.dof_armature, ideal.dof_damping, ideal.dof_frictionloss):
        assert not values.any()


def test_joints_of_unknown_limits_are_read_by_pinocchio():
    rpr = load('rpr')
    free = (replace(joint, limits=JointLimits()) for joint in rpr.joints)
    text = urdf_text(replace(rpr, joints=tuple(free)))
    kinds = [joint.get('type') for joint in ElementTree.fromstring(text).findall('joint')]
    assert [kind for kind in kinds if kind != 'fixed'] == ['continuous', 'prismatic', 'continuous']
    origin = UrdfProvenance('', text, rpr.joint_names, 'rpr_link4')
    assert all(one.passed for one in compare_with_urdf(replace(rpr, urdf=origin)))


def test_a_stop_at_one_end_and_rotors_are_kept_in_urdf_and_mjcf():
    rpr = load('rpr')
    stops = [(-1.25, np.inf), (-np.inf, 0.3), (-np.inf, 2.5)]
    joints = (
        replace(joint, limits=replace(joint.limits, lower=lower, upper=upper), rotor_inertia=0.2)
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
    arm = load('fr3', hand='none')
    links = tuple(LinkInertia.from_parameters(scale * link.parameters()) for link in arm.links)
    arm, state = replace(arm, links=links), sample_states(arm, 20)
    expected = PinocchioModel(arm).inverse_dynamics(*state)
    found = PinocchioModel(import_urdf(write(arm))).inverse_dynamics(*state)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-12 * np.abs(expected).max())


def test_a_massless_link_keeps_its_inertia():
    arm = load('fer', hand='none')
    spinning = LinkInertia(0.0, np.zeros(3), np.diag([0.1, 0.1, 0.1]))
    arm = replace(arm, links=(*arm.links[:-1], spinning))
    read = import_urdf(urdf_text(arm))
    found, expected = (PinocchioModel(one).mass_matrix(arm.home) for one in (read, arm))
    assert expected[6, 6] > 0.09
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-12)


def test_a_urdf_names_the_rotor_inertias_that_it_cannot_hold():
    arm = load('fer')
    joints = (*arm.joints[:-1], replace(arm.joints[-1], rotor_inertia=0.5))
    comment = urdf_text(replace(arm, joints=joints)).partition('<!--')[2].partition('-->')[0]
    assert 'fer_joint7' in comment and '0.5' in comment and 'fer_joint6' not in comment
    assert 'rotor' not in urdf_text(arm)


def test_mujoco_and_pinocchio_read_the_friction_of_an_identified_arm():
    rpr, ones = load('rpr'), np.ones(3)
    friction = MaxwellSlipFriction(0.3 * ones, 0.2 * ones, 0.1 * ones, [0.4 * ones], [0.004])
    arm = replace(rpr, friction=friction)
    # The even part of the torque at 1 rad/s, where every element slips, is viscous and Coulomb.
    sliding = 0.5 * (friction.torque(ones) - friction.torque(-ones))
    urdf, mjcf = urdf_text(arm), mjcf_text(arm)
    read = pinocchio.buildModelFromXML(urdf)
    built = mujoco.MjModel.from_xml_string(mjcf)
    for viscous, coulomb in (
        (read.damping, read.friction),
        (built.dof_damping, built.dof_frictionloss),
    ):
        np.testing.assert_allclose(viscous, friction.viscous, rtol=1e-12, atol=0.0)
        np.testing.assert_allclose(viscous + coulomb, sliding, rtol=1e-12, atol=0.0)
    for text in (urdf, mjcf):
        assert 'offsets of efforts [N m]: 0.1 0.1 0.1' in text
    for text in (urdf_text(load('fer')), mjcf_text(load('fer'))):
        assert 'Left out: SigmoidFriction' in text


def test_an_arm_file_alone_makes_the_files_of_a_new_arm(tmp_path, monkeypatch):
    shutil.copytree(share_directory() / 'config', tmp_path / 'config')
    text = (tmp_path / 'config/arms/rpr.yaml').read_text('utf-8')
    (tmp_path / 'config/arms/mine.yaml').write_text(text.replace('name: rpr', 'name: mine', 1))
    monkeypatch.setattr(arm_file, 'share_directory', lambda: tmp_path)
    assert {'mine.urdf', 'mine.xml', 'xacro/mine.xacro'} <= set(generated_files())
