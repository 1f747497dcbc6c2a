# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""An arm that contradicts the settings gets no torque, or is braked and held."""

from dataclasses import replace
import importlib
from pathlib import Path

import numpy as np
import pytest

import franka_dynamics
from franka_dynamics.arm import JointKind, LinkInertia, load
from franka_dynamics.control import stopping
from franka_dynamics.control.default_gains import low_gains
from franka_dynamics.control.disturbance import MAX_PICK_UP_TIME_S
from franka_dynamics.control.ending import ReasonCode
from franka_dynamics.control.feedforward import State, StateLimits, Stop
from franka_dynamics.control.settings import Settings as Settings
from franka_dynamics.control.state_check import StateCheck
from franka_dynamics.control.state_input import make_sample
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.simulation.arm_simulation import Push
from franka_dynamics.simulation.joint_elasticity import franka_elasticity

from .closed_loop import core, FER, GRAVITY, KD, KP, Loop, MUJOCO, payload

FR3 = load('fr3', hand='franka_hand')
CARRIED = {'gravity_compensation': True, 'friction': True}
FCI = Settings(target='fci', payload_known_to_robot=False)
GENTLE = {'kp': KP, 'kd': KD}
FIRM = {'kp': (600.0,) * 4 + (150.0, 150.0, 50.0), 'kd': (40.0,) * 4 + (1.5, 1.5, 0.5)}
NOTHING = np.zeros(7)
EFFORT = FER.limit('effort')


def body(mass):
    return Settings(payload=payload(mass)).payload_inertia()


HEAVY = {'payload': payload(2.2)}
TILTED = {
    'gravity_vector': (9.81 * 0.5, 0.0, -9.81 * np.sqrt(0.75)),  # by 30 degrees
    'mount_tilt_compensated_by': 'node',
}


@pytest.mark.parametrize(
    ('arm', 'wrong'),
    [
        (FER, {'target': 'mujoco'}),
        (FR3, {'target': 'gz_ros2_control'}),
        (FR3, HEAVY),
        (FER, TILTED),
    ],
)
def test_with_measured_effort_no_torque_is_sent_from_the_start(arm, wrong):
    loop = Loop(replace(FCI, **wrong), description=arm, **CARRIED).run(0.3)
    assert loop.published == [] and 'joint' in loop.controller.why and 'N m' in loop.controller.why


def pushed(force, seconds):
    return {'push': Push((0.0, force, 0.0), 0.4, seconds)}


NO_EFFORT = {'measures': False, 'friction': True}
BARE = {**NO_EFFORT, 'gravity_compensation': True}
LOADED = {**NO_EFFORT, 'payload': body(3.0)}


# The last number is the peak speed [rad/s].
@pytest.mark.parametrize(
    ('arm', 'settings', 'simulation', 'change', 'most'),
    [
        # A setting made wrong, with measured effort.
        (FR3, FCI, CARRIED, HEAVY, 1.5),
        (FER, replace(FCI, **GENTLE), CARRIED, HEAVY, 1.5),
        (FER, FCI, CARRIED, TILTED, 1.5),
        (FR3, replace(FCI, **GENTLE), CARRIED, TILTED, 1.5),
        # A wrong target or load from the start, without measured effort.
        (FR3, Settings(target='gz_ros2_control'), BARE, {}, 2.1),
        (FER, MUJOCO, BARE, {}, 2.1),
        (FER, Settings(target='fci'), NO_EFFORT, {}, 2.1),
        (FER, MUJOCO, LOADED, {}, 1.5),
        # A push: without the guard 2.35 and 2.39 rad/s.
        (FER, replace(FCI, **FIRM), {**CARRIED, **pushed(80.0, 0.5)}, {}, 2.3),
        (FER, replace(FCI, **GENTLE), {**CARRIED, **pushed(40.0, 0.7)}, {}, 2.0),
    ],
)
def test_an_arm_that_contradicts_its_model_is_held_still(arm, settings, simulation, change, most):
    loop = Loop(settings, description=arm, **simulation)
    if change:
        loop.run(0.3)
        assert loop.controller.state is State.RUNNING
        loop.controller.change(**change)
    # Gentle gains take a second to bear the wrong gravity torque.
    loop.until(State.HOLDING, 2.5).run(1.0 if 'push' in simulation else 0.5)
    assert loop.controller.state is State.HOLDING and loop.controller.faulty
    assert loop.fastest < most and loop.speed < 0.05


def test_contact_of_10_newton_stops_nothing():
    loop = Loop(replace(FCI, **FIRM), **CARRIED, **pushed(10.0, 0.5)).run(1.2)
    assert loop.controller.state is State.RUNNING and loop.fastest < 0.5 and loop.speed < 0.05


def replacing_effort(loop, effort):
    """Let the arm's readings have the effort that `effort` makes of a reading."""
    read = loop.arm.read
    loop.arm.read = lambda: replace(reading := read(), effort=effort(reading))
    return loop


@pytest.mark.parametrize('effort', [np.nan, 0.0, -1, -3])
def test_an_effort_missing_or_one_of_late_commands_stops_nothing(effort):
    loop = Loop(Settings(target='fci', **GENTLE), **CARRIED)

    def given(_):
        return ([NOTHING] * 3 + loop.published)[effort] if effort < 0.0 else np.full(7, effort)

    replacing_effort(loop, given).run(0.3)
    loop.move(3, 0.2, 0.7)
    measured = []
    loop.run(0.9, lambda _: measured.append(loop.controller.disturbances.has_effort))
    assert loop.controller.state is State.RUNNING and not any(measured)


@pytest.mark.parametrize('second', [0.0, np.inf, -np.inf])
def test_an_infinite_effort_is_refused_whatever_the_others_are(second):
    controller = core(FCI)
    effort = np.array([np.inf, second, 0.0, 0.0, 0.0, 0.0, 0.0])
    controller.step(FER.home_position, np.zeros(7), 1.0, effort=effort)
    assert controller.states.problem.code is ReasonCode.VALUE_NOT_FINITE


@pytest.mark.parametrize('bumps', [0, 10])
def test_only_a_lasting_unexplained_torque_stops_the_arm(bumps):
    controller = core(FCI, limits=StateLimits(max_state_age=0.0, state_timeout=0.2))
    stamp = 1.0

    def give(gap, more=0.0):
        nonlocal stamp
        stamp += gap
        controller.step(FER.home, NOTHING, stamp, effort=GRAVITY + more * np.eye(7)[0])

    for _ in range(1200):  # longer than brakes may hold the arm
        give(1e-3)
    assert controller.state is State.RUNNING
    for k in range(50 * bumps):  # 12 ms of twice the bound
        give(1e-3, 40.0 * (k % 50 < 12))
    assert controller.state is State.RUNNING
    give(0.1, 40.0)  # one state after a gap
    assert controller.state is State.RUNNING
    for _ in range(25):
        give(1e-3, 40.0)
    assert controller.faulty


def make_late(loop, states):
    """Give the controller the state of `states(k)` cycles ago in the k-th cycle."""
    read = loop.arm.read
    kept = []
    step = loop.controller.step

    def late():
        kept.append(read())
        return kept[-1 - min(len(kept) - 1, states(len(kept)))]

    def aged(q, dq, time, **more):
        now = kept[-1].time
        return step(q, dq, time, age=now - time, now=now, **more)

    loop.arm.read = late
    loop.controller.step = aged


@pytest.mark.parametrize(('share', 'late'), [(7.0, 0), (15.0, 5), (25.0, 0), (25.0, 5)])
def test_a_stop_in_motion_makes_no_joint_faster_with_any_gains(share, late):
    # Firm gains at the limits of torque and rate; states may be some milliseconds old.
    gains = {'kp': tuple(share * EFFORT), 'kd': tuple(0.12 * share * EFFORT)}
    loop = Loop(Settings(target='fci'), controller={'limits': StateLimits()}, **CARRIED)
    make_late(loop, lambda k: late * (k > 950))
    loop.run(0.2).controller.change(**gains)
    loop.run(0.25).controller.follow(FER.home + np.eye(7)[:1], [1.0])
    before = loop.fastest = loop.run(0.5).speed
    assert before > 1.5
    loop.controller.stop('test')
    loop.run(0.5)
    assert loop.fastest < 1.05 * before and loop.speed < 0.1


def test_a_fast_reference_is_followed():
    # The motion reaches 1.9 rad/s; without a reference 0.6 of the limit of 2.175 are allowed.
    loop = Loop(replace(MUJOCO, **FIRM), friction=True).run(0.3)
    loop.move(0, -1.2)
    loop.run(1.3)
    assert loop.fastest > 1.8 and loop.controller.state is State.RUNNING


@pytest.mark.parametrize(('share', 'stopped'), [(0.58, False), (0.65, True)])
def test_without_a_reference_a_joint_over_its_share_is_stopped(share, stopped):
    controller = core(Settings(target='fci'))
    q = np.array(FER.home)
    dq = share * FER.limit('velocity') * np.eye(7)[6]
    for step in range(60):
        speed = dq * min(1.0, max(0.0, (step - 25) / 20))
        q = q + 1e-3 * speed
        # The effort explains the motion, so that only the speed is wrong.
        needed = NewtonEulerModel(FER).inverse_dynamics(q, speed, dq / 0.02 * (25 < step < 45))
        controller.step(q, speed, 1e-3 * step, effort=needed)
    assert controller.faulty == stopped and ('fer_joint7' in controller.why) == stopped


def test_only_a_declared_load_that_is_never_taken_stops():
    # Firm gains hold an arm that presses on a table with the weight of the load.
    box = LinkInertia.from_center_of_mass(3.0, (0.15, 0.0, 0.1), np.zeros(6))
    settings = Settings(target='mujoco', **FIRM)
    for taken in (True, False):
        loop = Loop(settings, friction=True).run(0.3)
        loop.controller.change(payload=box)
        loop.run(0.8)
        assert loop.controller.state is State.RUNNING
        if taken:
            loop.arm.set_payload(box)
            loop.run(MAX_PICK_UP_TIME_S - 0.5)
            assert loop.controller.state is State.RUNNING
        else:
            loop.until(State.HOLDING, MAX_PICK_UP_TIME_S)


def test_an_arm_under_an_unknown_load_rests_without_states():
    loop = Loop(replace(MUJOCO, **GENTLE), friction=True, payload=body(1.0)).run(1.6)
    begin = loop.arm.position
    loop.controller.stop('test', Stop.HOLD)
    loop.run(0.1).tick(500)
    assert np.abs(loop.arm.position - begin).max() < 0.05


def test_a_held_arm_that_is_pushed_stays_held():
    fastest = {}
    for hold in (True, False):
        loop = Loop(Settings(target='fci', **GENTLE), **CARRIED).run(0.3)
        loop.controller.stop('test', Stop.HOLD if hold else Stop.LET_GO)
        loop.run(0.2)
        loop.arm.push = Push((0.0, 80.0, 0.0), loop.arm.time, 0.5)
        loop.run(1.0)
        if hold:
            assert loop.controller.state is State.HOLDING and loop.speed < 0.03
        fastest[hold] = loop.fastest
    assert fastest[True] < 0.5 * fastest[False]


@pytest.mark.parametrize('gains', [{}, {'kp': (60.0,) * 7, 'kd': (10.0,) * 4 + (2.0,) * 3}])
def test_new_gains_do_not_move_an_arm_under_an_unknown_load(gains):
    firm = {
        'kp': (500.0,) * 4 + (100.0, 50.0, 20.0),
        'kd': (40.0,) * 4 + (4.0, 4.0, 1.0),
    }
    loop = Loop(Settings(target='mujoco', **gains), friction=True).run(0.5)
    loop.arm.set_payload(LinkInertia.from_center_of_mass(2.5, (0.1, 0.0, 0.1), np.zeros(6)))
    loop.run(1.0)
    loop.controller.stop('test', Stop.HOLD)
    loop.run(1.0)
    loop.fastest = 0.0
    for changed in (firm, {'kp': (0.0,), 'kd': (0.0,)} | gains):
        loop.controller.change(**changed)
        loop.run(0.5)
    assert loop.controller.state is State.HOLDING
    assert loop.fastest < 0.02  # [rad/s]; a step of the torque moves it at 0.4 to 1.2


def test_a_held_arm_without_its_firm_gains_is_still_damped():
    moved = []
    for gains in (FIRM, {}):
        loop = Loop(Settings(target='fci', **gains), **CARRIED).run(0.5)
        loop.controller.stop('test', Stop.HOLD)
        loop.run(0.2)
        loop.controller.change(kp=(0.0,), kd=(0.0,))
        before = loop.run(0.1).arm.position
        loop.arm.push = Push((0.0, 30.0, 0.0), loop.arm.time, 0.1)
        loop.run(1.0)
        assert loop.speed < 0.03
        moved.append(np.abs(loop.arm.position - before).max())
    assert moved[0] < 1.1 * moved[1]


def test_braking_on_late_states_does_not_drive_a_pushed_arm():
    # Without guard it reaches 1.2 rad/s: the firm gains bear states 8 ms late, so braking has to.
    settings = Settings(kp=(600.0,) * 4 + (250.0, 100.0, 10.0), kd=(50.0,) * 4 + (6.0, 3.0, 0.06))
    push = Push((0.0, 65.0, 0.0), 1.2, 0.3)
    loop = Loop(settings, elasticity=franka_elasticity(FER), push=push, **CARRIED)
    make_late(loop, lambda k: min(8, max(0, (k - 1000) // 2)))
    loop.run(2.2)
    assert loop.controller.faulty and loop.fastest < 1.5


def test_velocities_too_old_do_not_drive_the_arm():
    settings = replace(FCI, kp=(0.0,) * 7, kd=(0.0,) * 7)
    limits = StateLimits(max_state_age=0.1)
    loop = Loop(settings, controller={'limits': limits}, gravity_compensation=True).run(0.3)
    loop.arm.data.qvel[:7] = 0.4 * (np.arange(7) % 2)
    make_late(loop, lambda k: k // 2)
    loop.until(State.SILENT, 1.0)
    assert loop.fastest < 0.5 and loop.speed < 0.1


@pytest.mark.parametrize('rate', [0.03, 3.0])
def test_old_states_leave_no_joint_to_a_kd_that_hardly_damps_it(rate):
    kd = tuple(low_gains(FER, rate)[1])
    core_options = {'limits': StateLimits()}
    arm = {'gravity_compensation': True}
    loop = Loop(Settings(target='fci', kd=kd), controller=core_options, **arm)
    make_late(loop, lambda k: 10)
    loop.run(0.4)
    loop.move(0, 1.0, 1.5)
    loop.run(0.75)
    assert loop.speed > 0.8
    loop.controller.stop('test')
    loop.run(0.8)  # states 10 ms old bear a time constant of 80 ms
    # It has no friction, and is let go below 0.04 rad/s by states that are 10 ms old.
    assert loop.speed < 0.06


def test_a_brake_takes_energy_from_the_first_cycle_on():
    terms = core(MUJOCO).requested_law.terms
    rng = np.random.default_rng(3)
    for _ in range(50):
        q = np.array(FER.home) + rng.normal(0, 0.3, 7)
        dq = rng.normal(0, 0.5, 7)
        brake = stopping.BrakingController(FER)
        torque = brake.torque(terms.terms_at(0.0, q, dq, None), terms, NOTHING, 1e-3)
        acceleration = NewtonEulerModel(FER).forward_dynamics(q, dq, torque)
        wanted = np.clip(-dq / stopping.BRAKING_TIME_CONSTANT_S, -30.0, 30.0)
        np.testing.assert_allclose(acceleration, wanted, rtol=1e-9)


@pytest.mark.parametrize(
    ('taken', 'falls', 'state'),
    [
        (0.4, False, State.RUNNING),
        (2.0, False, State.HOLDING),
        (0.4, True, State.BRAKING),
    ],
)
def test_a_receiver_may_take_the_first_torque_late_on_brakes(taken, falls, state):
    # Given an arm that measures only noise until its receiver takes torques.
    controller = core(replace(MUJOCO, **GENTLE))
    draw = np.random.default_rng(1).normal
    effort = draw(0.0, 0.2, 7)
    speed = NOTHING
    seen = set()
    q = np.array(FER.home)
    for step in range(1500):
        time = 1e-3 * step
        torque = controller.step(q, speed, time, effort=effort)
        seen.add((controller.state, time < taken))
        effort = draw(0.0, 0.2, 7) + (torque if time > taken else 0.0)
        # Without brakes an arm falls that nobody carries.
        speed = np.full(7, 0.03) if falls and controller.state is State.RUNNING else NOTHING
        q = q + 1e-3 * speed
    assert (controller.state is state) or (falls and (state, True) in seen)


@pytest.mark.parametrize(
    ('plant', 'row', 'stops'),
    [
        ('other', 'mujoco, brakes stay closed', False),
        ('other', 'fci, somebody adds g(q)', True),
    ],
)
def test_the_beginning_of_rows_of_the_guards_bench(plant, row, stops, monkeypatch):
    monkeypatch.syspath_prepend(Path(franka_dynamics.__file__).parents[1] / 'benchmarks')
    bench = importlib.import_module('guard_misconfiguration')
    short = replace(bench.cases('fr3')[row], seconds=0.3)
    monkeypatch.setattr(bench, 'cases', lambda family: {row: short})
    _, guarded, free = bench.row((plant, 'fr3', row, True, 'gentle', 7, 1))
    assert not free.stopped and free.torque > 0.0
    assert (bool(guarded.stopped), guarded.peak < free.peak) == (stops, stops)


def test_gravity_of_the_wrong_sign_is_named():
    loop = Loop(replace(MUJOCO, gravity_vector=(0.0, 0.0, 9.81)), **NO_EFFORT).run(0.3)
    assert 'gravity_vector' in loop.controller.why and loop.controller.faulty


def test_reasons_about_a_sliding_joint_are_in_metres():
    arm = load('stanford')
    sliding = [joint.kind for joint in arm.joints].index(JointKind.PRISMATIC)
    checked = StateCheck(arm, StateLimits(), 1e-3)
    home = arm.home_position
    still = np.zeros(arm.n)
    leap = 0.05 * (np.arange(arm.n) == sliding)
    for k, q in enumerate((home, home + leap)):
        sample = make_sample(arm.n, q, still, None, 1e-3 * k, None, None)
        reason = checked.check(sample)
    assert reason.code is ReasonCode.POSITION_LEAP and reason.text_values['unit'] == 'm'
    assert 'rad' not in str(reason).split(';')[0]
