# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The external wrench against known forces in MuJoCo, least squares, and singular poses."""

import numpy as np
import pinocchio as pin
import pytest

from franka_dynamics.arm import load
from franka_dynamics.control.external_torque import BANDWIDTH, DAMPING, MomentumObserver
from franka_dynamics.control.external_wrench import (
    SINGULAR_FORCE,
    torque_deviation,
    WrenchEstimator,
)
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.errors import SettingsError
from franka_dynamics.simulation.arm_simulation import ArmSimulation, Push, SimulationSettings

FER = load('fer')
FORCE, MOMENT = np.array([12.0, -8.0, 10.0]), np.array([1.0, 1.5, -0.8])  # amplitudes [N], [N m]
KP = np.array([600.0] * 4 + [100.0, 100.0, 30.0])
KD = np.array([30.0] * 4 + [1.0, 1.0, 0.2])
SWING_RATES = np.linspace(1.1, 2.3, 7)  # [rad/s]
STRAIGHT = np.zeros(7)  # stretched upwards: joints 1, 3 and 5 turn about one line


def swing(arm, time):
    """Return positions, velocities, accelerations of a motion about home at a time, (3, n)."""
    w = SWING_RATES
    s, c = 0.4 * np.sin(w * time), 0.4 * np.cos(w * time)
    return np.array((arm.home + s, w * c, -w * w * s))


def acting(time):
    """Return a wrench on the flange, axes of the base, that turns slowly."""
    phase = 2.0 * time + np.arange(6)
    return np.concatenate([FORCE, MOMENT]) * np.sin(phase)


def follow(arm, seconds, pushing, **settings):
    """Follow the motion in MuJoCo; yield states as a driver pairs them."""
    simulation = ArmSimulation(
        arm,
        SimulationSettings(start=swing(arm, 0.0)[0], brake_release_after=0.0, **settings),
    )
    model = PinocchioModel(arm)
    reading = simulation.read()
    while reading.time < seconds:
        q, dq = reading.position, reading.velocity
        at, speed, acceleration = swing(arm, reading.time)
        simulation.push = pushing(reading.time)
        torque = pin.rnea(model.model, model.data, q, dq, acceleration)
        simulation.step(torque + KP * (at - q) + KD * (speed - dq))
        reading = simulation.read()
        yield reading.time, q, dq, reading.effort


def test_known_wrenches_in_mujoco_are_told_along_a_motion():
    # Given an arm that moves, and a wrench on its flange that turns.
    arm = load('fr3v2')

    def pushing(time):
        wrench = acting(time)
        return Push(tuple(wrench[:3]), 0.0, 1e9, tuple(wrench[3:]))

    model = PinocchioModel(arm)
    observer, estimator = MomentumObserver(model), WrenchEstimator(model)
    lag = 2.0 * DAMPING / BANDWIDTH
    found, expected = [], []
    # When the wrench is estimated from the simulated sensors.
    for stamp, q, dq, effort in follow(arm, 3.0, pushing):
        external = observer.update(stamp, q, dq, effort)
        if stamp > 0.2:
            estimate = estimator.estimate(q, external)
            assert not estimate.singular
            assert estimate.unexplained < 0.5
            found.append(estimate.wrench)
            # The arm exerts the opposite wrench on its surroundings. Within the lag of the
            # observer each joint turns by up to 20 mrad.
            expected.append(-acting(stamp - lag))
    # Then the estimate has the sign of O_F_ext_hat_K and the axes of the base.
    error = np.abs(np.array(found) - expected).max(axis=0)
    assert len(found) > 600
    assert (error[:3] < 0.06 * np.linalg.norm(FORCE)).all(), error
    assert (error[3:] < 0.08 * np.linalg.norm(MOMENT)).all(), error


def test_away_from_singular_poses_it_is_plain_least_squares():
    jacobian = NewtonEulerModel(FER).jacobian(FER.home)
    torque = np.array([3.0, -5.0, 2.0, 4.0, -1.0, 0.5, 0.3])
    weight = 1.0 / torque_deviation(FER)
    weighed = (jacobian * weight).T
    expected, *_ = np.linalg.lstsq(weighed, torque * weight, rcond=None)
    estimate = WrenchEstimator(PinocchioModel(FER)).estimate(FER.home, torque)
    np.testing.assert_allclose(estimate.wrench, expected, rtol=1e-9)
    np.testing.assert_allclose(
        estimate.covariance, np.linalg.inv(weighed.T @ weighed), rtol=1e-7, atol=1e-12
    )
    assert not estimate.singular
    assert 'standard deviation at most' in estimate.sentence()


def test_a_singular_pose_is_said_and_damped():
    # Given the arm stretched upwards, and a force of 10 N on its flange along x.
    model = NewtonEulerModel(FER)
    force = np.array([10.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    estimator = WrenchEstimator(PinocchioModel(FER))
    # When the wrench is estimated from the joint torques of that force.
    estimate = estimator.estimate(STRAIGHT, -model.jacobian(STRAIGHT).T @ force)
    # Then the directions that no joint torque shows have a large deviation and no force.
    assert estimate.singular
    assert estimate.sentence().startswith('singular pose: ')
    scale = np.array([1.0, 1.0, 1.0, 5.0, 5.0, 5.0])
    variances, directions = np.linalg.eigh(estimate.covariance * np.outer(scale, scale))
    blind = directions.T[variances > SINGULAR_FORCE**2]
    assert len(blind) >= 1
    scaled = estimate.wrench * scale
    assert np.abs(blind @ scaled).max() < 1.0
    assert np.linalg.eigvalsh(estimate.covariance)[-1] > SINGULAR_FORCE**2
    # And the wrench stays of the size of the force.
    assert np.linalg.norm(estimate.wrench) < 15.0


def test_the_wrench_does_not_jump_into_a_singular_pose():
    estimator = WrenchEstimator(PinocchioModel(FER))
    model = NewtonEulerModel(FER)
    wrench = np.array([5.0, -3.0, 8.0, 0.5, 0.2, -0.4])
    path = STRAIGHT + np.linspace(0.5, 0.0, 1001)[:, None] * (FER.home - STRAIGHT)
    wrenches = np.einsum('kij,i->kj', model.jacobian(path), wrench)
    estimates = [estimator.estimate(*state) for state in zip(path, wrenches)]
    found = [estimate.wrench for estimate in estimates]
    singular = [estimate.singular for estimate in estimates]
    assert not singular[0] and singular[-1]
    np.testing.assert_allclose(found[0], wrench, rtol=1e-9)
    # From one estimate to the next a joint moves by at most 1.2 mrad. Without damping the wrench
    # would be noise divided by zero.
    assert np.abs(np.diff(found, axis=0)).max() < 1.0


def test_at_a_tool_center_the_moment_is_about_it():
    model = PinocchioModel(FER)
    tool = np.array([0.0, 0.05, 0.1])
    arm = model.frames(FER.home)[-1][:3, :3] @ tool
    force = np.array([4.0, 6.0, -2.0])
    torque = model.jacobian(FER.home).T @ np.concatenate([force, np.cross(arm, force)])
    estimate = WrenchEstimator(model, offset=tool).estimate(FER.home, torque)
    # A force at the tool centre has no moment about it.
    np.testing.assert_allclose(estimate.wrench, [*force, 0.0, 0.0, 0.0], rtol=0, atol=1e-9)


@pytest.mark.parametrize('offset', [(0.0, 1.0), (0.0, 0.0, float('nan')), (0.0, 0.0, 11.0)])
def test_a_tool_center_that_is_no_point_is_refused(offset):
    with pytest.raises(SettingsError, match='tool_center is'):
        WrenchEstimator(PinocchioModel(FER), offset=offset)
