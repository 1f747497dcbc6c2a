# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Public names of the command line, of ROS and of launch files, from the tables of the code."""

from collections.abc import Iterator, Set
import runpy
import sys
from unittest.mock import MagicMock, patch
from xml.etree import ElementTree

import click
import yaml

from franka_dynamics.cli.main import PROGRAM_NAME, root_command
from franka_dynamics.files import share_directory
from franka_dynamics.parameter_schema import specs_in_files
from franka_dynamics.ros.parameter_tables import NODE_NAMES, parameter_specs

SHARE = share_directory()
LAUNCH_PACKAGES = (
    'ament_index_python.packages',
    'launch.actions',
    'launch.conditions',
    'launch.event_handlers',
    'launch.launch_description_sources',
    'launch.substitutions',
    'launch_ros.actions',
    'launch_ros.parameter_descriptions',
    'launch_ros.substitutions',
)


def command_line_names(_listed: Set[str] = frozenset()) -> set[str]:
    """Return commands, their arguments, and options with their choices."""
    return set(_names_of_command(root_command, PROGRAM_NAME))


def _names_of_command(command: click.Command, words: str) -> Iterator[str]:
    """Yield a command's words, with each of its arguments and options, and those of its group."""
    yield words
    for parameter in command.params:
        if isinstance(parameter, click.Argument):
            options = [parameter.human_readable_name]
        else:
            options = [*parameter.opts, *parameter.secondary_opts]
        for option in options:
            yield f'{words} {option}'
            if isinstance(parameter.type, click.Choice):
                for choice in parameter.type.choices:
                    yield f'{words} {option} {choice}'
    if isinstance(command, click.Group):
        for name, each in command.commands.items():
            yield from _names_of_command(each, f'{words} {name}')


def ros_names(_listed: Set[str] = frozenset()) -> set[str]:
    """
    Return parameters of the nodes and the C++ controller, topics, services and actions.

    Topics, services and actions are those of the security policies, which
    test_a_policy_allows_exactly_what_the_node_has holds against running nodes.
    """
    specs = {node: parameter_specs(node) for node in NODE_NAMES}
    specs['gazebo_direct'] = specs_in_files('arm')
    names = {
        f'{node} parameter {spec.name} {spec.type_name}'
        for node, found in specs.items()
        for spec in found
    }
    file = SHARE / 'cpp' / 'src' / 'feedforward_controller_parameters.yaml'
    for controller, group in yaml.safe_load(file.read_text('utf-8')).items():
        names.update(f'{controller} parameter {one}' for one in _parameters_of_group(group))
    for policy in (SHARE / 'security' / 'policies').glob('*.policy.xml'):
        for profile in ElementTree.parse(policy).getroot().iter('profile'):
            for group in profile:
                ((rule, _),) = group.attrib.items()
                names.update(f'{profile.get("node")} {rule} {one.tag} {one.text}' for one in group)
    return names


def _parameters_of_group(group: dict, prefix: str = '') -> Iterator[str]:
    """Yield names and types of the parameters in a group of generate_parameter_library."""
    for name, entry in group.items():
        if isinstance(entry.get('type'), str):
            yield f'{prefix}{name} {entry["type"]}'
        else:
            yield from _parameters_of_group(entry, f'{prefix}{name}.')


def launch_names(_listed: Set[str] = frozenset()) -> set[str]:
    """Return the launch files with their arguments, and the choices of these."""
    # ROS's launch, which pip does not have, is replaced: the arguments are a table of each file.
    names = set()
    stand_ins = {}
    for module in LAUNCH_PACKAGES:
        stand_ins |= {module: MagicMock(), module.partition('.')[0]: MagicMock()}
    with patch.dict(sys.modules, stand_ins):
        for module in ('launching', 'launch_actions', 'launch_controllers'):
            sys.modules.pop(f'franka_dynamics.ros.{module}', None)
        for path in (SHARE / 'launch').glob('*.launch.py'):
            names.add(path.name)
            for name, given in runpy.run_path(str(path))['ARGUMENTS'].items():
                names.add(f'{path.name} {name}')
                # After default and description; an empty choice leaves the parameter to the files.
                choices = given[2] if len(given) > 2 else ()
                names.update(f'{path.name} {name}:={choice}' for choice in choices if choice)
    return names
