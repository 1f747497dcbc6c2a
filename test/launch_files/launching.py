# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Launch files under ROS's own launch: what their processes would be started with."""

from dataclasses import dataclass, field
import os
import sys

import pytest

from franka_dynamics.files import share_directory
from franka_dynamics.ros import NODE_MODULES

from ..ros2_control_prefix import PREFIXES

PACKAGES = {
    'franka_dynamics': ('feedforward_node', 'simulator_node', 'gazebo_direct_node'),
    'controller_manager': ('spawner', 'unspawner'),
    'forward_command_controller': (),
    'gz_ros2_control': (),
    'joint_state_broadcaster': (),
    'joint_trajectory_controller': (),
    'mujoco_ros2_control': ('ros2_control_node',),
    'robot_state_publisher': ('robot_state_publisher',),
    'ros_gz_bridge': ('parameter_bridge',),
    'ros_gz_sim': ('create',),
    'xacro': (),
}
GZ_SIM = 'from launch import LaunchDescription as generate_launch_description\n'
ROS2 = 'from ros2cli.cli import main; exit(main())'  # what ROS's own ros2 runs
NODE = """
import sys
from {module} import main
sys.exit(main())
"""


def ament_prefix(folder, packages=PACKAGES, texts=()):
    """Make a prefix where launch finds our files and others' packages, with executables' texts."""
    index = folder / 'share/ament_index/resource_index/packages'
    index.mkdir(parents=True)
    for package, executables in packages.items():
        (index / package).touch()
        for name in executables:
            path = folder / 'lib' / package / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(dict(texts).get(name, '#!/bin/sh\n'))
            path.chmod(0o755)
    (folder / 'share/franka_dynamics').symlink_to(share_directory())
    if 'ros_gz_sim' in packages:
        gz_sim = folder / 'share/ros_gz_sim/launch/gz_sim.launch.py'
        gz_sim.parent.mkdir(parents=True)
        gz_sim.write_text(GZ_SIM)
    return folder


def own_prefix(folder):
    """Make a prefix with this package's launch files and nodes, and ros2, run by this Python."""
    needed = PACKAGES['franka_dynamics']
    texts = {
        name: f'#!{sys.executable}\n{NODE.format(module=NODE_MODULES[name])}' for name in needed
    }
    ament_prefix(folder, {'franka_dynamics': needed}, texts)
    ros2 = folder / 'bin/ros2'
    ros2.parent.mkdir()
    ros2.write_text(f'#!{sys.executable}\n{ROS2}\n')
    ros2.chmod(0o755)
    return folder


def environment(prefix):
    """Return the environment of a Python process that finds a prefix of ours, and ROS."""
    python = f'lib/python3.{sys.version_info.minor}/site-packages'
    of_prefixes = [f'{one}/{python}' for one in PREFIXES.split(os.pathsep) if one]
    ament = [str(prefix), os.environ.get('AMENT_PREFIX_PATH'), PREFIXES, sys.prefix]
    return {
        **os.environ,
        'AMENT_PREFIX_PATH': os.pathsep.join(filter(None, ament)),
        'PYTHONPATH': os.pathsep.join(filter(None, [*sys.path, *of_prefixes])),
        'ROS_HOME': str(prefix / 'ros'),
        # xacro and ros2, which launch calls by their names, stand beside Python or in a prefix.
        'PATH': os.pathsep.join(
            [
                f'{prefix}/bin',
                os.path.dirname(sys.executable),
                *(f'{one}/bin' for one in PREFIXES.split(os.pathsep) if one),
                os.environ['PATH'],
            ]
        ),
    }


@dataclass
class Started:
    """A process as launch would start it; its parameters as ROS gives them to its node."""

    executable: str
    command: list[str]
    on_exit: object
    remappings: dict[str, str] = field(default_factory=dict)
    values: dict[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        given = list(zip(self.command, self.command[1:]))
        self.remappings = dict(text.split(':=') for option, text in given if option == '-r')
        self.values = overrides(self.command, self.executable.removesuffix('_node'))


def overrides(command, name):
    """Return the parameters that ROS gives to a node of a name that is started by a command."""
    rclpy = pytest.importorskip('rclpy', reason='ROS 2 is not installed')
    context = rclpy.Context()
    rclpy.init(args=command, context=context)
    try:
        node = rclpy.create_node(
            name,
            context=context,
            enable_rosout=False,
            start_parameter_services=False,
            automatically_declare_parameters_from_overrides=True,
        )
        found = {key: one.value for key, one in node.get_parameters_by_prefix('').items()}
        node.destroy_node()
    finally:
        context.shutdown()
    return found


def started(file, monkeypatch, returncode=0, **given) -> list[Started]:
    """Return what a launch file starts, if each of its processes ends with a status at once."""
    # Of xacro, which launch calls by its name, and which may stand beside Python.
    path = os.pathsep.join([os.environ['PATH'], os.path.dirname(sys.executable)])
    monkeypatch.setenv('PATH', path)
    from launch import LaunchContext
    from launch.actions import (
        ExecuteLocal,
        IncludeLaunchDescription,
        RegisterEventHandler,
    )
    from launch.events.process import ProcessExited
    from launch.launch_description_sources import PythonLaunchDescriptionSource

    context = LaunchContext()
    handlers = []
    ended = []
    found = []  # command and on_exit

    def execute(process, context):
        process.prepare(context)
        found.append((process.process_details['cmd'], process._ExecuteLocal__on_exit))
        ended.append(process)

    monkeypatch.setattr(ExecuteLocal, 'execute', execute)

    def visit(entity):
        if isinstance(entity, RegisterEventHandler):
            handlers.append(entity.event_handler)
        for inner in entity.visit(context) or []:
            visit(inner)

    source = PythonLaunchDescriptionSource(str(file))
    visit(IncludeLaunchDescription(source, launch_arguments=given.items()))
    while ended:
        process = ended.pop(0)
        details = {name: process.process_details[name] for name in ('name', 'cmd', 'cwd', 'env')}
        event = ProcessExited(action=process, returncode=returncode, **details, pid=1)
        for handler in handlers:
            if handler.matches(event):
                for entity in handler.handle(event, context) or []:
                    visit(entity)
    executables = {name for names in PACKAGES.values() for name in names}
    # Another program may stand in front of an executable of ROS.
    words = [[os.path.basename(word) for word in command] for command, _ in found]
    names = [next(filter(executables.__contains__, given), given[0]) for given in words]
    return [Started(name, command, on_exit) for name, (command, on_exit) in zip(names, found)]


def has(process, **expected):
    """Assert that ROS gives a process these parameters."""
    assert {name: process.values.get(name) for name in expected} == expected
