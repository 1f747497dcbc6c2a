# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""An arm that contradicts the settings gets no torque, or is braked and held."""

from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.control.braking import resting_torque
from franka_dynamics.control.cycle_result import Mode
from franka_dynamics.control.guard import FirstTorque, Guard, GuardLimits
from franka_dynamics.control.guard_replay import learnt, replay_guard
from franka_dynamics.control.settings import Settings
from franka_dynamics.control.terms import TermModel
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.errors import SettingsError
from franka_dynamics.simulation.arm_simulation import Push

from .closed_loop import FER, KD, KP, Loop, MUJOCO

FR3 = load('fr3')
CARRIED = {'gravity_compensation': True, 'friction': True}
FCI = Settings(target='fci', payload_known_to_robot=False, max_payload=6.0)
GENTLE = {'kp': KP, 'kd': KD}
# Stiff enough to hold an arm that presses on a table with the weight of a load.
FIRM = {'kp': (600.0,) * 4 + (150.0, 150.0, 50.0), 'kd': (40.0,) * 4 + (1.5, 1.5, 0.5)}
TWO_KG = Settings(target='mujoco', max_payload=6.0, **FIRM)
NOTHING, EFFORT = np.zeros(7), FER.limit('effort')
GRAVITY = NewtonEulerModel(FER).gravity(FER.home)


def payload(mass):
    return (mass, 0.0, 0.0, 0.1, *[0.003 * mass * one for one in (1.0, 0.0, 0.0, 1.0, 0.0, 1.0)])


def body(mass):
    return Settings(payload=payload(mass)).payload_inertia()


HEAVY = {'payload': payload(3.0)}
# Gravity turned by 30 degrees
TILTED = {'gravity_vector': (9.81 * 0.5, 0.0, -9.81 * np.sqrt(0.75))}
WRONG = [
    (FER, {'target': 'mujoco'}),
    (FR3, {'target': 'gz_ros2_control'}),
    (FR3, HEAVY),
    (FER, TILTED),
]


@pytest.mark.parametrize(('arm', 'wrong'), WRONG)
def test_with_measured_effort_no_torque_is_given_from_the_start(arm, wrong):
    loop = Loop(replace(FCI, **wrong), description=arm, **CARRIED).run(0.5)
    assert loop.published == []
    assert 'before the first torque' in loop.controller.waits_for


@pytest.mark.parametrize(
    ('arm', 'gains', 'wrong'),
    [(FR3, {}, HEAVY), (FER, GENTLE, HEAVY), (FER, {}, TILTED), (FR3, GENTLE, TILTED)],
)
def test_a_setting_made_wrong_while_commanding_has_the_arm_braked_and_held(arm, gains, wrong):
    settings = replace(FCI, **gains)
    loop = Loop(settings, description=arm, **CARRIED).run(0.5)
    assert loop.controller.mode is Mode.RUNNING
    loop.controller.apply(replace(settings, **wrong))
    loop.run(1.0)
    assert 'from what its motion needs' in loop.controller.fault
    assert loop.controller.holding
    # Peak speed with measured effort and an error above 1.5 kg or 20 degrees [rad/s]
    assert loop.fastest < 0.3
    assert loop.speed < 0.02


LOADED = FER.with_payload(body(3.0))  # while the settings declare no load


# `most` is the peak speed; 2.1 rad/s holds for any wrong setting, except for the cases that
# docs/howto/safety.md names. `apart` is how far the held torque may be from gravity's.
@pytest.mark.parametrize(
    ('arm', 'target', 'simulation', 'true', 'most', 'apart'),
    [
        (FR3, 'gz_ros2_control', {'gravity_compensation': True}, None, 2.1, 0.5),
        (FER, 'mujoco', {'gravity_compensation': True}, None, 2.1, 0.5),
        (FER, 'fci', {}, FER, 2.1, 0.5),
        (FER, 'mujoco', {'payload': body(3.0)}, LOADED, 1.4, 3.0),
    ],
)
def test_a_wrong_target_or_load_without_measured_effort_ends_at_rest(
    arm, target, simulation, true, most, apart
):
    settings, others = Settings(target=target), {'description': arm, 'measures': False}
    loop = Loop(settings, friction=True, **others, **simulation).run(1.5)
    assert loop.fastest < most
    assert loop.controller.holding
    # After deactivation the torque that holds the arm remains, not the model's.
    loop.controller.disable('test')
    loop.run(0.5)
    assert loop.controller.mode is Mode.SILENT
    held = NewtonEulerModel(true).gravity(loop.arm.position) if true else NOTHING
    np.testing.assert_allclose(loop.command, held, rtol=0, atol=apart)
    assert loop.speed < 0.3


def test_a_push_is_braked_and_ends_at_rest():
    push = Push((0.0, 30.0, 0.0), 0.8, 1.0)
    loop = Loop(Settings(target='fci', **GENTLE), push=push, **CARRIED).run(2.5)
    # The light wrist reaches 3 rad/s; with PD alone it reached 6.
    assert loop.fastest < 3.2
    assert loop.controller.holding
    assert loop.speed < 0.05


def replacing_effort(loop, effort):
    """Let the arm's readings have the effort that `effort` makes of a reading."""
    read = loop.arm.read
    loop.arm.read = lambda: replace(reading := read(), effort=effort(reading))
    return loop


@pytest.mark.parametrize('effort', [NOTHING * np.nan, NOTHING, GRAVITY])
def test_an_effort_that_is_missing_zero_or_frozen_is_no_measurement_and_stops_nothing(effort):
    loop = Loop(Settings(target='fci', **GENTLE), **CARRIED)
    replacing_effort(loop, lambda _: effort).run(0.5)
    loop.move(3, 0.35)
    loop.run(1.5)
    assert loop.controller.mode is Mode.RUNNING
    assert not loop.controller.guard.measured


@pytest.mark.parametrize(
    ('more', 'seconds', 'until', 'stopped'),
    [(30.0, 0.01, 1.5, False), (12.0, 0.04, 1.5, True), (100.0, 0.01, 1.05, True)],
)
def test_a_short_unexplained_torque_stops_nothing_however_often(more, seconds, until, stopped):
    # Ten short bumps of up to 1.8 times the bound do not stop the arm. A longer one of 1.4 times
    # the bound does, and a short one of 6 times the bound.
    loop = Loop(Settings(target='fci', **GENTLE), **CARRIED).run(0.5)
    bump = more * np.eye(7)[0]
    replacing_effort(loop, lambda one: one.effort + bump * (one.time % 0.1 < seconds))
    loop.run(until - loop.arm.time)
    assert ('from what its motion needs' in loop.controller.fault) == stopped


@pytest.mark.parametrize('by', [-1.2, 1.2])
def test_a_fast_reference_is_followed_either_way(by):
    # The motion reaches 1.9 rad/s; without a reference half of the limit of 2.175 rad/s is
    # allowed.
    loop = Loop(replace(MUJOCO, **FIRM), friction=True).run(0.5)
    loop.move(0, by)
    loop.run(1.5)
    assert loop.fastest > 1.8
    assert loop.controller.fault == ''


def observer_of(target, limits=None):
    terms = TermModel(FER, Settings(target=target))
    guard = Guard(terms, limits)

    def observe(stamp, age=0.0, effort=None):
        guard.observe(terms.at(stamp, FER.home, NOTHING, None), effort, age=age)

    return guard, observe


@pytest.mark.parametrize(('period', 'states'), [(7e-4, 27), (1e-3, 20), (0.01, 20)])
def test_the_guard_settles_after_20_states_and_18_ms(period, states):
    guard, observe = observer_of('fci')
    settled = [observe(period * k) or guard.settled for k in range(30)]
    assert settled.index(True) == states - 1


def test_a_late_state_answers_to_a_command_that_is_older_by_as_much():
    (prompt, observe), (late, observe_late) = observer_of('mujoco'), observer_of('mujoco')
    torques = [GRAVITY + 5.0 * np.sin(0.2 * k) for k in range(405)]
    for torque in torques[:5]:
        late.commanded(torque)
    for k in range(400):  # the lag of the first state is unknown; its effect decays
        prompt.commanded(torques[k])
        late.commanded(torques[k + 5])
        observe(1e-3 * k, effort=torques[k])
        observe_late(1e-3 * k, age=5e-3)
    # A prompt state responds to the latest command.
    np.testing.assert_allclose(prompt.command_residual, prompt.external, rtol=0, atol=1e-9)
    np.testing.assert_allclose(late.command_residual, prompt.command_residual, rtol=0, atol=1e-6)


@pytest.mark.parametrize(('ago', 'measured'), [(1, False), (3, False), (4, True)])
def test_an_effort_equal_to_one_of_the_last_three_commands_is_no_measurement(ago, measured):
    guard, observe = observer_of('fci')
    commands = [np.full(7, 0.1 * k) for k in range(1, 7)]
    for one in commands:
        guard.commanded(one)
    observe(1.0, effort=commands[-ago])
    assert guard.measured == measured


FIRST = 30.0 * np.eye(7)[0]


@pytest.mark.parametrize(
    ('effort', 'command', 'factor', 'named'),
    [
        (GRAVITY, GRAVITY, 1.0, ''),
        (GRAVITY + FIRST, GRAVITY + FIRST, 1.0, 'from what its motion needs'),
        (GRAVITY, GRAVITY + FIRST, 1.0, 'what is commanded and target mujoco adds'),
        (GRAVITY, GRAVITY + FIRST, 2.0, ''),
        (NOTHING * np.nan, GRAVITY, 1.0, 'fer_joint1'),
    ],
)
def test_a_measured_torque_unlike_the_model_or_the_command_stops_the_arm(
    effort, command, factor, named
):
    guard, observe = observer_of('mujoco', GuardLimits(joint_factors=(factor,)))
    guard.begin(0.0, FER.home, moved=True)
    for k in range(100):
        observe(1e-3 * k, effort=effort)
        guard.commanded(command)
        said = guard.judge()
    assert (named in said) if named else said == ''
    assert (not guard.largest.max() <= 1.0) == bool(named)


@pytest.mark.parametrize(
    ('target', 'effort'), [('gz_ros2_control', None), ('mujoco', GRAVITY + 0.1)]
)
def test_after_a_command_gravity_is_not_given_at_once(target, effort):
    # The command explains why the arm rests, as no torque at all explains why an arm falls.
    guard, observe = observer_of(target)
    for k in range(40):
        guard.commanded(GRAVITY)
        observe(1e-3 * k, effort=effort)
    begin = {'braked_until_commanded': False, 'held_until_commanded': False}
    assert guard.first_torque(**begin)[0] is FirstTorque.RAMPED


@pytest.mark.parametrize(
    ('target', 'speed', 'carried', 'more', 'acts'),
    [
        ('mujoco', 0.1, 1.0, 0.0, True),
        ('mujoco', 0.0, 1.0, 0.0, False),
        ('mujoco', 0.1, 1.0, 30.0, False),
        ('fci', 0.1, 0.0, 5.0, False),
    ],
)
def test_only_an_effort_that_explains_a_motion_is_taken_as_the_torque_that_acts(
    target, speed, carried, more, acts
):
    terms, dq = TermModel(FER, Settings(target=target)), np.full(7, speed)
    guard = Guard(terms)
    for k in range(100):
        state = terms.at(1e-3 * k, FER.home + 1e-3 * k * dq, dq, None)
        effort = carried * state.gravity + state.coriolis + more * np.eye(7)[0]
        guard.observe(state, effort)
    np.testing.assert_array_equal(guard.held_torque(), effort * acts)


@pytest.mark.parametrize(('share', 'stopped'), [(1.1, False), (1.2, True)])
def test_no_reference_lets_a_joint_pass_its_limit_by_more_than_15_percent(share, stopped):
    terms = TermModel(FER, MUJOCO)
    guard = Guard(terms)
    guard.begin(0.0, FER.home)
    dq = share * FER.limit('velocity') * np.eye(7)[6]
    for k in range(100):
        q = FER.home + 1e-3 * k * dq
        guard.observe(terms.at(1e-3 * k, q, dq, None), None)
        guard.commanded(terms.gravity(q) + terms.coriolis(q, dq))
        said = guard.judge(dq)
    assert ('fer_joint7 moves at' in said) == stopped
    guard.end()
    assert guard.judge(dq) == ''


def test_friction_is_no_external_torque_of_an_arm_that_moves():
    loop = Loop(Settings(target='fci', **FIRM), **CARRIED).run(0.5)
    loop.move(0, 0.6)
    felt = []
    loop.run(1.5, lambda *_: felt.append(loop.controller.guard.external))
    assert np.abs(felt).max() < 0.01 * FER.friction.torque(loop.fastest * np.ones(7))[0]


# A load that is picked up. ----------------------------------------------------------------------


def test_a_load_declared_before_it_is_taken_stops_nothing():
    loop = Loop(TWO_KG, friction=True).run(1.0)
    loop.controller.apply(replace(TWO_KG, payload=payload(2.0)))
    loop.run(0.3)
    loop.arm.carry(body(2.0))
    loop.run(0.8)
    loop.move(3, 0.35)
    loop.run(1.5)
    assert loop.controller.mode is Mode.RUNNING
    assert loop.fastest < 0.6


def test_a_load_that_is_not_declared_stops_the_arm():
    loop = Loop(replace(MUJOCO, **FIRM), friction=True).run(1.0)
    loop.arm.carry(body(3.0))
    loop.run(0.8)
    assert loop.controller.holding
    assert loop.fastest < 0.7


def test_a_declared_load_that_is_not_taken_within_the_time_stops_the_arm():
    limits = {'guard': GuardLimits(payload_time=0.5)}
    loop = Loop(TWO_KG, friction=True, controller=limits).run(1.2)
    loop.controller.apply(replace(TWO_KG, payload=payload(2.0)))
    loop.run(0.45)
    assert loop.controller.fault == ''
    loop.run(0.5)
    assert loop.controller.holding
    assert loop.fastest < 0.3


def test_an_arm_that_moves_away_slowly_must_carry_its_declared_load():
    # The arm without the load turns at 0.05 rad/s about the vertical, and has turned by 0.03 rad
    # 0.6 s after the load is declared at 0.2 s.
    before, after = (
        TermModel(FER, one) for one in (TWO_KG, replace(TWO_KG, payload=payload(5.0)))
    )
    guard, terms, dq, stopped = Guard(before), before, 0.05 * np.eye(7)[0], []
    guard.begin(0.0, FER.home, moved=True)
    for k in range(1000):
        if k == 200:
            terms = after
            guard.use(terms)
        q = FER.home + 1e-3 * k * dq
        guard.observe(terms.at(1e-3 * k, q, dq, None), None)
        guard.commanded(before.gravity(q))
        stopped += [1e-3 * k] if guard.judge(dq) else []
    assert stopped[0] == pytest.approx(0.8, abs=0.03)


# Where a stop leaves the arm. -------------------------------------------------------------------

LEVER = NewtonEulerModel(FER.with_payload(body(1.0))).gravity(FER.home) - GRAVITY
SIDE = np.array([20.0, 0.0, 20.0, 0.0, 3.0, 0.0, 0.0])


@pytest.mark.parametrize(
    ('held', 'usual', 'loads', 'left'),
    [
        (GRAVITY + 0.5, GRAVITY, (0.0, 6.0), GRAVITY),
        (NOTHING + 0.5, GRAVITY, (0.0, 6.0), NOTHING),  # the receiver carries the arm
        (GRAVITY, NOTHING, (0.0, 6.0), GRAVITY),  # the receiver does not carry the arm
        (GRAVITY + 3.0 * LEVER, GRAVITY, (0.0, 6.0), GRAVITY + 3.0 * LEVER),
        (GRAVITY + SIDE, GRAVITY, (0.0, 6.0), GRAVITY),  # a push from the side
        (-4.0 * LEVER, NOTHING, (0.0, 6.0), NOTHING),  # the arm lies on a table with 4 kg
        (-4.0 * LEVER, NOTHING, None, NOTHING),
        (-4.0 * LEVER, NOTHING, (-5.0, 6.0), -4.0 * LEVER),  # 5 kg are declared, 4 kg are missing
    ],
)
def test_an_arm_is_left_with_what_explains_its_rest(held, usual, loads, left):
    torque = resting_torque(held, usual, (NOTHING, GRAVITY), loads, LEVER, EFFORT)
    np.testing.assert_allclose(torque, left, rtol=0, atol=1e-9)


# Bounds, and recordings of real arms. ------------------------------------------------------------


@pytest.mark.parametrize('factors', [(1.0, 2.0), (0.0,), (float('nan'),), (-1.0,)])
def test_factors_that_fit_no_arm_are_refused(factors):
    with pytest.raises(SettingsError, match=r'guard\.joint_factors'):
        Loop(controller={'guard': GuardLimits(joint_factors=factors)})


def replayed_at_rest(time, unexplained):
    """Replay an arm at rest with an unexplained torque at joint 1, shape (N,) [N m]."""
    q = np.tile(FER.home, (len(time), 1))
    effort = PinocchioModel(FER).gravity(q) + np.outer(unexplained, np.eye(7)[0])
    return replay_guard(FER, time, q, np.zeros_like(q), effort)


def test_a_replay_stops_three_milliseconds_after_four_times_the_bound():
    # The observer is a second-order filter of 120 rad/s with damping 0.71. So a step of 60 N m at
    # joint 1 exceeds four times the bound, 34.8 N m, after 13.5 ms.
    time = np.arange(0.0, 0.6, 1e-3)
    found = replayed_at_rest(time, 60.0 * (time >= 0.5))
    assert found.stopped == pytest.approx(0.5 + 0.0135 + 0.003, abs=1.5e-3)


def test_a_replay_does_not_add_times_beyond_the_bound_before_and_after_a_gap():
    # 20 N m exceed joint 1's bound of 8.7 N m for less than 20 ms on either side of the gap.
    time = np.concatenate((np.arange(0.0, 0.5, 1e-3), np.arange(1.0, 1.4, 1e-3)))
    found = replayed_at_rest(time, 20.0 * ((time >= 0.475) & (time < 1.203)))
    assert found.share[0] > 1.0 and not found.stopped >= 0.0


def replayed(recording):
    return replay_guard(FER, recording.time, recording.q, recording.dq, recording.effort)


def test_the_guard_stops_no_recording_of_a_real_arm_at_30_hz(fer_recording):
    found = replayed(fer_recording)
    assert found.share.max() < 0.6 and not found.stopped >= 0.0
    assert found.watched > 23.0


def test_the_guard_stops_no_fast_motion_of_a_real_arm_at_1_khz(fer_1khz_recording):
    found = replayed(fer_1khz_recording)
    assert found.share.max() < 0.8 and not found.stopped >= 0.0
    factors = learnt(found)
    assert factors[1] == 1.0 == max(factors[i] for i in (0, 2, 3, 4, 5, 6))
