# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The committed parameter files are generated from the tables; nodes accept all of them."""

import dataclasses

import pytest
from rclpy.context import Context
from rclpy.node import Node
from rclpy.parameter import Parameter
import yaml

from franka_dynamics.arm.consistency import REPAIRS
from franka_dynamics.control.guard import GuardLimits
from franka_dynamics.control.settings import Settings, StateSource, TARGETS
from franka_dynamics.control.supervision import SupervisionLimits
from franka_dynamics.dynamics.model import REFERENCE_FRAMES
from franka_dynamics.errors import SettingsError
from franka_dynamics.resources import share_directory
from franka_dynamics.ros.node_settings import made_of, settings_from
from franka_dynamics.ros.parameter_files import read_sections
from franka_dynamics.ros.parameter_tables import generated_files, table
from franka_dynamics.ros.parameter_tables import NODES as NAMES
from franka_dynamics.ros.parameters import declare, values
from franka_dynamics.ros.simulator_node import SimulatorNode

FILES = generated_files()


PARAMETER_FILES = sorted(
    path.relative_to(share_directory()).as_posix()
    for name in NAMES
    for path in (share_directory() / 'config' / name).iterdir()
)


@pytest.fixture
def make_node():
    """Return a function that makes a node, plain or of a class, with a parameter file."""
    made = []

    def make(name, path, kind=None):
        context = Context()
        # Under another name: a node that raises an error when it is made stays in the graph, where
        # other tests look for a node of its own name.
        renamed = ['-r', f'__node:=tables_{name}']
        context.init(args=['--ros-args', '--params-file', str(path), *renamed])
        made.append(context.try_shutdown)
        node = Node(name, context=context) if kind is None else kind(context=context)
        made.append(node.destroy_node)
        if kind is None:
            declare(node, table(name))
        return node

    yield make
    for end in reversed(made):
        end()


@pytest.mark.parametrize('name', sorted(FILES))
def test_committed_files_are_what_is_generated(name):
    assert (share_directory() / name).read_text(encoding='utf-8') == FILES[name], (
        'run: franka-dynamics node defaults --all .'
    )


def test_defaults_and_choices_are_those_of_what_they_stand_for():
    given = {spec.name: spec.default for spec in table('feedforward')}
    for made, own in (
        (settings_from(given), Settings()),
        (made_of(SupervisionLimits, given), SupervisionLimits()),
        (made_of(GuardLimits, given, 'guard.{}'), GuardLimits()),
    ):
        assert dataclasses.asdict(made) == dataclasses.asdict(own)
    choices = {spec.name: spec.choices for spec in table('feedforward')}
    assert choices['target'] == tuple(TARGETS)
    assert choices['state_source'] == tuple(source.value for source in StateSource)
    assert choices['reference_frame'] == REFERENCE_FRAMES
    assert choices['repair'] == ('', *REPAIRS)


@pytest.mark.parametrize('name', PARAMETER_FILES)
def test_every_parameter_of_a_shipped_file_arrives_in_its_node(name, make_node):
    path = share_directory() / name
    node = make_node(path.parent.name, path)
    for parameter, value in read_sections(path)['/**'].items():
        actual = node.get_parameter(parameter).value
        assert (list(actual) if isinstance(value, list) else actual) == value, parameter


@pytest.mark.parametrize('name', sorted(NAMES))
def test_nodes_declare_type_text_and_changeability_of_the_table(name, make_node, tmp_path):
    path = tmp_path / 'none.yaml'
    path.write_text('/**:\n  ros__parameters:\n    use_sim_time: false\n')
    node = make_node(name, path)
    for spec in table(name):
        parameter, descriptor = node.get_parameter(spec.name), node.describe_parameter(spec.name)
        assert parameter.type_ is Parameter.Type[spec.kind.upper()]
        assert (descriptor.description, descriptor.read_only) == (spec.sentence, spec.read_only)
        for bound in (spec.minimum, spec.maximum):
            assert bound is None or f'{bound:g}' in descriptor.additional_constraints
        assert all(choice in descriptor.additional_constraints for choice in spec.choices)
    assert values(node, table(name)).keys() == {spec.name for spec in table(name)}


def test_an_arm_that_would_wait_for_its_own_clock_is_refused(make_node, tmp_path):
    path = tmp_path / 'both.yaml'
    path.write_text('/**:\n  ros__parameters: {use_sim_time: true, publish_clock: true}\n')
    with pytest.raises(SettingsError, match='would wait for its own /clock'):
        make_node('simulator', path, SimulatorNode)


@pytest.mark.parametrize('name', sorted(NAMES))
def test_a_running_nodes_dump_is_taken_by_another_node(name, make_node, tmp_path):
    # Given the output of `ros2 param dump`, with ROS's own parameters.
    node = make_node(name, share_directory() / f'config/{name}/default.yaml')
    names = node.list_parameters([], depth=0).names
    assert 'use_sim_time' in names
    dump = {
        one: getattr(value, 'tolist', lambda value=value: value)()
        for one, value in ((one, node.get_parameter(one).value) for one in names)
    }
    path = tmp_path / 'dump.yaml'
    path.write_text(yaml.safe_dump({f'/{node.get_name()}': {'ros__parameters': dump}}))
    # When another node is started with this file, then it has the same values.
    again = make_node(name, path)
    for one in table(name):
        assert again.get_parameter(one.name).value == node.get_parameter(one.name).value
