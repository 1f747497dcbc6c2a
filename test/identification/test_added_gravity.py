# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Efforts that lack the gravity torque, as drivers of some arms publish them."""

from dataclasses import replace

import numpy as np
import pytest

import franka_dynamics as fd
from franka_dynamics.errors import IdentificationError, RecordingError
from franka_dynamics.fit.options import IdentificationOptions
from franka_dynamics.identification.arm_text import identified_arm_text
from franka_dynamics.judge.replay_evaluation import evaluate_replay
from franka_dynamics.recordings.options import SignalOptions

from ..arms import drawn_around
from ..made_recordings import recorded, smooth_motion
from ..urdf.urdf_texts import six_axes

FER = fd.load('fer', hand='none')
ADDS = IdentificationOptions(add_gravity=True)


@pytest.fixture(scope='module')
def logs(fer_recording, fer_1khz_recording):
    """Return two real recordings whose driver subtracts the gravity torque of its own model."""
    found = []
    for whole in (fer_recording, fer_1khz_recording):
        # Another arm than the one that is added: of the recording itself.
        own = fd.identify([whole], FER, [FER]).arm
        lacks = whole.effort - fd.NewtonEulerModel(own).gravity(whole.q)
        found.append((whole, replace(whole, effort=lacks)))
    return found


@pytest.mark.parametrize('k', [0, pytest.param(1, marks=pytest.mark.long)], ids=['slow', 'fast'])
def test_a_real_arm_without_gravity_gets_that_of_the_reference(logs, k):
    whole, lacking = logs[k]
    without = fd.identify([lacking], FER, [FER])
    assert not without.verdict.sound  # the efforts lack gravity
    result = fd.identify([lacking], FER, [FER], ADDS)
    assert result.verdict.sound
    model = fd.NewtonEulerModel(result.arm)
    start = fd.NewtonEulerModel(FER)
    apart = np.sqrt(np.mean((model.gravity(whole.q) - start.gravity(whole.q)) ** 2, axis=0))
    assert apart.max() < 0.35
    # Dynamics and friction are found as in the whole recording.
    complete = fd.identify([whole], FER, [FER])
    assert result.arm_errors.test.E < 1.15 * complete.arm_errors.test.E
    said = ' '.join(identified_arm_text(result).split())
    assert 'without gravity' in said and 'gaz2019' in said


def test_replay_adds_the_gravity_of_its_first_arm(logs):
    whole, lacking = logs[0]
    found = [
        evaluate_replay(one, [FER], SignalOptions(), options).predictions[0].error.E
        for one, options in ((whole, IdentificationOptions()), (lacking, ADDS))
    ]
    assert found[1] < 1.1 * found[0]


@pytest.mark.parametrize(
    ('lack', 'kinds'), [(1.0, ['gravity']), pytest.param(0.0, [], marks=pytest.mark.long)]
)
def test_missing_gravity_is_named_where_friction_prevails(lack, kinds):
    # Other masses, with their centres on the axes, explain such efforts nearly as well.
    start = fd.load(six_axes())
    truth = drawn_around(start, 3)
    log = recorded(truth, *smooth_motion(start, 15.0, 50.0, 1, widest=0.2))
    limit = start.limit('effort')
    friction = limit * (0.05 * log.dq + 0.1 * np.tanh(log.dq / 0.01))
    noise = 0.004 * limit * np.random.default_rng(1).normal(size=log.q.shape)
    gravity = fd.NewtonEulerModel(truth).gravity(log.q)
    accepts = IdentificationOptions(friction='viscous_coulomb', accept_unsound=True)
    made = replace(log, effort=log.effort - lack * gravity + friction + noise)
    verdict = fd.identify([made], start, [start], accepts).verdict
    assert [one.kind for one in verdict.causes] == kinds


def test_gravity_is_not_added_to_efforts_that_hold_it():
    arm = fd.load(six_axes())
    log = recorded(arm, *smooth_motion(arm, 12.0, 50.0, 1, widest=0.8))
    with pytest.raises(RecordingError, match='twice'):
        ADDS.with_whole_effort(log, arm)
    lacks = replace(log, effort=log.effort - fd.NewtonEulerModel(arm).gravity(log.q))
    for options, one in ((ADDS, lacks), (replace(ADDS, accept_unsound=True), log)):
        whole = options.with_whole_effort(one, arm)
        added = fd.NewtonEulerModel(arm).gravity(log.q)
        np.testing.assert_allclose(whole.effort - one.effort, added, rtol=0.0, atol=1e-9)


def test_an_arm_without_gravity_is_refused():
    for zero in ((0.0, 0.0, 0.0), np.zeros(3)):
        with pytest.raises(IdentificationError, match='add_gravity'):
            IdentificationOptions(gravity=zero)
