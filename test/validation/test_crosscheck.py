# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Formulations compared with each other, and with a model from a robot description."""

from dataclasses import replace
import functools
import os
import re
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import franka_dynamics as fd
from franka_dynamics import errors
from franka_dynamics.arm import Convention, DHRow, Joint, JointKind, load
from franka_dynamics.cli.main import main
from franka_dynamics.dynamics.model import FLANGE, GRAVITY, REFERENCE_FRAMES
from franka_dynamics.validation import robot_model
from franka_dynamics.validation.crosscheck import FORMULATIONS, MAX_RELATIVE_DIFFERENCE

from ..agreement import assert_near, refuses
from ..arms import random_arm, with_link
from ..dynamics import lagrangian
from ..processes import printed
from ..simulated_robot import FrankaSim

STATES = 4
# Relative to max(1, |value|) of each entry; measured 8e-13 on 1,000 random arms.
RTOL = 1e-11
OWN = (fd.NewtonEulerModel, fd.ExponentialsModel)


def random_case(seed):
    rng = np.random.default_rng(seed)
    arm = random_arm(rng)
    return arm, rng.normal(size=3) * 9.81, fd.sample_states(arm, STATES, seed)


@pytest.mark.parametrize('seed', range(12))
def test_all_formulations_agree_on_any_arm_in_every_quantity(seed):
    arm, gravity, _ = random_case(seed)
    agreement = fd.compare_formulations(arm, gravity=gravity, count=STATES, seed=seed)
    agreement.require()
    assert 0.0 < agreement.largest <= MAX_RELATIVE_DIFFERENCE


def test_slow_motion_loses_no_digit():
    arm = fd.load('fr3')
    q = arm.home
    dq = np.linspace(0.3, -1.0, 7)
    for formulation in FORMULATIONS.values():
        model = formulation(arm, GRAVITY)
        fast, slow = (model.coriolis(q, dq * s) / s**2 for s in (1.0, 1e-7))
        np.testing.assert_allclose(slow, fast, rtol=0.0, atol=1e-13 * np.abs(fast).max())


def test_a_coriolis_torque_found_as_a_difference_is_seen(monkeypatch):
    subtracted = lambda self, q, dq: self.nonlinear_effects(q, dq) - self.gravity(q)  # noqa: E731
    monkeypatch.setattr(fd.Model, 'coriolis', subtracted)
    assert 'coriolis' in ' '.join(fd.crosscheck('fr3', count=STATES).findings)


@pytest.mark.parametrize('seed', range(4))
def test_the_backends_equations_are_lagranges(seed):
    arm, gravity, states = random_case(seed)
    model = fd.Model(arm, gravity)
    for q, dq, _ in zip(*states):
        mass = lagrangian.mass_matrix(arm, q)
        for found, expected in (
            (model.mass_matrix(q), mass),
            (model.kinetic_energy(q, dq), 0.5 * dq @ mass @ dq),
            (model.coriolis_matrix(q, dq), lagrangian.coriolis_matrix(arm, q, dq)),
            (model.potential_energy(q), lagrangian.potential_energy(arm, q, gravity)),
            (model.gravity(q), lagrangian.potential_energy(arm, q, gravity, 1)),
        ):
            assert_near(found, expected, RTOL)


@pytest.mark.parametrize('reference_frame', REFERENCE_FRAMES)
@pytest.mark.parametrize('seed', range(4))
def test_jacobians_of_any_frame_of_any_arm_are_pinocchios(reference_frame, seed):
    arm, gravity, states = random_case(seed)
    backend = fd.Model(arm, gravity)
    models = [own(arm, gravity) for own in OWN]
    for frame in (*range(1, arm.n + 2), FLANGE):
        expected = backend.jacobian(states.q, frame, reference_frame)
        for model in models:
            actual = model.jacobian(states.q, frame, reference_frame)
            assert_near(actual, expected, RTOL, type(model).__name__)


@pytest.mark.parametrize('own', OWN)
@pytest.mark.parametrize('seed', range(4))
def test_a_wrench_on_the_flange_acts_as_in_pinocchio(own, seed):
    arm, gravity, states = random_case(seed)
    wrench = np.random.default_rng(seed).normal(size=6) * 20.0
    backend = fd.Model(arm, gravity)
    model = own(arm, gravity)
    tau = backend.inverse_dynamics(*states, wrench=wrench)
    assert np.abs(tau - model.inverse_dynamics(*states)).max() > 1e-3
    assert_near(model.inverse_dynamics(*states, wrench=wrench), tau, RTOL)
    # M ddq is compared: at a wrist of 1e-4 kg m^2 rounding errors become large accelerations.
    found, theirs = (one.forward_dynamics(*states[:2], tau, wrench) for one in (model, backend))
    mass = backend.mass_matrix(states.q)
    for expected in (theirs, states.ddq):
        assert_near(*(np.einsum('sij,sj->si', mass, ddq) for ddq in (found, expected)), RTOL)


@pytest.mark.parametrize('convention', list(Convention))
def test_a_wrong_dh_matrix_moves_pinocchio_alone(convention, monkeypatch):
    # Newton-Euler and the exponentials compute poses from the rows' numbers themselves.
    arm = random_arm(np.random.default_rng(2), joints=5, convention=convention)
    q = fd.sample_states(arm, 1, 2).q[0]
    right = {model: model(arm).frames(q) for model in (*OWN, fd.Model)}
    transform = DHRow.transform

    def wrong(self, *arguments, **keywords):
        matrix = transform(self, *arguments, **keywords)
        matrix[..., 1, 3] *= -1.0
        return matrix

    monkeypatch.setattr(DHRow, 'transform', wrong)
    moved = {model: np.abs(model(arm).frames(q) - frames).max() for model, frames in right.items()}
    assert {model for model in moved if moved[model] > 1e-3} == {fd.Model}
    with pytest.raises(errors.CrosscheckError):
        fd.crosscheck(arm, count=10).require()


def test_a_wrong_center_of_mass_leaves_newton_euler_right(monkeypatch):
    # Newton-Euler takes first moments as they are; the exponentials divide by the mass.
    arm = fd.load('fer')
    q = arm.home
    right = fd.NewtonEulerModel(arm).gravity(q)
    wrong = property(lambda link: 1.1 * link.first_moment / link.mass)
    monkeypatch.setattr(fd.LinkInertia, 'center_of_mass', wrong)
    np.testing.assert_array_equal(fd.NewtonEulerModel(arm).gravity(q), right)
    assert np.abs(fd.ExponentialsModel(arm).gravity(q) - right).max() > 0.1


def test_the_other_formulations_run_without_pinocchio():
    printed(
        '-c',
        "import sys; sys.modules['pinocchio'] = None; import franka_dynamics as fd\n"
        'for model in (fd.ExponentialsModel, fd.NewtonEulerModel):\n'
        "    model('fer').gravity(fd.load('fer').home)",
    )


@pytest.mark.parametrize('own', [fd.ExponentialsModel, fd.Model])
def test_a_link_without_mass_but_with_moments_is_refused(own):
    arm = fd.load('fer')
    massless = replace(arm.links[2], mass=0.0)
    with refuses(errors.InertiaError, 'fer_joint3', 'fer', 'mass'):
        own(with_link(arm, 2, massless))


@pytest.mark.parametrize('formulation', [*OWN, fd.Model])
def test_an_arm_without_mass_has_no_center_of_mass(formulation):
    model = formulation(fd.load('fer').map_links(lambda link: fd.LinkInertia.zero()))
    zero = np.zeros(7)
    np.testing.assert_array_equal(model.gravity(zero), zero)
    with refuses(errors.InertiaError, 'centre of mass'):
        model.center_of_mass(zero)
    with refuses(errors.InertiaError, 'singular'):
        model.forward_dynamics(zero, zero, zero)


def fer_of_mass(factor):
    scaled = lambda link: fd.LinkInertia.from_parameters(factor * link.parameters())  # noqa: E731
    return fd.load('fer').map_links(scaled)


@pytest.mark.parametrize('factor', [1e-6, 30.0, 1e4])
def test_masses_of_any_size_pass_both_comparisons(factor):
    arm = fer_of_mass(factor)
    gravity = (1.0, -2.0, -9.0)
    report = fd.crosscheck(arm, gravity=gravity, count=50, seed=4)
    report.require()
    assert (report.state_count, report.gravity) == (50, gravity)
    assert fd.compare_formulations(arm, count=50).passed


def test_an_arm_that_may_not_move_passes():
    joints = (replace(one, limits=replace(one.limits, velocity=0.0)) for one in FR3.joints)
    assert fd.compare_formulations(replace(FR3, joints=tuple(joints)), count=5).passed


def test_the_reported_figures_are_the_largest_differences():
    arm = fd.load('fer')
    agreement = fd.compare_formulations(arm, count=15, seed=2)
    states = fd.sample_states(arm, 15, 2)
    expected = fd.Model(arm).inverse_dynamics(*states)
    apart = np.abs(fd.NewtonEulerModel(arm).inverse_dynamics(*states) - expected)
    found = agreement.differences['inverse_dynamics']['Newton-Euler']
    assert found == apart.max() / np.abs(expected).max()
    assert agreement.formulations == ('Newton-Euler', 'exponentials')


@pytest.mark.parametrize('mass', [1.0, 1e-6])
@pytest.mark.parametrize('error', [1e-9, np.nan])
@pytest.mark.parametrize(
    'quantity',
    ['gravity', 'joint_wrenches', 'forward_dynamics', 'frames', 'mass_matrix'],
)
def test_a_wrong_quantity_is_named_and_raises(quantity, error, mass, monkeypatch):
    def too_small(model, *states):
        # Smaller than the reference: a negative difference must count as well.
        values = getattr(fd.NewtonEulerModel, quantity)(model, *states)
        return values - error * np.abs(values).max()

    arm = fer_of_mass(mass)
    faulty = type('Faulty', (fd.NewtonEulerModel,), {quantity: too_small})
    monkeypatch.setitem(FORMULATIONS, 'exponentials', faulty)
    failed = fd.compare_formulations(arm, count=20, seed=5)
    assert not failed.passed and np.isnan(failed.largest) == np.isnan(error)
    (said,) = failed.findings
    assert said.startswith('exponentials') and quantity in said
    # Others follow from frames and the mass matrix.
    assert quantity in ('frames', 'mass_matrix') or said.count('(') == 1
    with refuses(errors.CrosscheckError, 'fer', '1e-12', '20 states', said):
        failed.require()


def test_far_dh_frames_widen_the_tolerance_with_their_errors():
    # An arm of a metre in plain DH rows: the common normal of axes 2 and 3 is 300 m away.
    body = fd.LinkInertia.from_center_of_mass(2.0, np.array([0.1, 0.02, 0.03]), 0.03 * np.eye(3))
    rows = [
        DHRow(0.0, 0.0, 0.4),
        DHRow(0.0, -np.pi / 2, 300.0),
        DHRow(0.0, 1e-3, -300.0),
    ]
    joints = [Joint(f'j{i}', JointKind.REVOLUTE, row) for i, row in enumerate(rows, start=1)]
    far = np.eye(4)
    far[2, 3] = -300.0  # the body of link 2 lies near the first axis
    links = (body, body.expressed_in(far), body)
    arm = fd.ArmDescription('far', Convention.MODIFIED, tuple(joints), links)
    report = fd.crosscheck(arm, count=50)
    assert 1e-12 < report.largest < report.tolerance < 1e-6 and report.passed
    assert fd.crosscheck('fr3', count=5).tolerance == 1e-12


FR3 = load('fr3')
BALL = fd.LinkInertia.from_center_of_mass(3.0, np.array([0.0, 0.0, 0.1]), np.zeros(6))
TOOL = np.array([[0.0, -1, 0, 0.01], [1, 0, 0, -0.02], [0, 0, 1, 0.1], [0, 0, 0, 1]])
NO_BINDINGS = "libfranka's bindings are not installed"


def by_columns(matrix):
    return matrix.ravel(order='F').tolist()


def read_state(load_kg=0.0, gravity=(0.0, 0.0, 0.0)):
    """Return a robot's state, with a load at the ball's centre of mass."""
    pose = fd.NewtonEulerModel(FR3).frames(FR3.home)[-1] @ TOOL
    poses = {'F_T_EE': by_columns(TOOL), 'O_T_EE': by_columns(pose)}
    load = {'m_total': load_kg, 'F_x_Ctotal': [0.0, 0.0, 0.1], 'O_ddP_O': list(gravity)}
    return SimpleNamespace(q=list(FR3.home), dq=[0.0] * 7, **poses, **load)


@functools.cache
def terms_of(arm):
    """Return a function of an arm's terms; all comparisons are at the same states."""
    model = fd.NewtonEulerModel(arm)
    return functools.cache(lambda name, *state: getattr(model, name)(*state))


class ServedModel:
    """A stand-in for libfranka's model, with an error in one inertia or another tool."""

    def __init__(self, extra=0.0, tool=TOOL, arm=FR3):
        self._term = terms_of(arm)
        self._tool = tool
        self._extra = np.diag(6 * [0.0] + [extra])

    def mass(self, state):
        return by_columns(self._term('mass_matrix', (*state.q,)) + self._extra)

    def coriolis(self, state):
        return self._term('coriolis', (*state.q,), (*state.dq,)).tolist()

    def zero_jacobian(self, state):
        jacobian = self._term('jacobian', (*state.q,))
        lever = self._term('frames', (*state.q,))[-1, :3, :3] @ self._tool[:3, 3]
        return by_columns(jacobian + np.pad(np.cross(jacobian[3:].T, lever).T, [(0, 3), (0, 0)]))

    def gravity(self, state):
        assert state.O_ddP_O == [0.0, 0.0, -9.81]
        return self._term('gravity', (*state.q,)).tolist()


BASE_GRAVITY = 'gravity in the base frame'


def first_number(sentence):
    """Return the first number of a sentence."""
    return float(re.search(r'(?<![\w^])\d+\.?\d*(e[+-]?\d+)?', sentence)[0])


def refused(served, state=None, arm=FR3):
    """Return the sentence of each difference that is not allowed, by its subject."""
    found = robot_model.compare_with_robot(state or read_state(), served, arm, FR3)
    return {one.subject: one.sentence for one in found if not one.is_allowed}


def test_two_formulations_of_one_arm_agree():
    found = list(robot_model.compare_with_robot(read_state(), ServedModel(), FR3, FR3))
    assert len(found) == 7
    for one in found[:4]:
        # Rounding: 6e-14 measured.
        assert first_number(one.sentence) < 1e-12
    assert all(one.is_allowed for one in found)


def test_only_a_large_inertia_error_is_refused():
    assert not refused(ServedModel(extra=0.1))
    said = refused(ServedModel(extra=5.0))['M']
    assert first_number(said) == 5.0 and 'kg m^2' in said and 'fr3_joint7' in said


def test_a_ball_that_one_side_lacks_differs_in_gravity_and_load():
    heavy = FR3.with_payload(BALL)
    loaded = read_state(load_kg=3.0)
    known = 'g by the load the robot knows ({} kg)'
    assert set(refused(ServedModel(), arm=heavy)) >= {'g', known.format(0)}
    assert set(refused(ServedModel(arm=heavy), loaded)) >= {'g', known.format(3)}
    assert not refused(ServedModel(arm=heavy), read_state(load_kg=3.0), heavy)


def test_another_flange_is_refused_by_its_jacobian():
    other = TOOL + np.outer(np.eye(4)[2], 0.05 * np.eye(4)[3])
    sentence = refused(ServedModel(tool=other))['Jacobian']
    np.testing.assert_allclose(first_number(sentence), 0.05, rtol=0.05)


def test_another_pose_and_gravity_of_the_base_are_told():
    state = read_state(gravity=[9.81, 0.0, 0.0])
    state.O_T_EE[12] += 0.05  # x of the translation; the matrix is stored by columns
    found = refused(ServedModel(), state)
    assert first_number(found[robot_model.POSE_SUBJECT]) == 0.05
    assert '[9.81, 0.0, 0.0]' in found[BASE_GRAVITY]


@pytest.mark.parametrize(('level', 'refuses'), [(0.4, False), (0.6, True)])
def test_gravity_of_the_base_may_differ_by_half_a_m_per_s2(level, refuses):
    found = refused(ServedModel(), read_state(gravity=[level, 0.0, -9.81]))
    assert (BASE_GRAVITY in found) is refuses


@pytest.mark.parametrize('value', [0.0, float('nan')])
def test_a_term_that_is_zero_or_no_number_throughout_is_refused(value):
    class Silent(ServedModel):
        def coriolis(self, state):
            return [value] * 7

    # Our last joint has no Coriolis torque either; equal zeros must not count as agreement.
    own = replace(FR3, links=(*FR3.links[:6], fd.LinkInertia.zero()))
    assert 'C dq' in refused(Silent(), arm=own)


def test_an_arm_of_other_joints_is_refused():
    with refuses(errors.RobotInterfaceError, '7 joints', 'rpr 3', '--arm'):
        robot_model.compare_with_robot(read_state(), ServedModel(), load('rpr'), FR3)


def test_a_comparison_leaves_the_robots_state_as_it_was():
    before = read_state(load_kg=3.0)
    state = read_state(load_kg=3.0)
    robot_model.compare_with_robot(state, ServedModel(), FR3, FR3)
    assert state == before
    with pytest.raises(AttributeError):
        robot_model.compare_with_robot(state, object(), FR3, FR3)
    assert state == before


def test_a_missing_pylibfranka_names_the_extra_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, 'pylibfranka', None)
    with refuses(errors.MissingDependencyError, '.[fci]'):
        robot_model.read_robot_state_and_model('robot')


def test_no_answer_suspects_another_client(monkeypatch):
    pytest.importorskip('pylibfranka', reason=NO_BINDINGS)

    def hang(command, timeout, **_):
        raise subprocess.TimeoutExpired(command, timeout)

    monkeypatch.setattr(robot_model.subprocess, 'run', hang)
    with refuses(errors.RobotInterfaceError, 'robot', '3 s'):
        robot_model.read_robot_state_and_model('robot', 3.0)


def test_doctor_names_a_robot_that_is_not_there(capsys):
    pytest.importorskip('pylibfranka', reason=NO_BINDINGS)
    assert main(['doctor', '--machine', '--robot', '127.9.9.9']) == 1
    assert '127.9.9.9' in capsys.readouterr().out


def test_doctor_compares_a_simulated_robot_over_the_protocol(tmp_path, capsys):
    pytest.importorskip('pylibfranka', reason=NO_BINDINGS)
    robot = FrankaSim(tmp_path)
    try:
        main(['doctor', '--machine', '--robot', robot.address, '--hand', 'none'])
        bare = capsys.readouterr().out
        status = main(['doctor', '--machine', '--robot', robot.address, '--hand', 'franka_hand'])
        handed = capsys.readouterr().out
    finally:
        robot.kill()
    # libfranka's priority is not kept.
    assert os.sched_getscheduler(0) == os.SCHED_OTHER
    for term in ('M', 'C dq', 'g', 'Jacobian'):
        (figure,) = re.findall(rf'^good.*robot, {term}: .*up to (\S+)', bare, re.MULTILINE)
        # Both read the same published numbers: rounding (5e-14 measured).
        assert float(figure) < 1e-12
    assert status == 1 and re.search(r'^to do.*robot, g: ', handed, re.MULTILINE)
    assert re.search(r'^to do.*robot, g by .*\(0 kg\)', handed, re.MULTILINE)
