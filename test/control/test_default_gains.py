# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Default gains and predicted tracking errors: closed forms, linearisation, a known arm."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from scipy.linalg import expm
from scipy.signal import butter, filtfilt
import yaml

from franka_dynamics.arm import load, ViscousCoulombFriction
from franka_dynamics.control.default_gains import default_gains, low_gains
from franka_dynamics.dynamics.body_tree import BodyTree
from franka_dynamics.dynamics.derivatives import linearize
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.errors import SettingsError
from franka_dynamics.files import share_directory
from franka_dynamics.identification.identify import identify
from franka_dynamics.identification.other_controllers import predict_tracking
from franka_dynamics.ros.controller_factory import STATE_TIMEOUT_PERIOD_COUNT
from franka_dynamics.urdf.writer import urdf_text

from ..agreement import refuses

ARMS = [('fer', 'none'), ('fr3', 'none'), ('fr3', 'franka_hand'), ('fr3v2', 'none')]


def hold_radius(linear, kp, kd, period, age=0.0):
    """
    Return the spectral radius when torques are held for a period and act late [s]; stable below 1.

    Of tau = g(q) - kp (q - q0) - kd dq at rest: states come once per period and are `age` old
    then. One step takes the state from one sample to the next, through the torque before last and
    the last one (Astrom, Wittenmark 1997, Computer-Controlled Systems, section 2.3).
    """
    n = len(linear.ddq)
    by_q, per_torque = linear.A[n:, :n], linear.B[n:]
    # g(q) is part of the feedback, and A_qq = -M^-1 dg/dq at rest.
    stiffness = np.diag(kp) + np.linalg.solve(per_torque, by_q)
    gain = np.hstack((stiffness, np.diag(kd)))

    def flow(time):
        """Return the effect of a state and of a constant feedback after a time."""
        rates = np.zeros((4 * n, 4 * n))
        rates[: 2 * n, : 2 * n], rates[n : 2 * n, 2 * n :] = linear.A, -per_torque @ gain
        whole = expm(rates * time)
        return whole[: 2 * n, : 2 * n], whole[: 2 * n, 2 * n :]

    # Between two samples, the torque of the sample `whole` + 1 before acts first, for the time
    # `rest`, then the torque of the sample `whole` before.
    whole = int(age / period)
    rest = age - whole * period
    (free, _), (then, late), (_, early) = flow(period), flow(period - rest), flow(rest)
    size = len(free)
    closed = np.eye(size * (whole + 2), k=-size)
    closed[:size] = 0.0
    closed[:size, :size] = free
    closed[:size, size * whole : size * (whole + 1)] += late
    closed[:size, size * (whole + 1) :] += then @ early
    return float(np.abs(np.linalg.eigvals(closed)).max())


def limits(target):
    """Return what a target's parameter file allows states and silence to be [s]."""
    path = share_directory() / 'config' / 'feedforward' / f'{target}.yaml'
    given = yaml.safe_load(path.read_text(encoding='utf-8'))['/**']['ros__parameters']
    assert given['kp'] == [-1.0]
    return given['max_state_age'], STATE_TIMEOUT_PERIOD_COUNT * given['period']


@pytest.mark.parametrize(('name', 'hand'), ARMS)
def test_states_of_any_age_held_as_long_as_allowed_are_stable(name, hand):
    oldest, silent = limits('gz_ros2_control')
    assert 0.0 < oldest < silent
    assert limits('franka_gazebo') == (oldest, silent)
    arm = load(name, hand=hand)
    model, home, gains = NewtonEulerModel(arm), arm.home_position, default_gains(arm)
    linear = linearize(BodyTree.from_description(arm), home, np.zeros(arm.n), model.gravity(home))
    for age in oldest * np.linspace(0.0, 0.8, 5):
        longest = silent * (1.0 - age / oldest)
        for period in longest * np.linspace(0.125, 1.0, 4):
            assert hold_radius(linear, *gains, period, age) < 1.0
    # The oldest age and the longest silence together are unstable.
    assert hold_radius(linear, *gains, silent, oldest) > 1.0


def test_default_gains_decay_one_joint_alone_at_the_stated_rate():
    arm = load('fer')
    kd, model = default_gains(arm)[1], NewtonEulerModel(arm, (0.0, 0.0, 0.0))
    # The torque of each joint alone at 1 rad/s
    ddq = [model.forward_dynamics(arm.home, np.zeros(7), torque) for torque in -np.diag(kd)]
    np.testing.assert_allclose(np.diag(ddq), -4.0, rtol=1e-12)


@pytest.mark.parametrize(('name', 'hand'), ARMS)
@pytest.mark.parametrize('held', [0.05, 0.1])
def test_firmer_gains_bear_torques_held_as_long_as_stated(held, name, hand):
    arm = load(name, hand=hand)
    model, home, gains = NewtonEulerModel(arm), arm.home_position, default_gains(arm, held)
    linear = linearize(BodyTree.from_description(arm), home, np.zeros(arm.n), model.gravity(home))
    for share in (0.1, 0.5, 1.0):
        assert hold_radius(linear, *gains, share * held) < 1.0
    assert hold_radius(linear, *gains, 0.1 * held, 0.4 * held) < 1.0
    assert hold_radius(linear, *gains, 1.5 * held) > 1.0


@pytest.mark.parametrize('arm', ['fer', 'fr3', 'fr3v2'])
def test_gains_scaled_by_the_inertia_suit_every_arm(arm):
    # With fixed gains the velocity of the FR3's joint 7 changed by 4.4 times itself in a step of 1
    # ms; more than 2 is unstable.
    description = load(arm)
    kp, kd = low_gains(description, 100.0)
    inverse = np.linalg.inv(NewtonEulerModel(description).mass_matrix(description.home))
    assert np.linalg.eigvals(inverse * kd).real.max() * 1e-3 < 0.5
    assert (kp > 0.0).all()


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


def test_a_set_of_the_name_published_is_compared_with_the_published_one(simulate):
    own = replace(FER, file='own.yaml', inertial_set='published')
    found = predict_tracking(simulate(FER, rate=100.0), own, 100.0, 0.0)
    inertia = [row for row in found.rows if 'M ddq' in row]
    assert inertia == ['+ C dq + M ddq, published', '+ C dq + M ddq, this arm']


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
