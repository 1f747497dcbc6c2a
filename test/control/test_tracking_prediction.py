# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Predicted tracking errors: by an independent calculation, and of an arm that is known."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from scipy.signal import butter, filtfilt

from franka_dynamics.arm import load, ViscousCoulombFriction
from franka_dynamics.control.tracking_prediction import predict_tracking
from franka_dynamics.errors import SettingsError
from franka_dynamics.identification.identify import identify
from franka_dynamics.urdf.writer import urdf_text

from ..agreement import refuses

FER = load('fer')
KP, KD = np.array([600.0] * 4 + [250.0, 150.0, 50.0]), np.array([30.0] * 4 + [10.0, 10.0, 5.0])


def halves(recording):
    middle = recording.time[-1] / 2.0
    return recording.part(recording.time < middle), recording.part(recording.time >= middle)


def independent(recording, arm):
    """Return rms errors (3, 7) without and with velocity reference, and with C dq + M ddq."""
    rate = 200.0 if np.median(np.diff(recording.time)) < 0.005 else 30.0
    grid = np.arange(0.0, recording.time[-1], 1.0 / rate)
    low = butter(2, 5.0 / (0.5 * rate))
    q, dq, effort = (
        filtfilt(*low, np.stack([np.interp(grid, recording.time, c) for c in x.T], 1), axis=0)
        for x in (recording.q, recording.dq, recording.effort)
    )
    ddq = np.gradient(dq, 1.0 / rate, axis=0)
    inner = slice(round(0.3 * rate), -round(0.3 * rate))
    model = pin.buildModelFromXML(urdf_text(arm))
    data, rests = model.createData(), []
    for state in zip(q[inner], dq[inner], ddq[inner], effort[inner]):
        left = state[3] - pin.computeGeneralizedGravity(model, data, state[0])
        moved = state[3] - pin.rnea(model, data, *state[:3])
        rests.append([left + KD * state[1], left, moved])
    return np.sqrt(np.mean((np.array(rests) / KP) ** 2, axis=0))


@pytest.mark.parametrize('fixture', ['fer_recording', 'fer_1khz_recording'])
def test_on_a_real_arm_friction_takes_a_third_of_what_is_left(fixture, request):
    learnt, left_out = halves(request.getfixturevalue(fixture))
    arm = replace(identify([learnt], FER).arm, file='identified.yaml', inertial_set='identified')
    found = predict_tracking(left_out, arm, 'franka_ros2')
    rows = dict(zip(found.rows, found.errors))
    expected = independent(left_out, arm)
    names = 'PD that damps to rest', 'PD with velocity reference', '+ C dq + M ddq, identified'
    np.testing.assert_allclose([rows[name] for name in names], expected, rtol=0.02)
    total = dict(zip(found.rows, found.total))
    assert total['+ C dq + M ddq, identified'] > 3.0 * total['+ friction, identified']
    assert total['+ friction, published'] > total['+ friction, identified']


def test_with_the_true_model_and_friction_nothing_is_left(simulate):
    true = replace(FER, friction=ViscousCoulombFriction(*np.full((3, 7), 0.5)))
    recording = simulate(true, friction=true.friction, rate=100.0)
    found = predict_tracking(recording, replace(true, file='own.yaml'), 100.0, 0.0)
    *_, without, whole = found.total
    assert whole < 0.3 * without  # but for reversals, at which a filter blurs the measured torque
    assert found.rows[-1] == '+ friction, gaz2019'


@pytest.mark.parametrize(
    ('gains', 'words'),
    [
        ((0.0,), ['kp above zero']),
        ((KP, -1.0), ['kd']),
        (('600,firm',), ['600,firm', 'franka_ros2']),
        (([1.0, 2.0],), ['kp', '7']),
    ],
)
def test_gains_at_fault_are_named(gains, words, simulate):
    with refuses(SettingsError, *words):
        predict_tracking(simulate(FER), FER, *gains)
