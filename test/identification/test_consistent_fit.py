# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The consistent fit is physical, within its bounds, and fits the torques."""

from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.arm import LinkInertia, load, ViscousCoulombFriction
from franka_dynamics.arm.hand_file import load_hand
from franka_dynamics.arm.shapes import load_shapes
from franka_dynamics.errors import IdentificationError
from franka_dynamics.identification import consistent_fit
from franka_dynamics.identification.consistent_fit import center_bounds, fit_consistent
from franka_dynamics.identification.prior import Prior
from franka_dynamics.identification.samples import QRFactors
from franka_dynamics.identification.torque_model import TorqueModel
from franka_dynamics.recordings.preprocessing import prepare

FER = load('fer')
MODEL = TorqueModel.of(FER)
PRIOR = Prior.towards(FER, MODEL, np.ones(7))
FRICTION = ViscousCoulombFriction(np.full(7, 0.2), np.full(7, 0.3), np.full(7, -0.02))


def equations_of(simulate, model, arm, friction=FRICTION, noise=0.01, **kwargs):
    """Return weighted equations of a motion whose torques are exactly the model's of `arm`."""
    motion = prepare(simulate(FER, **kwargs))
    theta = np.concatenate(
        [
            model.base.values(arm),
            np.stack([friction.viscous, friction.coulomb, friction.offset], axis=1).ravel(),
        ]
    )
    torque = model.torque(motion, theta)
    factors = QRFactors.of(model, replace(motion, effort=torque, effort_unfiltered=torque))
    return factors.weighted(np.full(7, 1.0 / noise)), theta


@pytest.mark.parametrize('rotor_inertia', [False, True])
def test_a_physical_arms_torques_give_its_base_parameters_back(simulate, rotor_inertia):
    truth = replace(
        load('fer', hand='franka_hand'),
        joints=tuple(
            replace(joint, rotor_inertia=0.05 if rotor_inertia else 0.0) for joint in FER.joints
        ),
    )
    model = TorqueModel.of(FER, rotor_inertia=rotor_inertia)
    equations, theta = equations_of(simulate, model, truth, duration=30.0)
    prior = Prior.towards(FER, model, np.ones(7))
    fit = fit_consistent(equations, prior, 0.01, start=FER)
    b = len(model.base)
    # The weak prior, the prior of friction and the solver's tolerance.
    assert np.abs((fit.theta - theta)[:b] / prior.deviations[:b]).max() < 1.2e-2
    np.testing.assert_allclose(fit.theta[b:], theta[b:], rtol=0.0, atol=1e-3)
    assert all(link.consistency_margin() > 0.0 for link in fit.arm.links)
    np.testing.assert_allclose(model.base.values(fit.arm), fit.theta[:b], rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(
        fit.arm.friction.torque(np.full(7, 1.0)),
        FRICTION.torque(np.full(7, 1.0)),
        rtol=0.0,
        atol=1e-3,
    )


def test_an_impossible_arms_torques_give_a_possible_arm(simulate):
    impossible = load('fer', 'franka_description')
    assert impossible.inconsistencies()
    equations, _ = equations_of(simulate, MODEL, impossible)
    fit = fit_consistent(
        equations, Prior.towards(impossible, MODEL, np.ones(7)), 1.0, start=impossible
    )
    assert fit.arm.inconsistencies() == ()
    assert min(link.consistency_margin() for link in fit.arm.links) > 0.0


def test_masses_of_a_heavier_arm_stop_at_their_bound(simulate):
    heavy = FER.map_links(lambda link: link + link + link + link)
    equations, _ = equations_of(simulate, MODEL, heavy)
    fit = fit_consistent(equations, PRIOR, 1.0, start=FER)
    ratios = np.array([link.mass / own.mass for link, own in zip(fit.arm.links, FER.links)])
    assert (ratios <= 3.0 + 1e-6).all()
    assert (ratios >= 1.0 / 3.0 - 1e-6).all()
    assert ratios.max() > 2.99


def test_centres_of_mass_stop_where_their_links_end(simulate):
    away = LinkInertia.from_center_of_mass(0.8, np.array([0.5, 0.0, 0.1]), 1e-2 * np.eye(3))
    equations, _ = equations_of(
        simulate, MODEL, replace(FER, links=(*FER.links[:6], FER.links[6] + away))
    )
    fit = fit_consistent(equations, PRIOR, 1.0, start=FER)
    room = [
        np.min([link.center_of_mass - low, high - link.center_of_mass])
        for link, (low, high) in zip(fit.arm.links, center_bounds(FER))
    ]
    # Within the solver's accuracy the last centre is at its bound, and none is beyond.
    assert min(room) > -1e-4
    assert room[6] < 1e-4


def test_bounds_of_a_centre_are_its_capsules_ends_and_60_mm():
    low, high = center_bounds(FER)[4]
    ends = [
        one.pose[:3, 3] + sign * 0.5 * one.size[1] * one.pose[:3, 2]
        for one in load_shapes('fer')[5]
        for sign in (-1.0, 1.0)
    ]
    radius = max(one.size[0] for one in load_shapes('fer')[5])
    assert (low >= np.min(ends, axis=0) - radius - 0.06 - 1e-12).all()
    assert (high <= np.max(ends, axis=0) + radius + 0.06 + 1e-12).all()
    for one in load_shapes('fer')[5]:
        half = (0.5 * one.size[1] + one.size[0]) * one.pose[:3, 2]
        tips = one.pose[:3, 3] + np.outer([-1, 1], half)
        assert (tips - low > 0.06 - 1e-12).all() and (high - tips > 0.06 - 1e-12).all()


def test_friction_that_would_drive_is_fitted_as_braking_or_zero(simulate):
    driving = ViscousCoulombFriction(np.full(7, -0.2), np.full(7, -0.3), np.full(7, -0.1))
    equations, _ = equations_of(simulate, MODEL, FER, driving)
    fit = fit_consistent(equations, PRIOR, 1.0, start=FER)
    assert (fit.arm.friction.viscous >= 0.0).all()
    assert (fit.arm.friction.coulomb >= 0.0).all()
    assert (fit.arm.friction.offset < 0.0).any()


def test_without_information_the_fit_is_the_reference(simulate):
    equations, _ = equations_of(simulate, MODEL, load('fer', hand='franka_hand'), noise=1e6)
    fit = fit_consistent(equations, PRIOR, 1.0, start=FER)
    for link, reference in zip(fit.arm.links, PRIOR.reference.links):
        # The solver's relative tolerance is 1e-8 of a divergence, which is a square.
        np.testing.assert_allclose(link.parameters(), reference.parameters(), rtol=0.0, atol=1e-3)


def test_settings_short_of_the_optimum_give_way_to_the_next(simulate, monkeypatch):
    first = {'max_iter': 3}
    equations, _ = equations_of(simulate, MODEL, load('fer', hand='franka_hand'), duration=30.0)
    expected = fit_consistent(equations, PRIOR, 1.0, start=FER)
    monkeypatch.setattr(consistent_fit, '_SOLVER_SETTINGS', (first, {}))
    # Both costs are within the solver's tolerance of 1e-8 of the optimum, where the cost is flat.
    np.testing.assert_allclose(
        fit_consistent(equations, PRIOR, 1.0, start=FER).theta,
        expected.theta,
        rtol=0.0,
        atol=1e-4,
    )
    monkeypatch.setattr(consistent_fit, '_SOLVER_SETTINGS', (first,))
    with pytest.raises(IdentificationError, match='solver of the consistent fit failed'):
        fit_consistent(equations, PRIOR, 1.0, start=FER)


@pytest.mark.parametrize('hand', ['franka_hand', 'hand_ledezma2021'])
def test_a_hand_can_be_taken_off_what_was_identified_with_it(simulate, monkeypatch, hand):
    monkeypatch.setattr(consistent_fit, 'MASS_FACTOR', 20.0)
    start = load('fer', hand=hand)
    # These torques belong to a last link that is lighter than the hand alone.
    own = load_hand(hand).expressed_in(FER.flange_transform())
    light = LinkInertia.from_parameters(start.links[6].parameters() - 0.9 * own.parameters())
    equations, _ = equations_of(simulate, MODEL, replace(start, links=(*start.links[:6], light)))
    prior = Prior.towards(start, MODEL, np.ones(7))
    fit = fit_consistent(equations, prior, 1.0, start=start)
    rest = fit.arm.links[6] - own
    assert rest.mass > 0.0
    assert rest.consistency_margin() > 0.0
