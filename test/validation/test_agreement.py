# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The comparison of all formulations: its figures, its verdict, whom and which link it names."""

from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.arm import LinkInertia, load
from franka_dynamics.arm.sampling import sample_states
from franka_dynamics.dynamics.lagrangian import LagrangianModel
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.dynamics.product_of_exponentials import ExponentialsModel
from franka_dynamics.validation.agreement import (
    AGREEMENT,
    compare_formulations,
    localize_faults,
)
from franka_dynamics.validation.crosscheck import (
    build,
    evaluate,
    QUANTITIES,
    scaled,
)

from ..arms import with_link, with_row_shifted


def test_the_reported_figures_are_the_largest_differences():
    arm = load('fer')
    agreement = compare_formulations(arm, count=15, seed=2)
    states, models = sample_states(arm, 15, 2), build(arm)
    quantity = next(q for q in QUANTITIES if q.name == 'inverse_dynamics')
    values = np.array([evaluate(model, quantity, states) for model in models.values()])
    middle = np.median(values, axis=0)
    apart = np.abs(values - middle) / np.maximum(1.0, np.abs(middle))
    row = [q.name for q in QUANTITIES].index('inverse_dynamics')
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


FORMULATIONS = (PinocchioModel, NewtonEulerModel, ExponentialsModel, LagrangianModel)

every_link = pytest.mark.parametrize('link', range(1, 8))


def with_parameter(arm, link, parameter):
    """Return an arm with one of a link's ten parameters, the link counted from 1, off by 1e-6."""
    change = LinkInertia.from_parameters(1e-6 * np.eye(10)[parameter])
    return with_link(arm, link - 1, arm.links[link - 1] + change)


def hold(model, reference_arm):
    states = sample_states(reference_arm, 4, 0)
    # Two that agree are the median.
    sound = NewtonEulerModel(reference_arm)
    models = {'sound': sound, 'as sound': sound, 'the model': model}
    return localize_faults(models, states)[-1]


@every_link
def test_a_wrong_row_is_named_by_the_first_frame_that_differs(link):
    # Each formulation and each number of a row in its turn.
    arm, number = load('fer'), ('a', 'alpha', 'd', 'theta')[link // 2]
    formulation = FORMULATIONS[link % 4]
    verdict = hold(formulation(with_row_shifted(arm, link - 1, **{number: 1e-6})), arm)
    assert verdict.origin == ('frame', link)
    assert f'whose frame differs is link {link}, by ' in verdict.sentence()


# xx, xy, xz, yy, yz, zz, hx, hy, hz, m of a link that only turns about an upright z: a wrench
# does not know xx, xy, yy and hz.
UNIDENTIFIABLE_AT_LINK_1 = (0, 1, 3, 8)


@pytest.mark.parametrize(
    ('link', 'parameter'),
    [
        (link, parameter)
        for link in range(1, 8)
        for parameter in range(10)
        if not (link + 2 * parameter) % 7
        and (link > 1 or parameter not in UNIDENTIFIABLE_AT_LINK_1)
    ],
)
def test_a_wrong_inertial_is_named_by_the_wrench_that_differs(link, parameter):
    arm, formulation = load('fr3'), FORMULATIONS[(link + parameter) % 4]
    verdict = hold(formulation(with_parameter(arm, link, parameter)), arm)
    assert verdict.origin == ('wrench', link)
    assert f'from the tip whose wrench differs is link {link}, by ' in verdict.sentence()


@pytest.mark.parametrize('parameter', UNIDENTIFIABLE_AT_LINK_1)
def test_a_wrong_parameter_no_wrench_shows_names_nobody(parameter):
    arm = load('fr3')
    verdict = hold(NewtonEulerModel(with_parameter(arm, 1, parameter)), arm)
    assert verdict.origin is None


@every_link
def test_twists_that_go_wrong_at_a_link_name_its_twist(link):
    class Faulty(NewtonEulerModel):
        def link_twists(self, q, dq):
            twists = super().link_twists(q, dq)
            twists[..., link - 1 :, :3] += 1e-6
            return twists

    arm = load('fer')
    verdict = hold(Faulty(arm), arm)
    assert verdict.origin == ('twist', link)
    assert f'whose twist differs is link {link}, by ' in verdict.sentence()
