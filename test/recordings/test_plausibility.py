# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Faulty recordings are named with joint and figures; sound ones are not."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.errors import RecordingError
from franka_dynamics.recordings.plausibility import faults, plausibility_warnings

from ..agreement import refuses

FER = load('fer')


@pytest.fixture(scope='module')
def sound(simulate):
    return simulate(FER, friction=FER.friction, noise=0.1)


def test_nothing_is_suspected_in_sound_recordings(sound, fer_recording, fer_1khz_recording):
    # Some files have 0 where no limit is known.
    joints = tuple(replace(one, limits=replace(one.limits, effort=0.0)) for one in FER.joints)
    for recording in (sound, fer_recording, fer_1khz_recording):
        for arm in (FER, load('fer', 'franka_description'), replace(FER, joints=joints)):
            assert plausibility_warnings(recording, arm) == ()


def at(field, joint, value, rows=slice(None)):
    """Return a function that puts a value into a joint's column (from 0), in all or some rows."""

    def edit(recording):
        values = getattr(recording, field).copy()
        values[rows, joint] = value
        return replace(recording, **{field: values})

    return edit


def times(field, factor, joint=slice(None)):
    """Return a function that multiplies the columns of all joints, or of one (from 0)."""

    def edit(recording):
        factors = np.ones(7)
        factors[joint] = factor
        return replace(recording, **{field: factors * getattr(recording, field)})

    return edit


@pytest.mark.parametrize(
    ('change', 'names'),
    [
        (at('effort', 6, 0.0), ('effort of fer_joint7 is 0', '1 of 7')),
        (at('effort', 3, -500.0, 90), ('effort of fer_joint4 is -500', '3.00 s', '87 N m', '(1 ')),
        (times('effort', 1000.0), ('fer_joint2 is beyond 10 times', '--effort-scale', 'mN m')),
        (times('q', 180.0 / np.pi), ('157.3 on fer_joint6', '--position-unit deg')),
        (at('q', 3, 7.0, 90), ('positions reach 7 on fer_joint4', '-0.0698')),
        (at('q', 3, 0.0, 90), ('fer_joint4 jumps by 1.81 rad', '3.00 s', '25 times', '(2 ')),
        (at('q', 2, 0.0), ('velocity of fer_joint3 is 0 times', '1 of 7')),
        (times('dq', -1.0, 4), ('velocity of fer_joint5 is -1 times', '1 of 7')),
    ],
)
def test_what_is_odd_is_told_with_joint_and_figures(sound, change, names):
    first, *others = plausibility_warnings(change(sound), FER)
    assert [name for name in names if name not in first] == [], first
    # Motions of wrong positions are impossible in other ways, too.
    assert not others or first.startswith('positions')


@pytest.mark.parametrize('factor', [100.0, 0.0, -1.0])
def test_a_factor_of_every_velocity_is_told(sound, factor):
    (found,) = faults(times('dq', factor)(sound), FER)
    assert '7 of 7 joints' in found
    told = float(found.partition(' is ')[2].partition(' times')[0])
    assert told == pytest.approx(factor, rel=0.02)


@pytest.mark.parametrize(
    ('stamps', 'velocities', 'told'),
    [(1.25, 1.0, 1.25), (0.8, 1.0, 0.8), (1.0, 1.08, 1.08), (1.25, 0.8, None), (1.03, 1.0, None)],
)
def test_velocities_of_another_time_than_the_positions_are_told(
    fer_1khz_recording, stamps, velocities, told
):
    log = fer_1khz_recording
    since = ((log.stamp_ns - log.stamp_ns[0]) * stamps).astype(np.int64)
    found = faults(replace(log, stamp_ns=log.stamp_ns[0] + since, dq=velocities * log.dq), FER)
    assert len(found) == (told is not None)
    if found:
        figure = float(found[0].partition('velocities are ')[2].partition(' times')[0])
        assert figure == pytest.approx(told, rel=0.02) and '--velocity derived' in found[0]


@pytest.mark.parametrize(('part', 'clipped'), [(0.9, True), (0.995, False)])
def test_an_effort_at_its_extreme_in_a_twentieth_of_the_messages_is_clipped(sound, part, clipped):
    most = np.quantile(np.abs(sound.effort), part, axis=0)
    found = faults(replace(sound, effort=np.clip(sound.effort, -most, most)), FER)
    # All sentences are about clipping, and there are some where efforts are clipped.
    assert bool(found) is clipped and all('clipped' in one for one in found)
    # Rounding alone makes no plateau.
    assert faults(replace(sound, effort=0.2 * np.round(sound.effort / 0.2)), FER) == ()


def test_rounded_stale_and_resting_efforts_are_sound(fer_recording, fer_1khz_recording):
    for log in (fer_recording, fer_1khz_recording):
        for step in (0.05, 0.2, 0.5):
            assert faults(replace(log, effort=step * np.round(log.effort / step)), FER) == ()
        held = np.arange(len(log)) // 20 * 20 if len(log) > 1000 else np.arange(len(log)) // 2 * 2
        assert faults(replace(log, effort=log.effort[held]), FER) == ()
        rest = np.full((200, 7), log.effort.max(axis=0))  # the brakes hold a constant effort
        still = np.zeros((200, 7))
        before = log.stamp_ns[0] + np.arange(-200, 0) * 10**7
        arrays = {'q': still + log.q[0], 'dq': still, 'effort': rest, 'stamp_ns': before}
        rested = {
            name: np.concatenate([rows, getattr(log, name)]) for name, rows in arrays.items()
        }
        assert faults(replace(log, **rested), FER) == ()


@pytest.mark.parametrize('joint', [1, 3, 5])
def test_an_effort_that_freezes_for_a_second_is_found(
    sound, fer_recording, fer_1khz_recording, joint
):
    for log in (sound, fer_recording, fer_1khz_recording):
        effort = log.effort.copy()
        for begin in (4.0, 7.0):
            there = (log.time >= begin) & (log.time < begin + 1.0)
            effort[there, joint] = effort[np.argmax(there), joint]
        found = ' '.join(faults(replace(log, effort=effort), FER))
        assert 'frozen' in found and FER.joint_names[joint] in found


def test_exchanged_velocities_are_found(fer_recording, fer_1khz_recording):
    for log in (fer_recording, fer_1khz_recording):
        for pair in combinations(range(7), 2):
            dq = log.dq.copy()
            dq[:, pair] = dq[:, pair[::-1]]
            (found,) = faults(replace(log, dq=dq), FER)
            assert 'velocit' in found


def test_states_that_stand_still_at_times_are_found(fer_recording, fer_1khz_recording):
    for log in (fer_recording, fer_1khz_recording):
        held = np.where(log.time % 4.0 >= 0.5, np.arange(len(log)), 0)
        held = np.maximum.accumulate(held)
        found, *_ = faults(replace(log, q=log.q[held], dq=log.dq[held]), FER)
        assert 'position' in found and 'frozen' in found


@pytest.mark.parametrize(('wander', 'refused'), [(0.03, False), (0.12, True)])
def test_a_stuck_encoder_is_found_by_the_integral_of_its_velocity(sound, wander, refused):
    # Over windows of 0.3 s a velocity of `wander` adds up to 9 and to 36 mrad; 20 are allowed.
    stuck = at('q', 2, 0.3)(at('dq', 2, wander)(sound))
    assert any('fer_joint3' in one for one in faults(stuck, FER)) is refused


@pytest.mark.parametrize(
    ('times', 'factor', 'option'),
    [
        (1, 57.3, 'velocity-unit deg/s'),
        (1000, 1.0, 'stamp-unit ms'),
        (10**6, 1.0, 'stamp-unit us'),
    ],
)
def test_units_of_velocity_and_stamps_are_named(simulate, times, factor, option):
    sound = simulate(FER, noise=0.1, rate=1000.0)
    wrong = replace(sound, stamp_ns=sound.stamp_ns * times, dq=factor * sound.dq)
    (found,) = faults(wrong, FER)
    assert found.endswith(f'import the log with --{option}')


def test_a_resting_arms_noisy_velocity_is_not_suspected(simulate):
    recording = simulate(FER, noise=0.1, rate=200.0)
    # Joints 1 to 4 rest all the time, the others after a second.
    moving = recording.time[:, None] < np.where(np.arange(7) < 4, 0.0, 1.0)
    q, noise = np.where(moving, recording.q, recording.q[200]), np.random.default_rng(0)
    noisy = np.where(moving, recording.dq, 0.0) + 0.02 * noise.standard_normal(q.shape)
    assert not [one for one in faults(replace(recording, q=q, dq=noisy), FER) if 'velocity' in one]


def test_effort_of_zero_is_refused(sound):
    with refuses(RecordingError, 'effort'):
        plausibility_warnings(replace(sound, effort=np.zeros_like(sound.effort)), FER)
