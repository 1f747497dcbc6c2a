# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The gymnasium environment: gymnasium's own check, episodes, what feedforward is worth."""

from ctypes.util import find_library

import numpy as np
import pytest

from franka_dynamics.control.feedforward import Stop
from franka_dynamics.errors import JointVectorError

from ..agreement import refuses
from ..processes import printed

gymnasium = pytest.importorskip('gymnasium')
NAME = 'franka_dynamics.simulation.environment:FrankaReach-v0'


def swing(home, step):
    """Return the policy's target at a step: all joints swing, from rest."""
    x = min(step / 60.0, 1.0)
    return home + 0.25 * x**2 * np.sin(2.0 * np.pi * 0.5 * step / 30.0 + np.arange(len(home)))


def episode(environment, seed, steps=45):
    """Return observations and rewards of an episode with a swinging policy."""
    home = environment.unwrapped.arm.home
    observation, _ = environment.reset(seed=seed)
    rows, rewards = [observation], []
    for step in range(steps):
        observation, reward, _, truncated, info = environment.step(swing(home, step))
        assert not truncated, info
        rows.append(observation)
        rewards.append(reward)
    return np.array(rows), np.array(rewards)


# The actions are joint positions, as robots' policies give them, and not scaled.
@pytest.mark.filterwarnings('ignore:.*symmetric and normalized')
def test_gymnasiums_own_check_passes():
    from gymnasium.utils.env_checker import check_env

    environment = gymnasium.make(NAME)
    check_env(environment.unwrapped, skip_render_check=True)


def test_an_episode_is_repeated_exactly_also_after_a_reset_in_mid_motion():
    environment = gymnasium.make(NAME, arm='fer')
    rows, rewards = episode(environment, 3)
    episode(environment, 4, 20)
    again, others = episode(environment, 3)
    np.testing.assert_array_equal(rows, again)
    np.testing.assert_array_equal(rewards, others)
    # The goal is another one, and the arm is held at home, in the first observation too.
    assert np.linalg.norm(episode(environment, 4, 1)[0][0, -3:] - rows[0, -3:]) > 0.01
    np.testing.assert_allclose(rows[0, :7], environment.unwrapped.arm.home, rtol=0.0, atol=1e-4)
    flange = environment.unwrapped.arm.n * 2
    distance = np.linalg.norm(rows[1:, flange : flange + 3] - rows[1:, -3:], axis=1)
    np.testing.assert_allclose(rewards, -distance, rtol=0.0, atol=1e-12)


def test_with_feedforward_the_targets_are_met_far_better_than_without():
    errors = {}
    for feedforward in (True, False):
        environment = gymnasium.make(NAME, feedforward=feedforward)
        reference = environment.unwrapped.controller.reference
        environment.reset(seed=1)
        home, found = environment.unwrapped.arm.home, []
        for step in range(60):
            environment.step(swing(home, step))
            data = environment.unwrapped.data
            found.append(reference.motion.at(data.time).q - data.qpos)
        errors[feedforward] = np.sqrt(np.mean(np.square(found)))
    assert errors[True] < 0.1 * errors[False]


def test_actions_at_the_corners_of_the_box_are_survived_and_wrong_ones_refused():
    environment, refused = gymnasium.make(NAME), 0
    low, high = environment.action_space.low, environment.action_space.high
    rng = np.random.default_rng(1)
    environment.reset(seed=0)
    for _ in range(60):
        corner = np.where(rng.random(7) < 0.5, low, high)
        observation, _, terminated, truncated, info = environment.step(corner)
        assert np.isfinite(observation).all()
        refused += 'refused' in info
        if terminated or truncated:
            break
    assert refused  # without that, nothing was tried
    environment.reset(seed=0)
    with refuses(JointVectorError, 'action'):
        environment.unwrapped.step(np.zeros(6))
    with refuses(JointVectorError, 'degrees'):
        environment.step(np.degrees(environment.unwrapped.arm.home))
    # An arm that its controller stops ends the episode.
    environment.unwrapped.controller.stop('a test', Stop.HOLD)
    *_, terminated, truncated, info = environment.step(environment.unwrapped.arm.home)
    assert truncated and not terminated and 'a test' in info['stopped']


def test_arm_and_goal_are_rendered(tmp_path):
    if find_library('EGL') is None:
        pytest.skip('no library EGL, with which MuJoCo renders without a screen')
    code = (
        'import gymnasium, numpy\n'
        f'environment = gymnasium.make({NAME!r}, render_mode="rgb_array")\n'
        'environment.reset(seed=0)\n'
        'numpy.save("picture.npy", environment.render())\n'
    )
    # MuJoCo chooses how to render when it is imported.
    printed('-c', code, cwd=tmp_path, MUJOCO_GL='egl')
    picture = np.load(tmp_path / 'picture.npy').astype(int)
    assert picture.shape == (480, 640, 3)
    red = (picture[..., 0] > 2 * picture[..., 1]) & (picture[..., 0] > 60)
    assert 20 < red.sum() < 5000  # the goal
    assert ((picture.max(axis=2) > 60) & ~red).sum() > 5000  # the arm
