# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The torque receiver on simulated arms: silent senders, two senders, wrong torques."""

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.control.limits import MAX_STEP_S, MIN_STATE_PERIOD_S
from franka_dynamics.control.settings import Settings
from franka_dynamics.control.stopping import BRAKING_TIME_CONSTANT_S
from franka_dynamics.control.terms import MAX_REST_SPEED_RAD_S
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.errors import SettingsError
from franka_dynamics.simulation.receiver import (
    ReceiverState,
    TorqueReceiver,
    TorqueRefusal,
)

from ..agreement import refuses
from ..control.closed_loop import FER, GRAVITY, KD, KP, Loop, STILL

TIMEOUT_S = 0.05
LARGEST_STEP = 1.0 + 1e-9  # [N m] per cycle: 1000 N m/s
LIMIT = FER.limit('effort')
OTHER = TorqueRefusal.OTHER_PUBLISHER
# Torques by joint that the receiver in C++ refuses as well (test/cpp_package/test_core.py).
BEYOND = (
    {0: LIMIT[0] + 1e-9},
    {6: -1e308},
    {3: np.nan},
    {3: np.inf},
    {6: -LIMIT[6] - 1e-9},
)


class Received(Loop):
    """A controller and a simulated arm with a receiver between them."""

    def __init__(self, settings, **simulation):
        super().__init__(settings, **simulation)
        self.receiver = TorqueReceiver(FER, settings, TIMEOUT_S)
        self.sending = True
        self.number = 0
        self.applied = [np.zeros(7)]
        step = self.arm.step

        def receive(command, *, is_new):
            reading = self.arm.read()
            is_new = is_new and self.sending
            if is_new:
                self.number += 1
                self.receiver.accept(command, self.number)
            applied = self.receiver.step(reading.time, reading.position, reading.velocity)
            self.applied.append(applied)
            step(applied, is_new=is_new)

        self.arm.step = receive

    @property
    def largest_step(self):
        return np.abs(np.diff(self.applied, axis=0)).max()


def in_motion(target):
    """Return the loop of a controller and a moving arm of a target."""
    settings = Settings(target=target, kp=KP, kd=KD)
    loop = Received(settings, gravity_compensation=target == 'fci').run(0.3).swing()
    assert loop.receiver.state is ReceiverState.FOLLOWING
    return loop


def receiver_of(target):
    return TorqueReceiver(FER, Settings(target=target), TIMEOUT_S)


def fci_receiver():
    return receiver_of('fci')


def played(receiver, states, sent=lambda k: (), stamp=lambda k: 1e-3 * k, dq=lambda k: STILL):
    """
    Give a receiver states of an arm at home, and after state k the torques sent(k).

    These are pairs of torques, or one for all joints, and a number. Returns the applied torques,
    and for each state the answers to its torques.
    """
    applied = []
    answers = []
    for k in range(states):
        applied.append(receiver.step(stamp(k), FER.home, dq(k)))
        answers.append([receiver.accept(np.full(7, torque), n) for torque, n in sent(k)])
    return np.array(applied), answers


@pytest.mark.parametrize('target', ['mujoco', 'fci'])
def test_a_moving_arm_whose_sender_is_killed_comes_to_rest(target):
    loop = in_motion(target)
    loop.sending = False
    loop.run(TIMEOUT_S - 3.0 * MAX_STEP_S)
    assert loop.receiver.state is ReceiverState.FOLLOWING
    loop.run(6.0 * MAX_STEP_S)
    assert loop.receiver.state is ReceiverState.BRAKING
    while loop.receiver.state is ReceiverState.BRAKING:
        loop.run(MAX_STEP_S)
        assert loop.arm.time < 30.0
    assert loop.speed < 1.5 * MAX_REST_SPEED_RAD_S
    # What remains of the speed decays with braking's time constant.
    stands_at = loop.arm.position
    moves_by = 1.1 * loop.speed * BRAKING_TIME_CONSTANT_S
    loop.run(1.0)
    assert loop.largest_step <= LARGEST_STEP and loop.receiver.timeout_count == 1
    if target == 'fci':
        assert loop.receiver.state is ReceiverState.STOPPED
        np.testing.assert_array_equal(loop.applied[-1], np.zeros(7))
    else:
        assert loop.receiver.state is ReceiverState.HOLDING
        np.testing.assert_allclose(loop.arm.position, stands_at, rtol=0, atol=moves_by)
        gravity = NewtonEulerModel(FER).gravity(loop.arm.position)
        np.testing.assert_allclose(loop.applied[-1], gravity, rtol=0, atol=1e-9)


def test_a_restarted_sender_is_followed_without_a_step():
    loop = in_motion('mujoco')
    loop.number = 0  # a restarted sender numbers its messages from 1
    loop.run(TIMEOUT_S)
    assert loop.receiver.refusal_counts[TorqueRefusal.OTHER_PUBLISHER] > 40
    loop.run(0.2)
    for pause in (0.04, 0.06, 0.5):
        loop.sending = False
        loop.run(pause)
        loop.sending = True
        if pause > 0.1:  # its torques are lost: it let go, and the receiver holds the arm
            assert loop.receiver.state is ReceiverState.HOLDING
            loop.run(0.1).controller.start()
        loop.run(0.1)
        assert loop.receiver.state is ReceiverState.FOLLOWING
    assert loop.receiver.timeout_count == 3  # 0.04 s is shorter than the time-out
    assert loop.largest_step <= LARGEST_STEP


def test_a_second_sender_is_followed_once_the_first_is_silent():
    receiver = fci_receiver()

    def sent(k):
        if k >= 100:
            return [(-5.0, 1 + k)]
        # The numbers of a node that was started later, and of one that was started long before.
        return [(5.0, 500 + k), (-5.0, 1 + k), (-5.0, 9000 + k)]

    applied, answers = played(receiver, 200, sent)
    assert answers[:100] == [[None, OTHER, OTHER]] * 100
    assert answers[100:] == [[OTHER]] * 50 + [[None]] * 50
    np.testing.assert_array_equal(applied[100], np.full(7, 5.0))
    assert receiver.refusal_counts[OTHER] == 250


@pytest.mark.parametrize('ahead', [101, 100, 1, 0, -1, -50, -99])
def test_of_two_senders_with_near_numbers_one_is_refused(ahead):
    receiver = fci_receiver()
    both = lambda k: [(5.0, 200 + k), (-5.0, 200 + k + ahead)][: 1 + (100 <= k)]  # noqa: E731
    applied, answers = played(receiver, 400, both)
    near = 0 < ahead <= TIMEOUT_S / MIN_STATE_PERIOD_S
    followed = [[None, OTHER], [OTHER, None]][near]
    assert all(one == followed for one in answers[102:])
    np.testing.assert_array_equal(applied[-1], np.full(7, -5.0 if near else 5.0))
    assert np.abs(np.diff(applied, axis=0)).max() <= LARGEST_STEP


def test_a_refused_torque_of_another_sender_locks_nobody_out():
    receiver = fci_receiver()
    for k in range(300):
        assert receiver.accept(np.full(7, 5.0), 1 + k) is None
        if k % 48 == 0:
            assert receiver.accept(np.zeros(3), 50 + k) is TorqueRefusal.WRONG_SIZE
        receiver.step(1e-3 * k, FER.home, STILL)


@pytest.mark.parametrize('sent', [20, 60, 99, 500])
def test_a_sender_killed_and_restarted_is_followed_again(sent):
    numbers = [*range(1, sent + 1), *range(1, 201)]
    _, answers = played(fci_receiver(), sent + 200, lambda k: [(5.0, numbers[k])])
    assert answers[:sent] == [[None]] * sent and answers[sent + 60 :] == [[None]] * 140


@pytest.mark.parametrize(
    ('numbers', 'refused'),
    [
        ([*range(1, 101), 100, 101, *range(103, 300)], 1),
        ([*range(1, 100), 101, 100, *range(102, 300)], 1),
        ([*range(1, 100), *range(160, 300)], 0),  # 2 kHz and 30 ms without messages
        (
            np.cumsum(np.random.default_rng(0).integers(1, 40, 500)),
            0,
        ),  # most messages get lost
    ],
)
def test_one_repeated_late_or_lost_message_stops_nothing(numbers, refused):
    receiver = fci_receiver()
    _, answers = played(receiver, len(numbers), lambda k: [(5.0, int(numbers[k]))])
    assert sum(one == [OTHER] for one in answers) == receiver.refusal_counts[OTHER] == refused
    assert receiver.timeout_count == 0 and receiver.state is ReceiverState.FOLLOWING


@pytest.mark.parametrize('target', ['mujoco', 'fci'])
def test_after_one_state_that_is_not_finite_braking_goes_on(target):
    loop = in_motion(target)
    states = []
    step = loop.receiver.step

    def once_nan(stamp, q, dq):
        states.append(loop.receiver.state)
        bad = (states[-1] is ReceiverState.BRAKING) and states.count(ReceiverState.BRAKING) == 20
        return step(stamp, np.full(7, np.nan) if bad else q, dq)

    loop.receiver.step = once_nan
    loop.sending = False
    loop.run(1.0)
    assert ReceiverState.FAULT in states
    end = ReceiverState.HOLDING if target == 'mujoco' else ReceiverState.STOPPED
    assert loop.receiver.state is end and loop.speed < 0.05 and loop.largest_step <= LARGEST_STEP


@pytest.mark.parametrize('stamp', [np.nan, np.inf, -np.inf])
def test_at_a_stamp_that_is_not_finite_no_time_has_passed(stamp):
    receiver = fci_receiver()
    for k in range(100):
        before = receiver.step(1e-3 * k, FER.home, np.zeros(7))
        receiver.accept(np.full(7, 0.1 * k), 1 + k)
        np.testing.assert_array_equal(receiver.step(stamp, FER.home, np.zeros(7)), before)
    assert before[0] > 9.0 and receiver.timeout_count == 0


def test_senders_without_numbers_are_followed_within_the_rate():
    receiver = fci_receiver()
    assert receiver.accept(STILL, 1) is None
    applied, answers = played(receiver, 200, lambda k: [(10.0 if k % 2 else -10.0, None)])
    assert answers == [[None]] * 200 and np.abs(np.diff(applied, axis=0)).max() <= LARGEST_STEP


def test_a_torque_before_the_first_state_is_followed():
    receiver = fci_receiver()
    assert receiver.accept(np.full(7, 2.0), 1) is None
    applied, _ = played(receiver, 100)
    np.testing.assert_array_equal(applied[[40, -1]], [np.full(7, 2.0), STILL])
    assert receiver.timeout_count == 1


@pytest.mark.parametrize(
    ('change', 'refused'),
    [({}, False), ({0: LIMIT[0]}, False), *((one, True) for one in BEYOND)],
)
def test_an_impossible_torque_is_refused_until_the_time_out(change, refused):
    receiver = fci_receiver()
    torque = np.zeros(7)
    receiver.step(0.0, FER.home, np.zeros(7))
    for joint, value in change.items():
        torque[joint] = value
    for given in (torque[:-1], np.append(torque, 0.0), []):
        assert receiver.accept(given, 1) is TorqueRefusal.WRONG_SIZE
    assert receiver.state is ReceiverState.WAITING
    which = TorqueRefusal.OUT_OF_BOUNDS if np.isfinite(torque).all() else TorqueRefusal.NOT_FINITE
    assert receiver.accept(torque, 1) is (which if refused else None)
    assert (receiver.state is ReceiverState.FOLLOWING) is not refused
    if refused:
        receiver.accept(np.full(7, 2.0), 1)
        for k in range(100):
            receiver.step(1e-3 * k, FER.home, np.zeros(7))
            assert receiver.accept(torque, 2 + k) is which
            assert np.abs(receiver.applied_torque).max() <= 2.0
        assert receiver.state is ReceiverState.STOPPED


@pytest.mark.parametrize('target', ['mujoco', 'fci'])
def test_a_dead_senders_arm_is_braked_after_a_clock_set_back(target):
    loop = in_motion(target)
    loop.sending = False
    receiver = loop.receiver
    applied = []
    reading = loop.arm.read()
    # As when a simulation is reset: stamps begin at zero, again and again.
    for k in range(1000):
        stamp = reading.time + 1e-3 * k if k < 5 else 1e-3 * (k % 150)
        applied.append(receiver.step(stamp, reading.position, 0.99**k * reading.velocity))
        if k == int(1e3 * TIMEOUT_S) + 5:
            assert receiver.state is ReceiverState.BRAKING
    assert receiver.timeout_count == 1
    assert receiver.state is (ReceiverState.STOPPED if target == 'fci' else ReceiverState.HOLDING)
    assert np.abs(np.diff(applied, axis=0)).max() <= LARGEST_STEP


@pytest.mark.parametrize('target', ['mujoco', 'fci'])
def test_a_braked_arm_that_something_drives_is_let_go(target):
    receiver = receiver_of(target)
    carried = GRAVITY * (target == 'mujoco')
    # Faster and faster, although it is braked.
    torques = [(carried, None)]

    def dq(k):
        return min(0.01 * k, 5.0) * np.eye(7)[0]

    applied, _ = played(receiver, 600, lambda k: torques * (k == 0), dq=dq)
    assert receiver.state is ReceiverState.FAULT
    np.testing.assert_allclose(applied[-1], carried, rtol=0.0, atol=1e-9)
    played(receiver, 100, stamp=lambda k: 0.6 + 1e-3 * k)
    assert receiver.state is ReceiverState.FAULT
    assert receiver.accept(carried, None) is None and receiver.state is ReceiverState.FOLLOWING


def test_a_pushed_wrist_that_hardly_brakes_is_not_let_go():
    receiver = receiver_of('mujoco')

    def dq(k):
        return min(0.01 * k, 4.0) * np.eye(7)[6]

    played(receiver, 600, lambda k: [(GRAVITY, None)] * (k == 0), dq=dq)
    assert receiver.state is ReceiverState.BRAKING


@pytest.mark.parametrize(
    ('states', 'sent', 'joint', 'speed', 'braked'),
    [
        (600, 1, 0, lambda k: min(0.01 * max(0, k - 200), 2.0), 0.1 * LIMIT[0]),
        (3000, 100, 1, lambda k: 0.1 * (k > 100), 1.0),  # it sinks slowly
    ],
)
def test_a_held_arm_that_something_drives_is_held_on(states, sent, joint, speed, braked):
    receiver = receiver_of('mujoco')
    one = np.eye(7)[joint]
    torques = [(GRAVITY, None)]

    def dq(k):
        return speed(k) * one

    applied, _ = played(receiver, states, lambda k: torques * (k < sent), dq=dq)
    assert receiver.state is ReceiverState.HOLDING and applied[-1][joint] < GRAVITY[joint] - braked


# From state 105 on torques of the dead sender are still applied, from 155 on the arm is braked.
@pytest.mark.parametrize('target', ['mujoco', 'fci'])
@pytest.mark.parametrize('begin', [105, 155, 250])
@pytest.mark.parametrize(
    ('what', 'value'),
    [
        ('q', 3.0),
        ('q', 1e6),
        ('q', np.nan),
        *(('dq', one) for one in (1e6, 1e308, -1e4, np.nan)),
    ],
)
def test_states_that_cannot_be_end_a_dead_senders_torque(target, begin, what, value):
    receiver = receiver_of(target)
    applied = [np.zeros(7)]
    resting = GRAVITY if target == 'mujoco' else STILL
    for k in range(500):
        q = FER.home.copy()
        dq = STILL.copy()
        if k >= begin and (np.isnan(value) or k < 300):
            (q if what == 'q' else dq)[1] = value
        with np.errstate(over='ignore', invalid='ignore'):
            applied.append(receiver.step(1e-3 * k, q, dq))
        if k < 100:
            receiver.accept(resting + 10.0, k)
    if begin < 250 or target == 'mujoco':  # else the receiver had stopped by then
        assert receiver.state is ReceiverState.FAULT and 'fer_joint2' in receiver.state_text
    np.testing.assert_allclose(applied[200:], [resting] * 301, rtol=0.0, atol=1e-9)
    assert np.abs(np.diff(applied, axis=0)).max() <= LARGEST_STEP
    assert receiver.accept(resting, 1) is None and receiver.state is ReceiverState.FOLLOWING


def test_a_reset_clock_ends_a_dead_senders_torque():
    # As the direct Gazebo node does.
    receiver = fci_receiver()
    for k in range(200):
        stamp = 100.0 + 1e-3 * k if k < 100 else 1e-3 * (k - 100)
        if not receiver.is_following(stamp):
            receiver.step(stamp, FER.home, np.zeros(7))
        if k < 100:
            receiver.accept(np.full(7, 5.0), k)
            receiver.step(stamp, FER.home, np.zeros(7))
    assert receiver.timeout_count == 1
    np.testing.assert_array_equal(receiver.applied_torque, np.zeros(7))


def test_late_states_do_not_let_a_living_sender_time_out():
    receiver = fci_receiver()
    stamps = lambda k: 1.0 + 1e-3 * k - (0.03 if k % 2 else 0.0)  # noqa: E731
    played(receiver, 2000, lambda k: [(5.0, k)] * (k % 4 == 0), stamps)
    assert receiver.timeout_count == 0


@pytest.mark.parametrize('timeout', [0.0, -1.0, np.nan, 4e-4])
def test_a_time_out_below_the_time_between_torques_is_refused(timeout):
    with refuses(SettingsError, 'time-out', f'{timeout} s'):
        TorqueReceiver(FER, Settings(target='fci'), timeout)


@pytest.mark.parametrize('name', ['fer', 'fr3'])
def test_whatever_is_sent_the_torque_is_within_limit_and_rate(name):
    arm = load(name)
    receiver = TorqueReceiver(arm, Settings(target='mujoco'), TIMEOUT_S)
    rng = np.random.default_rng(1)
    applied = [np.zeros(7)]
    stamp = 0.0
    for k in range(1500):
        stamp += rng.choice([0.0, 1e-3, 2e-3, -1e-3, 1.0])
        q, dq = rng.uniform(-2.0, 2.0, (2, 7)) * rng.choice([1.0, np.nan], p=[0.9, 0.1])
        if rng.random() < 0.7:
            receiver.accept(rng.uniform(-1.0, 1.0, 7) * arm.limit('effort'), k)
        applied.append(receiver.step(stamp, q, dq))
    assert np.isfinite(applied).all() and (np.abs(applied) <= arm.limit('effort') + 1e-9).all()
    assert np.abs(np.diff(applied, axis=0)).max() <= LARGEST_STEP and receiver.timeout_count > 10


def test_an_arm_held_from_the_beginning_stays_where_it_is():
    receiver = TorqueReceiver(FER, Settings(target='mujoco'), TIMEOUT_S, holding=GRAVITY)
    loop = Loop(brake_release_after=0.0)
    loop.arm.is_braked = False
    for _ in range(1000):
        reading = loop.arm.read()
        loop.arm.step(receiver.step(reading.time, reading.position, reading.velocity))
    assert receiver.state is ReceiverState.HOLDING
    np.testing.assert_allclose(loop.arm.position, FER.home, rtol=0, atol=1e-6)
