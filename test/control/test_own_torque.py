# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The torque of a caller's own law, with friction, the model's terms and the limits on the sum."""

from dataclasses import replace

import numpy as np
import pytest

import franka_dynamics as fd
from franka_dynamics.arm import ViscousCoulombFriction
from franka_dynamics.control.disturbance import CAUSE_OF_OWN_TORQUE
from franka_dynamics.control.feedforward import State
from franka_dynamics.control.settings import Settings
from franka_dynamics.errors import JointVectorError, NotActiveError, SettingsError
from franka_dynamics.simulation.arm_simulation import ArmSimulation, SimulationSettings

from .closed_loop import core, HOME, STILL
from ..arms import random_covariance

VISCOUS = np.full(7, 0.4)
COULOMB = np.array([1.1, 1.1, 1.1, 1.1, 0.7, 0.4, 0.25])
RUBBING = replace(fd.load('fr3'), friction=ViscousCoulombFriction(VISCOUS, COULOMB, STILL))
FRICTION = Settings(target='mujoco', terms=fd.Terms(friction=True))
VELOCITY = np.array([0.3, -0.2, 0.25, -0.3, 0.2, -0.25, 0.3])
OWN = np.array([3.0, -4.0, 2.0, 5.0, 1.0, -0.5, 0.4])


def sent_in_motion(controller, dq, count=400, **own):
    """Return what a core sends last for an arm that rests, then moves slowly and evenly."""
    sent = STILL
    for k in range(count):
        speed = dq if k > 30 else STILL
        q = HOME + 1e-3 * (k - 30) * speed + 1e-12 * (-1) ** k
        given = {name: one for name, one in own.items() if k > 25}
        sent = controller.step(q, speed, 1.0 + 1e-3 * k, **given)
    return q, sent


def unguarded(settings, arm=RUBBING, **options):
    """Return a core that accepts scripted states."""
    made = core(settings, arm=arm, **options)
    made.disturbances.running_bound = np.full(7, np.inf)
    return made


@pytest.mark.parametrize('velocity', [None, -VELOCITY], ids=['measured', 'given'])
def test_all_terms_are_added_to_a_torque_of_the_caller(velocity):
    acceleration = np.linspace(-2.0, 2.0, 7)
    given = {} if velocity is None else {'velocity': velocity}
    q, sent = sent_in_motion(
        unguarded(FRICTION), VELOCITY, torque=OWN, acceleration=acceleration, **given
    )
    model = fd.NewtonEulerModel(RUBBING)
    weightless = fd.NewtonEulerModel(RUBBING, (0.0, 0.0, 0.0))
    along = VELOCITY if velocity is None else velocity
    friction = VISCOUS * along + COULOMB * np.sign(along)
    if velocity is not None:  # the joint is faster than that: its own friction brakes it
        friction *= np.sign(along) * (VELOCITY - along) < 0.05
    expected = model.gravity(q) + model.coriolis(q, VELOCITY) + OWN + friction
    expected += weightless.inverse_dynamics(q, STILL, acceleration)
    width = RUBBING.friction.width
    np.testing.assert_allclose(sent, expected, rtol=0.0, atol=1e-9 + 2.0 * np.exp(-0.4 / width))


@pytest.mark.parametrize('target', ['mujoco', 'fci'])
def test_friction_of_the_load_counts_all_that_the_gears_carry(target):
    # Under fci the robot adds gravity, but its gears transmit it.
    share = np.linspace(0.05, 0.3, 7)
    arm = replace(RUBBING, friction=replace(RUBBING.friction, load_dependent=share))
    acceleration = np.linspace(-2.0, 2.0, 7)
    own = {'torque': OWN, 'acceleration': acceleration}
    settings = replace(FRICTION, target=target)
    (q, sent), (_, without) = (
        sent_in_motion(unguarded(settings, arm=one), VELOCITY, **own) for one in (arm, RUBBING)
    )
    load = fd.NewtonEulerModel(arm).inverse_dynamics(q, VELOCITY, acceleration)
    width = arm.friction.width
    expected = share * np.tanh(VELOCITY / width) * np.abs(load)
    np.testing.assert_allclose(sent - without, expected, rtol=0.0, atol=1e-9)
    assert (expected * VELOCITY >= 0.0).all() and np.abs(expected).max() > 2.0


@pytest.mark.parametrize('share', [0.0, 0.5])
def test_a_part_of_the_friction_is_that_part_alone(share):
    without, part, whole = (
        sent_in_motion(unguarded(one), VELOCITY, torque=OWN)[1]
        for one in (
            replace(FRICTION, terms=fd.Terms()),
            replace(FRICTION, friction_scale=share),
            FRICTION,
        )
    )
    expected = without + share * (whole - without)
    np.testing.assert_allclose(part, expected, rtol=0.0, atol=1e-9)


def test_friction_leaves_the_torques_of_a_law_never_as_they_are():
    without = replace(FRICTION, terms=fd.Terms())
    found = [
        sent_in_motion(unguarded(one), VELOCITY, torque=OWN)[1] for one in (FRICTION, without)
    ]
    assert (np.abs(found[0] - found[1]) > 0.2).all()


def test_the_limits_hold_for_the_sum():
    sent = []
    limit = RUBBING.limit('effort')
    controller = unguarded(FRICTION, send=lambda torque: sent.append(np.array(torque)))
    rng = np.random.default_rng(0)
    for k in range(600):
        own = 2.0 * limit * rng.choice([-1.0, 1.0], 7)
        controller.step(HOME + 1e-12 * (-1) ** k, STILL, 1.0 + 1e-3 * k, torque=own)
    sent = np.array(sent)
    assert (np.abs(sent) <= limit).all() and (np.abs(np.diff(sent, axis=0)) <= 1.0 + 1e-9).all()


@pytest.mark.parametrize('bad', ['torque', 'velocity', 'acceleration'])
def test_what_is_not_finite_is_a_fault_and_never_sent(bad):
    controller = unguarded(FRICTION)
    _, sent = sent_in_motion(controller, STILL, torque=OWN)
    assert controller.state is State.RUNNING
    given = {'torque': OWN, bad: np.where(np.arange(7) == 3, np.inf, OWN)}
    for k in range(50):
        sent = controller.step(HOME + 1e-12 * (-1) ** k, STILL, 1.4 + 1e-3 * k, **given)
        assert np.isfinite(sent).all()
    assert controller.faulty and controller.state is State.SILENT


def test_gains_and_motions_have_no_place_beside_it():
    at = HOME, STILL, 1.0
    with pytest.raises(SettingsError):
        core(replace(FRICTION, kp=(10.0,), kd=(1.0,)), arm=RUBBING).step(*at, torque=OWN)
    for alone in ('velocity', 'acceleration'):
        with pytest.raises(SettingsError):
            core(FRICTION, arm=RUBBING).step(*at, **{alone: STILL})
    with pytest.raises(JointVectorError):
        core(FRICTION, arm=RUBBING).step(*at, torque=OWN[:6])
    controller = unguarded(FRICTION)
    sent_in_motion(controller, STILL, torque=OWN)
    with pytest.raises(SettingsError):
        controller.change(kd=(1.0,))
    with pytest.raises(NotActiveError):
        controller.follow(HOME, start=2.0)


def swept(terms, arm):
    """Return the rms error [mrad] of a caller's soft PD on a simulated arm with friction."""
    simulation = ArmSimulation(arm, SimulationSettings(friction=True))
    controller = fd.Feedforward(arm, target='mujoco', terms=terms)
    kp = np.array([60.0] * 4 + [20.0] * 3)
    kd = np.array([8.0] * 4 + [2.0] * 3)
    home = simulation.position.copy()
    errors = []
    for k in range(4000):
        reading = simulation.read()
        q = reading.position
        dq = reading.velocity
        q_d = home + 0.2 * min(1.0, 1e-3 * k) ** 2 * np.sin(2e-3 * k)
        own = kp * (q_d - q) - kd * dq
        torque = controller.step(q, dq, reading.time, effort=reading.effort, torque=own)
        assert not controller.faulty, controller.status
        errors.append(q_d - q)
        simulation.step(torque)
    assert controller.state is State.RUNNING
    return 1e3 * np.sqrt(np.mean(np.square(errors[1000:])))


def test_a_law_of_the_callers_follows_better_with_friction():
    rng = np.random.default_rng(3)
    covariance = random_covariance(rng, 7, 3, 0.02)
    arm = replace(
        RUBBING, friction=ViscousCoulombFriction(VISCOUS, COULOMB, STILL, covariance=covariance)
    )
    without = swept(fd.Terms(), arm)
    with_friction = swept(fd.Terms(friction=True), arm)
    assert with_friction < 0.7 * without


@pytest.mark.parametrize('own', [True, False])
def test_a_reason_names_the_torque_of_a_callers_law(own):
    given = {'torque': STILL} if own else {}
    controller = core(Settings(target='mujoco'), arm=RUBBING, applied_when_silent=True)
    gravity = fd.NewtonEulerModel(RUBBING).gravity(HOME)
    pressed = 5.0 * np.eye(7)[6]  # N m; the bound is 3.75 N m
    begin = 1200  # for 1 s an arm at rest is not judged, because brakes may open late
    for k in range(begin + 200):
        effort = None if k < begin else gravity + pressed
        q = HOME + 1e-12 * (-1) ** k
        controller.step(q, STILL, 1.0 + 1e-3 * k, effort=effort, **given)
        assert k != begin or controller.state is State.RUNNING, controller.status
    assert controller.faulty
    assert (CAUSE_OF_OWN_TORQUE in controller.status.why) is own


@pytest.mark.parametrize('velocity_is_given', [False, True])
def test_a_law_does_not_drive_an_arm_whose_states_are_frozen(velocity_is_given):
    """A soft law's target moves from 1 s on, as states freeze; the arm must not run away."""
    simulation = ArmSimulation(RUBBING, SimulationSettings(friction=True))
    controller = fd.Feedforward(RUBBING, target='mujoco')
    reading = simulation.read()
    goal = np.array(reading.position)
    for k in range(2200):
        velocity = 0.3 * np.eye(7)[0] * (k > 1000)
        goal += 1e-3 * velocity
        if k <= 1000:
            reading = simulation.read()
        own = 200.0 * (goal - reading.position) - 10.0 * reading.velocity
        given = {'velocity': velocity} if velocity_is_given else {}
        torque = controller.step(reading.position, reading.velocity, 1e-3 * k, torque=own, **given)
        simulation.step(torque)
        speed = abs(simulation.read().velocity[0])
        assert speed < RUBBING.limit('velocity')[0], controller.status
    np.testing.assert_allclose(simulation.position, reading.position, rtol=0.0, atol=0.02)
    assert controller.faulty and 'bit for bit' in controller.why


@pytest.mark.parametrize('since', [0.0, 1.5])
def test_states_that_repeat_under_a_law_are_frozen_once_brakes_are_open(since):
    controller = core(Settings(target='mujoco'), arm=RUBBING, applied_when_silent=True)
    for k in range(2000):
        own = 60.0 * max(0.0, 1e-3 * k - since) * np.eye(7)[0]
        own = np.minimum(own, 15.0)  # within the guard's bound of what is unexplained
        controller.step(HOME, STILL, 1e-3 * k, torque=own)
        # For 1 s from the first torque on brakes may hold the arm.
        assert controller.state is State.RUNNING or k < 20 or k > 1000
    assert controller.faulty and 'bit for bit' in controller.why


def test_an_effort_that_follows_the_torque_shows_that_states_are_not_frozen():
    controller = core(Settings(target='mujoco'), arm=RUBBING, applied_when_silent=True)
    effort = fd.NewtonEulerModel(RUBBING).gravity(HOME)
    for k in range(2000):
        pressed = min(15.0, 60.0 * max(0.0, 1e-3 * k - 1.5)) * np.eye(7)[0]
        sent = controller.step(HOME, STILL, 1e-3 * k, torque=pressed, effort=effort)
        effort = np.array(sent)
    assert controller.state is State.RUNNING, controller.status


@pytest.mark.parametrize('rubs', [1.0, 2.0])
@pytest.mark.parametrize('count', [5e-5, 1e-4])
def test_a_coarse_encoder_at_rest_is_not_frozen_beside_a_law(count, rubs):
    friction = replace(RUBBING.friction, coulomb=rubs * COULOMB)
    simulation = ArmSimulation(
        replace(RUBBING, friction=friction),
        SimulationSettings(friction=True, brake_release_after=0.3),
    )
    controller = fd.Feedforward(RUBBING, target='mujoco')
    home = simulation.position.copy()
    for k in range(3000):
        reading = simulation.read()
        q = count * np.round(reading.position / count)
        dq = 0.01 * np.round(reading.velocity / 0.01)
        goal = home + 0.05 * np.sin(2.0 * max(0.0, 1e-3 * k - 1.5))
        own = 100.0 * (goal - q) - 10.0 * dq
        own[4:] *= 0.2
        simulation.step(controller.step(q, dq, 1e-3 * k, torque=own))
        assert k < 20 or controller.state is State.RUNNING, controller.status
    assert np.abs(simulation.position - home).max() > 0.02
