# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Commanded friction in closed loop, on two makes of plant, also where it is wrong."""

from dataclasses import replace
import functools

import numpy as np
import pytest

from franka_dynamics.arm import load, ViscousCoulombFriction
from franka_dynamics.control.feedforward import Feedforward, State
from franka_dynamics.control.settings import Terms
from franka_dynamics.simulation.arm_simulation import ArmSimulation, SimulationSettings

from ..scripts import loaded, ROOT

with loaded(ROOT / 'benchmarks/other_plant.py') as other_plant:
    pass
ARM = load('fr3')
TRUE = ARM.simulated_friction
GAINS = {
    'none': {},
    'gentle': {'kp': (60.0,) * 4 + (15.0, 15.0, 5.0), 'kd': (6.0,) * 4 + (1.0, 1.0, 0.3)},
    'firm': {'kp': (600.0,) * 4 + (250.0, 100.0, 20.0), 'kd': (50.0,) * 4 + (6.0, 3.0, 1.0)},
}


def friction(factor, wrong=None):
    """Return a multiple of the true friction, with the wrong sign at one joint."""
    factors = np.where(np.arange(7) == wrong, -factor, factor)
    return ViscousCoulombFriction(factors * TRUE.viscous, factors * TRUE.coulomb, np.zeros(7))


def plant(make):
    settings = SimulationSettings(
        start=np.array(ARM.home),
        gravity_compensation=True,
        friction=True,
        armature=True,
        brake_release_after=0.0,
        position_noise=1e-6,
        velocity_noise=4e-3,
        effort_noise=0.15,
    )
    if make == 'own':
        return ArmSimulation(ARM, settings)
    return other_plant.OtherPlant(ARM.home_position, settings)


def swing(core, step):
    """All joints to and fro, with reversals, then rest."""
    if step == 300:
        times = np.linspace(0.0, 2.0, 101)
        way = 0.15 * np.sin(2.0 * np.pi * times) * np.sin(0.5 * np.pi * times) ** 2
        core.follow(ARM.home + np.outer(way, np.ones(7)), times)


def stream(core, step):
    """Set-points at 100 Hz that jump by 0.06 rad."""
    if 300 <= step < 2000 and step % 10 == 0:
        core.follow(ARM.home + 0.03 * (-1.0) ** (step // 500) * np.ones(7))


FASTEST = {swing: 0.98, stream: 0.68}  # the reference [rad/s]


@functools.cache
def run(make, gains, factor, wrong=None, moves=swing, seconds=3.3):
    """Return largest speed, largest speed and step in the last half second, rms error, state."""
    arm = plant(make)
    known = replace(ARM, friction=friction(factor, wrong))
    core = Feedforward(known, terms=Terms(friction=factor > 0.0), **GAINS[gains])
    speeds, places, errors = [], [], []
    for step in range(round(1000 * seconds)):
        reading = arm.read()
        torque = core.step(reading.position, reading.velocity, reading.time, effort=reading.effort)
        if core.state is State.RUNNING:
            moves(core, step)
        arm.step(torque)
        speeds.append(np.abs(arm.data.qvel[:7]).max())
        places.append(arm.position)
        if core.reference.motion is not None:
            errors.append(core.reference.motion.at(reading.time).q - places[-1])
    rest = np.ptp(places[-500:], axis=0).max()
    return max(speeds), max(speeds[-500:]), rest, np.sqrt(np.mean(np.square(errors))), core.state


@pytest.mark.parametrize('make', ['own', 'other'])
@pytest.mark.parametrize(
    ('gains', 'moves'), [('gentle', swing), ('firm', swing), ('gentle', stream)]
)
def test_too_much_friction_neither_drives_nor_shakes_the_arm(make, gains, moves):
    without, slow, rest, error, _ = run(make, gains, 0.0, moves=moves)
    fastest, end, shaken, better, state = run(make, gains, 1.3, moves=moves)
    assert state is State.RUNNING
    assert fastest < max(without, FASTEST[moves]) + 0.05
    assert end < slow + 0.01 and shaken < rest + 3e-3  # no limit cycle
    assert better < 0.9 * error


@pytest.mark.parametrize('make', ['own', 'other'])
def test_without_gains_too_much_friction_makes_no_joint_faster_than_its_reference(make):
    fastest, end, *_ = run(make, 'none', 1.3)
    assert fastest < FASTEST[swing] + 0.05
    assert end < 0.02


@pytest.mark.parametrize('make', ['own', 'other'])
@pytest.mark.parametrize('gains', ['none', 'gentle', 'firm'])
def test_friction_of_the_wrong_sign_at_one_joint_does_not_drive(make, gains):
    without, slow, *_ = run(make, gains, 0.0)
    fastest, end, *_, state = run(make, gains, 1.0, wrong=1)
    assert state is State.RUNNING
    assert fastest < max(without, FASTEST[swing]) + 0.05
    assert end < slow + 0.02


@pytest.mark.parametrize('gains', ['none', 'gentle'])
def test_at_rest_and_led_by_hand_nothing_is_added(gains):
    """Without a motion and without kp there is no reference; a held arm's stands still."""
    cores = [
        Feedforward(replace(ARM, friction=friction(1.3)), terms=Terms(friction=on), **GAINS[gains])
        for on in (False, True)
    ]
    rng, q = np.random.default_rng(0), np.array(ARM.home)
    for step in range(400):
        led = 0.3 * np.sin(0.02 * step) * (gains == 'none') * (step > 200)
        q = q + 1e-3 * led
        state = q + 1e-6 * rng.normal(size=7), led + 4e-3 * rng.normal(size=7), 1e-3 * step
        one, other = (core.step(*state) for core in cores)
        np.testing.assert_array_equal(one, other)
    assert cores[1].state is State.RUNNING
