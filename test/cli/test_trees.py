# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Verbs with --tree: a torso with two arms from a URDF."""

import json

import numpy as np
import pytest

from franka_dynamics.cli.main import main
from franka_dynamics.dynamics.assembly import tree_from_urdf
from franka_dynamics.dynamics.derivatives import differentiate, tree_motion
from franka_dynamics.errors import UrdfError
from franka_dynamics.validation.pinocchio_urdf import PinocchioUrdf

ATOL = 1e-12  # N m, of torques up to 60; measured 2e-14


def link(name, mass=2.0, com='0.05 -0.02 0.1'):
    return (
        f'<link name="{name}"><inertial><origin xyz="{com}" rpy="0.1 0.2 0.3"/><mass '
        f'value="{mass}"/><inertia ixx="0.02" ixy="0.001" ixz="-0.002" iyy="0.03" iyz="0.003" '
        'izz="0.025"/></inertial></link>'
    )


def joint(name, kind, parent, child, axis='0 0 1', extra=''):
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="0.1 -0.2 0.3" rpy="0.4 -0.5 0.6"/><axis xyz="{axis}"/>'
        f'<limit lower="-2" upper="2" velocity="1" effort="9"/>{extra}</joint>'
    )


def two_arms():
    """Return a torso with an arm of a turn and a slide, and one of two turns and a hand."""
    parts = [link('world'), link('torso', 9.0), joint('waist', 'revolute', 'world', 'torso')]
    for side, kinds in (
        ('left', ('revolute', 'prismatic')),
        ('right', ('continuous', 'revolute')),
    ):
        parts += [link(f'{side}{k}', 3.0 - k) for k in (1, 2)]
        parts += [
            joint(f'{side}_a', kinds[0], 'torso', f'{side}1', '0 0.6 0.8'),
            joint(f'{side}_b', kinds[1], f'{side}1', f'{side}2', '1 0 0'),
        ]
    parts += [link('hand', 0.7), joint('mount', 'fixed', 'right2', 'hand')]
    return f'<robot name="two_arms">{"".join(parts)}</robot>'


@pytest.fixture
def file(tmp_path):
    path = tmp_path / 'two_arms.urdf'
    path.write_text(two_arms(), encoding='utf-8')
    return path


def test_a_urdf_with_two_arms_when_read_then_pinocchio_agrees():
    tree = tree_from_urdf(two_arms())
    assert tree.names == ('waist', 'left_a', 'left_b', 'right_a', 'right_b')
    assert tree.parents == (-1, 0, 1, 0, 3)
    states = np.random.default_rng(0).uniform(-2.0, 2.0, (3, 20, 5))
    theirs = PinocchioUrdf(two_arms(), tree.names).inverse_dynamics(*states)
    np.testing.assert_allclose(tree_motion(tree, *states).tau, theirs, rtol=0.0, atol=ATOL)


def test_a_trees_base_parameters_are_confirmed_at_other_states(file, tmp_path, capsys):
    data = tmp_path / 'base.json'
    command = ['arm', 'base-parameters', '--tree', str(file), '--json', str(data)]
    assert main(command) == 0
    assert 'MISMATCH' not in capsys.readouterr().out
    content = json.loads(data.read_text())
    assert content['joints'] == ['waist', 'left_a', 'left_b', 'right_a', 'right_b']
    assert content['rank'] == len(content['base_parameters'])


def test_a_tree_when_letters_are_asked_then_lengths_have_names(file, capsys):
    pytest.importorskip('sympy', reason='the [symbolic] extra is not installed')
    assert main(['arm', 'base-parameters', '--tree', str(file), '--letters']) == 0
    assert 'XXR_2 = XX_2 - YY_2' in capsys.readouterr().out


def test_given_a_tree_when_generated_then_the_code_is_pinocchios(file, tmp_path, capsys):
    command = ['codegen', '--tree', str(file), '--language', 'python', '--output', str(tmp_path)]
    assert main([*command, '--quantity', 'inverse_dynamics', '--quantity', 'derivatives']) == 0
    assert 'joints: waist, left_a' in capsys.readouterr().out
    names = {}
    exec((tmp_path / 'two_arms_dynamics.py').read_text(), names)
    tree = tree_from_urdf(two_arms())
    states = np.random.default_rng(1).uniform(-2.0, 2.0, (3, 1, 5))
    tau, slopes = np.empty(5), np.empty((3, 5, 5))
    names['inverse_dynamics'](*states[:, 0], tau)
    names['derivatives'](*states[:, 0], slopes)
    theirs = PinocchioUrdf(two_arms(), tree.names).inverse_dynamics(*states)[0]
    np.testing.assert_allclose(tau, theirs, rtol=0.0, atol=ATOL)
    expected = differentiate(tree, *states[:, 0]).tau
    for own, other in zip(slopes, (expected.by_q, expected.by_dq, expected.by_ddq)):
        np.testing.assert_allclose(own, other, rtol=0.0, atol=ATOL * 10.0)


@pytest.mark.parametrize(
    ('change', 'sentence'),
    [
        (('continuous', 'floating'), 'joint right_a is floating'),
        (('9"/></joint>', '9"/><mimic joint="waist"/></joint>'), 'mimics waist'),
    ],
)
def test_given_a_joint_that_is_none_when_read_then_it_is_named(change, sentence):
    with pytest.raises(UrdfError, match=sentence):
        tree_from_urdf(two_arms().replace(*change))
