# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Guiding takes less force with payload and friction compensated, and the arm then stays."""

import numpy as np
import pytest

pytest.importorskip('mujoco', reason='the [sim] extra is not installed')


@pytest.fixture(scope='module')
def example(example):
    """Return the example, made short."""
    example.CYCLES, example.LET_GO_S, example.START_S = 1, 1.2, 0.5
    return example


@pytest.fixture(scope='module')
def found(example):
    return [example.run('mujoco', friction, friction) for friction in (False, True)]


def test_compensation_lowers_the_force(found):
    gravity, friction = (row.rms for row in found)
    assert friction < 0.6 * gravity  # 0.8 kg weigh 7.8 N
    assert friction > 0.5  # it takes some: friction is never compensated as a whole


def test_what_is_compensated_stays_where_it_is_let_go(found):
    row = found[1]
    assert row.drift < 3e-3
    still = row.time > row.time[-1] - 0.3
    # Below what is compensated at all: no limit cycle.
    assert np.abs(row.velocity[still]).mean(axis=0).max() < 0.01


def test_behind_fci_only_the_payload_is_commanded(example):
    row = example.run('fci', True, False)
    assert row.drift < 3e-3
    assert 1.0 < row.rms < 8.0
