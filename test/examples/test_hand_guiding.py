# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Guiding takes less force with payload and friction compensated, and the arm then stays."""

import numpy as np
import pytest

from franka_dynamics.control.terms import FULL_FRICTION_FROM


@pytest.fixture(scope='module')
def found(example):
    """Return the example's runs, made short: payload compensated, and friction as well."""
    example.CYCLES, example.LET_GO_S, example.START_S = 1, 2.0, 0.5
    return example.run('fci', True, False), example.run('mujoco', True, True)


def test_compensation_lowers_the_force(found):
    payload, friction = (row.rms for row in found)
    assert payload < 6.0  # 0.8 kg weigh 7.8 N
    # Some force is needed: friction is never compensated completely.
    assert 0.5 < friction < 0.9 * payload


def test_what_is_compensated_stays_where_it_is_let_go(found):
    for row in found:
        assert row.drift < 3e-3
    still = row.time > row.time[-1] - 0.3
    # Slower than the velocity from which all friction is compensated: no limit cycle.
    assert np.abs(row.velocity[still]).mean(axis=0).max() < FULL_FRICTION_FROM
