# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Differences to a loaded model are found, sized and placed."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np

from franka_dynamics.arm import LinkInertia, load
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.fci.model_difference import compare_models

FR3 = load('fr3')
# Two formulations of one arm at random states: 6e-14 measured.
ATOL = 1e-12


TOOL = np.array([[0.0, -1, 0, 0.01], [1, 0, 0, -0.02], [0, 0, 1, 0.1], [0, 0, 0, 1]])


def read_state(tool=TOOL):
    """Return a state as it was read, at home."""
    pose = NewtonEulerModel(FR3).frames(FR3.home)[-1] @ tool
    return SimpleNamespace(
        q=FR3.home.tolist(),
        F_T_EE=tool.flatten(order='F').tolist(),
        O_T_EE=pose.flatten(order='F').tolist(),
    )


class LoadedModel:
    """Answers as libfranka's model does, from the DH recursion; one inertia may be off."""

    def __init__(self, extra=0.0, tool=TOOL):
        self._model, self._extra, self._tool = NewtonEulerModel(FR3), extra, tool

    def mass(self, state):
        mass = self._model.mass_matrix(np.array(state.q))
        mass[6, 6] += self._extra
        return mass.flatten(order='F').tolist()

    def coriolis(self, state):
        return self._model.coriolis(np.array(state.q), np.array(state.dq)).tolist()

    def zero_jacobian(self, state):
        q = np.array(state.q)
        jacobian = self._model.jacobian(q)
        lever = self._model.frames(q)[-1, :3, :3] @ self._tool[:3, 3]
        jacobian[:3] += np.cross(jacobian[3:].T, lever).T
        return jacobian.flatten(order='F').tolist()

    def gravity(self, state):
        assert state.O_ddP_O == [0.0, 0.0, -9.81]
        return self._model.gravity(np.array(state.q)).tolist()


def test_the_same_arm_differs_by_rounding_alone():
    difference = compare_models(LoadedModel(), read_state(), PinocchioModel(FR3), 2.0, count=20)
    for term in difference.terms.values():
        assert term.largest < ATOL < term.scale
    assert difference.place < ATOL
    assert not difference.refusal()


def test_only_a_large_inertia_error_refuses():
    small, large = (
        compare_models(LoadedModel(extra), read_state(), PinocchioModel(FR3), 2.0, count=20)
        for extra in (0.1, 5.0)
    )
    assert not small.refusal()
    assert 'M differs by 5 kg m^2' in large.refusal()


def test_a_hand_the_robot_does_not_know_refuses_by_gravity():
    arm = load('fr3', hand='franka_hand')
    difference = compare_models(
        LoadedModel(), read_state(), PinocchioModel(arm), np.full(7, 2.0), count=20
    )
    assert 'g differs by' in difference.refusal()
    assert '(2 allowed)' in difference.refusal()


def test_another_flange_refuses_by_its_jacobian():
    other = TOOL.copy()
    other[2, 3] += 0.05
    difference = compare_models(
        LoadedModel(tool=other), read_state(), PinocchioModel(FR3), 2.0, count=20
    )
    np.testing.assert_allclose(difference.terms['Jacobian'].largest, 0.05, rtol=0.05)
    assert 'Jacobian differs by' in difference.refusal()


def test_a_term_that_is_zero_throughout_refuses():
    class Silent(LoadedModel):
        def coriolis(self, state):
            return [0.0] * 7

    # The last joint of the node's own arm has exactly none either: zero of zero is no agreement.
    ours = PinocchioModel(replace(FR3, links=(*FR3.links[:6], LinkInertia.zero())))
    difference = compare_models(Silent(), read_state(), ours, 20.0, count=20)
    assert 'C dq differs by' in difference.refusal()
