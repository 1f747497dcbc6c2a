# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The order of Gautier and Khalil 1990, eq. (3), and its conversions."""

import numpy as np
import pinocchio as pin
import pytest

from franka_dynamics.arm import LinkInertia, load
from franka_dynamics.arm.inertia import PARAMETER_SYMBOLS
from franka_dynamics.dynamics.pinocchio_model import build_pinocchio
from franka_dynamics.dynamics.regressor import (
    parameter_vector,
    PLACE_IN_PINOCCHIO,
    with_parameter_vector,
)
from franka_dynamics.errors import InertiaError

# Pinocchio keeps the tensor at the centre of mass: one subtraction and addition of m c^2 < 1.
ATOL_STEINER = 1e-14


def test_each_symbol_has_its_place_in_a_links_parameter_vector():
    link = load('fer').links[3]
    expected = {
        'XX': link.inertia[0, 0],
        'XY': link.inertia[0, 1],
        'XZ': link.inertia[0, 2],
        'YY': link.inertia[1, 1],
        'YZ': link.inertia[1, 2],
        'ZZ': link.inertia[2, 2],
        'mX': link.first_moment[0],
        'mY': link.first_moment[1],
        'mZ': link.first_moment[2],
        'm': link.mass,
    }
    assert dict(zip(PARAMETER_SYMBOLS, link.parameters())) == expected


def test_named_places_reorder_pinocchios_parameters_to_ours():
    description = load('fer')
    model = build_pinocchio(description)
    for i, link in enumerate(description.links):
        dynamic = model.inertias[i + 1].toDynamicParameters()
        np.testing.assert_allclose(
            dynamic[list(PLACE_IN_PINOCCHIO)], link.parameters(), rtol=0.0, atol=ATOL_STEINER
        )


def test_an_arm_is_rebuilt_from_its_vector_with_links_and_rotors(random_arm):
    arm = random_arm(4, n=3, rotors=True)
    other = with_parameter_vector(random_arm(5, n=3), parameter_vector(arm, rotor_inertia=True))
    assert other.links == arm.links
    assert [j.rotor_inertia for j in other.joints] == [j.rotor_inertia for j in arm.joints]


def test_ten_parameters_per_link_leave_the_rotors_as_they_were(random_arm):
    arm = random_arm(4, n=2, rotors=True)
    other = with_parameter_vector(arm, np.zeros(20))
    assert other.joints == arm.joints


@pytest.mark.parametrize(
    'vector, sentence',
    [
        (np.zeros(69), r'has shape \(69,\), expected \(70,\)'),
        (np.r_[np.zeros(13), np.nan, np.zeros(56)], r'YY_2 of fer is nan'),
    ],
)
def test_a_bad_arm_vector_is_refused_by_name(vector, sentence):
    with pytest.raises(InertiaError, match=sentence):
        with_parameter_vector(load('fer'), vector)


def test_a_link_of_nine_numbers_is_refused_naming_the_order():
    with pytest.raises(InertiaError, match='XX, XY, XZ, YY, YZ, ZZ, mX, mY, mZ, m'):
        LinkInertia.from_parameters(np.zeros(9))


def test_pinocchio_is_refused_a_massless_link_with_a_moment():
    # Regrouped parameters look so; Pinocchio stores a centre of mass and would drop the moment.
    arm = with_parameter_vector(load('fer'), np.ones(70) * (np.arange(70) % 10 != 9))
    with pytest.raises(InertiaError, match='first moment'):
        build_pinocchio(arm)
    assert isinstance(build_pinocchio(load('fer')), pin.Model)
