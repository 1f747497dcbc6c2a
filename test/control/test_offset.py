# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The offset of an arm file is a constant torque along with a law or a motion, by the ramp."""

from dataclasses import replace

import numpy as np
import pytest

import franka_dynamics as fd
from franka_dynamics.arm.friction import ViscousCoulombFriction
from franka_dynamics.control.feedforward import Feedforward, State
from franka_dynamics.errors import SettingsError

from ..agreement import refuses

N = 7
STILL = np.zeros(N)
OFFSET = np.linspace(0.2, -0.3, N)
RECEIVER_OFFSET = np.array([0.1, 2.0, -0.4, 2.7, 0.2, -0.1, 0.05])
FRICTION = ViscousCoulombFriction(
    np.full(N, 0.3), np.full(N, 0.8), OFFSET, receiver_offset=RECEIVER_OFFSET
)
ARM = replace(fd.load('fr3'), friction=FRICTION)
HOME = np.array(ARM.home)
EXPECTED = {'fci': RECEIVER_OFFSET, 'mujoco': OFFSET}
GAINS = {'kp': (300.0,) * 4 + (100.0, 60.0, 10.0), 'kd': (30.0,) * 4 + (4.0, 3.0, 0.06)}


def unguarded(target, terms, **settings):
    """Return a core that accepts scripted states."""
    core = Feedforward(ARM, target, period=1e-3, terms=terms, **settings)
    core.disturbances.running_bound = np.full(N, np.inf)
    return core


def differences(target, count=600, speed=0.0, at=None, **options):
    """Return by how much the offset changes each torque of a scripted arm, (count, n) [N m]."""
    own = {'torque': STILL} if options.pop('own', False) else {}
    friction = options.pop('friction', False)
    cores = [
        unguarded(target, fd.Terms(friction=friction, offset=has_offset), **options)
        for has_offset in (False, True)
    ]
    dq = np.full(N, speed)
    found = []
    for k in range(count):
        q = HOME + 1e-3 * k * dq + 1e-12 * (-1) ** k
        if at is not None:
            at(k, cores)
        one, other = (core.step(q, dq, 1.0 + 1e-3 * k, **own) for core in cores)
        found.append(other - one)
    assert all(core.state is State.RUNNING for core in cores), cores[1].status
    return np.array(found)


@pytest.mark.parametrize('target', ['fci', 'mujoco'])
@pytest.mark.parametrize('friction', [False, True])
@pytest.mark.parametrize('speed', [0.0, 0.003, 0.01, 0.02, 0.05])
def test_beside_a_law_no_measured_speed_switches_it(target, friction, speed):
    found = differences(target, speed=speed, own=True, friction=friction)
    np.testing.assert_allclose(found[300:], np.broadcast_to(EXPECTED[target], (300, N)), atol=1e-9)
    # It comes by the ramp of 0.2 s.
    most = np.abs(EXPECTED[target]) / 200.0
    assert (np.abs(np.diff(found, axis=0)) <= 1.01 * most + 1e-9).all()


@pytest.mark.parametrize('target', ['fci', 'mujoco'])
def test_where_kp_holds_the_arm_it_is_there_at_rest(target):
    found = differences(target, **GAINS)
    np.testing.assert_allclose(found[300:], np.broadcast_to(EXPECTED[target], (300, N)), atol=1e-9)
    assert np.abs(np.diff(found, axis=0)).max() < 0.02


def test_without_kp_it_comes_with_a_motion():
    def begin(k, cores):
        if k == 300:
            for core in cores:
                core.follow(np.array([HOME, HOME + 1e-3]), [0.0, 2.0])

    found = differences('fci', at=begin)
    np.testing.assert_array_equal(found[:300], 0.0)
    np.testing.assert_allclose(found[-1], RECEIVER_OFFSET, atol=1e-9)
    assert np.abs(np.diff(found, axis=0)).max() < 0.02


def test_it_is_switched_while_a_law_goes_on():
    def switch(k, cores):
        if k in (200, 400):
            cores[1].change(terms=fd.Terms(offset=k == 400))

    found = differences('fci', count=800, own=True, at=switch)
    np.testing.assert_allclose(found[395], 0.0, atol=0.1)
    np.testing.assert_allclose(found[-1], RECEIVER_OFFSET, atol=1e-9)
    assert np.abs(np.diff(found, axis=0)).max() < 0.03


def test_neither_factor_scales_it():
    found = differences('fci', own=True, friction=True, scale=0.0, friction_scale=0.0)
    np.testing.assert_allclose(found[-1], RECEIVER_OFFSET, atol=1e-9)


def test_friction_alone_leaves_it_out():
    friction, nothing = (
        unguarded('fci', fd.Terms(friction=has_friction), **GAINS)
        for has_friction in (True, False)
    )
    for k in range(300):
        q = HOME + 1e-12 * (-1) ** k
        one, other = (core.step(q, STILL, 1.0 + 1e-3 * k) for core in (friction, nothing))
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize('arm', [fd.load('fr3'), fd.load('fer')], ids=['none', 'sigmoid'])
def test_an_arm_without_offset_is_refused(arm):
    with refuses(SettingsError, 'terms.offset is on', 'no friction model with an offset'):
        Feedforward(arm, terms=fd.Terms(offset=True))
