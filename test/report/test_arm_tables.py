# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The tables of `arm show` against the published rows and the formulations."""

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.arm.inertia import tensor_from_six
from franka_dynamics.report.arm import arm_tables, dh_rows, inertia_rows, origins

# [m] Of frames 1 to 7 and the flange of a Franka arm at q = 0, as Franka and both notes give them.
ORIGINS = np.transpose(
    (
        (0, 0, 0, 0.0825, 0, 0, 0.088, 0.088),
        (0, 0, 0, 0, 0, 0, 0, 0),
        (0.333, 0.333, 0.649, 0.649, 1.033, 1.033, 1.033, 0.926),
    )
)


def test_given_the_fer_when_listed_then_rows_are_frankas():
    rows = dh_rows(load('fer'))
    half = np.pi / 2
    assert [row['a'] for row in rows] == [0, 0, 0, 0.0825, -0.0825, 0, 0.088, 0]
    assert [row['d'] for row in rows] == [0.333, 0, 0.316, 0, 0.384, 0, 0, 0.107]
    assert [row['alpha'] for row in rows] == [0, -half, half, half, -half, half, half, 0]
    assert rows[-1]['kind'] == 'fixed'


def test_a_joints_coordinate_stands_beside_what_it_moves():
    arm = load('rpr')  # its second joint is prismatic
    rows = arm_tables(arm, inertia_rows(arm, None), None)[0].rows
    assert [row[-3] for row in rows] == ['0', '0.3 + q2', '0', '0']
    assert [row[-1] for row in rows] == ['q1', 'pi/2', '-pi/2 + q3', '0']


@pytest.mark.parametrize('name', ['fer', 'fr3'])
def test_origins_at_zero_are_those_of_the_derivations_figure(name):
    np.testing.assert_allclose(origins(load(name), np.zeros(7)), ORIGINS, rtol=0.0, atol=1e-14)


def test_steiner_relates_the_space_rows_two_reference_points():
    arm, q = load('fer'), np.random.default_rng(1).uniform(-1.0, 1.0, 7)
    for row, point in zip(inertia_rows(arm, q), origins(arm, q)):
        lever = row.center_of_mass - point
        expected = tensor_from_six(row.inertia_at_center_of_mass) + row.mass * (
            lever @ lever * np.eye(3) - np.outer(lever, lever)
        )
        np.testing.assert_allclose(tensor_from_six(row.inertia), expected, rtol=0.0, atol=1e-13)
