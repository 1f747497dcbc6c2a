# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics node monitor` beside running nodes: an arm in a namespace."""

import json
import time

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.cli.main import main
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel

from .conftest import LOCKSTEP, PATIENT

PATIENCE_S = 60.0
ARM = load('fer', prefix='left_')
NAMED = {'robot_type': 'fer', 'arm_prefix': 'left_'}


@pytest.fixture
def left(launch):
    """Start a FER in a namespace of its own."""
    remap = {'__ns': '/left'}
    # A quarter of a real arm's pace: what a second of it costs, nobody here needs.
    launch('simulator_node', **{**LOCKSTEP, 'lockstep_rate': 250.0}, remaps=remap, **NAMED)
    remaps = {**remap, **PATIENT['remaps']}
    launch('feedforward_node', **{**PATIENT, 'remaps': remaps}, target='mujoco', **NAMED)


def asked_once(capsys):
    """Return what the monitor says as soon as the arm runs."""
    asked = ['node', 'monitor', '--once', '--json', f'--timeout={PATIENCE_S}', '--namespace=left']
    give_up = time.monotonic() + PATIENCE_S
    while True:
        status = main(asked)
        nodes = json.loads(capsys.readouterr().out)['nodes']
        node = next(node for node in nodes if node['node'] == 'left/feedforward')
        if node['statuses']['Command']['values']['mode'] == 'running':
            assert status == 0
            return node
        assert time.monotonic() < give_up, nodes


def test_json_of_an_arm_in_a_namespace_has_its_torques_and_limits(left, capsys):
    node = asked_once(capsys)
    assert node['torque_limits'] == dict(zip(ARM.joint_names, ARM.limit('effort')))
    # Of what reached it: on a busy machine not every state does.
    assert 0.0 < node['statuses']['Joint states']['values']['rate [Hz]'] < 1001.0
    assert node['statuses']['Contact']['values']['contact'] is False
    assert node['command_rate_hz'] > 0.0
    gravity = [node['torques']['gravity']['effort'][joint] for joint in ARM.joint_names]
    np.testing.assert_allclose(gravity, NewtonEulerModel(ARM).gravity(ARM.home), rtol=0, atol=1e-9)
