# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The consistent fit is physical, within its bounds, and fits the torques."""

from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.arm import LinkInertia, load, ViscousCoulombFriction
from franka_dynamics.arm.hand_file import load_hand
from franka_dynamics.identification import consistent_fit
from franka_dynamics.identification.consistent_fit import (
    arm_from_fit,
    fit_consistent,
    PhysicalLinks,
)
from franka_dynamics.identification.gram_sums import GramSums
from franka_dynamics.identification.prior import Prior
from franka_dynamics.identification.solve import equations, SAMPLES_PER_INDEPENDENT_SAMPLE
from franka_dynamics.identification.torque_model import TorqueModel
from franka_dynamics.recordings.preprocessing import prepare

from ..arms import with_link

FER = load('fer')
MODEL = TorqueModel.for_arm(FER)
PRIOR = Prior.centered_at(FER, MODEL, np.ones(7))
FRICTION = ViscousCoulombFriction(np.full(7, 0.2), np.full(7, 0.3), np.full(7, -0.02))


def equations_of(simulate, model, arm, friction=FRICTION, noise=0.01, **kwargs):
    """Return weighted equations of a motion whose torques are exactly the model's of `arm`."""
    motion = prepare(simulate(FER, **kwargs))
    rubbing = np.stack([friction.viscous, friction.coulomb, friction.offset], axis=1)
    theta = np.concatenate([model.base.values(arm), rubbing.ravel()])
    torque = model.torque(motion, theta)
    exact = replace(motion, effort=torque, effort_unfiltered=torque)
    sums, prior = (
        GramSums.from_motion(model, FER, exact),
        Prior.centered_at(FER, model, np.ones(7)),
    )
    return equations(
        sums, prior, np.full(7, noise / np.sqrt(SAMPLES_PER_INDEPENDENT_SAMPLE))
    ), theta


def fitted(simulate, arm, *, start=FER, **kwargs):
    """Return the arm fitted to torques of `arm`, with a prior of precision one."""
    equations, _ = equations_of(simulate, MODEL, arm, **kwargs)
    return consistent(equations, Prior.centered_at(start, MODEL, np.ones(7)), 1.0, start)


def consistent(equations, prior, precision, start):
    links = PhysicalLinks.about(prior, start)
    fitted, size = fit_consistent(equations, prior, links, precision), len(prior.center)
    return arm_from_fit(start, prior, fitted, np.zeros((size, size)))


@pytest.mark.parametrize('rotor_inertia', [0.0, 0.05])
def test_a_physical_arms_torques_give_its_base_parameters_back(simulate, rotor_inertia):
    joints = tuple(replace(joint, rotor_inertia=rotor_inertia) for joint in FER.joints)
    truth = replace(load('fer', hand='franka_hand'), joints=joints)
    model = TorqueModel.for_arm(FER, rotor_inertia=rotor_inertia > 0.0)
    equations, theta = equations_of(simulate, model, truth, duration=30.0)
    prior = Prior.centered_at(FER, model, np.ones(7))
    arm = consistent(equations, prior, 0.01, FER)
    friction = arm.friction
    rubbing = np.stack([friction.viscous, friction.coulomb, friction.offset], axis=1)
    found, b = np.append(model.base.values(arm), rubbing), len(model.base)
    # The weak prior, the prior of friction and the solver's tolerance.
    assert np.abs((found - theta)[:b] / prior.std[:b]).max() < 1.2e-2
    np.testing.assert_allclose(found[b:], theta[b:], rtol=0.0, atol=1e-3)
    assert all(link.consistency_margin() > 0.0 for link in arm.links)


def test_an_impossible_arms_torques_give_a_possible_arm(simulate):
    impossible = load('fer', 'franka_description')
    assert impossible.inconsistencies()
    arm = fitted(simulate, impossible, start=impossible)
    assert arm.inconsistencies() == ()
    assert min(link.consistency_margin() for link in arm.links) > 0.0


@pytest.mark.parametrize(('times', 'bound', 'extreme'), [(4.0, 3.0, max), (0.2, 1 / 3, min)])
def test_masses_of_a_heavier_or_lighter_arm_stop_at_their_bound(simulate, times, bound, extreme):
    other = FER.map_links(lambda link: LinkInertia.from_parameters(times * link.parameters()))
    arm = fitted(simulate, other)
    ratios = [link.mass / own.mass for link, own in zip(arm.links, FER.links)]
    assert extreme(ratios) == pytest.approx(bound, rel=4e-3)
    assert 1 / 3 - 1e-6 <= min(ratios) and max(ratios) <= 3.0 + 1e-6


def test_friction_that_drives_everywhere_is_zero(simulate):
    # Every friction term ends at its bound, with which the solver failed in a former version.
    driving = ViscousCoulombFriction(np.full(7, -0.4), np.full(7, -0.3), np.full(7, -0.1))
    friction = fitted(simulate, FER, friction=driving).friction
    assert not friction.viscous.any() and not friction.coulomb.any()
    assert (friction.offset < 0.0).any()


def test_without_information_the_fit_is_the_reference(simulate):
    arm = fitted(simulate, load('fer', hand='franka_hand'), noise=1e6)
    for link, reference in zip(arm.links, PRIOR.reference.links):
        # The solver's relative tolerance is 1e-8 of a divergence, which is a square.
        np.testing.assert_allclose(link.parameters(), reference.parameters(), rtol=0.0, atol=1e-3)


@pytest.mark.parametrize('hand', ['franka_hand', 'hand_ledezma2021'])
def test_a_hand_can_be_taken_off_what_was_identified_with_it(simulate, monkeypatch, hand):
    monkeypatch.setattr(consistent_fit, 'MAX_MASS_RATIO', 20.0)
    start = load('fer', hand=hand)
    # These torques belong to a last link that is lighter than the hand alone.
    own = load_hand(hand).expressed_in(FER.flange_transform())
    light = LinkInertia.from_parameters(start.links[6].parameters() - 0.9 * own.parameters())
    rest = fitted(simulate, with_link(start, 6, light), start=start).links[6] - own
    assert rest.mass > 0.0 and rest.consistency_margin() > 0.0
