# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`node` where there is no node, and where a value is none of its parameter's type."""

import pytest

from franka_dynamics.cli.main import main

pytest.importorskip('rclpy', reason='ROS 2 is not installed')


def test_a_node_that_is_not_there_is_told_within_five_seconds(capsys):
    assert main(['node', 'state', '--node', 'nowhere']) == 1
    assert '/nowhere does not answer within 5 s; is it running' in capsys.readouterr().err
