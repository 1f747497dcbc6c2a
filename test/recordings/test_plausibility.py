# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Recordings that are not what they should be are called so."""

from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.errors import RecordingError
from franka_dynamics.recordings.plausibility import faults, suspicions
from franka_dynamics.recordings.replay import recorded_terms

FER = load('fer')


def test_nothing_is_suspected_in_a_sound_simulated_recording(simulate):
    assert suspicions(simulate(FER, friction=FER.friction, noise=0.1), FER) == ()


def test_nothing_is_suspected_in_a_real_arms_recording(fer_recording):
    assert suspicions(fer_recording, FER) == ()
    assert suspicions(fer_recording, load('fer', 'franka_description')) == ()


def test_nothing_is_suspected_in_a_real_arms_recording_at_1_khz(fer_1khz_recording):
    assert suspicions(fer_1khz_recording, FER) == ()


def test_given_degrees_when_looked_at_then_the_joint_is_named(simulate):
    recording = simulate(FER)
    found = suspicions(replace(recording, q=np.degrees(recording.q)), FER)
    assert any(
        sentence.startswith('positions reach ') and 'look like degrees' in sentence
        for sentence in found
    )


def test_effort_without_gravity_is_suspected(simulate):
    recording = simulate(FER, noise=0.1)
    g = recorded_terms(FER, recording).gravity
    found = suspicions(replace(recording, effort=recording.effort - g), FER)
    assert [sentence.partition(':')[0] for sentence in found] == [
        'effort looks like torque without gravity'
    ]


@pytest.mark.parametrize(
    ('factor', 'what'), [(-1.0, 'sign'), (1000.0, 'unit'), (0.1, 'unit'), (-0.1, 'sign')]
)
def test_effort_of_another_unit_or_sign_is_suspected(simulate, factor, what):
    recording = simulate(FER, friction=FER.friction, noise=0.1)
    found = faults(replace(recording, effort=factor * recording.effort), FER)
    assert len(found) == 1
    assert found[0].startswith(f'effort looks like another {what}: that of fer_joint2 is ')
    told = float(found[0].partition(' is ')[2].partition(' times')[0])
    assert told == pytest.approx(factor, rel=0.15)
    assert '(2 of 2 joints' in found[0]


def test_a_joint_whose_effort_never_changes_is_named(simulate):
    recording = simulate(FER, noise=0.1)
    dead = np.where(np.arange(7) == 6, 0.0, recording.effort)
    assert faults(replace(recording, effort=dead), FER) == (
        'the effort of fer_joint7 is 0 in every message (1 of 7 joints): not measured, or not '
        'recorded',
    )


def test_one_joint_of_another_sign_is_named(simulate):
    recording = simulate(FER, friction=FER.friction, noise=0.1)
    sign = np.where(np.arange(7) == 3, -1.0, 1.0)
    found = faults(replace(recording, effort=sign * recording.effort), FER)
    assert 'another sign: that of fer_joint4 is -' in found[0]
    assert '(1 of 2 joints' in found[0]


@pytest.mark.parametrize('order', [[0, 3, 2, 1, 4, 5, 6], [6, 5, 4, 3, 2, 1, 0]])
def test_efforts_in_another_order_are_suspected(simulate, order):
    recording = simulate(FER, friction=FER.friction, noise=0.1)
    found = faults(replace(recording, effort=recording.effort[:, order]), FER)
    assert len(found) == 1
    assert 'looks like' in found[0] or found[0].startswith('gravity explains little of the effort')


def test_an_arm_on_a_wall_is_suspected_unless_said(simulate):
    recording = simulate(FER, friction=FER.friction, noise=0.1)
    assert faults(recording, FER, gravity=(0.0, 0.0, -9.81)) == ()
    found = faults(recording, FER, gravity=(9.81, 0.0, 0.0))
    assert found[0].startswith('gravity explains little of the effort')
    # Without any weight there is nothing to tell by.
    assert faults(recording, FER, gravity=(0.0, 0.0, 0.0)) == ()


def test_a_position_that_does_not_follow_velocity_is_suspected(simulate):
    recording = simulate(FER, noise=0.1)
    stuck = np.where(np.arange(7) == 2, recording.q[0], recording.q)
    found = [one for one in faults(replace(recording, q=stuck), FER) if 'velocities' in one]
    assert 'that of fer_joint3 is 0 times' in found[0]


@pytest.mark.parametrize('factor', [57.3, 100.0, 0.0, -1.0])
def test_velocities_that_are_not_the_positions_are_suspected(simulate, factor):
    recording = simulate(FER, noise=0.1)
    found = faults(replace(recording, dq=factor * recording.dq), FER)
    assert len(found) == 1
    told = float(found[0].partition(' is ')[2].partition(' times')[0])
    assert told == pytest.approx(factor, rel=0.02)
    assert '(7 of 7 joints are off)' in found[0]


def test_one_joint_whose_velocity_is_turned_round_is_named(simulate):
    recording = simulate(FER, noise=0.1)
    sign = np.where(np.arange(7) == 4, -1.0, 1.0)
    found = faults(replace(recording, dq=sign * recording.dq), FER)
    assert 'that of fer_joint5 is -1 times' in found[0]
    assert '(1 of 7 joints are off)' in found[0]


def test_a_resting_arms_noisy_velocity_is_not_suspected(simulate):
    recording = simulate(FER, noise=0.1, rate=200.0)
    rng = np.random.default_rng(0)
    q = np.where(recording.time[:, None] < 1.0, recording.q, recording.q[200])
    rate = np.where(recording.time[:, None] < 1.0, recording.dq, 0.0)
    noisy = rate + 0.02 * rng.standard_normal(q.shape)
    assert not [one for one in faults(replace(recording, q=q, dq=noisy), FER) if 'velocity' in one]


def test_clipped_torque_is_told_with_joint_limit_and_share(simulate):
    recording = simulate(FER)
    effort = recording.effort.copy()
    effort[:100, 5] = 12.0
    found = suspicions(replace(recording, effort=effort), FER)
    assert found == (
        'the torque of fer_joint6 is at its limit of 12 N m in 28% of the messages; where it '
        'was clipped the model cannot fit',
    )


def test_given_effort_of_zero_when_looked_at_then_it_is_refused(simulate):
    recording = simulate(FER)
    with pytest.raises(RecordingError, match='effort is zero in every message, as many drivers'):
        suspicions(replace(recording, effort=np.zeros_like(recording.effort)), FER)


def test_efforts_far_beyond_a_limit_are_told_with_the_time(simulate):
    recording = simulate(FER, noise=0.1)
    effort = recording.effort.copy()
    effort[90, 3] = -500.0
    (found,) = suspicions(replace(recording, effort=effort), FER)
    assert found.startswith(
        'the effort of fer_joint4 is -500 N m at 3.00 s, far beyond its limit of 87 N m (1 such'
    )


def test_a_position_that_drops_out_is_told_with_the_time(simulate):
    recording = simulate(FER, noise=0.1)
    q = recording.q.copy()
    q[90, 3] = 0.0
    (found,) = suspicions(replace(recording, q=q), FER)
    assert found.startswith('the position of fer_joint4 jumps by ')
    assert ' rad at 3.0' in found
    assert '(2 such steps)' in found


def test_a_limit_of_zero_is_no_limit(simulate):
    # Some files have 0 where no limit is known.
    joints = tuple(
        replace(joint, limits=replace(joint.limits, effort=0.0)) for joint in FER.joints
    )
    assert suspicions(simulate(FER, noise=0.1), replace(FER, joints=joints)) == ()
