# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Excitations, shipped ones too, keep limits and beat random ones; distances of links."""

from dataclasses import replace
import re

import numpy as np
import pinocchio as pin
import pytest
import yaml

import franka_dynamics as fd
from franka_dynamics.errors import IdentificationError
from franka_dynamics.excitation import excitation_problem
from franka_dynamics.excitation.excitation import (
    FourierTrajectory,
    optimise_excitation,
    random_trajectory,
)
from franka_dynamics.excitation.excitation_problem import ExcitationLimits, ExcitationProblem
from franka_dynamics.files import share_directory
from franka_dynamics.fit.prior import Prior
from franka_dynamics.recordings.preprocessing import Motion, SignalOptions

from ..agreement import refuses
from ..arms import first_joints, with_joint, with_link

FER = fd.load('fer')
FR3 = fd.load('fr3')
LIMITS = ExcitationLimits()
START = np.array([0.1, -0.2, 0.3])
DENSE = np.linspace(0.0, 10.0, 5001)


def test_a_joint_without_torque_is_refused():
    limits = replace(FER.joints[2].limits, effort=0.0)
    with refuses(IdentificationError, 'fer_joint3', 'effort'):
        ExcitationProblem(with_joint(FER, 2, limits=limits), LIMITS)


@pytest.fixture(scope='module')
def excitation():
    return optimise_excitation(ExcitationProblem(FR3, LIMITS), FR3.home, draws=4, iterations=2)


def test_a_few_steps_beat_any_random_trajectory(excitation):
    problem = ExcitationProblem(FR3, LIMITS)
    drawn = [random_trajectory(problem, FR3.home, 10, np.random.default_rng(k)) for k in range(4)]
    worst = [problem.std_to_prior_ratios(*one.states_over_period(100)).max() for one in drawn]
    assert excitation.std_to_prior_ratios.max() < min(worst)
    assert len(excitation.parameter_std) == 64


def drawn_motion(problem, seed, samples):
    """Return a motion of a random trajectory at 30 Hz, without torques."""
    drawn = random_trajectory(problem, FER.home, 10.0, np.random.default_rng(seed))
    time = np.arange(samples) / 30.0
    q, dq, ddq = drawn.states_at(time)
    return Motion(time, q, dq, ddq, q, q, np.zeros(samples, dtype=int), SignalOptions())


def test_predicted_deviations_are_those_of_estimates():
    problem = ExcitationProblem(FER, LIMITS, duration=20.0)
    motion = drawn_motion(problem, 2, 600)
    # 30 independent samples per second for 20 s, with the problem's noise.
    model = problem.model
    rows = model.regressor(*model.regressor_blocks(motion))
    rows /= problem.prior.expected_residual[:, None]
    information, _ = Prior.centered_at(FER, model, np.ones(7)).information(1.0)
    known = np.linalg.cholesky(information).T
    units = 1.0 / np.diag(known)
    stacked = np.concatenate([rows.reshape(-1, rows.shape[-1]), known]) * units
    expected = units * np.linalg.norm(np.linalg.pinv(stacked), axis=1)
    found = problem.parameter_std(motion.q, motion.dq, motion.ddq)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=0.0)


def test_bags_that_are_given_are_complemented():
    problem = ExcitationProblem(FER, LIMITS)
    first, second = (drawn_motion(problem, seed, 300) for seed in (3, 4))
    states = second.q, second.dq, second.ddq
    known = excitation_problem.information_matrix(problem, first)
    given = replace(problem, known_information=known)
    alone, together = (one.std_to_prior_ratios(*states) for one in (problem, given))
    assert (together <= alone + 1e-12).all()
    assert together.max() < alone.max() and together.mean() < 0.95 * alone.mean()
    assert given.criterion(*states) < problem.criterion(*states)


def test_the_optimised_trajectory_keeps_every_limit(excitation):
    q, dq, ddq = excitation.trajectory.states_at(DENSE)
    slack = 1e-3  # between two of the 2000 points of its own check
    assert (q > FR3.limit('lower') + LIMITS.position_margin - slack).all()
    assert (q < FR3.limit('upper') - LIMITS.position_margin + slack).all()
    lowest, highest = (LIMITS.fraction * bound for bound in FR3.velocity_bounds(q))
    assert (dq >= lowest - slack).all() and (dq <= highest + slack).all()
    assert (np.abs(ddq) < LIMITS.fraction * FR3.limit('acceleration') + slack).all()
    torque = fd.Model(FR3).inverse_dynamics(q, dq, ddq)
    assert (np.abs(torque) < LIMITS.fraction * FR3.limit('effort') + 0.1).all()
    points = excitation_problem.skeleton_points(FR3, q, LIMITS.tool_length)
    assert excitation_problem.heights_above_table(points).min() > LIMITS.table_margin - slack
    assert excitation_problem.link_clearances(points).min() > LIMITS.clearance - slack


def test_a_parameter_too_small_to_matter_makes_no_torque():
    # Only the inertia of a light last link makes less torque than the noise.
    light = type(FR3.links[6]).from_parameters(0.1 * FR3.links[6].parameters())
    arm = with_link(FR3, 6, light)
    problem = ExcitationProblem(arm, LIMITS)
    names = problem.model.base.names
    deviations = problem.prior.std
    small = [name for name, x in zip(names, problem.unidentified_mask(deviations)) if not x]
    assert small == ['XXR_7', 'XY_7', 'XZ_7', 'YZ_7', 'ZZ_7']
    # One standard deviation of XX_7 changes Pinocchio's torques by as much as predicted.
    place = names.index('XXR_7')
    last = arm.links[6]
    changed = replace(last, inertia=last.inertia + np.diag([deviations[place], 0.0, 0.0]))
    with_it, without = (
        fd.Model(one).inverse_dynamics(*fd.sample_states(FR3, 500))
        for one in (with_link(arm, 6, changed), arm)
    )
    part = (np.abs(with_it - without) / problem.prior.expected_residual).max()
    assert part == pytest.approx(problem.torque_to_noise_ratio(deviations)[place], rel=1e-6)
    assert part < 0.1


@pytest.mark.parametrize(
    ('limit', 'value'),
    [
        ('fraction', 1.1),
        ('table_height', np.inf),
        ('clearance', np.nan),
        *((name, -0.1) for name in ('clearance', 'position_margin', 'tool_length')),
    ],
)
def test_limits_that_no_motion_can_keep_are_refused(limit, value):
    with refuses(IdentificationError, limit.removesuffix('_height'), str(value)):
        ExcitationLimits(**{limit: value})


@pytest.mark.parametrize('limit', ['table_height', 'clearance', 'position_margin'])
def test_a_start_beyond_a_limit_is_refused(limit):
    with refuses(IdentificationError, 'start pose'):
        optimise_excitation(ExcitationProblem(FER, ExcitationLimits(**{limit: 1.0})), FER.home)


def test_a_refused_start_comes_with_one_that_works():
    problem = ExcitationProblem(FER, ExcitationLimits(table_height=0.4))
    with pytest.raises(IdentificationError) as refused:
        optimise_excitation(problem, FER.home, draws=1, iterations=1)
    (proposed,) = re.findall(r'--start ([-\d.,]+[\d])', str(refused.value))
    start = np.array([float(one) for one in proposed.split(',')])
    found = optimise_excitation(problem, start, draws=1, iterations=1)
    np.testing.assert_array_equal(found.trajectory.start_position, start)


def test_a_search_without_draws_is_refused():
    with refuses(IdentificationError, 'draws is 0'):
        optimise_excitation(ExcitationProblem(FER, LIMITS), FER.home, draws=0)


def test_a_start_on_the_margin_is_refused_by_joint_and_number():
    start = np.array(FER.home)
    start[3] = FER.limit('lower')[3] + 0.1
    limits = ExcitationLimits(position_margin=0.1, table_height=-2.0, clearance=0.0)
    with refuses(IdentificationError, 'fer_joint4', f'{start[3]:.4g}', '--start'):
        optimise_excitation(ExcitationProblem(FER, limits), start)


def test_an_arm_whose_links_are_all_neighbours_is_planned_for():
    arm = first_joints(FER, 2)
    problem = ExcitationProblem(arm, ExcitationLimits(table_height=-1.0))
    rest = np.zeros((1, 2))
    assert problem.limit_margins(np.array([arm.home]), rest, rest).min() > 0.0


def test_near_a_joint_limit_velocity_leaves_room_to_brake():
    # The velocity limits of the FR3 depend on the position.
    q, dq, ddq = fd.sample_states(FR3, 20, 3)
    q[:10] = FR3.limit('upper') - 0.02  # where braking takes nearly all of the speed
    dq[:10] = 0.5 * FR3.limit('velocity')
    most = np.sqrt(2.0 * FR3.limit('velocity_deceleration') * 0.02) - FR3.limit('velocity_offset')
    slowed = most > 0.0  # the others must stand still there
    assert slowed.sum() > 3
    left = ExcitationProblem(FR3, LIMITS).state_margins(q, dq, ddq)[:10, 14:21]
    expected = LIMITS.fraction - dq[:10] / np.where(slowed, most, 1.0)
    np.testing.assert_allclose(left[:, slowed], expected[:, slowed], rtol=0.0, atol=1e-9)
    assert left.max() < 0.0  # though below the constant limit


def test_a_joint_without_position_limits_has_finite_margins():
    first, *others = FR3.joints
    endless = replace(first, limits=replace(first.limits, lower=-np.inf, upper=np.inf))
    problem = ExcitationProblem(replace(FR3, joints=(endless, *others)), LIMITS)
    assert np.isfinite(problem.state_margins(*np.zeros((3, 2, 7)))).all()


TRAJECTORY = FourierTrajectory(START, 8.0, np.random.default_rng(0).standard_normal((3, 8)))


def test_any_coefficients_rest_at_the_start_after_a_period():
    position, velocity, acceleration = TRAJECTORY.states_at(np.array([0.0, 8.0, 16.0]))
    np.testing.assert_allclose(position, np.tile(START, (3, 1)), rtol=0.0, atol=1e-13)
    np.testing.assert_allclose(velocity, 0.0, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(acceleration, 0.0, rtol=0.0, atol=1e-11)


def test_velocity_and_acceleration_are_the_derivatives():
    time = np.linspace(0.3, 7.0, 11)
    step = 1e-4
    before, here, after = (np.array(TRAJECTORY.states_at(time + h)) for h in (-step, 0.0, step))
    # Central differences: the error is the third derivative (some 50 rad/s^3) times h^2 / 6.
    np.testing.assert_allclose((after - before)[:2] / (2.0 * step), here[1:], rtol=0.0, atol=1e-6)


def test_no_points_of_two_bars_are_nearer_than_their_distance():
    rng = np.random.default_rng(0)
    along = np.eye(3)[0]
    up = 0.4 * np.eye(3)[2]
    # Beside random bars parallel ones, ones in one line and touching ones.
    special = [(0 * up, along, up, along + up), (0 * up, along, 2 * along, 3 * along)]
    ends = [*rng.normal(size=(20, 4, 3)), *special, (0 * up, along, along, along + up)]
    parts = np.linspace(0.0, 1.0, 301)[:, None]
    for a, b, c, d in ends:
        first = a + parts * (b - a)
        second = c + parts * (d - c)
        brute = np.linalg.norm(first[:, None] - second[None], axis=-1).min()
        distance = excitation_problem.segment_gap(a, b, c, d)
        assert distance <= brute + 1e-12
        # A grid of 300 steps on bars of some 3 m misses the nearest points by 5 mm at most.
        assert distance == pytest.approx(brute, abs=5e-3)


def test_the_upright_arms_height_is_the_sum_of_its_rows():
    points = excitation_problem.skeleton_points(FER, np.zeros(7), tool_length=0.1)
    # d1 + d3 + d5 to the wrist; the flange then points down by 0.107, the tool by 0.1 more.
    elbow = 0.333 + 0.316
    wrist = 0.333 + 0.316 + 0.384
    expected = [[0.0, 0.0, wrist], [0.088, 0.0, wrist - 0.207]]
    np.testing.assert_allclose(points[[6, -1]], expected, rtol=0.0, atol=1e-12)
    lowest = excitation_problem.heights_above_table(points, table_height=0.2).min()
    assert lowest == pytest.approx(elbow - 0.2, abs=1e-12)


def test_bars_three_apart_are_kept_clear_and_neighbours_are_not():
    # Three sides of a square and most of the fourth; one point is too near to the last for a bar.
    corners = [[0, 0, 0], [1, 0, 0], [1, 0.02, 0], [1, 1, 0], [0, 1, 0], [0, 0.1, 0]]
    found = excitation_problem.link_clearances(np.array(corners))
    np.testing.assert_allclose(found, [0.1], rtol=0.0, atol=1e-12)


EXCITATIONS = share_directory() / 'config' / 'excitations'


@pytest.fixture(params=sorted(path.stem for path in EXCITATIONS.glob('*.yaml')))
def shipped(request):
    """Return an arm, and times (k,), positions, velocities and accelerations (k, n)."""
    arm = fd.load(request.param)
    path = EXCITATIONS / f'{request.param}.yaml'
    content = yaml.safe_load(path.read_text(encoding='utf-8'))
    assert content['joint_names'] == list(arm.joint_names)
    points = content['points']
    stamps = [point['time_from_start'] for point in points]
    times = np.array([stamp['sec'] + 1e-9 * stamp['nanosec'] for stamp in stamps])
    fields = 'positions', 'velocities', 'accelerations'
    return (
        arm,
        times,
        *(np.array([point[field] for point in points]) for field in fields),
    )


def test_a_shipped_excitation_rests_at_home_within_half_limits(
    shipped,
):
    arm, times, q, dq, ddq = shipped
    rounding = 1e-5  # of the file's six digits
    for values, rest in ((q, arm.home), (dq, 0.0), (ddq, 0.0)):
        np.testing.assert_allclose(values[[0, -1]] - rest, 0.0, atol=rounding)
    assert (np.abs(dq) <= 0.5 * arm.limit('velocity') + rounding).all()
    assert (np.abs(ddq) <= 0.5 * arm.limit('acceleration') + rounding).all()
    assert (q > arm.limit('lower')).all() and (q < arm.limit('upper')).all()
    # Velocities are those of the positions, by the trapezoidal rule: h^2 / 12 of the change.
    moved = 0.5 * (dq[1:] + dq[:-1]) * np.diff(times)[:, None]
    np.testing.assert_allclose(np.diff(q, axis=0), moved, atol=5e-4)


def test_a_shipped_excitation_shows_all_base_parameters(
    shipped,
):
    arm, _, *states = shipped
    model = fd.Model(arm)
    assert model.frames(states[0])[:, 2:, 2, 3].min() > 0.1  # [m] from elbow to flange
    data = model.model.createData()
    rows = [pin.computeJointTorqueRegressor(model.model, data, *row) for row in zip(*states)]
    # 43 of the arm's 70 parameters are seen in torques (Gaz et al., 2019); each of their
    # combinations at least a thousandth as well as the best.
    singular = np.linalg.svd(np.vstack(rows), compute_uv=False)
    assert singular[42] > 1e-3 * singular[0] and singular[43] < 1e-9 * singular[0]
