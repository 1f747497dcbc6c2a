# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Closed-form dynamics of the RPR arm against Pinocchio and MuJoCo."""

from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.arm import LinkInertia, load
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
    coriolis = np.einsum('...ij,...j->...i', RPR.coriolis_matrix(q, dq), dq)
    torque = MODEL.inverse_dynamics(q, dq, ddq) + ARM.friction.torque(dq)
    for found, expected in (
        (RPR.mass_matrix(q), MODEL.mass_matrix(q)),
        (coriolis, MODEL.coriolis(q, dq)),
        (RPR.gravity(q), MODEL.gravity(q)),
        (RPR.inverse_dynamics(q, dq, ddq), torque),
        (RPR.kinetic_energy(q, dq), MODEL.kinetic_energy(q, dq)),
        (RPR.potential_energy(q), MODEL.potential_energy(q)),
    ):
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=ATOL)


def test_friction_torque_is_viscous_and_coulomb():
    dq = np.array([0.7, -0.5, 0.6])  # more than 25 widths of the tanh, which is exactly 1 there
    expected = [0.4 * 0.7 + 0.5, -6.0 * 0.5 - 3.0, 0.2 * 0.6 + 0.1]
    np.testing.assert_allclose(ARM.friction.torque(dq), expected, rtol=0.0, atol=ATOL)


def test_an_arm_in_contact_bears_minus_h():
    q, dq, ddq = STATES
    h = np.random.default_rng(1).uniform(-20.0, 20.0, (len(q), 6))
    tau = FRICTIONLESS.inverse_dynamics(q, dq, ddq, h)
    expected = MODEL.inverse_dynamics(q, dq, ddq, wrench=-h)
    np.testing.assert_allclose(tau, expected, rtol=0.0, atol=ATOL)
    for found in (
        MODEL.forward_dynamics(q, dq, tau, wrench=-h),
        FRICTIONLESS.forward_dynamics(q, dq, tau, h),
    ):
        np.testing.assert_allclose(found, ddq, rtol=0.0, atol=1e-11)  # condition of B near 30


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


SKEW = Box(size=(0.1, 0.1, 0.1), center=(0.0, 0.05, 0.1), mass=1.0).link()
CROOKED = LinkInertia.from_center_of_mass(1.0, (0, 0, 0.1), (0.01, 0.001, 0, 0.01, 0, 0.01))
ROTOR = replace(ARM.joints[2], rotor_inertia=0.1)


@pytest.mark.parametrize(
    ('arm', 'named'),
    [
        (replace(ARM, links=(ARM.links[0], SKEW, ARM.links[2])), "link 2's centre of mass on z"),
        (replace(ARM, links=(ARM.links[0], CROOKED, ARM.links[2])), 'no products of inertia'),
        (replace(ARM, joints=(*ARM.joints[:2], ROTOR)), 'rpr_joint3 .* rotor'),
    ],
)
def test_an_arm_that_the_closed_form_does_not_describe_is_refused(arm, named):
    with pytest.raises(DescriptionError, match=named):
        RprDynamics.from_description(arm)
