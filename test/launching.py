# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Stand-ins for ROS's launch and launch_ros, which PyPI does not carry.

They keep what they are given. `run` does what `ros2 launch` does with a launch file as far as
names are concerned: arguments checked and defaulted, functions called, substitutions performed.
"""

from dataclasses import dataclass, field
import importlib.util
from pathlib import Path
import sys
from types import ModuleType, SimpleNamespace


class Recorded:
    """Keeps its arguments."""

    def __init__(self, *args, **kwargs):
        self.args, self.kwargs = args, kwargs


class Performed(Recorded):
    """A substitution."""

    def perform(self, context):
        return performed(self.args[0], context)


class LaunchConfiguration(Performed):
    def perform(self, context):
        return context.configurations[self.args[0]]


class PathJoinSubstitution(Performed):
    def perform(self, context):
        return '/'.join(performed(part, context) for part in self.args[0])


class FindPackageShare(Performed):
    def perform(self, context):
        return f'<share of {self.args[0]}>'


class ParameterValue(Performed):
    def perform(self, context):
        text = performed(self.args[0], context)
        return {'true': True, 'false': False}[text] if self.kwargs['value_type'] is bool else text


KNOWN = {
    name: type(name, (Recorded,), {})
    for name in (
        'DeclareLaunchArgument',
        'GroupAction',
        'IncludeLaunchDescription',
        'LaunchDescription',
        'Node',
        'OpaqueFunction',
        'Shutdown',
    )
} | {
    one.__name__: one
    for one in (LaunchConfiguration, PathJoinSubstitution, FindPackageShare, ParameterValue)
}
KNOWN['PythonLaunchDescriptionSource'] = Performed
DeclareLaunchArgument, GroupAction, Node, OpaqueFunction, Shutdown = (
    KNOWN[name]
    for name in ('DeclareLaunchArgument', 'GroupAction', 'Node', 'OpaqueFunction', 'Shutdown')
)
MODULES = [
    *('launch', 'launch.conditions', 'launch.event_handlers', 'launch.actions'),
    *('launch.launch_description_sources', 'launch.substitutions', 'launch_ros'),
    *('launch_ros.actions', 'launch_ros.parameter_descriptions', 'launch_ros.substitutions'),
]


@dataclass(frozen=True)
class LaunchedNode:
    """What a process would be started with."""

    package: str
    executable: str
    namespace: str
    files: tuple[str, ...]
    parameters: dict[str, object]
    remappings: dict[str, str]
    ends_all: bool
    order: tuple[str, ...] = field(default=())


def performed(value, context):
    """Return what a substitution, or a text, stands for."""
    if isinstance(value, list):
        return ''.join(performed(part, context) for part in value)
    return value.perform(context) if isinstance(value, Performed) else value


def load(path: Path, monkeypatch) -> Recorded:
    """Return a launch file's description, made with the stand-ins."""
    for name in MODULES:
        module = ModuleType(name)
        # Whatever else a launch file names is only kept.
        module.__getattr__ = lambda one: KNOWN.get(one) or type(one, (Recorded,), {})
        monkeypatch.setitem(sys.modules, name, module)
    spec = importlib.util.spec_from_file_location(path.stem.replace('.', '_'), path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.generate_launch_description()


def arguments(description) -> dict[str, Recorded]:
    """Return the declared arguments by name."""
    return {
        entity.args[0]: entity
        for entity in description.args[0]
        if isinstance(entity, DeclareLaunchArgument)
    }


def context_of(
    declared: dict[str, Recorded],
    given: dict[str, str],
) -> SimpleNamespace:
    """Return what arguments are once their defaults are filled in, in order of declaration."""
    context = SimpleNamespace(configurations={})
    for name, one in declared.items():
        value = given.get(name, performed(one.kwargs['default_value'], context))
        assert value in one.kwargs.get('choices', [value])
        context.configurations[name] = value
    return context


def run(description, **given: str) -> list[LaunchedNode]:
    """Return the nodes that launching with these arguments starts."""
    declared = arguments(description)
    assert set(given) <= set(declared), 'an argument that no one declares'
    context = context_of(declared, given)
    nodes = []
    for entity in description.args[0]:
        if isinstance(entity, OpaqueFunction):
            nodes += entity.kwargs['function'](context)
    return [launched(node, context) for node in nodes]


def included(description, **given: str) -> list[tuple[str, dict[str, str]]]:
    """Return the launch files that groups include, and the arguments they are given."""
    context = context_of(arguments(description), given)
    return [
        (
            performed(one.args[0], context),
            {
                name: performed(value, context)
                for name, value in dict(one.kwargs['launch_arguments']).items()
            },
        )
        for group in description.args[0]
        if isinstance(group, GroupAction)
        for one in group.args[0]
    ]


def launched(node, context) -> LaunchedNode:
    """Return what a node action would start."""
    given = {
        name: performed(node.kwargs[name], context)
        for name in ('package', 'executable', 'namespace')
    }
    files, parameters, order = [], {}, []
    for one in node.kwargs.get('parameters', []):
        if isinstance(one, dict):
            parameters.update({name: performed(value, context) for name, value in one.items()})
            order.append('arguments')
        else:
            files.append(performed(one, context))
            order.append(files[-1])
    remappings = {old: performed(new, context) for old, new in node.kwargs.get('remappings', [])}
    return LaunchedNode(
        **given,
        files=tuple(files),
        parameters=parameters,
        remappings=remappings,
        ends_all=isinstance(node.kwargs.get('on_exit'), Shutdown),
        order=tuple(order),
    )
