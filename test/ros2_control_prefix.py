# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
A ros2_control to test against, and what is built for it.

FRANKA_DYNAMICS_ROS2_CONTROL names the prefixes in which it is found, such as /opt/ros/jazzy,
joined by colons; test/real_ros.py sets it.
"""

import os
from pathlib import Path
import shutil
import subprocess
import sys

import pytest

from .processes import ROOT

PREFIXES = os.environ.get('FRANKA_DYNAMICS_ROS2_CONTROL', '')
# What the ROS wheels set for their own process.
_WHEELS = ('_ROS_WHEELS_BOOTSTRAP_COMPLETE', 'LD_LIBRARY_PATH', 'PYTHONPATH')

MANAGER = 'lib/controller_manager/ros2_control_node'


def in_prefixes(path):
    """Return the file of this path in the prefixes that hold ros2_control; skip without them."""
    if not PREFIXES:
        pytest.skip('FRANKA_DYNAMICS_ROS2_CONTROL names no prefix with ros2_control')
    folders = map(Path, PREFIXES.split(os.pathsep))
    return next(folder / path for folder in folders if (folder / path).exists())


def environment(*more):
    """Return this process's environment with the prefixes in all the paths ROS looks in."""
    prefixes = [*map(str, more), *PREFIXES.split(os.pathsep)]
    libraries = [f'{prefix}/lib' for prefix in prefixes]
    packages = [f'{folder}/python3.{sys.version_info.minor}/site-packages' for folder in libraries]
    # Its build asks Python for ament_package, catkin_pkg and lark.
    packages += filter(None, [os.environ.get('PYTHONPATH')])
    return {
        **{name: value for name, value in os.environ.items() if name not in _WHEELS},
        'AMENT_PREFIX_PATH': os.pathsep.join(prefixes),
        'CMAKE_PREFIX_PATH': os.pathsep.join(prefixes),
        'LD_LIBRARY_PATH': os.pathsep.join([*libraries, os.environ.get('LD_LIBRARY_PATH', '')]),
        'PYTHONPATH': os.pathsep.join(packages),
    }


def compiler_cache():
    """
    Return cmake's option, and variables, by which ccache keeps what was compiled; none without it.

    It knows a compilation by the content of its source, headers and options, and by no path of the
    clone, so that a fresh clone need not compile what another one has compiled.
    """
    if shutil.which('ccache') is None:
        return [], {}
    cache = Path(os.environ.get('XDG_CACHE_HOME') or Path.home() / '.cache')
    variables = {
        'CCACHE_DIR': str(cache / 'franka_dynamics' / 'ccache'),
        'CCACHE_BASEDIR': str(ROOT),
        'CCACHE_NOHASHDIR': '1',
    }
    return ['-DCMAKE_CXX_COMPILER_LAUNCHER=ccache'], variables


def made(source, build, install, *more):
    """Configure, build and install a project with its own CMakeLists."""
    launcher, variables = compiler_cache()
    for command in (
        [
            'cmake',
            '-S',
            source,
            '-B',
            build,
            f'-DCMAKE_INSTALL_PREFIX={install}',
            *launcher,
            *more,
        ],
        ['cmake', '--build', build, '--target', 'install', '--parallel', '2'],
    ):
        words = [*map(str, command)]
        streams = {'capture_output': True, 'text': True}
        done = subprocess.run(words, env={**environment(install), **variables}, **streams)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-6000:]


def mock_urdf(arm, commands=('effort',), text=None):
    """
    Return a robot description with ros2_control's mock hardware at the arm's home.

    `text` is a URDF with the arm's joints; without it they turn about z, and links weigh nothing.
    """
    taken = ''.join(f'<command_interface name="{name}"/>' for name in commands)
    joints = '<link name="link0"/>'
    interfaces = ''
    for index, (name, start) in enumerate(zip(arm.joint_names, arm.home_position)):
        joints += (
            f'<link name="link{index + 1}"/><joint name="{name}" type="revolute">'
            f'<parent link="link{index}"/><child link="link{index + 1}"/><axis xyz="0 0 1"/>'
            '<limit lower="-7" upper="7" effort="1000" velocity="100"/></joint>'
        )
        interfaces += (
            f'<joint name="{name}">{taken}<state_interface name="position">'
            f'<param name="initial_value">{float(start)!r}</param></state_interface>'
            '<state_interface name="velocity"><param name="initial_value">0.0'
            '</param></state_interface><state_interface name="effort"/></joint>'
        )
    return (text or f'<robot name="mock">{joints}</robot>').replace(
        '</robot>',
        '<ros2_control name="mock" type="system"><hardware>'
        f'<plugin>mock_components/GenericSystem</plugin></hardware>{interfaces}'
        '</ros2_control></robot>',
    )
