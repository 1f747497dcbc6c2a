# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`payload-from-mesh` from the mesh file to the node's parameter."""

from dataclasses import replace
import re

import numpy as np
import pytest
import yaml

from franka_dynamics.arm import load
from franka_dynamics.arm_io import save

SIZE = np.array([0.06, 0.02, 0.1])  # m
MASS = float(2700.0 * SIZE.prod())
MOMENTS = MASS / 12.0 * ((SIZE**2).sum() - SIZE**2)


@pytest.fixture
def bar(tmp_path):
    """Return a command with a bar of 60 x 20 x 100 mm, its origin in its middle."""
    import trimesh

    trimesh.creation.box(SIZE * 1e3).export(tmp_path / 'bar.stl')
    return f'payload-from-mesh {tmp_path / "bar.stl"}'


@pytest.fixture
def payload(bar, answered):
    """Return a function that returns the payload that a command prints."""

    def run(options):
        status, said = answered(f'{bar} {options}')
        assert status == 0
        return np.array(yaml.safe_load(re.search(r'payload: (\[.*?\])', said)[1]))

    return run


@pytest.mark.parametrize('weight', ['--density 2700', f'--mass {MASS!r}'])
def test_a_bar_on_the_flange_prints_the_textbook_payload(payload, weight):
    # Given the bar 50 mm in front of the flange, turned by a quarter about z.
    found = payload(f'{weight} --xyz 0,0,0.05 --rpy 0,0,{np.pi / 2!r}')
    # Then x and y have changed places, and the inertia is about the centre of mass.
    expected = [MASS, 0, 0, 0.05, MOMENTS[1], 0, 0, MOMENTS[0], 0, MOMENTS[2]]
    # Nine digits are printed of single-precision coordinates.
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


def test_a_mount_on_the_hand_adds_its_turn_and_its_length(payload):
    center, half = payload('--mass 1 --mount hand_tcp --xyz 0.1,0,0')[1:4], 0.1 * np.sqrt(0.5)
    np.testing.assert_allclose(center, [half, -half, 0.1034], rtol=0.0, atol=1e-8)


def test_the_output_file_sets_the_nodes_parameter(bar, tmp_path, answered):
    output, picture = tmp_path / 'payload.yaml', tmp_path / 'payload.png'
    assert answered(f'{bar} --density 2700 --output {output} --plot {picture}')[0] == 0
    numbers = yaml.safe_load(output.read_text())['/**']['ros__parameters']['payload']
    assert [type(number) for number in numbers] == [float] * 10
    np.testing.assert_allclose(np.array(numbers)[[4, 7, 9]], MOMENTS, rtol=1e-6, atol=0.0)
    assert picture.read_bytes().startswith(b'\x89PNG')
    assert len(list(tmp_path.iterdir())) == 3  # with the mesh


def test_an_unlikely_weight_is_warned_of_by_the_arms_own_rated_load(bar, tmp_path, answered):
    said = answered(f'{bar} --mass 5')[1]
    assert 'warning: 5 kg is above the 3 kg that fr3 is rated for' in said
    assert 'warning: nothing is as dense as 4.167e+04 kg/m^3; is the unit mm right?' in said
    save(replace(load('rpr'), rated_load=9.0), tmp_path / 'strong.yaml')
    assert 'rated' not in answered(f'{bar} --mass 5 --arm {tmp_path / "strong.yaml"}')[1]
