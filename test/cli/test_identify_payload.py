# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`identify payload` from bags to the node's parameter file."""

import json

import numpy as np
import pytest
import yaml

from franka_dynamics.arm import LinkInertia, load
from franka_dynamics.arm.payload import payload_array
from franka_dynamics.recordings.recording import write_recording

FER = load('fer')
ONE_KG = LinkInertia.from_center_of_mass(
    1.0, [0.02, -0.03, 0.08], [0.003, 0.0, 0.0, 0.004, 0.0, 0.002]
)


@pytest.fixture
def bags(simulate, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, arm in (('bare', FER), ('loaded', FER.with_payload(ONE_KG))):
        write_recording(simulate(arm, duration=30.0, rate=100.0, noise=0.2), tmp_path / name)


def test_the_payload_of_two_bags_is_in_the_parameter_file(bags, tmp_path, figures, capsys):
    data = figures(
        'identify payload --arm fer --without bare --with loaded --output p.yaml --desk d.json'
    )
    assert 'payload: [' in capsys.readouterr().out
    text = (tmp_path / 'p.yaml').read_text()
    payload = yaml.safe_load(text)['/**']['ros__parameters']['payload']
    np.testing.assert_allclose(payload[:4], payload_array(ONE_KG)[:4], rtol=0.0, atol=0.01)
    np.testing.assert_allclose(data['payload'], payload, rtol=1e-8, atol=1e-12)
    score = (np.array(data['estimate']) - payload_array(ONE_KG)) / data['deviations']
    assert np.abs(score).max() < 4.0
    desk = json.loads((tmp_path / 'd.json').read_text())
    np.testing.assert_allclose([desk['mass'], *desk['centerOfMass']], payload[:4], rtol=1e-8)
