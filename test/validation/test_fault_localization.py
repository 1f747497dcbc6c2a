# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Planted faults in one formulation are traced to the link where they enter."""

from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.arm import LinkInertia, load
from franka_dynamics.arm.sampling import sample_states
from franka_dynamics.dynamics.lagrangian import LagrangianModel
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.dynamics.product_of_exponentials import ExponentialsModel
from franka_dynamics.validation.agreement import localize_faults

from ..arms import with_row_shifted

TOLERANCE = 1e-11
FORMULATIONS = (PinocchioModel, NewtonEulerModel, ExponentialsModel, LagrangianModel)

every_link = pytest.mark.parametrize('link', range(1, 8))


def with_link(arm, link, change):
    links = list(arm.links)
    links[link - 1] = links[link - 1] + LinkInertia.from_parameters(change)
    return replace(arm, links=tuple(links))


def hold(model, reference_arm):
    states = sample_states(reference_arm, 4, 0)
    # Two that agree are the median.
    sound = NewtonEulerModel(reference_arm)
    models = {'sound': sound, 'as sound': sound, 'the model': model}
    return localize_faults(models, states, TOLERANCE)[-1]


@every_link
def test_a_wrong_row_is_named_by_the_first_frame_that_differs(link):
    # Each formulation and each number of a row in its turn.
    arm, number = load('fer'), ('a', 'alpha', 'd', 'theta')[link // 2]
    formulation = FORMULATIONS[link % 4]
    verdict = hold(formulation(with_row_shifted(arm, link - 1, **{number: 1e-6})), arm)
    assert verdict.origin == ('frame', link)
    assert f'whose frame differs is link {link}, by ' in verdict.sentence()


# xx, xy, xz, yy, yz, zz, hx, hy, hz, m of a link that only turns about an upright z: a wrench
# does not know xx, xy, yy and hz.
UNIDENTIFIABLE_AT_LINK_1 = (0, 1, 3, 8)


@pytest.mark.parametrize(
    ('link', 'parameter'),
    [
        (link, parameter)
        for link in range(1, 8)
        for parameter in range(10)
        if not (link + 2 * parameter) % 7
        and (link > 1 or parameter not in UNIDENTIFIABLE_AT_LINK_1)
    ],
)
def test_a_wrong_inertial_is_named_by_the_wrench_that_differs(link, parameter):
    arm, formulation = load('fr3'), FORMULATIONS[(link + parameter) % 4]
    verdict = hold(formulation(with_link(arm, link, 1e-6 * np.eye(10)[parameter])), arm)
    assert verdict.origin == ('wrench', link)
    assert f'from the tip whose wrench differs is link {link}, by ' in verdict.sentence()


@pytest.mark.parametrize('parameter', UNIDENTIFIABLE_AT_LINK_1)
def test_a_wrong_parameter_no_wrench_shows_names_nobody(parameter):
    arm = load('fr3')
    verdict = hold(NewtonEulerModel(with_link(arm, 1, 1e-6 * np.eye(10)[parameter])), arm)
    assert verdict.origin is None


@every_link
def test_twists_that_go_wrong_at_a_link_name_its_twist(link):
    class Faulty(NewtonEulerModel):
        def link_twists(self, q, dq):
            twists = super().link_twists(q, dq)
            twists[..., link - 1 :, :3] += 1e-6
            return twists

    arm = load('fer')
    verdict = hold(Faulty(arm), arm)
    assert verdict.origin == ('twist', link)
    assert f'whose twist differs is link {link}, by ' in verdict.sentence()
