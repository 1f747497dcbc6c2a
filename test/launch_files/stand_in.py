# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
A stand-in for ROS's launch and launch_ros, which are no wheels, for the tests of this folder.

It composes what this package's launch files start: arguments, namespaces, remappings and parameter
files, in the form and order of launch_ros. It starts no process. `make test-ros` runs the same
tests with ROS's own launch.
"""

from dataclasses import dataclass
import importlib.util
import logging
from pathlib import Path
import subprocess
import sys
import tempfile
from types import ModuleType, SimpleNamespace

import yaml


class LaunchContext:
    def __init__(self):
        self.launch_configurations, self.is_shutdown = {}, False


def performed(value, context):
    """Return a text, a substitution or a list of them as text."""
    if isinstance(value, list | tuple):
        return ''.join(performed(one, context) for one in value)
    return value.perform(context) if hasattr(value, 'perform') else str(value)


class LaunchConfiguration:
    def __init__(self, name):
        self._name = name

    def perform(self, context):
        return context.launch_configurations[self._name]


class PathJoinSubstitution:
    def __init__(self, parts):
        self._parts = parts

    def perform(self, context):
        return str(Path(*(performed(part, context) for part in self._parts)))


class Command:
    def __init__(self, words):
        self._words = words

    def perform(self, context):
        command = performed(self._words, context)
        done = subprocess.run(command, shell=True, check=True, capture_output=True, text=True)
        return done.stdout


class FindPackageShare:
    def __init__(self, package):
        self._package = package

    def perform(self, _):
        from ament_index_python.packages import get_package_share_directory

        return get_package_share_directory(self._package)


class ParameterValue:
    def __init__(self, value, value_type):
        self.value, self._type = value, value_type

    def evaluate(self, context):
        return self._type(performed(self.value, context))


class Action:
    def visit(self, context):
        return self.execute(context)

    def execute(self, context):
        return []


class LaunchDescription(Action):
    def __init__(self, entities=()):
        self._entities = list(entities)

    def visit(self, context):
        return self._entities


class GroupAction(LaunchDescription):
    pass


class DeclareLaunchArgument(Action):
    def __init__(self, name, default_value, description, choices=()):
        self.name, self._default, self._choices = name, default_value, choices

    def execute(self, context):
        given = context.launch_configurations
        value = given.setdefault(self.name, performed(self._default, context))
        if self._choices and value not in self._choices:
            raise RuntimeError(f'{self.name}:={value}: the choices are {self._choices}')
        return []


class OpaqueFunction(Action):
    def __init__(self, function):
        self._function = function

    def execute(self, context):
        return self._function(context)


class PythonLaunchDescriptionSource:
    def __init__(self, path):
        self.path = path


class IncludeLaunchDescription(Action):
    def __init__(self, source, launch_arguments=()):
        self._source, self._given = source, dict(launch_arguments)

    def execute(self, context):
        file = performed(self._source.path, context)
        spec = importlib.util.spec_from_file_location('included', file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)

        def included(context):
            # Arguments of another file included before do not reach this one.
            context.launch_configurations = {
                name: performed(value, context) for name, value in self._given.items()
            }
            return [module.generate_launch_description()]

        return [OpaqueFunction(included)]


class RegisterEventHandler(Action):
    def __init__(self, event_handler):
        self.event_handler = event_handler


class LogInfo(Action):
    def __init__(self, msg):
        self._text = msg

    def execute(self, context):
        logging.getLogger('launch.user').warning(self._text)
        return []


class Shutdown(Action):
    def __init__(self, reason=''):
        self.reason = reason


class OnShutdown:
    def __init__(self, on_shutdown):
        self._function = on_shutdown

    def matches(self, event):
        return False


class OnProcessExit(OnShutdown):
    def __init__(self, target_action, on_exit):
        self._target, self._function = target_action, on_exit

    def matches(self, event):
        return event.action is self._target

    def handle(self, event, context):
        return self._function(event, context)


@dataclass
class ProcessExited:
    action: object
    returncode: int
    name: str
    cmd: list
    cwd: object
    env: object
    pid: int

    process_name = property(lambda self: self.name)


class ExecuteLocal(Action):
    def __init__(self, cmd=(), on_exit=None, **_):
        self._cmd, self._ExecuteLocal__on_exit = cmd, on_exit

    def visit(self, context):
        return self.execute(context)

    def command(self, context):
        return [performed(word, context) for word in self._cmd]

    def prepare(self, context):
        command = self.command(context)
        self.process_details = {'name': command[0], 'cmd': command, 'cwd': None, 'env': None}


class ExecuteProcess(ExecuteLocal):
    pass


class Node(ExecuteLocal):
    def __init__(self, package, executable, on_exit=None, **given):
        super().__init__(on_exit=on_exit)
        self._given = SimpleNamespace(
            **{'name': None, 'namespace': None, 'arguments': (), 'parameters': (), **given}
        )
        self._package, self._executable = package, executable

    def command(self, context):
        from ament_index_python.packages import get_package_prefix

        given, prefix = self._given, get_package_prefix(self._package)
        command = [f'{prefix}/lib/{self._package}/{self._executable}', *map(str, given.arguments)]
        command.append('--ros-args')
        section, space = '/**', None
        if given.namespace is not None:
            space = '/' + performed(given.namespace, context).strip('/')
        if given.name is not None:
            command += ['-r', f'__node:={given.name}']
        if space is not None:
            command += ['-r', f'__ns:={space}']
        if None not in (given.name, space):
            section = f'{space.rstrip("/")}/{given.name}'
        for one in given.parameters:
            if isinstance(one, dict):
                values = {
                    name: value.evaluate(context) if hasattr(value, 'evaluate') else value
                    for name, value in one.items()
                }
                # launch_ros reads texts as YAML unless they are given as ParameterValue.
                one = self._written({section: {'ros__parameters': values}})
            command += ['--params-file', performed(one, context)]
        for old, new in getattr(given, 'remappings', ()):
            command += ['-r', f'{old}:={performed(new, context)}']
        return command

    def _written(self, content):
        with tempfile.NamedTemporaryFile('w', suffix='.yaml', delete=False) as file:
            yaml.safe_dump(content, file)
        return file.name


MODULES = {
    'launch': (LaunchContext, LaunchDescription),
    'launch.actions': (
        DeclareLaunchArgument,
        ExecuteLocal,
        ExecuteProcess,
        GroupAction,
        IncludeLaunchDescription,
        LogInfo,
        OpaqueFunction,
        RegisterEventHandler,
        Shutdown,
    ),
    'launch.event_handlers': (OnProcessExit, OnShutdown),
    'launch.events': (),
    'launch.events.process': (ProcessExited,),
    'launch.launch_description_sources': (PythonLaunchDescriptionSource,),
    'launch.substitutions': (Command, LaunchConfiguration, PathJoinSubstitution),
    'launch_ros': (),
    'launch_ros.actions': (Node,),
    'launch_ros.parameter_descriptions': (ParameterValue,),
    'launch_ros.substitutions': (FindPackageShare,),
}


def use(monkeypatch):
    """Let launch files find this stand-in, unless ROS's own launch_ros is installed."""
    if 'launch_ros' in sys.modules or importlib.util.find_spec('launch_ros') is not None:
        return  # ROS's own, or this stand-in already
    for name, members in MODULES.items():
        module = ModuleType(name)
        vars(module).update({one.__name__: one for one in members})
        monkeypatch.setitem(sys.modules, name, module)
