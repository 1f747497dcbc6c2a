# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The core's torques: exact at rest, useful in motion, and continuous where settings change."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.control.default_gains import default_gains
from franka_dynamics.control.feedforward import Feedforward, State
from franka_dynamics.control.limits import MAX_STEP_S
from franka_dynamics.control.settings import Settings, Terms
from franka_dynamics.demo.multisine import multisine
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.errors import SettingsError
from franka_dynamics.simulation.arm_simulation import Push
from franka_dynamics.urdf.mjcf_writer import mjcf_text

from .closed_loop import core, FER, GRAVITY, KD, KP, Loop, MUJOCO, sent_at_rest
from ..agreement import refuses

LOAD = (1.0, 0.02, 0.0, 0.08, 0.003, 0.0, 0.0, 0.003, 0.0, 0.003)
TILTED = {'gravity_vector': (9.81 * 0.5, 0.0, -9.81 * np.sqrt(0.75)), 'payload': LOAD}
GAINS = {'kp': KP, 'kd': KD}


@pytest.mark.parametrize('target', ['mujoco', 'fci'])
def test_an_arm_at_rest_stays_there_under_feedforward_alone(target):
    settings = Settings(target=target, payload_known_to_robot=False, **TILTED)
    # Without feedback the arm is unstable: a torque that is wrong by 1e-9 N m moves it by more
    # than the bound within 1.4 s. The brakes open after the ramp of the first torque.
    loop = Loop(
        settings,
        gravity=settings.gravity_vector,
        payload=settings.payload_inertia(),
        gravity_compensation=target == 'fci',
        brake_release_after=0.5,
        # The effort of this simulation's braked arm lacks the load that the model declares.
        **({} if target == 'mujoco' else {'friction': False}),
    )
    loop.measures = False
    start = loop.arm.position
    loop.run(2.0)
    assert not loop.arm.is_braked
    np.testing.assert_allclose(loop.arm.position, start, rtol=0, atol=1e-9)


def test_feedforward_leaves_a_weak_pd_1_percent_of_the_error():
    def error_of(terms):
        loop = Loop(replace(MUJOCO, terms=terms, **GAINS)).run(0.3)
        loop.follow(multisine(FER, 2.0, 0.4))
        desired, errors = loop.controller.reference.at, []
        loop.run(1.2, lambda one: errors.append(desired(one.time).q - one.position))
        return np.sqrt(np.mean(np.square(errors)))

    with_feedforward, without = error_of(Terms()), error_of(Terms(coriolis=False, inertia=False))
    # The remaining error comes from the delay of one cycle; a wrong M or C would leave percents.
    assert with_feedforward < 0.01 * without
    assert without > 0.01


def guide(loop, speed, joints):
    """Let a person move the first of some joints in 0.8 s, at most at a speed [rad/s]."""
    begun = loop.arm.time

    def moved(_):
        loop.arm.data.qvel[joints] = 0.0
        loop.arm.data.qvel[0] = speed * np.sin(np.pi * (loop.arm.time - begun) / 0.8)

    return loop.run(0.8, moved)


@pytest.mark.parametrize('guided', [{'kp': (0.0,), 'kd': (0.0,)}, {'kp': (0.0,), 'kd': (0.5,)}])
def test_gains_hold_the_arm_where_it_stands_also_after_hand_guiding(guided):
    loop = Loop(Settings(target='fci', **GAINS), gravity_compensation=True)
    start = loop.arm.position
    loop.run(0.4)
    held = loop.controller.reference.at(0.39).q
    np.testing.assert_allclose(held, start, rtol=0, atol=1e-12)
    loop.controller.change(**guided)
    loop.run(0.1)
    # The arm is guided away and released; then the gains are switched on again.
    guide(loop, 0.7, slice(None))
    loop.controller.change(**GAINS)
    loop.run(1.0)
    assert loop.controller.state is State.RUNNING, loop.controller.status
    assert loop.arm.position[0] > 0.3
    np.testing.assert_allclose(loop.command, 0.0, rtol=0, atol=0.1)


def test_kp_does_not_grow_while_a_motion_is_followed_far_from_the_arm():
    loop = Loop(Settings(target='fci'), gravity_compensation=True).run(0.2)
    loop.move(6, 0.3, 10.0)  # feedforward alone
    guide(loop, 0.5, [0])
    with refuses(SettingsError, 'fer_joint1'):
        loop.controller.change(**GAINS)
    loop.controller.follow(np.zeros((0, 7)), [])
    loop.run(0.5)
    loop.controller.change(**GAINS)
    loop.run(0.5)
    assert loop.fastest < 0.6
    assert loop.controller.state is State.RUNNING


def test_torque_on_fci_begins_at_zero_and_goes_by_its_rate_to_what_the_base_needs():
    gravity = (5.0, 0.0, -8.44)
    settings = Settings(target='fci', gravity_vector=gravity)
    loop = Loop(settings, gravity_compensation=True, gravity=gravity).run(0.3)
    steps = np.diff(loop.published, axis=0, prepend=np.zeros((1, 7)))
    assert np.abs(steps).max() <= 1.0 + 1e-12
    # Its brakes open 100 ms after the first torque.
    needed = NewtonEulerModel(FER, gravity).gravity(FER.home) - GRAVITY
    np.testing.assert_allclose(loop.published[60], needed, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize('effort', [None, np.zeros(7)])
def test_an_arm_that_nobody_carries_is_given_gravity_at_once(effort):
    first = sent_at_rest(core(MUJOCO), 30, effort=effort)[0]
    np.testing.assert_allclose(first, GRAVITY, rtol=1e-12, atol=1e-12)


def test_gravity_beyond_a_limit_begins_at_the_limit():
    heavy = replace(FER, links=tuple(replace_mass(link, 12.0) for link in FER.links))
    first = sent_at_rest(core(MUJOCO, arm=heavy), 30)[0]
    assert (np.abs(first) <= FER.limit('effort')).all()
    assert np.abs(first).max() == FER.limit('effort').max()


def replace_mass(link, factor):
    """Return a link whose density is multiplied by a factor."""
    return type(link)(factor * link.mass, factor * link.mass * link.center_of_mass, link.inertia)


def test_a_live_payload_change_ramps():
    # The brakes stay closed, or the arm would rise under a load it does not carry.
    loop = Loop(MUJOCO, measures=False, brake_release_after=60.0).run(0.5)
    before, count = loop.command, len(loop.published)
    loop.controller.change(payload=LOAD)
    loop.run(0.4)
    target = NewtonEulerModel(FER.with_payload(Settings(payload=LOAD).payload_inertia()))
    steps = np.diff([before, *loop.published[count:]], axis=0)
    # A kilogram at the flange changes the torque by about 6 N m, in 200 cycles by 0.03 N m each.
    whole = np.abs(target.gravity(FER.home) - GRAVITY).max()
    assert 3.0 < whole < 10.0
    assert np.abs(steps).max() < 3.0 * whole / 200
    np.testing.assert_allclose(loop.command, target.gravity(FER.home), rtol=0.0, atol=1e-6)


def test_changes_without_pause_leave_the_feedback_whole():
    # When every ramp began at the last published torque, frequent changes cancelled the PD.
    loop = Loop(replace(MUJOCO, **GAINS), push=Push((10.0, 5.0, 0.0), 0.7, 0.1)).run(0.5)
    there = loop.arm.position.copy()
    for k in range(200):
        loop.controller.change(scale=1.0 - 0.01 * (k % 2))
        loop.run(0.01)
    # 4 mrad/s and 0.15 mrad, and as much again.
    assert loop.speed < 8e-3
    np.testing.assert_allclose(loop.arm.position, there, rtol=0.0, atol=3e-4)


@pytest.mark.parametrize('period', [0.5e-3, 1e-3, 2e-3, 5e-3, 0.01])
def test_a_loop_of_any_period_never_drops_the_arm(period):
    """A loop applies each torque for one period; the arm is held from the first state on."""
    kp, kd = default_gains(FER)
    loop = Loop(
        controller={'applied_when_silent': True, 'period': period},
        settings=replace(MUJOCO, kp=tuple(kp), kd=tuple(kd)),
        brake_release_after=0.0,
    )
    start = loop.arm.position
    every = max(1, round(period / MAX_STEP_S))
    for step in range(1000):
        if step % every == 0:
            reading = loop.arm.read()
            torque = loop.controller.step(reading.position, reading.velocity, reading.time)
        loop.arm.step(torque)
    assert loop.controller.state is State.RUNNING, loop.controller.status
    # Rounding moves it by 5e-15 rad; unheld, it would fall by 2e-6 rad in 1 ms.
    np.testing.assert_allclose(loop.arm.position, start, rtol=0.0, atol=1e-6)


def test_default_gains_follow_better_the_shorter_torques_may_be_held():
    arm, errors = load('fr3'), []
    for held in (0.21, 0.05):
        gains = dict(zip(('kp', 'kd'), map(tuple, default_gains(arm, held))))
        loop = Loop(replace(MUJOCO, **gains), description=arm, friction=True).run(0.2)
        loop.follow(multisine(arm, 3.0, 0.5))
        found = []

        def compare(reading, core=loop.controller, found=found):
            found.append(core.reference.motion.at(reading.time).q - reading.position)

        loop.run(2.2, compare)
        assert loop.controller.state is State.RUNNING
        errors.append(np.abs(found).max())
    assert errors[1] < 0.5 * errors[0]
    assert errors[1] < 0.1  # [rad]


def test_a_loop_of_10_ms_follows_a_motion_with_firm_gains():
    """Each of its torques may change by what a rate of 1000 N m/s allows in 10 ms."""
    arm, period = load('fr3'), 0.01
    model = mujoco.MjModel.from_xml_string(mjcf_text(arm))  # with drives: armature and friction
    model.opt.timestep, data = period, mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    loop = Feedforward(
        replace(arm.with_armature(), friction=arm.simulated_friction),
        'mujoco',
        period=period,
        kp=(200.0,) * 4 + (50.0,) * 3,
        kd=(10.0,) * 4 + (3.0,) * 3,
        terms=Terms(friction=True),
    )
    farthest, due = 0.0, 0.0
    for _ in range(300):
        data.ctrl[:] = loop.step(data.qpos, data.qvel, data.time)
        if loop.state is State.RUNNING and data.time >= due:
            loop.follow(arm.home + 0.1 * (1.0 - np.cos(2.0 * np.pi * data.time)))
            due = data.time + 1.0 / 30.0
        farthest = max(farthest, float(np.abs(data.qpos - arm.home).max()))
        mujoco.mj_step(model, data)
    assert loop.state is State.RUNNING, loop.status
    assert 0.19 < farthest < 0.21  # [rad]; the targets move by 0.2
