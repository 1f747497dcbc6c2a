# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A calibrated tree becomes an arm with the same poses and torques, also through a file."""

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.arm.arm_file_writer import arm_file_text
from franka_dynamics.dynamics.body_tree import BodyTree
from franka_dynamics.dynamics.derivatives import tree_motion
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.errors import CalibrationError
from franka_dynamics.identification.geometric_calibration import calibrated_arm

ARMS = {'fer': load('fer'), 'fr3': load('fr3', hand='franka_hand'), 'rpr': load('rpr')}
POSE_ATOL = 1e-12  # rad, m; 4e-14 measured
# N m; 1e-10 measured, in an arm whose nearly parallel axes make a row 300 m long.
TORQUE_ATOL = 2e-9
FILE_ATOL = 1e-9  # files hold twelve decimals


def calibrated(name, seed=0, size=2e-3):
    nominal = ARMS[name]
    tree = BodyTree.from_description(nominal)
    eta = size * np.random.default_rng(seed).normal(size=(tree.n + 1, 6))
    return nominal, tree.with_twist_corrections(eta)


@pytest.mark.parametrize('name', ARMS)
def test_rows_of_corrected_axes_keep_poses_and_torques(name):
    nominal, tree = calibrated(name)
    result = calibrated_arm(nominal, tree)
    q, dq, ddq = np.random.default_rng(1).normal(size=(3, 20, tree.n))
    model = NewtonEulerModel(result.description)
    np.testing.assert_allclose(
        model.frames(q)[:, -1], tree.poses(q)[:, -1] @ tree.tool, rtol=0.0, atol=POSE_ATOL
    )
    np.testing.assert_allclose(
        model.inverse_dynamics(q, dq, ddq),
        tree_motion(tree, q, dq, ddq).tau,
        rtol=0.0,
        atol=TORQUE_ATOL,
    )
    assert max(result.deviation) < POSE_ATOL
    # The nominal arm, by comparison, is millimetres away.
    nominal_poses = NewtonEulerModel(nominal).frames(q)[:, -1]
    assert np.abs(nominal_poses - model.frames(q)[:, -1]).max() > 1e-3


def test_a_calibrated_arm_is_the_same_when_loaded_from_its_file(tmp_path):
    nominal, tree = calibrated('fer')
    arm = calibrated_arm(nominal, tree).description
    path = tmp_path / 'my_fer.yaml'
    path.write_text(arm_file_text(arm, source='a test'))
    loaded = load(str(path))
    q, dq, ddq = np.random.default_rng(2).normal(size=(3, 7))
    np.testing.assert_allclose(
        PinocchioModel(loaded).frames(q)[-1],
        tree.poses(q)[-1] @ tree.tool,
        rtol=0.0,
        atol=FILE_ATOL,
    )
    np.testing.assert_allclose(
        PinocchioModel(loaded).inverse_dynamics(q, dq, ddq),
        tree_motion(tree, q, dq, ddq).tau,
        rtol=0.0,
        atol=1e-7,
    )
    assert loaded.joint_names == nominal.joint_names


def test_a_flange_tilt_too_small_for_rows_is_told_as_deviation():
    nominal = ARMS['fer']
    tree = BodyTree.from_description(nominal)
    eta = np.zeros((8, 6))
    eta[7, 3] = 5e-5
    rotation, translation = calibrated_arm(nominal, tree.with_twist_corrections(eta)).deviation
    np.testing.assert_allclose(rotation, 5e-5, rtol=1e-6, atol=0.0)
    assert translation < 1e-5


def test_another_arms_tree_is_refused_naming_both():
    _, tree = calibrated('rpr')
    with pytest.raises(CalibrationError, match='is not fer with its joints fer_joint1'):
        calibrated_arm(ARMS['fer'], tree)
