# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Published sets are recognised, exact or rounded; writing errors are named."""

import numpy as np
import pytest

from franka_dynamics.arm import LinkInertia, load, load_hand
from franka_dynamics.arm.inertia import six_from_tensor
from franka_dynamics.arm.sampling import random_arm
from franka_dynamics.spatial import pose_from_xyz_rpy
from franka_dynamics.validation.published_inertials import (
    identify,
    known_sets,
    likeliest_error_pattern,
    Match,
    match,
    mounting_angle,
)

GAZ = load('fer', 'gaz2019')
about_center = LinkInertia.from_center_of_mass


def moved(link, mass=0.0, center=0.0, tensor=0.0):
    return about_center(
        link.mass + mass,
        link.center_of_mass + center,
        link.inertia_at_center_of_mass + tensor * np.eye(3),
    )


@pytest.mark.parametrize(
    ('change', 'expected'),
    [
        ({}, Match.EXACT),
        ({'mass': 1e-7}, Match.EXACT),
        ({'mass': 4e-5}, Match.ROUNDED),
        ({'mass': 6e-5}, Match.DIFFERENT),
        ({'center': 4e-5}, Match.ROUNDED),
        ({'center': 2e-4}, Match.DIFFERENT),
        ({'tensor': 4e-5}, Match.ROUNDED),
        ({'tensor': 6e-5}, Match.DIFFERENT),
    ],
)
def test_four_decimals_are_the_border_between_rounded_and_other(change, expected):
    assert match(moved(GAZ.links[3], **change), GAZ.links[3]) is expected


def test_a_small_link_rounded_to_four_decimals_is_another():
    # Its moments of inertia are 2e-4 kg m^2; rounding changes them by up to a quarter.
    fr3 = load('fr3').links[6]
    rounded = six_from_tensor(fr3.inertia_at_center_of_mass).round(4)
    assert match(about_center(fr3.mass, fr3.center_of_mass, rounded), fr3) is Match.DIFFERENT


def test_given_every_known_set_when_identified_then_it_is_itself():
    sets = known_sets(GAZ)
    assert len(sets) >= 12
    for known in sets:
        assert identify(known.links, sets, known.name).known is known


def random_link(seed):
    """Return the inertia of a few point masses: physical, with no symmetry."""
    return random_arm(np.random.default_rng(seed), joints=1).links[0]


KNOWN, OTHER = random_link(0), random_link(99)
M, C, H = KNOWN.mass, KNOWN.center_of_mass, KNOWN.first_moment
CENTRAL, ABOUT_ORIGIN = KNOWN.inertia_at_center_of_mass, KNOWN.inertia
SIX, NOWHERE, XZY = six_from_tensor(CENTRAL), np.zeros(3), [0, 2, 1]
MADE = {
    'about the frame origin, but URDF': about_center(M, C, ABOUT_ORIGIN),
    'inertia about the centre of mass is given as that': LinkInertia(M, H, CENTRAL),
    'the centre of mass is left out (no': about_center(M, NOWHERE, CENTRAL),
    'left out, the inertia is about the frame origin': about_center(M, NOWHERE, ABOUT_ORIGIN),
    'first moment m c is given as the centre of mass': about_center(M, H, CENTRAL),
    'the inertia about the frame origin as the one about it': about_center(M, H, ABOUT_ORIGIN),
    'inertia are swapped or sign-flipped (x y z taken as z y x)': about_center(
        M, C, CENTRAL[::-1, ::-1]
    ),
    'centre of mass are swapped or sign-flipped (x y z taken as y x z)': about_center(
        M, C[[1, 0, 2]], CENTRAL
    ),
    'axes of the link are swapped or sign-flipped (x y z taken as x z y)': about_center(
        M, C[XZY], CENTRAL[np.ix_(XZY, XZY)]
    ),
    "are in Pinocchio's order": about_center(M, C, SIX[[0, 1, 3, 2, 4, 5]]),
    'opposite sign': about_center(M, C, 2.0 * np.diag(np.diag(CENTRAL)) - CENTRAL),
    'iyy and izz are swapped': about_center(M, C, SIX[[0, 1, 2, 5, 4, 3]]),
    'mass is in grams': about_center(1e3 * M, C, CENTRAL),
    'in millimetres': about_center(M, 1e3 * C, CENTRAL),
    'inertia is in kg mm^2': about_center(M, C, 1e6 * CENTRAL),
    'these are the figures of the next': OTHER,
}


@pytest.mark.parametrize('words', MADE)
def test_a_known_error_pattern_is_named_as_such_and_certain(words):
    pattern = likeliest_error_pattern(MADE[words], KNOWN, {'the next': OTHER})
    assert words in pattern.cause
    assert pattern.certain


@pytest.mark.parametrize('link', [about_center(1.3 * M, C, CENTRAL), OTHER])
def test_a_wrong_number_alone_or_another_link_is_no_error_pattern(link):
    assert likeliest_error_pattern(link, KNOWN, {}) is None


@pytest.mark.parametrize('degrees', [-180, -90, -45, 15, 120])
def test_a_hand_turned_on_the_flange_has_its_angle_found(degrees):
    hand = load_hand('franka_hand')
    turn = pose_from_xyz_rpy(np.zeros(3), (0.0, 0.0, np.radians(degrees)))
    assert mounting_angle(hand.expressed_in(turn), hand) == degrees
