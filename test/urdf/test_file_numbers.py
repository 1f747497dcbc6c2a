# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Faults that people put into URDFs are doubted at the right entry; sound arms are not."""

import re
import sys

import numpy as np
import pytest
import trimesh

from franka_dynamics import load
from franka_dynamics.__main__ import main
from franka_dynamics.errors import UrdfError, UrdfWarning
from franka_dynamics.files import share_directory
from franka_dynamics.urdf.file_numbers import judge_file
from franka_dynamics.urdf.reading import parse_robot

from .urdf_texts import edited
from ..agreement import refuses

SIZE, MASS = (0.1, 0.12, 0.4), 3.0  # of each link, a homogeneous box [m, kg]
BOX = '<geometry><box size="0.1 0.12 0.4"/></geometry>'
FILE = 'package://toy/meshes/box.stl'
MESH = f'<geometry><mesh filename="{FILE}" scale="1e-3 1e-3 1e-3"/></geometry>'


def side(name, geometry=BOX, links=3):
    """Return links and joints of an arm whose links are homogeneous boxes along z."""
    x, y, z = np.square(SIZE) * MASS / 12.0
    tensor = f'ixx="{y + z}" ixy="0" ixz="0" iyy="{x + z}" iyz="0" izz="{x + y}"'
    parts = []
    parent = 'base'
    for i in range(1, links + 1):
        link = f'{name}link{i}'
        parts.append(
            f'<link name="{link}"><inertial><origin xyz="0 0 0.2"/><mass value="{MASS}"/>'
            f'<inertia {tensor}/></inertial>'
            f'<collision><origin xyz="0 0 0.2"/>{geometry}</collision></link>'
            f'<joint name="{name}joint{i}" type="revolute"><parent link="{parent}"/>'
            f'<child link="{link}"/><origin xyz="0 0 0.4"/><axis xyz="0 1 0"/>'
            '<limit lower="-2" upper="2" effort="50" velocity="2"/></joint>'
        )
        parent = link
    return ''.join(parts)


ARM = f'<robot name="toy"><link name="base"/>{side("")}</robot>'
BASE = (
    '<link name="base"><inertial><mass value="120"/>'
    '<inertia ixx="-4.98" ixy="0" ixz="2.7" iyy="-5.952" iyz="0" izz="0.828"/></inertial></link>'
)
# The same link lying along x, which its joint has to hold.
LYING = edited(ARM, "joint[@name='joint1']/origin", rpy='0 1.5707963 0')
LINK = "link[@name='{}link2']/inertial/{}"
INERTIA = LINK.format('', 'inertia')


def doubts(text):
    return judge_file(parse_robot(text))[0]


def tensor_times(factor):
    moments = np.square(SIZE) * MASS / 12.0
    diagonal = factor * (moments.sum() - moments)
    return {f'i{axis * 2}': str(one) for axis, one in zip('xyz', diagonal)}


@pytest.mark.parametrize('text', [ARM, LYING.replace('"50"', '"200"')])
def test_a_sound_arm_is_not_doubted(text):
    assert doubts(text) == ()


@pytest.mark.parametrize(
    ('text', 'names', 'entry', 'asked'),
    [
        (edited(ARM, INERTIA, **tensor_times(1e6)), ('link2',), '<inertia>', '1e-6'),
        (edited(ARM, INERTIA, **tensor_times(1e4)), ('link2',), '<inertia>', '1e-4'),
        (edited(ARM, INERTIA, **tensor_times(30.0)), ('link2',), '<inertia>', None),
        (
            edited(ARM, INERTIA, izz='6.1'),
            ('link2',),
            '<inertia>',
            'izz to be multiplied by 1e-2',
        ),
        (
            edited(ARM, INERTIA, ixy='0.9'),
            ('link2',),
            '<inertia>',
            'ixy to be multiplied by 1e-3',
        ),
        (edited(ARM, INERTIA, iyy='-0.04'), ('link2',), '<inertia>', None),
        (
            edited(ARM, LINK.format('', 'origin'), xyz='0 0 200'),
            ('link2',),
            '<origin>',
            None,
        ),
        (
            edited(ARM, LINK.format('', 'origin'), xyz='0 0.2 0.2'),
            ('link2',),
            '<origin>',
            None,
        ),
        (edited(ARM, LINK.format('', 'mass'), value='43'), ('link2',), '<mass>', None),
        (edited(ARM, INERTIA, **tensor_times(1e-2)), ('link2',), '<inertia>', None),
        (ARM.replace('<link name="base"/>', BASE), ('base',), '<inertia>', None),
        (LYING, ('joint1',), '<limit> effort', None),
    ],
)
def test_a_fault_is_doubted_at_its_entry(text, names, entry, asked):
    found = [doubt for doubt in doubts(text) if doubt.entry == entry]
    assert [doubt.names for doubt in found] == [names]
    question = re.search(r'; is (.*)\?$', found[0].reason)
    assert (question is None) == (asked is None)
    assert asked is None or asked in question.group(1)


def test_without_shapes_a_link_is_compared_with_the_arm():
    bare = re.sub('<collision>.*?</collision>', '', ARM)
    assert doubts(bare) == ()
    for factor in (
        1e6,
        20.0,
    ):  # 20 times: 0.53 m of standard deviation on a link of 0.4 m
        (found,) = doubts(edited(bare, INERTIA, **tensor_times(factor)))
        assert (found.names, found.entry) == (('link2',), '<inertia>')


@pytest.mark.parametrize(
    ('mass', 'doubted'),
    [(MASS, False), (100.0, True), (0.05, True), (1e3 * MASS, True)],
)
def test_density_follows_from_a_mesh_beside_the_file(tmp_path, mass, doubted):
    # Given a mesh in millimetres in a package that the URDF lies in.
    folder = tmp_path / 'toy' / 'meshes'
    folder.mkdir(parents=True)
    trimesh.creation.box(1e3 * np.array(SIZE)).export(folder / 'box.stl')
    file = tmp_path / 'toy' / 'urdf' / 'toy.urdf'
    text = f'<robot name="toy"><link name="base"/>{side("", MESH)}</robot>'
    # When one link, or all, have another mass with the tensor to it.
    text = text.replace(f'mass value="{MASS}"', f'mass value="{mass}"')
    found, unread = judge_file(parse_robot(text), file)
    # Then all three densities are doubted or none.
    assert unread == ()
    assert len([one for one in found if 'kg/m^3' in one.reason]) == (3 if doubted else 0)


def test_without_scipy_meshes_still_bound_the_center_of_mass(tmp_path, monkeypatch, capsys):
    # Given a mesh beside the file, and a centre of mass 2.5 m away from it.
    trimesh.creation.box(1e3 * np.array(SIZE)).export(tmp_path / 'box.stl')
    mesh = MESH.replace('package://toy/meshes/', '')
    text = f'<robot name="toy"><link name="base"/>{side("", mesh)}</robot>'
    file = tmp_path / 'toy.urdf'
    file.write_text(edited(text, "link[@name='link2']/inertial/origin", xyz='0 0 2.7'))
    # When scipy, by which densities are judged, is missing.
    monkeypatch.setitem(sys.modules, 'scipy', None)
    monkeypatch.setattr(sys, 'argv', ['', 'arm', 'check', str(file), '--states', '2'])
    assert main() == 0
    said = ' '.join(capsys.readouterr().out.split())
    # Then the doubt stands there as with scipy, and what was not checked is said.
    assert 'its shapes and joints allow' in said
    assert 'densities of its meshes were not checked' in said
    assert 'are plausible' not in said


DAE = """<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit meter="0.001" name="millimeter"/></asset>
<library_geometries><geometry id="g"><mesh><source id="p"><float_array id="a" count="12">
-90 -90 -200 200 -90 -200 -90 200 -200 0 0 200</float_array><technique_common>
<accessor source="#a" count="4" stride="3"><param name="X" type="float"/>
<param name="Y" type="float"/><param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices><triangles count="4">
<input semantic="VERTEX" source="#v" offset="0"/><p>0 2 1 0 1 3 0 3 2 1 2 3</p></triangles></mesh>
</geometry></library_geometries><library_visual_scenes><visual_scene id="s"><node id="n">
<instance_geometry url="#g"/></node></visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#s"/></scene></COLLADA>"""


@pytest.mark.parametrize(('mass', 'doubted'), [(MASS, 0), (90.0, 3)])
def test_a_dae_mesh_is_read_in_its_own_unit(tmp_path, mass, doubted):
    (tmp_path / 'tetra.dae').write_text(DAE, 'utf-8')  # of 5.6 l
    shape = '<geometry><mesh filename="tetra.dae"/></geometry>'
    text = f'<robot name="toy"><link name="base"/>{side("", shape)}</robot>'
    text = text.replace(f'mass value="{MASS}"', f'mass value="{mass}"')
    found, unread = judge_file(parse_robot(text), tmp_path / 'toy.urdf')
    assert unread == ()
    assert len([one for one in found if 'denser' in one.reason]) == doubted


def test_a_link_without_its_mesh_is_not_taken_for_its_tool():
    text = f'<robot name="toy"><link name="base"/>{side("", MESH)}</robot>'
    ball = '<link name="ball"><collision><geometry><sphere radius="0.01"/></geometry></collision>'
    joint = '<joint name="f" type="fixed"><parent link="link3"/><child link="ball"/></joint>'
    assert doubts(text.replace('</robot>', f'{ball}</link>{joint}</robot>')) == ()


def test_a_mesh_that_is_missing_is_named_and_not_judged(tmp_path):
    text = f'<robot name="toy"><link name="base"/>{side("", MESH)}</robot>'
    assert judge_file(parse_robot(text), tmp_path / 'toy.urdf') == (
        (),
        (FILE,),
    )


# Identified sets: of these numbers only sums act on a torque, and those fit. The shapes are
# capsules that are smaller than the links.
IDENTIFIED = {
    'fer': {'fer_link1', 'fer_link2'},
    'fr3': {'fr3_link6'},
    'fr3v2': {'fr3v2_link3'},
    'fr3v2_1': {'fr3v2_1_link3'},
    'rpr': set(),
}


@pytest.mark.parametrize('arm', IDENTIFIED)
def test_few_numbers_of_shipped_arms_are_doubted(arm):
    found = doubts((share_directory() / 'urdf' / f'{arm}.urdf').read_text('utf-8'))
    assert {name for doubt in found for name in doubt.names} == IDENTIFIED[arm]
    assert not any(doubt.impossible for doubt in found)


LINK = '<link name="{}"><inertial><mass value="{}"/><inertia {}/></inertial></link>'
JOINT = """<joint name="to_{1}" type="continuous"><origin xyz="0 0 {2}"/><parent link="{0}"/>
<child link="{1}"/></joint>"""
BODY = 'ixx="0.01" ixy="0" ixz="0" iyy="0.012" iyz="0" izz="0.008"'
BALL = 'ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"'
IDENTITY = 'ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"'


@pytest.mark.parametrize(
    ('tensor', 'masses', 'lengths', 'said'),
    [
        (BODY, (3.0, 1.0), (2, 2), ["links 'a' and 'b', <inertia>: the same"]),
        (BODY, (3.0, 3.0, 3.0), (2, 2, 2), []),  # modules
        (
            BODY,
            (3.0, 3.0, 3.0),
            (2, 2, 1),
            ["links 'a', 'b', 'c', <inertia>: the same"],
        ),
        (BALL, (3.0, 3.0), (2, 2), ["links 'a' and 'b', <inertia>: the same"]),
        (
            IDENTITY,
            (3.0, 3.0),
            (2, 2),
            ["link 'a', <inertia>: it is", "link 'b', <inertia>: it"],
        ),
    ],
)
def test_a_tensor_that_stands_for_none_is_said(tensor, masses, lengths, said):
    links = ''.join(LINK.format(name, mass, tensor) for name, mass in zip('abc', masses))
    joints = ''.join(JOINT.format(*pair, at) for pair, at in zip(('ra', 'ab', 'bc'), lengths))
    text = f'<robot name="r"><link name="r"/>{links}{joints}</robot>'
    found = [str(one) for one in judge_file(parse_robot(text))[0]]
    found = [one for one in found if 'as if not known' in one]
    assert len(found) == len(said) and all(words in one for words, one in zip(said, found))


DRIVE = '<transmission name="t"><joint name="to_a"/><actuator>{}</actuator></transmission>'
GEARED = '<mechanicalReduction>-100</mechanicalReduction><motorInertia>1e-5</motorInertia>'
GAZEBO = '<gazebo reference="a">{}</gazebo>'


@pytest.mark.parametrize(
    ('extra', 'said'),
    [
        (
            DRIVE.format(GEARED),
            'to_a: the rotor inertia 1e-05 kg m^2 behind a reduction of -100',
        ),
        (
            DRIVE.format(GEARED.replace('1e-5', 'small')),
            "rotor inertia 'small' kg m^2 behind",
        ),
        (DRIVE.format(GEARED.replace('1e-5', '0e0')), ''),
        (DRIVE.format('<d:rotor_inertia xmlns:d="d" value="2"/>'), '2 kg m^2 behind a'),
        (
            GAZEBO.format('<turnGravityOff>true</turnGravityOff>'),
            'a: Gazebo lets no gravity act',
        ),
        (GAZEBO.format('<gravity>0</gravity>'), 'a: Gazebo lets no gravity act'),
        (GAZEBO.format('<gravity>1</gravity>'), ''),
    ],
)
def test_rotors_and_weightless_links_of_a_urdf_are_said(extra, said):
    links = '<link name="r"/>' + LINK.format('a', 1.0, BODY) + JOINT.format(*'ra', 2)
    notes = parse_robot(f'<robot name="r">{links}{extra}</robot>').notes
    assert len(notes) == bool(said) and said in ''.join(notes)


@pytest.mark.parametrize(
    ('element', 'values'),
    [
        ("link[@name='link2']/inertial/mass", {'value': '0'}),
        (INERTIA, tensor_times(1e9)),
        (INERTIA, {'ixx': '1', 'iyy': '1', 'izz': '1'}),
    ],
)
def test_loading_warns_of_what_makes_torques_wrong(element, values):
    with pytest.warns(UrdfWarning) as caught:
        arm = load(edited(ARM, element, **values))
    assert any('link2' in one for one in arm.torque_notes)
    assert [f'{one.message}' for one in caught] == [*arm.torque_notes]


def test_a_tensor_with_unlike_halves_is_refused():
    with refuses(UrdfError, 'link2', 'ixy', 'iyx'):
        load(edited(ARM, INERTIA, iyx='0.5'))


def test_a_planar_joint_is_named_as_such():
    planar = edited(ARM, "joint[@name='joint2']", type='planar')
    with refuses(UrdfError, 'joint2', 'planar'):
        load(planar, joints=['joint1', 'joint3'])
