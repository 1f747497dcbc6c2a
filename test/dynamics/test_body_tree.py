# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Trees of bodies and closed chains, against Pinocchio, closed forms and differences."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from scipy.spatial.transform import Rotation

import franka_dynamics as fd
from franka_dynamics.dynamics.body_tree import BASE_BODY
from franka_dynamics.dynamics.closed_chain_derivatives import reduced_torque_derivative
from franka_dynamics.dynamics.pinocchio_builder import pinocchio_inertia
from franka_dynamics.errors import InertiaError, JointVectorError, LoopError, TreeError

from .trees import complex_step, random_link, random_tree, slow_dynamics, vee
from ..agreement import assert_close, differences, refuses
from ..arms import random_arm
from ..scripts import example, loaded


@pytest.mark.parametrize(
    'arm',
    [fd.load('fer'), fd.load('rpr'), random_arm(np.random.default_rng(0))],
    ids=lambda arm: arm.name,
)
def test_a_tree_of_an_arm_keeps_flange_pose_and_torques(arm):
    tree = fd.BodyTree.from_description(arm)
    model = fd.NewtonEulerModel(arm)
    q, dq, ddq = np.random.default_rng(1).normal(size=(3, arm.n))
    motion = fd.tree_motion(tree, q, dq, ddq)
    pose = np.linalg.multi_dot([*motion.transforms, tree.tool_pose])
    np.testing.assert_allclose(pose, model.frames(q)[-1], rtol=0.0, atol=1e-14)
    assert_close(motion.tau, model.inverse_dynamics(q, dq, ddq), 1e-13)


def test_repeated_corrections_keep_twists_unit_and_without_pitch():
    # Corrections (6) keep |omega| = 1 and omega . v = 0 by themselves: 1e-15 per step measured.
    tree = random_tree(2, (-1, 0, 1, 1))
    rng = np.random.default_rng(3)
    for _ in range(100):
        tree = tree.with_twist_corrections(rng.normal(size=(5, 6)) * 0.3)
    v = tree.twists[:, :3]
    omega = tree.twists[:, 3:]
    turning = np.linalg.norm(omega, axis=1) > 0.5
    assert turning.any() and not turning.all()
    lengths = np.linalg.norm(np.where(turning[:, None], omega, v), axis=1)
    np.testing.assert_allclose(lengths, 1.0, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose((omega * v).sum(axis=1), 0.0, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize(
    ('change', 'names'),
    [
        ({'parents': (0,)}, ['joint 1', 'body 0', '-1']),
        ({'twists': np.zeros((2, 6))}, ['twists', '(1, 6)']),
        ({'twists': [(0, 0, 0, 0, 0, 2.0)]}, ['joint 1', 'revolute']),
        ({'twists': [(0, 0, 1.0, 0, 0, 1.0)]}, ['joint 1', 'omega . v = 0']),
        ({'inertias': ()}, ['1 inertias', 'got 0']),
        ({'tool_body': 3}, ['body 3', '0..0']),
        ({'rotor_inertias': [1.0, 2.0]}, ['rotor inertias', '1 bodies']),
        ({'tool_pose': 2.0 * np.eye(4)}, ['tool', 'pose']),
        ({'placements': [2.0 * np.eye(4)]}, ['joint 1', 'pose']),
    ],
)
def test_a_tree_that_contradicts_itself_is_refused_by_name(change, names):
    good = fd.BodyTree((-1,), [np.eye(4)], [(0, 0, 0, 0, 0, 1.0)], (fd.LinkInertia.zero(),))
    with refuses(TreeError, *names):
        replace(good, **change)


CHAIN = (-1, 0, 1, 2, 3)
TREE = (-1, 0, 0, 2, 2, -1, 5)
both_trees = pytest.mark.parametrize('parents', [CHAIN, TREE], ids=['chain', 'tree'])
TILTED = (1.0, -2.0, -9.5)
# Relative to the largest entry; 5e-15 measured over these trees.
RTOL = 2e-13


@pytest.fixture(scope='module', params=[CHAIN, TREE], ids=['chain', 'tree'])
def case(request):
    """Return a random tree, its state, a wrench, our derivatives and the complex steps."""
    tree = random_tree(3, request.param)
    rng = np.random.default_rng(4)
    q, dq, ddq = rng.normal(size=(3, tree.n))
    wrench = rng.normal(size=6) * 10.0
    found = fd.dynamics_derivatives(tree, q, dq, ddq, gravity=TILTED, tool_wrench=wrench)
    expected = complex_step(tree, q, dq, ddq, TILTED, wrench)
    change = np.einsum('nab,nbck->knac', np.linalg.inv(tree.poses(q)), expected['pose'])
    expected['displacement'] = np.moveaxis(vee(change), 0, -1)
    return tree, (q, dq, ddq), wrench, found, expected


@pytest.mark.parametrize('name', ['displacement', 'twist', 'acceleration', 'wrench', 'tau'])
def test_tree_derivatives_agree_with_complex_steps(case, name):
    *_, found, expected = case
    assert_close(getattr(found, name).all_columns, expected[name], RTOL)


@pytest.mark.parametrize(
    ('ddq', 'names'),
    [
        (np.zeros(4), ['ddq', '(4,)', '(..., 5)']),
        ([0, 0, np.nan, 0, 0], ['ddq of joint 3 is nan']),
        (np.zeros((2, 5)), ['q (3, 5), dq (5,), ddq (2, 5)']),
    ],
)
def test_a_bad_vector_is_named(ddq, names):
    with refuses(JointVectorError, *names):
        fd.tree_motion(random_tree(0, CHAIN), np.zeros((3, 5)), np.zeros(5), ddq)


@pytest.mark.parametrize(
    ('name', 'shape'),
    [
        *((name, (2, 5)) for name in ('q', 'dq', 'tau')),
        *(('tool_wrench', shape) for shape in ((2, 6), (1, 6), (3,))),
    ],
)
def test_a_linearization_is_of_one_state_under_one_wrench(name, shape):
    given = dict.fromkeys(('q', 'dq', 'tau'), np.zeros(5)) | {name: np.zeros(shape)}
    with refuses(JointVectorError, name.replace('_', ' '), '(6,)' if 'w' in name else shape):
        fd.linearize(random_tree(0, CHAIN), **given)
    with refuses(JointVectorError, 'wrench'):
        fd.dynamics_derivatives(random_tree(7, TREE), *np.zeros((3, 7)), tool_wrench=[0, 0, -20.0])


def test_four_joints_that_move_a_point_mass_have_no_acceleration():
    # A point has three degrees of freedom, so M is singular, but by rounding not exactly.
    tree = random_tree(0, (-1, 0, 1, 2))
    nothing = fd.LinkInertia.zero()
    point = fd.LinkInertia.from_center_of_mass(2.0, (0.3, -0.2, 0.1), np.zeros(6))
    tree = replace(tree, inertias=(nothing,) * 3 + (point,), rotor_inertias=np.zeros(4))
    with pytest.raises(InertiaError):
        fd.linearize(tree, np.ones(4), np.zeros(4), np.ones(4))


def test_a_trees_linearization_agrees_with_complex_steps(case):
    tree, (q, dq, ddq), wrench, _, expected = case
    n = tree.n
    still = np.zeros((tree.n + 1, 6))
    tau = slow_dynamics(tree, still, q, dq, ddq, TILTED, wrench)['tau']
    here = fd.linearize(tree, q, dq, tau, gravity=TILTED, tool_wrench=wrench)
    by_q, by_dq, mass = np.split(expected['tau'][:, still.size :], 3, axis=1)
    zero = np.zeros((n, n))
    one = np.eye(n)
    back = np.linalg.inv(mass)
    for found, theirs in (
        (here.ddq, ddq),
        (here.A, np.block([[zero, one], [-back @ by_q, -back @ by_dq]])),
        (here.B, np.vstack((zero, back))),
    ):
        assert_close(found, theirs, 1e-11)


@both_trees
def test_other_bodies_change_wrenches_and_torques_as_derived(parents):
    tree = random_tree(0, parents)
    rng = np.random.default_rng(1)
    q, dq, ddq = rng.normal(size=(3, tree.n))
    others = [random_link(rng) for _ in range(tree.n)]
    change = np.array([a.parameters() - b.parameters() for a, b in zip(others, tree.inertias)])
    before = fd.tree_motion(tree, q, dq, ddq)
    after = fd.tree_motion(replace(tree, inertias=others), q, dq, ddq)
    by = fd.differentiate_by_parameters(tree, q, dq, ddq)
    # Exact, because wrenches and torques are linear in the parameters: 2e-14 measured.
    torques = 'ijk,jk->i', by.tau, after.tau - before.tau
    wrenches = 'iajk,jk->ia', by.wrench, after.wrenches - before.wrenches
    for name, part, whole in (torques, wrenches):
        np.testing.assert_allclose(np.einsum(name, part, change), whole, rtol=0.0, atol=1e-12)


with loaded(example('five_bar')) as five_bar:
    five_bar_axes = five_bar.five_bar_axes
    five_bar_meshes = five_bar.five_bar_meshes
    spherical_five_bar = five_bar.spherical_five_bar

FIVE_BAR = spherical_five_bar()
AXES = five_bar_axes()
TURN_Z = (0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
HOME = np.zeros(5)
LENGTHS = (0.1, 0.35, 0.25, 0.3)  # m, a crank that turns all the way (Grashof)
ELBOW_UP = np.radians([60.0, -30.0, 80.0, -10.0])


def planar_four_bar(crank, coupler, rocker, ground):
    """
    Return a four-bar in the x-y plane, driven at its crank, of given lengths [m].

    At q = 0 all links lie along x. The coupler's far end is cut: joint 4 at the rocker's end moves
    a body that must coincide with a frame at the coupler's end.
    """
    placements = np.tile(np.eye(4), (4, 1, 1))
    coupler_end = np.eye(4)
    placements[:, 0, 3] = 0.0, crank, ground, rocker
    coupler_end[0, 3] = coupler
    inertias = [fd.LinkInertia.zero()] * 4
    tree = fd.BodyTree((BASE_BODY, 0, BASE_BODY, 2), placements, [TURN_Z] * 4, inertias)
    return fd.ClosedChain(tree, (0,), [fd.Loop(1, 3, 'planar_xy', first_frame=coupler_end)])


def test_an_end_turned_by_half_a_turn_is_open_and_assembled_anew():
    turned = FIVE_BAR.assemble([0.1, -0.1], HOME) + [0.0, 0.0, 0.0, 0.0, np.pi]
    assert np.linalg.norm(FIVE_BAR.closure_error(turned)) == pytest.approx(np.pi, abs=1e-13)
    # Equation (11): links 1-2-3 and links 4-5 end in one orientation.
    angles = FIVE_BAR.assemble([0.1, -0.1], turned)
    turns = [Rotation.from_rotvec(axis * angle).as_matrix() for axis, angle in zip(AXES, angles)]
    left = turns[0] @ turns[1] @ turns[2]
    right = turns[3] @ turns[4]
    np.testing.assert_allclose(left, right, rtol=0.0, atol=1e-13)


@pytest.mark.parametrize('motors', [(0.75, 0.99), (-1.0, 0.8), (-0.72, 1.06), (0.31, 1.03)])
def test_a_far_assembly_is_reached_by_a_continuous_motion(motors):
    # A full Newton step leads to another assembly mode, or to other turns.
    path = FIVE_BAR.assemble_path(np.outer(np.linspace(0.0, 1.0, 41), motors), np.zeros(5))
    found = FIVE_BAR.assemble(motors, np.zeros(5))
    np.testing.assert_allclose(found, path[-1], rtol=0.0, atol=1e-12)


def pinocchio_five_bar():
    """Return links 1-2-3 and 4 with link 3 pinned to link 4 at a point of axis 5."""
    model = pin.Model()
    model.gravity.linear = np.array(TILTED)
    for parent, axis, link in zip((0, 1, 2, 0), AXES, FIVE_BAR.tree.inertias):
        hinge = pin.JointModelRevoluteUnaligned(axis)
        here = pin.SE3.Identity()
        joint = model.addJoint(parent, hinge, here, f'joint{model.njoints}')
        model.appendBodyToJoint(joint, pinocchio_inertia(link), here)
    # All axes meet the origin, so one more common point makes axis 5 common.
    point = pin.SE3(np.eye(3), AXES[4])
    kind = pin.ContactType.CONTACT_3D
    frame = pin.ReferenceFrame.LOCAL
    return model, pin.RigidConstraintModel(kind, model, 3, point, 4, point, frame)


def constrained_acceleration(model, constraint, q, dq, tau):
    """Return Pinocchio's accelerations of a tree under one loop constraint."""
    models = pin.StdVec_RigidConstraintModel()
    datas = pin.StdVec_RigidConstraintData()
    models.append(constraint)
    datas.append(constraint.createData())
    data = model.createData()
    pin.initConstraintDynamics(model, data, models, datas)
    settings = pin.ProximalSettings(1e-13, 1e-8, 100)
    return pin.constraintDynamics(model, data, q, dq, tau, models, datas, settings)


@pytest.mark.parametrize('seed', range(3))
def test_five_bar_agrees_with_pinocchios_constrained_dynamics(seed):
    rng = np.random.default_rng(seed)
    active = [0, 3]
    chain = fd.ClosedChain(FIVE_BAR.tree, active, FIVE_BAR.loops, gravity=TILTED)
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


def test_one_position_and_many_velocities_are_a_stack_of_motions():
    q = FIVE_BAR.assemble([0.1, -0.2], HOME)
    rates = np.random.default_rng(0).normal(size=(3, 2, 2))
    motion = FIVE_BAR.motion(q, rates[:, 0], rates[:, 1])
    single = [FIVE_BAR.motion(q, *both) for both in rates]
    for name in ('q', 'dq', 'ddq'):
        expected = [getattr(one, name) for one in single]
        np.testing.assert_allclose(getattr(motion, name), expected, rtol=0.0, atol=1e-13)
    derivatives = fd.motor_derivatives(FIVE_BAR, motion)
    assert derivatives.by_parameters.shape == (3, 2, 5, 10)


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
    chain = planar_four_bar(0.3, 0.3, 0.2, 0.4)
    along = np.arctan2(-0.3, 0.4)
    q = np.array([0.5 * np.pi, along - 0.5 * np.pi, along + np.pi, -np.pi])
    np.testing.assert_allclose(chain.closure_error(q), 0.0, rtol=0.0, atol=1e-12)
    with refuses(LoopError, 'passive joints'):
        chain.passive_jacobian(q)


TWO_BODIES = fd.BodyTree((-1, -1), [np.eye(4)] * 2, [TURN_Z] * 2, [fd.LinkInertia.zero()] * 2)


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
        ((0, 1), [(0, 1, np.zeros((0, 6)))], ['one Loop']),
    ],
)
def test_loops_that_do_not_fit_their_chain_are_refused_by_name(active, loops, names):
    with refuses(TreeError, *names):
        fd.ClosedChain(TWO_BODIES, active, [fd.Loop(*loop) for loop in loops])


@pytest.mark.parametrize('given', ['text', 1.0, [[1.0, 2.0], [3.0]], {'a': 1.0}])
def test_arrays_that_are_no_numbers_are_refused_by_name(given):
    loops = [fd.Loop(0, 1, np.eye(6)[5:])]
    chain = fd.ClosedChain(TWO_BODIES, (0,), loops)
    for call, name in (
        (lambda: fd.ClosedChain(TWO_BODIES, (0,), loops, given), 'gravity vector'),
        (lambda: chain.assemble_path([[0.0], given], (0.0, 0.0)), 'q_active'),
        (lambda: chain.assemble_path([[0.0]], given), 'guess'),
        (lambda: chain.assemble_path(np.zeros((2, 3, 1)), (0.0, 0.0)), 'q_active'),
        (lambda: chain.assemble([0.0], np.zeros((2, 2))), 'guess'),
    ):
        with refuses(JointVectorError, name):
            call()
    with refuses(TreeError, 'corrections'):
        TWO_BODIES.with_twist_corrections(given)


@pytest.mark.parametrize('method', ['motion', 'forward_dynamics'])
def test_motor_values_of_another_number_of_states_are_refused(method):
    q = np.zeros((5, 2))
    chain = fd.ClosedChain(TWO_BODIES, (0,), [fd.Loop(0, 1, np.eye(6)[5:])])
    with refuses(JointVectorError, 'q (5, 2)', '(3, 1)'):
        getattr(chain, method)(q, np.zeros((3, 1)), np.zeros((3, 1)))


N = 5
ACTIVE = [0, 3]
PASSIVE = [1, 2, 4]
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
        tau = fd.tree_motion(tree, q, dq, ddq).tau
        passive_jacobian = fd.ClosedChain(tree, ACTIVE, FIVE_BAR.loops).passive_jacobian(q)
        return tau[ACTIVE] + passive_jacobian.T @ tau[PASSIVE]

    expected = differences(torque, 9 * N + 6, STEP)
    found = reduced_torque_derivative(FIVE_BAR, motion).all_columns
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=ATOL)


def motor_torque(motion, change, tree=FIVE_BAR.tree):
    """Return the motors' torques with the loops closed anew."""
    chain = fd.ClosedChain(tree, ACTIVE, FIVE_BAR.loops)
    q, dq, ddq = np.array(motion)[:, ACTIVE] + change.reshape(3, 2)
    return chain.inverse_dynamics(chain.motion(chain.assemble(q, motion.q), dq, ddq))


def test_five_bar_motor_derivatives_agree_with_differences(motion):
    expected = differences(lambda change: motor_torque(motion, change), 6, STEP)
    actual = fd.motor_derivatives(FIVE_BAR, motion)
    found = np.hstack((actual.by_q, actual.by_dq, actual.by_ddq))
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=ATOL)
    np.testing.assert_allclose(actual.by_ddq, FIVE_BAR.mass_matrix(motion.q), rtol=0.0, atol=1e-14)


def test_five_bar_derivatives_by_twists_agree_with_differences(motion):
    # Turning the axes about the origin keeps the mechanism spherical and movable.
    def torque(change):
        eta = np.zeros((6, 6))
        eta[:, 3:] = change.reshape(6, 3)
        return motor_torque(motion, np.zeros(6), FIVE_BAR.tree.with_twist_corrections(eta))

    expected = differences(torque, 18, STEP).reshape(2, 6, 3)
    actual = fd.motor_derivatives(FIVE_BAR, motion).by_corrections[..., 3:]
    np.testing.assert_allclose(actual, expected, rtol=0.0, atol=ATOL)
    assert np.abs(actual[:, :5]).max() > 0.1


def test_parameter_derivatives_give_other_bodies_motor_torques(motion):
    rng = np.random.default_rng(0)
    other = spherical_five_bar([random_link(rng) for _ in five_bar_meshes()])
    links = (chain.tree.inertias for chain in (other, FIVE_BAR))
    new, old = (np.array([one.parameters() for one in inertias]) for inertias in links)
    by = fd.motor_derivatives(FIVE_BAR, motion).by_parameters
    expected = other.inverse_dynamics(motion) - FIVE_BAR.inverse_dynamics(motion)
    found = np.einsum('ajk,jk->a', by, new - old)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-13)
