# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The straight-line M, C and g, run as the text that is printed, against the formulations."""

import math

import numpy as np
import pytest

from franka_dynamics.arm import Convention, load
from franka_dynamics.arm.sampling import random_arm
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel

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


@pytest.mark.parametrize(('arm', 'hand'), [('fer', 'franka_hand'), ('fr3', 'none')])
def test_a_shipped_arms_printed_equations_agree_with_pinocchio(arm, hand):
    description = load(arm, hand=hand)
    text = as_text(derivations.equations(description))
    model, recursion = PinocchioModel(description), NewtonEulerModel(description)
    for q, dq in np.random.default_rng(0).uniform(-2.0, 2.0, (5, 2, 7)):
        mass, coriolis, gravity = run_text(text, q, dq)
        np.testing.assert_allclose(mass, model.mass_matrix(q), rtol=0.0, atol=ATOL)
        np.testing.assert_allclose(coriolis @ dq, model.coriolis(q, dq), rtol=0.0, atol=ATOL)
        np.testing.assert_allclose(coriolis, recursion.coriolis_matrix(q, dq), rtol=0.0, atol=ATOL)
        np.testing.assert_allclose(gravity, model.gravity(q), rtol=0.0, atol=ATOL)


@pytest.mark.parametrize('seed', range(2))
def test_a_random_arms_printed_equations_are_the_recursions(seed):
    # Slides, tilted bases, oblique twists and rotors, none of which the FER has.
    description = random_arm(
        np.random.default_rng(seed), joints=5, convention=tuple(Convention)[seed % 2]
    )
    text = as_text(derivations.equations(description))
    model = NewtonEulerModel(description)
    q, dq = np.random.default_rng(seed).uniform(-1.0, 1.0, (2, 5))
    mass, coriolis, gravity = run_text(text, q, dq)
    np.testing.assert_allclose(mass, model.mass_matrix(q), rtol=0.0, atol=ATOL)
    np.testing.assert_allclose(coriolis, model.coriolis_matrix(q, dq), rtol=0.0, atol=ATOL)
    np.testing.assert_allclose(gravity, model.gravity(q), rtol=0.0, atol=ATOL)
