# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Closed-form dynamics of the RPR arm against Pinocchio and MuJoCo."""

from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.arm.bodies import Box
from franka_dynamics.arm.sampling import sample_states
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.errors import DescriptionError
from franka_dynamics.rpr.dynamics import RprDynamics

ARM = load('rpr')
RPR = RprDynamics.from_description(ARM)
FRICTIONLESS = replace(RPR, friction=None)
MODEL = PinocchioModel(ARM)
STATES = sample_states(ARM, 100, seed=0)
# Largest difference measured over 1e4 states: 1.4e-14 in torques up to 40 N m.
ATOL = 1e-12


def test_the_closed_form_is_what_the_arm_file_has():
    q, dq, ddq = STATES
    for actual, expected in (
        (MODEL.mass_matrix(q), RPR.mass_matrix(q)),
        (
            MODEL.coriolis(q, dq),
            np.einsum('...ij,...j->...i', RPR.coriolis_matrix(q, dq), dq),
        ),
        (MODEL.gravity(q), RPR.gravity(q)),
        (MODEL.inverse_dynamics(q, dq, ddq), FRICTIONLESS.inverse_dynamics(q, dq, ddq)),
        (MODEL.kinetic_energy(q, dq), RPR.kinetic_energy(q, dq)),
        (MODEL.potential_energy(q), RPR.potential_energy(q)),
    ):
        np.testing.assert_allclose(actual, expected, rtol=0.0, atol=ATOL)


def test_an_arm_in_contact_bears_minus_h():
    rng = np.random.default_rng(1)
    for q, dq, ddq in zip(*(part[:20] for part in STATES)):
        h = rng.uniform(-20.0, 20.0, 6)
        tau = FRICTIONLESS.inverse_dynamics(q, dq, ddq, h)
        np.testing.assert_allclose(
            MODEL.inverse_dynamics(q, dq, ddq, wrench=-h), tau, rtol=0.0, atol=ATOL
        )
        np.testing.assert_allclose(
            MODEL.forward_dynamics(q, dq, tau, wrench=-h), ddq, rtol=0.0, atol=1e-11
        )  # condition of B near 30
        np.testing.assert_allclose(
            FRICTIONLESS.forward_dynamics(q, dq, tau, h), ddq, rtol=0.0, atol=1e-11
        )


def test_friction_torque_is_viscous_and_coulomb():
    q, _, ddq = (part[0] for part in STATES)
    dq = np.array([0.7, -0.5, 0.6])  # more than 25 widths of the tanh, which is exactly 1 there
    friction = RPR.inverse_dynamics(q, dq, ddq) - FRICTIONLESS.inverse_dynamics(q, dq, ddq)
    expected = [0.4 * 0.7 + 0.5, -6.0 * 0.5 - 3.0, 0.2 * 0.6 + 0.1]
    np.testing.assert_allclose(friction, expected, rtol=0.0, atol=ATOL)


def test_mujoco_of_the_same_solids_agrees_with_the_closed_form():
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
    for q, dq, ddq in zip(*(part[:50] for part in STATES)):
        data.qpos[:], data.qvel[:], data.qacc[:] = q, dq, ddq
        mujoco.mj_inverse(model, data)
        np.testing.assert_allclose(
            data.qfrc_inverse, FRICTIONLESS.inverse_dynamics(q, dq, ddq), rtol=0.0, atol=ATOL
        )


def test_an_unsymmetric_link_is_refused_by_the_closed_form():
    skew = Box(size=(0.1, 0.1, 0.1), center=(0.0, 0.05, 0.1), mass=1.0).link()
    with pytest.raises(DescriptionError, match="needs link 2's centre of mass on z of its frame"):
        RprDynamics.from_description(replace(ARM, links=(ARM.links[0], skew, ARM.links[2])))


def test_rotors_which_the_closed_form_has_none_of_are_refused():
    arm = load('rpr')
    joints = (*arm.joints[:2], replace(arm.joints[2], rotor_inertia=0.1))
    with pytest.raises(DescriptionError, match=r'rpr_joint3.*rotor'):
        RprDynamics.from_description(replace(arm, joints=joints))
