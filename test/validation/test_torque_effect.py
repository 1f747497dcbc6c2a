# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What a difference of parameters does to torque: the difference of two models' torques."""

from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.arm import LinkInertia, load
from franka_dynamics.arm.sampling import sample_states
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.validation.torque_effect import effect_of_links

TILTED = (3.0, -5.0, -7.9)
SUM_ROUNDING = 1e-12  # N m: two torques of 100 N m are subtracted here, their parameters there


def changed(description, i, link):
    links = list(description.links)
    links[i] = link
    return links


def gap(one, other, gravity):
    """Return the largest torque difference of two arms by Pinocchio, state by state."""
    models = [PinocchioModel(arm, gravity) for arm in (one, other)]
    states = sample_states(one, 200, 0)
    torques = [[model.inverse_dynamics(*state) for state in zip(*states)] for model in models]
    return np.abs(np.subtract(*torques)).max(axis=0)


@pytest.mark.parametrize('i', range(7))
def test_a_heavier_links_effect_is_that_of_two_models(i):
    fr3 = load('fr3')
    links = changed(fr3, i, LinkInertia.from_parameters(1.1 * fr3.links[i].parameters()))
    effect = effect_of_links(fr3, links, fr3.links)
    other = replace(fr3, links=tuple(links))
    upright = gap(fr3, other, (0.0, 0.0, -9.81))
    np.testing.assert_allclose(effect.upright, upright.max(), rtol=0.0, atol=SUM_ROUNDING)
    np.testing.assert_allclose(
        effect.tilted, gap(fr3, other, TILTED).max(), rtol=0.0, atol=SUM_ROUNDING
    )
    assert effect.joint == fr3.joint_names[int(upright.argmax())]


def test_a_number_that_no_motion_shows_has_no_effect():
    fr3 = load('fr3')
    raised = LinkInertia(
        fr3.links[0].mass + 3.0,
        fr3.links[0].first_moment + [0.0, 0.0, 0.5],
        fr3.links[0].inertia + np.diag([0.4, 0.2, 0.0]),
    )
    effect = effect_of_links(fr3, changed(fr3, 0, raised), fr3.links)
    assert effect.none
    assert str(effect) == 'none; no motion shows this number'


def test_a_number_only_a_tilted_base_shows_tells_both_effects():
    fr3 = load('fr3')
    shifted = LinkInertia(
        fr3.links[0].mass, fr3.links[0].first_moment + [0.05, 0.0, 0.0], fr3.links[0].inertia
    )
    effect = effect_of_links(fr3, changed(fr3, 0, shifted), fr3.links)
    assert not effect.none
    assert str(effect).startswith('none on an upright base, up to 0.2')


def test_given_a_rotor_when_links_are_compared_then_it_cancels():
    fr3 = load('fr3')
    geared = replace(fr3, joints=tuple(replace(j, rotor_inertia=0.3) for j in fr3.joints))
    assert effect_of_links(geared, fr3.links, fr3.links).none
