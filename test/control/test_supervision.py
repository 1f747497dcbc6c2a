# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Every fault of a stream of joint states, its condition, and the recovery."""

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.control.possible_motion import Condition, PossibleMotion
from franka_dynamics.control.supervision import StateSupervisor, SupervisionLimits

FER = load('fer')
STEP = 1e-3
LIMITS = SupervisionLimits()
STILL = np.zeros(7)


class Stream:
    """A publisher at 1 kHz and the supervisor that listens to it."""

    def __init__(self, limits=LIMITS, period=STEP):
        self.supervisor = StateSupervisor(FER, limits)
        self.stamp, self.arrival, self.period = 100.0, 5.0, period
        self.q = FER.home.copy()

    def send(self, count=1, *, advance=None, arrive=None, q=None, dq=STILL, age=None):
        for _ in range(count):
            self.stamp += self.period if advance is None else advance
            self.arrival += self.period if arrive is None else arrive
            at = self.q if q is None else q
            observation = self.supervisor.observe(self.stamp, at, dq, self.arrival, age)
        return observation

    def trusted(self):
        assert self.send(LIMITS.recovery_samples + 1).trusted
        return self


def test_states_are_trusted_after_enough_good_ones_in_a_row():
    stream, count = Stream(), LIMITS.recovery_samples
    assert stream.supervisor.condition is Condition.WAITING
    observations = [stream.send(age=1e-3 * k) for k in range(count + 1)]
    assert [one.trusted for one in observations] == [False] * count + [True]
    assert all(one.valid for one in observations)
    assert stream.supervisor.rate == pytest.approx(1000.0, rel=1e-6)
    assert stream.supervisor.typical_age == pytest.approx(1e-3 * (count + 1) / 2, abs=1e-3)


JOINT = np.arange(7) == 4


@pytest.mark.parametrize(
    ('message', 'condition', 'named'),
    [
        (
            {'q': np.where(JOINT, np.nan, FER.home)},
            Condition.NOT_FINITE,
            'fer_joint5 has position nan',
        ),
        (
            {'dq': np.where(JOINT, -np.inf, 0.0)},
            Condition.NOT_FINITE,
            f'fer_joint5 has position {FER.home[4]} and velocity -inf',
        ),
        ({'q': FER.home + 0.05 * JOINT}, Condition.JUMPED, 'fer_joint5 moved 0.05 rad in 0.001 s'),
        ({'advance': -30.0}, Condition.CLOCK_JUMPED, 'back by 30 s'),
        ({'advance': 30.0}, Condition.CLOCK_JUMPED, '30 s ahead'),
        ({'advance': 0.05, 'arrive': 0.05}, Condition.STALE, '50 ms of joint states are'),
        ({'age': 0.2}, Condition.TOO_OLD, 'the stamp is 0.2 s behind this'),
        ({'age': -0.2}, Condition.TOO_OLD, 'the stamp is 0.2 s ahead of this'),
    ],
)
def test_a_message_at_fault_ends_trust_until_enough_good_ones(message, condition, named):
    stream = Stream().trusted()
    assert stream.send(age=0.05).trusted
    observation = stream.send(**message)
    assert (observation.condition, observation.trusted) == (condition, False)
    assert observation.valid == (condition in (Condition.STALE, Condition.TOO_OLD))
    assert named in observation.reason
    assert stream.supervisor.counts[condition] == 1
    if condition is Condition.JUMPED:
        stream.q = message['q']  # the arm stays where it leapt to
    assert not stream.send(LIMITS.recovery_samples - 1).trusted
    assert stream.send(3).trusted


def test_without_max_state_age_a_state_of_any_age_is_trusted():
    assert Stream(SupervisionLimits(max_state_age=0.0)).trusted().send(age=1e9).trusted


def test_the_fastest_legal_motion_stays_trusted():
    stream = Stream().trusted()
    speed = FER.limit('velocity')
    for _ in range(100):
        velocity = speed * np.array([1, 1, 1, 1, 1, -1, 1])
        stream.q = stream.q + velocity * STEP
        assert stream.send(dq=velocity).trusted


def test_no_state_of_a_fast_real_arm_contradicts_the_one_before(fer_1khz_recording):
    one, motion = fer_1khz_recording, PossibleMotion(FER)
    rows = zip(one.q[1:], one.q, one.dq[1:], np.diff(one.time).tolist())
    assert all(motion.unlike(*row) is None for row in rows)


@pytest.mark.parametrize(
    ('advance', 'next_one', 'count'),
    [(0.0, STEP, 'repeated'), (-2.5 * STEP, 3.5 * STEP, 'out_of_order')],
)
def test_one_repeated_or_late_message_is_passed_over_and_trust_stays(advance, next_one, count):
    stream = Stream().trusted()
    assert not stream.send(advance=advance).valid
    assert getattr(stream.supervisor, count) == 1
    assert stream.send(advance=next_one).trusted


def test_a_clock_that_begins_again_is_not_two_publishers():
    # A simulation is restarted before its first second is over.
    stream = Stream().trusted()
    stream.send(advance=-0.9)
    conditions = [stream.send().condition for _ in range(60)]
    assert Condition.CLOCK_JUMPED in conditions
    assert Condition.INTERLEAVED not in conditions
    assert conditions[-1] is Condition.TRUSTED


def test_two_publishers_with_own_clocks_are_told_as_interleaved():
    stream = Stream().trusted()
    conditions = [stream.send(advance=by).condition for by in (-0.0123, 0.0133) * 10]
    assert Condition.INTERLEAVED in conditions
    assert Condition.TRUSTED not in conditions[5:]
    assert stream.send(60).trusted


@pytest.mark.parametrize(
    ('gap', 'announced', 'lost'), [(0.049, True, 0), (0.051, True, 50), (0.049, False, 48)]
)
def test_an_announced_gap_of_at_most_50_ms_is_forgiven_once(gap, announced, lost):
    stream = Stream().trusted()
    if announced:
        stream.supervisor.ignore_next_gap()
    condition = Condition.STALE if lost else Condition.TRUSTED
    assert stream.send(advance=gap, arrive=gap).condition is condition
    assert stream.supervisor.dropped == lost
    assert stream.send(advance=0.049, arrive=0.049).condition is Condition.STALE


def test_silence_since_the_last_new_stamp_makes_the_state_stale():
    stream = Stream().trusted()
    heard = stream.arrival
    stream.send(15, advance=0.0)
    assert stream.supervisor.check_silence(heard + 0.019) is Condition.TRUSTED
    assert stream.supervisor.check_silence(heard + 0.021) is Condition.STALE
    assert 'no new joint state for 21 ms' in stream.supervisor.reason
    assert not stream.send(LIMITS.recovery_samples - 1).trusted
    assert stream.send(3).trusted


@pytest.mark.parametrize('recovery', [LIMITS.recovery_samples, 2])
def test_a_slow_topics_states_are_valid_but_never_trusted(recovery):
    stream = Stream(SupervisionLimits(recovery_samples=recovery), period=1.0 / 30.0)
    observations, turn = [], 0.3 * np.eye(7)[6]
    # The acceleration is at its limit, so that the velocity of one state does not lead to the
    # next.
    for phase in 8.0 * stream.period * np.arange(60):
        stream.q = FER.home + turn * (1.0 - np.cos(phase))
        observations.append(stream.send(dq=8.0 * turn * np.sin(phase)))
    assert all(one.valid and not one.trusted for one in observations)
    assert observations[-1].condition is Condition.TOO_SLOW
    assert '30 Hz' in observations[-1].reason and 'franka/joint_states' in observations[-1].reason
    # Silence is longer than three periods of the topic.
    for periods, condition in ((2.9, Condition.TOO_SLOW), (3.1, Condition.STALE)):
        silent = stream.arrival + periods * stream.period
        assert stream.supervisor.check_silence(silent) is condition


@pytest.mark.parametrize('real_time_factor', [0.02, 5.0])
def test_silence_is_measured_in_simulated_time_at_any_pace(real_time_factor):
    # Silence is checked every 0.02 s of the steady clock; states come every 1 ms of simulated
    # time.
    stream = Stream()
    wall, next_check = STEP / real_time_factor, stream.arrival
    silent_at = stream.supervisor.check_silence
    for _ in range(2000):
        stream.send(arrive=wall, age=1e-4)
        while next_check < stream.arrival + wall:  # until the next state comes
            passed = max(0.0, next_check - stream.arrival) * real_time_factor
            condition = silent_at(next_check, stream.stamp + 1e-4 + passed)
            assert condition in (Condition.ACQUIRING, Condition.TRUSTED)
            next_check += 0.02
    assert stream.supervisor.counts[Condition.STALE] == 0
    # Now states cease, simulated time stands still, then goes on.
    clock = stream.stamp + 1e-4
    assert silent_at(stream.arrival + 1e3, clock) is Condition.TRUSTED
    assert silent_at(stream.arrival + 1e3, clock + 0.019) is Condition.TRUSTED
    assert silent_at(stream.arrival, clock + 0.021) is Condition.STALE
    assert '21 ms of simulated time' in stream.supervisor.reason


def test_after_the_simulated_clock_is_set_back_silence_is_counted_from_there():
    stream = Stream().trusted()
    stream.send(age=0.0)
    assert stream.supervisor.check_silence(stream.arrival, 0.0) is Condition.TRUSTED
    assert stream.supervisor.check_silence(stream.arrival, 0.021) is Condition.STALE


# Whether ages are delays, the age [s], and the time for which the torque of a state is held [s].
HELD = [
    *((True, 0.0, 0.21), (True, 0.05, 0.105), (True, 0.09, 0.021), (True, 0.099, 3e-3)),
    (False, 0.09, 0.21),
]


@pytest.mark.parametrize(('delays', 'age', 'allowed'), HELD)
def test_the_older_a_delayed_state_the_shorter_its_torque_is_held(delays, age, allowed):
    limits = SupervisionLimits(min_input_rate=50.0, state_timeout=0.21)
    for share, condition in ((0.9, Condition.TRUSTED), (1.1, Condition.STALE)):
        gap, silent, passed = Stream(limits), Stream(limits), share * allowed
        for stream in (gap, silent):
            stream.supervisor.ages_are_delays = delays
            assert stream.send(30, age=age).trusted
        assert gap.send(advance=passed, arrive=passed, age=age).condition is condition
        clock = silent.stamp + age  # when the last state came
        assert silent.supervisor.check_silence(silent.arrival, clock + passed) is condition
    shortened = delays and age > 0.0
    assert (f'after a state {1e3 * age:.0f} ms old' in silent.supervisor.reason) == shortened
