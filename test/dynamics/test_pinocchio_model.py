# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""PinocchioModel: results are copies, limits and rotors, threads, and pickling."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
import pickle
import sys

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.arm.sampling import sample_states
from franka_dynamics.dynamics.pinocchio_model import build_pinocchio, PinocchioModel
from franka_dynamics.validation.crosscheck import QUANTITIES

FER = load('fer')


@pytest.mark.parametrize('quantity', QUANTITIES, ids=lambda quantity: quantity.name)
def test_a_result_is_not_changed_by_the_next_call(quantity):
    # Pinocchio's own arrays are views of its workspace; the caller must own what it gets.
    model = PinocchioModel(FER)
    first, second = list(zip(*sample_states(FER, 2, 13)[: quantity.inputs]))
    method = getattr(model, quantity.name)
    result = method(*first)
    kept = result.copy()
    assert np.abs(method(*second) - kept).max() > 1e-6
    np.testing.assert_array_equal(result, kept)


def test_the_pinocchio_model_holds_limits_rotors_and_joint_names():
    joints = (replace(joint, rotor_inertia=0.1 * i) for i, joint in enumerate(FER.joints))
    model = build_pinocchio(replace(FER, joints=tuple(joints)))
    found = (model.lowerPositionLimit, model.upperPositionLimit, model.velocityLimit)
    expected = [FER.limit(name) for name in ('lower', 'upper', 'velocity', 'effort')]
    np.testing.assert_array_equal((*found, model.effortLimit), expected)
    np.testing.assert_array_equal(model.armature, 0.1 * np.arange(7))
    assert tuple(model.names)[1:] == FER.joint_names


def test_threads_that_share_a_model_read_their_own_poses_alone():
    model = PinocchioModel(FER)
    poses = (FER.home, 0.5 * FER.home)
    expected = [model.frames(q) for q in poses]

    def follow(k):
        return all(np.array_equal(model.frames(poses[k]), expected[k]) for _ in range(5000))

    interval = sys.getswitchinterval()
    # So short that threads switch between a call of Pinocchio and the reading of its result.
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(2) as threads:
            assert all(threads.map(follow, range(2)))
    finally:
        sys.setswitchinterval(interval)


def test_a_pickled_model_computes_alike():
    model = pickle.loads(pickle.dumps(PinocchioModel(FER)))
    np.testing.assert_array_equal(model.frames(FER.home), PinocchioModel(FER).frames(FER.home))
