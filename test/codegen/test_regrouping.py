# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Regrouped chains hold the same base parameters as the arm, in fewer numbers."""

from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.arm import LinkInertia, load
from franka_dynamics.codegen.chain import build_chain
from franka_dynamics.codegen.regrouping import (
    Cancellation,
    regroup,
    solvable,
    with_shifted_origins,
)
from franka_dynamics.identification.base_parameters import base_parameters

ATOL = 1e-12  # sums of ten parameters of up to 10 kg and kg m^2
GRAVITY = (0.0, 0.0, -9.81)
ELBOW = Cancellation((4,), ((3, 0),))  # of the Franka: a mass on axis 5 cancels h4x
BOTH = Cancellation((4, 5), ((3, 0), (3, 1)))  # masses on axes 5 and 6 cancel h4x and h4y


def as_description(description, regrouped):
    """Return the regrouped numbers as an arm, kept masses put back onto their links."""
    links = []
    for j, joint in enumerate(regrouped.chain.joints):
        moments = joint.moments
        if j + 1 < len(regrouped.kept):
            arm = np.array(regrouped.chain.joints[j + 1].origin)
            mass = regrouped.kept[j + 1]
            point = np.outer(arm, arm)[np.triu_indices(3)]
            moments = replace(
                moments,
                mass=moments.mass + mass,
                first=tuple(np.add(moments.first, mass * arm)),
                second=tuple(np.add(moments.second, mass * point)),
            )
        second = np.zeros((3, 3))
        second[np.triu_indices(3)] = moments.second
        second = second + np.triu(second, 1).T
        links.append(
            LinkInertia(moments.mass, moments.first, np.trace(second) * np.eye(3) - second)
        )
    return replace(description, links=tuple(links))


def assert_base_parameters_kept(description, regrouped):
    base = base_parameters(description, np.array([GRAVITY]))
    np.testing.assert_allclose(
        base.values(as_description(description, regrouped)),
        base.values(description),
        rtol=0.0,
        atol=ATOL,
    )


@pytest.mark.parametrize('cancellations', [(), (ELBOW,), (Cancellation((6,), ((5, 0),)), ELBOW)])
@pytest.mark.parametrize('arm', ['fer', 'fr3'])
def test_a_regrouped_franka_keeps_every_base_parameter(arm, cancellations):
    description = load(arm)
    regrouped = regroup(build_chain(description, GRAVITY), cancellations)
    assert_base_parameters_kept(description, regrouped)


@pytest.mark.parametrize('arm', ['scemi', 'stanford'])
def test_other_regrouped_arms_keep_every_base_parameter(arm):
    description = load(arm)
    regrouped = regroup(build_chain(description, GRAVITY))
    assert_base_parameters_kept(description, regrouped)


def test_a_regrouped_fer_has_as_many_numbers_as_base_parameters():
    regrouped = regroup(build_chain(load('fer'), GRAVITY))
    numbers = sum(
        np.count_nonzero([joint.moments.mass, *joint.moments.first, *joint.moments.second])
        for joint in regrouped.chain.joints[1:]
    )
    zz1 = 1  # of link 1 only the moment about its axis is read
    assert numbers + zz1 == len(base_parameters(load('fer'), np.array([GRAVITY]))) == 43


def test_a_cancellation_zeroes_its_elements_at_one_mass_each():
    chain = with_shifted_origins(
        build_chain(load('fer'), GRAVITY), (0.0, 0.0, 0.0, 0.0, -0.384, 0.0, 0.0)
    )
    plain, cancelled = regroup(chain), regroup(chain, (BOTH,))
    assert plain.chain.joints[3].moments.first[0] != 0.0
    assert cancelled.chain.joints[3].moments.first == (0.0, 0.0, 0.0)
    assert [j for j, mass in enumerate(cancelled.kept) if mass] == [4, 5]


def test_where_axes_meet_no_mass_cancels_a_first_moment():
    # Axes 5 and 6 of the Franka intersect in frame 5's origin: a mass there has no moment.
    chain = build_chain(load('fer'), GRAVITY)
    assert solvable(chain, (ELBOW,))
    assert not solvable(chain, (Cancellation((5,), ((4, 0),)),))
