# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Friction models against their formulas, published parameters and hysteresis by hand."""

import numpy as np
import pytest

from franka_dynamics.arm import load, MaxwellSlipFriction, SigmoidFriction
from franka_dynamics.arm.friction import friction_along, FrictionState, slip_state_bounds

from ..arms import slip_states

# Parameters of the FER's friction by Gaz et al. 2019.
AMPLITUDE = np.array([0.54615, 0.87224, 0.64068, 1.2794, 0.83904, 0.30301, 0.56489])
SLOPE = np.array([5.1181, 9.0657, 10.136, 5.5903, 8.3469, 17.133, 10.336])
D = np.array([0.039533, 0.025882, -0.04607, 0.036194, 0.026226, -0.021047, 0.0035526])
ATOL_NM = 1e-14  # amplitudes are near 1 N m


def test_the_fers_friction_is_gazs_formula():
    dq = np.random.default_rng(0).uniform(-2.6, 2.6, (200, 7))
    expected = AMPLITUDE / (1 + np.exp(-SLOPE * (dq + D))) - AMPLITUDE / (1 + np.exp(-SLOPE * D))
    friction = load('fer').friction
    for found in (friction.torque(dq), friction_along(friction, np.zeros_like(dq), dq)):
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=ATOL_NM)


@pytest.mark.parametrize('sign', [-1.0, 1.0])
def test_sigmoid_friction_saturates_at_a_huge_velocity(sign):
    # The direct formula overflows in exp here, which pytest would turn into an error.
    at_rest = AMPLITUDE / (1 + np.exp(-SLOPE * D))
    expected = (AMPLITUDE if sign > 0 else 0.0) - at_rest
    torque = SigmoidFriction(AMPLITUDE, SLOPE, D).torque(np.full(7, sign * 1e6))
    np.testing.assert_allclose(torque, expected, rtol=0.0, atol=ATOL_NM)


REACH = np.array([0.004, 0.3])
MODEL = MaxwellSlipFriction(
    viscous=[0.4, 0.1],
    coulomb=[0.5, 0.2],
    offset=[0.2, -0.1],
    slip=[[0.3, 0.15], [0.2, 0.1]],
    reach=REACH,
)

# Positions q = a sin(w t) + b sin(v t) of two joints that reverse at different times.
A, W, B, V = np.array([[0.4, 0.002], [1.3, 9.0], [0.003, -0.1], [40.0, 0.7]])


def positions(time):
    return A * np.sin(np.outer(time, W)) + B * np.sin(np.outer(time, V))


def test_work_of_a_closed_loop_is_the_hysteresis_area():
    # A spring of stiffness a/d that slips beyond its reach d loses 4 a (A - d) in a cycle between
    # -A and A: the area of a parallelogram.
    amplitude, slip, reach = 0.02, 0.3, 0.004
    cycle = amplitude * np.concatenate([np.linspace(-1, 1, 4000), np.linspace(1, -1, 4000)])
    q = np.concatenate([cycle, cycle])  # the second cycle is periodic
    z = slip_state_bounds(q[:, None], [reach])[0, :, 0, 0]
    work = slip * np.sum((0.5 * (z[1:] + z[:-1]) * np.diff(q))[8000:])
    assert work == pytest.approx(4.0 * slip * (amplitude - reach), rel=1e-6)


def test_a_motion_followed_in_steps_is_evaluated_as_at_once():
    time = np.arange(0.0, 2.0, 1e-3)
    q = positions(time)
    dq = np.gradient(q, time, axis=0)
    state, followed = FrictionState(MODEL), []
    for stamp, position, velocity in zip(time, q, dq):
        state.update(stamp, position)
        followed.append(state.torque(velocity))
    np.testing.assert_allclose(followed, friction_along(MODEL, q, dq), rtol=0.0, atol=1e-12)


def test_coefficients_times_terms_are_the_torque_and_without_a_state_elements_slide():
    rng = np.random.default_rng(0)
    dq, z = rng.uniform(-1.0, 1.0, (5, 2)), rng.uniform(-1.0, 1.0, (5, 2, 2))
    viscous, coulomb, offset = MODEL.coefficients[:3]
    turned = np.tanh(dq / MODEL.width)
    known = viscous * dq + coulomb * turned + offset
    expected = known + MODEL.slip[0] * z[:, 0] + MODEL.slip[1] * z[:, 1]
    np.testing.assert_allclose(MODEL.torque(dq, z), expected, rtol=0.0, atol=1e-14)
    sliding = known + MODEL.slip.sum(axis=0) * turned
    np.testing.assert_allclose(MODEL.torque(dq), sliding, rtol=0.0, atol=1e-14)


@pytest.mark.parametrize('begin', [-1.0, -0.3, 0.0, 1.0])
def test_bounds_from_an_unknown_start_hold_the_true_state(begin):
    time = np.arange(0.0, 3.0, 1e-3)
    q = positions(time)
    truth = slip_states(q, REACH, np.full((2, 2), begin))
    state = FrictionState(MODEL)
    for stamp, position, z in zip(time, q, truth):
        state.update(stamp, position)
        low, high = state.slip_state_bounds
        assert (low <= z + 1e-12).all() and (z <= high + 1e-12).all()
    # Joint 1 has moved by more than twice the larger reach in one direction.
    np.testing.assert_allclose(high[:, 0] - low[:, 0], 0.0, atol=1e-12)


@pytest.mark.parametrize('gap', [0.051, -0.01])
def test_a_gap_makes_the_state_unknown_again(gap):
    state = FrictionState(MODEL)
    for step in range(100):
        state.update(0.001 * step, np.full(2, 0.02 * step))
    np.testing.assert_array_equal(state.slip_state_bounds[0], state.slip_state_bounds[1])
    state.update(0.099 + gap, np.full(2, 0.5))
    np.testing.assert_array_equal(state.slip_state_bounds, [-np.ones((2, 2)), np.ones((2, 2))])
