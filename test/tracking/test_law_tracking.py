# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Laws told beforehand, against the same laws in closed loop on a simulated arm.

The closed loop shares nothing with the prediction but the laws' numbers: MuJoCo moves the arm with
its friction in time steps of 1 ms, and the laws here are the ones of their authors, with errors of
poses, J and C dq from MuJoCo.
"""

from dataclasses import replace

import mujoco
import numpy as np
import pytest

import franka_dynamics as fd
from franka_dynamics.arm import ViscousCoulombFriction
from franka_dynamics.constants import LAW_NAMES
from franka_dynamics.errors import RecordingError, SettingsError
from franka_dynamics.simulation.arm_simulation import ArmSimulation, SimulationSettings
from franka_dynamics.simulation.mujoco_model import build_mujoco_model, FLANGE_SITE
from franka_dynamics.tracking.law_tracking import predict_laws
from franka_dynamics.tracking.laws import LAWS, TrackingLaw

from ..agreement import refuses
from ..made_recordings import recorded, simulate, smooth_motion

FER = fd.load('fer', hand='none')
# Gaz's friction is that of a FER; a FR3 has about these [N m s/rad, N m].
RUBBING = ViscousCoulombFriction(
    np.array([1.0, 1.0, 0.8, 0.8, 0.5, 0.3, 0.3]),
    np.array([0.8, 0.9, 0.7, 0.7, 0.4, 0.3, 0.3]),
    np.zeros(7),
)
FIRM = {'kp': (600.0,) * 4 + (250.0, 150.0, 50.0), 'kd': (30.0,) * 4 + (10.0, 10.0, 5.0)}
BY_HAND = TrackingLaw('by hand', **FIRM, target_rate=30.0, latency=0.04, filter_cutoff=5.0)
SECONDS = 8.0
SETTLED_S = 1.3  # what the prediction leaves out: 0.3 s of the filter, and the transient
BOUND = 0.2


class Kinematics:
    """J, pose and C dq of the arm from MuJoCo."""

    def __init__(self, arm, reach):
        self.model = build_mujoco_model(arm)
        self.data = mujoco.MjData(self.model)
        self.site = self.model.site(FLANGE_SITE).id
        self.reach = reach

    def at(self, q, dq):
        self.data.qpos[:] = q
        self.data.qvel[:] = 0.0
        mujoco.mj_forward(self.model, self.data)
        gravity = self.data.qfrc_bias.copy()
        self.data.qvel[:] = dq
        mujoco.mj_forward(self.model, self.data)
        turn = self.data.site_xmat[self.site].reshape(3, 3).copy()
        place = self.data.site_xpos[self.site] + self.reach * turn[:, 2]
        body = self.model.site_bodyid[self.site]
        along, about = np.zeros((2, 3, 7))
        mujoco.mj_jac(self.model, self.data, along, about, place, body)
        return np.vstack([along, about]), place, turn, self.data.qfrc_bias - gravity


def rotation_vector(turn):
    found = np.zeros(4)
    mujoco.mju_mat2Quat(found, turn.ravel())
    out = np.zeros(3)
    mujoco.mju_quat2Vel(out, found, 1.0)
    return out


def joint_law(own, q, dq, target, target_dq):
    """Return the torque of franky's law, and of one by hand."""
    *_, coriolis = own.at(q, dq)
    return own.kp * (target - q) + own.kd * (target_dq - dq) + coriolis


def hybrid_law(own, q, dq, target, _):
    """Return the torque of Polymetis' HybridJointImpedanceControl."""
    J, *_, coriolis = own.at(q, dq)
    stiff = J.T @ np.diag(own.kx) @ J + np.diag(own.kp)
    damp = J.T @ np.diag(own.kxd) @ J + np.diag(own.kd)
    return stiff @ (target - q) - damp @ dq + coriolis


def pose_law(own, q, dq, target, _):
    """Return the torque of crisp's Cartesian impedance controller, errors in the base's axes."""
    _, goal, goal_turn, _ = own.at(target, 0.0 * dq)
    J, place, turn, coriolis = own.at(q, dq)
    error = np.concatenate([goal - place, rotation_vector(goal_turn @ turn.T)])
    rest = np.eye(7) - np.linalg.pinv(J) @ J
    second = 2.0 * (target - q) - 2.0 * np.sqrt(2.0) * dq
    wrench = own.kx * error - 2.0 * np.sqrt(own.kx) * (J @ dq)
    return J.T @ wrench + np.clip(rest @ second, -5.0, 5.0) + coriolis


# Of each law the torque, and its numbers, as its authors write them.
CLOSED = {
    'droid': (
        hybrid_law,
        {'kp': [40, 30, 50, 25, 35, 25, 10], 'kd': [4, 6, 5, 5, 3, 2, 1]},
        {'kx': [400] * 3 + [15] * 3, 'kxd': [37] * 3 + [2] * 3, 'rate': 15.0},
    ),
    'crisp': (pose_law, {}, {'kx': [400] * 3 + [30] * 3, 'rate': 50.0, 'smoothing': 0.1}),
    'franky': (joint_law, {'kp': [50] * 7, 'kd': [2.0 * 50**0.5] * 7}, {'velocity': True}),
    'polymetis': (
        hybrid_law,
        {'kp': [40, 30, 50, 25, 35, 25, 10], 'kd': [4, 6, 5, 5, 3, 2, 1]},
        {'kx': [750] * 3 + [15] * 3, 'kxd': [37] * 3 + [2] * 3},
    ),
    'by hand': (
        joint_law,
        FIRM,
        {'rate': 30.0, 'latency': 0.04, 'smoothing': 1.0 - np.exp(-2.0 * np.pi * 5.0e-3)},
    ),
}


def closed_loop(name, arm, time, q_of, dq_of):
    """Return the motion (N, 7) of the simulated arm under a law whose target is q_of(t)."""
    law, gains, more = CLOSED[name]
    own = Kinematics(arm, 0.1034 if name == 'crisp' else 0.0)
    for key, value in {**gains, **more}.items():
        setattr(own, key, np.array(value, dtype=float))
    settings = SimulationSettings(
        start_position=q_of(0.0),
        friction=True,
        armature=True,  # without it 14 N m s/rad swing the light wrist in steps of 1 ms
        gravity_compensation=True,
        brake_release_after=0.0,
    )
    sim = ArmSimulation(arm, settings)
    sim.data.qvel[:] = dq_of(0.0)
    target = q_of(0.0)
    found = np.empty((len(time), 7))
    for i, now in enumerate(time):
        found[i] = sim.position
        when = now - more.get('latency', 0.0)
        if 'rate' in more:
            when = np.floor(when * more['rate'] + 1e-9) / more['rate']
        when = max(when, 0.0)
        target = target + more.get('smoothing', 1.0) * (q_of(when) - target)
        speed = dq_of(when) if more.get('velocity') else np.zeros(7)
        sim.step(law(own, sim.position, np.array(sim.data.qvel), target, speed))
    return found


def measured(time, motion, q_of):
    """Return rms error and lag of a motion behind its target, by plain shifts."""
    after = time > SETTLED_S
    now = time[after]

    def gap(lag):
        return motion[after] - np.array([q_of(t) for t in now - lag])

    lags = np.arange(0.0, 0.5, 0.004)
    spread = [np.var(gap(lag), axis=0).sum() for lag in lags]
    return np.sqrt(np.mean(gap(0.0) ** 2)), lags[int(np.argmin(spread))]


@pytest.fixture(scope='module')
def moved():
    """Return an arm that rubs, a recording of it, and its path as functions of time."""
    arm = replace(FER, friction=RUBBING, file='own.yaml')
    time, q, dq, ddq = smooth_motion(arm, SECONDS, 1000.0, 3, widest=0.25)
    log = recorded(arm, time, q, dq, ddq, friction=RUBBING)

    def at(values):
        return lambda t: values[min(max(round(t * 1000.0), 0), len(values) - 1)]

    return arm, log, time, at(q), at(dq)


# Two laws of the same kinds are for `make test-long`.
SLOW = 'polymetis', 'by hand'


@pytest.mark.parametrize(
    'name', [pytest.param(name, marks=[pytest.mark.long] * (name in SLOW)) for name in CLOSED]
)
def test_lag_and_error_are_those_of_the_closed_loop(name, moved):
    arm, log, time, q_of, dq_of = moved
    law = BY_HAND if name == 'by hand' else name
    told = predict_laws(log, arm, [law])
    error, lag = measured(time, closed_loop(name, arm, time, q_of, dq_of), q_of)
    np.testing.assert_allclose(told.total_errors[0], error, rtol=BOUND)
    np.testing.assert_allclose(told.total_lags[0], lag, rtol=BOUND, atol=0.004)


@pytest.mark.parametrize('latency', [0.0, 0.1])
def test_under_a_firm_law_the_lag_is_the_latency_alone(latency):
    log = simulate(FER, rate=200.0, duration=8.0)
    firm = TrackingLaw('firm', kp=2e4, kd=400.0, has_target_velocity=True, latency=latency)
    told = predict_laws(log, FER, [firm])
    np.testing.assert_allclose(told.lags, latency, atol=0.004)
    after = log.time > SETTLED_S
    late = np.array([np.interp(log.time - latency, log.time, q) for q in log.q.T]).T
    expected = np.sqrt(np.mean((log.q - late)[after] ** 2))
    np.testing.assert_allclose(told.total_errors, expected, rtol=0.05, atol=1e-3)


def test_held_targets_add_half_their_period_to_the_lag():
    log = simulate(FER, rate=200.0, duration=8.0)
    laws = [TrackingLaw('firm', kp=2e3, kd=200.0, target_rate=rate) for rate in (500.0, 10.0)]
    told = predict_laws(log, FER, laws)
    # Held for 2 ms and for 100 ms: 1 and 50 ms on the average.
    np.testing.assert_allclose(np.diff(told.total_lags), 0.049, rtol=0.1)
    assert told.differences[0] == 0.0 and told.differences[1] > 0.0


def test_a_joint_that_rests_has_no_lag():
    log = simulate(FER, rate=100.0, duration=8.0)
    q, dq, effort = (one.copy() for one in (log.q, log.dq, log.effort))
    q[:, 2] = q[0, 2]
    dq[:, 2] = 0.0
    told = predict_laws(replace(log, q=q, dq=dq, effort=effort), FER, ['franky'])
    assert np.isnan(told.lags[0, 2]) and np.isfinite(told.lags[0, [0, 1, 3, 4, 5, 6]]).all()


def test_the_published_laws_are_those_that_the_command_names():
    assert tuple(LAWS) == LAW_NAMES


@pytest.mark.parametrize(
    'gains',
    [
        {'cartesian_kd': (20.0, 30.0, 40.0, 1.0, 2.0, 3.0)},
        {'nullspace_kp': 5.0},
        {'nullspace_kd': 0.7},
    ],
)
def test_every_gain_counts_without_cartesian_stiffness(gains):
    q = np.array([FER.home, np.asarray(FER.home) + 0.2])
    found = TrackingLaw('mine', kp=50.0, kd=3.0, tool_length=0.1, **gains).joint_gains(FER, q)
    kinematics = Kinematics(FER, 0.1)
    for k, pose in enumerate(q):
        J = kinematics.at(pose, np.zeros(7))[0]
        *_, free = np.linalg.svd(J)[2]  # the unit motion that does not move the tool
        stiff = 50.0 * np.eye(7) + gains.get('nullspace_kp', 0.0) * np.outer(free, free)
        damp = 3.0 * np.eye(7) + gains.get('nullspace_kd', 0.0) * np.outer(free, free)
        damp += J.T @ np.diag(gains.get('cartesian_kd', np.zeros(6))) @ J
        np.testing.assert_allclose(found[0][k], stiff, rtol=0.0, atol=1e-9)
        np.testing.assert_allclose(found[1][k], damp, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize(
    ('values', 'named'),
    [
        ({'kp': -1.0}, 'kp'),
        ({}, 'stiffness'),
        ({'kp': 1.0, 'target_rate': 0.0}, 'target_rate'),
        ({'kp': 1.0, 'filter_cutoff': np.nan}, 'filter_cutoff'),
        ({'kp': 1.0, 'latency': np.inf}, 'latency'),
        ({'cartesian_kp': (1.0,)}, 'six'),
    ],
)
def test_a_law_that_cannot_be_is_refused(values, named):
    with refuses(SettingsError, named):
        TrackingLaw('mine', **values)


def test_unknown_laws_and_short_recordings_are_named():
    log = simulate(FER, rate=100.0, duration=2.0)
    with refuses(SettingsError, 'nobody', 'droid'):
        predict_laws(log, FER, ['nobody'])
    with refuses(SettingsError, 'law'):
        predict_laws(log, FER, [])
    with refuses(SettingsError, 'kp', '7'):
        predict_laws(simulate(FER, rate=100.0), FER, [TrackingLaw('two', kp=(1.0, 2.0))])
    with refuses(RecordingError, 'longer'):
        predict_laws(log, FER, ['droid'])
