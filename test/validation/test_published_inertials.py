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
    coarse = LinkInertia.from_center_of_mass(
        fr3.mass, fr3.center_of_mass, six_from_tensor(fr3.inertia_at_center_of_mass).round(4)
    )
    assert match(coarse, fr3) is Match.DIFFERENT


def test_given_every_known_set_when_identified_then_it_is_itself():
    sets = known_sets(GAZ)
    assert len(sets) >= 12
    for known in sets:
        assert identify(known.links, sets, known.name).known is known


def random_link(seed):
    """Return the inertia of a few point masses: physical, with no symmetry."""
    return random_arm(np.random.default_rng(seed), joints=1).links[0]


def made(link, mass=1.0, center=None, tensor=None):
    """Return a link with another mass (a factor), centre of mass or central tensor."""
    return about_center(
        mass * link.mass,
        link.center_of_mass if center is None else center,
        link.inertia_at_center_of_mass if tensor is None else tensor,
    )


def tensor(link):
    return link.inertia_at_center_of_mass


def six(link, order):
    return six_from_tensor(tensor(link))[order]


MADE = {
    'about the frame origin, but URDF': lambda k: made(k, tensor=k.inertia),
    'inertia about the centre of mass is given as that': lambda k: LinkInertia(
        k.mass, k.first_moment, tensor(k)
    ),
    'the centre of mass is left out (no': lambda k: made(k, center=np.zeros(3)),
    'left out, the inertia is about the frame origin': lambda k: made(
        k, center=np.zeros(3), tensor=k.inertia
    ),
    'first moment m c is given as the centre of mass': lambda k: made(k, center=k.first_moment),
    'the inertia about the frame origin as the one about it': lambda k: made(
        k, center=k.first_moment, tensor=k.inertia
    ),
    'inertia are swapped or sign-flipped (x y z taken as z y x)': lambda k: made(
        k, tensor=tensor(k)[::-1, ::-1]
    ),
    'centre of mass are swapped or sign-flipped (x y z taken as y x z)': lambda k: made(
        k, center=k.center_of_mass[[1, 0, 2]]
    ),
    'axes of the link are swapped or sign-flipped (x y z taken as x z y)': lambda k: made(
        k, center=k.center_of_mass[[0, 2, 1]], tensor=tensor(k)[np.ix_([0, 2, 1], [0, 2, 1])]
    ),
    "are in Pinocchio's order": lambda k: made(k, tensor=six(k, [0, 1, 3, 2, 4, 5])),
    'opposite sign': lambda k: made(k, tensor=2.0 * np.diag(np.diag(tensor(k))) - tensor(k)),
    'iyy and izz are swapped': lambda k: made(k, tensor=six(k, [0, 1, 2, 5, 4, 3])),
    'mass is in grams': lambda k: made(k, mass=1e3),
    'in millimetres': lambda k: made(k, center=1e3 * k.center_of_mass),
    'inertia is in kg mm^2': lambda k: made(k, tensor=1e6 * tensor(k)),
    'these are the figures of the next': lambda k: random_link(99),
}


@pytest.mark.parametrize('words', MADE)
def test_a_known_error_pattern_is_named_as_such_and_certain(words):
    known = random_link(0)
    pattern = likeliest_error_pattern(MADE[words](known), known, {'the next': random_link(99)})
    assert words in pattern.cause
    assert pattern.certain


@pytest.mark.parametrize(
    'make',
    [
        lambda k: made(k, mass=1.3),
        lambda k: random_link(2),
    ],
)
def test_a_wrong_number_alone_or_another_link_is_no_error_pattern(make):
    known = random_link(1)
    assert likeliest_error_pattern(make(known), known, {}) is None


@pytest.mark.parametrize('degrees', [-180, -90, -45, 15, 120])
def test_a_hand_turned_on_the_flange_has_its_angle_found(degrees):
    hand = load_hand('franka_hand')
    turn = pose_from_xyz_rpy(np.zeros(3), (0.0, 0.0, np.radians(degrees)))
    assert mounting_angle(hand.expressed_in(turn), hand) == degrees
