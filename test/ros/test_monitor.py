# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics node monitor` beside running nodes: arms in namespaces, and one of them."""

import json
from pathlib import Path
import time

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.cli.main import main
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel

ROOT = Path(__file__).parents[2]
PATIENCE_S = 60.0
SIDES = {'left': load('fer', prefix='left_'), 'right': load('fr3', prefix='right_')}


@pytest.fixture(scope='module')
def two_arms(launch_for_module):
    """Start a FER and an FR3 in namespaces of their own."""
    for side in SIDES:
        common = {'robot_type': {'left': 'fer', 'right': 'fr3'}[side], 'arm_prefix': f'{side}_'}
        remap = {'__ns': f'/{side}'}
        launch_for_module(
            'simulator_node',
            pacing='lockstep',
            lockstep_timeout=1.0,
            # A quarter of a real arm's pace: what a second of it costs, nobody here needs.
            lockstep_rate=250.0,
            remaps=remap,
            **common,
        )
        launch_for_module(
            'feedforward_node',
            target='mujoco',
            listen_before_activation=0.0,
            state_timeout=2.0,
            max_state_age=0.0,
            **common,
            remaps={**remap, 'feedforward/command': 'effort_controller/commands'},
        )


def seen_by(nodes, side):
    return next(node for node in nodes if node['node'] == f'{side}/feedforward')


def asked_once(capsys):
    """Return what the monitor says as soon as both arms run."""
    give_up = time.monotonic() + PATIENCE_S
    while True:
        status = main(
            [
                'node',
                'monitor',
                '--once',
                '--json',
                f'--timeout={PATIENCE_S}',
                *(f'--namespace={side}' for side in SIDES),
            ]
        )
        nodes = json.loads(capsys.readouterr().out)['nodes']
        modes = {seen_by(nodes, side)['statuses']['Command']['values']['mode'] for side in SIDES}
        if modes == {'running'}:
            assert status == 0
            return nodes
        assert time.monotonic() < give_up, nodes


def test_json_of_two_arms_has_each_ones_torques_and_limits(two_arms, capsys):
    nodes = asked_once(capsys)
    for side, arm in SIDES.items():
        node = seen_by(nodes, side)
        assert node['torque_limits'] == dict(zip(arm.joint_names, arm.limit('effort')))
        # Of what reached it: on a busy machine not every state does.
        assert 0.0 < node['statuses']['Joint states']['values']['rate [Hz]'] < 1001.0
        assert node['statuses']['Contact']['values']['contact'] is False
        assert node['command_rate_hz'] > 0.0
        gravity = [node['torques']['gravity']['effort'][joint] for joint in arm.joint_names]
        np.testing.assert_allclose(
            gravity, NewtonEulerModel(arm).gravity(arm.home), rtol=0, atol=1e-9
        )
