# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The arm hands an object over when it is pulled at, and not when it is bumped."""

import numpy as np
import pytest


@pytest.fixture(scope='module')
def found(example):
    return example.run(4.0)


def test_a_bump_releases_nothing_and_a_pull_does(example, found):
    events = found.events
    # The pull reaches 5 N after 83 ms, and must last for 100 ms.
    told = events['gripper told to open'] - example.PULL_AT
    assert 0.18 < told < 0.30
    assert events['object released'] - events['gripper told to open'] < 0.06


def test_the_pull_is_told_as_it_is(example, found):
    time, told = np.array(found.time), np.array(found.told)
    last = np.searchsorted(time, found.events['object released']) - 1
    # 12 N that have just been reached; the observer is 20 ms late, in which the pull grows 1.2 N.
    pulled = np.array(found.pulled)[last]
    assert np.linalg.norm(pulled) > 10.0
    assert np.linalg.norm(told[last] - pulled) < 3.0


def test_the_arm_stays_where_it_is_without_its_load(found):
    time, flange = np.array(found.time), np.array(found.flange)
    before = flange[np.searchsorted(time, 2.9)]
    assert np.linalg.norm(flange - before, axis=1)[time > 2.9].max() < 0.012
    assert np.linalg.norm(flange[-1] - before) < 0.002
