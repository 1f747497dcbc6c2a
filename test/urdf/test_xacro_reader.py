# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Xacro files of a workspace's packages, expanded where ROS does not know the packages."""

import pytest

from franka_dynamics.arm_io import load_arm, write_urdf
from franka_dynamics.errors import DescriptionError, UrdfError
from franka_dynamics.validation.compare_files import compare

from ..agreement import refuses

xacro = pytest.importorskip('xacro')
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
        for name, folder, inside in (('own', 'src/own-main', ''), ('parts', parts, MACRO)):
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
def test_packages_are_found_beside_the_files_and_arguments_are_used(write, parts, given, mass):
    (link,) = load_arm(write(parts), xacro=given).links
    assert link.mass == mass


@pytest.mark.parametrize(
    ('argument', 'given', 'said'),
    [
        ('<xacro:arg name="mass" default="2"/>', {'mas': 3}, ('mas;', 'uses: mass')),
        ('', {}, ('argument mass', 'NAME:=VALUE')),
        (
            '<xacro:include filename="$(find far)/a.xacro"/>',
            {'mass': 2},
            ('far', 'beside', 'source ROS'),
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
    file, given = write('src/parts'), {'mass': 3.5}
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
