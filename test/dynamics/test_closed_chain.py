# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Closed chains against Pinocchio's constrained dynamics and closed forms."""

import numpy as np
import pinocchio as pin
import pytest
from scipy.spatial.transform import Rotation

from franka_dynamics.arm import LinkInertia
from franka_dynamics.dynamics.body_tree import BASE, BodyTree
from franka_dynamics.dynamics.closed_chain import ClosedChain, Loop, PLANAR_XY, SPATIAL, SPHERICAL
from franka_dynamics.dynamics.pinocchio_model import pinocchio_inertia
from franka_dynamics.errors import LoopError, TreeError

from .mechanisms import five_bar_axes, spherical_five_bar

FIVE_BAR = spherical_five_bar()
AXES = five_bar_axes()
HOME = np.zeros(5)
LENGTHS = (0.1, 0.35, 0.25, 0.3)  # m, a crank that turns all the way (Grashof)
ELBOW_UP = np.radians([60.0, -30.0, 80.0, -10.0])


def rod(mass, length):
    """Return a slender rod along x from its frame's origin."""
    return LinkInertia.from_center_of_mass(
        mass, (length / 2, 0, 0), np.diag([1e-9, 1.0, 1.0]) * mass * length**2 / 12
    )


def planar_four_bar(lengths, inertias, gravity=(0.0, -9.81, 0.0)):
    """
    Return a four-bar in the x-y plane, driven at its crank, of crank, coupler, rocker, ground [m].

    At q = 0 crank and coupler lie along x and the rocker along -x. The coupler's far end is cut:
    joint 4 there moves a body without mass that must coincide with the coupler's frame.
    """
    crank, coupler, rocker, ground = (float(length) for length in lengths)
    placements = np.broadcast_to(np.eye(4), (4, 4, 4)).copy()
    placements[:, 0, 3] = 0.0, crank, ground, rocker
    # Joint 4 turns about the rocker's end; the coupler's end must be there.
    coupler_end = np.eye(4)
    coupler_end[0, 3] = coupler
    tree = BodyTree(
        parents=(BASE, 0, BASE, 2),
        placements=placements,
        twists=np.tile((0.0, 0.0, 0.0, 0.0, 0.0, 1.0), (4, 1)),
        inertias=(*inertias, LinkInertia.zero()),
        names=('crank', 'coupler', 'rocker', 'pin'),
    )
    return ClosedChain(tree, (0,), [Loop(1, 3, PLANAR_XY, first_frame=coupler_end)], gravity)


def four_bar():
    return planar_four_bar(
        LENGTHS, [rod(mass, length) for mass, length in zip((0.3, 0.6, 0.5), LENGTHS)]
    )


def five_bar_state(seed):
    rng = np.random.default_rng(seed)
    q = FIVE_BAR.assemble(rng.uniform(-0.5, 0.5, 2), HOME)
    return FIVE_BAR.motion(q, *rng.normal(size=(2, 2)))


def assert_equation_11(q):
    """Require that links 1-2-3 and links 4-5 end in one orientation."""
    turns = [Rotation.from_rotvec(axis * angle).as_matrix() for axis, angle in zip(AXES, q)]
    np.testing.assert_allclose(
        turns[0] @ turns[1] @ turns[2], turns[3] @ turns[4], rtol=0.0, atol=1e-13
    )


def test_an_end_turned_by_half_a_turn_is_open_and_assembled_anew():
    q = FIVE_BAR.assemble([0.1, -0.1], HOME)
    turned = q + [0.0, 0.0, 0.0, 0.0, np.pi]
    np.testing.assert_allclose(
        np.linalg.norm(FIVE_BAR.closure_error(turned)), np.pi, rtol=0.0, atol=1e-13
    )
    assert_equation_11(FIVE_BAR.assemble([0.1, -0.1], turned))


def pinocchio_five_bar():
    """Return links 1-2-3 and 4 with link 3 pinned to link 4 at a point of axis 5."""
    model = pin.Model()
    parents = (0, 1, 2, 0)
    for parent, axis, link in zip(parents, AXES, FIVE_BAR.tree.inertias):
        joint = model.addJoint(
            parent,
            pin.JointModelRevoluteUnaligned(axis),
            pin.SE3.Identity(),
            f'joint{model.njoints}',
        )
        model.appendBodyToJoint(joint, pinocchio_inertia(link), pin.SE3.Identity())
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
    motion = five_bar_state(seed)
    tau = FIVE_BAR.inverse_dynamics(motion)
    tree = [0, 1, 2, 3]
    acceleration = constrained_acceleration(
        *pinocchio_five_bar(), motion.q[tree], motion.dq[tree], np.array([tau[0], 0, 0, tau[1]])
    )
    # The point lies on a sphere anyway, so one of three equations is redundant and left to the
    # proximal steps: 1e-14 measured for accelerations up to 3 rad/s^2.
    np.testing.assert_allclose(acceleration, motion.ddq[tree], rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(
        FIVE_BAR.forward_dynamics(motion.q, motion.dq[[0, 3]], tau),
        motion.ddq[[0, 3]],
        rtol=0.0,
        atol=1e-12,
    )


@pytest.mark.parametrize('crank', np.radians([-150.0, -20.0, 45.0, 100.0, 175.0]))
def test_an_assembled_four_bar_agrees_with_intersecting_circles(crank):
    chain = four_bar()
    path = chain.follow(np.linspace(np.radians(60.0), crank, 30)[:, None], ELBOW_UP)
    q = path[-1]
    # The coupler's end lies on two circles: of the coupler about the crank's end, of the rocker
    # about (ground, 0); of the two intersections, the left one seen along the diagonal.
    a, b, c, d = LENGTHS
    end = a * np.array([np.cos(crank), np.sin(crank)])
    diagonal = np.array([d, 0.0]) - end
    length = np.linalg.norm(diagonal)
    along = (b**2 - c**2 + length**2) / (2 * length)
    normal = np.array([-diagonal[1], diagonal[0]]) / length
    pin_point = end + along * diagonal / length + np.sqrt(b**2 - along**2) * normal
    coupler = np.arctan2(*(pin_point - end)[::-1]) - crank
    rocker = np.arctan2(pin_point[1], pin_point[0] - d)
    np.testing.assert_allclose(np.cos(q[1:3] - [coupler, rocker]), 1.0, rtol=0.0, atol=1e-14)
    np.testing.assert_allclose(np.sin(q[1:3] - [coupler, rocker]), 0.0, rtol=0.0, atol=1e-12)


def test_a_crank_out_of_reach_says_how_far_open_it_is():
    # Given a crank's end 0.6 m from the pivot, which coupler and rocker of 0.1 m cannot bridge.
    chain = planar_four_bar((0.3, 0.1, 0.1, 0.3), [rod(1.0, 0.1)] * 3)
    with pytest.raises(
        LoopError,
        match=r'cannot be closed with the motors at \[3\.14'
        r'.*remain open.*out of reach',
    ):
        chain.assemble([np.pi - 1e-3], (0.0, 0.5, 2.0, 0.2))


def test_lined_up_links_are_named_as_a_singularity():
    # Given a four-bar with crank and coupler along one line with the rocker's end: g_p is
    # regular there; singular is the coupler along the rocker.
    chain = planar_four_bar((0.2, 0.3, 0.1, 0.4), [rod(1.0, 0.1)] * 3)
    # Coupler and rocker stretched: crank's end, pin and pivot on one line, 0.4 apart.
    half = np.arccos(0.1 / 0.4)  # isosceles: |pivot| = |end - pivot| = 0.4
    q = np.array([half, 0.0, 0.0, 0.0])
    end = 0.2 * np.array([np.cos(half), np.sin(half)])
    direction = np.arctan2(-end[1], 0.4 - end[0])
    q[1], q[2] = direction - half, direction + np.pi
    q[3] = q[0] + q[1] - q[2]
    np.testing.assert_allclose(chain.closure_error(q), 0.0, rtol=0.0, atol=1e-12)
    with pytest.raises(LoopError, match='motors do not determine the passive joints here'):
        chain.passive_jacobian(q)


def tiny_tree():
    return BodyTree((-1, -1), [np.eye(4)] * 2, [(0, 0, 0, 0, 0, 1)] * 2, [LinkInertia.zero()] * 2)


@pytest.mark.parametrize(
    ('active', 'loops', 'message'),
    [
        ((0,), [Loop(0, 1, SPHERICAL)], 'loops close 3 directions, but 1 joints are passive'),
        ((0, 5), [], r'different numbers from 0 to 1; got \[0, 5\]'),
        ((), [Loop(0, 1, SPATIAL[:2])], r'different numbers from 0 to 1; got \[\]'),
        ((0,), [Loop(0, 7, SPATIAL[5:])], r'joins bodies 0 and 7; the bodies are 0\.\.1'),
    ],
)
def test_loops_that_do_not_fit_their_chain_are_refused_by_name(active, loops, message):
    with pytest.raises(TreeError, match=message):
        ClosedChain(tiny_tree(), active, loops)


def test_a_loop_frame_that_is_not_rigid_is_refused():
    with pytest.raises(TreeError, match='A loop frame is not'):
        Loop(0, 1, SPHERICAL, first_frame=2.0 * np.eye(4))


def test_a_chain_without_loops_is_refused():
    with pytest.raises(TreeError, match='at least one Loop'):
        ClosedChain(FIVE_BAR.tree, range(FIVE_BAR.tree.n), ())
