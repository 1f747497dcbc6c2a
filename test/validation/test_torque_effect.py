# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What a difference of parameters does to torque: the difference of two models' torques."""

import numpy as np
import pytest

from franka_dynamics.arm import LinkInertia, load
from franka_dynamics.arm.sampling import sample_states
from franka_dynamics.dynamics.model import GRAVITY
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.validation.torque_effect import effect_between

from ..arms import with_link

TILTED = (3.0, -5.0, -7.9)
SUM_ROUNDING = 1e-12  # N m: two torques of 100 N m are subtracted here, their parameters there


def gap(one, other, gravity):
    """Return the largest torque difference of two arms by Pinocchio, state by state."""
    models = [PinocchioModel(arm, gravity) for arm in (one, other)]
    states = sample_states(one, 200, 0)
    torques = [[model.inverse_dynamics(*state) for state in zip(*states)] for model in models]
    return np.abs(np.subtract(*torques)).max(axis=0)


@pytest.mark.parametrize('gravity', [GRAVITY, TILTED])
@pytest.mark.parametrize('i', [0, 3, 6])
def test_a_heavier_links_effect_is_that_of_two_models(i, gravity):
    fr3 = load('fr3')
    other = with_link(fr3, i, LinkInertia.from_parameters(1.1 * fr3.links[i].parameters()))
    effect = effect_between(fr3, other, gravity=gravity)
    apart = gap(fr3, other, gravity)
    np.testing.assert_allclose(effect.largest, apart.max(), rtol=0.0, atol=SUM_ROUNDING)
    assert effect.joint == fr3.joint_names[int(apart.argmax())]


def test_a_number_that_no_motion_shows_has_no_effect():
    fr3 = load('fr3')
    first = fr3.links[0]
    raised = LinkInertia(
        first.mass + 3.0, first.first_moment + [0.0, 0.0, 0.5], first.inertia + np.diag([4, 2, 0])
    )
    effect = effect_between(fr3, with_link(fr3, 0, raised), gravity=TILTED)
    assert effect.largest == 0.0 and str(effect) == 'none; no motion shows it'


def test_a_number_only_a_tilted_base_shows_has_its_effect_there():
    fr3 = load('fr3')
    first = fr3.links[0]
    shifted = with_link(
        fr3, 0, LinkInertia(first.mass, first.first_moment + [0.05, 0.0, 0.0], first.inertia)
    )
    assert effect_between(fr3, shifted).largest == 0.0
    assert effect_between(fr3, shifted, gravity=TILTED).largest > 0.2
