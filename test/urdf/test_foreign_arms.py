# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Other makers' URDFs: which joints are the arm; M, C dq and g are those of the file."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest

from franka_dynamics import (
    compare,
    crosscheck,
    import_urdf,
    load,
    Model,
    sample_states,
    save,
)
from franka_dynamics.errors import AmbiguousUrdfError, CrosscheckError, UrdfError
from franka_dynamics.urdf.mjcf_writer import mjcf_text
from franka_dynamics.urdf.writer import urdf_text
from franka_dynamics.validation.urdf_check import checked_arm_from_urdf

from .urdf_texts import assert_as_in_file, edited, inertial
from ..agreement import refuses

pytestmark = pytest.mark.filterwarnings('ignore::franka_dynamics.errors.UrdfWarning')


def link(name, mass=2.0):
    return f'<link name="{name}">{inertial(mass)}</link>'


def joint(
    name,
    parent,
    child,
    axis='0 1 0',
    kind='revolute',
    xyz='0 0 0.3',
    rpy='0 0 0',
    more='',
):
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{xyz}" rpy="{rpy}"/><axis xyz="{axis}"/>'
        f'<limit lower="-2" upper="2" effort="50" velocity="2"/>{more}</joint>'
    )


def robot(*parts):
    return f'<robot name="robot"><link name="root"/>{"".join(parts)}</robot>'


def chain(*names, parent='root', kinds=None):
    """Return joints of these names, one after another, and their links."""
    parts = []
    for i, name in enumerate(names):
        axis = '0 0 1' if i == 0 else '0 1 0'
        kind = (kinds or {}).get(name, 'revolute')
        parts += [link(f'{name}_link'), joint(name, parent, f'{name}_link', axis, kind)]
        parent = f'{name}_link'
    return ''.join(parts)


def mimic(driver, multiplier=1.0, offset=0.0):
    return f'<mimic joint="{driver}" multiplier="{multiplier}" offset="{offset}"/>'


FR3 = urdf_text(load('fr3'))
WALL = edited(FR3, "joint[@name='fr3_link0_joint']/origin", xyz='0.1 0 0.8', rpy='1.5708 0 0')
# The bracket of a servo turns the parent of joint 1, and the first joint turns it back.
BRACKET = robot(
    link('bracket'),
    joint('fixed', 'root', 'bracket', kind='fixed', rpy='1.5708 -1.5708 0'),
    link('turret'),
    joint('pan', 'bracket', 'turret', axis='0 1 0', rpy='0 0 0.3'),
    chain('lift', 'elbow', parent='turret'),
)


@pytest.mark.parametrize('text', [WALL, BRACKET], ids=['wall', 'bracket'])
def test_gravity_is_along_z_of_the_root_link_whatever_the_mount(text):
    arm = load(text)
    (note,) = (note for note in arm.torque_notes if 'tilted' in note)
    assert text is BRACKET or 'gravity is (0, -9.81, ' in note
    assert_as_in_file(arm, text)
    # The mount stays in what is written.
    again = load(urdf_text(arm))
    simulated = mujoco.MjModel.from_xml_string(mjcf_text(arm, ideal=True))
    data = mujoco.MjData(simulated)
    models = (Model(arm), Model(again))
    for q in sample_states(arm, 5).q:
        data.qpos[:] = q
        data.qvel[:] = 0.0
        mujoco.mj_forward(simulated, data)
        for model in models:
            np.testing.assert_allclose(model.gravity(q), data.qfrc_bias, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize('text', [WALL, BRACKET], ids=['wall', 'bracket'])
def test_an_arm_file_of_a_mounted_urdf_is_that_urdfs_arm(text, tmp_path):
    save(load(text), tmp_path / 'arm.yaml')
    assert compare(tmp_path / 'arm.yaml', text).differences == ()
    arm, _ = checked_arm_from_urdf(text, load(tmp_path / 'arm.yaml'))
    assert_as_in_file(arm, text)


def test_two_arms_on_tilted_mounts_are_chosen_by_prefix():
    halves = [
        edited(
            urdf_text(load('fr3', prefix=side)),
            f"joint[@name='{side}fr3_link0_joint']/origin",
            xyz=f'0 {place} 0.5',
            rpy=f'{roll} 0.3 0.1',
        )
        for side, place, roll in (('left_', 0.2, -0.9), ('right_', -0.2, 0.9))
    ]
    body = halves[1][halves[1].index('<joint name="right_fr3_link0_joint"') :]
    text = halves[0].replace('</robot>', body)
    for side in ('left_', 'right_'):
        assert_as_in_file(load(text, prefix=side), text)
        # The arm that is recognised by its joints' names keeps its mount, too.
        known, verdict = checked_arm_from_urdf(text, load('fr3', prefix=side))
        assert_as_in_file(known, text)
        assert any('tilted' in note for note in verdict.notes)
        assert known.torque_notes == verdict.notes[: len(known.torque_notes)]


SAWYER = robot(chain('j0', 'j1', 'j2'), link('head'), joint('head_pan', 'j0_link', 'head'))
LIFT = robot(chain('torso_lift', 'j1', 'j2', kinds={'torso_lift': 'prismatic'}), chain('head'))


@pytest.mark.parametrize(
    ('text', 'choices'),
    [
        (SAWYER, {('j0',), ('j0', 'j1', 'j2'), ('j0', 'head_pan')}),
        (LIFT, {('torso_lift', 'j1', 'j2'), ('head',)}),
        (robot(chain('a', 'b'), chain('c', 'd', parent='b_link'), chain('e', parent='b_link')),
         {('a', 'b'), ('a', 'b', 'c', 'd'), ('a', 'b', 'e')}),
    ],
    ids=['head on joint 1', 'lift and head', 'ends at a branch'],
)  # fmt: skip
def test_where_joints_branch_the_user_is_asked_with_each_choice(text, choices):
    with pytest.raises(AmbiguousUrdfError) as error:
        load(text)
    assert {*error.value.choices} == choices
    for names in choices:
        assert f'--joints {",".join(names)}' in str(error.value)
        arm = load(text, joints=names)
        assert arm.joint_names == names
        assert_as_in_file(arm, text)


def test_a_joint_below_the_arm_is_held_where_the_user_says():
    with refuses(UrdfError, 'torso_lift', "held={'torso_lift': 0.0}", '--hold torso_lift=0'):
        load(LIFT, joints=('j1', 'j2'))
    for held in ({'torso_lift': 0.7}, {'torso_lift': 0.7, 'head': 0.0}):
        joints = None if 'head' in held else ('j1', 'j2')  # held joints are no choice
        arm = load(LIFT, joints=joints, held=held)
        assert arm.joint_names == ('j1', 'j2')
        assert any('torso_lift at 0.7' in note for note in arm.torque_notes)
        assert_as_in_file(arm, LIFT, held)
        np.testing.assert_allclose(arm.base[2, 3], 0.3 + 0.7 + 0.3, rtol=0.0, atol=1e-14)


@pytest.mark.parametrize(
    ('held', 'words'),
    [
        ({'neck': 0.0}, ["'neck'", 'moving joints are']),
        ({'head_pan': 3.0}, ["'head_pan' at 3", '-2 to 2']),
        ({'head_pan': np.nan}, ["'head_pan'", 'finite', 'nan']),
        ({'j1': 0.0}, ["'j1'", 'leave it out']),
    ],
)
def test_a_position_that_cannot_be_held_is_refused(held, words):
    with refuses(UrdfError, *words):
        load(SAWYER, joints=('j0', 'j1', 'j2'), held=held)


@pytest.mark.parametrize('joints', [None, ('j1', 'j2')])
def test_a_misspelt_joint_to_hold_is_named_before_anything_else(joints):
    with refuses(UrdfError, "'torso_lit'", 'torso_lift'):
        load(LIFT, joints=joints, held={'torso_lit': 0.7})


def finger(name, parent, kind='prismatic', axis='0 1 0', more=''):
    return link(f'{name}_body', 0.1) + joint(name, parent, f'{name}_body', axis, kind, more=more)


ARM = ('shoulder', 'elbow', 'wrist_roll')
END = 'wrist_roll_link'


@pytest.mark.parametrize(
    ('tool', 'gripper'),
    [
        (finger('a', END) + finger('b', END, axis='0 -1 0', more=mimic('a')), 'a b'),
        (finger('a', END) + finger('b', END, axis='0 -1 0'), 'a b'),
        (finger('a', END, 'revolute') + finger('b', END, 'revolute', more=mimic('a')), 'a b'),
        (finger('gripper', END, 'revolute'), 'gripper'),
        (finger('l_finger', END, 'revolute') + finger('r_finger', END, 'revolute'),
         'l_finger r_finger'),
        (finger('drive', END) + finger('rightFinger', 'drive_body', more=mimic('drive', 2.0)),
         'drive rightFinger'),
        (joint('x', END, 'moving_jaw') + link('moving_jaw'), 'x'),
        (finger('gripper_roll', END, 'revolute'), ''),
        (finger('slide', END), ''),
    ],
    ids=['mimic', 'two slides', 'turning mimic', 'one jaw', 'words', 'linkage', 'jaw link',
         'a wrist', 'a slide'],
)  # fmt: skip
def test_a_gripper_is_left_out_and_said(tool, gripper):
    text = robot(chain(*ARM), tool)
    arm = load(text)
    names = tuple(gripper.split())
    rest = ('gripper_roll',) if 'gripper_roll' in tool else ('slide',) if 'slide' in tool else ()
    assert arm.joint_names == (*ARM, *rest)
    said = [note for note in arm.torque_notes if 'taken for a gripper' in note]
    assert len(said) == bool(names) and all(f'{one} at 0' in said[0] for one in names)
    assert_as_in_file(arm, text)


def test_a_wrist_whose_link_is_a_fixed_jaw_is_the_arms():
    text = robot(chain(*ARM), finger('gripper', 'Fixed_Jaw', 'revolute')).replace(END, 'Fixed_Jaw')
    assert load(text).joint_names == ARM
    # The joints that the user names are the arm's, a gripper's as well.
    assert load(text, joints=(*ARM, 'gripper')).joint_names == (*ARM, 'gripper')


def test_a_grippers_opening_is_held_with_what_follows_it():
    follower = finger('b', END, axis='0 -1 0', more=mimic('a', 0.5, 0.01))
    text = robot(chain(*ARM), finger('a', END), follower)
    assert_as_in_file(load(text, held={'a': 0.2}), text, {'a': 0.2, 'b': 0.11})


def test_a_mimic_joint_counts_with_its_ratio_or_is_refused():
    text = with_mimic(robot(chain('j1', 'j2', 'j3')), 'j2', 'j1')
    with refuses(UrdfError, "'j2'", "'j1'", 'not supported'):
        load(text)
    # At the tip it keeps the tool level; it moves with the arm, and is no gripper.
    with refuses(UrdfError, "'j3'", "'j2'", 'not supported'):
        load(with_mimic(robot(chain('j1', 'j2', 'j3')), 'j3', 'j2'))
    # A gas spring that has no mass moves as it likes.
    spring = '<link name="spring"/>' + joint('extend', 'j1_link', 'spring', more=mimic('j2'))
    text = robot(chain('j1', 'j2', 'j3'), spring)
    assert_as_in_file(load(text, joints=('j1', 'j2', 'j3')), text)
    # The other leg of a humanoid.
    with refuses(UrdfError, "'right'", "'left'", 'not supported'):
        load(robot(chain('left', 'knee'), with_mimic(chain('right'), 'right', 'left')))
    fingers = finger('a', END) + finger('b', END, axis='0 -1 0', more=mimic('a'))
    with refuses(UrdfError, "'b'", "'a'", '--joints'):
        load(robot(chain(*ARM), fingers), joints=(*ARM, 'a'))


def with_mimic(text, name, driver):
    head, tail = text.split(f'<joint name="{name}"')
    return f'{head}<joint name="{name}"' + tail.replace('</joint>', f'{mimic(driver)}</joint>', 1)


@pytest.mark.parametrize('field', ['links', 'base', 'row'])
def test_a_fault_of_the_import_names_joint_and_quantity(field):
    arm = load(robot(chain(*ARM)))
    changed = {'base': np.diag([1.0, -1.0, -1.0, 1.0])}
    if field == 'links':
        changed = {'links': (*arm.links[:2], arm.links[2] + arm.links[2])}
    elif field == 'row':
        row = replace(arm.joints[1].row, theta=arm.joints[1].row.theta + 1e-7)
        changed = {'joints': (arm.joints[0], replace(arm.joints[1], row=row), arm.joints[2])}
    with refuses(CrosscheckError, 'own reading of the URDF', 'g at ', ' N m'):
        crosscheck(replace(arm, **changed), count=20).require()


@pytest.mark.parametrize('tensor', [[], [0.01, 0.0, 0.0, 0.02, 0.0, 0.02]])
def test_a_payload_on_the_flange_is_part_of_the_comparison(tensor):
    arm = load(robot(chain(*ARM)), payload=[1.5, 0.1, 0.0, 0.2, *tensor])
    report = crosscheck(arm, count=20)
    report.require()
    assert len(report.urdf_differences) == 4
    assert not crosscheck(replace(arm, urdf=load(robot(chain(*ARM))).urdf), count=20).passed


@pytest.mark.parametrize('angle', ['3.1416', '1.57', '4e-6', '1e-3'])
@pytest.mark.parametrize('kind', ['revolute', 'prismatic'])
def test_nearly_parallel_axes_are_exact_also_behind_a_long_slide(angle, kind):
    parts = [link(f'l{i}') for i in range(1, 5)]
    joints = [
        joint('j1', 'root', 'l1', '0 0 1', kind),
        joint('j2', 'l1', 'l2', '0 1 0', xyz='0.2 0 0.1'),
        joint('j3', 'l2', 'l3', '0 1 0', xyz='-0.3 0 0.02', rpy=f'{angle} 0 0'),
        joint('j4', 'l3', 'l4', '1 0 0', kind, xyz='0.4 0.1 0', rpy=f'0 {angle} {angle}'),
    ]
    text = edited(robot(*parts, *joints), "joint[@name='j1']/limit", lower='-20', upper='20')
    for convention in ('modified', 'standard'):
        arm = import_urdf(text, convention=convention)
        assert_as_in_file(arm, text)
        # The common normal of axes that are not quite parallel is kilometres away.
        assert max(abs(one) for joint in arm.joints for one in (joint.row.a, joint.row.d)) < 1.0
        report = crosscheck(arm, count=100)
        assert report.passed and max(one.difference for one in report.urdf_differences) < 1e-12
