# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Excitation trajectories keep every limit and beat random ones."""

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.errors import IdentificationError
from franka_dynamics.identification.clearance import Skeleton
from franka_dynamics.identification.excitation import optimise, random_trajectory
from franka_dynamics.identification.excitation_problem import ExcitationLimits, ExcitationProblem

LIMITS = ExcitationLimits()
DENSE = np.linspace(0.0, 10.0, 5001)


@pytest.fixture(scope='module', params=[('fer', 12), ('fr3', 3)], ids=['fer', 'fr3'])
def excitation(request):
    name, iterations = request.param
    arm = load(name)
    return arm, optimise(ExcitationProblem(arm, LIMITS), arm.home, draws=8,
                         iterations=iterations)


def test_given_a_few_steps_when_optimised_then_it_is_better_than_any_random_one(excitation):
    arm, found = excitation
    # The default of 30 steps from 100 draws gives the fer a factor of 14.
    assert found.gain > (3.0 if arm.name == 'fer' else 1.5)
    assert found.condition_number < found.random_condition_numbers.min()


def test_given_the_trajectory_when_checked_densely_then_every_limit_is_kept(excitation):
    arm, found = excitation
    q, dq, ddq = found.trajectory.at(DENSE)
    slack = 1e-3  # between two of the 2000 points of its own check
    assert (q > arm.limit('lower') + LIMITS.position_margin - slack).all()
    assert (q < arm.limit('upper') - LIMITS.position_margin + slack).all()
    bounds = np.array([arm.velocity_bounds(row) for row in q])
    assert (dq >= LIMITS.fraction * bounds[:, 0] - slack).all()
    assert (dq <= LIMITS.fraction * bounds[:, 1] + slack).all()
    assert (np.abs(ddq) < LIMITS.fraction * arm.limit('acceleration') + slack).all()
    model = PinocchioModel(arm)
    torque = np.array([model.inverse_dynamics(*rows) for rows in zip(q, dq, ddq)])
    assert (np.abs(torque) < LIMITS.fraction * arm.limit('effort') + 0.1).all()
    skeleton = Skeleton(arm, LIMITS.tool)
    assert skeleton.height(q).min() > LIMITS.table_margin - slack
    assert skeleton.clearance(q).min() > LIMITS.clearance - slack


def test_given_a_motion_when_judged_then_the_condition_number_is_that_of_its_scaled_rows():
    arm = load('fer')
    problem = ExcitationProblem(arm, LIMITS)
    trajectory = random_trajectory(problem, arm.home, 10.0, 5, np.random.default_rng(1))
    states = trajectory.at(np.linspace(0.0, 10.0, 100, endpoint=False))
    model = problem.model
    friction = model.friction.regressor(model.friction.columns(*states[:2]))
    rows = np.concatenate([model.base.regressor(*states), friction], -1)
    rows = rows * problem.units / np.sqrt(arm.limit('effort'))[:, None]
    # The squared matrix is used, which loses half the digits of the smallest singular value.
    assert problem.condition_number(*states) == pytest.approx(
        np.linalg.cond(rows.reshape(-1, rows.shape[-1])), rel=1e-4)


def test_given_a_table_when_raised_then_the_motion_stays_above_it():
    arm = load('fer')
    problem = ExcitationProblem(arm, ExcitationLimits(table=0.2))
    trajectory = random_trajectory(problem, arm.home, 10.0, 5, np.random.default_rng(0))
    q, _, _ = trajectory.at(np.linspace(0.0, 10.0, 100, endpoint=False))
    assert Skeleton(arm, 0.15).height(q).min() >= 0.35


@pytest.mark.parametrize('limits', [ExcitationLimits(table=0.5), ExcitationLimits(clearance=0.4),
                                    ExcitationLimits(position_margin=1.0)])
def test_given_a_start_beyond_a_limit_when_optimised_then_it_says_so(limits):
    arm = load('fer')
    with pytest.raises(IdentificationError, match='The start pose is beyond a limit or too near'):
        optimise(ExcitationProblem(arm, limits), arm.home)


def test_given_a_fraction_that_is_none_when_made_then_it_is_refused():
    with pytest.raises(IdentificationError, match=r'fraction of the limits is 1\.2; it must lie'):
        ExcitationLimits(fraction=1.2)
