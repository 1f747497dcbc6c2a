# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The printed program of M, C and g, executed, against the recursion."""

import numpy as np
import pytest

from franka_dynamics.arm import Convention, load
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel

pytest.importorskip('sympy', reason='the [symbolic] extra is not installed')

from franka_dynamics.symbolic import derivations
from franka_dynamics.symbolic.rendering import as_text

from ..arms import random_arm

ATOL = 1e-12  # torques up to 100 N m; 2e-14 was measured


def run_text(text, q, dq):
    """Execute printed equations at a state; return M, C and g."""
    n = len(q)
    names = {f'q{i + 1}': q[i] for i in range(n)} | {f'dq{i + 1}': dq[i] for i in range(n)}
    exec(text, names)
    each = range(1, n + 1)
    M, C = (np.array([[names[f'{letter}{i}{j}'] for j in each] for i in each]) for letter in 'MC')
    return M, C, np.array([names[f'g{i}'] for i in each])


# Slides, a tilted base, oblique twists and rotors.
FIVE = [
    random_arm(np.random.default_rng(seed), joints=5, convention=convention)
    for seed, convention in enumerate(Convention)
]


@pytest.mark.parametrize('arm', [load('fer', hand='franka_hand'), load('fr3'), *FIVE])
def test_an_arms_printed_equations_agree_with_the_recursion(arm):
    text, model = as_text(derivations.equations(arm)), NewtonEulerModel(arm)
    for q, dq in np.random.default_rng(0).uniform(-1.5, 1.5, (5, 2, arm.n)):
        expected = model.mass_matrix(q), model.coriolis_matrix(q, dq), model.gravity(q)
        for found, reference in zip(run_text(text, q, dq), expected):
            np.testing.assert_allclose(found, reference, rtol=0.0, atol=ATOL)
