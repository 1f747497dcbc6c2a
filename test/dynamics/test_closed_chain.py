# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Closed chains against Pinocchio, closed forms and differences: Kwon's (14), corrected."""

import numpy as np
import pinocchio as pin
import pytest
from scipy.spatial.transform import Rotation

from franka_dynamics.arm import LinkInertia
from franka_dynamics.dynamics.body_tree import BASE_BODY, BodyTree
from franka_dynamics.dynamics.closed_chain import ClosedChain, Loop
from franka_dynamics.dynamics.closed_chain_derivatives import (
    motor_derivatives,
    reduced_torque_derivative,
)
from franka_dynamics.dynamics.derivatives import tree_motion
from franka_dynamics.dynamics.pinocchio_builder import pinocchio_inertia
from franka_dynamics.errors import JointVectorError, LoopError, TreeError

from .trees import random_link
from ..agreement import differences, refuses
from ..scripts import example, loaded

with loaded(example('five_bar')) as five_bar:
    five_bar_axes, five_bar_meshes = five_bar.five_bar_axes, five_bar.five_bar_meshes
    spherical_five_bar = five_bar.spherical_five_bar

FIVE_BAR = spherical_five_bar()
AXES = five_bar_axes()
TURN_Z = (0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
HOME = np.zeros(5)
LENGTHS = (0.1, 0.35, 0.25, 0.3)  # m, a crank that turns all the way (Grashof)
ELBOW_UP = np.radians([60.0, -30.0, 80.0, -10.0])
TILTED = (1.0, -2.0, -9.5)


def planar_four_bar(crank, coupler, rocker, ground):
    """
    Return a four-bar in the x-y plane, driven at its crank, of given lengths [m].

    At q = 0 all links lie along x. The coupler's far end is cut: joint 4 at the rocker's end moves
    a body that must coincide with a frame at the coupler's end.
    """
    placements, coupler_end = np.tile(np.eye(4), (4, 1, 1)), np.eye(4)
    placements[:, 0, 3] = 0.0, crank, ground, rocker
    coupler_end[0, 3] = coupler
    tree = BodyTree(
        (BASE_BODY, 0, BASE_BODY, 2), placements, [TURN_Z] * 4, [LinkInertia.zero()] * 4
    )
    return ClosedChain(tree, (0,), [Loop(1, 3, 'planar_xy', first_frame=coupler_end)])


def test_an_end_turned_by_half_a_turn_is_open_and_assembled_anew():
    q = FIVE_BAR.assemble([0.1, -0.1], HOME)
    turned = q + [0.0, 0.0, 0.0, 0.0, np.pi]
    np.testing.assert_allclose(
        np.linalg.norm(FIVE_BAR.closure_error(turned)), np.pi, rtol=0.0, atol=1e-13
    )
    # Equation (11): links 1-2-3 and links 4-5 end in one orientation.
    angles = FIVE_BAR.assemble([0.1, -0.1], turned)
    turns = [Rotation.from_rotvec(axis * angle).as_matrix() for axis, angle in zip(AXES, angles)]
    np.testing.assert_allclose(
        turns[0] @ turns[1] @ turns[2], turns[3] @ turns[4], rtol=0.0, atol=1e-13
    )


@pytest.mark.parametrize('motors', [(0.75, 0.99), (-1.0, 0.8), (-0.72, 1.06), (0.31, 1.03)])
def test_a_far_assembly_is_the_one_that_a_continuous_motion_reaches(motors):
    # A full Newton step leads to another assembly mode, or to other turns.
    path = FIVE_BAR.assemble_path(np.outer(np.linspace(0.0, 1.0, 41), motors), np.zeros(5))
    found = FIVE_BAR.assemble(motors, np.zeros(5))
    np.testing.assert_allclose(found, path[-1], rtol=0.0, atol=1e-12)


def pinocchio_five_bar():
    """Return links 1-2-3 and 4 with link 3 pinned to link 4 at a point of axis 5."""
    model = pin.Model()
    model.gravity.linear = np.array(TILTED)
    for parent, axis, link in zip((0, 1, 2, 0), AXES, FIVE_BAR.tree.inertias):
        hinge, here = pin.JointModelRevoluteUnaligned(axis), pin.SE3.Identity()
        joint = model.addJoint(parent, hinge, here, f'joint{model.njoints}')
        model.appendBodyToJoint(joint, pinocchio_inertia(link), here)
    # All axes meet the origin, so one more common point makes axis 5 common.
    point = pin.SE3(np.eye(3), AXES[4])
    return model, pin.RigidConstraintModel(
        pin.ContactType.CONTACT_3D, model, 3, point, 4, point, pin.ReferenceFrame.LOCAL
    )


def constrained_acceleration(model, constraint, q, dq, tau):
    """Return Pinocchio's accelerations of a tree under one loop constraint."""
    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    models.append(constraint)
    datas.append(constraint.createData())
    data = model.createData()
    pin.initConstraintDynamics(model, data, models, datas)
    return pin.constraintDynamics(
        model, data, q, dq, tau, models, datas, pin.ProximalSettings(1e-13, 1e-8, 100)
    )


@pytest.mark.parametrize('seed', range(3))
def test_five_bar_agrees_with_pinocchios_constrained_dynamics(seed):
    rng, active = np.random.default_rng(seed), [0, 3]
    chain = ClosedChain(FIVE_BAR.tree, active, FIVE_BAR.loops, gravity=TILTED)
    q = chain.assemble(rng.uniform(-0.5, 0.5, 2), HOME)
    motion = chain.motion(q, *rng.normal(size=(2, 2)))
    tau = chain.inverse_dynamics(motion)
    driven = np.array([tau[0], 0.0, 0.0, tau[1]])
    found = constrained_acceleration(*pinocchio_five_bar(), q[:4], motion.dq[:4], driven)
    # The point lies on a sphere anyway, so one of three equations is redundant and left to the
    # proximal steps: 1e-14 measured for accelerations up to 3 rad/s^2.
    np.testing.assert_allclose(found, motion.ddq[:4], rtol=0.0, atol=1e-12)
    ddq = chain.forward_dynamics(q, motion.dq[active], tau)
    np.testing.assert_allclose(ddq, motion.ddq[active], rtol=0.0, atol=1e-12)


@pytest.mark.parametrize('crank', np.radians([-150.0, -20.0, 45.0, 100.0, 175.0]))
def test_an_assembled_four_bar_agrees_with_intersecting_circles(crank):
    path = np.linspace(np.radians(60.0), crank, 30)[:, None]
    angles = planar_four_bar(*LENGTHS).assemble_path(path, ELBOW_UP)[-1]
    # In the complex plane, the coupler's end lies on two circles: of the coupler about the crank's
    # end, of the rocker about (ground, 0); the left intersection, seen along the diagonal.
    a, b, c, d = LENGTHS
    end = a * np.exp(1j * crank)
    length = abs(d - end)
    along = (b**2 - c**2 + length**2) / (2 * length)
    expected = end + (along + 1j * np.sqrt(b**2 - along**2)) * (d - end) / length
    found = end + b * np.exp(1j * (crank + angles[1])), d + c * np.exp(1j * angles[2])
    np.testing.assert_allclose(found, [expected, expected], rtol=0.0, atol=1e-13)


def test_a_crank_out_of_reach_says_how_far_open_it_is():
    # The crank's end is 0.6 m from the pivot; coupler and rocker of 0.1 m cannot bridge that.
    chain = planar_four_bar(0.3, 0.1, 0.1, 0.3)
    with refuses(LoopError, '[3.14', 'out of reach'):
        chain.assemble([np.pi - 1e-3], (0.0, 0.5, 2.0, 0.2))


def test_lined_up_links_are_named_as_a_singularity():
    # Coupler and rocker are the long side of a triangle 3-4-5. The crank is not in line with them,
    # so the loop's equations are singular by the passive joints only.
    chain, along = planar_four_bar(0.3, 0.3, 0.2, 0.4), np.arctan2(-0.3, 0.4)
    q = np.array([0.5 * np.pi, along - 0.5 * np.pi, along + np.pi, -np.pi])
    np.testing.assert_allclose(chain.closure_error(q), 0.0, rtol=0.0, atol=1e-12)
    with refuses(LoopError, 'passive joints'):
        chain.passive_jacobian(q)


TWO_BODIES = BodyTree((-1, -1), [np.eye(4)] * 2, [TURN_Z] * 2, [LinkInertia.zero()] * 2)


@pytest.mark.parametrize(
    ('active', 'loops', 'names'),
    [
        ((0,), [(0, 1, 'spherical')], ['3 directions', '1 joints']),
        ((0, 5), [], ['0 to 1', '[0, 5]']),
        ((), [(0, 1, np.eye(6)[:2])], ['0 to 1', '[]']),
        ((0,), [(0, 1, 'flat')], ["'flat'", 'spherical']),
        ((0,), [(0, 7, np.eye(6)[5:])], ['bodies 0 and 7', '0..1']),
        ((0,), [(0, 1, np.eye(6)[5:], 2.0 * np.eye(4))], ['loop frame']),
        ((0, 1), [], ['one Loop']),
    ],
)
def test_loops_that_do_not_fit_their_chain_are_refused_by_name(active, loops, names):
    with refuses(TreeError, *names):
        ClosedChain(TWO_BODIES, active, [Loop(*loop) for loop in loops])


@pytest.mark.parametrize('given', ['text', 1.0, [[1.0, 2.0], [3.0]], {'a': 1.0}])
def test_arrays_that_are_no_numbers_are_refused_by_name(given):
    loops = [Loop(0, 1, np.eye(6)[5:])]
    chain = ClosedChain(TWO_BODIES, (0,), loops)
    for call, name in (
        (lambda: ClosedChain(TWO_BODIES, (0,), loops, given), 'gravity vector'),
        (lambda: chain.assemble_path([[0.0], given], (0.0, 0.0)), 'q_active'),
        (lambda: chain.assemble_path([[0.0]], given), 'guess'),
    ):
        with refuses(JointVectorError, name):
            call()
    with refuses(TreeError, 'corrections'):
        TWO_BODIES.with_twist_corrections(given)


N, ACTIVE, PASSIVE = 5, [0, 3], [1, 2, 4]
STEP = 1e-3
# Central differences of fourth order: truncation 1e-12 times fifth derivatives, rounding 1e-13;
# 3e-13 measured for entries up to 3 N m.
ATOL = 1e-11


@pytest.fixture(scope='module')
def motion():
    """Return a motion of the five-bar in the middle of its workspace."""
    return FIVE_BAR.motion(FIVE_BAR.assemble([0.4, -0.3], np.zeros(N)), [1.0, -0.7], [2.0, 1.5])


def test_the_five_bars_torque_derivative_is_the_slope_of_13(motion):
    def torque(change):  # by lambda, every joint of the tree on its own
        tree = FIVE_BAR.tree.with_twist_corrections(change[:36].reshape(6, 6))
        q, dq, ddq = np.array(motion) + change[36:].reshape(3, N)
        tau = tree_motion(tree, q, dq, ddq).tau
        passive_jacobian = ClosedChain(tree, ACTIVE, FIVE_BAR.loops).passive_jacobian(q)
        return tau[ACTIVE] + passive_jacobian.T @ tau[PASSIVE]

    expected = differences(torque, 9 * N + 6, STEP)
    found = reduced_torque_derivative(FIVE_BAR, motion).full
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=ATOL)


def motor_torque(motion, change, tree=FIVE_BAR.tree):
    """Return the motors' torques with the loops closed anew."""
    chain = ClosedChain(tree, ACTIVE, FIVE_BAR.loops)
    q, dq, ddq = np.array(motion)[:, ACTIVE] + change.reshape(3, 2)
    return chain.inverse_dynamics(chain.motion(chain.assemble(q, motion.q), dq, ddq))


def test_five_bar_motor_derivatives_agree_with_differences(motion):
    expected = differences(lambda change: motor_torque(motion, change), 6, STEP)
    actual = motor_derivatives(FIVE_BAR, motion)
    np.testing.assert_allclose(
        np.hstack((actual.by_q, actual.by_dq, actual.by_ddq)), expected, rtol=0.0, atol=ATOL
    )
    np.testing.assert_allclose(actual.by_ddq, FIVE_BAR.mass_matrix(motion.q), rtol=0.0, atol=1e-14)


def test_five_bar_derivatives_by_twists_agree_with_differences(motion):
    # Turning the axes about the origin keeps the mechanism spherical and movable.
    def torque(change):
        eta = np.zeros((6, 6))
        eta[:, 3:] = change.reshape(6, 3)
        return motor_torque(motion, np.zeros(6), FIVE_BAR.tree.with_twist_corrections(eta))

    expected = differences(torque, 18, STEP).reshape(2, 6, 3)
    actual = motor_derivatives(FIVE_BAR, motion).by_eta[..., 3:]
    np.testing.assert_allclose(actual, expected, rtol=0.0, atol=ATOL)
    assert np.abs(actual[:, :5]).max() > 0.1


def test_parameter_derivatives_give_other_bodies_motor_torques(motion):
    rng = np.random.default_rng(0)
    other = spherical_five_bar([random_link(rng) for _ in five_bar_meshes()])
    new, old = (
        np.array([link.parameters() for link in chain.tree.inertias])
        for chain in (other, FIVE_BAR)
    )
    by = motor_derivatives(FIVE_BAR, motion).by_parameters
    expected = other.inverse_dynamics(motion) - FIVE_BAR.inverse_dynamics(motion)
    found = np.einsum('ajk,jk->a', by, new - old)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-13)
