# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Arms from vectors in the order of Gautier and Khalil 1990, eq. (3)."""

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.dynamics.regressor import (
    parameter_vector,
    with_parameter_vector,
)
from franka_dynamics.errors import InertiaError

from ..arms import make_random_arm


def test_an_arm_is_rebuilt_from_its_vector_with_links_and_rotors():
    arm = make_random_arm(4, n=3, rotors=True)
    other = with_parameter_vector(
        make_random_arm(5, n=3), parameter_vector(arm, rotor_inertia=True)
    )
    assert other.links == arm.links
    assert [j.rotor_inertia for j in other.joints] == [j.rotor_inertia for j in arm.joints]


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
