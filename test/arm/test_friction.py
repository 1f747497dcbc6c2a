# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Friction models against their formulas and the published figures."""

import numpy as np
import pytest

from franka_dynamics.arm import load, SigmoidFriction, ViscousCoulombFriction
from franka_dynamics.errors import FrictionError, JointVectorError

# Gaz et al. 2019, as published for the FER.
A = np.array([0.54615, 0.87224, 0.64068, 1.2794, 0.83904, 0.30301, 0.56489])
SLOPE = np.array([5.1181, 9.0657, 10.136, 5.5903, 8.3469, 17.133, 10.336])
D = np.array([0.039533, 0.025882, -0.04607, 0.036194, 0.026226, -0.021047, 0.0035526])
ATOL_NM = 1e-14  # amplitudes are near 1 N m


def test_given_the_fer_when_its_friction_is_evaluated_then_it_is_gazs_formula():
    dq = np.random.default_rng(0).uniform(-2.6, 2.6, (200, 7))
    expected = A / (1 + np.exp(-SLOPE * (dq + D))) - A / (1 + np.exp(-SLOPE * D))
    np.testing.assert_allclose(load('fer').friction.torque(dq), expected, rtol=0.0, atol=ATOL_NM)


def test_given_rest_when_sigmoid_friction_is_evaluated_then_it_is_exactly_zero():
    np.testing.assert_array_equal(SigmoidFriction(A, SLOPE, D).torque(np.zeros(7)), np.zeros(7))


@pytest.mark.parametrize('sign', [-1.0, 1.0])
def test_given_a_huge_velocity_when_sigmoid_friction_is_evaluated_then_it_saturates(sign):
    # The direct formula overflows in exp here, which pytest would turn into an error.
    at_rest = A / (1 + np.exp(-SLOPE * D))
    expected = (A if sign > 0 else 0.0) - at_rest
    torque = SigmoidFriction(A, SLOPE, D).torque(np.full(7, sign * 1e6))
    np.testing.assert_allclose(torque, expected, rtol=0.0, atol=ATOL_NM)


def test_given_velocities_away_from_zero_when_coulomb_friction_then_the_sign_is_exact():
    model = ViscousCoulombFriction([0.4, 6.0], [0.5, 3.0], [0.1, -0.2])
    torque = model.torque([0.5, -0.5])  # 25 widths: tanh is 1 to the last bit
    np.testing.assert_allclose(
        torque, [0.4 * 0.5 + 0.5 + 0.1, -6.0 * 0.5 - 3.0 - 0.2], rtol=0.0, atol=ATOL_NM
    )


def test_given_zero_velocity_when_coulomb_friction_then_only_the_offset_is_left():
    model = ViscousCoulombFriction([0.4, 6.0], [0.5, 3.0], [0.1, -0.2])
    np.testing.assert_array_equal(model.torque([0.0, 0.0]), [0.1, -0.2])


def test_given_friction_without_offset_when_moving_then_it_never_drives_the_joint():
    model = ViscousCoulombFriction([0.4], [0.5], [0.0])
    dq = np.linspace(-1.0, 1.0, 201)[:, None]
    assert (model.torque(dq) * dq >= 0.0).all()
    assert (model.torque(dq)[dq != 0.0] != 0.0).all()


def test_given_a_model_when_the_callers_array_changes_then_the_model_does_not():
    viscous = np.array([0.4])
    model = ViscousCoulombFriction(viscous, [0.5], [0.0])
    viscous[0] = 99.0
    np.testing.assert_array_equal(model.viscous, [0.4])


@pytest.mark.parametrize(
    ('build', 'sentence'),
    [
        (lambda: SigmoidFriction(A, SLOPE[:6], D), 'amplitude, slope, offset .* equally long'),
        (lambda: SigmoidFriction(A, SLOPE, np.where(D > 0.03, np.nan, D)), 'offset of a friction'),
        (lambda: SigmoidFriction(1.0, 1.0, 1.0), 'one per joint'),
        (lambda: ViscousCoulombFriction([0.1], [0.1], [0.1], width=0.0), 'width .* is 0.0'),
    ],
)
def test_given_malformed_parameters_when_built_then_one_sentence_says_so(build, sentence):
    with pytest.raises(FrictionError, match=sentence):
        build()


@pytest.mark.parametrize('dq', [0.1, np.zeros(6), np.zeros((7, 3))])
def test_given_velocities_of_another_length_when_evaluated_then_they_are_not_broadcast(dq):
    with pytest.raises(JointVectorError, match='the friction model has 7 joints'):
        SigmoidFriction(A, SLOPE, D).torque(dq)
