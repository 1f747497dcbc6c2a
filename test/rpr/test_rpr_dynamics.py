# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The RPR arm's file against MuJoCo's inertias of the solids that it describes."""

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.dynamics.sampling import sample_states

ARM = load('rpr')
# Largest difference measured: 1.4e-14 in torques up to 40 N m.
ATOL = 1e-12


def test_friction_torque_is_viscous_and_coulomb():
    dq = np.array([0.7, -0.5, 0.6])  # more than 25 widths of the tanh, which is exactly 1 there
    expected = [0.4 * 0.7 + 0.5, -6.0 * 0.5 - 3.0, 0.2 * 0.6 + 0.1]
    np.testing.assert_allclose(ARM.friction.torque(dq), expected, rtol=0.0, atol=ATOL)


def test_mujoco_of_the_same_solids_agrees_with_the_arm_file():
    mujoco = pytest.importorskip('mujoco', reason='the [sim] extra is not installed')
    # The arm of the report's figure, written as nested bodies; MuJoCo computes every inertia from
    # the geoms. quat entries are quarter turns: of T_0^1 about x, of T_1^2 about (-1, -1, 1).
    half = np.sqrt(0.5)
    xml = f"""<mujoco><compiler angle="radian" inertiafromgeom="true"/>
      <option gravity="0 0 -9.81"><flag contact="disable"/></option>
      <worldbody><body pos="0 0 0.3"><joint name="1" axis="0 0 1"/>
        <body pos="0.2 0 0" quat="{half} {half} 0 0">
          <geom type="cylinder" size="0.03 0.1" pos="0.1 0 0" euler="0 {np.pi / 2} 0"
                density="2710"/>
          <body pos="0 0 0.3" quat="0.5 -0.5 -0.5 0.5"><joint name="2" type="slide" axis="0 -1 0"/>
            <geom type="box" size="0.03 0.025 0.15" pos="0 0 0.15" density="2710"/>
            <body quat="{half} 0 0 {-half}"><joint name="3" axis="0 0 1"/>
              <geom type="cylinder" size="0.025 0.2" pos="0.4 -0.2 0" euler="{np.pi / 2} 0 0"
                    density="2710"/>
      </body></body></body></body></worldbody></mujoco>"""
    model = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(model)
    for q, dq, ddq in zip(*sample_states(ARM, 50, seed=0)):
        data.qpos[:], data.qvel[:], data.qacc[:] = q, dq, ddq
        mujoco.mj_inverse(model, data)
        expected = PinocchioModel(ARM).inverse_dynamics(q, dq, ddq)
        np.testing.assert_allclose(data.qfrc_inverse, expected, rtol=0.0, atol=ATOL)
