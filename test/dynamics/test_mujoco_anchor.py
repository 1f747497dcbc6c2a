# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
MuJoCo as an oracle from outside.

The formulations share the loader and its conversion of published inertias. The MuJoCo models of
the Franka arms here take masses, centres of mass and tensors as the arm files print them, and all
take the rows through the matrix exponentials of the tests' Lagrangian.
"""

from pathlib import Path

import numpy as np
import pytest
import yaml

from franka_dynamics.arm import Convention, JointKind, LinkInertia, load
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.dynamics.product_of_exponentials import ExponentialsModel
from franka_dynamics.dynamics.sampling import sample_states

from . import lagrangian
from ..agreement import assert_near
from ..arms import random_arm

mujoco = pytest.importorskip('mujoco')

# Thirty times the largest difference seen (3e-13 of max(1, |a|)); MuJoCo turns every link's
# tensor into principal axes and a quaternion first.
AGREEMENT = 1e-11
FORMULATIONS = (PinocchioModel, NewtonEulerModel, ExponentialsModel)


def body_of(link):
    """Return mass, centre of mass and the tensor about it, as xx, xy, xz, yy, yz, zz."""
    return link.mass, link.center_of_mass, link.inertia_at_center_of_mass[np.triu_indices(3)]


def published_bodies(description):
    """Return the same from the arm's file, where it prints them about the centre of mass."""
    sets = yaml.safe_load(Path(description.file).read_text())['inertial_sets']
    entry = sets[description.inertial_set]
    assert entry['inertia_about'] == 'center_of_mass'
    links = entry['links']
    return [(one['mass'], one['center_of_mass'], np.array(one['inertia'])) for one in links]


def build_mujoco(description, gravity, bodies):
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    spec.option.gravity = gravity
    spec.option.enableflags |= int(mujoco.mjtEnableBit.mjENBL_ENERGY)
    parent, before = spec.worldbody, description.base
    steps, *_ = lagrangian.steps(description, np.zeros(description.n))
    for joint, step, (mass, center, tensor) in zip(description.joints, steps, bodies):
        pose, quaternion = before @ step, np.empty(4)
        mujoco.mju_mat2Quat(quaternion, pose[:3, :3].flatten())
        body = parent.add_body(
            name=f'link_of_{joint.name}',
            pos=pose[:3, 3],
            quat=quaternion,
            mass=mass,
            ipos=center,
            explicitinertial=True,
            fullinertia=tensor[[0, 3, 5, 1, 2, 4]],  # xx, yy, zz, xy, xz, yz
        )
        axis, foot = np.array([0.0, 0.0, 1.0]), np.zeros(3)
        if description.convention is Convention.STANDARD:
            axis, foot = step[:3, :3].T @ axis, -step[:3, :3].T @ step[:3, 3]
        hinge = joint.kind is JointKind.REVOLUTE
        kind = mujoco.mjtJoint.mjJNT_HINGE if hinge else mujoco.mjtJoint.mjJNT_SLIDE
        body.add_joint(
            name=joint.name, type=kind, axis=axis, pos=foot, armature=joint.rotor_inertia
        )
        parent, before = body, np.eye(4)
    return spec.compile()


def full_mass_matrix(model, data):
    columns = np.empty((model.nv, model.nv))
    for unit, column in zip(np.eye(model.nv), columns):
        mujoco.mj_mulM(model, data, column, unit)
    return columns.T


# How many of q, dq and ddq a quantity takes, and where MuJoCo has it.
QUANTITIES = {
    'center_of_mass': (1, lambda model, data: data.subtree_com[0]),
    'mass_matrix': (1, full_mass_matrix),
    'gravity': (1, lambda model, data: data.qfrc_bias),
    'nonlinear_effects': (2, lambda model, data: data.qfrc_bias),
    'inverse_dynamics': (3, lambda model, data: data.qfrc_inverse),
    'potential_energy': (1, lambda model, data: data.energy[0]),
    'kinetic_energy': (2, lambda model, data: data.energy[1]),
    'frames': (1, lambda model, data: data.xpos[1:]),
}


def assert_mujoco_agrees(description, gravity, bodies, states):
    model = build_mujoco(description, gravity, bodies)
    data = mujoco.MjData(model)
    models = [formulation(description, gravity) for formulation in FORMULATIONS]
    for quantity, (inputs, read) in QUANTITIES.items():
        expected = []
        for state in zip(*states[:inputs]):
            q, dq, ddq = (*state, 0.0, 0.0)[:3]
            data.qpos[:], data.qvel[:] = q, dq
            mujoco.mj_forward(model, data)
            data.qacc[:] = ddq
            mujoco.mj_inverse(model, data)
            expected.append(np.array(read(model, data)))
        for one in models:
            actual = getattr(one, quantity)(*states[:inputs])
            if quantity == 'frames':
                actual = actual[:, :-1, :3, 3]
                assert np.abs(actual - expected).max() <= AGREEMENT  # [m], also far away
            assert_near(actual, np.array(expected), AGREEMENT, f'{quantity}, {type(one).__name__}')


@pytest.mark.parametrize(('arm', 'gravity'), [('fer', (0, 0, -9.81)), ('fr3', (3.0, -5.0, 7.0))])
def test_given_a_published_arm_when_computed_then_mujoco_agrees(arm, gravity):
    description = load(arm, hand='none')
    bodies = published_bodies(description)
    assert_mujoco_agrees(description, gravity, bodies, sample_states(description, 30, 3))


@pytest.mark.parametrize('seed', range(4))
def test_given_any_arm_when_computed_then_mujoco_agrees(seed):
    rng = np.random.default_rng(seed)
    description, gravity = random_arm(rng), rng.normal(size=3) * 9.81
    bodies = [body_of(link) for link in description.links]
    assert_mujoco_agrees(description, gravity, bodies, sample_states(description, 10, seed))


# libfranka's own bounds.
ROBOT_GRAVITY_NM, ROBOT_CORIOLIS_NM, ROBOT_INERTIA_KGM2 = 0.2, 0.2, 0.1
LOAD = LinkInertia.from_center_of_mass(0.73, (0.01, 0.0, 0.03), np.diag((0.001, 0.0025, 0.0017)))


def symmetric(upper):
    """Fill a 7 by 7 matrix from the text of its upper triangle, row by row."""
    matrix = np.zeros((7, 7))
    matrix[np.triu_indices(7)] = [float(number) for number in upper.split()]
    return matrix + np.triu(matrix, 1).T


def test_the_shipped_fr3_at_work_is_near_a_robots():
    # g, C dq at a velocity of one, and M of a robot's own model with the load.
    q = np.array([0.0010, 0.0010, 0.0010, -2.3552, 0.0010, 2.3572, 0.0010])
    gravity = (0.0, -28.2417, 0.0, 20.7531, 0.5095, 2.3446, 0.0)
    coriolis = (3.1468, -0.6225, 3.1439, -3.1063, -0.0658, -0.5416, 0.0089)
    upper = """
        1.1749 -0.0085 1.1660 -0.0247 -0.0261 -0.0033 -0.0057
        1.7281 0.0046 -0.8304 -0.0142 -0.1209 -0.0005
        1.1660 -0.0247 -0.0261 -0.0033 -0.0057
        1.0399 0.0263 0.1526 -0.0023
        0.0112 0.0042 0.0012
        0.0390 -0.0004
        0.0019
    """
    model = NewtonEulerModel(load('fr3').with_payload(LOAD))
    for actual, expected, atol in (
        (model.gravity(q), gravity, ROBOT_GRAVITY_NM),
        (model.coriolis(q, np.ones(7)), coriolis, ROBOT_CORIOLIS_NM),
        (model.mass_matrix(q), symmetric(upper), ROBOT_INERTIA_KGM2),
    ):
        np.testing.assert_allclose(actual, expected, rtol=0.0, atol=atol)
