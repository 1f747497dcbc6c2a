# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The guards of the control path on simulated arms: first torque, tracking, faults, braking."""

from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.control.braking import Braking, LONGEST_BRAKING_S, REST_SPEED
from franka_dynamics.control.control_law import ControlLaw
from franka_dynamics.control.cycle_result import Mode
from franka_dynamics.control.fault_latch import RESTART_WINDOW_S
from franka_dynamics.control.feedforward import FeedforwardController
from franka_dynamics.control.limits import LimitedTorque, LONGEST_STEP_S
from franka_dynamics.control.multisine import multisine
from franka_dynamics.control.planning import follow_request, plan, TrajectoryRequest
from franka_dynamics.control.possible_motion import Condition
from franka_dynamics.control.reference import ReferencePoint
from franka_dynamics.control.settings import Settings, Terms
from franka_dynamics.control.supervision import SupervisionLimits
from franka_dynamics.control.terms import TermModel
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.errors import ReferenceRefusedError, SettingsError

from .closed_loop import commands_at_rest, FER, KD, KP, Loop, MUJOCO

GRAVITY = NewtonEulerModel(FER).gravity(FER.home)
GAZEBO = Settings(target='gz_ros2_control')


# The first torque. ----------------------------------------------------------------------------


def test_a_braked_arm_is_given_gravity_at_once():
    loop = Loop(MUJOCO).run(0.03)
    np.testing.assert_allclose(loop.published[0], GRAVITY, rtol=0, atol=1e-12)


def test_gravity_beyond_a_limit_begins_at_the_limit():
    heaviest = int(np.argmax(np.abs(GRAVITY)))
    joints = list(FER.joints)
    effort = 0.5 * abs(GRAVITY[heaviest])
    joints[heaviest] = replace(
        joints[heaviest], limits=replace(joints[heaviest].limits, effort=effort)
    )
    controller = FeedforwardController(replace(FER, joints=tuple(joints)), MUJOCO)
    controller.enable()
    commands = commands_at_rest(controller, 50, effort=np.zeros(7))
    assert {torque[heaviest] for torque in commands} == {np.copysign(effort, GRAVITY[heaviest])}


def test_beside_a_receiver_that_holds_a_dead_nodes_torque_a_new_one_begins_there():
    loop = Loop(Settings(target='mujoco', kp=KP, kd=KD), friction=True).run(0.45)
    follow_request(loop.controller, multisine(FER, 3.0, 0.6))
    loop.run(0.85)  # the receiver goes on applying the last torque
    held = loop.command
    assert loop.fastest > 0.5 and np.abs(held).max() > 20.0
    loop.controller = FeedforwardController(FER, loop.controller.settings)
    loop.controller.enable()
    loop.published.clear()
    loop.run(0.03)
    steps = np.diff([held, *loop.published], axis=0)
    assert np.abs(steps).max() <= 1.0 + 1e-9  # the rate limit


def test_an_arm_that_is_moved_by_hand_is_given_no_torque_at_first():
    # The arm carries itself. The efforts show the hand's torque, which nobody commands.
    controller = FeedforwardController(FER, Settings(kp=KP, kd=KD))
    controller.enable()
    speed, model, published = np.array([0.1, 0, 0, 0, 0, 0, 0]), NewtonEulerModel(FER), []
    for stamp in 1e-3 * np.arange(1000, 1040):
        q = FER.home + speed * (stamp - 1.0)
        effort = model.gravity(q) + np.array([6.0, 0, 0, 0, 0, 0, 0]) + 1e-3 * np.sin(stamp)
        command = controller.update(stamp, q, speed, stamp, effort=effort).command
        published += [] if command is None else [command]
    np.testing.assert_array_less(np.abs(published[0]), 1.0 + 1e-9)  # the rate limit


def test_a_falling_arm_is_given_gravity_at_once():
    # Nobody holds the arm, and no effort is measured: only the motion shows the fall.
    loop = Loop(GAZEBO)
    loop.arm.braked = False
    loop.run(0.03)
    fallen = NewtonEulerModel(FER).gravity(loop.arm.position)
    np.testing.assert_allclose(loop.published[0], fallen, rtol=0, atol=0.5)


def test_an_arm_that_shows_nothing_is_ramped_up_to_gravity():
    controller = FeedforwardController(FER, GAZEBO)
    controller.enable()
    commands = commands_at_rest(controller, 300)
    np.testing.assert_allclose(commands[0], 0.0, rtol=0, atol=1e-12)
    steps = np.abs(np.diff(commands, axis=0)).max()
    # g, reached in the 200 cycles of ramp_time.
    assert steps <= 1.01 * np.abs(GRAVITY).max() / 200
    np.testing.assert_allclose(commands[-1], GRAVITY, rtol=0, atol=1e-9)


def test_an_arm_that_its_receiver_carries_is_taken_over_only_if_said_so():
    def first(**controller):
        loop = Loop(MUJOCO, controller=controller, brake_release_after=0.0)
        loop.arm.step(GRAVITY)  # the last torque of a killed node, which the receiver holds
        loop.command = GRAVITY
        return loop.run(0.1)

    refused = first()
    assert refused.published == []
    assert 'or set target to fci or franka_gazebo' in refused.controller.waits_for
    taken = first(held_until_commanded=True)
    np.testing.assert_allclose(
        taken.published, np.tile(GRAVITY, (len(taken.published), 1)), rtol=0, atol=1e-6
    )


@pytest.mark.parametrize('mode', [Mode.BRAKING, Mode.STOPPING])
def test_the_target_stays_while_a_disabled_arm_is_being_stopped(mode):
    loop = Loop().run(0.3)
    moving = np.full(7, 0.5)
    stamp = loop.controller.latest[0]
    for k in range(1, 30):
        q = FER.home + 1e-3 * k * moving
        loop.controller.update(stamp + 1e-3 * k, q, moving, stamp + 1e-3 * k)
    loop.controller.disable('test', brake=mode is Mode.BRAKING)
    # The torque has not returned to g yet, and the arm is not at rest.
    loop.controller.output.last = GRAVITY + 5.0
    assert loop.controller.mode is mode
    with pytest.raises(SettingsError, match='cannot become fci'):
        loop.controller.apply(Settings(target='fci'))


@pytest.mark.parametrize(
    ('settings', 'end'),
    [
        (MUJOCO, GRAVITY),
        (replace(MUJOCO, terms=Terms(gravity=False)), np.zeros(7)),
        (Settings(target='fci', kp=KP, kd=KD), np.zeros(7)),
    ],
)
def test_a_stop_ends_at_gravity_only_where_gravity_was_commanded(settings, end):
    controller = FeedforwardController(FER, settings)
    controller.enable()
    commands_at_rest(controller, 400)
    assert controller.mode is Mode.RUNNING
    controller.disable('test')
    torque = controller.output.last
    while (step := controller.stop_step(1e-3)) is not None:
        torque = step
    assert controller.mode is Mode.SILENT
    assert ('at zero torque' in controller.stop_ends) is not end.any()
    np.testing.assert_allclose(torque, end, rtol=0, atol=1e-9)


# Tracking. ------------------------------------------------------------------------------------


def far_away(q, joint=1, distance=1.0, seconds=1.0):
    goal = np.array(q)
    goal[joint] += distance
    return TrajectoryRequest(
        FER.joint_names, np.array([0.0, seconds]), np.vstack((q, goal)), np.zeros((2, 7))
    )


def test_a_held_arm_is_stopped_when_the_reference_leaves_it():
    # The brakes stay closed, as if somebody held the arm.
    settings = replace(MUJOCO, kp=(20.0,), kd=KD)
    loop = Loop(settings, brake_release_after=60.0).run(0.3)
    follow_request(loop.controller, far_away(FER.home))
    loop.run(2.0)
    assert 'fer_joint2 is 0.2' in loop.controller.fault
    assert loop.controller.holding
    # 20 N m/rad times 0.2 rad, 6 N m s/rad times 1.5 rad/s, and M ddq; without the stop it would
    # be 87 N m.
    assert np.abs(loop.published - GRAVITY).max() < 20.0
    loop.run(1.0)  # latched: the arm is held, and commanding does not restart
    assert loop.controller.holding
    # The held torque still presses against the closed brake: it would move the arm.
    cleared, why = loop.controller.clear_fault()
    assert not cleared
    assert 'the torque that holds fer_joint2 departs by' in why
    loop.arm.braked = False
    loop.run(1.0)
    assert loop.controller.clear_fault() == (
        True,
        'cleared; an active node commands again once states and guard allow it',
    )
    loop.run(0.1)
    assert loop.controller.mode is Mode.RUNNING


def test_the_flange_may_be_watched_as_well():
    settings = replace(MUJOCO, kp=(20.0,), kd=KD, max_flange_error=0.02)
    loop = Loop(settings, brake_release_after=60.0).run(0.3)
    follow_request(loop.controller, far_away(FER.home))
    loop.run(1.0)
    assert 'the flange is 0.02' in loop.controller.fault


GOAL = FER.home + [0, 1.0, 0, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ('stream_period', 'times', 'positions', 'sentence'),
    [
        (0.0, (0.0, 1.0), (GOAL, GOAL + 0.1), '1 rad from where fer_joint2'),
        # A motion that leads there from the desired position would begin with the same step.
        (0.0, (1.0,), (GOAL,), 'fer_joint2 stands 1 rad from where it is d'),
        (0.05, (0.0,), (GOAL,), '1 rad from where fer_joint2'),
    ],
)
def test_a_motion_must_begin_near_the_measured_position(stream_period, times, positions, sentence):
    settings = replace(MUJOCO, kp=(5.0,), max_tracking_error=(0.0,), stream_period=stream_period)
    loop = Loop(settings, brake_release_after=60.0).run(0.3)
    follow_request(loop.controller, far_away(FER.home))
    loop.run(1.1)
    # The desired position is 1 rad from the arm; a motion that begins there would be a step.
    request = TrajectoryRequest(FER.joint_names, np.array(times), np.array(positions))
    with pytest.raises(ReferenceRefusedError, match=sentence):
        follow_request(loop.controller, request)


def test_astray_is_what_is_no_number_or_over_its_bound_which_is_another_number():
    law = ControlLaw(FER, replace(MUJOCO, max_tracking_error=(0.0,)))
    assert law.astray(FER.home, FER.home + 3.0) == ''
    assert 'fer_joint1 is nan rad from' in law.astray(FER.home, np.full(7, np.nan))
    law = ControlLaw(FER, replace(MUJOCO, max_tracking_error=(0.5,), max_flange_error=0.0))
    sentence = law.astray(FER.home + 0.5004 * np.eye(7)[1], FER.home)
    assert 'fer_joint2 is 0.5004 rad from' in sentence and '(0.5000)' in sentence


def test_a_motion_planned_before_a_stop_is_not_followed_after_it():
    loop = Loop(replace(MUJOCO, kp=KP, kd=KD)).run(0.3)
    request = far_away(FER.home, distance=0.1)
    stamp, q, _ = loop.controller.latest
    planned = plan(request, FER, stamp, ReferencePoint.at_rest(q))
    loop.controller.disable('test')
    loop.controller.follow(planned)
    assert not loop.controller.reference.active
    # This reason is given first, whatever else is wrong with the request.
    with pytest.raises(ReferenceRefusedError, match=r'No torque is being commanded.*test'):
        follow_request(loop.controller, far_away(FER.home + 1.0, distance=0.1))


# Faults. --------------------------------------------------------------------------------------


def running(**supervision):
    controller = FeedforwardController(
        FER,
        Settings(target='fci'),
        SupervisionLimits(max_state_age=0.0, recovery_samples=5, **supervision),
    )
    controller.enable()
    return feed(controller, 0.0, 30)


def feed(controller, start, count, q=FER.home):
    for k in range(count):
        now = start + 1e-3 * k
        controller.update(10.0 + now, q, np.zeros(7), now)
        controller.stop_step(LONGEST_STEP_S)
    return controller


@pytest.mark.parametrize(
    ('q', 'condition'),
    [
        (np.full(7, np.nan), Condition.NOT_FINITE),
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


def test_a_stream_that_breaks_again_and_again_is_latched():
    controller = running(max_restarts=3)
    for k in range(1, 4):
        feed(controller, k * 1.0, 200)  # a gap of 0.8 s, then good states
        assert controller.mode is Mode.RUNNING
        assert controller.faults.restarts == k
    feed(controller, 5.0, 200)
    assert 'stopped 4 times within 60 s, the last time because stale' in controller.fault
    feed(controller, 5.2, 500)
    assert controller.mode is Mode.SILENT


def test_breaks_that_are_far_apart_are_not_added_up():
    controller = running(max_restarts=1)
    for k in range(1, 4):
        feed(controller, k * (RESTART_WINDOW_S + 1.0), 200)
    assert controller.mode is Mode.RUNNING
    assert controller.faults.restarts == 3


@pytest.mark.parametrize(
    ('owner', 'method', 'answer', 'sentence'),
    [
        ('law', 'feedforward', np.full(7, np.nan), 'the computed torque is not finite'),
        ('output', 'glide', np.full(7, np.inf), 'the limited torque is not finite'),
    ],
)
def test_a_torque_that_is_not_finite_is_not_published(
    monkeypatch, owner, method, answer, sentence
):
    controller = running()
    assert controller.mode is Mode.RUNNING
    monkeypatch.setattr(getattr(controller, owner), method, lambda *_: answer)
    # Like the limiter of an arm without torque limits, which lets an infinity through.
    monkeypatch.setattr(
        controller.output, 'limited', lambda _, desired: LimitedTorque(desired, desired, desired)
    )
    cycle = controller.update(10.03, FER.home, np.zeros(7), 0.03)
    assert cycle.command is None
    assert controller.mode is Mode.STOPPING
    assert controller.stop_reason == sentence


def test_velocity_without_motion_is_found_while_torque_is_small():
    settings = Settings(target='fci', kd=(5.0,))
    controller = FeedforwardController(FER, settings)
    controller.enable()
    feed(controller, 0.0, 300)
    largest = 0.0
    for k in range(100):
        cycle = controller.update(10.3 + 1e-3 * k, FER.home, np.full(7, 4.3), 0.3 + 1e-3 * k)
        if cycle.command is not None:
            largest = max(largest, float(np.abs(cycle.command).max()))
    assert controller.fault
    # Ten states at 1000 N m/s. Without the check, 21.5 N m were commanded for ever.
    assert largest <= 11.0


def test_states_of_two_arms_that_alternate_are_told_apart():
    controller = running()
    for k in range(40):
        q = FER.home + (4.5e-3 if k % 2 else -4.5e-3)
        controller.update(10.03 + 1e-3 * k, q, np.zeros(7), 0.03 + 1e-3 * k)
    assert 'more than one publisher seems to send' in controller.fault


# Braking. -------------------------------------------------------------------------------------


def moving(name, target='mujoco', **simulation):
    """Return a loop of a shipped arm that moves at 0.5 rad/s."""
    description = load(name)
    settings = Settings(
        target=target, kp=(60.0,) * 4 + (15.0, 15.0, 10.0), kd=(6.0,) * 4 + (0.5, 0.5, 0.05)
    )
    loop = Loop(settings, description=description, **simulation).run(0.3)
    follow_request(loop.controller, multisine(description, 4.0, 0.4))
    speed = 0.0
    while speed < 0.5:
        loop.run(0.01)
        speed = float(np.abs(loop.arm.data.qvel).max())
    return loop


@pytest.mark.parametrize(('name', 'target'), [('fer', 'mujoco'), ('fr3', 'fci')])
def test_a_moving_arm_is_braked_to_rest_before_the_stop(name, target):
    loop = moving(name, target, gravity_compensation=target == 'fci')
    count = len(loop.published)
    before = float(np.abs(loop.arm.data.qvel).max())
    loop.controller.disable('test')
    assert loop.controller.mode is Mode.BRAKING
    while loop.controller.mode is Mode.BRAKING:
        loop.run(LONGEST_STEP_S)
    assert float(np.abs(loop.arm.data.qvel).max()) < 1.5 * REST_SPEED < 0.1 * before
    loop.run(0.3)
    assert loop.controller.mode is Mode.SILENT
    steps = np.abs(np.diff(loop.published[count - 1 :], axis=0)).max()
    assert steps <= 1.0 + 1e-12
    # The remaining speed is drift under feedforward alone; joint 7 of an FR3 without a hand is the
    # lightest and drifts the fastest.
    assert float(np.abs(loop.arm.data.qvel).max()) < 0.25 * before


def test_an_arm_whose_states_are_not_trusted_is_not_braked():
    loop = moving('fer')
    loop.controller.reject(Condition.MISMATCHED, 'test')
    assert loop.controller.mode is Mode.STOPPING


def test_states_that_end_while_braking_end_it():
    loop = moving('fer')
    loop.controller.disable('test')
    loop.run(0.005)
    assert loop.controller.mode is Mode.BRAKING
    loop.controller.check_silence(loop.arm.time + 1.0)
    assert loop.controller.mode is Mode.STOPPING


def test_an_arm_that_is_pushed_on_is_stopped_all_the_same():
    loop = moving('fer')
    loop.controller.disable('test')
    begun = loop.arm.time
    while loop.controller.mode is Mode.BRAKING:
        reading = loop.arm.read()
        # The state goes on moving, whatever is commanded.
        q, dq = reading.position, np.full(7, 0.3)
        loop.arm.data.qvel[:] = dq
        loop.controller.update(reading.time, q, dq, reading.time, effort=reading.effort)
        loop.arm.step(loop.command)
        assert loop.arm.time < begun + 2.0 * LONGEST_BRAKING_S
    assert loop.controller.mode is Mode.STOPPING


def test_a_moving_arm_whose_topic_becomes_slow_is_braked():
    # Earlier, such an arm got no torque any more in full motion, and coasted on.
    settings = Settings(target='fci', kp=(60.0,) * 4 + (15.0,) * 3, kd=(6.0,) * 4 + (1.0,) * 3)
    loop = Loop(settings, gravity_compensation=True).run(0.5)
    follow_request(loop.controller, multisine(FER, 20.0, 0.4))
    while np.abs(loop.arm.read().velocity).max() < 0.4:
        loop.run(0.001)
    fastest = np.abs(loop.arm.read().velocity).max()
    controller = loop.controller
    for k in range(2500):
        reading, torque = loop.arm.read(), None
        if k % 6 == 0:
            state = (reading.time, reading.position, reading.velocity, reading.time)
            torque = controller.update(*state, effort=reading.effort).command
        if torque is None:
            torque = controller.stop_step(LONGEST_STEP_S)
        if torque is not None:
            loop.command = torque
        loop.arm.step(loop.command, fresh=torque is not None)
        fastest = max(fastest, np.abs(reading.velocity).max())
        if controller.mode is Mode.STOPPING:
            break
    assert 'too_slow' in controller.stop_reason
    assert 'not braked to rest' not in controller.stop_reason
    assert fastest < 1.5
    assert np.abs(loop.arm.read().velocity).max() < 0.1


@pytest.mark.parametrize('speed', [2.0, -2.0])
def test_a_fast_arm_is_braked_by_its_acceleration_limits(speed):
    terms = TermModel(FER, MUJOCO)
    torque = Braking(FER).torque(terms.at(0.0, FER.home, np.full(7, speed), None), terms)
    expected = NewtonEulerModel(FER).mass_matrix(FER.home) @ FER.limit('acceleration')
    np.testing.assert_allclose(torque, -np.sign(speed) * expected, rtol=0, atol=1e-9)


def test_a_brake_under_which_the_arm_gains_energy_is_given_up():
    braking, terms = Braking(FER), TermModel(FER, MUJOCO)
    for k in range(1000):
        dq = np.full(7, 0.3 + 0.005 * k)
        if braking.torque(terms.at(1e-3 * k, FER.home, dq, None), terms) is None:
            break
    assert braking.failure == 'it gains energy'
    assert k < 300
