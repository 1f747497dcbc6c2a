# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The RPR arm of MuJoCo, from this package's MJCF, follows the closed form's torques."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip('mujoco', reason='the [sim] extra is not installed')

from franka_dynamics.arm import load
from franka_dynamics.rpr.dynamics import RprDynamics
from franka_dynamics.rpr.kinematics import RprKinematics

# In 2 s, twice as fast as the example; measured 9e-6 m.
NEAR_M = 5e-5


@pytest.fixture(scope='module')
def desired(example):
    return example.ellipse(RprKinematics.from_description(load('rpr')), 2.0)


def off(followed, desired):
    return np.linalg.norm(followed.position - desired.position, axis=1)


def test_an_ellipse_when_inverted_then_it_is_one_smooth_motion(example, desired):
    arm = load('rpr')
    kinematics = RprKinematics.from_description(arm)
    positions = kinematics.forward(desired.q)[:, :3, 3]
    np.testing.assert_allclose(positions, desired.position, rtol=0.0, atol=1e-12)
    assert (desired.q >= arm.limit('lower')).all() and (desired.q <= arm.limit('upper')).all()
    # Differences of positions and velocities, second order in the period.
    for values, slopes in ((desired.q, desired.dq), (desired.dq, desired.ddq)):
        inner = np.gradient(values, example.PERIOD, axis=0)[1:-1]
        np.testing.assert_allclose(inner, slopes[1:-1], rtol=0.0, atol=2e-3)


def test_given_torques_alone_when_played_then_mujoco_stays_on_it(example, desired):
    # No feedback: what is off is one dynamics against the other.
    assert off(example.follow(example.WAYS[2], desired), desired).max() < NEAR_M


def test_given_the_reports_lost_terms_when_played_then_it_leaves(example, desired, monkeypatch):
    right = RprDynamics.coriolis_matrix

    def printed(self, q, dq):
        # Without m3: c12 and c21 are then what the report prints.
        return right(replace(self, masses=replace(self.masses, m3=0.0)), q, dq)

    monkeypatch.setattr(RprDynamics, 'coriolis_matrix', printed)
    assert off(example.follow(example.WAYS[2], desired), desired).max() > 100.0 * NEAR_M


def test_computed_torque_brings_an_arm_beside_it_there(example, desired):
    exact, gains = (off(example.follow(way, desired), desired) for way in example.WAYS[:2])
    half = len(exact) // 2
    assert exact[0] > 0.01
    rms = [np.sqrt(np.mean(each[half:] ** 2)) for each in (exact, gains)]
    assert rms[0] < 2e-4 and rms[0] < 0.05 * rms[1]
