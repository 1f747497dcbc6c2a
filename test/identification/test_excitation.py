# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Excitations keep every limit and beat random ones; Fourier series; distances of links."""

from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.arm.sampling import sample_states
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.errors import IdentificationError
from franka_dynamics.identification.excitation import (
    FourierTrajectory,
    optimise,
    random_trajectory,
)
from franka_dynamics.identification.excitation_problem import (
    _bar_distance,
    bag_information,
    bar_ends,
    clearances,
    ExcitationLimits,
    ExcitationProblem,
    heights,
)
from franka_dynamics.identification.prior import Prior
from franka_dynamics.identification.samples import QRFactors
from franka_dynamics.identification.solve import estimate
from franka_dynamics.recordings.preprocessing import Motion, SignalOptions

LIMITS = ExcitationLimits()
START = np.array([0.1, -0.2, 0.3])
DENSE = np.linspace(0.0, 10.0, 5001)


def test_a_joint_without_torque_is_refused():
    arm = load('fer')
    joint = replace(arm.joints[2], limits=replace(arm.joints[2].limits, effort=0.0))
    arm = replace(arm, joints=(*arm.joints[:2], joint, *arm.joints[3:]))
    with pytest.raises(IdentificationError, match='fer_joint3 of fer has a limit of 0 on its eff'):
        ExcitationProblem(arm, LIMITS)


@pytest.fixture(scope='module')
def excitation():
    arm = load('fr3')
    return arm, optimise(ExcitationProblem(arm, LIMITS), arm.home, draws=8, iterations=3)


def test_a_few_steps_beat_any_random_trajectory(excitation):
    _, found = excitation
    assert found.left_open.max() < found.random_worst.min()
    assert len(found.deviations) == 64


def test_predicted_deviations_are_those_of_estimates():
    arm = load('fer')
    problem = ExcitationProblem(arm, LIMITS, duration=20.0)
    trajectory = random_trajectory(problem, arm.home, 10.0, np.random.default_rng(2))
    time = np.arange(600) / 30.0
    q, dq, ddq = trajectory.at(time)
    motion = Motion(time, q, dq, ddq, q, q, np.zeros(600, dtype=int), SignalOptions())
    factors = QRFactors.of(problem.model, motion)
    # 30 independent samples per second for 20 s, with the problem's noise.
    prior = Prior.towards(arm, problem.model, np.ones(7))
    expected = estimate(factors.weighted(1.0 / problem.noise), prior, 1.0).deviations
    np.testing.assert_allclose(problem.deviations(q, dq, ddq), expected, rtol=1e-6, atol=0.0)


def test_bags_that_are_given_are_complemented():
    arm = load('fer')
    problem = ExcitationProblem(arm, LIMITS)
    first, second = (
        random_trajectory(problem, arm.home, 10.0, np.random.default_rng(seed)) for seed in (3, 4)
    )
    time = np.arange(300) / 30.0
    q, dq, ddq = first.at(time)
    motion = Motion(time, q, dq, ddq, q, q, np.zeros(300, dtype=int), SignalOptions())
    states = second.at(time)
    given = replace(problem, known=bag_information(problem, motion))
    alone, together = (one.left_open(*states) for one in (problem, given))
    assert (together <= alone + 1e-12).all()
    assert together.max() < alone.max()
    assert together.mean() < 0.95 * alone.mean()
    assert given.criterion(*states) < problem.criterion(*states)


def test_the_optimised_trajectory_keeps_every_limit(excitation):
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
    points = bar_ends(arm, q, LIMITS.tool)
    assert heights(points).min() > LIMITS.table_margin - slack
    assert clearances(points).min() > LIMITS.clearance - slack


def test_a_parameter_too_small_to_matter_makes_no_torque():
    # Only the inertia of the FR3's last link makes less torque than the noise.
    arm = load('fr3')
    problem = ExcitationProblem(arm, LIMITS)
    names = problem.model.base.names
    unknown = problem.not_known(problem.prior.deviations)
    small = [name for name, one in zip(names, unknown) if not one]
    assert small == ['XXR_7', 'XY_7', 'XZ_7', 'YZ_7', 'ZZ_7']
    states = sample_states(arm, 500)
    # One standard deviation of XX_7 changes Pinocchio's torques by as much as predicted.
    deviation = problem.prior.deviations[names.index('XXR_7')]
    last = arm.links[6]
    changed = replace(last, inertia=last.inertia + np.diag([deviation, 0.0, 0.0]))
    with_it, without = (
        np.array([PinocchioModel(one).inverse_dynamics(*rows) for rows in zip(*states)])
        for one in (replace(arm, links=(*arm.links[:6], changed)), arm)
    )
    part = (np.abs(with_it - without) / problem.noise).max()
    said = problem.torques_left(problem.prior.deviations)[names.index('XXR_7')]
    assert part == pytest.approx(said, rel=1e-6)
    assert part < 0.1


@pytest.mark.parametrize(
    'limits',
    [
        ExcitationLimits(table=0.5),
        ExcitationLimits(clearance=0.4),
        ExcitationLimits(position_margin=1.0),
    ],
)
def test_a_start_beyond_a_limit_is_refused(limits):
    arm = load('fer')
    with pytest.raises(IdentificationError, match='The start pose is beyond a limit or too near'):
        optimise(ExcitationProblem(arm, limits), arm.home)


def test_near_a_joint_limit_the_velocity_that_still_brakes_is_the_limit():
    arm = load('fr3')  # whose velocity limits depend on the position
    q, dq, ddq = sample_states(arm, 20, np.random.default_rng(3))
    q[:10] = arm.limit('upper') - 0.02  # where braking takes nearly all of the speed
    dq[:10] = 0.5 * arm.limit('velocity')
    braking = np.sqrt(2.0 * arm.limit('velocity_deceleration') * 0.02)
    most = braking - arm.limit('velocity_offset')
    slowed = most > 0.0  # the others must stand still there
    assert slowed.sum() > 3
    n = arm.n
    left = ExcitationProblem(arm, LIMITS).limits_left(q, dq, ddq)[:10, 2 * n : 3 * n]
    expected = LIMITS.fraction - dq[:10] / np.where(slowed, most, 1.0)
    np.testing.assert_allclose(left[:, slowed], expected[:, slowed], rtol=0.0, atol=1e-9)
    assert left.max() < 0.0  # though below the constant limit


def trajectory():
    coefficients = np.random.default_rng(0).standard_normal((3, 8))
    return FourierTrajectory(START, 8.0, coefficients)


def test_any_coefficients_rest_at_the_start_after_a_period():
    for time in (0.0, 8.0, 16.0):
        position, velocity, acceleration = trajectory().at(time)
        np.testing.assert_allclose(position, START, rtol=0.0, atol=1e-13)
        np.testing.assert_allclose(velocity, 0.0, rtol=0.0, atol=1e-12)
        np.testing.assert_allclose(acceleration, 0.0, rtol=0.0, atol=1e-11)


def test_velocity_and_acceleration_are_the_derivatives():
    one, time, step = trajectory(), np.linspace(0.3, 7.0, 11), 1e-4
    before, here, after = (one.at(time + shift) for shift in (-step, 0.0, step))
    # Central differences: the error is the third derivative (some 50 rad/s^3) times h^2 / 6.
    for lower, upper in ((0, 1), (1, 2)):
        np.testing.assert_allclose(
            (after[lower] - before[lower]) / (2.0 * step), here[upper], rtol=0.0, atol=1e-6
        )


def test_no_period_is_refused():
    with pytest.raises(IdentificationError, match=r'period is 0\.0 s; it must be positive'):
        FourierTrajectory(START, 0.0, np.zeros((3, 8)))


def test_no_points_of_two_bars_are_nearer_than_their_distance():
    rng = np.random.default_rng(0)
    ends = rng.normal(size=(20, 4, 3))
    parts = np.linspace(0.0, 1.0, 301)[:, None]
    for a, b, c, d in ends:
        first, second = a + parts * (b - a), c + parts * (d - c)
        brute = np.linalg.norm(first[:, None] - second[None], axis=-1).min()
        distance = _bar_distance(a, b, c, d)
        assert distance <= brute + 1e-12
        # A grid of 300 steps on bars of some 3 m misses the nearest points by 5 mm at most.
        assert distance == pytest.approx(brute, abs=5e-3)


def test_distances_of_parallel_and_touching_bars_are_exact():
    a, b = np.zeros(3), np.array([1.0, 0.0, 0.0])
    up = np.array([0.0, 0.0, 0.4])
    assert _bar_distance(a, b, a + up, b + up) == pytest.approx(0.4, abs=1e-12)
    assert _bar_distance(a, b, b + up + b, b + up) == pytest.approx(0.4, abs=1e-12)
    assert _bar_distance(a, b, b, b + up) == pytest.approx(0.0, abs=1e-12)


def test_the_upright_arms_height_is_the_sum_of_its_rows():
    upright = np.zeros(7)
    points = bar_ends(load('fer'), upright, tool=0.1)
    # d1 + d3 + d5 to the wrist; the flange then points down by 0.107, the tool by 0.1 more.
    wrist = 0.333 + 0.316 + 0.384
    np.testing.assert_allclose(points[6], [0.0, 0.0, wrist], rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(points[-1], [0.088, 0.0, wrist - 0.207], rtol=0.0, atol=1e-12)
    elbow = 0.333 + 0.316
    above = heights(bar_ends(load('fer'), upright), table=0.2)
    assert above.min() == pytest.approx(elbow - 0.2, abs=1e-12)


def test_bars_three_apart_are_kept_clear_and_neighbours_are_not():
    # Three sides of a square and most of the fourth; one point is too near to the last for a bar.
    corners = [[0, 0, 0], [1, 0, 0], [1, 0.02, 0], [1, 1, 0], [0, 1, 0], [0, 0.1, 0]]
    np.testing.assert_allclose(clearances(np.array(corners)), [0.1], rtol=0.0, atol=1e-12)
