# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Widths of the prior that measured torques choose."""

from dataclasses import replace

import numpy as np
import pytest

import franka_dynamics as fd
from franka_dynamics.arm import ViscousCoulombFriction
from franka_dynamics.errors import IdentificationError
from franka_dynamics.fit import choice
from franka_dynamics.fit.choice import choose_widths
from franka_dynamics.fit.least_squares import fit_theta, GramStack
from franka_dynamics.fit.options import IdentificationOptions
from franka_dynamics.fit.prior import Prior
from franka_dynamics.fit.prior_widths import PriorWidths
from franka_dynamics.recordings.preprocessing import to_motion

from ..arms import drawn_around
from ..made_recordings import recorded, smooth_motion
from ..urdf.urdf_texts import six_axes

ARM = fd.load(six_axes())
MODEL = IdentificationOptions(friction='viscous_coulomb').torque_model(ARM)
NOISE_TO_LIMIT = 0.002


def made(truth, seed, size=1.0):
    """Return a filtered motion; all torques, friction and noise included, are `size` times."""
    log = recorded(truth, *smooth_motion(ARM, 20.0, 100.0, seed, widest=0.8))
    friction = ViscousCoulombFriction(
        0.003 * ARM.limit('effort'), 0.005 * ARM.limit('effort'), 0.001 * ARM.limit('effort')
    )
    noise = NOISE_TO_LIMIT * ARM.limit('effort')
    noise = noise * np.random.default_rng(seed).normal(size=log.dq.shape)
    return to_motion(replace(log, effort=size * (log.effort + friction.torque(log.dq) + noise)))


def scaled(arm, size):
    """Return an arm with masses, inertias and torque limits `size` times as large."""
    joints = tuple(
        replace(joint, limits=replace(joint.limits, effort=size * joint.limits.effort))
        for joint in arm.joints
    )
    heavier = arm.map_links(lambda link: type(link).from_parameters(size * link.parameters()))
    return replace(heavier, joints=joints)


def chosen(arm, motion, fixed=None):
    """Return the sums of a motion, the prior of all terms, and what the torques choose."""
    model = IdentificationOptions(friction='viscous_coulomb').torque_model(arm)
    model = model.with_load_friction(model.base.values())
    grams = GramStack.from_motion(model, motion)
    prior = Prior.centered_at(arm, model, grams.max_torque)
    return grams, prior, choose_widths(grams, prior, fixed or {})


@pytest.fixture(scope='module')
def truth():
    return drawn_around(ARM, 3)


def test_the_choice_does_not_depend_on_the_size_of_the_arm(truth):
    """An arm of 30 times the masses and torques is the same arm in other units."""
    *_, light = chosen(ARM, made(truth, 1))
    *_, heavy = chosen(scaled(ARM, 30.0), made(truth, 1, 30.0))
    for name, width in vars(light.widths).items():
        assert getattr(heavy.widths, name) == pytest.approx(width, rel=0.02), name


def test_the_evidence_is_that_of_a_gaussian(truth):
    """Without rotation or reduction: the likelihood of torques under the prior's covariance."""
    motion = made(truth, 2).select(slice(0, None, 40))
    grams, prior, _ = chosen(ARM, motion)
    fixed = {'load': 0.0, 'friction': 0.01, 'offset': 0.001}
    evidence = []
    direct = []
    for precision in (3.0, 30.0):
        held = {**fixed, 'regularization': precision}
        widths = PriorWidths(**held, slip=0.0)
        climbed = choice._Evidence(grams, prior)
        noise_std = prior.expected_residual
        evidence.append(climbed._fit(widths, noise_std)[2])
        plain = prior.with_widths(widths)
        rows = plain.model.regressor(*plain.model.regressor_blocks(motion))  # (N, n, p)
        information, _ = plain.information(precision)
        covariance = np.linalg.inv(information)
        total = 0.0
        weights = np.tile(6.0 * noise_std**2, len(motion))
        rows = rows.reshape(-1, rows.shape[-1])
        spread = rows @ covariance @ rows.T + np.diag(weights)
        residual = motion.effort.ravel() - rows @ plain.mean
        total = -0.5 * residual @ np.linalg.solve(spread, residual)
        direct.append(total - 0.5 * np.linalg.slogdet(spread)[1])
    assert np.diff(evidence) == pytest.approx(np.diff(direct), rel=1e-6)


def test_chosen_widths_predict_no_worse_than_wrong_ones(truth):
    grams, prior, found = chosen(ARM, made(truth, 1))
    _, _, other = chosen(ARM, made(truth, 5))
    unseen = GramStack.from_motion(prior.model, made(truth, 5))

    def left(widths):
        own = prior.with_widths(widths)
        theta = fit_theta(grams.for_model(own.model), own)
        return unseen.for_model(own.model).squared_residuals(theta).sum()

    best = left(found.widths)
    for wrong in ({'regularization': 1000.0}, {'friction': 2e-4}):
        assert best < left(replace(found.widths, **wrong)), wrong
    assert left(other.widths) == pytest.approx(best, rel=0.1)


@pytest.mark.parametrize('name', ['inertia', 'regularization', 'friction', 'offset'])
def test_no_other_width_makes_the_torques_likelier(truth, name):
    motion = made(truth, 1)
    *_, found = chosen(ARM, motion)
    for factor in (0.6, 1.7):
        *_, other = chosen(ARM, motion, {name: factor * getattr(found.widths, name)})
        # Steps end where the logarithm of the evidence changes by less than 0.05.
        assert other.log_evidence < found.log_evidence + 0.1


def test_a_fixed_width_is_held_and_an_absent_term_is_left_out(truth):
    *_, found = chosen(ARM, made(truth, 1), {'regularization': 7.0, 'offset': 0.004})
    assert (found.widths.regularization, found.widths.offset) == (7.0, 0.004)
    assert found.widths.slip == found.widths.load == 0.0  # not in the model, and not in the arm
    assert 0.001 < found.widths.friction < 0.03


@pytest.mark.parametrize(
    ('given', 'said'),
    [
        ({'regularization': 0.0}, 'must be positive'),
        ({'prior_widths': {'frction': 0.1}}, "no width 'frction'.*friction, offset, slip, load"),
        ({'prior_widths': {'offset': 0.0}}, 'width offset .* must be positive'),
        ({'prior_widths': {'load': float('nan')}}, 'width load .* zero or more'),
    ],
)
def test_widths_that_no_prior_has_are_refused(given, said):
    with pytest.raises(IdentificationError, match=said):
        IdentificationOptions(**given)
