# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Published sets are recognised, exact or rounded."""

import numpy as np
import pytest

from franka_dynamics.arm import LinkInertia, load
from franka_dynamics.arm.inertia import six_from_tensor
from franka_dynamics.validation.published import known_sets, Match, match, nearest_set

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
        assert nearest_set(known.links, sets, known.name).known is known
