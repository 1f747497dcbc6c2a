# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Guiding takes less force with payload and friction compensated, and the arm then stays."""

import importlib.util
from pathlib import Path
import sys

import numpy as np
import pytest

pytest.importorskip('mujoco', reason='the [sim] extra is not installed')


@pytest.fixture(scope='module')
def example():
    """Return the example as a module."""
    path = Path(__file__).parents[2] / 'examples' / 'hand_guiding.py'
    spec = importlib.util.spec_from_file_location('hand_guiding', path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclass looks the module up by name
    spec.loader.exec_module(module)
    module.CYCLES, module.LET_GO_S, module.START_S = 1, 1.2, 0.5
    yield module
    del sys.modules[spec.name]


@pytest.fixture(scope='module')
def found(example):
    return {name: example.run(*row) for name, row in example.ROWS.items() if 'fci' not in name}


def test_each_compensation_lowers_the_force(found):
    gravity, payload, friction = (row.rms for row in found.values())
    assert payload < 0.7 * gravity  # 0.8 kg weigh 7.8 N
    assert friction < 0.9 * payload
    assert friction > 0.5  # it takes some: friction is never compensated as a whole


def test_what_is_compensated_stays_where_it_is_let_go(example, found):
    for name, row in found.items():
        if 'payload' in name:
            assert row.drift < 3e-3
            still = row.time > row.time[-1] - 0.3
            # Below what is compensated at all: no limit cycle.
            assert np.abs(row.velocity[still]).mean(axis=0).max() < 0.01


def test_behind_fci_only_the_payload_is_commanded(example):
    row = example.run('fci', True, False)
    assert row.drift < 3e-3
    assert 1.0 < row.rms < 8.0
