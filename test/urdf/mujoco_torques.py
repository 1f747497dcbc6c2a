# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""MuJoCo's torques for a file that it has read, against those of the rows it was written from."""

import numpy as np
import pytest

from franka_dynamics.arm.sampling import sample_states
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel


def largest_mujoco_difference(model, description):
    """Return the largest difference of a joint torque over 50 random states [N m]."""
    mujoco = pytest.importorskip('mujoco')
    # Joint limits and contacts push back in some states; they are no part of the dynamics.
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    data = mujoco.MjData(model)
    states = sample_states(description, 50, 0)
    expected = NewtonEulerModel(description).inverse_dynamics(*states)
    found = np.empty_like(expected)
    for k, (q, dq, ddq) in enumerate(zip(*states)):
        data.qpos[:], data.qvel[:], data.qacc[:] = q, dq, ddq
        mujoco.mj_inverse(model, data)
        found[k] = data.qfrc_inverse
    return float(np.abs(found - expected).max())
