# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
A stand-in for ROS's launch and launch_ros, which are no wheels, for the tests of this folder.

What a launch file makes is kept as it was given, and read as launch and launch_ros would read it:
arguments, namespaces, remappings and parameter files, in their form and order. No process starts.
`make test-ros` runs the same tests with ROS's own launch.
"""

import importlib.util
import logging
from pathlib import Path
import subprocess
import tempfile
from types import ModuleType, SimpleNamespace

import yaml

NAMES = {
    'launch': 'LaunchDescription',
    'launch.actions': 'DeclareLaunchArgument ExecuteProcess GroupAction IncludeLaunchDescription '
    'LogInfo OpaqueFunction RegisterEventHandler Shutdown',
    'launch.event_handlers': 'OnProcessExit',
    'launch.launch_description_sources': 'PythonLaunchDescriptionSource',
    'launch.substitutions': 'Command LaunchConfiguration PathJoinSubstitution',
    'launch_ros': '',
    'launch_ros.actions': 'Node',
    'launch_ros.parameter_descriptions': 'ParameterValue',
    'launch_ros.substitutions': 'FindPackageShare',
}


class Made:
    """What a launch file made of a class of launch: the values that it gave."""

    def __init__(self, *values, **given):
        self.values, self.given = values, given

    def perform(self, context):
        return performed(self, context)


ABSENT = importlib.util.find_spec('launch_ros') is None
MODULES = {name: ModuleType(name) for name in NAMES}
for _name, _members in NAMES.items():
    vars(MODULES[_name]).update({one: type(one, (Made,), {}) for one in _members.split()})


def performed(value, context):
    """Return a text, a substitution or a list of them as text."""
    from ament_index_python.packages import get_package_share_directory

    if isinstance(value, list | tuple):
        return ''.join(performed(one, context) for one in value)
    if not isinstance(value, Made):
        return str(value)
    first = value.values[0]
    match type(value).__name__:
        case 'LaunchConfiguration':
            return context.given[first]
        case 'PathJoinSubstitution':
            return str(Path(*(performed(part, context) for part in first)))
        case 'FindPackageShare':
            return get_package_share_directory(first)
        case 'Command':
            command = performed(first, context)
            return subprocess.run(
                command, shell=True, check=True, capture_output=True, text=True
            ).stdout
    return performed(first, context)


def node_command(given, context):
    """Return the command with which launch_ros would start a node."""
    from ament_index_python.packages import get_package_prefix

    prefix, section = get_package_prefix(given['package']), '/**'
    command = [f'{prefix}/lib/{given["package"]}/{given["executable"]}']
    command += [*map(str, given.get('arguments', ())), '--ros-args']
    name, space = given.get('name'), given.get('namespace')
    if name is not None:
        command += ['-r', f'__node:={name}']
    if space is not None:
        space = '/' + performed(space, context).strip('/')
        command += ['-r', f'__ns:={space}']
    if None not in (name, space):
        section = f'{space.rstrip("/")}/{name}'
    for one in given.get('parameters', ()):
        if isinstance(one, dict):
            # launch_ros reads texts as YAML unless they are given as ParameterValue.
            values = {
                key: value.given['value_type'](performed(value, context))
                if isinstance(value, Made)
                else value
                for key, value in one.items()
            }
            with tempfile.NamedTemporaryFile('w', suffix='.yaml', delete=False) as file:
                yaml.safe_dump({section: {'ros__parameters': values}}, file)
            one = file.name
        command += ['--params-file', performed(one, context)]
    for old, new in given.get('remappings', ()):
        command += ['-r', f'{old}:={performed(new, context)}']
    return command


def processes(file, given, returncode):
    """Yield command and on_exit of what a launch file starts, if all end with a status at once."""
    ended, handlers = [], []

    def include(file, given):
        spec = importlib.util.spec_from_file_location('included', file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        # Arguments of another file included before do not reach this one.
        context = SimpleNamespace(given=dict(given), is_shutdown=False)
        yield from visit(module.generate_launch_description(), context)

    def visit(one, context):
        match type(one).__name__:
            case 'LaunchDescription' | 'GroupAction':
                for inner in one.values[0] if one.values else ():
                    yield from visit(inner, context)
            case 'DeclareLaunchArgument':
                default = performed(one.given['default_value'], context)
                value = context.given.setdefault(one.values[0], default)
                choices = one.given.get('choices')
                assert not choices or value in choices, f'{one.values[0]}:={value}'
            case 'OpaqueFunction':
                for inner in one.given['function'](context):
                    yield from visit(inner, context)
            case 'IncludeLaunchDescription':
                inner = {
                    name: performed(value, context)
                    for name, value in one.given.get('launch_arguments', ())
                }
                yield from include(performed(one.values[0], context), inner)
            case 'RegisterEventHandler':
                handlers.append((one.values[0], context))
            case 'LogInfo':
                logging.getLogger('launch.user').warning(one.given['msg'])
            case 'Node' | 'ExecuteProcess':
                words = one.given.get('cmd', ())
                command = [performed(word, context) for word in words]
                ended.append(one)
                yield command or node_command(one.given, context), one.given.get('on_exit')

    yield from include(file, given)
    while ended:
        process = ended.pop(0)
        for handler, context in handlers:
            if handler.given.get('target_action') is process:
                event = SimpleNamespace(returncode=returncode)
                for inner in handler.given['on_exit'](event, context):
                    yield from visit(inner, context)
