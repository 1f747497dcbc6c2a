# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Faulty recordings are named with joint and figures; sound ones are not."""

from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.errors import RecordingError
from franka_dynamics.recordings.plausibility import faults, suspicions

from ..foreign_logs import geared

FER = load('fer')


def test_nothing_is_suspected_in_a_sound_simulated_recording(simulate):
    assert suspicions(simulate(FER, friction=FER.friction, noise=0.1), FER) == ()


@pytest.mark.parametrize('rate', ['', '_1khz'])
def test_nothing_is_suspected_in_a_real_arms_recording(request, rate):
    recording = request.getfixturevalue(f'fer{rate}_recording')
    assert suspicions(recording, FER) == ()
    assert suspicions(recording, load('fer', 'franka_description')) == ()


def of_joint(joint, changed, values):
    """Return values with the column of one joint (from 0) replaced."""
    return np.where(np.arange(values.shape[1]) == joint, changed, values)


def with_entry(values, rows, joint, value):
    changed = values.copy()
    changed[rows, joint] = value
    return changed


# Changes of a sound recording, and the sentences about them.
ODD = {
    'degrees': (lambda r: {'q': np.degrees(r.q)}, 'positions reach ', 'look like degrees'),
    'a joint beyond its range': (
        lambda r: {'q': with_entry(r.q, 90, 3, 7.0)},
        'positions reach 7 on fer_joint4, whose limit is ',
        '',
    ),
    'no gravity': (
        lambda r: {'effort': r.effort - NewtonEulerModel(FER).gravity(r.q)},
        'effort looks like torque without gravity',
        '',
    ),
    'a dead joint': (
        lambda r: {'effort': of_joint(6, 0.0, r.effort)},
        'the effort of fer_joint7 is 0 in every message (1 of 7 joints): not measured',
        '',
    ),
    'a stuck position': (
        lambda r: {'q': of_joint(2, r.q[0], r.q)},
        'velocities do not match positions',
        'The velocity of fer_joint3 is 0 times',
    ),
    'a turned velocity': (
        lambda r: {'dq': of_joint(4, -r.dq, r.dq)},
        'velocities do not match positions',
        'The velocity of fer_joint5 is -1 times the rate at which its position changes (1 of 7',
    ),
    'clipped torque': (
        lambda r: {'effort': with_entry(r.effort, slice(100), 5, 12.0)},
        'the torque of fer_joint6 is at its limit of 12 N m in 28% of the messages',
        '',
    ),
    'a spike': (
        lambda r: {'effort': with_entry(r.effort, 90, 3, -500.0)},
        'the effort of fer_joint4 is -500 N m at 3.00 s, far beyond its limit of 87 N m (1 such',
        '',
    ),
    'a drop-out': (
        lambda r: {'q': with_entry(r.q, 90, 3, 0.0)},
        'the position of fer_joint4 jumps by ',
        '(2 such steps)',
    ),
}


@pytest.mark.parametrize('what', ODD)
def test_what_is_odd_is_told_with_joint_and_figures(simulate, what):
    recording = simulate(FER, noise=0.1)
    change, start, part = ODD[what]
    found = suspicions(replace(recording, **change(recording)), FER)
    assert [one for one in found if one.startswith(start) and part in one]
    assert len(found) == 1 or what in ('degrees', 'a joint beyond its range', 'a stuck position')


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


@pytest.mark.parametrize('pair', [(0, 1), (1, 2), (2, 3), (3, 4), (1, 4)])
def test_exchanged_efforts_of_joints_that_carry_much_are_named(simulate, pair):
    recording = simulate(FER, friction=FER.friction, noise=0.1)
    effort = recording.effort.copy()
    effort[:, list(pair)] = effort[:, list(reversed(pair))]
    (found,) = faults(replace(recording, effort=effort), FER)
    names = [FER.joint_names[joint] for joint in pair]
    assert found.startswith(f'the efforts of {names[0]} and {names[1]} look exchanged')


def test_inertia_of_rotors_is_not_taken_for_a_wrong_arm(simulate):
    heavy = replace(FER, joints=tuple(replace(one, rotor_inertia=9.0) for one in FER.joints))
    recording = simulate(heavy, duration=30.0, noise=0.1, rate=100.0)
    assert not [one for one in faults(recording, FER) if 'gravity explains little' in one]


def test_the_sign_of_some_joints_is_given_joint_by_joint(simulate):
    recording = simulate(FER, friction=FER.friction, noise=0.1)
    turned = recording.effort * np.where(np.arange(7) == 3, -1.0, 1.0)
    (found,) = faults(replace(recording, effort=turned), FER)
    assert found.endswith('--effort-scale 1 1 1 -1 1 1 1')


@pytest.mark.parametrize('factor', [100.0, 0.0, -1.0])
def test_velocities_that_are_not_the_positions_are_suspected(simulate, factor):
    recording = simulate(FER, noise=0.1)
    (found,) = faults(replace(recording, dq=factor * recording.dq), FER)
    told = float(found.partition(' is ')[2].partition(' times')[0])
    assert told == pytest.approx(factor, rel=0.02)
    assert '(7 of 7 joints are wrong)' in found


@pytest.mark.parametrize(
    ('factor', 'what'), [(-1.0, 'sign'), (1000.0, 'unit'), (0.1, 'unit'), (-0.1, 'sign')]
)
def test_effort_of_another_unit_or_sign_is_suspected(simulate, factor, what):
    recording = simulate(FER, friction=FER.friction, noise=0.1)
    (found,) = faults(replace(recording, effort=factor * recording.effort), FER)
    assert found.startswith(f'effort looks like another {what}: that of fer_joint2 is ')
    told = float(found.partition(' is ')[2].partition(' times')[0])
    assert told == pytest.approx(factor, rel=0.15)
    assert '(2 of 2 joints' in found


# In reversed order joints 2 and 6 are exchanged, among others.
@pytest.mark.parametrize(
    ('order', 'exchanged'),
    [([0, 3, 2, 1, 4, 5, 6], '2 and fer_joint4'), ([6, 5, 4, 3, 2, 1, 0], '2 and fer_joint6')],
)
def test_efforts_in_another_order_are_suspected(simulate, order, exchanged):
    recording = simulate(FER, friction=FER.friction, noise=0.1)
    (found,) = faults(replace(recording, effort=recording.effort[:, order]), FER)
    assert 'looks like' in found or f'fer_joint{exchanged} look exchanged' in found


def test_an_arm_on_a_wall_is_suspected_unless_said(simulate):
    recording = simulate(FER, friction=FER.friction, noise=0.1)
    assert faults(recording, FER, gravity=(0.0, 0.0, -9.81)) == ()
    found = faults(recording, FER, gravity=(9.81, 0.0, 0.0))
    assert found[0].startswith('gravity explains little of the effort')
    # Without gravity torques neither unit nor sign can be judged.
    assert faults(recording, FER, gravity=(0.0, 0.0, 0.0)) == ()


def test_a_resting_arms_noisy_velocity_is_not_suspected(simulate):
    recording = simulate(FER, noise=0.1, rate=200.0)
    rng = np.random.default_rng(0)
    q = np.where(recording.time[:, None] < 1.0, recording.q, recording.q[200])
    rate = np.where(recording.time[:, None] < 1.0, recording.dq, 0.0)
    noisy = rate + 0.02 * rng.standard_normal(q.shape)
    assert not [one for one in faults(replace(recording, q=q, dq=noisy), FER) if 'velocity' in one]


def test_given_effort_of_zero_when_looked_at_then_it_is_refused(simulate):
    recording = simulate(FER)
    with pytest.raises(RecordingError, match='effort is zero in every message, as many drivers'):
        suspicions(replace(recording, effort=np.zeros_like(recording.effort)), FER)


def test_a_limit_of_zero_is_no_limit(simulate):
    # Some files have 0 where no limit is known.
    joints = tuple(
        replace(joint, limits=replace(joint.limits, effort=0.0)) for joint in FER.joints
    )
    assert suspicions(simulate(FER, noise=0.1), replace(FER, joints=joints)) == ()


@pytest.mark.parametrize('coulomb', [5.0, 10.0, 35.0])
def test_strong_friction_is_not_taken_for_another_arm(coulomb):
    assert faults(geared(FER, coulomb), FER) == ()


def test_behind_strong_friction_another_mounting_is_still_told():
    # The same motion of an arm on a wall has other gravity torques than on the floor.
    log = geared(FER, 10.0)
    wall, floor = (NewtonEulerModel(FER, g).gravity(log.q) for g in ((9.81, 0, 0), (0, 0, -9.81)))
    (found,) = faults(replace(log, effort=log.effort + wall - floor), FER)
    assert 'gravity explains little of the effort' in found and 'friction' in found
