# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""DH rows recovered from a URDF against Pinocchio's kinematics of that URDF."""

import numpy as np
import pinocchio as pin
import pytest

from franka_dynamics.arm import Convention, load
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.errors import UrdfError
from franka_dynamics.urdf.dh_recovery import recover_rows
from franka_dynamics.urdf.serial_chain import read_chain
from franka_dynamics.urdf.writer import urdf_text

from .urdf_texts import random_chain
from ..agreement import refuses

BOTH = pytest.mark.parametrize('convention', list(Convention))
# [m] and [1]; 2.4e-14 on 400 random chains, more with nearly parallel axes.
KINEMATICS = 1e-12
SCARA = (
    ('revolute', 'xyz="0 0 0.4"'),
    ('revolute', 'xyz="0.3 0.1 0.1"'),
    ('revolute', 'xyz="0.2 0.1 0" rpy="3.1416 0 0"'),
    ('prismatic', 'xyz="0.2 0 0" rpy="3.1416 0 0"'),
    ('revolute', ''),
)
JOINTS = (
    f'<link name="link{i}"/><joint name="joint{i}" type="{kind}"><parent link="link{i - 1}"/>'
    f'<child link="link{i}"/><origin {origin}/><axis xyz="0 0 1"/>'
    '<limit effort="1" velocity="1"/></joint>'
    for i, (kind, origin) in enumerate(SCARA, start=1)
)
PARALLEL = f'<robot name="scara"><link name="link0"/>{"".join(JOINTS)}</robot>'


def assert_same_motion_and_gravity(text, convention, tip, atol=KINEMATICS):
    model = pin.buildModelFromXML(text)
    data = model.createData()
    chain = read_chain(text, list(model.names)[1:])
    description = recover_rows(chain, convention, tip)
    arm = NewtonEulerModel(description)
    if description.base_link is not None:
        standing = description.base_link.expressed_in(description.base).inertia
        expected = model.inertias[0].matrix()[3:, 3:]
        np.testing.assert_allclose(standing, expected, rtol=0.0, atol=1e3 * atol)
    rng = np.random.default_rng(7)
    for q in rng.uniform(-2.0, 2.0, (5, model.nq)):
        pin.framesForwardKinematics(model, data, q)
        expected = data.oMf[model.getFrameId(tip)].homogeneous
        np.testing.assert_allclose(arm.frames(q)[-1], expected, rtol=0.0, atol=atol)
        # Gravity torques of a few kilograms, at levers of metres.
        gravity = pin.computeGeneralizedGravity(model, data, q)
        np.testing.assert_allclose(arm.gravity(q), gravity, rtol=0.0, atol=1e3 * atol)


@BOTH
@pytest.mark.parametrize('seed', range(6))
def test_rows_recovered_of_a_random_chain_move_its_tip_alike(convention, seed):
    rng = np.random.default_rng(seed)
    kinds = rng.choice(['revolute', 'revolute', 'prismatic'], size=rng.integers(1, 8))
    assert_same_motion_and_gravity(random_chain(rng, kinds), convention, f'link{len(kinds)}')


@BOTH
@pytest.mark.parametrize('arm', ['fer', 'rpr'])
def test_rows_of_parallel_and_crossing_axes_move_the_tip_alike(convention, arm):
    description = load(arm)
    tip = f'{arm}_link{description.n + 1}'
    assert_same_motion_and_gravity(urdf_text(description), convention, tip, atol=1e-14)


@BOTH
@pytest.mark.parametrize('half_turn', ['3.1416', '3.14', '3.141592', '3.2'])
def test_rows_of_nearly_parallel_axes_are_exact_and_short(convention, half_turn):
    text = PARALLEL.replace('3.1416', half_turn)
    chain = read_chain(text, [f'joint{i}' for i in range(1, 6)])
    arm = recover_rows(chain, convention, 'link5')
    # The common normal of axes that are not quite parallel is kilometres away.
    assert max(abs(joint.row.d) for joint in arm.joints) < 1.0
    assert_same_motion_and_gravity(text, convention, 'link5', atol=1e-14)


def test_rows_recovered_of_frankas_urdf_are_frankas_own_table():
    description = load('fer')
    chain = read_chain(urdf_text(description), description.joint_names)
    arm = recover_rows(chain, Convention.MODIFIED, 'fer_link8')
    assert [one.row for one in arm.joints] == [one.row for one in description.joints]
    assert arm.flange == description.flange
    np.testing.assert_array_equal(arm.base, np.eye(4))


def test_a_tip_that_moves_is_refused_with_the_fixed_ones_listed():
    chain = read_chain(urdf_text(load('fer')), load('fer').joint_names)
    with refuses(UrdfError, "'fer_link3'", "'fer_link7'", 'fer_link8'):
        recover_rows(chain, Convention.MODIFIED, 'fer_link3')
