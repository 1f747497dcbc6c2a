# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The RPR arm of MuJoCo, from this package's MJCF, follows the model's torques."""

import numpy as np
import pytest

# In 2 s, twice as fast as the example; measured 9e-6 m.
NEAR_M = 5e-5


@pytest.fixture(scope='module')
def desired(example):
    return example.ellipse(2.0)


def off(followed, desired):
    return np.linalg.norm(followed.position - desired.position, axis=1)


def test_given_torques_alone_when_played_then_mujoco_stays_on_it(example, desired):
    # Without feedback the error is the difference between the model and MuJoCo.
    assert off(example.follow(example.WAYS[2], desired), desired).max() < NEAR_M


def test_computed_torque_brings_an_arm_beside_it_there(example, desired):
    exact, gains = (off(example.follow(way, desired), desired) for way in example.WAYS[:2])
    half = len(exact) // 2
    assert exact[0] > 0.01
    rms = [np.sqrt(np.mean(each[half:] ** 2)) for each in (exact, gains)]
    assert rms[0] < 2e-4 and rms[0] < 0.05 * rms[1]
