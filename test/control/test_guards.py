# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The guards of the control path on simulated arms: first torque, tracking, faults, braking."""

from dataclasses import replace
import itertools

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.control.braking import Braking, LONGEST_BRAKING_S, REST_SPEED
from franka_dynamics.control.control_law import ControlLaw
from franka_dynamics.control.cycle_result import CycleResult, Mode
from franka_dynamics.control.fault_latch import RESTART_WINDOW_S
from franka_dynamics.control.limits import LimitedTorque, LONGEST_STEP_S
from franka_dynamics.control.possible_motion import Condition
from franka_dynamics.control.settings import Settings, Terms
from franka_dynamics.control.supervision import SupervisionLimits
from franka_dynamics.control.terms import TermModel
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.errors import ReferenceRefusedError, SettingsError

from .closed_loop import commands_at_rest, enabled, FER, KD, KP, limited, Loop, MUJOCO

GRAVITY = NewtonEulerModel(FER).gravity(FER.home)
FCI, GAZEBO = Settings(target='fci'), Settings(target='gz_ros2_control')
STILL = np.zeros(7)


# The first torque. ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('settings', 'braked', 'atol'), [(MUJOCO, True, 1e-12), (GAZEBO, False, 0.5)]
)
def test_a_braked_and_a_falling_arm_are_given_gravity_at_once(settings, braked, atol):
    loop = Loop(settings)
    loop.arm.braked = braked
    loop.run(0.03)
    gravity = NewtonEulerModel(FER).gravity(loop.arm.position)
    np.testing.assert_allclose(loop.published[0], gravity, rtol=0, atol=atol)


def test_gravity_beyond_a_limit_begins_at_the_limit():
    commands = commands_at_rest(enabled(MUJOCO, arm=limited(effort=5.0)), 50, effort=STILL)
    expected = np.tile(np.clip(GRAVITY, -5.0, 5.0), (len(commands), 1))
    np.testing.assert_allclose(commands, expected, rtol=0, atol=1e-12)
    assert len(commands) > 0


def test_beside_a_receiver_that_holds_a_dead_nodes_torque_a_new_one_begins_there():
    loop = Loop(Settings(target='mujoco', kp=KP, kd=KD), friction=True).run(0.45)
    loop.move(1, 1.2)
    held = loop.run(0.8).command  # the receiver goes on applying the last torque
    assert loop.speed > 0.5 and np.abs(held).max() > 20.0
    loop.controller = enabled(loop.controller.settings)
    loop.published.clear()
    loop.run(0.03)
    steps = np.diff([held, *loop.published], axis=0)
    assert np.abs(steps).max() <= 1.0 + 1e-9  # the rate limit


def test_an_arm_that_is_moved_by_hand_is_given_no_torque_at_first():
    # The arm carries itself. The efforts show the hand's torque, which nobody commands.
    controller, model = enabled(Settings(kp=KP, kd=KD)), NewtonEulerModel(FER)
    first, hand, commands = np.eye(7)[0], 6.0 * np.eye(7)[0], []
    for stamp in 1e-3 * np.arange(1000, 1040):
        q = FER.home + 0.1 * first * (stamp - 1.0)
        effort = model.gravity(q) + hand + 1e-3 * np.sin(stamp)
        commands.append(controller.update(stamp, q, 0.1 * first, stamp, effort=effort).command)
    begun = next(command for command in commands if command is not None)
    np.testing.assert_array_less(np.abs(begun), 1.0 + 1e-9)  # the rate limit


def test_an_arm_that_shows_nothing_is_ramped_up_to_gravity():
    commands = commands_at_rest(enabled(GAZEBO), 300)
    np.testing.assert_allclose(commands[0], 0.0, rtol=0, atol=1e-12)
    steps = np.abs(np.diff(commands, axis=0)).max()
    # g, reached in the 200 cycles of ramp_time.
    assert steps <= 1.01 * np.abs(GRAVITY).max() / 200
    np.testing.assert_allclose(commands[-1], GRAVITY, rtol=0, atol=1e-9)


def test_an_arm_that_its_receiver_carries_is_taken_over_only_if_the_settings_say_so():
    def first(**controller):
        loop = Loop(MUJOCO, controller=controller, brake_release_after=0.0)
        loop.arm.step(GRAVITY)  # the last torque of a killed node, which the receiver holds
        loop.command = GRAVITY
        return loop.run(0.1)

    refused = first()
    assert refused.published == []
    assert 'or set target to fci or franka_gazebo' in refused.controller.waits_for
    taken = first(held_until_commanded=True).published
    np.testing.assert_allclose(taken, np.tile(GRAVITY, (len(taken), 1)), rtol=0, atol=1e-6)


@pytest.mark.parametrize('mode', [Mode.BRAKING, Mode.STOPPING])
def test_the_target_stays_while_a_disabled_arm_is_being_stopped(mode):
    loop = Loop().run(0.3)
    loop.controller.latest = (*loop.controller.latest[:2], np.full(7, 0.5))  # the arm moves
    loop.controller.disable('test', brake=mode is Mode.BRAKING)
    assert loop.controller.mode is mode
    with pytest.raises(SettingsError, match='cannot become fci'):
        loop.controller.apply(FCI)


@pytest.mark.parametrize(
    ('settings', 'end'),
    [
        (MUJOCO, GRAVITY),
        (replace(MUJOCO, terms=Terms(gravity=False)), STILL),
        (Settings(target='fci', kp=KP, kd=KD), STILL),
    ],
)
def test_a_stop_ends_at_gravity_only_where_gravity_was_commanded(settings, end):
    controller = enabled(settings)
    commands_at_rest(controller, 400)
    assert controller.mode is Mode.RUNNING
    controller.disable('test')
    while controller.stop_step(1e-3) is not None:
        pass
    assert controller.mode is Mode.SILENT
    assert ('at zero torque' in controller.stop_ends) is not end.any()
    np.testing.assert_allclose(controller.output.last, end, rtol=0, atol=1e-9)


# Tracking. ------------------------------------------------------------------------------------


def weakly_held(kp=20.0, **changes):
    """Return an arm that does not follow a motion, as if somebody held it: its brakes are shut."""
    settings = replace(MUJOCO, kp=(kp,), kd=KD, **changes)
    loop = Loop(settings, brake_release_after=60.0).run(0.3)
    loop.move(1, 1.0, 1.0)
    return loop.run(1.1)


def test_a_held_arm_is_stopped_when_the_reference_leaves_it():
    loop = weakly_held()
    assert 'fer_joint2 is 0.2' in loop.controller.fault
    # 20 N m/rad times 0.2 rad, 6 N m s/rad times 1.5 rad/s, and M ddq; without the stop it would
    # be 87 N m.
    assert np.abs(loop.published - GRAVITY).max() < 20.0
    loop.run(1.0)  # latched: the arm is held, and commanding does not restart
    assert loop.controller.holding
    # The held torque still presses against the closed brake: it would move the arm.
    cleared, why = loop.controller.clear_fault()
    assert not cleared and 'the torque that holds fer_joint2 departs by' in why
    loop.arm.braked = False
    loop.run(1.0)
    said = 'cleared; an active node commands again once states and guard allow it'
    assert loop.controller.clear_fault() == (True, said)
    loop.run(0.1)
    assert loop.controller.mode is Mode.RUNNING


def test_the_flange_may_be_watched_as_well():
    assert 'the flange is 0.02' in weakly_held(max_flange_error=0.02).controller.fault


GOAL = FER.home + np.eye(7)[1]


@pytest.mark.parametrize(
    ('times', 'positions'),
    [
        ((0.0, 1.0), (GOAL, GOAL + 0.1)),
        # A motion that leads there from the desired position would begin with the same step.
        ((1.0,), (GOAL,)),
        (None, GOAL),
    ],
)
def test_a_motion_must_begin_near_the_measured_position(times, positions):
    loop = weakly_held(5.0, max_tracking_error=(0.0,))
    # The desired position is 1 rad from the arm; a motion that begins there would be a step.
    with pytest.raises(ReferenceRefusedError, match='fer_joint2 is 1 rad'):
        loop.controller.follow(positions, times)


def test_a_tracking_error_that_is_nan_or_over_its_bound_is_told_with_different_numbers():
    law = ControlLaw(FER, replace(MUJOCO, max_tracking_error=(0.0,)))
    assert law.astray(FER.home, FER.home + 3.0) == ''
    assert 'fer_joint1 is nan rad from' in law.astray(FER.home, STILL * np.nan)
    law = ControlLaw(FER, replace(MUJOCO, max_tracking_error=(0.5,)))
    sentence = law.astray(FER.home + 0.5004 * np.eye(7)[1], FER.home)
    assert 'fer_joint2 is 0.5004 rad from' in sentence and '(0.5000)' in sentence


def test_a_motion_planned_before_a_stop_is_not_followed_after_it():
    loop = Loop(replace(MUJOCO, kp=KP, kd=KD)).run(0.3)
    loop.controller.disable('test')
    assert not loop.controller.reference.active
    # This reason is given first, whatever else is wrong with the request.
    with pytest.raises(ReferenceRefusedError, match=r'No torque is being commanded.*test'):
        loop.controller.follow([FER.home + 9.0], [1.0])


# Faults. --------------------------------------------------------------------------------------


def running(settings=FCI, **supervision):
    limits = SupervisionLimits(max_state_age=0.0, recovery_samples=5, **supervision)
    return feed(enabled(settings, limits), 0.0, 30)


def feed(controller, start, count, q=FER.home):
    for now in start + 1e-3 * np.arange(count):
        controller.update(10.0 + now, q, STILL, now)
        controller.stop_step(LONGEST_STEP_S)
    return controller


@pytest.mark.parametrize(
    ('q', 'condition'),
    [
        (STILL * np.nan, Condition.NOT_FINITE),
        (np.where(np.arange(7) == 3, 0.5, FER.home), Condition.OUT_OF_RANGE),
        (FER.home + 0.1, Condition.JUMPED),
    ],
)
def test_a_fault_of_the_sensors_is_latched_until_acknowledged(q, condition):
    controller = running()
    feed(controller, 0.03, 1, q)
    feed(controller, 0.04, 200)
    assert controller.fault.startswith(condition.value)
    assert controller.mode is Mode.SILENT
    assert controller.clear_fault()[0]
    feed(controller, 0.5, 100)
    assert controller.mode is Mode.RUNNING


@pytest.mark.parametrize(('most', 'apart'), [(3, 1.0), (1, RESTART_WINDOW_S + 1.0)])
def test_a_stream_that_breaks_too_often_within_a_minute_is_latched(most, apart):
    controller = running(max_restarts=most)
    for k in range(1, 4):
        feed(controller, k * apart, 200)  # a gap, then good states
        assert controller.mode is Mode.RUNNING
        assert controller.faults.restarts == k
    if apart == 1.0:
        feed(controller, 5.0, 700)
        assert 'stopped 4 times within 60 s, the last time because stale' in controller.fault
        assert controller.mode is Mode.SILENT


@pytest.mark.parametrize(
    ('owner', 'method', 'answer', 'which'),
    [('law', 'feedforward', np.nan, 'computed'), ('output', 'glide', np.inf, 'limited')],
)
def test_a_torque_that_is_not_finite_is_not_published(monkeypatch, owner, method, answer, which):
    controller = running()
    assert controller.mode is Mode.RUNNING
    monkeypatch.setattr(getattr(controller, owner), method, lambda *_: np.full(7, answer))
    # Like the limiter of an arm without torque limits, which lets an infinity through.
    monkeypatch.setattr(
        controller.output, 'limited', lambda _, torque: LimitedTorque(*[torque] * 3)
    )
    assert controller.update(10.03, FER.home, STILL, 0.03).command is None
    assert controller.mode is Mode.STOPPING
    assert controller.stop_reason == f'the {which} torque is not finite'


def test_velocity_without_motion_is_found_while_torque_is_small():
    controller = feed(enabled(Settings(target='fci', kd=(5.0,))), 0.0, 300)
    largest = 0.0
    for now in 0.3 + 1e-3 * np.arange(100):
        cycle = controller.update(10.0 + now, FER.home, np.full(7, 4.3), now)
        if cycle.command is not None:
            largest = max(largest, float(np.abs(cycle.command).max()))
    assert controller.fault
    # Ten states at 1000 N m/s. Without the check, 21.5 N m were commanded for ever.
    assert largest <= 11.0


def test_states_of_two_arms_that_alternate_are_told_apart():
    controller = running()
    for k in range(40):
        feed(controller, 0.03 + 1e-3 * k, 1, FER.home + (4.5e-3 if k % 2 else -4.5e-3))
    assert 'more than one publisher seems to send' in controller.fault


# Braking. -------------------------------------------------------------------------------------


def moving(name='fer', target='mujoco'):
    """Return a loop of a shipped arm that moves at 0.5 rad/s."""
    gains = {'kp': (60.0,) * 4 + (15.0, 15.0, 10.0), 'kd': (6.0,) * 4 + (0.5, 0.5, 0.05)}
    carried = target == 'fci'
    settings = Settings(target=target, **gains)
    return Loop(settings, description=load(name), gravity_compensation=carried).run(0.3).swing()


@pytest.mark.parametrize(('name', 'target'), [('fer', 'mujoco'), ('fr3', 'fci')])
def test_a_moving_arm_is_braked_to_rest_before_the_stop(name, target):
    loop = moving(name, target)
    count, before = len(loop.published), loop.speed
    loop.controller.disable('test')
    assert loop.controller.mode is Mode.BRAKING
    while loop.controller.mode is Mode.BRAKING:
        loop.run(LONGEST_STEP_S)
    assert loop.speed < 1.5 * REST_SPEED < 0.1 * before
    loop.run(0.3)
    assert loop.controller.mode is Mode.SILENT
    steps = np.abs(np.diff(loop.published[count - 1 :], axis=0)).max()
    assert steps <= 1.0 + 1e-12
    # The remaining speed is drift under feedforward alone; joint 7 of an FR3 without a hand is the
    # lightest and drifts the fastest.
    assert loop.speed < 0.25 * before


def test_an_arm_whose_states_are_not_trusted_or_cease_is_not_braked():
    loop = moving()
    loop.controller.disable('test')
    loop.run(0.005)
    assert loop.controller.mode is Mode.BRAKING
    loop.controller.check_silence(loop.arm.time + 1.0)
    assert loop.controller.mode is Mode.STOPPING
    loop = moving()
    loop.controller.reject(Condition.MISMATCHED, 'test')
    assert loop.controller.mode is Mode.STOPPING


def test_an_arm_that_is_pushed_on_is_stopped_all_the_same():
    loop = moving()
    loop.controller.disable('test')
    begun, dq = loop.arm.time, np.full(7, 0.3)
    while loop.controller.mode is Mode.BRAKING:
        reading = loop.arm.read()
        # The state goes on moving, whatever is commanded.
        loop.arm.data.qvel[:] = dq
        state = reading.time, reading.position, dq, reading.time
        loop.controller.update(*state, effort=reading.effort)
        loop.arm.step(loop.command)
        assert loop.arm.time < begun + 2.0 * LONGEST_BRAKING_S
    assert loop.controller.mode is Mode.STOPPING


def test_a_moving_arm_whose_topic_becomes_slow_is_braked():
    # Earlier, such an arm got no torque any more in full motion, and coasted on.
    settings = Settings(target='fci', kp=(60.0,) * 4 + (15.0,) * 3, kd=(6.0,) * 4 + (1.0,) * 3)
    loop = Loop(settings, gravity_compensation=True).run(0.5).swing(20.0, 0.4)
    controller, update, nothing = loop.controller, loop.controller.update, CycleResult(None)
    count = itertools.count()  # five of six states do not arrive
    controller.update = lambda *state, **more: (
        nothing if next(count) % 6 else update(*state, **more)
    )
    while controller.mode is not Mode.STOPPING:
        loop.run(LONGEST_STEP_S)
    assert 'too_slow' in controller.stop_reason
    assert 'not braked to rest' not in controller.stop_reason
    assert loop.fastest < 1.5
    assert loop.speed < 0.1


@pytest.mark.parametrize('speed', [2.0, -2.0])
def test_a_fast_arm_is_braked_by_its_acceleration_limits(speed):
    terms = TermModel(FER, MUJOCO)
    torque = Braking(FER).torque(terms.at(0.0, FER.home, np.full(7, speed), None), terms)
    expected = NewtonEulerModel(FER).mass_matrix(FER.home) @ FER.limit('acceleration')
    np.testing.assert_allclose(torque, -np.sign(speed) * expected, rtol=0, atol=1e-9)


def test_a_brake_under_which_the_arm_gains_energy_is_given_up():
    braking, terms = Braking(FER), TermModel(FER, MUJOCO)
    for k in range(300):
        dq = np.full(7, 0.3 + 0.005 * k)
        if braking.torque(terms.at(1e-3 * k, FER.home, dq, None), terms) is None:
            break
    assert braking.failure == 'it gains energy'
