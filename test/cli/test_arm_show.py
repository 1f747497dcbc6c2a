# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics arm show`: tables, JSON, poses, and wrong input."""

import json

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel


def test_the_fers_rows_and_published_numbers_are_printed(answered):
    _, out = answered('arm show --arm fer')
    assert 'modified Denavit-Hartenberg rows' in out
    assert '-0.0825' in out and '-pi/2' in out
    assert '0.70337' in out  # Gaz's Ixx of link 1, about its centre of mass
    assert 'total mass of the moving links 16.0621 kg' in out


def test_a_pose_prints_the_origins_in_space(answered):
    out = answered('arm show --q zero')[1]
    assert 'origins in {S} at q = (0, 0, 0, 0, 0, 0, 0)' in out
    assert '│ flange │ 0.088000 │ 0.000000 │ 0.926000 │' in out


@pytest.mark.parametrize(
    ('name', 'convention', 'given', 'q'),
    [
        ('fer', 'modified', 'home', load('fer').home.tolist()),
        ('rpr', 'standard', '0.5 -0.1 0.7', [0.5, -0.1, 0.7]),
    ],
)
def test_json_holds_the_pose_and_a_picture_is_written(
    name, convention, given, q, tmp_path, answered
):
    path = tmp_path / 'new' / 'frames.png'
    data = json.loads(answered(f'arm show --arm {name} --json --q {given} --plot', path)[1])
    assert (data['q'], data['convention']) == (q, convention)
    arm, centers = load(name), [link['center_of_mass'] for link in data['links']]
    frames = NewtonEulerModel(arm).frames(q)
    expected = [
        (frame @ [*link.center_of_mass, 1.0])[:3] for frame, link in zip(frames, arm.links)
    ]
    np.testing.assert_allclose(centers, expected, rtol=0.0, atol=1e-12)
    assert path.read_bytes().startswith(b'\x89PNG')
