# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A written arm file is loaded as what was written."""

from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.arm.arm_file_writer import arm_file_text

ROUNDING = 1e-15  # kg m^2 and rad: as many decimals are written


@pytest.mark.parametrize('arm', ['fer', 'fr3', 'rpr'])
def test_given_a_described_arm_when_written_and_loaded_then_it_is_the_same(arm, tmp_path):
    description = load(arm)
    path = tmp_path / 'arm.yaml'
    path.write_text(arm_file_text(description, source='a "quoted" source'), encoding='utf-8')
    loaded = load(path)
    assert [joint.row for joint in loaded.joints] == [joint.row for joint in description.joints]
    assert (loaded.convention, loaded.flange, loaded.source) == (
        description.convention, description.flange, 'a "quoted" source')
    np.testing.assert_array_equal(loaded.base, description.base)
    np.testing.assert_allclose(loaded.home, description.home, rtol=0.0, atol=ROUNDING)
    for key in ('lower', 'upper', 'velocity', 'acceleration', 'jerk', 'effort', 'effort_rate'):
        np.testing.assert_array_equal(loaded.limit(key), description.limit(key))
    for found, expected in zip(loaded.links, description.links):
        np.testing.assert_allclose(found.parameters(), expected.parameters(), rtol=0.0,
                                   atol=2 * ROUNDING)


def test_given_tiny_numbers_and_a_rotor_when_written_then_yaml_reads_them_as_numbers(tmp_path):
    fer = load('fer')
    joints = (replace(fer.joints[0], rotor_inertia=1e-5), *fer.joints[1:])
    small = replace(fer, joints=joints, home=None).map_links(
        lambda link: type(link).from_parameters(1e-7 * link.parameters()))
    path = tmp_path / 'arm.yaml'
    path.write_text(arm_file_text(small, source='test'), encoding='utf-8')
    loaded = load(path)
    assert loaded.joints[0].rotor_inertia == 1e-5
    assert loaded.home is None
    np.testing.assert_allclose(loaded.links[3].mass, 1e-7 * fer.links[3].mass, rtol=1e-7, atol=0.0)
