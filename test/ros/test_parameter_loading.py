# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A file into a running node: all of it or nothing, dumps included."""

import pytest
from rcl_interfaces.srv import GetParameters, ListParameters
from rclpy.parameter import parameter_value_to_python
import yaml

from franka_dynamics.cli.main import main

NODE = '/feedforward'


def value(probe, name):
    (answer,) = probe.call(
        GetParameters, f'{NODE}/get_parameters', GetParameters.Request(names=[name])
    ).values
    return parameter_value_to_python(answer)


def dumped(probe):
    """Return all parameters as `ros2 param dump` writes them."""
    names = probe.call(
        ListParameters, f'{NODE}/list_parameters', ListParameters.Request()
    ).result.names
    answers = probe.call(
        GetParameters, f'{NODE}/get_parameters', GetParameters.Request(names=names)
    ).values
    tree: dict = {}
    for name, answer in zip(names, answers):
        *groups, last = name.split('.')
        table = tree
        for group in groups:
            table = table.setdefault(group, {})
        entry = parameter_value_to_python(answer)
        table[last] = list(entry) if hasattr(entry, 'tolist') else entry
    return {NODE: {'ros__parameters': tree}}


@pytest.fixture
def load(tmp_path, capfd):
    """Write parameters into a file, load it into the node, return exit status and text."""

    def run(parameters):
        path = tmp_path / 'own.yaml'
        path.write_text(yaml.safe_dump(parameters))
        status = main(['node', 'load', NODE, str(path)])
        captured = capfd.readouterr()
        return status, captured.out + captured.err

    return run


def test_files_are_loaded_into_a_running_node_all_or_nothing(probe, start_node, load):
    start_node()
    probe.until(lambda: probe.get_publishers_info_by_topic('/diagnostics'), 'the node')
    # A whole dump, read-only parameters and ROS's own among them, changes nothing.
    status, text = load(dumped(probe))
    assert (status, 'set: nothing' in text) == (0, True), text
    dump = dumped(probe)
    dump[NODE]['ros__parameters']['scale'] = 0.25
    dump[NODE]['ros__parameters']['kp'] = [3]
    status, text = load(dump)
    assert status == 0, text
    assert (value(probe, 'scale'), list(value(probe, 'kp'))) == (0.25, [3.0])
    # The second is refused, so the first is not set either.
    status, text = load({'/**': {'ros__parameters': {'scale': 0.5, 'kd': [-1.0]}}})
    assert status == 1
    assert 'kd' in text
    assert value(probe, 'scale') == 0.25
    status, text = load({'/**': {'ros__parameters': {'scale': 0.5, 'autostart': False}}})
    assert (status, 'autostart' in text, value(probe, 'scale')) == (2, True, 0.25), text
    status, text = load({'/**': {'ros__parameters': {'scael': 0.5}}})
    assert (status, 'no parameter scael' in text) == (2, True), text
    status, text = load({'/**': {'ros__parameters': {'scale': 'half'}}})
    assert (status, 'scale takes a number' in text) == (2, True), text


def test_loading_into_an_absent_node_answers_no(tmp_path, capsys):
    path = tmp_path / 'own.yaml'
    path.write_text('/**:\n  ros__parameters:\n    scale: 0.5\n')
    assert main(['node', 'load', '/nobody', str(path), '--timeout', '0.3']) == 1
    assert '/nobody does not answer' in capsys.readouterr().err
