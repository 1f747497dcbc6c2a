# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The formulas in symbols, run as the Python modules that they are, give the models' values."""

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.dynamics.product_of_exponentials import ExponentialsModel

ATOL = 1e-12


@pytest.mark.parametrize(
    ('what', 'name'),
    [
        ('motion', 'rpr'),
        ('kinematics', 'fer'),
        ('steps', 'stanford'),
    ],
)
def test_the_text_runs_from_joint_states_and_gives_the_models_values(what, name, formulas, capsys):
    formulas.main(what, name)
    arm = load(name)
    n, q, dq = arm.n, np.linspace(0.05, 0.7, arm.n), np.linspace(1.0, -1.0, arm.n)
    names = {f'q{i + 1}': q[i] for i in range(n)} | {f'dq{i + 1}': dq[i] for i in range(n)}
    exec(capsys.readouterr().out, names)
    model, each = NewtonEulerModel(arm), range(1, n + 1)
    if what != 'motion':
        found = [names[f'J_{i}'] for i in each] + [names[f'J_m{i}'] for i in each]
        expected = [model.jacobian(q, i) for i in each]
        expected += [*ExponentialsModel(arm).center_of_mass_jacobians(q)]
        np.testing.assert_allclose(found, np.array(expected), rtol=0.0, atol=ATOL)
    if what != 'kinematics':
        M, C = ([[names[f'{letter}{i}{j}'] for j in each] for i in each] for letter in 'MC')
        np.testing.assert_allclose(M, model.mass_matrix(q), rtol=0.0, atol=ATOL)
        np.testing.assert_allclose(C, model.coriolis_matrix(q, dq), rtol=0.0, atol=ATOL)


def test_latex_has_the_reports_sections(formulas, capsys):
    formulas.main('rpr', 'rpr', 'latex')
    assert r'\section*{1.2 direct kinematics}' in capsys.readouterr().out
