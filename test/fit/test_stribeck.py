# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Friction that falls with speed is found where there is some, and dissipates at any speed."""

from dataclasses import replace

import numpy as np
import pytest

import franka_dynamics as fd
from franka_dynamics.fit.options import IdentificationOptions
from franka_dynamics.fit.torque_model import FrictionTerms
from franka_dynamics.recordings.preprocessing import to_motion
from franka_dynamics.recordings.replay import predict_torque
from franka_dynamics.urdf.mjcf_writer import mjcf_text
from franka_dynamics.urdf.writer import urdf_text

from ..arms import drawn_around
from ..made_recordings import recorded, smooth_motion
from ..urdf.urdf_texts import six_axes

pytestmark = pytest.mark.usefixtures('remembered_regressors')
ARM = fd.load(six_axes())
SIMPLE = IdentificationOptions(friction='viscous_coulomb')
LIMIT = ARM.limit('effort')
VISCOUS, COULOMB = 0.01 * LIMIT, 0.02 * LIMIT
FALLING = np.array([0.02, 0.02, -0.01, 0.03, 0.0, 0.02]) * LIMIT
SPEED_RAD_S = 0.3


def made(falling, seed):
    """Return a recording of an arm whose friction has `falling` [N m] more at the lowest speed."""
    log = recorded(drawn_around(ARM, 3), *smooth_motion(ARM, 30.0, 100.0, seed, widest=0.8))
    dry = COULOMB + falling / np.exp(np.abs(log.dq) / SPEED_RAD_S)
    friction = VISCOUS * log.dq + np.sign(log.dq) * dry
    noise = 0.002 * LIMIT * np.random.default_rng(seed).normal(size=log.dq.shape)
    return replace(log, effort=log.effort + friction + noise)


def dry_friction(friction, speed):
    """Return Coulomb and Stribeck friction (n,) [N m] of joints that slide at a speed [rad/s]."""
    falling = 0.0 if friction.stribeck is None else friction.stribeck
    return friction.coulomb + falling / np.exp(speed / friction.stribeck_speed)


def test_the_fall_of_friction_is_found():
    result = fd.identify([made(FALLING, 1)], ARM, [ARM], SIMPLE)
    found = result.arm.friction
    # Fitted together with inertias, to torques that are filtered like the motion.
    np.testing.assert_allclose(found.stribeck, FALLING, rtol=0.0, atol=0.006 * LIMIT.max())
    assert np.corrcoef(found.stribeck, FALLING)[0, 1] > 0.9
    held = replace(SIMPLE, prior_widths={'stribeck': 0.0})
    without = fd.identify([made(FALLING, 1)], ARM, [ARM], held)
    assert without.arm.friction.stribeck is None
    other = to_motion(made(FALLING, 2))
    assert predict_torque(result.arm, other).error.E < predict_torque(without.arm, other).error.E


def test_identified_friction_dissipates_at_any_speed():
    # Friction that at low speed pushes: what is fitted may not.
    pushes = -1.5 * COULOMB
    accepts = replace(SIMPLE, accept_unsound=True)
    result = fd.identify([made(pushes, 1)], ARM, [ARM], accepts)
    for arm in (result.arm, result.published_fit.arm):
        assert arm.friction.stribeck is not None and arm.friction.stribeck.min() < 0.0
        for speed in (0.0, 0.01, 0.1, 0.5, 2.0, 100.0):
            assert (dry_friction(arm.friction, speed) >= -1e-9 * LIMIT).all()


def test_sums_with_bounds_belong_to_one_set_of_coefficients():
    terms = FrictionTerms(3, slip_reaches=(0.004,), stribeck=True, load_dependent=True)
    drawn = np.random.default_rng(0).normal(size=len(terms.parameter_names))
    back = terms.from_bounded_sums(terms.bounded_sums @ drawn)
    np.testing.assert_allclose(back, drawn, rtol=0.0, atol=1e-14)
    plain = replace(terms, stribeck=False)
    np.testing.assert_array_equal(plain.bounded_sums, np.eye(len(plain.parameter_names)))


def test_written_files_say_that_they_cannot_hold_it():
    fer = fd.load('fer')
    friction = fd.arm.ViscousCoulombFriction(*np.ones((3, 7)), stribeck=np.full(7, 0.125))
    for text in (write(replace(fer, friction=friction)) for write in (mjcf_text, urdf_text)):
        assert 'falls with the speed' in text and '0.125' in text
