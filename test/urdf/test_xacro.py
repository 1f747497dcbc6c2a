# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The shipped xacro files against the described arms, and xacro files of a workspace."""

from concurrent.futures import ThreadPoolExecutor
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from franka_dynamics.arm import available_hands, load
from franka_dynamics.arm_io import load_arm, write_urdf
from franka_dynamics.errors import DescriptionError, UrdfError
from franka_dynamics.files import share_directory
from franka_dynamics.urdf.generated_files import exported_arms, physical_inertial_sets
from franka_dynamics.urdf.serial_chain import read_chain
from franka_dynamics.validation.compare_files import compare

from ..agreement import refuses

xacro = pytest.importorskip('xacro')
ROUNDING = 1e-14  # kg m^2
COMBINATIONS = [
    (arm, inertial_set, hand)
    for arm in exported_arms()
    for inertial_set in physical_inertial_sets(arm)
    for hand in (available_hands() if arm == 'fr3' else ('none',))
]


def expanded(**arguments):
    path = share_directory() / 'urdf' / 'franka.urdf.xacro'
    return xacro.process_file(str(path), mappings=arguments).toxml()


@pytest.mark.parametrize(('arm', 'inertial_set', 'hand'), COMBINATIONS)
def test_xacros_links_of_arm_set_and_hand_are_the_described_ones(arm, inertial_set, hand):
    text = expanded(robot_type=arm, inertial_set=inertial_set, hand=hand, arm_prefix='p_')
    expected = load(arm, inertial_set, hand=hand, prefix='p_')
    chain = read_chain(text, expected.joint_names)
    compared = compare(expected, text)
    assert compared.geometry_differences == ()
    assert f'p_{arm}_link{expected.n + 1}' in chain.tool_links
    for found, link in zip(*(one.inertias for one in reversed(compared.space_arms))):
        np.testing.assert_allclose(found.parameters(), link.parameters(), rtol=0.0, atol=ROUNDING)


@pytest.mark.parametrize(
    ('arguments', 'sentence'),
    [
        (
            {'inertial_set': 'franka_description'},
            'inertial_set of fer must be one of gaz2019',
        ),
        ({'hand': 'claw'}, 'hand must be one of franka_hand, '),
    ],
)
def test_xacro_stops_at_an_unphysical_set_or_an_unknown_hand(arguments, sentence, capsys):
    with pytest.raises((SystemExit, xacro.XacroException)) as raised:
        expanded(robot_type='fer', **arguments)
    assert sentence in capsys.readouterr().err + str(raised.value)


def test_xacro_with_meshes_refers_to_them_instead_of_shapes():
    folder = 'package://franka_description/meshes/robot_arms/fr3'
    robot = ElementTree.fromstring(expanded(robot_type='fr3', meshes=folder))
    link = robot.find("link[@name='fr3_link3']")
    names = [mesh.get('filename').removeprefix(folder) for mesh in link.iter('mesh')]
    assert names == ['/visual/link3.dae', '/collision/link3.stl']
    assert link.find('.//cylinder') is None


def test_xacro_puts_the_base_on_the_mount_in_the_world():
    text = expanded(robot_type='fr3', connected_to='world', xyz='0 0 1', rpy='0.5 0 0')
    chain = read_chain(text, load('fr3').joint_names)
    np.testing.assert_allclose(chain.mount_pose[:3, 3], [0.0, 0.0, 1.0], rtol=0.0, atol=0.0)
    np.testing.assert_allclose(chain.mount_pose[2, 1], np.sin(0.5), rtol=0.0, atol=1e-14)


def test_xacros_ros2_control_has_effort_and_initial_values():
    robot = ElementTree.fromstring(
        expanded(
            robot_type='rpr',
            ros2_control='gz_ros2_control/GazeboSimSystem',
            controllers='/c.yaml',
            initial_positions='0.1 0.2 0.3',
            initial_efforts='1 2 3',
        )
    )
    system = robot.find('ros2_control')
    plugin = robot.find('gazebo/plugin')
    assert system.find('hardware/plugin').text == 'gz_ros2_control/GazeboSimSystem'
    assert tuple(joint.get('name') for joint in system.findall('joint')) == load('rpr').joint_names
    values = [one.text for one in system.findall('joint/state_interface/param')]
    assert values == ['0.1', '1', '0.2', '2', '0.3', '3']
    assert {one.get('name') for one in system.findall('joint/command_interface')} == {'effort'}
    assert plugin.get('filename') == 'gz_ros2_control-system'
    assert plugin.findtext('parameters') == '/c.yaml'


HEAD = '<robot xmlns:xacro="http://www.ros.org/wiki/xacro" name="own">'
LINK = '<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>'
MACRO = f"""{HEAD}<xacro:macro name="rod" params="name mass">
<link name="${{name}}"><inertial><mass value="${{mass}}"/>{LINK}</xacro:macro></robot>"""
ROBOT = """<link name="base"/><xacro:rod name="a" mass="$(arg mass)"/>
<joint name="j" type="continuous"><parent link="base"/><child link="a"/></joint></robot>"""


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Return a function that writes a robot of `own`, which includes a macro of `parts`."""
    monkeypatch.delenv('AMENT_PREFIX_PATH', raising=False)

    def robot(parts, argument='<xacro:arg name="mass" default="2"/>'):
        for name, folder, inside in (
            ('own', 'src/own-main', ''),
            ('parts', parts, MACRO),
        ):
            (tmp_path / folder / 'urdf').mkdir(parents=True)
            (tmp_path / folder / 'urdf' / 'rod.xacro').write_text(inside)
            named = f'<package format="3"><name>{name}</name></package>'
            (tmp_path / folder / 'package.xml').write_text(named)
        found = '<xacro:include filename="$(find parts)/urdf/rod.xacro"/>'
        path = tmp_path / 'src/own-main/urdf/robot.urdf.xacro'
        path.write_text(f'{HEAD}{argument}{found}{ROBOT}')
        return path

    return robot


@pytest.mark.parametrize('parts', ['src/parts', 'src/repository/parts', 'src/other_name'])
@pytest.mark.parametrize(('given', 'mass'), [({}, 2.0), ({'mass': 3.5}, 3.5)])
def test_packages_are_found_beside_xacro_files(write, parts, given, mass):
    (link,) = load_arm(write(parts), xacro=given).links
    assert link.mass == mass


def test_threads_may_load_xacro_files_at_once(write):
    path = write('src/parts')
    masses = [1.0 + k for k in range(60)]
    with ThreadPoolExecutor(6) as pool:
        found = pool.map(lambda mass: load_arm(path, xacro={'mass': mass}).links[0].mass, masses)
        assert [*found] == masses


@pytest.mark.parametrize(
    ('argument', 'given', 'said'),
    [
        ('<xacro:arg name="mass" default="2"/>', {'mas': 3}, ('mas;', 'use mass')),
        ('', {}, ('argument mass', 'NAME:=VALUE')),
        (
            '<xacro:include filename="$(find far)/a.xacro"/>',
            {'mass': 2},
            ('far', 'beside', 'ROS'),
        ),
    ],
)
def test_wrong_arguments_and_missing_packages_are_named(write, argument, given, said):
    file = write('src/parts', argument)
    with refuses(UrdfError, 'robot.urdf.xacro', *said) as error:
        load_arm(file, xacro=given)
    assert str(error.value).count(said[0]) == 1 + (said[0] == 'far')  # not said twice
    with refuses(UrdfError, 'rod.xacro', 'only macros'):
        load_arm(file.parents[2] / 'parts/urdf/rod.xacro')


def test_arguments_are_those_of_each_xacro_file_that_is_compared(write, tmp_path):
    file = write('src/parts')
    given = {'mass': 3.5}
    arm = load_arm(file, xacro=given)
    write_urdf(arm, tmp_path / 'arm.urdf')
    for pair in ((arm, file), (file, arm), (file, file), (file, tmp_path / 'arm.urdf')):
        assert not compare(*pair, xacro=given).differences
        assert bool(compare(*pair).differences) is (pair != (file, file))


@pytest.mark.parametrize('arm', ['fr3', '<robot name="a"/>', 'robot.urdf'])
def test_what_is_no_xacro_file_has_no_arguments(arm):
    with refuses(DescriptionError, 'xacro'):
        load_arm(arm, xacro={'mass': 2})
    with refuses(DescriptionError, 'xacro'):
        compare(arm, 'fr3', xacro={'mass': 2})
