# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The regulator example brings the arm home as its linear model says."""

import numpy as np
import pytest

pytest.importorskip('scipy')


def test_the_regulator_brings_an_arm_off_its_pose_home(example):
    result = example.trial()
    assert np.abs(result.simulated[-1]).max() < 0.05 * example.OFFSET
    assert (np.abs(result.torques) < example.LIMIT).all()


def test_a_tenth_of_the_offset_has_a_tenth_of_the_relative_error(example):
    # What a linear model leaves out is quadratic: a tenth of it relative to a tenth of the way.
    errors = []
    for offset in (0.02, 0.002):
        result = example.trial(offset)
        errors.append(np.abs(result.simulated - result.predicted).max() / offset)
    np.testing.assert_allclose(errors[0] / errors[1], 10.0, rtol=0.2, atol=0.0)
