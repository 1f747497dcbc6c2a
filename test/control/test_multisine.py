# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The excitation motion: within limits, at rest at its ends, and what plan() accepts."""

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.control.multisine import multisine
from franka_dynamics.control.planning import plan
from franka_dynamics.control.reference import ReferencePoint, Trajectory


@pytest.mark.parametrize('name', ['fer', 'fr3'])
@pytest.mark.parametrize(('duration', 'amplitude'), [(10.0, 0.5), (4.0, 3.0)])
def test_a_multisine_of_any_size_is_a_motion_the_arm_can_follow(name, duration, amplitude):
    arm = load(name)
    motion = multisine(arm, duration, amplitude)
    # plan() compares it with every limit, between the points too.
    assert isinstance(plan(motion, arm, 5.0, ReferencePoint.at_rest(arm.home)), Trajectory)
    np.testing.assert_allclose(motion.positions[[0, -1]], [arm.home, arm.home], rtol=0, atol=1e-15)
    np.testing.assert_allclose(motion.velocities[[0, -1]], 0.0, rtol=0, atol=1e-12)
    assert np.abs(motion.positions - arm.home).max() <= amplitude
