# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The comparison of an arm's model with a robot's finds differences and names their joint.

The robot's model is computed by the Newton-Euler recursion in DH frames, the other by Pinocchio.
"""

from dataclasses import replace
import os
import re
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from franka_dynamics.arm import LinkInertia, load
from franka_dynamics.cli.main import main
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.errors import MissingDependencyError, RobotInterfaceError
from franka_dynamics.validation import robot_model
from franka_dynamics.validation.robot_model import compare_with_robot, POSE_SUBJECT, read_robot

from ..agreement import refuses
from ..simulated_robot import FrankaSim

FR3 = load('fr3')
BALL = LinkInertia.from_center_of_mass(3.0, np.array([0.0, 0.0, 0.1]), np.zeros(6))
TOOL = np.array([[0.0, -1, 0, 0.01], [1, 0, 0, -0.02], [0, 0, 1, 0.1], [0, 0, 0, 1]])
NO_BINDINGS = "libfranka's bindings are not installed"


def by_columns(matrix):
    return matrix.ravel(order='F').tolist()


def read_state(load_kg=0.0, gravity=(0.0, 0.0, 0.0)):
    """Return a robot's state, with a load at the ball's centre of mass."""
    return SimpleNamespace(
        q=list(FR3.home),
        dq=[0.0] * 7,
        F_T_EE=by_columns(TOOL),
        O_T_EE=by_columns(NewtonEulerModel(FR3).frames(FR3.home)[-1] @ TOOL),
        m_total=load_kg,
        F_x_Ctotal=[0.0, 0.0, 0.1],
        O_ddP_O=list(gravity),
    )


class ServedModel:
    """A stand-in for libfranka's model, with an error in one inertia or another tool."""

    def __init__(self, extra=0.0, tool=TOOL, arm=FR3):
        self._model, self._extra, self._tool = NewtonEulerModel(arm), extra, tool

    def mass(self, state):
        return by_columns(self._model.mass_matrix(state.q) + np.diag([0.0] * 6 + [self._extra]))

    def coriolis(self, state):
        return self._model.coriolis(state.q, state.dq).tolist()

    def zero_jacobian(self, state):
        jacobian = self._model.jacobian(state.q)
        lever = self._model.frames(state.q)[-1, :3, :3] @ self._tool[:3, 3]
        jacobian[:3] += np.cross(jacobian[3:].T, lever).T
        return by_columns(jacobian)

    def gravity(self, state):
        assert state.O_ddP_O == [0.0, 0.0, -9.81]
        return self._model.gravity(state.q).tolist()


def refused(served, state=None, arm=FR3):
    """Return the sentence of each difference that is not allowed, by its subject."""
    found = compare_with_robot(state or read_state(), served, arm, FR3, states=20)
    return {one.subject: one.sentence for one in found if not one.is_allowed}


def test_two_formulations_of_one_arm_agree():
    found = list(compare_with_robot(read_state(), ServedModel(), FR3, FR3, states=20))
    assert len(found) == 7
    for one in found[:4]:
        # Rounding: 6e-14 measured.
        assert float(one.sentence.split('up to ')[1].split()[0]) < 1e-12
    assert all(one.is_allowed for one in found)


def test_only_a_large_inertia_error_is_refused():
    assert not refused(ServedModel(extra=0.1))
    assert refused(ServedModel(extra=5.0))['M'].startswith(
        'differs by up to 5 kg m^2 at fr3_joint7'
    )


def test_a_ball_that_one_side_does_not_know_is_refused_by_gravity_and_load():
    heavy, loaded = FR3.with_payload(BALL), read_state(load_kg=3.0)
    known = 'g by the load the robot knows ({} kg)'
    assert set(refused(ServedModel(), arm=heavy)) >= {'g', known.format(0)}
    assert set(refused(ServedModel(arm=heavy), loaded)) >= {'g', known.format(3)}
    assert not refused(ServedModel(arm=heavy), read_state(load_kg=3.0), heavy)


def test_another_flange_is_refused_by_its_jacobian():
    other = TOOL + np.outer(np.eye(4)[2], 0.05 * np.eye(4)[3])
    sentence = refused(ServedModel(tool=other))['Jacobian']
    np.testing.assert_allclose(float(sentence.split()[4]), 0.05, rtol=0.05)


def test_a_pose_elsewhere_and_another_gravity_of_the_base_are_told():
    state = read_state(gravity=[9.81, 0.0, 0.0])
    state.O_T_EE[12] += 0.05  # x of the translation; the matrix is stored by columns
    found = refused(ServedModel(), state)
    assert found[POSE_SUBJECT].startswith('0.05 m apart')
    assert '[9.81, 0.0, 0.0] m/s^2' in found['gravity in the base frame']


@pytest.mark.parametrize(('level', 'refuses'), [(0.4, False), (0.6, True)])
def test_gravity_of_the_base_may_differ_by_half_a_metre_per_second_squared(level, refuses):
    found = refused(ServedModel(), read_state(gravity=[level, 0.0, -9.81]))
    assert ('gravity in the base frame' in found) is refuses


@pytest.mark.parametrize('value', [0.0, float('nan')])
def test_a_term_that_is_zero_or_no_number_throughout_is_refused(value):
    class Silent(ServedModel):
        def coriolis(self, state):
            return [value] * 7

    # Our last joint has no Coriolis torque either; equal zeros must not count as agreement.
    own = replace(FR3, links=(*FR3.links[:6], LinkInertia.zero()))
    assert 'C dq' in refused(Silent(), arm=own)


def test_an_arm_of_other_joints_is_refused():
    with refuses(RobotInterfaceError, '7 joints', 'rpr 3', '--arm'):
        compare_with_robot(read_state(), ServedModel(), load('rpr'), FR3)


def test_the_robots_state_is_the_same_after_a_comparison_even_if_it_fails():
    before, state = read_state(load_kg=3.0), read_state(load_kg=3.0)
    compare_with_robot(state, ServedModel(), FR3, FR3, states=2)
    assert state == before
    with pytest.raises(AttributeError):
        compare_with_robot(state, object(), FR3, FR3, states=2)
    assert state == before


def test_a_missing_pylibfranka_names_the_extra_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, 'pylibfranka', None)
    with refuses(MissingDependencyError, '.[fci]'):
        read_robot('robot')


def test_no_answer_suspects_another_client(monkeypatch):
    pytest.importorskip('pylibfranka', reason=NO_BINDINGS)

    def hang(command, timeout, **_):
        raise subprocess.TimeoutExpired(command, timeout)

    monkeypatch.setattr(robot_model.subprocess, 'run', hang)
    with refuses(RobotInterfaceError, 'robot', '3 s'):
        read_robot('robot', 3.0)


def test_doctor_names_a_robot_that_is_not_there(capsys):
    pytest.importorskip('pylibfranka', reason=NO_BINDINGS)
    assert main(['doctor', '--machine', '--robot', '127.9.9.9']) == 1
    assert '127.9.9.9 cannot be reached: Connection to FCI refused' in capsys.readouterr().out


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
    assert status == 1
    assert 'to do robot, g: differs by up to' in handed
    assert 'to do robot, g by the load the robot knows (0 kg)' in handed
