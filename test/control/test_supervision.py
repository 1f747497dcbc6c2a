# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Every fault of a stream of joint states, its condition, and the recovery."""

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.control.possible_motion import Condition
from franka_dynamics.control.supervision import StateSupervisor, SupervisionLimits

FER = load('fer')
STEP = 1e-3
LIMITS = SupervisionLimits()


class Stream:
    """A publisher at 1 kHz and the supervisor that listens to it."""

    def __init__(self, limits=LIMITS, period=STEP):
        self.supervisor = StateSupervisor(FER, limits)
        self.stamp, self.arrival, self.period = 100.0, 5.0, period
        self.q = FER.home.copy()

    def send(self, count=1, *, advance=None, arrive=None, q=None, dq=None, age=None):
        for _ in range(count):
            self.stamp += self.period if advance is None else advance
            self.arrival += self.period if arrive is None else arrive
            observation = self.supervisor.observe(
                self.stamp,
                self.q if q is None else q,
                np.zeros(7) if dq is None else dq,
                self.arrival,
                age,
            )
        return observation

    def trusted(self):
        assert self.send(LIMITS.recovery_samples + 1).trusted
        return self

    def assert_recovers(self):
        """Require that states are trusted again after enough good ones, not before."""
        assert not self.send(LIMITS.recovery_samples - 1).trusted
        assert self.send(3).trusted


def test_states_are_trusted_after_enough_good_ones_in_a_row():
    stream = Stream()
    assert stream.supervisor.condition is Condition.WAITING
    observations = [stream.send() for _ in range(LIMITS.recovery_samples + 1)]
    assert [o.trusted for o in observations] == [False] * LIMITS.recovery_samples + [True]
    assert all(o.valid for o in observations)
    assert stream.supervisor.rate == pytest.approx(1000.0, rel=1e-6)


@pytest.mark.parametrize(('field', 'value'), [('q', np.nan), ('dq', -np.inf)])
def test_a_value_that_is_not_finite_is_named_with_its_joint(field, value):
    stream = Stream().trusted()
    vector = FER.home.copy() if field == 'q' else np.zeros(7)
    vector[4] = value
    observation = stream.send(**{field: vector})
    assert observation.condition is Condition.NOT_FINITE
    assert not observation.valid
    assert 'fer_joint5' in observation.reason and str(value) in observation.reason
    stream.assert_recovers()


def test_a_joint_that_leaps_is_a_jump_and_recovers_where_it_is():
    stream = Stream().trusted()
    stream.q = stream.q + [0, 0, 0.05, 0, 0, 0, 0]
    observation = stream.send()
    assert observation.condition is Condition.JUMPED
    assert 'fer_joint3 moved 0.05 rad in 0.001 s' in observation.reason
    stream.assert_recovers()


def test_the_fastest_legal_motion_stays_trusted():
    stream = Stream().trusted()
    speed = FER.limit('velocity')
    for _ in range(100):
        velocity = speed * np.array([1, 1, 1, 1, 1, -1, 1])
        stream.q = stream.q + velocity * STEP
        assert stream.send(dq=velocity).trusted


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
    conditions = [stream.send(advance=-0.9).condition]
    for _ in range(60):
        conditions.append(stream.send().condition)
    assert Condition.CLOCK_JUMPED in conditions
    assert Condition.INTERLEAVED not in conditions
    assert conditions[-1] is Condition.TRUSTED


def test_two_publishers_with_own_clocks_are_told_as_interleaved():
    stream = Stream().trusted()
    conditions = []
    for _ in range(10):
        conditions.append(stream.send(advance=-0.0123).condition)
        conditions.append(stream.send(advance=0.0133).condition)
    assert Condition.INTERLEAVED in conditions
    assert Condition.TRUSTED not in conditions[5:]
    stream.send(60)
    assert stream.supervisor.condition is Condition.TRUSTED


@pytest.mark.parametrize('leap', [-30.0, 30.0])
def test_stamps_that_leap_are_a_jump_of_the_clock(leap):
    stream = Stream().trusted()
    assert stream.send(advance=leap).condition is Condition.CLOCK_JUMPED
    stream.assert_recovers()


def test_a_gap_makes_the_state_stale_and_counts_the_lost_ones():
    stream = Stream().trusted()
    observation = stream.send(advance=0.05, arrive=0.05)
    assert observation.condition is Condition.STALE
    assert stream.supervisor.dropped == 49
    stream.assert_recovers()


@pytest.mark.parametrize(
    ('gap', 'announced', 'condition'),
    [
        (0.049, True, Condition.TRUSTED),  # a gap of at most 50 ms is forgiven if it was announced
        (0.051, True, Condition.STALE),
        (0.049, False, Condition.STALE),
    ],
)
def test_an_announced_gap_is_forgiven_within_bounds(gap, announced, condition):
    stream = Stream(SupervisionLimits(state_timeout=0.02)).trusted()
    if announced:
        stream.supervisor.ignore_next_gap()
    assert stream.send(advance=gap, arrive=gap).condition is condition
    # The next gap is not forgiven.
    assert stream.send(advance=0.049, arrive=0.049).condition is Condition.STALE


def test_silence_makes_the_state_stale_after_the_timeout():
    stream = Stream().trusted()
    assert stream.supervisor.check_silence(stream.arrival + 0.019) is Condition.TRUSTED
    assert stream.supervisor.check_silence(stream.arrival + 0.021) is Condition.STALE
    assert 'no new joint state for 21 ms' in stream.supervisor.reason
    stream.assert_recovers()


def test_stamps_that_stand_still_make_the_state_stale():
    stream = Stream().trusted()
    stream.send(30, advance=0.0)
    assert stream.supervisor.check_silence(stream.arrival) is Condition.STALE


@pytest.mark.parametrize('recovery', [LIMITS.recovery_samples, 2])
def test_a_slow_topics_states_are_valid_but_never_trusted(recovery):
    stream = Stream(SupervisionLimits(recovery_samples=recovery), period=1.0 / 30.0)
    observations, turn = [], 0.3 * np.eye(7)[6]
    # The acceleration is at its limit, so that the velocity of one state does not lead to the
    # next.
    for phase in 8.0 * stream.period * np.arange(60):
        stream.q = FER.home + turn * (1.0 - np.cos(phase))
        observations.append(stream.send(dq=8.0 * turn * np.sin(phase)))
    assert all(observation.valid for observation in observations)
    assert not any(observation.trusted for observation in observations)
    assert observations[-1].condition is Condition.TOO_SLOW
    assert '30 Hz' in observations[-1].reason
    assert 'franka/joint_states' in observations[-1].reason


@pytest.mark.parametrize(
    ('age', 'expected', 'said'),
    [
        (0.05, Condition.TRUSTED, ''),
        (0.2, Condition.TOO_OLD, 'the stamp is 0.2 s behind this'),
        (-0.2, Condition.TOO_OLD, 'the stamp is 0.2 s ahead of this'),
    ],
)
def test_a_stamp_is_trusted_or_not_by_its_age(age, expected, said):
    observation = Stream().trusted().send(age=age)
    assert observation.condition is expected
    assert said in observation.reason


@pytest.mark.parametrize('real_time_factor', [0.02, 5.0])
def test_silence_is_measured_in_simulated_time_at_any_pace(real_time_factor):
    # Silence is checked every 0.02 s of the steady clock; states come every 1 ms of simulated
    # time.
    stream = Stream()
    wall = STEP / real_time_factor
    next_check = stream.arrival
    for _ in range(2000):
        stream.send(arrive=wall, age=1e-4)
        while next_check < stream.arrival + wall:  # until the next state comes
            passed = max(0.0, next_check - stream.arrival)
            condition = stream.supervisor.check_silence(
                next_check, stream.stamp + 1e-4 + passed * real_time_factor
            )
            assert condition in (Condition.ACQUIRING, Condition.TRUSTED)
            next_check += 0.02
    assert stream.supervisor.counts[Condition.STALE] == 0
    # Now states cease, and simulated time goes on.
    clock = stream.stamp
    assert (
        stream.supervisor.check_silence(stream.arrival + 1e3, clock + 0.019) is Condition.TRUSTED
    )
    assert stream.supervisor.check_silence(stream.arrival, clock + 0.021) is Condition.STALE
    assert '21 ms of simulated time' in stream.supervisor.reason


@pytest.mark.parametrize(('age', 'allowed'), [(0.0, 0.21), (0.05, 0.105), (0.09, 0.021)])
def test_the_older_a_state_the_shorter_its_torque_is_held(age, allowed):
    def stream():
        limits = SupervisionLimits(min_input_rate=50.0, state_timeout=0.21)
        stream = Stream(limits)
        stream.supervisor.ages_are_delays = True
        assert stream.send(30, age=age).trusted
        return stream

    before = stream()
    assert before.send(advance=0.9 * allowed, arrive=0.9 * allowed, age=age).trusted
    after = stream()
    after.send(advance=1.1 * allowed, arrive=1.1 * allowed, age=age)
    assert after.supervisor.condition is Condition.STALE
    silent = stream()
    clock = silent.stamp + age  # when the last state came
    for share, condition in ((0.9, Condition.TRUSTED), (1.1, Condition.STALE)):
        told = silent.supervisor.check_silence(silent.arrival, clock + share * allowed)
        assert told is condition
    assert (f'after a state {1e3 * age:.0f} ms old' in silent.supervisor.reason) == (age > 0.0)


def test_ages_by_another_clock_leave_the_timeout_as_it_is():
    stream = Stream(SupervisionLimits(min_input_rate=50.0, state_timeout=0.21))
    assert stream.send(30, age=0.09).trusted
    assert stream.send(advance=0.2, arrive=0.2, age=0.09).trusted


def test_simulated_time_that_stands_still_is_no_silence():
    stream = Stream().trusted()
    stream.send(age=0.0)
    for wait in (0.1, 1.0, 1000.0):
        assert (
            stream.supervisor.check_silence(stream.arrival + wait, stream.stamp)
            is Condition.TRUSTED
        )
    # After the clock is set back to zero, silence is counted from there.
    assert stream.supervisor.check_silence(stream.arrival, 0.0) is Condition.TRUSTED
    assert stream.supervisor.check_silence(stream.arrival, 0.021) is Condition.STALE
