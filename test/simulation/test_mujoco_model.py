# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""MuJoCo's own dynamics of the generated model against the recursion in DH frames."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.arm.bodies import FixedFrame
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.dynamics.sampling import sample_states
from franka_dynamics.errors import InertiaError
from franka_dynamics.simulation.mujoco_model import build_mujoco, FLANGE_SITE

from ..agreement import refuses
from ..arms import random_arm

# Bound on the difference; 5e-14 was measured on fer.
ATOL = 1e-10
OWN = FixedFrame(xyz=np.ones(3), rpy=np.zeros(3), name='flange', joint=7)
ARMS = {
    'fer': load('fer'),
    'fr3': load('fr3'),
    'fer with hand': load('fer', hand='franka_hand'),
    'own frame': replace(load('fer'), fixed_frames=(OWN,)),
    **{f'random {seed}': random_arm(np.random.default_rng(seed)) for seed in range(3)},
}
GRAVITY = (1.0, -2.0, -9.0)


def oracle(model, q, dq):
    """Return bias force, mass matrix and flange pose as MuJoCo computes them."""
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = q, dq
    mujoco.mj_forward(model, data)
    mass = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, mass)
    site = model.site(FLANGE_SITE).id
    pose = np.eye(4)
    pose[:3, :3] = data.site_xmat[site].reshape(3, 3)
    pose[:3, 3] = data.site_xpos[site]
    return np.array(data.qfrc_bias), mass, pose


@pytest.mark.parametrize('name', ARMS)
def test_bias_mass_matrix_and_pose_agree_with_mujocos(name):
    arm = ARMS[name]
    written, model = NewtonEulerModel(arm, GRAVITY), build_mujoco(arm, gravity=GRAVITY)
    for q, dq, _ in zip(*sample_states(arm, 20, seed=11)):
        bias, mass, pose = oracle(model, q, dq)
        scale = max(1.0, np.abs(bias).max())
        np.testing.assert_allclose(
            written.nonlinear_effects(q, dq), bias, rtol=0, atol=ATOL * scale
        )
        scale = max(1.0, np.abs(mass).max())
        np.testing.assert_allclose(written.mass_matrix(q), mass, rtol=0, atol=ATOL * scale)
        np.testing.assert_allclose(written.frames(q)[-1], pose, rtol=0, atol=1e-12)


def test_a_set_that_is_not_physical_is_refused_with_its_link():
    with refuses(InertiaError, 'ledezma2021', 'fer_joint2'):
        build_mujoco(load('fer', 'ledezma2021'))


def test_a_joint_at_full_torque_is_held_at_its_stop():
    arm = load('fr3')
    most = arm.limit('effort')
    for joint in range(arm.n):
        for side, limit in ((1.0, 'upper'), (-1.0, 'lower')):
            model = build_mujoco(arm, gravity=(0.0, 0.0, 0.0), stops=True)
            data = mujoco.MjData(model)
            data.qpos[:] = arm.home
            data.qpos[joint] = arm.limit(limit)[joint] - 0.05 * side
            data.ctrl[joint] = side * most[joint]
            beyond = []
            for _ in range(500):
                mujoco.mj_step(model, data)
                beyond.append(side * (data.qpos[joint] - arm.limit(limit)[joint]))
            # In the collision a step of the fastest, the last joint at 58 rad/s; then at rest.
            assert max(beyond) < 0.06
            assert abs(beyond[-1]) < 1e-3


def test_stops_change_nothing_for_an_arm_within_its_limits():
    arm, states = load('fr3'), []
    for stops in (False, True):
        model = build_mujoco(arm, stops=stops)
        data = mujoco.MjData(model)
        data.qpos[:] = arm.home
        for _ in range(200):
            mujoco.mj_step(model, data)
        states.append(np.array(data.qpos))
    np.testing.assert_array_equal(*states)
