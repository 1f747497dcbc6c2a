# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Faulty recordings are named with joint and figures; sound ones are not."""

from dataclasses import replace
import re

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.errors import RecordingError
from franka_dynamics.recordings.plausibility import faults, suspicions

from ..foreign_logs import geared

FER = load('fer')


@pytest.fixture(scope='module')
def sound(simulate):
    return simulate(FER, friction=FER.friction, noise=0.1)


def test_nothing_is_suspected_in_sound_recordings(sound, fer_recording, fer_1khz_recording):
    # Some files have 0 where no limit is known.
    joints = tuple(replace(one, limits=replace(one.limits, effort=0.0)) for one in FER.joints)
    for recording in (sound, fer_recording, fer_1khz_recording):
        for arm in (FER, load('fer', 'franka_description'), replace(FER, joints=joints)):
            assert suspicions(recording, arm) == ()


def assert_said(sentence, said):
    """Require a sentence; '...' in `said` stands for any text."""
    assert re.fullmatch('.*'.join(map(re.escape, said.split('...'))), sentence), sentence


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


# What is said of a sound recording with one change.
ODD = {
    'the effort of fer_joint7 is 0 in every message (1 of 7 joints): not mea...': at(
        'effort', 6, 0.0
    ),
    'the torque of fer_joint6 is at its limit of 12 N m in 28% of...': at(
        'effort', 5, 12.0, slice(100)
    ),
    'the effort of fer_joint4 is -500 N m at 3.00 s, far beyond its limit of 87 N m (1 ...': at(
        'effort', 3, -500.0, 90
    ),
    'effort looks like another sign: that of fer_joint4...--effort-scale 1 1 1 -1 1 1 1': times(
        'effort', -1.0, 3
    ),
    'positions reach 157.3 on fer_joint6...3.7525 rad: they look like degrees...-unit deg': times(
        'q', 180.0 / np.pi
    ),
    'positions reach 7 on fer_joint4, whose limit is -0.0698 rad: they...': at('q', 3, 7.0, 90),
    'the position of fer_joint4 jumps by 1.81 rad at 3.00 s, 25 ...(2 such ...': at(
        'q', 3, 0.0, 90
    ),
    'velocities do not match positions...fer_joint3 is 0 times...(1 of 7 ...': at('q', 2, 0.0),
    'velocities do not match positions...fer_joint5 is -1 times the rate...(1 of 7 ...': times(
        'dq', -1.0, 4
    ),
}


@pytest.mark.parametrize('said', ODD)
def test_what_is_odd_is_told_with_joint_and_figures(sound, said):
    first, *others = suspicions(ODD[said](sound), FER)
    assert_said(first, said)
    # Motions of wrong positions are impossible in other ways, too.
    assert not others or said.startswith('positions')


SIGN, UNIT = (
    f'effort looks like another {one}: that of fer_joint2 is ' for one in ('sign', 'unit')
)
VELOCITY, ALL = 'velocities do not match positions: ', '(7 of 7 joints are wrong); friction...'
HEAVY = '(2 of 2 joints with large gravity torques are wrong)'


@pytest.mark.parametrize(
    ('field', 'factor', 'rel', 'begin', 'end'),
    [
        *(('dq', factor, 0.02, VELOCITY, ALL) for factor in (100.0, 0.0, -1.0)),
        *(('effort', factor, 0.15, UNIT, HEAVY) for factor in (1e3, 0.1)),
        *(('effort', factor, 0.15, SIGN, f'{HEAVY}; ...scale -1') for factor in (-1.0, -0.1)),
    ],
)
def test_a_factor_of_every_joint_is_told(sound, field, factor, rel, begin, end):
    (found,) = faults(times(field, factor)(sound), FER)
    assert_said(found, f'{begin}... times the ...{end}')
    told = float(found.partition(' is ')[2].partition(' times')[0])
    assert told == pytest.approx(factor, rel=rel)


@pytest.mark.parametrize(
    ('order', 'said'),
    [
        ([1, 0, 2, 3, 4, 5, 6], 'the efforts of fer_joint1 and fer_joint2 look exchanged'),
        ([0, 2, 1, 3, 4, 5, 6], 'the efforts of fer_joint2 and fer_joint3 look exchanged'),
        ([0, 1, 3, 2, 4, 5, 6], 'the efforts of fer_joint3 and fer_joint4 look exchanged'),
        ([0, 1, 2, 4, 3, 5, 6], 'the efforts of fer_joint4 and fer_joint5 look exchanged'),
        ([0, 4, 2, 3, 1, 5, 6], 'the efforts of fer_joint2 and fer_joint5 look exchanged'),
        ([0, 3, 2, 1, 4, 5, 6], 'effort looks like another sign: that of fer_joint2'),
        ([6, 5, 4, 3, 2, 1, 0], 'the efforts of fer_joint2 and fer_joint6 look exchanged'),
    ],
)
def test_efforts_in_another_order_are_told(sound, order, said):
    (found,) = faults(replace(sound, effort=sound.effort[:, order]), FER)
    assert found.startswith(said)


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


def test_inertia_of_rotors_is_not_taken_for_a_wrong_arm(simulate):
    heavy = replace(FER, joints=tuple(replace(one, rotor_inertia=9.0) for one in FER.joints))
    recording = simulate(heavy, duration=30.0, noise=0.1, rate=100.0)
    assert not [one for one in faults(recording, FER) if 'gravity explains little' in one]
    # Gravity explains little of these efforts, unless the rotors' part is taken out.
    exchanged = replace(recording, effort=recording.effort[:, [1, 0, 2, 3, 4, 5, 6]])
    (found,) = faults(exchanged, FER)
    assert found.startswith('the efforts of fer_joint1 and fer_joint2 look exchanged')


def test_effort_without_gravity_and_an_arm_on_a_wall_are_suspected(sound):
    (found,) = suspicions(
        replace(sound, effort=sound.effort - NewtonEulerModel(FER).gravity(sound.q)), FER
    )
    assert found.startswith('effort looks like torque without gravity')
    assert faults(sound, FER, gravity=(0.0, 0.0, -9.81)) == ()
    (found,) = faults(sound, FER, gravity=(9.81, 0.0, 0.0))
    assert found.startswith('gravity explains little of the effort')
    # Without gravity torques neither unit nor sign can be judged.
    assert faults(sound, FER, gravity=(0.0, 0.0, 0.0)) == ()


def test_a_resting_arms_noisy_velocity_is_not_suspected(simulate):
    recording = simulate(FER, noise=0.1, rate=200.0)
    # Joints 1 to 4 rest all the time, the others after a second.
    moving = recording.time[:, None] < np.where(np.arange(7) < 4, 0.0, 1.0)
    q, noise = np.where(moving, recording.q, recording.q[200]), np.random.default_rng(0)
    noisy = np.where(moving, recording.dq, 0.0) + 0.02 * noise.standard_normal(q.shape)
    assert not [one for one in faults(replace(recording, q=q, dq=noisy), FER) if 'velocity' in one]


def test_effort_of_zero_is_refused(sound):
    with pytest.raises(RecordingError, match='effort is zero in every message, as many drivers'):
        suspicions(replace(sound, effort=np.zeros_like(sound.effort)), FER)


@pytest.mark.parametrize('coulomb', [5.0, 10.0, 35.0])
def test_strong_friction_is_not_taken_for_another_arm(coulomb):
    assert faults(geared(FER, coulomb), FER) == ()


def test_behind_strong_friction_another_mounting_is_still_told():
    # The same motion of an arm on a wall has other gravity torques than on the floor.
    log = geared(FER, 10.0)
    wall, floor = (NewtonEulerModel(FER, g).gravity(log.q) for g in ((9.81, 0, 0), (0, 0, -9.81)))
    (found,) = faults(replace(log, effort=log.effort + wall - floor), FER)
    assert 'gravity explains little of the effort' in found and 'friction' in found
