# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Three methods for base parameters: relations, ranks of energies, rank of the regressor."""

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.arm.dh_conversion import in_modified_convention
from franka_dynamics.dynamics.body_tree import BASE, BodyTree
from franka_dynamics.dynamics.derivatives import tree_motion
from franka_dynamics.dynamics.regressor import parameter_vector, torque_regressor
from franka_dynamics.dynamics.tree_rows import tree_rows, with_axes_along_z
from franka_dynamics.errors import BaseParameterError, TreeError
from franka_dynamics.identification.base_parameters import (
    ANY_GRAVITY,
    base_parameters,
    Method,
    NO_GRAVITY,
    tree_base_parameters,
)
from franka_dynamics.identification.numerical_base_parameters import numerical_base_parameters

from .trees import random_tree_of_rows

GRAVITIES = {
    'vertical': (0.0, 0.0, -9.81),
    'tilted': (3.0, -5.0, -7.0),
    'none': NO_GRAVITY,
    'any': ANY_GRAVITY,
}
# Products of a few sines and lengths of order one along up to eight joints; measured 2e-14. The
# elimination solves with what it decided ranks on, so that its rounding is larger by the inverse
# of the smallest singular value it kept.
ATOL_MAP = 1e-12
ROUNDING = 1e-14
EPS_TORQUE = 1e-12


def states_of(tree, count=12, seed=3):
    return np.random.default_rng(seed).uniform(-2.0, 2.0, (3, count, tree.n))


def assert_same(one, other):
    assert one.columns == other.columns
    gap = getattr(other, 'rank_gap', None)
    atol = ATOL_MAP if gap is None else max(ATOL_MAP, ROUNDING / gap.smallest_kept)
    np.testing.assert_allclose(one.matrix, other.matrix, rtol=0.0, atol=atol)


@pytest.mark.parametrize('rotors', [False, True])
@pytest.mark.parametrize('gravity', GRAVITIES.values(), ids=GRAVITIES)
@pytest.mark.parametrize('name', ['fer', 'fr3', 'fr3v2', 'scemi', 'stanford', 'rpr'])
def test_given_a_shipped_arm_when_found_then_three_methods_agree(name, gravity, rotors):
    arm = in_modified_convention(load(name))
    closed = base_parameters(arm, gravity, rotor_inertia=rotors, method=Method.CLOSED_FORM)
    assert_same(closed, base_parameters(arm, gravity, rotor_inertia=rotors))
    numerical = numerical_base_parameters(arm, gravity, rotor_inertia=rotors)
    assert numerical.rank == len(closed)
    assert_same(closed, numerical)
    assert closed.rank_gap is None


@pytest.mark.parametrize('seed', range(60))
def test_given_a_random_arm_when_found_then_both_methods_agree(random_arm, seed):
    # Zero lengths and right angles are where parameters vanish near the base.
    arm = random_arm(seed, special=(0.6, 0.85, 0.95)[seed % 3], base=seed % 2 == 0)
    for gravity in GRAVITIES.values():
        for rotors in (False, True):
            assert_same(
                base_parameters(arm, gravity, rotor_inertia=rotors, method=Method.CLOSED_FORM),
                base_parameters(arm, gravity, rotor_inertia=rotors),
            )


@pytest.mark.parametrize('seed', range(40))
def test_given_a_random_tree_when_found_then_three_methods_agree(seed):
    tree = random_tree_of_rows(seed, special=(0.6, 0.85, 0.95)[seed % 3])
    for gravity in GRAVITIES.values():
        for rotors in (False, True):
            closed = tree_base_parameters(
                tree, gravity, rotor_inertia=rotors, method=Method.CLOSED_FORM
            )
            assert_same(closed, tree_base_parameters(tree, gravity, rotor_inertia=rotors))
            numerical = numerical_base_parameters(tree, gravity, rotor_inertia=rotors, count=40)
            assert numerical.rank == len(closed)


@pytest.mark.parametrize('seed', range(0, 40, 4))
def test_base_parameters_of_a_tree_keep_its_torques(seed):
    tree = random_tree_of_rows(seed)
    states = states_of(tree)
    for gravity in (GRAVITIES['vertical'], GRAVITIES['tilted'], NO_GRAVITY):
        found = tree_base_parameters(tree, gravity, method=Method.CLOSED_FORM)
        # The recursion of the tree's own dynamics, which knows no regressor.
        expected = tree_motion(tree, *states, gravity=gravity).tau
        np.testing.assert_allclose(
            found.regressor(*states) @ found.values(),
            expected,
            rtol=0.0,
            atol=EPS_TORQUE * max(1.0, np.abs(expected).max()),
        )


def test_an_arm_as_a_tree_has_the_arms_base_parameters():
    arm = load('fer')
    assert_same(
        tree_base_parameters(BodyTree.from_description(arm), method=Method.CLOSED_FORM),
        base_parameters(arm),
    )


def test_placements_of_trees_come_back_from_their_rows():
    for seed in range(40):
        tree = random_tree_of_rows(seed)
        for row, placement in zip(tree_rows(tree), tree.placements):
            np.testing.assert_allclose(row.poses(), placement, rtol=0.0, atol=1e-14)
    # A serial arm's rows come back as they were, gamma and b being zero.
    arm = load('fer')
    for row, joint in zip(tree_rows(BodyTree.from_description(arm)), arm.joints):
        assert (row.gamma, row.row.alpha, row.row.theta) == (0.0, joint.row.alpha, 0.0)
        np.testing.assert_allclose(
            (row.b + row.row.d, row.row.a), (joint.row.d, joint.row.a), rtol=0.0, atol=1e-15
        )


def test_given_axes_elsewhere_when_moved_to_z_then_torques_stay():
    from ..dynamics.trees import random_tree

    tree = random_tree(4, (BASE, 0, 1, 1, 0, BASE, 5))
    with pytest.raises(TreeError, match='does not lie along z'):
        tree_base_parameters(tree)
    moved = with_axes_along_z(tree)
    states = states_of(tree)
    expected = tree_motion(tree, *states)
    found = tree_motion(moved, *states)
    np.testing.assert_allclose(found.tau, expected.tau, rtol=0.0, atol=1e-12)
    poses = [each.poses(states[0])[:, tree.tool_body] @ each.tool for each in (tree, moved)]
    np.testing.assert_allclose(*poses, rtol=0.0, atol=1e-13)
    base = tree_base_parameters(moved)
    rotors = tree.rotor_inertias * states[2]
    np.testing.assert_allclose(
        base.regressor(*states) @ base.values(), expected.tau, rtol=0.0, atol=1e-12
    )
    assert base.rotor_inertia and rotors.any()


def test_a_torso_with_two_arms_has_the_papers_number():
    # One vertical torso joint and two Frankas behind it, mounted askew: both first links hang on
    # a link that turns about one direction, so each loses only what (20) takes, YY, mZ and m.
    fer = BodyTree.from_description(load('fer'))
    mounts = np.tile(np.eye(4), (2, 1, 1))
    mounts[:, 1, 3], mounts[:, 2, 3] = (0.2, -0.2), 0.5
    for mount, angle in zip(mounts, (0.7, -0.7)):
        c, s = np.cos(angle), np.sin(angle)
        mount[:3, :3] = [[1, 0, 0], [0, c, -s], [0, s, c]]
    placements = [np.eye(4)]
    for mount in mounts:
        placements += [mount @ fer.placements[0], *fer.placements[1:]]
    tree = BodyTree(
        (BASE, 0, 1, 2, 3, 4, 5, 6, 0, 8, 9, 10, 11, 12, 13),
        np.array(placements),
        np.tile([0, 0, 0, 0, 0, 1.0], (15, 1)),
        (fer.inertias[0], *fer.inertias, *fer.inertias),
        np.zeros(15),
    )
    # ZZ of the torso, seven of each of 14 links: 1 + 14 * 7.
    assert len(tree_base_parameters(tree, method=Method.CLOSED_FORM)) == 99
    assert numerical_base_parameters(tree).rank == 99


def test_a_standard_arm_is_refused_the_closed_form():
    with pytest.raises(TreeError, match='rpr has rows of the standard convention'):
        base_parameters(load('rpr'), method=Method.CLOSED_FORM)


def test_values_of_another_tree_are_refused():
    found = tree_base_parameters(random_tree_of_rows(1))
    with pytest.raises(BaseParameterError, match='parents, placements and twists'):
        found.values(random_tree_of_rows(2))


def test_a_trees_regressor_is_pinocchios_up_to_the_order():
    import pinocchio as pin

    from franka_dynamics.dynamics.regressor import PLACE_IN_PINOCCHIO

    arm = load('fr3')
    tree = BodyTree.from_description(arm)
    model = pin.Model()
    from ..dynamics.trees import pinocchio_tree

    model = pinocchio_tree(tree)
    data = model.createData()
    states = states_of(tree, 5)
    ours = torque_regressor(tree, *states)
    for index, (q, dq, ddq) in enumerate(zip(*states)):
        theirs = pin.computeJointTorqueRegressor(model, data, q, dq, ddq).reshape(7, 7, 10)
        theirs = theirs[:, :, list(PLACE_IN_PINOCCHIO)].reshape(7, 70)
        np.testing.assert_allclose(ours[index], theirs, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(
        ours @ parameter_vector(tree), tree_motion(tree, *states).tau, rtol=0.0, atol=1e-12
    )
    with pytest.raises(BaseParameterError, match='Column 70 does not exist'):
        torque_regressor(tree, *states, columns=[70])
