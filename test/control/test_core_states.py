# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The core's states: each row of the table, the reason of each state, and nothing else."""

from dataclasses import replace
from functools import partial
import math
import re
import threading

import numpy as np
import pytest

from franka_dynamics import errors
from franka_dynamics.arm import load
from franka_dynamics.control.core_table import State, Stop
from franka_dynamics.control.default_gains import low_gains
from franka_dynamics.control.ending import ReasonCode
from franka_dynamics.control.feedforward import Feedforward, StateLimits
from franka_dynamics.control.limits import MAX_STEP_S, MIN_GOOD_STATE_COUNT
from franka_dynamics.control.settings import Settings
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.simulation.arm_simulation import Push

from . import closed_loop
from .closed_loop import (
    core,
    FER,
    GRAVITY,
    HOME,
    Loop,
    MOVING,
    MUJOCO,
    payload,
    PD,
    Script,
    STILL,
)
from ..agreement import refuses

FCI = Settings(target='fci')


NEEDED = MIN_GOOD_STATE_COUNT + 1


def test_a_core_waits_for_good_states_and_then_sends():
    script = Script(FCI)
    assert ReasonCode.NO_STATE.value in script.core.status.why
    script.give(MIN_GOOD_STATE_COUNT - 1)
    assert (script.core.state, script.sent) == (State.SILENT, [])
    assert str(MIN_GOOD_STATE_COUNT - 1) in script.core.status.why
    script.give()
    assert script.core.state is State.RUNNING and script.core.status.remedy == ''


def test_a_loop_gets_a_torque_for_every_state():
    loop = core(MUJOCO, applied_when_silent=True)
    torques = [loop.step(HOME, STILL, 1.0 + 1e-3 * k) for k in range(2 * MIN_GOOD_STATE_COUNT)]
    for torque in torques:
        np.testing.assert_allclose(torque, GRAVITY, rtol=1e-12, atol=1e-12)
    stopped = [loop.step(HOME * np.nan, STILL, 1.1)]
    loop.stop('test')
    stopped += [loop.step(HOME, STILL, 1.2 + 1e-3 * k) for k in range(100)]
    np.testing.assert_allclose(stopped, np.tile(GRAVITY, (101, 1)), rtol=1e-12, atol=1e-12)


PAGE = {'kp': (40.0,) * 4 + (10.0, 10.0, 5.0), 'kd': (2.0,) * 4 + (0.3, 0.2, 0.05)}


@pytest.mark.parametrize(
    ('period', 'drives', 'gains', 'names'),
    [
        (0.003, False, PAGE, ''),
        (
            0.004,
            False,
            PAGE,
            'velocities decay at 440 1/s',
        ),  # joint 7 alone has 1e-4 kg m^2
        (0.01, True, PAGE, ''),
        (0.005, True, {'kp': PAGE['kp']}, 'use a kd of at least (.*), or'),
        (
            0.002,
            False,
            {'kp': PAGE['kp'], 'kd': (0.05,) * 7},
            'use a kd of at least (.*), or',
        ),
        (0.05, False, {}, 'period.*range.5.*by 0.01 s'),
    ],
)
def test_gains_are_refused_at_once_or_command(period, drives, gains, names):
    arm = load('fr3')
    if drives:
        arm = replace(arm.with_armature(), friction=arm.simulated_friction)
    made = partial(Feedforward, arm, 'mujoco', period=period, **gains)
    if names:
        with pytest.raises(errors.SettingsError, match=names) as refused:
            made()
        if found := re.search('kd of at least (.*), or', str(refused.value)):
            made(kd=(float(found[1]),) * 4 + (1.0, 0.5, 0.05))  # the advice can be followed
        return
    loop = made()
    closed_loop.sent_at_rest(loop, MIN_GOOD_STATE_COUNT, q=arm.home, begin=0.0, period=period)
    assert loop.state is State.RUNNING


def test_rotors_of_a_real_arm_bear_firmer_gains():
    Feedforward('fr3', 'fci', kd=(0.5,))
    with refuses(errors.SettingsError, 'kd'):
        Feedforward('fr3', 'mujoco', kd=(0.5,))


def test_soft_gains_follow_the_rate_and_yield_to_given_ones():
    given = (1.0,) * 7
    cores = (Feedforward('fr3', soft_gains=20.0, **x) for x in ({}, {'kp': given}))
    soft, half = (one.requested_law for one in cores)
    np.testing.assert_array_equal((soft.kp, soft.kd), low_gains(load('fr3'), 20.0))
    np.testing.assert_array_equal((half.kp, half.kd), (given, soft.kd))


@pytest.mark.parametrize('rate', [-1.0, np.nan])
def test_soft_gains_of_no_rate_are_named(rate):
    with refuses(errors.SettingsError, 'soft_gains', f'{rate:g}'):
        Feedforward('fr3', soft_gains=rate)


def test_degrees_are_refused_in_the_first_state():
    loop = core(MUJOCO, applied_when_silent=True)
    with pytest.raises(errors.JointVectorError, match=r'degrees.*radians'):
        loop.step(np.rad2deg(HOME), STILL, 1.0)
    # Later the arm rests on the last torque that was right.
    loop.step(HOME, STILL, 1.0)
    torque = loop.step(np.rad2deg(HOME), STILL, 1.001)
    np.testing.assert_allclose(torque, GRAVITY, rtol=1e-12, atol=1e-12)
    # A node answers them, and a single position beyond its limit is no angle in degrees.
    assert not core(MUJOCO).step(np.rad2deg(HOME), STILL, 1.0).any()
    assert not core(MUJOCO, applied_when_silent=True).step(HOME + 5.0, STILL, 1.0).any()


@pytest.mark.parametrize('creeps', [0.0, 1e-3])
def test_a_stopped_core_sends_only_after_start(creeps):
    # A creeping arm needs another resting torque in every state.
    script = Script().running().stop(why='enough').give(200, creeps * np.sign(MOVING))
    assert script.core.needs_start and 'enough' in str(script.core.status)
    count = len(script.sent)
    assert len(script.give(100).sent) == count
    assert script.start().give().core.state is State.RUNNING


@pytest.mark.parametrize(
    ('settings', 'end', 'stopped'),
    [
        (FCI, STILL, {}),
        (MUJOCO, GRAVITY, {}),
        (MUJOCO, STILL, {'then': Stop.TO_ZERO}),
        # A receiver that is not the target gets zero also during a stop, and whatever follows.
        (MUJOCO, STILL, {'then': Stop.TO_ZERO, 'before': True}),
    ],
)
@pytest.mark.parametrize('then', [Stop.LET_GO, Stop.HOLD])
def test_a_stop_ends_at_the_torque_that_the_receiver_needs(settings, end, stopped, then):
    script = Script(settings)
    before = (stopped.get('before') and script.stopping()) or script.running()
    script.stop(stopped.get('then', Stop.LET_GO))
    assert script.core.faulty is ('then' in stopped)
    before.give(5)
    if 'then' in stopped:
        script.stop(then, 'a second fault, or the end of the node')
    script.tick(200).give(2 * MIN_GOOD_STATE_COUNT)
    assert script.core.state is State.SILENT
    np.testing.assert_allclose(script.sent[-1], end, rtol=0.0, atol=1e-9 * end.any())
    assert np.abs(np.diff(script.sent, axis=0)).max() <= 1.0 + 1e-12


def test_a_start_at_rest_clears_any_fault_that_is_not_final():
    script = Script().stop(Stop.HOLD).give(100)  # before the first torque
    assert (script.sent, script.core.state) == (
        [],
        State.SILENT,
    ) and script.core.status.faulty
    assert script.start().give().give(3, MOVING).core.state is State.RUNNING
    script.stop(Stop.HOLD)
    with pytest.raises(errors.StartRefusedError):  # while the arm is braked
        script.core.start()
    assert script.give(60).core.status.faulty and script.start().core.state is State.RUNNING
    script.stop(Stop.FINAL, 'the model has changed')
    for _ in range(2):
        script.give(100)
        assert script.core.state is State.SILENT and script.core.status.faulty
        with refuses(errors.StartRefusedError, 'the model has changed'):
            script.core.start()
        script.core.reset()


LAST = np.eye(7)[6]
# What is added to a sound state, and whether that is a fault.
BROKEN = {
    'not finite': ({'q': np.nan}, False),
    'not finite velocity': ({'dq': np.inf}, False),
    'beyond its limit': ({'q': 4.0}, True),
    'a leap': ({'q': 0.1}, True),
    'an effort in another unit': ({'effort': 900.0}, True),
    'an effort of the wrist in another unit': ({'effort': -121.0 * LAST}, True),
}


def give_broken(script, name):
    """Give a script's core a state that cannot be used."""
    added = BROKEN[name][0]
    script.noise = -script.noise  # no encoder's position repeats
    sound = {'q': script.q + script.noise, 'dq': STILL, 'effort': GRAVITY}
    script.time += 1e-3
    script.core.step(time=script.time, **{k: x + added.get(k, 0.0) for k, x in sound.items()})


@pytest.mark.parametrize('name', BROKEN)
def test_an_unusable_state_stops_and_a_wrong_one_is_a_fault(name):
    faulty = BROKEN[name][1]
    script = Script().running().give(3, MOVING)
    give_broken(script, name)
    assert script.core.state is State.STOPPING
    assert (script.core.status.faulty, script.core.enabled) == (faulty, not faulty)
    assert 'fer_joint' in script.core.status.why
    script.tick(200).give(100)
    # Passing trouble ends by itself; a fault does not, and no torque is sent on such states.
    assert script.core.state is (State.SILENT if faulty else State.RUNNING)
    np.testing.assert_array_equal(np.isfinite(script.sent), True)


def test_a_velocity_that_no_joint_has_is_named_as_impossible():
    script = Script().running()
    script.give(1, 1500.0 * LAST)
    assert script.core.ending.last_reason.code is ReasonCode.IMPOSSIBLE_VALUE


@pytest.mark.parametrize('name', BROKEN)
@pytest.mark.parametrize('begun', [lambda s: s.braking(True), Script.holding])
def test_an_arm_is_held_again_if_its_states_may_recover(name, begun):
    script = begun(Script()).give()
    for _ in range(5):
        give_broken(script, name)
    assert script.core.state in (State.STOPPING, State.SILENT)
    script.give(MIN_GOOD_STATE_COUNT + 60)
    is_latched = BROKEN[name][1]
    assert script.core.state is (State.SILENT if is_latched else State.HOLDING)
    assert script.core.why.startswith('test')


def test_a_joint_that_moves_with_all_velocities_zero_is_stopped():
    script = Script().running()
    states = 0
    while not script.core.faulty and states < 20:
        script.q = script.q + 0.5e-3 * LAST
        states = states + 1
        script.give()
    assert 8 < states < 15
    assert script.core.ending.first_reason.code is ReasonCode.ZERO_VELOCITIES


def test_velocities_that_are_reversed_do_not_drive_the_arm():
    loop = Loop(PD, controller={'applied_when_silent': True}, armature=True).run(0.4)
    loop.swing(speed=0.6)
    read = loop.arm.read
    begun = loop.fastest
    loop.arm.read = lambda: replace(one := read(), velocity=-one.velocity)
    loop.run(1.0)
    # The law without the guard reaches 30 rad/s.
    assert loop.controller.faulty and loop.fastest < begun + 0.9


def contradict(script, offset, count):
    """Give states of an arm that stands still with the same velocity of all joints."""
    for k in range(count):
        script.time += 1e-3
        noise = 1e-9 * (-1) ** k * np.ones(7)  # as of an encoder, whose position never repeats
        script.core.step(script.q + noise, offset * np.ones(7), script.time)


# A state, whether there is a fault, words of why, and what is done with a core until it is so.
OUTCOMES = {
    (State.RUNNING, False, ''): [
        lambda s: s.leap(FER.limit('lower') - s.q).running(),
        lambda s: s.leap(FER.limit('upper') - s.q).running(),
        # Positions may be as far from where velocities take them by a step as by a slow drift.
        lambda s: s.running().leap(0.018 * LAST).give(dq=1e-3 * LAST),
        # The way of a small offset of the velocity is forgotten, or it would grow to a fault.
        lambda s: contradict(s.running(), 0.05, 1000),
    ],
    (State.SILENT, True, 'velocity'): [lambda s: contradict(s.running(), 0.4, 100)],
    (State.SILENT, True, 'faster than it can'): [
        lambda s: s.running().leap(0.03 * LAST).give(dq=1e-3 * LAST)
    ],
    (State.SILENT, False, 'test'): [
        # 0.03 rad/s for ever, as of an arm without friction, are those at which braking ends.
        lambda s: s.running().stop().give(60, dq=0.1 * MOVING)
    ],
    # It does not quite come to rest.
    (State.HOLDING, True, 'test'): [lambda s: s.braking(True).give(1100, dq=0.3 * MOVING)],
    (State.SILENT, True, 'test'): [
        lambda s: s.holding().leap(0.3).give().tick(100).give(100),
        lambda s: s.stopping(True).leap(0.3).give().tick(100).give(300),
        # An arm that braking does not slow down is given up, and not held by a further stop.
        lambda s: s.braking(True).drive().stop(Stop.HOLD).tick(100).give(100),
    ],
    # A clock of ticks that is set back, or no number.
    (State.SILENT, False, 'no new joint state for 10000 ms'): [
        lambda s: s.running().core.tick(s.time - 10.0)
    ],
    (State.SILENT, False, 'no new joint state for nan'): [
        lambda s: s.running().core.tick(math.nan)
    ],
}


@pytest.mark.parametrize(
    ('outcome', 'scene'),
    [(end, scene) for end, scenes in OUTCOMES.items() for scene in scenes],
)
def test_what_is_done_with_a_core_ends_in_a_state_for_a_reason(outcome, scene):
    script, (state, faulty, why) = Script(), outcome
    scene(script)
    assert (script.core.state, script.core.faulty) == (state, faulty)
    assert why in script.core.why if why else not script.core.state_problem


def test_the_reason_of_a_stop_outlives_lost_states():
    script = Script().braking(False).tick(100)
    assert script.core.state is not State.BRAKING and script.core.why.startswith('test')
    script = Script().holding()
    script.time -= 5.0
    script.give()
    assert script.core.faulty and script.core.why.startswith('test')
    assert script.core.counts['stops'] == 1
    # Nor does the reason of a held arm grow with each loss.
    script = Script().holding()
    for k in range(30):
        script.time += 60.0
        script.tick(30 + k).give(60)
        assert script.core.state is State.HOLDING
    assert script.core.why.startswith('test') and len(script.core.why) < 60


@pytest.fixture
def clock(monkeypatch):
    """Return this computer's time as the core reads it, a list of one number [s]."""
    now = [0.0]
    monkeypatch.setattr('franka_dynamics.control.state_check.monotonic', lambda: now[0])
    return now


def test_a_loop_whose_joint_states_stand_still_ends_its_torques(clock):
    # It gives a stamp only, so by stamps no time passes.
    loop = Feedforward(FER, soft_gains=15.0)
    closed_loop.sent_at_rest(loop, MIN_GOOD_STATE_COUNT + 2, begin=0.0, effort=GRAVITY)
    frozen = 1e-3 * (MIN_GOOD_STATE_COUNT + 1)
    for clock[0] in np.arange(0.0, 0.02, 1e-4):
        loop.step(HOME + 0.01, STILL, frozen, effort=GRAVITY)
        assert loop.state is State.RUNNING
    for clock[0] in np.arange(0.021, 0.1, 1e-3):
        torque = loop.step(HOME + 0.01, STILL, frozen, effort=GRAVITY)
    assert loop.state is State.SILENT and not torque.any()
    closed_loop.sent_at_rest(loop, MIN_GOOD_STATE_COUNT + 1, begin=frozen + 1e-3, effort=GRAVITY)
    assert loop.state is State.RUNNING


def test_a_late_state_is_passed_over_and_a_clock_set_back_is_not(clock):
    script = Script().running().give(3, MOVING)
    script.core.step(script.q, STILL, script.time - 5e-4)
    assert not script.core.sends
    script.give()
    assert script.core.sends
    # A repeated state is one, however often it comes; older ones in a row are of another clock.
    for _ in range(2 * MIN_GOOD_STATE_COUNT):
        script.core.step(script.q, STILL, script.time)
    for k in range(MIN_GOOD_STATE_COUNT):
        assert script.core.state is State.RUNNING
        script.core.step(script.q, STILL, script.time - 0.5 + 1e-3 * k)
    assert script.core.state is not State.RUNNING
    script.tick(100).give(2 * MIN_GOOD_STATE_COUNT).give(3, MOVING)
    script.time -= 5.0
    script.give()
    assert script.core.state is not State.RUNNING
    script.tick(100).give(2 * MIN_GOOD_STATE_COUNT)
    assert script.core.state is State.RUNNING


def test_slow_states_give_terms_and_no_torque():
    slow = core(MUJOCO, limits=StateLimits(max_state_age=0.0, state_timeout=0.1))
    closed_loop.sent_at_rest(slow, 60, period=0.033)
    assert slow.state is State.SILENT and '30 Hz' in slow.state_problem
    np.testing.assert_allclose(slow.latest.gravity, GRAVITY, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ('stated', 'real', 'runs'),
    [
        (1e-3, 5.1e-3, True),
        (1e-3, 5.4e-3, False),
        (8e-3, 8.2e-3, True),
        (8e-3, 8.6e-3, False),
        (10e-3, 10e-3, True),
    ],
)
def test_the_least_rate_is_the_nodes_or_of_the_stated_period(stated, real, runs):
    loop = Feedforward(FER, 'mujoco', period=stated)
    ran = False
    for k in range(60):
        loop.step(HOME, STILL, real * k)
        ran |= loop.state is State.RUNNING  # no torque goes out by the law before it is stopped
    assert ran == runs
    if not runs:
        assert 'period' in loop.why


def test_old_states_allow_no_first_torque_and_stop_the_arm():
    limits = StateLimits(max_state_age=0.05)
    script = Script(limits=limits)
    script.give(60, age=0.02)
    assert script.core.state is State.SILENT and '20 ms' in script.core.status.why
    script.give(60, age=0.001)
    assert script.core.state is State.RUNNING
    script.give(3, MOVING, age=0.001).give(1, age=0.06)
    assert script.core.state is State.STOPPING
    # Nor may a state come from the future.
    early = Script(limits=limits).give(age=0.06)
    problem = early.core.states.problem
    assert problem.code is ReasonCode.STALE
    assert problem.text_values['age'] == pytest.approx(60.0)
    early = Script(limits=limits).give(MIN_GOOD_STATE_COUNT, age=0).give(3, MOVING).give(age=-0.06)
    assert early.core.state is State.STOPPING


def test_gains_that_bear_no_delay_are_refused_with_old_states():
    gains = {'kp': (100.0,) * 7, 'kd': (10.0,) * 4 + (2.0, 2.0, 0.5)}
    fresh, old = (Script(MUJOCO, limits=StateLimits()).give(30, age=age) for age in (0.0, 0.012))
    assert fresh.sent and old.sent
    fresh.core.change(**gains)
    with refuses(errors.SettingsError, 'kd'):
        old.core.change(**gains)


def test_silence_is_counted_by_the_clock_of_the_caller():
    script = Script().running().give(3, MOVING)
    script.core.tick(script.time + 10.0, silence=0.01)  # as in a simulation that pauses
    assert script.core.state is State.RUNNING
    script.core.tick(script.time + 10.0, silence=0.1)
    assert script.core.state is State.STOPPING
    # Three periods of slow states are allowed, though a gap in their stamps may be shorter.
    slow = core(
        MUJOCO,
        limits=StateLimits(min_input_rate=50, max_state_age=0, state_timeout=0.02),
    )
    closed_loop.sent_at_rest(slow, 60, period=0.015)
    for silence, running in ((0.044, True), (0.046, False)):
        slow.tick(10.0, silence)
        assert (slow.state is State.RUNNING) is running


@pytest.mark.parametrize(('late', 'stops'), [(0.0, 0), (0.009, 0), (0.011, 1)])
def test_a_loop_of_10_ms_may_lose_a_state(late, stops):
    loop = core(MUJOCO, period=0.01)
    for k in range(300):
        if k % 20:
            loop.step(HOME, STILL, 0.01 * k + late * (k == 101))
    assert loop.counts['stops'] == stops


@pytest.mark.parametrize('age', [lambda k: None, lambda k: 1e-3 * k, lambda k: math.nan])
def test_a_source_whose_stamps_stand_still_is_lost(age):
    script = Script(MUJOCO).running()
    for k in range(100):
        script.core.step(HOME, STILL, script.time, now=script.time + 1e-3 * k, age=age(k))
    assert script.core.state is not State.RUNNING


def test_a_reference_is_followed_only_while_torques_are_sent():
    script = Script()
    with pytest.raises(errors.ReferenceRefusedError):
        script.core.follow(HOME)
    script.running().core.follow(HOME)
    script.stop()
    assert not script.core.reference.has_open_motion
    with pytest.raises(errors.ReferenceRefusedError):
        script.core.follow(HOME)


def test_after_a_reset_an_episode_is_bit_equal():
    loop = core(MUJOCO, applied_when_silent=True)

    def episode():
        rng = np.random.default_rng(1)
        torques = []
        for k in range(200):
            q = HOME + 1e-4 * rng.normal(size=7)
            torques.append(loop.step(q, STILL, 1e-3 * k, effort=GRAVITY if k > 1 else None))
            if k == 50:
                loop.follow(HOME + 0.02)
        loop.reset()
        return np.array(torques)

    np.testing.assert_array_equal(episode(), episode())


# Sequences ---------------------------------------------------------------------------------------


@pytest.mark.parametrize('speed', [0.0, 2.0])
@pytest.mark.parametrize('wrong', [HOME, [math.nan] * 7, [9.0] * 7])
def test_a_receiver_gets_no_torque_until_it_is_known_again(wrong, speed):
    loop = core(MUJOCO, applied_when_silent=True)
    falls = -speed * np.eye(7)[3]

    def torques(begin):
        places = [wrong if k == 155 else HOME + 1e-3 * k * falls for k in range(300)]
        return [loop.step(q, falls, begin + 1e-3 * k) for k, q in enumerate(places)]

    loop.blocked = 'the receiver is not known'
    loop.stop(loop.blocked, Stop.PAUSE)
    assert not np.any(torques(0.0))
    loop.blocked = ''
    wrong = HOME
    falls = STILL
    loop.start()
    np.testing.assert_allclose(torques(1.0)[-1], GRAVITY, rtol=1e-9, atol=1e-12)
    assert loop.state is State.RUNNING


@pytest.mark.parametrize('stopped', [True, False])
def test_after_a_pause_the_law_begins_at_the_carrying_torque(
    stopped,
):
    script = Script(MUJOCO, applied_when_silent=True).running().give(200)
    if stopped:
        script.stop().give(100)
    script.stop(Stop.PAUSE).core.blocked = 'the receiver is not known'
    script.give(100)
    assert not script.sent[-1].any()
    script.core.blocked = ''
    script.give(1)
    assert script.core.state is (State.SILENT if stopped else State.RUNNING)
    script.give(20)  # by the rate, because a loop has applied the zero torque
    np.testing.assert_allclose(script.sent[-1], 0.0 if stopped else GRAVITY, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize('begun', [lambda s: s.running().give(3, MOVING), Script.holding])
@pytest.mark.parametrize('again', [Script.start, lambda script: script.core.reset()])
def test_a_start_while_the_receiver_is_unknown_gives_no_torque(begun, again):
    script = begun(Script(MUJOCO, applied_when_silent=True))
    script.core.blocked = 'the receiver is not known'
    if script.core.state is State.HOLDING:
        with pytest.raises(errors.StartRefusedError):
            script.start()
    again(script.stop(Stop.PAUSE).give(100, MOVING))
    assert not script.give(100, MOVING).sent[-1].any()


@pytest.mark.parametrize('measures', [False, True])
def test_the_arm_of_a_loop_does_not_fall_through_a_reset(measures):
    loop = Loop(PD, controller={'applied_when_silent': True}, measures=measures).run(0.4)
    loop.swing(speed=0.2)
    for state in (State.RUNNING, State.SILENT):
        loop.controller.reset()
        before = loop.speed
        assert loop.run(0.03).controller.state is state and loop.speed < before + 0.02
        loop.controller.stop('test', Stop.HOLD)
        loop.run(0.2)


@pytest.mark.parametrize('then', [Stop.PAUSE, Stop.TO_ZERO])
def test_after_a_pause_gravity_reaches_a_falling_arm_by_rate(
    then,
):
    script = Script(MUJOCO).running()
    script.core.blocked = 'the receiver is not known'
    script.stop(then).give(100, MOVING)
    script.core.blocked = ''
    script = script if then is Stop.PAUSE else script.start()
    np.testing.assert_allclose(script.give(50, MOVING).sent[-1], GRAVITY, rtol=0.0, atol=2.0)


def test_a_guided_arm_without_known_receiver_gets_no_torque():
    loop = Loop(Settings(target='fci'), gravity_compensation=True, brake_release_after=0.0)
    loop.controller.blocked = 'the receiver is not known'
    loop.arm.push = Push((0.0, 0.0, -60.0), 0.0, 1.0)
    loop.command = STILL
    loop.arm.step(STILL, is_new=True)
    loop.run(0.3)
    assert loop.speed > 0.3 and not loop.published


@pytest.mark.parametrize('in_loop', [False, True])
@pytest.mark.parametrize('target', ['fci', 'mujoco'])
def test_an_arm_that_moves_during_a_pause_is_no_fault(target, in_loop):
    script = Script(Settings(target=target), applied_when_silent=in_loop).running()
    script.core.blocked = 'paused'
    script.stop(Stop.PAUSE).give(100)
    script.sent.clear()
    pushed = NewtonEulerModel(FER).gravity(script.q) * (target == 'fci') + 20.0  # [N m]
    script.give(200, MOVING, effort=pushed)
    assert not np.any(script.sent) and not script.core.faulty
    script.core.blocked = ''
    assert script.give(50, effort=pushed - 20.0).core.state is State.RUNNING


@pytest.mark.parametrize('in_loop', [False, True])
def test_an_arm_is_not_held_while_its_receiver_is_unknown(
    in_loop,
):
    script = Script(Settings(target='fci'), applied_when_silent=in_loop).holding().tick(200)
    script.core.blocked = 'receivers are being checked'
    before = script.sent[-1]
    script.sent.clear()
    script.give(200)
    assert script.core.state is State.SILENT and np.allclose(script.sent or before, before)
    script.core.blocked = ''
    assert script.give(100).core.state is State.HOLDING


@pytest.mark.parametrize(
    ('share', 'dq', 'state'),
    [
        pytest.param(0.15, MOVING, State.HOLDING, id='moves'),
        pytest.param(0.15, STILL, State.SILENT, id='rests'),
        pytest.param(0.05, MOVING, State.RUNNING, id='agrees'),
    ],
)
def test_a_loop_holds_an_arm_that_moves_by_refused_settings(share, dq, state):
    # 15 % is between the bounds before and after the first torque.
    script = Script(Settings(target='fci'), applied_when_silent=True)
    effort = GRAVITY + share * FER.limit('effort') * np.eye(7)[1]
    script.give(60, dq, effort=effort).give(200, effort=effort)
    assert script.core.state is state


@pytest.mark.parametrize(
    ('effort', 'state'),
    [
        pytest.param(0.3 * np.ones(7), State.SILENT, id='without gravity'),
        pytest.param(GRAVITY / 11.0, State.SILENT, id='currents'),
        pytest.param(None, State.RUNNING, id='none'),
        pytest.param(GRAVITY, State.RUNNING, id='torques'),
    ],
)
def test_efforts_that_lack_gravity_are_refused_and_none_is_taken(effort, state):
    script = Script(Settings(target='fci'))
    script.give(100, effort=effort)
    assert script.core.state is state


@pytest.mark.parametrize('then', [Stop.LET_GO, Stop.HOLD])
def test_zero_torque_of_a_pause_lasts_beyond_another_stop(then):
    script = Script(MUJOCO, applied_when_silent=True).running()
    script.core.blocked = 'the receiver pauses'
    script.stop(Stop.PAUSE).give(200).stop(then).give(200)
    np.testing.assert_array_equal(script.sent[-1], 0.0)


def test_an_arm_to_be_held_is_braked_after_20_good_states():
    script = Script().holding().tick(400)
    assert script.core.state is State.SILENT
    script.give(19).give(1, impossible=np.nan)
    assert script.give(19).core.state is State.SILENT  # the count began again
    assert script.give(1).core.state is State.BRAKING


@pytest.mark.parametrize('in_loop', [False, True])
def test_a_braked_arm_is_carried_once_its_receiver_is_back(in_loop):
    script = Script(MUJOCO, applied_when_silent=in_loop).running().stop(Stop.TO_ZERO).give(300)
    script.start().give(20 if in_loop else 3)  # a loop has applied the zero torque
    np.testing.assert_allclose(script.sent[-1], GRAVITY, rtol=0.0, atol=0.1)


def test_the_rate_counts_from_a_torque_between_two_states():
    script = Script().running().give(3, MOVING)
    before = script.core.reject_state('test', script.time + 0.5e-3)
    step = np.abs(script.give(1, MOVING).sent[-1] - before)
    np.testing.assert_allclose(step.max(), 0.5, rtol=0.0, atol=1e-6)  # 1,000 N m/s in 0.5 ms


@pytest.mark.parametrize('begun', [Script.running, lambda script: script.braking(True)])
def test_a_torque_not_finite_is_not_sent_and_ends_torques(begun):
    script = begun(Script())
    script.core.requested_law.terms.coriolis = lambda q, dq: np.full(7, math.nan)
    script.give(100)
    assert script.core.state is State.SILENT and script.core.faulty
    assert 'not finite' in script.core.why and np.isfinite(script.sent).all()


def test_a_reset_loses_no_ending_that_waits_to_be_reported():
    core = Script().running().core
    core.unreported_endings.clear()
    core.reject_state('two', 1.0, faulty=True)
    waiting = list(core.unreported_endings)
    core.reset()
    assert waiting and list(core.unreported_endings)[: len(waiting)] == waiting


def test_a_users_stop_outlives_a_reset_and_a_fault_does_not():
    script = Script().running()
    for then in (Stop.LET_GO, Stop.HOLD, Stop.TO_ZERO):
        script.start().give(MIN_GOOD_STATE_COUNT).stop(then).give(100).core.reset()
        assert script.give(2 * MIN_GOOD_STATE_COUNT).core.state is State.SILENT
    script.start().give(MIN_GOOD_STATE_COUNT).core.reject_state('two', 1.0, faulty=True)
    script.core.reset()
    assert script.give(MIN_GOOD_STATE_COUNT).core.state is State.RUNNING


def test_a_motion_planned_during_a_stop_is_not_followed():
    script = Script().running()
    follow = script.core.reference.follow

    def late(*given, **others):
        script.core.stop('another thread')
        return follow(*given, **others)

    script.core.change(kp=(0.0,), kd=(0.0,))  # so that a motion begins where the arm is
    script.give()
    script.core.reference.follow = late
    with pytest.raises(errors.NotActiveError, match='not followed'):
        script.core.follow(HOME + 0.05)
    assert not script.core.reference.has_open_motion


def test_a_stop_lets_go_of_a_held_arm_and_leaves_its_fault():
    for script in (Script().braking(True), Script().holding()):
        script.stop(why='the user ends')
        assert script.core.faulty and script.core.why.startswith('test')
        assert script.give(300).core.needs_start and not script.start().core.faulty


def test_a_stop_lets_go_of_an_arm_that_presses_against_a_wall():
    loop = Loop(PD, friction=True).run(0.5)
    wall = []

    def pressed(reading):
        depth = reading.position[0] - 0.2
        speed = reading.velocity[0]
        wall.append(max(0.0, 3e3 * depth + 20.0 * speed) * (depth > 0.0))
        loop.arm.push = Push(STILL[:3], reading.time, 1.0, (0.0, 0.0, -wall[-1]), link=1)

    loop.move(0, 0.8)
    loop.run(2.5, pressed).controller.stop('a user')
    assert wall[-1] > 0.2 * FER.limit('effort')[0]
    loop.run(0.5, pressed)
    assert wall[-1] == 0.0 and loop.controller.state is not State.HOLDING


def test_a_core_that_will_hold_the_arm_again_has_not_ended():
    script = Script().holding().tick(400)
    assert script.core.state is State.SILENT and not script.core.needs_start
    assert script.stop().core.needs_start


@pytest.mark.parametrize(('before', 'after'), [('mujoco', 'fci'), ('fci', 'mujoco')])
def test_a_node_begins_anew_at_a_receiver_that_adds_gravity(before, after):
    script = Script(Settings(target=before)).running().stop().give(300)
    script.core.change(target=after)
    script.core.change(target=before)  # as if nothing had changed
    begun = script.start().give(MIN_GOOD_STATE_COUNT).sent[-1]
    script.stop().give(300).core.change(target=after)
    script.sent.clear()
    script.start().give()
    for torque, target in ((begun, before), (script.sent[0], after)):
        needed = GRAVITY if target == 'mujoco' else STILL
        np.testing.assert_allclose(torque, needed, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize('infinite', [-np.inf, np.inf])
@pytest.mark.parametrize('number', [0, 30])
def test_an_infinite_position_without_limits_is_unusable(infinite, number):
    endless = replace(FER.joints[6].limits, lower=-np.inf, upper=np.inf)
    arm = replace(FER, joints=(*FER.joints[:6], replace(FER.joints[6], limits=endless)))
    loop = Feedforward(arm, 'mujoco')
    torques = []
    for k in range(80):
        given = np.where(np.arange(7) == 6, infinite, HOME) if k == number else HOME
        torques.append(loop.step(given, STILL, 1e-3 * k))
    assert np.isfinite(torques).all()
    assert loop.state is State.RUNNING  # again


def test_states_that_stand_still_end_torques_at_any_age(clock):
    loop = Feedforward(FER, 'mujoco')
    q = np.array(FER.home)
    closed_loop.sent_at_rest(loop, 30, begin=0.0, age=0.002)
    assert loop.state is State.RUNNING
    for wait, state in ((0.5, State.RUNNING), (1.5, State.SILENT)):
        clock[0] = wait
        loop.step(q, STILL, 0.029, age=0.002)
        assert loop.state is state


def test_torques_of_one_instant_agree_after_a_clock_set_back():
    script = Script(MUJOCO).running().stop(Stop.TO_ZERO)
    script.core.step(HOME, STILL, script.time - 5.0, now=script.time + 1e-3)
    torque = script.core.output.last_torque
    np.testing.assert_array_equal(script.core.tick(script.time + 1e-3), torque)


@pytest.mark.parametrize('moving', [False, True])
def test_after_a_simulations_reset_it_rests_at_the_new_place(moving):
    script = Script(MUJOCO).running()
    if moving:
        script.give(20, dq=np.full(7, 0.3))
    elsewhere = script.q + [0.3, 0.5, 0.2, 0.7, 0.4, 0.5, 0.3]
    torque = script.core.step(elsewhere, STILL, 0.0, now=script.time + 1e-3)
    for k in range(2, 60):  # the simulation stands still
        torque = script.core.tick(script.time + 1e-3 * k, silence=0.0)
    held = NewtonEulerModel(FER).gravity(elsewhere)
    np.testing.assert_allclose(torque, held, rtol=1e-9, atol=1e-9)


def test_a_held_arm_starts_by_settings_changed_in_silence():
    script = Script(MUJOCO).holding()
    script.tick(400)
    assert script.core.state is State.SILENT
    heavy = payload(2.0)
    script.core.change(payload=heavy)
    script.give(200)
    assert script.core.state is State.HOLDING
    script.start().give(400)
    assert script.core.state is State.RUNNING
    carried = NewtonEulerModel(FER.with_payload(Settings(payload=heavy).payload_inertia()))
    np.testing.assert_allclose(script.sent[-1], carried.gravity(script.q), rtol=0.0, atol=1e-6)


def test_settings_changed_before_a_start_act_by_the_ramp():
    heavy = payload(2.0)
    script = Script(MUJOCO, applied_when_silent=True).running().stop(Stop.LET_GO).give(300)
    assert script.core.state is State.SILENT
    script.core.change(payload=heavy)
    count = len(script.sent)
    script.start().give(400)
    assert script.core.state is State.RUNNING
    carried = NewtonEulerModel(FER.with_payload(Settings(payload=heavy).payload_inertia()))
    goal = carried.gravity(script.q)
    np.testing.assert_allclose(script.sent[-1], goal, rtol=0.0, atol=1e-6)
    # The whole difference fades in 0.2 s, by a curve of at most twice its mean slope.
    steps = np.abs(np.diff(script.sent[count - 1 :], axis=0)).max(axis=0)
    assert (steps <= 3.0 * np.abs(goal - GRAVITY) / 200.0 + 1e-9).all()


def test_a_loop_after_a_tick_carries_the_arm_at_the_rate():
    controller = core(MUJOCO, applied_when_silent=True)
    controller.tick(1.0)
    sent = closed_loop.sent_at_rest(controller, 50)
    np.testing.assert_allclose(sent[40], GRAVITY, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize('set_back_s', [0.5, 50.0])
def test_a_stop_goes_on_though_the_clock_of_ticks_is_set_back(set_back_s):
    script = Script().running().stop(Stop.TO_ZERO)
    for k in range(200):
        torque = script.core.tick(script.time - set_back_s + 1e-3 * k)
    np.testing.assert_array_equal(torque, 0.0)
    assert script.core.state is State.SILENT


def test_a_payload_told_while_the_arm_is_held_changes_no_torque():
    script = Script().holding().give(1000)
    count = len(script.sent)
    script.core.change(payload=payload(3.0))
    script.give(1000)
    assert np.abs(np.array(script.sent[count:]) - script.sent[count - 1]).max() < 1e-6


@pytest.mark.parametrize('masses', [(3.0,), (3.0, 2.9)])
@pytest.mark.parametrize('held', [False, True])
def test_a_payload_declared_before_it_is_lifted_is_no_fault(masses, held):
    script = Script(MUJOCO).running()
    carries = {'effort': GRAVITY}
    if held:
        script.stop(Stop.HOLD)
    script.give(100, **carries)
    for mass in masses:
        script.core.change(payload=payload(mass))
        script.give(80 if held else 300, **carries)
    if held:
        assert script.core.state is State.HOLDING
        script.start().give(300, **carries)
    assert script.core.state is State.RUNNING


def test_the_target_stays_while_torques_are_sent():
    script = Script(MUJOCO)
    prepare = script.core.changed_law
    script.core.changed_law = lambda **_: prepared()

    def prepared():
        law = prepare(target='fci')
        script.running()  # meanwhile torques begin
        return law

    for _ in range(2):
        with refuses(errors.SettingsError, 'fci'):
            script.core.change(target='fci')
        assert script.core.settings.target == 'mujoco'
        script.core.changed_law = prepare
    script.stop().give(300).core.change(target='fci')
    assert script.core.settings.target == 'fci'


def test_of_two_changes_at_once_none_is_lost():
    script = Script().running()
    prepare = script.core.changed_law
    other = threading.Thread(target=lambda: script.core.change(kp=(50.0,)))

    def slowly(**settings):
        script.core.changed_law = prepare
        law = prepare(**settings)
        other.start()
        other.join(0.1)
        return law

    script.core.changed_law = slowly
    script.core.change(scale=0.5)
    other.join()
    assert (script.core.settings.kp, script.core.settings.scale) == ((50.0,), 0.5)


def test_the_caller_may_write_into_the_torques_that_it_gets():
    kept = [Script(MUJOCO).give(MIN_GOOD_STATE_COUNT + 30) for _ in range(2)]
    for script, written in zip(kept, (True, False)):
        for k in range(20):
            script.time += 1e-3
            bad = math.nan if k == 10 else 0.0
            torques = (
                script.core.step(HOME + bad, STILL, script.time),
                script.core.step(HOME, STILL, script.time),  # its stamp is not new
                script.core.tick(script.time),
            )
            script.sent += [torque.copy() for torque in torques]
            for torque in torques if written else ():
                torque += 5.0
    # Within rounding, which depends on where arrays lie in memory.
    np.testing.assert_allclose(kept[0].sent, kept[1].sent, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize('gap', [0.3, 0.6])
def test_after_a_gap_torques_go_on_from_the_one_that_acts(gap):
    loop = Loop(PD, measures=False, friction=True, armature=True).run(1.6)
    loop.move(1, 0.7, 1.2)
    loop.run(0.6)
    assert loop.speed > 1.0
    loop.tick(round(gap / MAX_STEP_S))
    while loop.controller.state is not State.RUNNING:
        before = loop.command
        loop.run(MAX_STEP_S)
    assert np.abs(loop.command - before).max() <= 1.0 + 1e-9


def test_an_undeclared_load_is_carried_again_after_braking():
    settings = Settings(target='fci', payload=payload(2.0), payload_known_to_robot=False)
    load = settings.payload_inertia()
    loop = Loop(settings, measures=False, payload=load, gravity_compensation=True).run(1.0)
    loop.swing().tick(100)
    before = loop.until(State.RUNNING, 2.0).arm.position[5]
    assert abs(loop.run(0.5).arm.position[5] - before) < 0.05


def test_a_loop_with_rare_states_gets_gravity_of_where_it_is():
    loop = Feedforward(FER, 'mujoco')
    gravity = NewtonEulerModel(FER).gravity
    for k in range(200):
        q = HOME + 1e-3 * k * np.eye(7)[1]
        torque = loop.step(q, 0.125 * np.eye(7)[1], 8e-3 * k)
    assert loop.state is State.SILENT and 'Hz' in loop.why
    np.testing.assert_allclose(torque, gravity(q), rtol=0, atol=0.1)


def test_an_arm_to_be_held_starts_only_once_it_is_held():
    script = Script(MUJOCO).holding()
    script.time += 1e-3
    script.core.step(HOME * np.nan, STILL, script.time)
    with refuses(errors.StartRefusedError, 'held'):
        script.core.start()
    script.give(3 * MIN_GOOD_STATE_COUNT).core.start()
    assert script.core.state is State.RUNNING


def test_a_restarted_simulation_is_commanded_again():
    # As of a node in simulated time: `now` goes on, simulated time begins anew, no torque missed.
    script = Script(MUJOCO).running()
    script.give(80)
    for k in range(3 * MIN_GOOD_STATE_COUNT + 20):
        at = {'age': 0.0, 'now': 5.0 + 1e-3 * k, 'effort': GRAVITY}
        script.core.step(HOME, STILL, 1.0 + 1e-3 * k, **at)
    assert script.core.state is State.RUNNING, script.core.status


def test_a_long_wait_for_the_first_torque_is_logged_once(caplog):
    arm = load('fr3')
    for q, time, why in (
        (
            np.zeros(7),
            lambda k: 1e-3 * k,
            'of fr3_joint6 is 0, and can be 0.2398 to 4.822',
        ),
        (arm.home, lambda k: 1.0, 'does not go on'),
        (arm.home, lambda k: float(k), 'its time in seconds'),
    ):
        caplog.clear()
        loop = Feedforward(arm, 'mujoco', soft_gains=20.0)
        for k in range(500):
            assert np.isfinite(loop.step(q, np.zeros(7), time(k))).all()
        (record,) = caplog.records
        assert why in record.getMessage()


# What one field may hold is tested in test_terms.py.
@pytest.mark.parametrize(
    ('settings', 'named'),
    [
        ({'kpp': 1.0}, 'kpp'),
        ({'terms': {}}, 'terms'),
        ({'target': ['fci']}, 'fci'),
        ({'payload': payload(9.0)}, '9'),
        ({'payload_known_to_robot': 'no'}, 'payload_known_to_robot'),
        ({'kp': (600.0,), 'kd': (0.0,)}, 'kp'),
        ({'target': 'gz_ros2_control', 'kd': (30.0,)}, 'kd'),
    ],
)
def test_settings_that_cannot_work_change_nothing(settings, named):
    made = partial(Feedforward, FER, applied_when_silent=False)
    with refuses((errors.SettingsError, errors.ArgumentError), named):
        made(**settings)
    node = made('mujoco')
    before = node.settings
    with refuses(errors.SettingsError, named):
        node.change(**settings)
    assert node.settings is before


def test_an_arm_with_nan_states_is_held_after_a_clock_set_back():
    script = Script(MUJOCO, applied_when_silent=True).running()
    script.time = 0.0
    script.give(300, impossible=np.nan)
    np.testing.assert_allclose(script.sent[-1], GRAVITY, rtol=0.0, atol=1e-9)


def test_no_reset_after_a_final_fault_gives_torque():
    script = Script(MUJOCO, applied_when_silent=True).running()
    script.stop(Stop.TO_ZERO).stop(Stop.FINAL).give(300).core.reset()
    assert not script.give(300).sent[-1].any()


def test_forgotten_states_have_the_assumed_age_and_period():
    script = Script(limits=StateLimits())
    for k in range(30):
        script.give(age=1e-3 + 1e-4 * (k % 3))
    states = script.core.states
    np.testing.assert_allclose((states.period, states.median_age), (1e-3, 1.1e-3), rtol=1e-9)
    script.core.reset()
    assert (states.period, states.median_age) == (1e-3, 0.0)


@pytest.mark.parametrize('quantity', ['position', 'velocity'])
@pytest.mark.parametrize('value', [np.inf, -np.inf, np.nan, 1e300])
def test_no_number_after_a_gap_is_refused_without_a_warning(value, quantity):
    core = Feedforward('fr3', 'mujoco', applied_when_silent=False)
    q = load('fr3').home_position
    dq = np.zeros(7)
    core.step(q, dq, 0.0)
    if quantity == 'position':
        core.step(q, dq, 0.1)
    (q if quantity == 'position' else dq)[0] = value
    core.step(q + 1e-9, dq, 0.101)  # positions that repeat would be an old state
    problem = core.states.problem
    code = ReasonCode.IMPOSSIBLE_VALUE if np.isfinite(value) else ReasonCode.VALUE_NOT_FINITE
    assert problem.code is code and core.latest is None
    assert (problem.text_values['what'], problem.text_values['joint']) == (quantity, 'fr3_joint1')
