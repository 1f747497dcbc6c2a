# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""ArmDescription: inconsistent arms are refused; velocity bounds and physical consistency."""

from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.arm import (
    LinkInertia,
    load,
)
from franka_dynamics.dynamics.sampling import sample_states

from ..arms import with_link


def test_fr3_velocity_bounds_near_limits_are_frankas_formula():
    arm = load('fr3')
    off = np.array([0.6599, 0.2517, 0.2000, 0.3533, 0.5757, 0.4878, 0.4628])
    dec, distance = np.array([6, 2.585, 3.5, 4, 17, 5.5, 17]), 0.15
    braking = np.maximum(0.0, -off + np.sqrt(2.0 * dec * distance))
    expected = np.minimum(arm.limit('velocity'), braking)
    _, upper = arm.velocity_bounds(arm.limit('upper') - distance)
    lower, _ = arm.velocity_bounds(arm.limit('lower') + distance)
    np.testing.assert_allclose((upper, -lower), (expected, expected), rtol=1e-12, atol=0.0)


@pytest.mark.parametrize('beyond', [0.0, 0.2])
def test_fr3_velocity_bounds_at_a_limit_allow_only_the_way_back(beyond):
    arm = load('fr3')
    lower, upper = arm.velocity_bounds(arm.limit('upper') + beyond)
    np.testing.assert_array_equal(upper, np.zeros(7))
    assert (lower < -2.0).all()


def test_franka_descriptions_link_4_is_named_with_its_margin():
    # A known error of franka_description: the triangle inequality is missed by 1.1e-3.
    (sentence,) = load('fer', 'franka_description').inconsistencies()
    assert 'fer_joint4 is not physical' in sentence
    assert 'miss the triangle inequality by 0.0011' in sentence


@pytest.mark.parametrize(
    ('mass', 'density', 'count'), [(4000, 22_500, 0), (4000, 22_700, 1), (900, 22_700, 0)]
)
def test_a_heavy_ball_of_more_than_osmiums_density_is_named(mass, density, count):
    radius = (mass / density / (4.0 / 3.0 * np.pi)) ** (1.0 / 3.0)
    ball = LinkInertia.from_center_of_mass(
        mass, (0.1, 0.2, -0.3), 0.4 * mass * radius**2 * np.eye(3)
    )
    rpr = load('rpr')
    found = with_link(rpr, 1, ball).inconsistencies()
    assert len(found) == count
    assert all(f'behind {rpr.joint_names[1]} is denser than any metal' in one for one in found)


@pytest.mark.parametrize('name', ['fer', 'fr3', 'stanford'])
def test_arms_are_equal_by_value_and_hash_alike(name):
    arm, again = load(name), load(name)
    assert arm == again and hash(arm) == hash(again) and len({arm, again}) == 1
    other = with_link(arm, 0, arm.links[1])
    assert arm != other and arm != replace(arm, name='another') and arm != name
    friction = arm.friction
    if friction is not None:
        first = next(iter(vars(friction)))
        doubled = replace(friction, **{first: 2.0 * np.asarray(getattr(friction, first))})
        assert replace(arm, friction=doubled) != arm


def test_states_are_drawn_for_a_name():
    for found, expected in zip(sample_states('fer', 3), sample_states(load('fer'), 3)):
        np.testing.assert_array_equal(found, expected)
    assert sample_states('fer', 0).q.shape == (0, 7)
