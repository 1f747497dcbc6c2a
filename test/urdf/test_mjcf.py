# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""MJCF as `load` reads it, against MuJoCo's inverse dynamics and Pinocchio's own reader."""

import re
import sys

import mujoco
import numpy as np
import pinocchio as pin
import pytest

import franka_dynamics as fd
from franka_dynamics.errors import AmbiguousUrdfError, UrdfError
from franka_dynamics.urdf.importer import import_urdf
from franka_dynamics.urdf.mjcf_writer import mjcf_text
from franka_dynamics.validation.urdf_check import checked_arm_from_urdf

from ..agreement import refuses

RTOL = 1e-12
ARM = """<mujoco model="two_link"><compiler angle="degree"/>
<default><joint armature="0.1" damping="0.3" frictionloss="0.5"/></default>
<worldbody><body name="base">
 <body name="upper" pos="0 0 0.3" quat="1 1 0 0">
  <inertial pos="0.1 0 0.02" mass="2" fullinertia="0.02 0.03 0.025 0.001 0 0.002"/>
  <joint name="shoulder" axis="0 0 1" range="-100 100" actuatorfrcrange="-80 80"/>
  <geom type="mesh" mesh="missing"/>
  <body name="fore" pos="0.4 0 0.1" euler="20 -40 70">
   <inertial pos="0.15 0.01 0" mass="1" diaginertia="0.002 0.01 0.01" quat="0.9 0.1 0.2 -0.3"/>
   {joints}
   <site name="tool" pos="0.3 0 0" euler="0 30 0" material="worn"/>
  </body></body></body></worldbody>
<asset><mesh name="missing" file="missing.stl"/><texture name="t" type="2d" file="missing.png"/>
<material name="worn" texture="t"/></asset>
<actuator><motor joint="elbow" ctrlrange="-4 4" gear="10"/></actuator>
<keyframe><key name="home" qpos="0.3 0.5"/></keyframe></mujoco>"""
PLAIN = '<joint name="elbow" axis="0 0 1" range="0 140"/>'
# Away from the body's origin, about a slanted axis, at 30 degrees where the body stands as given.
MOVED = '<joint name="elbow" axis="1 2 -1" pos="0.1 -0.05 0.02" range="-40 140" ref="30"/>'
SLIDE = '<joint name="elbow" type="slide" axis="0 1 1" pos="0.1 0 0" range="-0.2 0.6"/>'
GEOMS = """<mujoco model="geoms"><worldbody><body name="upper" pos="0 0 0.3">
 <joint name="shoulder" axis="0 1 0" range="-100 100"/>
 <geom type="capsule" fromto="0 0 0 0.4 0 0" size="0.04" density="2700"/>
 <body pos="0.4 0 0"><joint axis="0 1 0"/><joint axis="0 0 1" pos="0 0.1 0"/>
  <geom type="box" pos="0.15 0 0" size="0.15 0.03 0.02" mass="0.8"/></body>
</body></worldbody></mujoco>"""

TWINS = """<mujoco><worldbody><body name="left_arm"><joint name="left_turn"/>
 <inertial pos="0 0 0.1" mass="1" diaginertia="0.01 0.01 0.01"/></body>
<body name="right_arm" pos="0 1 0"><joint name="right_turn"/>
 <inertial pos="0 0 0.1" mass="2" diaginertia="0.01 0.01 0.01"/></body></worldbody></mujoco>"""
BALL = '<inertial pos="0 0 0.1" mass="1" diaginertia="0.01 0.01 0.01"/>'
FREE = f'<mujoco><worldbody><body><freejoint name="free"/>{BALL}'
HINGE = f'<body><joint name="turn"/>{BALL}</body>'


def by_mujoco(text, q, dq, ddq):
    """Return the torque by mj_inverse without what the models do not have."""
    spec = mujoco.MjSpec.from_string(text.replace('material="worn"', ''))
    meshed = (geom for geom in spec.geoms if geom.meshname)
    for one in (*meshed, *spec.meshes, *spec.materials, *spec.textures):
        spec.delete(one)
    for joint in spec.joints:
        joint.armature = 0.0
        joint.frictionloss = 0.0
        joint.damping = np.zeros_like(joint.damping)
    model = spec.compile()
    model.opt.disableflags = mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    data = mujoco.MjData(model)
    data.qpos[:] = q
    data.qvel[:] = dq
    data.qacc[:] = ddq
    mujoco.mj_inverse(model, data)
    return data


@pytest.mark.parametrize('joints', [PLAIN, MOVED, SLIDE])
def test_an_mjcf_moves_as_in_mujoco(joints):
    text = ARM.format(joints=joints)
    arm = fd.load(text)
    for q, dq, ddq in zip(*fd.sample_states(arm, 5)):
        data = by_mujoco(text, q, dq, ddq)
        tau = fd.Model(arm).inverse_dynamics(q, dq, ddq)
        np.testing.assert_allclose(tau, data.qfrc_inverse, rtol=0.0, atol=RTOL * np.abs(tau).max())
        for name, there in (('tool', data.site('tool')), ('fore', data.body('fore'))):
            pose = fd.Model(arm).frame_pose(q, name)
            np.testing.assert_allclose(pose[:3, 3], there.xpos, rtol=0.0, atol=RTOL)
            np.testing.assert_allclose(pose[:3, :3].ravel(), there.xmat, rtol=0.0, atol=RTOL)
    assert fd.crosscheck(arm, count=5).passed


def test_an_mjcf_is_read_as_by_pinocchio(tmp_path):
    text = ARM.format(joints=PLAIN).replace('<geom type="mesh" mesh="missing"/>', '')
    (tmp_path / 'arm.xml').write_text(text)
    arm = fd.load(tmp_path / 'arm.xml')
    native = pin.buildModelFromMJCF(str(tmp_path / 'arm.xml'))
    native.armature = np.zeros(2)
    data = native.createData()
    for q, dq, ddq in zip(*fd.sample_states(arm, 5)):
        tau = pin.rnea(native, data, q, dq, ddq)
        found = fd.Model(arm).inverse_dynamics(q, dq, ddq)
        np.testing.assert_allclose(found, tau, rtol=0.0, atol=RTOL * np.abs(tau).max())
    assert fd.compare(arm, text).passed
    assert not fd.compare(arm, text.replace('mass="1"', 'mass="1.001"')).passed


@pytest.mark.parametrize('elbow', ['tool_fixed', 'fore_fixed'])
def test_a_joint_may_have_any_name(elbow):
    arm = fd.load(ARM.format(joints=MOVED).replace('"elbow"', f'"{elbow}"'))
    assert arm.joint_names == ('shoulder', elbow) and fd.crosscheck(arm, count=5).passed


def test_limits_drives_and_home_are_those_of_the_file():
    arm = fd.load(ARM.format(joints=PLAIN))
    assert arm.joint_names == ('shoulder', 'elbow')
    np.testing.assert_allclose(arm.limit('upper'), np.radians([100.0, 140.0]), rtol=1e-15)
    assert arm.limit('effort').tolist() == [80.0, 40.0]
    assert np.isinf(arm.limit('velocity')).all() and arm.home.tolist() == [0.3, 0.5]
    assert arm.simulated_armature.tolist() == [0.1, 0.1]
    friction = arm.simulated_friction
    assert friction.viscous.tolist() == [0.3, 0.3] and friction.coulomb.tolist() == [
        0.5,
        0.5,
    ]
    assert arm.friction is None


def test_inertias_from_geoms_and_two_joints_of_a_body_are_read():
    arm = fd.load(GEOMS)
    assert arm.n == 3
    said = ' '.join(arm.notes)
    assert 'upper' in said and 'geoms' in said
    for q, dq, ddq in zip(*fd.sample_states(arm, 3)):
        data = by_mujoco(GEOMS, q, dq, ddq)
        tau = fd.Model(arm).inverse_dynamics(q, dq, ddq)
        np.testing.assert_allclose(tau, data.qfrc_inverse, rtol=0.0, atol=RTOL * np.abs(tau).max())


@pytest.mark.parametrize(
    ('old', 'new', 'said'),
    [
        (
            'mass="2"',
            'mass="90"',
            ("body 'upper', inertial mass", 'all other moving bodies'),
        ),
        ('"0.02 0.03 0.025', '"20 30 25', ("body 'upper', inertial fullinertia",)),
        ('0.002 0.01 0.01', '2e-7 2e-7 2e-7', ("body 'fore', inertial diaginertia",)),
        (
            'pos="0.15',
            'pos="15',
            ("body 'fore', inertial pos", "'elbow', actuatorfrcrange"),
        ),
        (
            'name="base"',
            'name="base" euler="0 90 0"',
            ('the MJCF mounts', 'root world'),
        ),
        (
            ARM,
            GEOMS,
            ("body 'upper', mass of its geoms", 'inertia is computed from the geoms'),
        ),
        ('qpos="0.3', 'qpos="9', ('shoulder: the key "home" is outside the limits',)),
        (
            ARM,
            TWINS,
            ("bodies 'left_arm' and 'right_arm', inertial diagi", 'branch of the MJCF'),
        ),
    ],
)
@pytest.mark.filterwarnings('ignore::franka_dynamics.errors.UrdfWarning')
def test_notes_name_bodies_and_attributes_of_the_mjcf(old, new, said):
    text = ARM.replace(old, new, 1).format(joints=PLAIN)
    notes = ' '.join(fd.load(text, joints=('left_turn',) if new == TWINS else None).notes)
    assert all(one in notes for one in said), notes
    assert not re.search('link|URDF|<', notes)


@pytest.mark.parametrize(
    ('text', 'options', 'said'),
    [
        (
            f'{FREE}{HINGE}</body></worldbody></mujoco>',
            {},
            ('free or ball', 'base stands'),
        ),
        (
            f'{FREE}</body></worldbody></mujoco>',
            {'joint_names': ['free']},
            ('hinge or a slide',),
        ),
        (
            ARM.format(joints=PLAIN),
            {'tip': 'upper'},
            ("body 'upper' is not fixed to 'fore'",),
        ),
    ],
)
def test_refusals_name_what_an_mjcf_has(text, options, said):
    with refuses(UrdfError, 'the MJCF', *said):
        import_urdf(text, **options)


def test_an_mjcf_on_a_topic_is_checked_as_a_urdf_is():
    text = mjcf_text(fd.load('fr3', 'franka_description', hand='none'))
    arm, verdict = checked_arm_from_urdf(text, fd.load('fr3'))
    assert (verdict.inertial_set, verdict.hand_in_urdf) == (
        'franka_description',
        'none',
    )
    assert fd.crosscheck(arm, count=5).passed
    site = '<site name="fr3_link8" pos="0 0 0.107" euler="0 0 0" />'
    assert text.count(site) == 1
    notes = checked_arm_from_urdf(text.replace(site, ''), fd.load('fr3'))[1].notes
    assert 'flange' in ' '.join(notes)
    with refuses(UrdfError, 'fr3_hand', 'inertial or geom'):
        checked_arm_from_urdf(text.replace(site, f'{site}<body name="fr3_hand"/>'), fd.load('fr3'))


@pytest.mark.parametrize('given', ['fr3', 'fr3v2_1', GEOMS])  # GEOMS: two joints of a body
def test_what_is_written_as_mjcf_is_read_again(given, tmp_path):
    arm = fd.load(given)
    fd.write_mjcf(arm, tmp_path / 'arm.xml')
    again = fd.load(tmp_path / 'arm.xml')
    assert fd.compare(arm, again).passed and fd.crosscheck(again, count=5).passed
    for key in ('home', 'simulated_armature'):
        if getattr(arm, key) is not None:
            np.testing.assert_allclose(getattr(again, key), getattr(arm, key), rtol=1e-14)


def test_the_cross_check_sees_an_import_that_is_not_the_file(tmp_path, monkeypatch):
    path = tmp_path / 'arm.xml'
    path.write_text(ARM.format(joints=PLAIN).replace('<geom type="mesh" mesh="missing"/>', ''))
    arm = fd.load(path)
    path.write_text(path.read_text().replace('mass="1"', 'mass="1.001"'))
    assert 'MuJoCo' in ' '.join(fd.crosscheck(arm, count=5).findings)


def test_what_cannot_be_read_is_one_sentence(tmp_path, monkeypatch):
    (tmp_path / 'arm.xml').write_text('<mujoco><worldbody><bodi/></worldbody></mujoco>')
    with refuses(fd.FrankaDynamicsError, 'arm.xml', 'MuJoCo', 'bodi'):
        fd.load(tmp_path / 'arm.xml')
    monkeypatch.setitem(sys.modules, 'mujoco', None)
    with refuses(fd.FrankaDynamicsError, 'MJCF', "pip install '.[sim]'"):
        fd.load(ARM.format(joints=PLAIN))
    monkeypatch.delitem(sys.modules, 'mujoco')
    (tmp_path / 'mujoco.py').write_text('None.eglQueryString')  # as PyOpenGL without libEGL
    monkeypatch.syspath_prepend(tmp_path)
    with refuses(fd.FrankaDynamicsError, 'MJCF', 'eglQueryString', 'MUJOCO_GL'):
        fd.load(ARM.format(joints=PLAIN))


OPTION = '<mujoco model="two_link">', '<mujoco model="two_link"><option {}/>'
ELBOW = ('name="elbow"', 'name="elbow" {}')
UPPER = ('name="upper"', 'name="upper" {}')


@pytest.mark.parametrize(
    ('where', 'words', 'said'),
    [
        (OPTION, 'gravity="0 0 -1.62"', 'gravity (0, 0, -1.62)'),
        (OPTION, 'density="1000"', 'density'),
        (('<default>', '<option><flag {}/></option><default>'), 'gravity="disable"',
         'gravity (0, 0, 0)'),
        (UPPER, 'gravcomp="1"', 'upper: gravity is compensated'),
        (ELBOW, 'armature="0.7"', 'elbow: armature'),
        (ELBOW, 'damping="0.7"', 'elbow: damping'),
        (ELBOW, 'frictionloss="0.7"', 'elbow: frictionloss'),
        (ELBOW, 'stiffness="3"', 'elbow: the joint spring'),
        (ELBOW, 'damping="0 2"', 'elbow: nonlinear damping'),
        (('<actuator>', '<tendon><fixed><joint joint="elbow" {}/></fixed></tendon><actuator>'),
         'coef="1"', '1 tendon'),
        (('<actuator>', '<equality><joint joint1="elbow" {}/></equality><actuator>'),
         'polycoef="0.1"', '1 equality constraint'),
        (('gear="10"', 'gear="10" {}'), 'armature="1" damping="2"',
         '1 actuator with armature or damping'),
    ],
)  # fmt: skip
def test_each_word_that_is_in_no_model_is_said_once(where, words, said):
    bare = re.sub('<default>.*</default>', '<default></default>', ARM)
    old, new = where
    text = bare.format(joints=PLAIN).replace(old, new.format(words), 1)
    assert words in text
    known = fd.load(bare.format(joints=PLAIN))
    try:
        arm = fd.load(text)
    except UrdfError:
        assert int(mujoco.__version__[0]) < 4  # which has one coefficient of damping
        return
    notes = [one for one in arm.notes if one not in known.notes]
    assert len(notes) == 1 and said in notes[0]
    assert (notes[0] in arm.torque_notes) == ('gravity' in said)
    assert fd.crosscheck(arm, count=5).passed
    q = fd.sample_states(arm, 3).q
    np.testing.assert_array_equal(fd.Model(arm).gravity(q), fd.Model(known).gravity(q))


def test_an_object_beside_the_arm_changes_no_torque():
    cube = '<body name="cube" gravcomp="1"><freejoint/><geom size="0.1"/></body>'
    text = ARM.format(joints=PLAIN).replace('<body name="base">', f'{cube}<body name="base">', 1)
    arm = fd.load(text.replace('qpos="0.3 0.5"', 'qpos="0 0 1 1 0 0 0 0.3 0.5"'))
    assert arm.torque_notes == () and 'cube' not in arm.fixed_frames
    assert arm.base_link == fd.load(ARM.format(joints=PLAIN)).base_link


COMPILED = """<mujoco><compiler angle="radian" {}/><worldbody>
<body name="base" pos="0 0 1"><geom type="box" size=".1 .1 .1" mass="6"/>
 <body name="b" pos="0 0 .1"><joint name="j" axis="0 1 0"/>
  <geom type="capsule" size=".05 .2" pos="0 0 .2" mass="3"/>
  <body name="c" pos="0 0 .4"><joint name="k" axis="0 1 0"/>
   <inertial pos="0 0 .1" mass="1" diaginertia=".01 .01 {}"/>
   <geom type="sphere" size=".1" mass="2"/></body></body></body></worldbody></mujoco>"""


@pytest.mark.parametrize(
    ('words', 'izz', 'said'),
    [
        ('settotalmass="20"', '.001', 'settotalmass'),
        ('boundmass="1.5"', '.001', 'from 1 to 1.5 kg'),
        ('boundinertia="0.002"', '.001', 'boundinertia'),
        ('balanceinertia="true"', '.05', 'balanceinertia'),
        ('inertiafromgeom="true"', '.001', 'geoms'),
        ('inertiafromgeom="true" settotalmass="20"', '.001', 'scaled to 20 kg'),
    ],
)
@pytest.mark.filterwarnings('ignore')
def test_masses_and_tensors_are_those_of_mujocos_compiler(words, izz, said):
    text = COMPILED.format(words, izz)
    arm = fd.load(text)
    model = mujoco.MjModel.from_xml_string(text)
    assert said in ' '.join(arm.notes)
    assert len([note for note in arm.notes if 'compiler' in note]) <= 1
    assert [link.mass for link in arm.links] == model.body_mass[2:].tolist()
    for q, dq, ddq in zip(*fd.sample_states(arm, 3)):
        data = mujoco.MjData(model)
        data.qpos[:] = q
        data.qvel[:] = dq
        data.qacc[:] = ddq
        model.opt.disableflags = mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
        mujoco.mj_inverse(model, data)
        tau = fd.Model(arm).inverse_dynamics(q, dq, ddq)
        np.testing.assert_allclose(tau, data.qfrc_inverse, rtol=0.0, atol=RTOL * np.abs(tau).max())


def test_a_mesh_may_be_missing_unless_an_inertia_needs_it():
    text = ARM.format(joints=PLAIN)
    inertial = re.search('<inertial pos="0.1 .*/>', text)[0]
    for mesh in ('missing.stl"', 'missing.stl" scale="0.001 0.001 0.001"'):
        with refuses(UrdfError, 'upper are computed', 'missing.stl'):
            fd.load(text.replace(inertial, '').replace('missing.stl"', mesh))
    # A mesh of the base counts in the total mass.
    mesh = '<geom type="mesh" mesh="missing"/>'
    text = text.replace(mesh, '').replace('<body name="base">', f'<body name="base">{mesh}')
    with refuses(UrdfError, 'fore', 'missing.stl'):
        fd.load(text.replace('angle="degree"', 'angle="degree" settotalmass="5"'))


FINGERS = """<body name="f1" pos="0.3 0 0"><joint name="f1"/>{ball}
  <body name="f2" pos="0 0 0.1"><joint name="f2"/>{ball}</body></body>
 <body name="f3" pos="0.4 0 0"><joint name="f3"/>{ball}
  <body name="f4" pos="0 0 0.1"><joint name="f4"/>{ball}</body></body>"""
COUPLED = '<joint joint1="{}" joint2="{}" polycoef="0 -1 0 0 0"/>'
LINKAGES = {
    'none': '',
    'connect': '<connect body1="f2" body2="f4" anchor="0 0 0"/>',
    'weld': '<weld body1="f2" body2="f4"/>',
    'joints': ''.join(map(COUPLED.format, ('f2', 'f4', 'f3'), ('f3', 'f1', 'f1'))),
    'to the world': '<weld body1="fore"/>',
}


@pytest.mark.parametrize('linkage', LINKAGES)
@pytest.mark.filterwarnings('ignore::franka_dynamics.errors.UrdfWarning')
def test_a_linkage_closed_by_constraints_is_a_gripper(linkage):
    text = ARM.format(joints=PLAIN).replace('<site', f'{FINGERS.format(ball=BALL)}<site', 1)
    text = text.replace('qpos="0.3 0.5"', 'qpos="0.3 0.5 0 0 0 0"')
    text = text.replace('<actuator>', f'<equality>{LINKAGES[linkage]}</equality><actuator>')
    if linkage in ('none', 'to the world'):
        with pytest.raises(AmbiguousUrdfError) as error:
            fd.load(text)
        assert error.value.choices[0] == ('shoulder', 'elbow')  # which all chains share
        return
    arm = fd.load(text)
    assert arm.joint_names == ('shoulder', 'elbow')
    assert 'f1 at 0 ' in ' '.join(arm.torque_notes)
    assert fd.crosscheck(arm, count=5).passed


def test_an_arm_with_a_loop_inside_is_refused():
    loop = '<equality><connect body1="side" body2="fore" anchor="0 0 0"/></equality>'
    side = f'<body name="side"><joint name="side"/>{BALL}</body>'
    text = ARM.format(joints=PLAIN).replace('<body name="fore"', f'{side}<body name="fore"', 1)
    text = text.replace('qpos="0.3 0.5"', 'qpos="0.3 0 0.5"')
    with refuses(UrdfError, 'elbow', 'loop'):
        text = text.replace('<actuator>', f'{loop}<actuator>')
        import_urdf(text, joint_names=['shoulder', 'elbow'])


@pytest.mark.parametrize('site', ['attachment_site', 'link_ee', 'fore', 'attachment'])
@pytest.mark.filterwarnings('ignore::franka_dynamics.errors.UrdfWarning')
def test_a_payload_is_put_on_the_flange_of_an_mjcf(site):
    text = ARM.format(joints=PLAIN).replace('name="tool"', f'name="{site}"')
    tip = {'fore': 'fore_site', 'attachment': 'attachment'}.get(site)
    arm = fd.load(text, tip=tip, payload=(0.5, 0.0, 0.0, 0.1))
    assert arm.urdf.tip_link == (tip or site) and fd.crosscheck(arm, count=5).passed


def test_an_mjcf_without_joints_is_one_sentence():
    with refuses(UrdfError, 'the MJCF: has no joint that moves'):
        fd.load(f'<mujoco><worldbody><body name="a">{BALL}</body></worldbody></mujoco>')


def test_friction_of_a_urdf_is_said_to_be_in_no_model(tmp_path):
    fd.write_urdf('fr3', tmp_path / 'arm.urdf')
    text = (tmp_path / 'arm.urdf').read_text()
    axis = '<axis xyz="0 0 1" />'
    assert text.count(axis) == 7
    rubbing = text.replace(axis, f'{axis}<dynamics damping="0.1" friction="0.0"/>', 1)
    (said,) = {*fd.load(rubbing).notes} - {*fd.load(text).notes}
    assert 'fr3_joint1' in said and '<dynamics>' in said
