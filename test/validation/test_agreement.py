# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The comparison of all formulations: its figures, its verdict, and whom it names."""

from dataclasses import replace

import numpy as np

from franka_dynamics.arm import load
from franka_dynamics.arm.sampling import sample_states
from franka_dynamics.dynamics.lagrangian import LagrangianModel
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.validation.agreement import AGREEMENT, compare_formulations
from franka_dynamics.validation.crosscheck import (
    build,
    evaluate,
    QUANTITIES,
    scaled,
)


def test_the_reported_figures_are_the_largest_differences():
    arm = load('fer')
    agreement = compare_formulations(arm, count=15, seed=2)
    states, models = sample_states(arm, 15, 2), build(arm)
    quantity = next(q for q in QUANTITIES if q.name == 'inverse_dynamics')
    values = np.array([evaluate(model, quantity, states) for model in models.values()])
    middle = np.median(values, axis=0)
    apart = np.abs(values - middle) / np.maximum(1.0, np.abs(middle))
    row = [q.name for q in agreement.quantities].index('inverse_dynamics')
    np.testing.assert_array_equal(agreement.deviations[row], apart.max(axis=(1, 2)))
    pair = scaled(values[1] - values[3], middle).max()
    assert agreement.pairs['inverse_dynamics'][1, 3] == pair
    assert agreement.pairs['inverse_dynamics'][3, 1] == pair
    assert agreement.pairs['inverse_dynamics'][1, 1] == 0.0


def test_a_wrongly_assembled_coriolis_clears_the_links():
    class Faulty(LagrangianModel):
        def coriolis_matrix(self, q, dq):
            return np.swapaxes(super().coriolis_matrix(q, dq), -1, -2)

    arm = load('fr3')
    agreement = compare_formulations(arm, count=10, models={**build(arm), 'Lagrange': Faulty(arm)})
    assert agreement.findings == (
        'Lagrange: frames, twists and wrenches of all links agree; the difference arises where '
        'it assembles coriolis_matrix, coriolis, inverse_dynamics, forward_dynamics.',
    )


def test_a_formulation_that_returns_nan_fails_and_alone_is_named():
    class Faulty(LagrangianModel):
        def gravity(self, q):
            return np.full(np.shape(q), np.nan)

    arm = load('fer')
    agreement = compare_formulations(arm, count=5, models={**build(arm), 'Lagrange': Faulty(arm)})
    assert not agreement.passed
    assert np.isnan(agreement.largest)
    # Only the one without a number is named.
    assert [finding.split(':')[0] for finding in agreement.findings] == ['Lagrange']
    assert 'gravity, inverse_dynamics, forward_dynamics' in agreement.findings[0]


def test_of_only_two_that_differ_neither_is_the_culprit_alone():
    arm = load('fer')
    other = arm.map_links(lambda link: replace(link, mass=1.1 * link.mass))
    agreement = compare_formulations(
        arm,
        count=5,
        models={'Pinocchio': PinocchioModel(arm), 'Newton-Euler': NewtonEulerModel(other)},
    )
    assert not agreement.passed
    assert agreement.findings[-1].startswith('More than one formulation departs')


def test_a_wrong_wrench_behind_right_torques_fails_and_is_named():
    class Faulty(LagrangianModel):
        def joint_wrenches(self, q, dq, ddq):
            wrenches = super().joint_wrenches(q, dq, ddq)
            wrenches[..., 4, 0] += 1e-6
            return wrenches

    arm = load('fer')
    agreement = compare_formulations(arm, count=5, models={**build(arm), 'Lagrange': Faulty(arm)})
    assert agreement.largest <= AGREEMENT
    assert not agreement.passed
    (finding,) = agreement.findings
    assert finding.startswith(
        'Lagrange: frames and twists agree; the first link from the tip '
        'whose wrench differs is link 5, by '
    )
