# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The offset of friction beside the gravity that a robot adds, against the simulated arm."""

from dataclasses import replace

import numpy as np
import pytest

import franka_dynamics as fd
from franka_dynamics.arm import ViscousCoulombFriction
from franka_dynamics.arm.payload import as_payload
from franka_dynamics.control.settings import Settings
from franka_dynamics.control.terms import TermModel
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.fit.options import IdentificationOptions
from franka_dynamics.recordings.preprocessing import to_motion

from ..arms import drawn_around, first_joints

ARM = first_joints(fd.load('fer'), 3)
OFFSET = np.array([0.1, -0.2, 0.05])  # N m
FRICTION = ViscousCoulombFriction(np.full(3, 0.2), np.full(3, 0.3), OFFSET)
ATOL = 0.05  # N m; noise of the efforts, and the prior on offsets


@pytest.fixture(scope='module')
def truth():
    """Return the arm that moves, whose masses the robot's own model has wrong by 20 %."""
    return drawn_around(ARM, 3, size=0.2)


@pytest.fixture(scope='module')
def motion(truth, simulate):
    return to_motion(simulate(truth, friction=FRICTION, noise=0.02))


@pytest.fixture(scope='module')
def result(motion):
    return fd.identify([motion], ARM, [ARM], IdentificationOptions(friction='viscous_coulomb'))


def needed_offset(truth, motion):
    """Return what the arm needs beside the gravity of the robot's model, (n,) [N m]."""
    models = NewtonEulerModel(truth), NewtonEulerModel(ARM)
    own, robot = (np.array([model.gravity(q) for q in motion.q[::20]]) for model in models)
    return OFFSET + (own - robot).mean(axis=0)


def test_the_offset_suits_the_gravity_of_the_robots_model(truth, motion, result):
    needed = needed_offset(truth, motion)
    friction = result.accepted_arm.friction
    np.testing.assert_allclose(friction.receiver_offset, needed, rtol=0.0, atol=ATOL)
    assert np.abs(friction.offset - needed).max() > 5.0 * ATOL


@pytest.mark.parametrize('target', ['fci', 'mujoco'])
def test_the_offset_of_the_target_is_commanded(result, target, tmp_path):
    path = tmp_path / 'own.yaml'
    result.save(path)
    arm = fd.load(path)
    commanded = TermModel(arm, Settings(target=target, terms=fd.Terms(offset=True))).offset
    friction = result.accepted_arm.friction
    expected = friction.receiver_offset if target == 'fci' else friction.offset
    np.testing.assert_allclose(commanded, expected, rtol=1e-9)
    assert np.abs(friction.receiver_offset - friction.offset).max() > 0.1


def test_a_load_that_the_file_leaves_out_is_no_part_of_it(truth, motion, result, tmp_path):
    # The same recording, of which 0.5 kg are known to have been on the flange.
    load = (0.2, 0.4, 0.0, 0.05)  # kg, m
    path = tmp_path / 'own.yaml'
    result.save(path, payload=load)
    models = [NewtonEulerModel(arm) for arm in (truth, truth.with_payload(as_payload(load)))]
    gravities = [np.array([model.gravity(q) for q in motion.q]) for model in models]
    of_load = (gravities[1] - gravities[0]).mean(axis=0)
    expected = result.accepted_arm.friction.receiver_offset - of_load
    found = fd.load(path).friction.receiver_offset
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-6)
    assert np.abs(of_load).max() > 0.3


def test_an_identified_start_is_not_the_robots_model(result, motion):
    again = replace(
        result, start=replace(fd.load('fer'), inertial_set='identified', file='own.yaml')
    )
    assert again.robot_arm.inertial_set == fd.load('fer').inertial_set
    # Of an arm that is not shipped nothing else is known.
    assert replace(result, start=replace(ARM, name='own')).robot_arm.name == 'own'
