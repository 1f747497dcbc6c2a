# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
MuJoCo as an oracle from outside.

The formulations share the loader and its conversion of published inertias. The MuJoCo models of
the Franka arms here take masses, centres of mass and tensors as the arm files print them, and all
take the rows through matrix products of this file.
"""

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
import yaml

from franka_dynamics.arm import Convention, JointKind, load
from franka_dynamics.arm.sampling import random_arm, sample_states
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.dynamics.product_of_exponentials import ExponentialsModel

from ..agreement import assert_near

mujoco = pytest.importorskip('mujoco')

# Thirty times the largest difference seen (3e-13 of max(1, |a|)); MuJoCo turns every link's
# tensor into principal axes and a quaternion first.
AGREEMENT = 1e-11
FORMULATIONS = (PinocchioModel, NewtonEulerModel, ExponentialsModel)
STATES = 10


def screw(axis, angle, length):
    """Return the pose of a turn about an axis and a slide along it."""
    pose = np.eye(4)
    pose[:3, :3] = Rotation.from_euler('xyz'[axis], angle).as_matrix()
    pose[axis, 3] = length
    return pose


def row_at_zero(row, convention):
    along_x, along_z = screw(0, row.alpha, row.a), screw(2, row.theta, row.d)
    return along_x @ along_z if convention is Convention.MODIFIED else along_z @ along_x


def body_of(link):
    """Return mass, centre of mass and the tensor about it, as xx, xy, xz, yy, yz, zz."""
    return link.mass, link.center_of_mass, link.inertia_at_center_of_mass[np.triu_indices(3)]


def published_bodies(description):
    """Return the same from the arm's file, where it prints them about the centre of mass."""
    entry = yaml.safe_load(Path(description.file).read_text())['inertial_sets'][
        description.inertial_set
    ]
    assert entry['inertia_about'] == 'center_of_mass'
    return [
        (link['mass'], link['center_of_mass'], np.array(link['inertia']))
        for link in entry['links']
    ]


def build_mujoco(description, gravity, bodies):
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    spec.option.gravity = gravity
    parent, before = spec.worldbody, description.base
    for joint, (mass, center, tensor) in zip(description.joints, bodies):
        step = row_at_zero(joint.row, description.convention)
        pose = before @ step
        quaternion = np.empty(4)
        mujoco.mju_mat2Quat(quaternion, pose[:3, :3].flatten())
        body = parent.add_body(
            name=f'link_of_{joint.name}',
            pos=pose[:3, 3],
            quat=quaternion,
            mass=mass,
            ipos=center,
            explicitinertial=True,
            fullinertia=tensor[[0, 3, 5, 1, 2, 4]],
        )  # its order is xx, yy, zz, xy, xz, yz
        axis, foot = np.array([0.0, 0.0, 1.0]), np.zeros(3)
        if description.convention is Convention.STANDARD:
            axis, foot = step[:3, :3].T @ axis, -step[:3, :3].T @ step[:3, 3]
        kind = (
            mujoco.mjtJoint.mjJNT_HINGE
            if joint.kind is JointKind.REVOLUTE
            else mujoco.mjtJoint.mjJNT_SLIDE
        )
        body.add_joint(
            name=joint.name, type=kind, axis=axis, pos=foot, armature=joint.rotor_inertia
        )
        parent, before = body, np.eye(4)
    return spec.compile()


class MujocoOracle:
    def __init__(self, description, gravity, bodies=None):
        bodies = bodies or [body_of(link) for link in description.links]
        self.model = build_mujoco(description, gravity, bodies)
        self.data = mujoco.MjData(self.model)

    def set_state(self, q, dq=0.0, ddq=0.0):
        self.data.qpos[:], self.data.qvel[:] = q, dq
        mujoco.mj_forward(self.model, self.data)
        self.data.qacc[:] = ddq
        mujoco.mj_inverse(self.model, self.data)

    def mass_matrix(self, q):
        self.set_state(q)
        columns = np.empty((self.model.nv, self.model.nv))
        for unit, column in zip(np.eye(self.model.nv), columns):
            mujoco.mj_mulM(self.model, self.data, column, unit)
        return columns.T

    def nonlinear_effects(self, q, dq):
        self.set_state(q, dq)
        return self.data.qfrc_bias.copy()

    def gravity(self, q):
        return self.nonlinear_effects(q, 0.0)

    def inverse_dynamics(self, q, dq, ddq):
        self.set_state(q, dq, ddq)
        return self.data.qfrc_inverse.copy()

    def center_of_mass(self, q):
        self.set_state(q)
        return self.data.subtree_com[0].copy()

    def link_origins(self, q):
        self.set_state(q)
        return self.data.xpos[1:].copy()


QUANTITIES = {
    'center_of_mass': 1,
    'mass_matrix': 1,
    'gravity': 1,
    'nonlinear_effects': 2,
    'inverse_dynamics': 3,
}


def assert_mujoco_agrees(models, oracle, states):
    for quantity, inputs in QUANTITIES.items():
        expected = np.array([getattr(oracle, quantity)(*state) for state in zip(*states[:inputs])])
        for model in models:
            actual = getattr(model, quantity)(*states[:inputs])
            assert_near(actual, expected, AGREEMENT, f'{quantity} of {type(model).__name__}')
    origins = np.array([oracle.link_origins(q) for q in states.q])
    for model in models:
        np.testing.assert_allclose(
            model.frames(states.q)[:, :-1, :3, 3], origins, rtol=0.0, atol=AGREEMENT
        )


@pytest.mark.parametrize(
    ('arm', 'gravity'), [('fer', (0.0, 0.0, -9.81)), ('fr3', (3.0, -5.0, 7.0))]
)
def test_given_a_published_arm_when_computed_then_mujoco_agrees(arm, gravity):
    description = load(arm, hand='none')
    oracle = MujocoOracle(description, gravity, published_bodies(description))
    assert_mujoco_agrees(
        [formulation(description, gravity) for formulation in FORMULATIONS],
        oracle,
        sample_states(description, 30, 3),
    )


@pytest.mark.parametrize('seed', range(4))
def test_given_any_arm_when_computed_then_mujoco_agrees(seed):
    rng = np.random.default_rng(seed)
    description, gravity = random_arm(rng), rng.normal(size=3) * 9.81
    assert_mujoco_agrees(
        [formulation(description, gravity) for formulation in FORMULATIONS],
        MujocoOracle(description, gravity),
        sample_states(description, STATES, seed),
    )
