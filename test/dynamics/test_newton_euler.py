# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The recursion in DH frames against closed forms, and what it refuses."""

from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.arm import (
    ArmDescription,
    Convention,
    DHRow,
    Joint,
    JointKind,
    LinkInertia,
    load,
)
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.errors import FrameError, JointVectorError

MASS_KG, LENGTH_M, TENSOR_KGM2, G = 2.0, 0.5, 0.3, 9.81
ATOL = 1e-13  # about 50 ulp of m g l = 9.81 N m


def pendulum(convention):
    """Return a rod that swings about the horizontal y of {S}; at q = 0 it points along x."""
    base = np.eye(4)
    base[:3, :3] = [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]  # z of {0} is y of {S}
    link = LinkInertia.from_center_of_mass(
        MASS_KG, (LENGTH_M, 0.0, 0.0), np.diag((0.0, TENSOR_KGM2, TENSOR_KGM2))
    )
    return ArmDescription(
        'pendulum', convention, (Joint('swing', JointKind.REVOLUTE, DHRow()),), (link,), base=base
    )


@pytest.mark.parametrize('convention', list(Convention))
@pytest.mark.parametrize('angle', [0.0, 0.3, -1.2, np.pi / 2])
def test_a_pendulums_gravity_torque_is_the_closed_form(convention, angle):
    # A turn by q about +y lowers the rod: V = -m g l sin q.
    torque = NewtonEulerModel(pendulum(convention)).gravity([angle])
    np.testing.assert_allclose(
        torque, [-MASS_KG * G * LENGTH_M * np.cos(angle)], rtol=0.0, atol=ATOL
    )


def planar_two_link(convention):
    """Return two point masses on links of one length in the plane of x and y."""
    tip = LinkInertia.from_center_of_mass(MASS_KG, (0.0, 0.0, 0.0), np.zeros((3, 3)))
    if convention is Convention.STANDARD:
        # The frame is at the link's far end, where the mass is.
        rows, links = (DHRow(a=LENGTH_M), DHRow(a=LENGTH_M)), (tip, tip)
    else:
        far = LinkInertia.from_center_of_mass(MASS_KG, (LENGTH_M, 0.0, 0.0), np.zeros((3, 3)))
        rows, links = (DHRow(), DHRow(a=LENGTH_M)), (far, far)
    joints = tuple(Joint(f'joint{i}', JointKind.REVOLUTE, row) for i, row in enumerate(rows))
    return ArmDescription('planar', convention, joints, links)


@pytest.mark.parametrize('convention', list(Convention))
def test_a_planar_two_link_arm_has_the_textbooks_m_and_c(convention):
    # Spong, Hutchinson, Vidyasagar 2006, section 7.4.3: point masses at the ends.
    model, q2, (dq1, dq2) = NewtonEulerModel(planar_two_link(convention)), 0.8, (1.3, -0.6)
    unit = MASS_KG * LENGTH_M**2
    mass = unit * np.array([[3 + 2 * np.cos(q2), 1 + np.cos(q2)], [1 + np.cos(q2), 1.0]])
    h = -unit * np.sin(q2)
    coriolis = np.array([[h * dq2, h * (dq1 + dq2)], [-h * dq1, 0.0]])
    q, dq = [0.4, q2], [dq1, dq2]
    np.testing.assert_allclose(model.mass_matrix(q), mass, rtol=0.0, atol=ATOL)
    np.testing.assert_allclose(model.coriolis_matrix(q, dq), coriolis, rtol=0.0, atol=ATOL)


def test_a_link_with_a_first_moment_but_no_mass_is_computed():
    arm = load('fer')
    link = LinkInertia(0.0, (0.1, 0.2, 0.3), np.eye(3))
    regrouped = replace(arm, links=(*arm.links[:-1], link))
    # Linear in the parameters: the link's share is what it alone gives.
    nothing = tuple(LinkInertia.zero() for _ in range(6))
    q = arm.home
    alone = NewtonEulerModel(replace(arm, links=(*nothing, link))).gravity(q)
    rest = NewtonEulerModel(replace(arm, links=(*arm.links[:-1], LinkInertia.zero()))).gravity(q)
    assert np.abs(alone).max() > 0.1
    np.testing.assert_allclose(
        NewtonEulerModel(regrouped).gravity(q), alone + rest, rtol=0.0, atol=ATOL
    )


def test_a_joint_vector_of_wrong_length_names_the_joints():
    with pytest.raises(
        JointVectorError,
        match=r'q has shape \(6,\), expected \(..., 7\).*'
        'fer_joint1, fer_joint2',
    ):
        NewtonEulerModel(load('fer')).gravity(np.zeros(6))


@pytest.mark.parametrize('bad', [np.nan, np.inf])
def test_a_joint_value_that_is_not_finite_names_its_joint(bad):
    dq = np.zeros((2, 7))
    dq[1, 3] = bad
    with pytest.raises(JointVectorError, match=f'dq of joint fer_joint4 is {bad}'):
        NewtonEulerModel(load('fer')).coriolis(np.zeros((2, 7)), dq)


@pytest.mark.parametrize('frame', [0, 'hand'])
def test_an_unknown_frame_lists_the_frames(frame):
    with pytest.raises(FrameError, match=r"frames are 1\.\.7 \(joints\) and 8 or 'flange'"):
        NewtonEulerModel(load('fer')).jacobian(np.zeros(7), frame)


def test_an_unknown_reference_frame_lists_the_choices():
    with pytest.raises(FrameError, match='LOCAL, WORLD, LOCAL_WORLD_ALIGNED'):
        NewtonEulerModel(load('fer')).jacobian(np.zeros(7), 1, 'BODY')


@pytest.mark.parametrize('gravity', [(0.0, 9.81), (0.0, 0.0, np.nan)])
def test_a_malformed_gravity_vector_is_refused(gravity):
    with pytest.raises(JointVectorError, match='gravity vector must be three finite numbers'):
        NewtonEulerModel(load('fer'), gravity)
