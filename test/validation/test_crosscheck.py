# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The comparison of formulations: its differences, its verdict, and its error message."""

from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.arm import available_sets, load
from franka_dynamics.arm.sampling import sample_states
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.errors import CrosscheckError
from franka_dynamics.validation.crosscheck import compare_formulations, crosscheck, TOLERANCE

EVERY_SET = [(arm, inertial_set) for arm in ('fer', 'fr3') for inertial_set in available_sets(arm)]


@pytest.mark.parametrize(('arm', 'inertial_set'), EVERY_SET)
def test_given_a_shipped_set_when_crosschecked_then_it_passes(arm, inertial_set):
    report = crosscheck(load(arm, inertial_set), gravity=(1.0, -2.0, -9.0), count=50, seed=4)
    report.require()
    assert report.passed
    assert 0.0 < report.largest < TOLERANCE
    assert report.states == 50


@pytest.mark.parametrize('factor', [1e-4, 30.0, 1e4])
def test_masses_of_any_size_pass_both_comparisons(factor):
    arm = load('fer').map_links(
        lambda link: replace(
            link,
            mass=factor * link.mass,
            first_moment=factor * link.first_moment,
            inertia=factor * link.inertia,
        )
    )
    assert crosscheck(arm, count=50).passed
    assert compare_formulations(arm, count=50).passed


def test_the_reported_figures_are_the_largest_differences():
    arm = load('fer')
    agreement = compare_formulations(arm, count=15, seed=2)
    states = sample_states(arm, 15, 2)
    expected = PinocchioModel(arm).inverse_dynamics(*states)
    apart = np.abs(NewtonEulerModel(arm).inverse_dynamics(*states) - expected)
    size = np.maximum(1.0, np.abs(expected).max(axis=1))
    found = agreement.differences['inverse_dynamics']['Newton-Euler']
    assert found == (apart.max(axis=1) / size).max()
    assert agreement.formulations == ('Newton-Euler', 'exponentials')


@pytest.mark.parametrize('error', [1e-9, np.nan])
@pytest.mark.parametrize(
    'quantity', ['gravity', 'joint_wrenches', 'forward_dynamics', 'frames', 'mass_matrix']
)
def test_a_wrong_quantity_is_named_and_raises(quantity, error):
    class Faulty(NewtonEulerModel):
        pass

    def too_small(model, *states):
        # Smaller than the reference: a negative difference must count as well.
        values = getattr(NewtonEulerModel, quantity)(model, *states)
        return values - error * np.abs(values).max()

    setattr(Faulty, quantity, too_small)
    arm = load('fer')
    models = {'Pinocchio': PinocchioModel(arm), 'other': Faulty(arm)}
    failed = compare_formulations(arm, count=20, seed=5, models=models)
    assert not failed.passed
    assert np.isnan(failed.largest) == np.isnan(error)
    # Others follow from frames and the mass matrix.
    others = '.*' if quantity in ('frames', 'mass_matrix') else ''
    differing = rf'other differs from Pinocchio in {others}{quantity} \(\S+\){others}\. Do not use'
    with pytest.raises(
        CrosscheckError, match=rf'fer \(gaz2019, hand none\).*20 states.*{differing}'
    ):
        failed.require()
