# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The printed program of M, C and g, executed, against the recursion."""

import math

import numpy as np
import pytest

from franka_dynamics.arm import Convention, load
from franka_dynamics.arm.sampling import random_arm
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel

pytest.importorskip('sympy', reason='the [symbolic] extra is not installed')

from franka_dynamics.symbolic import derivations
from franka_dynamics.symbolic.rendering import as_text

ATOL = 1e-12  # torques up to 100 N m; 2e-14 was measured


def run_text(text, q, dq):
    """Execute printed equations at a state; return M, C and g."""
    n = len(q)
    names = {'sin': math.sin, 'cos': math.cos}
    names |= {f'q{i + 1}': q[i] for i in range(n)} | {f'dq{i + 1}': dq[i] for i in range(n)}
    exec(text, names)
    square = [(i + 1, j + 1) for i in range(n) for j in range(n)]
    return (
        np.reshape([names[f'M{i}{j}'] for i, j in square], (n, n)),
        np.reshape([names[f'C{i}{j}'] for i, j in square], (n, n)),
        np.array([names[f'g{i + 1}'] for i in range(n)]),
    )


def random_five(seed):
    """Return an arm with slides, a tilted base, oblique twists and rotors."""
    convention = tuple(Convention)[seed % 2]
    return random_arm(np.random.default_rng(seed), joints=5, convention=convention)


@pytest.mark.parametrize(
    'description',
    [load('fer', hand='franka_hand'), load('fr3'), random_five(0), random_five(1)],
    ids=lambda arm: arm.name,
)
def test_an_arms_printed_equations_agree_with_the_recursion(description):
    text = as_text(derivations.equations(description))
    model = NewtonEulerModel(description)
    for q, dq in np.random.default_rng(0).uniform(-1.5, 1.5, (5, 2, description.n)):
        mass, coriolis, gravity = run_text(text, q, dq)
        np.testing.assert_allclose(mass, model.mass_matrix(q), rtol=0.0, atol=ATOL)
        np.testing.assert_allclose(coriolis, model.coriolis_matrix(q, dq), rtol=0.0, atol=ATOL)
        np.testing.assert_allclose(gravity, model.gravity(q), rtol=0.0, atol=ATOL)
