# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`node monitor` while no node is running."""

import json

import pytest

from franka_dynamics.cli.main import main

pytest.importorskip('rclpy', reason='ROS 2 is not installed')


@pytest.mark.parametrize(
    ('options', 'sentence'),
    [
        ([], 'No feedforward node was heard anywhere within 0.5 s'),
        (['--namespace=/left'], 'No feedforward node was heard in namespace /left within 0.5 s'),
    ],
)
def test_once_without_a_node_exits_with_1(options, sentence, capsys):
    assert main(['node', 'monitor', '--once', '--json', '--timeout=0.5', *options]) == 1
    output = capsys.readouterr()
    assert json.loads(output.out) == {'nodes': []}
    assert sentence in output.err
