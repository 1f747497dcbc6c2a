# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`identify payload` from bags to the node's parameter file."""

import json

import numpy as np
import pytest
import yaml

from franka_dynamics.arm import LinkInertia, load
from franka_dynamics.arm.payload import payload_array
from franka_dynamics.cli.main import main
from franka_dynamics.recordings.recording import write_recording

FER = load('fer')
ONE_KG = LinkInertia.from_center_of_mass(
    1.0, [0.02, -0.03, 0.08], [0.003, 0.0, 0.0, 0.004, 0.0, 0.002]
)


@pytest.fixture
def bags(simulate, tmp_path):
    for name, arm in (('without', FER), ('loaded', FER.with_payload(ONE_KG))):
        write_recording(simulate(arm, duration=30.0, rate=100.0, noise=0.2), tmp_path / name)
    return ['--without', str(tmp_path / 'without'), '--with', str(tmp_path / 'loaded')]


def test_the_payload_of_two_bags_is_in_the_parameter_file(bags, tmp_path, capsys):
    out, figures = tmp_path / 'payload.yaml', tmp_path / 'all.json'
    desk = tmp_path / 'endeffector-config.json'
    outputs = ['--output', str(out), '--json', str(figures), '--desk', str(desk)]
    assert main(['identify', 'payload', *bags, *outputs]) == 0
    payload = yaml.safe_load(out.read_text())['/**']['ros__parameters']['payload']
    np.testing.assert_allclose(payload[:4], payload_array(ONE_KG)[:4], rtol=0.0, atol=0.01)
    data = json.loads(figures.read_text())
    np.testing.assert_allclose(data['payload'], payload, rtol=1e-8, atol=1e-12)
    score = (np.array(data['estimate']) - payload_array(ONE_KG)) / data['deviations']
    assert np.abs(score).max() < 4.0
    content = json.loads(desk.read_text())
    np.testing.assert_allclose([content['mass'], *content['centerOfMass']], payload[:4], rtol=1e-8)
    assert 'payload: [' in capsys.readouterr().out


def test_swapped_bags_are_asked_about_and_nothing_written(bags, tmp_path, refused):
    output = ['--output', tmp_path / 'payload.yaml']
    swapped = ['--without', bags[3], '--with', bags[1]]
    said = refused('identify', 'payload', *swapped, *output)
    assert 'Are the recordings with and without it swapped' in said
    assert not (tmp_path / 'payload.yaml').exists()


def test_static_poses_without_rest_are_refused(bags, refused):
    said = refused('identify', 'payload', *bags, '--static')
    assert 'the arm never stood still for 0.5 s' in said
