# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The likeliest cause of a difference, on links of no symmetry that could hide it."""

import numpy as np
import pytest

from franka_dynamics.arm import LinkInertia, load_hand
from franka_dynamics.arm.inertia import six_from_tensor
from franka_dynamics.spatial import pose_from_xyz_rpy
from franka_dynamics.validation.published_inertials import (
    likeliest_error_pattern,
    mounting_angle,
)

about_center = LinkInertia.from_center_of_mass


def random_link(seed):
    """Return the inertia of a few point masses: physical, with no symmetry."""
    rng = np.random.default_rng(seed)
    masses, points = rng.uniform(0.2, 1.0, 6), rng.normal(0.0, 0.1, (6, 3))
    mass, center = masses.sum(), masses @ points / masses.sum()
    arms = points - center
    tensor = sum(m * (a @ a * np.eye(3) - np.outer(a, a)) for m, a in zip(masses, arms))
    return about_center(mass, center, tensor)


def tensor(link):
    return link.inertia_at_center_of_mass


MADE = {
    'about the frame origin, but URDF': lambda k: about_center(
        k.mass, k.center_of_mass, k.inertia
    ),
    'centre-of-mass inertia is passed off': lambda k: LinkInertia(
        k.mass, k.first_moment, tensor(k)
    ),
    'the centre of mass is left out (no': lambda k: LinkInertia(k.mass, np.zeros(3), tensor(k)),
    'left out, the inertia is about the frame origin': lambda k: LinkInertia(
        k.mass, np.zeros(3), k.inertia
    ),
    'first moment m c is given as the centre of mass': lambda k: about_center(
        k.mass, k.first_moment, tensor(k)
    ),
    'the inertia about the frame origin as the one about it': lambda k: about_center(
        k.mass, k.first_moment, k.inertia
    ),
    'inertia are swapped or turned (x y z taken as z y x)': lambda k: about_center(
        k.mass, k.center_of_mass, tensor(k)[::-1, ::-1]
    ),
    'centre of mass are swapped or turned (x y z taken as y x z)': lambda k: about_center(
        k.mass, k.center_of_mass[[1, 0, 2]], tensor(k)
    ),
    'axes of the link are swapped or turned (x y z taken as x z y)': lambda k: about_center(
        k.mass, k.center_of_mass[[0, 2, 1]], tensor(k)[np.ix_([0, 2, 1], [0, 2, 1])]
    ),
    "are in Pinocchio's order": lambda k: about_center(
        k.mass, k.center_of_mass, six_from_tensor(tensor(k))[[0, 1, 3, 2, 4, 5]]
    ),
    'opposite sign': lambda k: about_center(
        k.mass, k.center_of_mass, 2.0 * np.diag(np.diag(tensor(k))) - tensor(k)
    ),
    'iyy and izz are swapped': lambda k: about_center(
        k.mass, k.center_of_mass, six_from_tensor(tensor(k))[[0, 1, 2, 5, 4, 3]]
    ),
    'mass is in grams': lambda k: about_center(1e3 * k.mass, k.center_of_mass, tensor(k)),
    'in millimetres': lambda k: about_center(k.mass, 1e3 * k.center_of_mass, tensor(k)),
    'inertia is in kg mm^2': lambda k: about_center(k.mass, k.center_of_mass, 1e6 * tensor(k)),
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
        lambda k: about_center(1.3 * k.mass, k.center_of_mass, tensor(k)),
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
