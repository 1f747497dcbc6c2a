# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The prior towards a starting set, against the divergence it approximates."""

import numpy as np
import pytest

from franka_dynamics.arm import LinkInertia, load
from franka_dynamics.dynamics.regressor import (
    parameter_vector,
    with_parameter_vector,
)
from franka_dynamics.errors import IdentificationError
from franka_dynamics.identification.friction import TorqueModel
from franka_dynamics.identification.prior import Prior, with_minimum_gyration

FER = load('fer')
MODEL = TorqueModel.of(FER)


def divergence(link, reference):
    relative = np.linalg.solve(reference.pseudo_inertia(), link.pseudo_inertia())
    return np.trace(relative) - np.linalg.slogdet(relative)[1] - 4.0


def test_the_distance_of_a_small_change_is_twice_the_divergence():
    prior = Prior.towards(FER, MODEL)
    rng = np.random.default_rng(0)
    for i, link in enumerate(prior.reference.links):
        block = slice(10 * i, 10 * i + 10)
        covariance = prior.covariance[block, block]
        direction = np.linalg.cholesky(covariance) @ rng.standard_normal(10)
        direction *= 1e-4 / np.sqrt(direction @ np.linalg.solve(covariance, direction))
        changed = LinkInertia.from_parameters(link.parameters() + direction)
        # A third-order remainder of 1e-12 against 1e-8.
        assert 2.0 * divergence(changed, link) == pytest.approx(1e-8, rel=1e-3)


def test_a_prior_of_weight_one_knows_masses_to_100_percent():
    prior = Prior.towards(FER, MODEL)
    masses = np.arange(9, 70, 10)
    np.testing.assert_allclose(
        np.sqrt(np.diag(prior.covariance)[masses]),
        [link.mass for link in FER.links],
        rtol=1e-9,
        atol=0.0,
    )


def test_the_prior_is_the_least_over_arms_with_these_parameters():
    prior = Prior.towards(FER, MODEL)
    rng = np.random.default_rng(1)
    change = 0.01 * rng.standard_normal(len(MODEL.base)) * prior.deviations
    theta = prior.center + np.concatenate([change, rng.standard_normal(21)])
    actual = np.sum((prior.root @ (theta - prior.center)) ** 2)
    # The smallest standard change with these base parameters, in units of the prior.
    whitened = MODEL.base.matrix @ np.linalg.cholesky(prior.covariance)
    smallest, *_ = np.linalg.lstsq(
        whitened / prior.deviations[:, None], change / prior.deviations, rcond=None
    )
    assert actual == pytest.approx(smallest @ smallest, rel=1e-6)


@pytest.mark.parametrize('name', ['gaz2019', 'ledezma2021', 'franka_description'])
def test_a_minimum_gyration_keeps_masses_centres_and_is_physical(name):
    arm = load('fer', name)
    for link, own in zip(arm.map_links(with_minimum_gyration).links, arm.links):
        central = link.inertia_at_center_of_mass
        second = 0.5 * np.trace(central) * np.eye(3) - central
        assert np.linalg.eigvalsh(second)[0] >= own.mass * 0.01**2 * (1.0 - 1e-9)
        assert link.mass == own.mass
        np.testing.assert_array_equal(link.first_moment, own.first_moment)


def test_a_link_above_the_minimum_gyration_stays_as_it_is():
    link = FER.links[0]
    np.testing.assert_allclose(
        with_minimum_gyration(link).inertia, link.inertia, rtol=0.0, atol=1e-14
    )


def test_a_link_without_mass_has_no_minimum_gyration():
    with pytest.raises(IdentificationError, match='A link without mass cannot start'):
        with_minimum_gyration(LinkInertia.zero())


def test_rotors_have_a_prior_scale_of_their_own():
    model = TorqueModel.of(FER, rotor_inertia=True)
    prior = Prior.towards(FER, model)
    assert prior.covariance.shape == (77, 77)
    vector = parameter_vector(FER, rotor_inertia=True)
    vector[70:] += 0.1
    theta = model.base.values(with_parameter_vector(FER, vector)) - model.base.values(FER)
    # Seven rotors one scale away, or less where links can take their part.
    assert 0.0 < np.sum((prior.root[:, : len(theta)] @ theta) ** 2) <= 7.0
