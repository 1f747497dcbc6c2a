# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Friction that grows with the load is found where there is some, and nowhere else."""

from dataclasses import replace

import numpy as np
import pytest

import franka_dynamics as fd
from franka_dynamics.arm import MaxwellSlipFriction
from franka_dynamics.fit.choice import choose_widths
from franka_dynamics.fit.options import IdentificationOptions
from franka_dynamics.fit.prior import Prior
from franka_dynamics.fit.summary import summarise_recording
from franka_dynamics.fit.torque_model import FrictionTerms
from franka_dynamics.recordings.preprocessing import to_motion
from franka_dynamics.recordings.replay import predict_torque
from franka_dynamics.report import identification
from franka_dynamics.urdf.mjcf_writer import mjcf_text
from franka_dynamics.urdf.writer import urdf_text

from ..arms import drawn_around
from ..made_recordings import recorded, smooth_motion
from ..urdf.urdf_texts import six_axes

pytestmark = pytest.mark.usefixtures('remembered_regressors')
ARM = fd.load(six_axes())
SIMPLE = IdentificationOptions(friction='viscous_coulomb')
WIDTH_RAD_S = 0.01
SHARE = np.array([0.0, 0.2, 0.15, 0.25, 0.1, 0.1])
VISCOUS = 0.01 * ARM.limit('effort')
COULOMB = 0.02 * ARM.limit('effort')


def made(truth, share, seed, duration=30.0):
    """Return a recording of an arm whose joints lose a share of the rigid bodies' torque."""
    path = smooth_motion(ARM, duration, 100.0, seed, widest=0.8)
    log = recorded(truth, *path)  # without friction
    dq = log.dq
    slides = np.tanh(dq / WIDTH_RAD_S)
    friction = VISCOUS * dq + slides * (COULOMB + share * np.abs(log.effort))
    noise = 0.002 * ARM.limit('effort') * np.random.default_rng(seed).normal(size=dq.shape)
    return replace(log, effort=log.effort + friction + noise)


@pytest.fixture(scope='module')
def truth():
    return drawn_around(ARM, 3)


@pytest.fixture(scope='module')
def identified(truth):
    return fd.identify([made(truth, SHARE, 1)], ARM, [ARM], SIMPLE)


@pytest.fixture(scope='module')
def without_load(truth):
    held = replace(SIMPLE, prior_widths={'load': 0.0})
    return fd.identify([made(truth, SHARE, 1)], ARM, [ARM], held)


def test_the_share_of_the_load_is_found(identified, without_load, truth):
    friction = identified.arm.friction
    # The first and the last joint carry hardly anything, which does not show.
    own = slice(1, 5)
    np.testing.assert_allclose(friction.load_dependent[own], SHARE[own], rtol=0.0, atol=0.03)
    assert (friction.load_dependent >= 0.0).all() and friction.covariance.shape == (6, 4, 4)
    found = identified.arm_errors.test.E
    assert found < 0.8 * without_load.arm_errors.test.E
    # What was found predicts another motion, by this arm's own torques.
    other = to_motion(made(truth, SHARE, 2))
    assert predict_torque(identified.arm, other).error.E < 1.5 * found


def test_it_is_said_in_report_and_arm_file(identified, tmp_path):
    said = ' '.join(identification.detail_sentences(identified))
    assert 'grows with the load' in said
    identified.save(tmp_path / 'own.yaml', anyway=True)
    back = fd.load(tmp_path / 'own.yaml')
    assert back.friction == identified.arm.friction


@pytest.mark.parametrize('seed', [1, 2, 3])
def test_it_is_not_chosen_without_a_reason(truth, seed):
    result = fd.identify([made(truth, 0.0 * SHARE, seed)], ARM, [ARM], SIMPLE)
    assert result.arm.friction.load_dependent is None
    assert 'fl_1' not in result.estimate.model.parameter_names


def locking(truth):
    """Return a recording of an arm whose second joint loses nearly all of its load."""
    return made(truth, np.where(np.arange(6) == 1, 0.97, SHARE), 1, 15.0)


def with_a_wrong_gain(truth):
    """Return a recording of an arm that loses a share, with another unit at the third joint."""
    log = made(truth, SHARE, 1, 15.0)
    return replace(log, effort=log.effort * np.where(np.arange(6) == 2, 0.4, 1.0))


@pytest.mark.parametrize(
    'faulty', [locking, pytest.param(with_a_wrong_gain, marks=pytest.mark.long)]
)
def test_wrong_torques_are_not_taken_for_a_load(truth, faulty):
    accepts = replace(SIMPLE, accept_unsound=True)
    result = fd.identify([faulty(truth)], ARM, [ARM], accepts)
    assert result.arm.friction.load_dependent is None


@pytest.mark.parametrize('name', ['fer_recording', 'fer_1khz_recording'])
def test_real_fers_do_not_ask_for_it(request, name):
    fer = fd.load('fer')
    recording = request.getfixturevalue(name)
    model = IdentificationOptions().torque_model(fer)
    load = model.base.values()
    found = summarise_recording(
        model, IdentificationOptions(), recording, 'log', summed=model.with_load_friction(load)
    )
    prior = Prior.centered_at(fer, model.with_load_friction(load), found.grams.max_torque)
    assert choose_widths(found.grams, prior, {}).widths.load == 0.0


def test_bounds_that_a_fit_keeps_to_rounding_are_accepted():
    terms = FrictionTerms(3, load_dependent=True)
    table = np.ones((3, terms.term_count))
    table[:, -1] = -4.4e-17, 0.3, 0.9 + 1e-12  # 4.4e-17 is that of a log of a real arm
    found = terms.friction_model(table.ravel(), np.eye(table.size))
    np.testing.assert_array_equal(found.load_dependent, [0.0, 0.3, 0.9])
    np.testing.assert_array_equal(found.viscous, 1.0)


def test_a_replay_predicts_the_load_of_a_known_arm(truth):
    friction = MaxwellSlipFriction(
        VISCOUS, COULOMB, 0.0 * SHARE, np.zeros((1, 6)), [0.1], WIDTH_RAD_S, load_dependent=SHARE
    )
    motion = to_motion(made(truth, SHARE, 4))
    known = predict_torque(replace(truth, friction=friction), motion)
    light = replace(friction, load_dependent=None)
    without = predict_torque(replace(truth, friction=light), motion)
    assert known.error.E < 0.1 * without.error.E


def test_written_files_say_what_they_cannot_hold():
    share = np.full(7, 0.125)
    fer = fd.load('fer')
    parts = (np.ones(7), np.ones(7), np.zeros(7))
    friction = fd.arm.ViscousCoulombFriction(*parts, load_dependent=share)
    arm = replace(fer, friction=friction)
    for text in (mjcf_text(arm), urdf_text(arm)):
        assert 'grows with the load' in text and '0.125' in text
    light = replace(arm, friction=replace(friction, load_dependent=None))
    assert 'Left out' not in mjcf_text(light)
