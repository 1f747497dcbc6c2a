# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Recordings that are not what they should be are called so."""

from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.errors import RecordingError
from franka_dynamics.recordings.plausibility import faults, suspicions
from franka_dynamics.recordings.recording import read_recording
from franka_dynamics.recordings.replay import recorded_terms

FER = load('fer')


def test_nothing_is_suspected_in_a_sound_simulated_recording(simulate):
    assert suspicions(simulate(FER, friction=FER.friction, noise=0.1), FER) == ()


def test_nothing_is_suspected_in_a_real_arms_recording(fer_recording_path):
    recording = read_recording(fer_recording_path, FER.joint_names)
    assert suspicions(recording, FER) == ()
    assert suspicions(recording, load('fer', 'franka_description')) == ()


def test_nothing_is_suspected_in_a_real_arms_recording_at_1_khz(fer_1khz_recording_path):
    assert suspicions(read_recording(fer_1khz_recording_path, FER.joint_names), FER) == ()


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


def test_effort_of_the_opposite_sign_is_suspected(simulate):
    recording = simulate(FER, friction=FER.friction, noise=0.1)
    found = faults(replace(recording, effort=-recording.effort), FER)
    assert [sentence.partition(':')[0] for sentence in found] == [
        'effort looks like torque of the opposite sign'
    ]


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
