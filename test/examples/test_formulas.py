# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The formulas, run as the Python modules that they are, give the models' values."""

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.dynamics.model import GRAVITY
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel

from ..codegen.arms import standard_parameters

ATOL = 1e-12


@pytest.mark.parametrize(('what', 'name'), [('motion', 'rpr'), ('kinematics', 'fer')])
def test_the_text_runs_and_gives_the_models_values(what, name, formulas, capsys):
    formulas.main(what, name)
    arm, names = load(name), {}
    exec(capsys.readouterr().out, names)
    q, dq = np.linspace(0.05, 0.7, arm.n), np.linspace(1.0, -1.0, arm.n)
    for quantity in formulas.QUANTITIES[what]:
        states = (q, dq) if quantity == 'coriolis_matrix' else (q,)
        expected = getattr(NewtonEulerModel(arm), quantity)(*states)
        p, found = np.zeros(1000), np.full_like(expected, np.nan)
        names[f'prepare_{quantity}'](standard_parameters(arm, GRAVITY), p)
        names[quantity](*states, p, found)
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=ATOL)


def test_the_reports_formulas_are_printed_in_both_forms(formulas, capsys):
    pytest.importorskip('sympy', reason='the [symbolic] extra is not installed')
    formulas.main('rpr', 'latex')
    latex = capsys.readouterr().out
    assert r'\[ J_{A} = \begin{bmatrix}' in latex and latex.count('{') == latex.count('}')
    formulas.main('rpr')
    assert 'theta1 = atan2(' in capsys.readouterr().out
