# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What no running law answers for: a loop that is silent, the start, sensors that stand still."""

from dataclasses import replace

import numpy as np
import pytest

import franka_dynamics as fd
from franka_dynamics.arm import JointLimits, LinkInertia, load
from franka_dynamics.control.ending import ReasonCode
from franka_dynamics.control.feedforward import Feedforward, State, StateLimits, Stop
from franka_dynamics.control.settings import Settings as Settings
from franka_dynamics.errors import JointVectorError, SettingsError

from .closed_loop import (
    core,
    FER,
    HOME,
    KD,
    KP,
    Loop,
    MUJOCO,
    payload,
    sent_at_rest,
    STILL,
)

LOOP = {'applied_when_silent': True}
CARRIED = {'gravity_compensation': True, 'friction': True}
SINK = 9.81 * np.sqrt(0.5)
HALF = {'kp': KP, 'kd': KD}


def applied_loop(settings, channel=None, **options):
    """Return a loop that applies each torque, also while the core is silent."""
    loop = Loop(settings, controller=LOOP, **options)
    read = loop.arm.read
    if channel is not None:
        loop.arm.read = lambda: channel(read())
    return loop


@pytest.mark.parametrize('measures', [False, True])
@pytest.mark.parametrize('starts', [False, True])
@pytest.mark.parametrize(
    'changed',
    [
        ('fci', CARRIED, {'target': 'mujoco'}),
        ('mujoco', {'friction': True}, {'target': 'fci'}),
        ('mujoco', {'friction': True}, {'gravity_vector': (SINK, 0.0, -SINK)}),
        ('mujoco', {'friction': True}, {'payload': payload(2.9)}),
    ],
)
def test_settings_changed_in_silence_do_not_drive_the_arm(changed, measures, starts):
    target, simulation, change = changed
    loop = applied_loop(Settings(target=target, **HALF), measures=measures, **simulation).run(0.3)
    before = loop.command
    loop.controller.stop('a user')
    loop.run(0.2).controller.change(**change)
    if starts:
        loop.controller.start()
    loop.run(0.5)
    if starts and not measures:  # the motion alone shows what is wrong
        assert loop.fastest < 1.5
        return
    assert loop.controller.state is State.SILENT and loop.fastest < 0.1
    np.testing.assert_allclose(loop.command, before, rtol=0.0, atol=0.1)


def test_an_absent_load_declared_after_a_stop_moves_nothing():
    loop = applied_loop(MUJOCO, friction=True).run(0.5)
    loop.controller.stop('a user')
    loop.run(0.5).controller.change(payload=payload(0.6))
    before = loop.arm.position
    assert np.abs(loop.run(2.0).arm.position - before).max() < 0.01
    loop.controller.start()
    assert loop.run(0.1).controller.state is State.RUNNING


def test_settings_that_are_right_begin_in_silence():
    loop = applied_loop(MUJOCO, friction=True).run(0.5)
    loop.controller.stop('a user')
    loop.run(0.2)
    loop.controller.change(gravity_vector=(0.2, 0.0, -9.80))  # within the model's error
    loop.controller.change(kp=KP, kd=KD)
    loop.controller.start()
    assert loop.run(0.1).controller.state is State.RUNNING


@pytest.mark.parametrize('kind', [Loop, applied_loop])
def test_an_absent_load_declared_to_a_sinking_arm_is_harmless(kind):
    carried = Settings(payload=payload(0.4)).payload_inertia()
    loop = kind(Settings(target='mujoco', **HALF), measures=False, friction=True).run(0.5)
    loop.controller.stop('a user')
    loop.run(0.1).arm.set_payload(carried)
    loop.run(0.5).controller.change(payload=payload(2.9))
    assert loop.speed > 0.1
    loop.controller.start()
    loop.until(State.HOLDING, 1.5).run(0.5)
    assert 'load' in loop.controller.why and loop.fastest < 1.0 and loop.speed < 0.1


def test_the_resting_torque_is_watched_as_any_other():
    loop = applied_loop(Settings(target='mujoco', **HALF), friction=True).run(0.5)
    loop.controller.stop('a user')
    assert loop.run(0.2).controller.needs_start
    loop.arm.set_payload(Settings(payload=payload(2.9)).payload_inertia())
    loop.until(State.HOLDING, 1.5)
    assert loop.controller.faulty and loop.fastest < 2.1
    assert loop.run(0.5).speed < 0.05


@pytest.mark.parametrize('target', ['mujoco', 'gz_ros2_control', 'fci', 'franka_gazebo'])
@pytest.mark.parametrize('measures', [True, False])
def test_a_start_with_the_wrong_target_names_gravity(target, measures):
    adds = target in ('fci', 'franka_gazebo')
    simulation = {'friction': True, 'gravity_compensation': not adds}
    loop = applied_loop(Settings(target=target), measures=measures, **simulation).run(1.0)
    assert 'g(q)' in loop.controller.why and target in loop.controller.why
    if measures and not adds:
        assert loop.fastest < 0.05 and not loop.command.any()
    assert loop.fastest < 1.8


@pytest.mark.parametrize('silent', [LOOP, {}])
@pytest.mark.parametrize('degrees', [60, 90, 180])
@pytest.mark.parametrize('measures', [True, False])
def test_an_arm_on_a_wall_or_a_ceiling_that_is_told_so_starts(silent, degrees, measures):
    angle = np.deg2rad(degrees)
    gravity = (9.81 * np.sin(angle), 0.0, -9.81 * np.cos(angle))
    kind = applied_loop if silent else Loop
    by_node = {'mount_tilt_compensated_by': 'node'}
    settings = Settings(target='fci', gravity_vector=gravity, **by_node, **HALF)
    loop = kind(settings, measures=measures, gravity=gravity, **CARRIED).run(0.6)
    assert loop.controller.state is State.RUNNING and loop.fastest < 0.05, loop.controller.status
    loop.controller.stop('a user')
    loop.run(0.3)
    if not silent:
        assert loop.controller.counts['faults'] == 0


@pytest.mark.parametrize('measures', [True, False])
@pytest.mark.parametrize('degrees', [60, 180])
def test_a_loop_holds_an_arm_on_an_undeclared_mounting(degrees, measures):
    angle = np.deg2rad(degrees)
    gravity = (9.81 * np.sin(angle), 0.0, -9.81 * np.cos(angle))
    loop = applied_loop(Settings(target='fci'), measures=measures, gravity=gravity, **CARRIED)
    loop.until(State.HOLDING, 1.5).run(0.5)
    assert loop.fastest < 2.6 and loop.speed < 0.1  # 17 to 20 rad/s under zero torque
    assert 'gravity_vector' in loop.controller.why or 'allowed' in loop.controller.why


FIRM = {'kp': (600.0,) * 4 + (250.0, 100.0, 10.0), 'kd': (50.0,) * 4 + (6.0, 3.0, 0.06)}


def repeating(joints, since, velocity):
    """Return a channel that repeats positions, and velocities if asked, from a time on [s]."""
    kept = []
    of = np.isin(np.arange(7), joints)

    def passed(reading):
        if reading.time < since:
            kept[:] = [reading]
            return reading
        last = kept[0]
        dq = np.where(of, last.velocity, reading.velocity) if velocity else reading.velocity
        q = np.where(of, last.position, reading.position)
        return replace(reading, position=q, velocity=dq)

    return passed


def spoilt(reading, bad):
    """Return a reading with a position of joint 2 that leapt, or that no joint has."""
    value = reading.position[1] + 0.6 if bad == 'leapt' else bad
    return replace(reading, position=np.where(np.arange(7) == 1, value, reading.position))


@pytest.mark.parametrize('bad', ['leapt', 9.0, np.nan])
@pytest.mark.parametrize('target', ['fci', 'mujoco'])
@pytest.mark.parametrize('kind, times', [(Loop, 1), (applied_loop, 1), (Loop, 8)])
def test_an_arm_comes_to_rest_after_states_that_cannot_be_used(kind, times, target, bad):
    simulation = {'gravity_compensation': target == 'fci', 'armature': True}
    loop = kind(Settings(target=target, **HALF), **simulation).run(0.4).swing(speed=0.6)
    read = loop.arm.read
    begun = loop.arm.position
    for _ in range(times):
        loop.arm.read = lambda: spoilt(read(), bad)
        loop.run(1e-3)
        loop.arm.read = read
        loop.run(1e-3)
    loop.run(0.5)
    assert np.abs(loop.arm.position - begun).max() < 0.15 and loop.speed < 0.3
    # What is latched leaves the resting torque; what is not lets the law begin again.
    assert loop.controller.state is (State.RUNNING if bad is np.nan else State.SILENT)


REST_S = 0.45
MOTION_S = 0.9


@pytest.mark.parametrize('velocity', [True, False])
@pytest.mark.parametrize('since', [REST_S, MOTION_S])
@pytest.mark.parametrize('target', ['fci', 'mujoco'])
def test_a_driver_that_repeats_one_state_ends_torques(velocity, since, target):
    simulation = CARRIED if target == 'fci' else {'friction': True}
    channel = repeating(range(7), since, velocity)
    loop = applied_loop(Settings(target=target, **FIRM), channel, **simulation).run(0.5)
    assert loop.controller.state is State.RUNNING
    loop.controller.follow(HOME + [[0.0] * 7, [0.3, 0.3, -0.3, 0.3, 0.3, -0.3, 0.3]], [0.0, 1.0])
    while not loop.controller.faulty:
        assert loop.arm.time < 1.1  # a joint may stick until its torque has grown
        loop.run(1e-3)
    loop.run(0.3)
    # Without guard it reaches 7 to 54 rad/s, at most 1.8 were seen with it.
    assert loop.controller.state in (State.SILENT, State.STOPPING)
    assert loop.fastest < 2.1


@pytest.mark.parametrize('target', ['fci', 'mujoco'])
def test_a_driver_that_repeats_every_state_stops_nothing(target):
    kept = []

    def passed(reading):
        kept.append(reading)
        last = kept[(len(kept) - 1) // 2 * 2]
        return replace(reading, position=last.position, velocity=last.velocity)

    simulation = CARRIED if target == 'fci' else {'friction': True}
    loop = applied_loop(Settings(target=target, **HALF), passed, **simulation).run(0.5)
    loop.controller.follow(HOME + [STILL, [0.3] * 7], [0.0, 1.0])
    loop.run(1.5)
    assert loop.controller.state is State.RUNNING, loop.controller.status
    assert loop.fastest < 0.7


@pytest.mark.parametrize('applied', [False, True])
def test_an_arm_at_rest_whose_states_repeat_stays_running(applied):
    held = core(Settings(target='mujoco', **FIRM), applied_when_silent=applied)
    sent_at_rest(held, 3000, begin=0.0)
    assert held.state is State.RUNNING
    held.stop('test', Stop.HOLD)
    sent_at_rest(held, 2000, begin=3.0)
    assert held.state is State.HOLDING


@pytest.mark.parametrize('set_back_s', [0.0, 50.0])
def test_states_frozen_since_a_clock_was_set_back_end_torques(set_back_s):
    held = core(Settings(target='mujoco', **FIRM))
    sent_at_rest(held, 100, begin=100.0)
    begin = 100.1 - set_back_s
    sent_at_rest(held, 100, begin=begin)
    assert held.state is State.RUNNING
    held.follow(HOME + [STILL, [0.3] * 7], [0.0, 1.0])
    sent_at_rest(held, 200, begin=begin + 0.1)
    assert held.ending.first_reason.code is ReasonCode.FROZEN_POSITIONS


def test_a_joint_that_sticks_under_steady_torque_stays_running():
    held = core(Settings(target='mujoco', **HALF))
    for k in range(1000):
        held.step(HOME, STILL, 1e-3 * k)
        if k == 400:
            held.follow(HOME + [STILL, 0.005 * np.eye(7)[6]], [0.0, 0.5])
    assert held.state is State.RUNNING, held.status


def test_after_an_unusable_state_the_rate_counts_from_its_torque():
    loop = core(MUJOCO, **LOOP)
    turned = HOME + 0.5 * np.eye(7)[1]
    sent_at_rest(loop, 100, begin=6.0)
    states = (
        (HOME, 1.0),
        (turned, 5.0),
        (turned + 1e-7, 5.001),
    )  # the clock was set back
    states += (np.nan * turned, 5.0015), (turned, 5.002)
    torques = [loop.step(q, STILL, stamp) for q, stamp in states]
    steps = np.abs(np.diff(torques[-3:], axis=0)).max(axis=1)
    np.testing.assert_allclose(steps, 0.5, rtol=0.0, atol=1e-9)  # 1,000 N m/s in 0.5 ms


@pytest.mark.parametrize('is_reset', [True, False])
def test_a_motion_before_the_clock_was_set_back_allows_no_speed(is_reset):
    stopped = []
    for moved in (False, True):
        loop = core(Settings(target='mujoco', **HALF), **LOOP)
        for k in range(400 if moved else 0):
            loop.step(HOME + 1e-6 * (k % 2), STILL, 100.0 + 1e-3 * k)
            if k == 100:
                loop.follow(HOME + np.outer([0.0, 0.05], np.eye(7)[0]), [0.1, 1.0])
        if is_reset:
            loop.reset()
        loop.blocked = 'the user waits'
        q = HOME.copy()
        speed = 0.0
        k = 0
        while not loop.faulty and speed < 3.0:
            speed = max(0.0, 2e-3 * (k - 50))
            k = k + 1
            q = q + 1e-3 * speed * np.eye(7)[0]
            loop.step(q + 1e-6 * (k % 2), speed * np.eye(7)[0], 1e-3 * k)
        stopped.append(speed)
    assert stopped[0] < 0.7 * FER.limit('velocity')[0]
    assert stopped[1] == pytest.approx(stopped[0], abs=0.05)


@pytest.mark.parametrize('age', [np.inf, -np.inf])
def test_states_of_infinite_age_cannot_be_used(age):
    node = Feedforward(FER, 'mujoco', limits=StateLimits(max_state_age=np.inf))
    for k in range(30):
        node.step(HOME + 1e-7 * (k % 2), STILL, 1e-3 * k, age=age)
    assert node.state is State.SILENT and 'inf ms' in node.why


BAD = (10**400, 'x', [0.0, 1.0], 1.0 + 2.0j, object())
# None is none in the other arguments, where numbers that are not finite are unusable states.
CASES = [(name, bad) for name in ('time', 'now', 'age', 'tick', 'q', 'effort') for bad in BAD]
CASES += [(name, None) for name in ('time', 'tick', 'q')]
CASES += [('q', np.zeros(6)), ('q', np.zeros((1, 7))), ('q', 0.0)]
CASES += [(name, bad) for name in ('time', 'now') for bad in (np.inf, np.nan)]


@pytest.mark.parametrize(('name', 'bad'), CASES)
def test_a_wrong_type_is_refused_and_changes_nothing(name, bad):
    loop = Feedforward(load('fr3'), 'mujoco', limits=StateLimits(max_state_age=0.0))
    home = np.array(loop.description.home)
    before = sent_at_rest(loop, 30, q=home, begin=0.0)[-1]
    state = {'q': home, 'dq': np.zeros(7), 'time': 0.03}
    with pytest.raises(JointVectorError, match=name if name != 'tick' else 'now'):
        loop.tick(bad) if name == 'tick' else loop.step(**state | {name: bad})
    after = sent_at_rest(loop, 30, q=home, begin=0.03)[-1]
    assert loop.state is State.RUNNING and loop.counts['stops'] == 0
    np.testing.assert_array_equal(after, before)


@pytest.mark.parametrize('applied', [False, True])
@pytest.mark.parametrize('target', ['fci', 'mujoco'])
def test_a_stop_of_a_joint_without_limits_sends_no_nan(target, applied):
    endless = [replace(joint, limits=JointLimits()) for joint in FER.joints]
    loop = Feedforward(replace(FER, joints=endless), target, applied_when_silent=applied)
    for k in range(1, 101):
        dq, age = (0.0, 0.0) if k < 50 else (1e308, 1.0)  # impossible, and too old
        with np.errstate(all='ignore'):
            torques = (
                loop.step(HOME, np.full(7, dq), 1e-3 * k, age=age),
                loop.tick(1e-3 * k),
            )
        assert np.isfinite(torques).all()
        assert k != 49 or loop.state is State.RUNNING


def test_a_silent_loop_sends_no_torque_that_is_not_finite():
    loop = core(MUJOCO, **LOOP)
    for k in range(1, 101):
        if k == 50:
            loop.stop('a user')
        if loop.state is State.SILENT and k > 50:
            loop.acting_terms.gravity = lambda q: np.full(7, np.nan)
        assert np.isfinite(loop.step(HOME, STILL, 1e-3 * k)).all()
    assert loop.state is State.SILENT


@pytest.mark.parametrize('target', ['mujoco', 'fci'])
def test_positions_that_stand_still_before_a_start_are_named(target):
    loop = Feedforward(FER, target)
    for k in range(300):
        loop.step(HOME, 0.2 * np.eye(7)[0], 1e-3 * k)
    assert loop.state is State.SILENT
    assert loop.ending.last_reason.code is ReasonCode.FROZEN_POSITIONS


def test_stamps_that_hardly_differ_do_not_raise():
    loop = Feedforward(FER, 'mujoco')
    for stamp in (0.0, 1e-320):
        assert np.isfinite(loop.step(HOME, STILL, stamp, age=0.01)).all()


def test_a_refused_step_leaves_no_torque_of_its_own():
    loop = Feedforward(FER, 'mujoco')
    with pytest.raises(JointVectorError, match='degrees'):
        loop.step(np.rad2deg(HOME), STILL, 0.0, torque=STILL)
    loop.change(kp=1.0, kd=0.05)
    assert loop.settings.kp == 1.0


@pytest.mark.parametrize('timeout', [np.inf, np.nan, 0.0, -1.0])
def test_a_timeout_that_never_comes_is_refused(timeout):
    with pytest.raises(SettingsError, match='state_timeout'):
        StateLimits(state_timeout=timeout)


def test_an_arm_with_a_joint_that_moves_no_mass_is_braked():
    links = (*FER.links[:-1], LinkInertia(0.0, np.zeros(3), np.zeros((3, 3))))
    arm = replace(FER, links=links, friction=None)
    assert fd.Model(arm).mass_matrix(HOME)[6, 6] == 0.0
    loop = Feedforward(arm, 'mujoco')
    sent_at_rest(loop, 30, begin=0.0)
    assert loop.state is State.RUNNING
    loop.stop('a user')
    speed = 0.1 * np.eye(7)[1]
    torque = loop.step(HOME + 1e-4 * speed, speed, 0.03)
    assert loop.state is State.BRAKING and np.isfinite(torque).all()
