# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Recordings that are not what they should be are called so."""

from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.errors import RecordingError
from franka_dynamics.recordings.plausibility import suspicions
from franka_dynamics.recordings.recording import read_recording
from franka_dynamics.recordings.replay import recorded_terms

FER = load('fer')


def test_nothing_is_suspected_in_a_sound_simulated_recording(simulate):
    assert suspicions(simulate(FER, friction=FER.friction, noise=0.1), FER) == ()


def test_nothing_is_suspected_in_a_real_arms_recording(fer_recording_path):
    recording = read_recording(fer_recording_path, FER.joint_names)
    assert suspicions(recording, FER) == ()
    assert suspicions(recording, load('fer', 'franka_description')) == ()


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
