# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Known corrections come back from synthetic poses, and what no pose can tell is named."""

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.dynamics.body_tree import BodyTree
from franka_dynamics.dynamics.derivatives import tree_motion
from franka_dynamics.errors import CalibrationError
from franka_dynamics.identification.geometric_calibration import calibrate, identifiable_basis
from franka_dynamics.spatial import exp6

NOMINAL = BodyTree.from_description(load('fer'))
RPR = BodyTree.from_description(load('rpr'))
ROTATION, TRANSLATION = 2e-4, 1e-4  # rad, m: a laser tracker on a good day
SIZE = 5e-3  # rad or m, of the corrections to be found


def flange_poses(tree, q):
    zeros = np.zeros(tree.n)
    transforms = tree_motion(tree, q, zeros, zeros).transforms
    pose = np.broadcast_to(np.eye(4), (len(q), 4, 4))
    for i in range(tree.n):
        pose = pose @ transforms[:, i]
    return pose @ tree.tool


def measured(tree, q, rng, rotation=ROTATION, translation=TRANSLATION):
    noise = rng.normal(size=(len(q), 6)) * ([translation] * 3 + [rotation] * 3)
    return flange_poses(tree, q) @ exp6(noise)


def positions(tree, count, rng):
    return rng.uniform(-2.0, 2.0, (count, tree.n))


def tree_distance(calibration, true):
    """Return the identifiable coordinates of the correction that remains, by least squares."""
    found, n = calibration.tree, true.n
    remaining = np.zeros((n + 1, 6))
    for i in range(n):
        # (8): A_true - A_found = -ad(A_found) eta, of which the shortest eta has no gauge part.
        v, omega = found.twists[i, :3], found.twists[i, 3:]
        skew = [np.cross(np.eye(3), a) for a in (v, omega)]
        ad = np.block([[skew[1], skew[0]], [np.zeros((3, 3)), skew[1]]])
        remaining[i] = np.linalg.lstsq(-ad, true.twists[i] - found.twists[i], rcond=1e-9)[0]
    tool = true.tool @ np.linalg.inv(found.tool)  # near the identity
    remaining[n] = (*tool[:3, 3], tool[2, 1], tool[0, 2], tool[1, 0])
    return calibration.coordinates(remaining)


@pytest.fixture(scope='module')
def noisy():
    """Return, for six arms of random faults, the calibration and its error in sigmas."""
    results = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        true = NOMINAL.with_twist_corrections(SIZE * rng.normal(size=(8, 6)))
        q = positions(NOMINAL, 60, rng)
        result = calibrate(
            NOMINAL,
            q,
            measured(true, q, rng),
            rotation_deviation=ROTATION,
            translation_deviation=TRANSLATION,
        )
        results.append((result, tree_distance(result, true)))
    return results


def test_corrections_from_noisy_poses_are_within_three_sigma(noisy):
    sigmas = np.array([error / np.sqrt(np.diag(result.covariance)) for result, error in noisy])
    # Of 6 x 34 normal numbers 0.55 lie beyond 3 on average, and more than 3 in one case of 400.
    assert sigmas.shape == (6, 4 * 7 + 6)
    assert (np.abs(sigmas) > 3.0).sum() <= 3
    assert np.abs(sigmas).max() < 4.0


def test_the_covariance_from_noisy_poses_is_that_of_the_errors(noisy):
    # Given the errors' squared Mahalanobis length and the residual's weighted squares, both
    # chi-square: each stays within 3 of its standard deviations.
    for result, error in noisy:
        together = error @ np.linalg.solve(result.covariance, error)
        for value, freedom in ((together, 34), (result.chi_square, result.degrees_of_freedom)):
            assert abs(value - freedom) < 3 * np.sqrt(2 * freedom)


def test_the_residual_of_noisy_poses_falls_to_the_noise(noisy):
    for result, _ in noisy:
        assert result.translation_rms[0] > 20 * TRANSLATION
        assert result.translation_rms[1] < 1.1 * np.sqrt(3) * TRANSLATION
        assert result.rotation_rms[1] < 1.1 * np.sqrt(3) * ROTATION


@pytest.mark.parametrize('nominal', [NOMINAL, RPR], ids=['fer', 'rpr'])
def test_exact_poses_give_the_arm_back_exactly(nominal):
    # The RPR arm has a prismatic joint, of which two directions are identifiable.
    rng = np.random.default_rng(7)
    true = nominal.with_twist_corrections(SIZE * rng.normal(size=(nominal.n + 1, 6)))
    q = positions(nominal, 60, rng)
    result = calibrate(
        nominal,
        q,
        flange_poses(true, q),
        rotation_deviation=ROTATION,
        translation_deviation=TRANSLATION,
    )
    revolute = int((np.abs(nominal.twists[:, 3:]).max(axis=1) > 0.5).sum())
    assert result.basis.shape[1] == 4 * revolute + 2 * (nominal.n - revolute) + 6
    # Twists meet as far as the steps are taken: 1e-10, times the poses' conditioning of 1e2.
    np.testing.assert_allclose(tree_distance(result, true), 0.0, rtol=0.0, atol=1e-8)
    held_out = positions(nominal, 20, rng)
    np.testing.assert_allclose(
        flange_poses(result.tree, held_out), flange_poses(true, held_out), rtol=0.0, atol=1e-9
    )
    v, omega = result.tree.twists[:, :3], result.tree.twists[:, 3:]
    turning = np.abs(omega).max(axis=1) > 0.5
    np.testing.assert_allclose(
        np.linalg.norm(np.where(turning[:, None], omega, v), axis=1), 1.0, rtol=0.0, atol=1e-12
    )
    np.testing.assert_allclose((omega * v).sum(axis=1), 0.0, rtol=0.0, atol=1e-12)


def test_encoder_offsets_and_a_turned_base_are_explained():
    # Neither is a parameter of its own; both lie within the twists and the tool.
    rng = np.random.default_rng(8)
    q, offsets = positions(NOMINAL, 60, rng), 0.01 * rng.normal(size=7)
    base = exp6(0.01 * rng.normal(size=6))
    result = calibrate(
        NOMINAL,
        q,
        base @ flange_poses(NOMINAL, q + offsets),
        rotation_deviation=ROTATION,
        translation_deviation=TRANSLATION,
    )
    held_out = positions(NOMINAL, 20, rng)
    np.testing.assert_allclose(
        flange_poses(result.tree, held_out),
        base @ flange_poses(NOMINAL, held_out + offsets),
        rtol=0.0,
        atol=1e-9,
    )


def test_gauge_directions_change_no_pose():
    # Given eta in the complement of the identifiable basis, large.
    rng = np.random.default_rng(9)
    for tree in (NOMINAL, RPR):
        basis = identifiable_basis(tree)
        eta = rng.normal(size=basis.shape[0])
        eta -= basis @ (basis.T @ eta)
        q = positions(tree, 5, rng)
        moved = tree.with_twist_corrections(eta.reshape(-1, 6))
        np.testing.assert_allclose(
            flange_poses(moved, q), flange_poses(tree, q), rtol=0.0, atol=1e-13
        )


def test_a_calibrations_gauge_is_told_joint_by_joint():
    rng = np.random.default_rng(10)
    q = positions(RPR, 40, rng)
    result = calibrate(
        RPR, q, flange_poses(RPR, q), rotation_deviation=1.0, translation_deviation=1.0
    )
    assert [line.split(': ')[1] for line in result.gauge] == [
        'a turn of its axis about itself and a shift along itself change nothing',
        'a turn about its direction and any shift change nothing',
        'a turn of its axis about itself and a shift along itself change nothing',
    ]


def test_a_joint_that_never_moves_is_named():
    q = positions(NOMINAL, 50, np.random.default_rng(11))
    q[:, 2] = 0.4
    with pytest.raises(CalibrationError, match=r'leave \d+ combination\(s\).*fer_joint3'):
        calibrate(
            NOMINAL, q, flange_poses(NOMINAL, q), rotation_deviation=1.0, translation_deviation=1.0
        )


@pytest.mark.parametrize(
    ('count', 'change', 'message'),
    [
        (5, {}, r'5 poses give 30 numbers for 34 unknowns; record at least 6 poses'),
        (50, {'rotation_deviation': 0.0}, 'deviations of the measurement must be positive'),
        (
            50,
            {'poses': np.tile(np.eye(4), (3, 1, 1))},
            r'poses \(3, 4, 4\); expected \(N, 7\) and \(N, 4, 4\)',
        ),
    ],
)
def test_unfit_input_is_refused_with_what_to_fix(count, change, message):
    q = positions(NOMINAL, count, np.random.default_rng(12))
    arguments = {
        'poses': flange_poses(NOMINAL, q),
        'rotation_deviation': 1.0,
        'translation_deviation': 1.0,
        **change,
    }
    with pytest.raises(CalibrationError, match=message):
        calibrate(NOMINAL, q, **arguments)


@pytest.mark.parametrize('fault', [np.nan, 1.1])
def test_a_measured_pose_that_is_no_rigid_motion_is_named(fault):
    q = positions(NOMINAL, 10, np.random.default_rng(14))
    poses = flange_poses(NOMINAL, q)
    poses[3, 0, 0] = fault
    with pytest.raises(CalibrationError, match='Measured pose 3 is no rigid motion'):
        calibrate(NOMINAL, q, poses, rotation_deviation=1.0, translation_deviation=1.0)


def test_reversed_joints_are_suspected_of_another_order():
    q = positions(NOMINAL, 50, np.random.default_rng(13))
    with pytest.raises(CalibrationError, match='check the order of the joints'):
        calibrate(
            NOMINAL,
            q[:, ::-1],
            flange_poses(NOMINAL, q),
            rotation_deviation=1.0,
            translation_deviation=1.0,
        )


def test_poses_of_a_tool_turned_by_half_a_turn_are_not_taken_for_no_turn():
    q = positions(NOMINAL, 30, np.random.default_rng(15))
    turned = flange_poses(NOMINAL, q) @ np.diag([-1.0, -1.0, 1.0, 1.0])
    with pytest.raises(CalibrationError, match='is turned by more than'):
        calibrate(NOMINAL, q, turned, rotation_deviation=1.0, translation_deviation=1.0)
