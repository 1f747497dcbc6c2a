# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Loads of known mass, centre and inertia, found again from simulated recordings."""

from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.arm import LinkInertia, load, ViscousCoulombFriction
from franka_dynamics.arm.payload import payload_array
from franka_dynamics.arm_io import load_arm
from franka_dynamics.errors import IdentificationError
from franka_dynamics.identification.payload import _estimate, identify_payload
from franka_dynamics.recordings.preprocessing import prepare

from ..agreement import refuses
from ..made_recordings import recorded, slow_work, smooth_motion
from ..urdf.urdf_texts import six_axes

FER = load('fer')
ONE_KG = LinkInertia.from_center_of_mass(1.0, [0.02, -0.03, 0.08], np.diag([3e-3, 4e-3, 2e-3]))


def body_of(found):
    mass, *rest = found.payload
    return LinkInertia.from_center_of_mass(mass, rest[:3], rest[3:])


def with_and_without(simulate, body, friction, **kwargs):
    """Return a list with the FER's motion without a load, and one with its motion with it."""
    return [
        [prepare(simulate(arm, rate=100.0, friction=friction, seed=seed, **kwargs))]
        for seed, arm in enumerate((FER, FER.with_payload(body)))
    ]


def test_a_swung_kilogram_is_identified_with_its_inertia(simulate):
    motions = with_and_without(simulate, ONE_KG, FER.friction, duration=15.0, noise=0.2)
    found, truth = identify_payload(*motions, FER), payload_array(ONE_KG)
    assert np.abs((found.values - truth) / found.std).max() < 4.0  # of ten numbers
    assert found.values[0] == pytest.approx(1.0, rel=0.02)
    np.testing.assert_allclose(found.values[1:4], truth[1:4], rtol=0.0, atol=0.005)
    assert found.inertia_shown and body_of(found).is_physical()


@pytest.mark.parametrize('known', [False, True])
def test_rotors_behind_gears_are_no_part_of_a_load(tmp_path, known):
    (tmp_path / 'six.urdf').write_text(six_axes(), encoding='utf-8')
    arm = load_arm(tmp_path / 'six.urdf')
    joints = zip(arm.joints, (3.0, 3.0, 2.0, 0.6, 0.6, 0.6))
    geared = replace(arm, joints=tuple(replace(one, rotor_inertia=own) for one, own in joints))
    body = LinkInertia.from_center_of_mass(2.0, (0.0, 0.0, 0.08), 2e-3 * np.eye(3))
    rubbing = 0.02 * arm.limit('effort')
    friction = ViscousCoulombFriction(rubbing, rubbing, np.zeros(6))
    without, loaded = (
        [
            prepare(
                recorded(
                    one,
                    *smooth_motion(arm, 20.0, 100.0, seed, 0.6),
                    friction=friction,
                    noise=0.3,
                    rng=np.random.default_rng(seed),
                )
            )
        ]
        for seed, one in enumerate((geared, geared.with_payload(body)))
    )
    found, truth = identify_payload(without, loaded, geared if known else arm), payload_array(body)
    np.testing.assert_allclose(found.values[:4], truth[:4], rtol=0.0, atol=0.005)
    np.testing.assert_allclose(found.values[4:], truth[4:], rtol=0.0, atol=0.03)


def test_slow_work_gives_mass_and_centre_and_no_inertia_that_it_does_not_show():
    motions = (
        [prepare(slow_work(arm, FER.friction, seed, duration=20.0))]
        for seed, arm in ((3, FER), (4, FER.with_payload(ONE_KG)))
    )
    found, truth = identify_payload(*motions, FER), payload_array(ONE_KG)
    assert np.abs((found.values - truth) / found.std).max() < 3.0
    assert found.values[0] == pytest.approx(1.0, rel=0.02)
    assert not found.inertia_shown and not any(found.payload[4:])


def test_a_payload_is_found_with_another_arm_file(simulate):
    # The arm's friction and inertias are estimated too, so that another set gives the same load.
    motions = with_and_without(simulate, ONE_KG, FER.friction, duration=20.0, noise=0.1)
    found = identify_payload(*motions, load('fer', 'franka_description'))
    np.testing.assert_allclose(found.values[:4], payload_array(ONE_KG)[:4], rtol=0.0, atol=0.005)


@pytest.mark.parametrize(('without', 'loaded'), [(0, 1), (1, 0)])
def test_one_of_two_recordings_is_refused(simulate, without, loaded):
    motion = prepare(simulate(FER))
    with refuses(IdentificationError, 'without', 'with'):
        identify_payload([motion] * without, [motion] * loaded, FER)


def test_an_estimate_of_no_real_body_gives_one_with_its_mass_and_centre():
    body = LinkInertia.from_center_of_mass(1.0, [0.0, 0.0, 0.1], np.diag([1e-3, 1e-3, 4e-3]))
    assert not body.is_physical()
    covariance = 1e-6 * np.eye(10)
    found = _estimate(body.parameters(), covariance, np.ones(7), 18.0)
    assert body_of(found).is_physical()
    np.testing.assert_allclose(found.payload[:4], found.values[:4], rtol=0.0, atol=1e-12)
    # The second moments along x, y and z are 2, 2 and -1 g m^2; the negative one is raised to
    # zero.
    np.testing.assert_allclose(found.payload[[4, 7, 9]], [2e-3, 2e-3, 4e-3], rtol=0.0, atol=2e-6)


def test_a_light_load_is_found_on_an_arm_without_torque_limits(simulate):
    # A former version limited friction to 2 % of 1 N m without torque limits and missed the load.
    rubbing = ViscousCoulombFriction(np.full(7, 3.0), np.full(7, 3.0), np.zeros(7))
    body = LinkInertia.from_center_of_mass(0.3, [0.0, 0.0, 0.08], 5e-4 * np.eye(3))
    joints = (replace(one, limits=replace(one.limits, effort=np.inf)) for one in FER.joints)
    motions = with_and_without(simulate, body, rubbing, duration=20.0, noise=0.2)
    found = identify_payload(*motions, replace(FER, joints=tuple(joints)))
    assert found.values[0] == pytest.approx(0.3, abs=0.03)
    assert found.std[0] < 0.03
