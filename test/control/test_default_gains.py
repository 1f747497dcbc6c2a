# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Default gains: closed forms of one joint, and arms that are simulated with old states."""

import functools

import numpy as np
import pytest
import yaml

from franka_dynamics.arm import load
from franka_dynamics.control.default_gains import (
    default_gains,
    home_pose,
    RATE,
    weak_gains,
)
from franka_dynamics.dynamics.body_tree import BodyTree
from franka_dynamics.dynamics.derivatives import linearize
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.resources import share_directory

from .delayed_loops import hold_radius, simulate

pytest.importorskip('mujoco')

ARMS = [('fer', 'none'), ('fr3', 'none'), ('fr3', 'franka_hand'), ('fr3v2', 'none')]


def at_home(arm):
    """Return the linearisation of the arm held at home, and its default gains."""
    model, home = NewtonEulerModel(arm), home_pose(arm)
    linear = linearize(BodyTree.from_description(arm), home, np.zeros(arm.n), model.gravity(home))
    return linear, default_gains(arm)


def radius_at_home(name, hand, period, age=0.0):
    """Return the radius under default gains."""
    linear, gains = loaded_at_home(name, hand)
    return hold_radius(linear, *gains, period, age)


@functools.cache
def loaded_at_home(name, hand):
    return at_home(load(name, hand=hand))


def limits(target):
    """Return what a target's parameter file allows states and silence to be [s]."""
    path = share_directory() / 'config' / 'feedforward' / f'{target}.yaml'
    given = yaml.safe_load(path.read_text(encoding='utf-8'))['/**']['ros__parameters']
    assert given['default_gains']
    return given['max_state_age'], given['state_timeout']


@pytest.mark.parametrize(('name', 'hand'), ARMS)
def test_an_arm_at_home_is_stable_with_states_as_old_as_allowed(name, hand):
    oldest, silent = limits('gz_ros2_control')
    assert 0.0 < oldest < silent
    assert limits('franka_gazebo') == (oldest, silent)
    for period in np.arange(0.005, silent + 1e-4, 0.005):
        assert radius_at_home(name, hand, period) < 1.0


@pytest.mark.parametrize(('name', 'hand'), ARMS)
def test_states_of_any_age_held_as_long_as_allowed_are_stable(name, hand):
    oldest, silent = limits('gz_ros2_control')
    for age in oldest * np.linspace(0.0, 0.95, 8):
        longest = silent * (1.0 - age / oldest)
        for share in (0.25, 0.5, 1.0):
            assert radius_at_home(name, hand, share * longest, age) < 1.0
    # Both bounds at once, as if the one knew nothing of the other, are not.
    assert radius_at_home(name, hand, silent, oldest) > 1.0


def test_old_states_with_gaps_as_long_as_allowed_calm_down():
    # All 50 ms old, and silent for 100 of every 130 ms (105 ms are allowed after such states).
    arm = load('fr3')  # which calms down slowest
    most, end, stops = simulate(
        arm,
        default_gains(arm),
        seconds=11.0,
        delay=0.05,
        gaps=np.arange(1.5, 11.0, 0.13),
        gap=0.1,
        disturbed=0.01,
    )
    assert stops == 0
    assert end < most / 3.0  # 0.024 of 0.099 rad was seen


def test_default_gains_decay_one_joint_alone_at_the_stated_rate():
    arm = load('fer')
    _, kd = default_gains(arm)
    for joint in range(arm.n):
        torque = np.zeros(arm.n)
        torque[joint] = -kd[joint]  # at 1 rad/s
        ddq = NewtonEulerModel(arm, (0.0, 0.0, 0.0)).forward_dynamics(
            arm.home, np.zeros(arm.n), torque
        )
        np.testing.assert_allclose(ddq[joint], -RATE, rtol=1e-12)


@pytest.mark.parametrize('arm', ['fer', 'fr3', 'fr3v2'])
def test_gains_scaled_by_the_inertia_suit_every_arm(arm):
    # Fixed gains took 4.4 of FR3's seventh joint's velocity away in a step; above 2 is unstable.
    from franka_dynamics.dynamics.lagrangian import LagrangianModel

    description = load(arm)
    kp, kd = weak_gains(description, 100.0)
    inverse = np.linalg.inv(LagrangianModel(description).mass_matrix(description.home))
    assert np.linalg.eigvals(inverse * kd).real.max() * 1e-3 < 0.5
    assert (kp > 0.0).all()
