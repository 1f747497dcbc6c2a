# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The fault search finds an error from torques, and names parameters it cannot tell apart."""

from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.arm import JointKind, LinkInertia, load
from franka_dynamics.arm.dh_conversion import with_joint_reversed
from franka_dynamics.arm.sampling import random_arm, sample_states
from franka_dynamics.dynamics.model import GRAVITY
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.validation.fault_search import search_faults

from ..arms import with_link, with_row

STATES = 8
EXPLAINED = 1e-6  # the right candidate leaves less of the difference, others 1e-2 and more
VALUE_RTOL = 1e-5


def black_box(arm, states, gravity=GRAVITY):
    """Return the torques of an arm by Pinocchio, which the search does not use."""
    return PinocchioModel(arm, gravity).inverse_dynamics(*states)


def planted(name):
    """Return a random arm, the same with one error, the wrong parameter and its wrong value."""
    arm = random_arm(np.random.default_rng(21), joints=3, kinds=(JointKind.REVOLUTE,))
    link = arm.links[2]
    mass, center, tensor = link.mass, link.center_of_mass, link.inertia_at_center_of_mass
    if name == 'sign':
        return arm, with_joint_reversed(arm, 1), 'joint2: joint sign', -1.0
    if name == 'alpha':  # 2.5 rad from the right value
        value = arm.joints[1].row.alpha + 2.5
        return arm, with_row(arm, 1, alpha=value), 'joint2: alpha', value
    faulty = LinkInertia.from_center_of_mass(1.5 * mass, center, tensor)
    return arm, with_link(arm, 2, faulty), 'joint3: mass', 1.5 * mass


@pytest.mark.parametrize('name', ['sign', 'alpha', 'mass'])
def test_one_fault_in_a_black_box_heads_the_candidates(name):
    arm, faulty, what, value = planted(name)
    states = sample_states(arm, STATES, 1)
    _, candidates = search_faults(arm, states, black_box(faulty, states))
    heads = [one for one in candidates if one.remaining < EXPLAINED]
    assert what in {one.name for one in heads}
    for one in heads:
        # Parameters that explain the torques equally well are named together.
        assert {one.name, *one.alike} == {other.name for other in heads}
        if one.name == what:
            np.testing.assert_allclose(one.fitted, value, rtol=VALUE_RTOL, atol=0.0)
    lefts = [one.remaining for one in candidates]
    assert lefts == sorted(lefts)


def test_a_heavier_wrist_of_a_franka_names_both_its_doubles():
    # Frames 5 and 6 share their origin: a mass there, at a fixed first moment, belongs to either.
    arm = load('fer')
    link = arm.links[4]
    states = sample_states(arm, STATES, 2)
    faulty = with_link(arm, 4, LinkInertia(2.0, link.first_moment, link.inertia))
    _, candidates = search_faults(arm, states, black_box(faulty, states))
    five, six = (f'fer_joint{i}: mass of a table about the frame origin' for i in (5, 6))
    heads = {one.name: one for one in candidates[:2]}
    assert set(heads) == {five, six}
    np.testing.assert_allclose(heads[five].fitted, 2.0, rtol=VALUE_RTOL, atol=0.0)
    assert heads[five].alike == (six,)
    assert candidates[2].remaining > 0.01


def test_a_black_box_that_is_right_has_no_candidates():
    arm = load('fr3')
    states = sample_states(arm, STATES, 4)
    difference, candidates = search_faults(arm, states, black_box(arm, states))
    assert candidates == [] and difference < 1e-12


def test_another_gravity_is_told_from_a_tilted_base():
    # To first order both have the same effect; the changed length of gravity distinguishes them.
    arm = replace(planted('mass')[0], base=np.eye(4))
    states = sample_states(arm, STATES, 5)
    _, candidates = search_faults(arm, states, black_box(arm, states, (0.0, 0.3, -9.81)))
    first, second = candidates[:2]
    assert (first.name, first.alike) == ('arm: gravity y', ())
    assert str(first).startswith('arm: gravity y 0.3 m/s^2 instead of 0 m/s^2 leaves 0.00% of')
    assert first.remaining < EXPLAINED
    assert second.name in ('base: roll', 'joint1: alpha')
    assert second.remaining > 1e-3
    assert 'arm: gravity y' not in second.alike
