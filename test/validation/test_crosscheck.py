# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The check before every start passes for what is right and names what is wrong."""

from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.arm import available_sets, load
from franka_dynamics.arm.sampling import sample_states
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.errors import CrosscheckError
from franka_dynamics.validation.crosscheck import compare, crosscheck, CrosscheckReport, TOLERANCE

EVERY_SET = [(arm, inertial_set) for arm in ('fer', 'fr3') for inertial_set in available_sets(arm)]


@pytest.mark.parametrize(('arm', 'inertial_set'), EVERY_SET)
def test_given_a_shipped_set_when_crosschecked_then_it_passes(arm, inertial_set):
    report = crosscheck(load(arm, inertial_set), gravity=(1.0, -2.0, -9.0), count=50, seed=4)
    report.require()
    assert report.passed
    assert 0.0 < report.largest < TOLERANCE
    assert report.states == 50


@pytest.mark.parametrize(
    ('quantity', 'change'),
    [
        ('frames', lambda arm: replace(arm, flange=replace(arm.flange, d=0.108))),
        (
            'mass_matrix',
            lambda arm: replace(
                arm, joints=(replace(arm.joints[0], rotor_inertia=1e-9), *arm.joints[1:])
            ),
        ),
        (
            'gravity',
            lambda arm: arm.map_links(
                lambda link: replace(link, first_moment=link.first_moment + 1e-9)
            ),
        ),
    ],
)
def test_two_arms_that_differ_show_it_in_the_quantity_changed(quantity, change):
    arm = load('fer')
    states = sample_states(arm, 20, 5)
    same = compare(PinocchioModel(arm), NewtonEulerModel(arm), states)
    other = compare(PinocchioModel(arm), NewtonEulerModel(change(arm)), states)
    assert same[quantity] <= TOLERANCE < other[quantity]


def test_a_wrong_coriolis_differs_in_coriolis_alone():
    class Faulty(NewtonEulerModel):
        def coriolis(self, q, dq):
            return 1.01 * super().coriolis(q, dq)

    arm = load('fr3')
    differences = compare(PinocchioModel(arm), Faulty(arm), sample_states(arm, 20, 6))
    beyond = {name for name, value in differences.items() if value > TOLERANCE}
    assert beyond == {'coriolis'}


def report(**differences):
    return CrosscheckReport(load('fer'), 300, differences)


def test_a_mismatch_raises_with_the_worst_quantity_and_its_size():
    failed = report(gravity=1e-3, coriolis=2e-2, frames=1e-16)
    assert not failed.passed
    with pytest.raises(
        CrosscheckError,
        match=r'fer \(gaz2019, hand none\) differ by 0.02 in '
        r'coriolis \(tolerance 1e-12, 300 states\)',
    ):
        failed.require()


def test_given_a_nan_when_required_then_it_fails_and_is_named():
    failed = report(gravity=float('nan'), coriolis=2e-2)
    assert not failed.passed
    assert np.isnan(failed.largest)
    with pytest.raises(CrosscheckError, match='differ by nan in gravity'):
        failed.require()
