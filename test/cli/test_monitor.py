# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The monitor where there is nothing to show, or an option is at fault."""

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
def test_given_nobody_when_asked_once_then_the_answer_is_no(options, sentence, capsys):
    assert main(['node', 'monitor', '--once', '--json', '--timeout=0.5', *options]) == 1
    output = capsys.readouterr()
    assert json.loads(output.out) == {'nodes': []}
    assert sentence in output.err


@pytest.mark.parametrize(
    ('options', 'sentence'),
    [
        (['--json'], '--json prints one state and needs --once'),
        (['--rate', '0'], '--rate is 0.0; it must be within 0.1 and 50 Hz'),
        (['--once', '--timeout', 'nan'], '--timeout is nan'),
    ],
)
def test_options_at_fault_are_refused_with_a_sentence(options, sentence, capsys):
    assert main(['node', 'monitor', *options]) == 2
    assert sentence in capsys.readouterr().err
