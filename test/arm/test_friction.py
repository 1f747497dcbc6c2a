# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Friction models against their formulas and published parameters."""

import numpy as np
import pytest

from franka_dynamics.arm import load, SigmoidFriction, ViscousCoulombFriction
from franka_dynamics.errors import FrictionError, JointVectorError

# Parameters of the FER's friction by Gaz et al. 2019.
A = np.array([0.54615, 0.87224, 0.64068, 1.2794, 0.83904, 0.30301, 0.56489])
SLOPE = np.array([5.1181, 9.0657, 10.136, 5.5903, 8.3469, 17.133, 10.336])
D = np.array([0.039533, 0.025882, -0.04607, 0.036194, 0.026226, -0.021047, 0.0035526])
ATOL_NM = 1e-14  # amplitudes are near 1 N m


def test_the_fers_friction_is_gazs_formula():
    dq = np.random.default_rng(0).uniform(-2.6, 2.6, (200, 7))
    expected = A / (1 + np.exp(-SLOPE * (dq + D))) - A / (1 + np.exp(-SLOPE * D))
    np.testing.assert_allclose(load('fer').friction.torque(dq), expected, rtol=0.0, atol=ATOL_NM)


@pytest.mark.parametrize('sign', [-1.0, 1.0])
def test_sigmoid_friction_saturates_at_a_huge_velocity(sign):
    # The direct formula overflows in exp here, which pytest would turn into an error.
    at_rest = A / (1 + np.exp(-SLOPE * D))
    expected = (A if sign > 0 else 0.0) - at_rest
    torque = SigmoidFriction(A, SLOPE, D).torque(np.full(7, sign * 1e6))
    np.testing.assert_allclose(torque, expected, rtol=0.0, atol=ATOL_NM)


@pytest.mark.parametrize(
    ('build', 'sentence'),
    [
        (lambda: SigmoidFriction(A, SLOPE[:6], D), 'slope of a friction model .* of shape .7,.'),
        (lambda: SigmoidFriction(A, SLOPE, np.where(D > 0.03, np.nan, D)), 'offset of a friction'),
        (lambda: SigmoidFriction(1.0, 1.0, 1.0), 'amplitude .* of shape .1,.'),
        (lambda: ViscousCoulombFriction([0.1], [0.1], [0.1], width=0.0), 'width .* is 0.0'),
    ],
)
def test_malformed_friction_is_refused_in_one_sentence(build, sentence):
    with pytest.raises(FrictionError, match=sentence):
        build()


@pytest.mark.parametrize('dq', [0.1, np.zeros(6), np.zeros((7, 3))])
def test_velocities_of_another_length_are_not_broadcast(dq):
    with pytest.raises(JointVectorError, match=r'expected \(\.\.\., 7\)'):
        SigmoidFriction(A, SLOPE, D).torque(dq)
