# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The prior, sums that give what samples give, deviations, and the consistent, physical fit."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from franka_dynamics.arm import (
    available_sets,
    LinkInertia,
    load,
    ViscousCoulombFriction,
)
from franka_dynamics.arm.hands import load_hand
from franka_dynamics.demo.random_plant import random_plant
from franka_dynamics.errors import IdentificationError
from franka_dynamics.fit import consistent_fit, least_squares
from franka_dynamics.fit import prior as priors
from franka_dynamics.fit.options import IdentificationOptions
from franka_dynamics.fit.prior import Prior, with_minimum_gyration
from franka_dynamics.fit.torque_model import TorqueModel
from franka_dynamics.recordings.preprocessing import to_motion

from ..agreement import refuses
from ..arms import drawn_around, with_link

FER = load('fer')
MODEL = TorqueModel.for_arm(FER)
PRIOR = Prior.centered_at(FER, MODEL, np.ones(7))
B = len(MODEL.base)
NOISE = np.where(FER.limit('effort') > 50.0, 0.3, 0.1)
FRICTION = np.tile([0.3, 0.3, 0.0], 7)


def divergence(link, reference):
    relative = np.linalg.solve(reference.pseudo_inertia(), link.pseudo_inertia())
    return np.trace(relative) - np.linalg.slogdet(relative)[1] - 4.0


def test_the_distance_of_a_small_change_is_twice_the_divergence():
    rng = np.random.default_rng(0)
    for i, own in enumerate(PRIOR.reference.links):
        # Covariances are those of links of 5 cm or more, as real ones are.
        link = with_minimum_gyration(own, 0.05)
        block = slice(10 * i, 10 * i + 10)
        covariance = PRIOR.covariance[block, block]
        direction = np.linalg.cholesky(covariance) @ rng.standard_normal(10)
        direction *= 1e-4 / np.sqrt(direction @ np.linalg.solve(covariance, direction))
        changed = LinkInertia.from_parameters(link.parameters() + direction)
        # A third-order remainder of 1e-12 against 1e-8.
        assert 2.0 * divergence(changed, link) == pytest.approx(1e-8, rel=1e-3)


def test_a_rotor_is_held_to_100_rad_per_s2_at_the_joints_limit():
    prior = Prior.centered_at(FER, TorqueModel.for_arm(FER, rotor_inertia=True), np.ones(7))
    found = np.sqrt(np.diag(prior.covariance)[70:])
    np.testing.assert_allclose(found, FER.limit('effort') / 100.0, rtol=1e-12)


def test_the_prior_is_the_least_over_arms_with_these_parameters():
    deviations = PRIOR.std[:B]
    change = 0.01 * np.random.default_rng(1).standard_normal(B) * deviations
    # The smallest standard change with these base parameters, in units of the prior.
    whitened = MODEL.base.matrix @ np.linalg.cholesky(PRIOR.covariance)
    smallest, *_ = np.linalg.lstsq(whitened / deviations[:, None], change / deviations, rcond=None)
    found = np.sum((PRIOR.sqrt_precision @ change) ** 2)
    assert found == pytest.approx(smallest @ smallest, rel=1e-6)


@pytest.mark.parametrize('name', ['gaz2019', 'ledezma2021', 'franka_description'])
def test_a_minimum_gyration_keeps_masses_centres_and_is_physical(name):
    arm = load('fer', name)
    for link, own in zip(arm.map_links(with_minimum_gyration).links, arm.links):
        central = link.inertia_at_center_of_mass
        second = 0.5 * np.trace(central) * np.eye(3) - central
        assert np.linalg.eigvalsh(second)[0] >= own.mass * 0.01**2 * (1.0 - 1e-9)
        assert link.mass == own.mass
        np.testing.assert_array_equal(link.first_moment, own.first_moment)


def test_a_link_without_mass_has_no_minimum_gyration():
    with refuses(IdentificationError, 'mass'):
        with_minimum_gyration(LinkInertia.zero())


def test_a_torque_limit_of_zero_is_no_limit():
    arm = load('fer')
    joints = tuple(replace(one, limits=replace(one.limits, effort=0.0)) for one in arm.joints)
    unlimited = replace(arm, joints=joints)
    model = IdentificationOptions().torque_model(unlimited)
    first, second = [
        Prior.centered_at(unlimited, model, largest * np.ones(7)) for largest in (1.0, 2.0)
    ]
    assert (first.effort_limit >= 1.0).all()
    np.testing.assert_allclose(second.effort_limit, 2.0 * first.effort_limit, rtol=1e-15)


def test_links_without_mass_are_named_with_their_joints_and_file():
    arm = replace(with_link(FER, 2, LinkInertia.zero()), file='own.yaml')
    with refuses(IdentificationError, 'own.yaml', 'fer_joint3', 'unmeasured'):
        Prior.centered_at(arm, MODEL, np.ones(7))


@pytest.fixture(scope='module')
def samples(simulate):
    """Return the sums of a slow minute, their torques to be replaced, and roots of the sums."""
    sums = least_squares.GramStack.from_motion(MODEL, to_motion(simulate(FER, duration=60.0)))
    values, axes = np.linalg.eigh(sums.matrices[..., : B + 21, : B + 21])
    return sums, axes * np.sqrt(np.maximum(values, 0.0))[..., None, :]


def drawn(samples, arm, rng):
    """Return the sums of an arm's torques with noise, and the arm's parameters."""
    sums, roots = samples
    truth = np.concatenate([MODEL.base.values(arm), FRICTION])
    p = len(truth)
    matrices = sums.matrices.copy()
    # Noise is correlated over SAMPLES_PER_INDEPENDENT_SAMPLE samples.
    size = NOISE * np.sqrt(least_squares.SAMPLES_PER_INDEPENDENT_SAMPLE)
    noise = size[:, None] * np.einsum('kjab,kjb->kja', roots, rng.standard_normal(roots.shape[:3]))
    known = matrices[..., :p, :p] @ truth
    matrices[..., :p, -1] = matrices[..., -1, :p] = known + noise
    matrices[..., -1, -1] = (known + 2.0 * noise) @ truth + np.outer(sums.sample_counts, NOISE**2)
    return replace(sums, matrices=matrices), truth


def scores(sums, truth, prior, precision):
    """Return errors over standard deviations: of the prior as it is, and as stated, (2, b)."""
    theta = least_squares.fit_theta(sums, prior, precision, NOISE)
    covariance, _ = least_squares.posterior_covariance(sums, prior, precision, NOISE, theta)
    stated = np.sqrt(np.diag(covariance))
    triangle, _ = least_squares.weighted_equations(sums, prior, NOISE)
    known, _ = prior.information(precision)
    claimed = np.sqrt(np.diag(np.linalg.inv(triangle.T @ triangle + known)))
    return [(np.abs(theta - truth) / one)[:B] for one in (claimed, stated)]


@pytest.mark.parametrize('deviation', [0.03, 0.3])
def test_three_deviations_cover_an_arm_that_a_prior_misses(samples, deviation):
    rng = np.random.default_rng(0)
    found = []
    for seed in range(20):
        one = drawn(samples, drawn_around(FER, seed, size=deviation), rng)
        # The prior is a third of the true relative deviation wide.
        found.append(scores(*one, PRIOR, 10.0 / deviation**2))
    claimed, shown = np.swapaxes(found, 0, 1)
    assert np.mean(claimed > 3.0) > 0.05
    # 0.27 % should be outside; draws of one arm are not independent, so that 1 % is allowed.
    assert np.mean(shown > 3.0) <= 0.01
    # The deviations are not useless: a third should exceed one, and a twentieth at least does.
    assert np.mean(shown > 1.0) > 0.05


def test_the_precision_shown_follows_how_far_off_an_arm_is(samples):
    rng = np.random.default_rng(4)
    for deviation in (0.03, 0.1, 0.3):
        # Drawn from the distribution to which the divergence is a prior, of precision 1 / d^2.
        arms = [random_plant(FER, seed, deviation).arm for seed in range(9)]
        all_sums = [drawn(samples, arm, rng)[0] for arm in arms]
        fits = [least_squares.weighted_equations(sums, PRIOR, NOISE) for sums in all_sums]
        found = [priors.starting_set_precision(one, PRIOR) for one in fits]
        precisions = np.array([(one.masses, one.inertias) for one in found])
        masses, inertias = np.median(precisions, axis=0) * deviation**2
        # The smallest precision that agrees with the samples is mostly below the true precision.
        assert 0.3 < masses < 1.2 and 0.03 < inertias < 1.2


@pytest.mark.parametrize(('truth', 'start'), list(permutations(available_sets('fer'), 2)))
def test_shipped_sets_cover_each_other_nearly(samples, truth, start):
    prior = Prior.centered_at(load('fer', start), MODEL, np.ones(7))
    sums, theta = drawn(samples, load('fer', truth), np.random.default_rng(1))
    claimed, shown = scores(sums, theta, prior, 100.0)
    # franka_description differs from the others by more than 100 % of inertias, so that some of
    # the 43 parameters stay outside.
    assert np.mean(shown > 3.0) <= 0.1 and np.mean(claimed > 3.0) >= np.mean(shown > 3.0)


RUBBING = ViscousCoulombFriction(np.full(7, 0.2), np.full(7, 0.3), np.full(7, 0.01))
SLIPPING = IdentificationOptions().torque_model(FER)


@pytest.fixture(scope='module')
def motion(simulate):
    return to_motion(simulate(FER, duration=24.0, friction=RUBBING, noise=0.2))


@pytest.fixture(scope='module')
def sums(motion):
    return least_squares.GramStack.from_motion(SLIPPING, motion, period=np.inf)


def test_a_fit_by_sums_is_the_fit_by_the_samples(motion, sums):
    prior = Prior.centered_at(FER, SLIPPING, sums.max_torque)
    deviations = np.sqrt(6.0) * prior.expected_residual
    rows = SLIPPING.regressor(*SLIPPING.regressor_blocks(motion)) / deviations[:, None]
    right = motion.effort / deviations
    known = np.linalg.cholesky(prior.information(1.0)[0]).T
    pull = known @ prior.mean
    stacked = np.concatenate([rows.reshape(-1, rows.shape[-1]), known])
    theta, *_ = np.linalg.lstsq(stacked, np.append(right.ravel(), pull), rcond=None)
    found = least_squares.fit_theta(sums, prior, 1.0, prior.expected_residual)
    np.testing.assert_allclose(found / prior.std, theta / prior.std, atol=1e-6)
    rms = np.sqrt(np.mean((motion.effort - SLIPPING.torque(motion, theta)) ** 2, axis=0))
    np.testing.assert_allclose(least_squares.rms_residuals(sums, theta), rms, rtol=1e-6)
    triangle, effort = least_squares.weighted_equations(sums, prior, prior.expected_residual)
    expected = rows.reshape(len(right.ravel()), -1)
    gradient = triangle.T @ (triangle @ found - effort)
    other = expected.T @ (expected @ found - right.ravel())
    size = np.abs(expected).T @ np.abs(right.ravel())
    np.testing.assert_allclose(gradient / size, other / size, atol=1e-6)


def test_friction_alone_brakes_and_leaves_the_inertias(sums):
    prior = Prior.centered_at(FER, SLIPPING, sums.max_torque)
    theta = least_squares.fit_friction(sums, prior, prior.expected_residual)
    b = len(SLIPPING.base)
    np.testing.assert_array_equal(theta[:b], prior.mean[:b])
    assert (theta[b:][SLIPPING.friction.nonnegative_mask] >= 0.0).all()
    assert np.abs(theta[b:].reshape(7, -1)[:, 0] - 0.2).max() < 0.15


def test_sums_of_two_recordings_add_up(motion, sums):
    middle = len(motion) // 2
    pieces = [
        least_squares.GramStack.from_motion(SLIPPING, motion.select(chosen), period=np.inf)
        for chosen in (slice(middle), slice(middle, None))
    ]
    together = pieces[0] + pieces[1]
    assert together.sample_count == sums.sample_count
    # Each joint's largest value comes from either piece.
    assert len({tuple(one.max_torque) for one in (*pieces, sums)}) == 3
    np.testing.assert_array_equal(together.max_torque, np.abs(motion.effort).max(axis=0))
    p = len(SLIPPING.parameter_names)
    own, whole = (one.matrices.sum(axis=0)[:, :p, :p] for one in (together, sums))
    np.testing.assert_allclose(own, whole, rtol=0.0, atol=1e-9 * np.abs(whole).max())


def test_a_motion_that_repeats_is_left_out_with_all_its_repeats(simulate):
    once = simulate(FER, duration=10.0)  # its lowest harmonic has this period
    motion = to_motion(simulate(FER, duration=24.0))
    assert least_squares.repetition_period(motion) == pytest.approx(once.duration, abs=0.05)
    fold = least_squares.fold_numbers(motion, 10.0)
    assert set(fold) == set(range(least_squares.FOLD_COUNT))
    early, late = (np.flatnonzero(np.isclose(motion.time, t, atol=0.01))[0] for t in (3.0, 13.0))
    assert fold[early] == fold[late]
    # By time they are in different folds.
    by_time = least_squares.fold_numbers(motion, np.inf)
    assert by_time[early] != by_time[late]


def test_a_motion_that_does_not_repeat_has_no_period(motion):
    drifting = motion.q + 0.05 * motion.time[:, None] * np.std(motion.q, axis=0)
    assert least_squares.repetition_period(replace(motion, q=drifting)) == np.inf
    assert least_squares.repetition_period(motion.select(slice(0, 200))) == np.inf


JOINT_FRICTION = ViscousCoulombFriction(np.full(7, 0.2), np.full(7, 0.3), np.full(7, -0.02))


def equations_of(simulate, model, arm, friction=JOINT_FRICTION, noise=0.01, **kwargs):
    """Return weighted equations of a motion whose torques are exactly the model's of `arm`."""
    motion = to_motion(simulate(FER, **kwargs))
    rubbing = np.stack([friction.viscous, friction.coulomb, friction.offset], axis=1)
    theta = np.concatenate([model.base.values(arm), rubbing.ravel()])
    torque = model.torque(motion, theta)
    exact = replace(motion, effort=torque, effort_unfiltered=torque)
    sums = least_squares.GramStack.from_motion(model, exact)
    prior = Prior.centered_at(FER, model, np.ones(7))
    deviations = np.full(7, noise / np.sqrt(least_squares.SAMPLES_PER_INDEPENDENT_SAMPLE))
    return least_squares.weighted_equations(sums, prior, deviations), theta


def fitted(simulate, arm, *, start=FER, **kwargs):
    """Return the arm fitted to torques of `arm`, with a prior of precision one."""
    equations, _ = equations_of(simulate, MODEL, arm, **kwargs)
    return consistent(equations, Prior.centered_at(start, MODEL, np.ones(7)), 1.0, start)


def consistent(equations, prior, precision, start):
    links = consistent_fit.PhysicalConstraints.from_prior(prior, start)
    fitted = consistent_fit.fit_consistent_parameters(equations, prior, links, precision)
    size = len(prior.mean)
    return consistent_fit.arm_from_fit(start, prior, fitted, np.zeros((size, size)))


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
    found = np.append(model.base.values(arm), rubbing)
    b = len(model.base)
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


def test_efforts_without_any_noise_give_finite_deviations(fer_recording):
    arm = PRIOR.reference  # from which the starting set differs by nothing
    model = TorqueModel.for_arm(arm)
    motion = to_motion(fer_recording)
    theta = np.append(model.base.values(), np.zeros(21))
    grams = least_squares.GramStack.from_motion(
        model, replace(motion, effort=model.torque(motion, theta))
    )
    prior = Prior.centered_at(arm, model, grams.max_torque)
    fitted = least_squares.fit_theta(grams, prior)
    ratios = least_squares.std_to_prior_ratios(grams, prior, fitted)
    assert np.isfinite(ratios).all() and (ratios <= 1.0 + 1e-9).all()
