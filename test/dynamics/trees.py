# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Random trees of bodies, and a slow oracle for complex steps."""

from dataclasses import replace

import numpy as np
from scipy.linalg import expm

from franka_dynamics.arm import Convention, JointKind
from franka_dynamics.dynamics.body_tree import BASE_BODY, BodyTree
from franka_dynamics.parameters.base_parameters import GRAVITY_BASIS_M_S2, NO_GRAVITY
from franka_dynamics.spatial import exp3, joint_twist

from ..arms import make_random_arm, random_link

COMPLEX_STEP = 1e-30  # far below rounding of the real part, far above underflow


def random_pose(rng):
    pose = np.eye(4)
    pose[:3, :3] = exp3(rng.normal(size=3))
    pose[:3, 3] = rng.uniform(-0.4, 0.4, 3)
    return pose


def random_twist(rng, kinds=(JointKind.REVOLUTE, JointKind.PRISMATIC)):
    axis = rng.normal(size=3)
    kind = kinds[rng.integers(len(kinds))]
    return joint_twist(axis / np.linalg.norm(axis), rng.uniform(-0.3, 0.3, 3), kind)


def random_tree(seed, parents, kinds=(JointKind.REVOLUTE, JointKind.PRISMATIC)):
    """Return a tree of random placements, twists off their frames' origins, bodies and rotors."""
    rng = np.random.default_rng(seed)
    n = len(parents)
    return BodyTree(
        parents=parents,
        placements=np.array([random_pose(rng) for _ in range(n)]),
        twists=np.array([random_twist(rng, kinds) for _ in range(n)]),
        inertias=[random_link(rng) for _ in range(n)],
        rotor_inertias=rng.uniform(0, 0.1, n),
        tool_body=n - 1,
        tool_pose=random_pose(rng),
    )


def hat6(twist):
    """Return the (4, 4) matrix of (v, omega), real or complex."""
    v, (x, y, z) = twist[:3], twist[3:]
    return np.array([[0, -z, y, v[0]], [z, 0, -x, v[1]], [-y, x, 0, v[2]], [0, 0, 0, 0]])


def vee(matrix):
    """Return the six numbers of `hat6`'s matrix, or of the last two axes of a stack."""
    return matrix[..., [0, 1, 2, 2, 0, 1], [3, 3, 3, 1, 2, 0]]


def slow_dynamics(tree, eta, q, dq, ddq, gravity, tool_wrench):
    """
    Return the motion from homogeneous matrices in the space frame, real or complex.

    With X a body's pose, dX = V X and S its pseudo-inertia, d2X S X^T minus its transpose is the
    matrix of force and moment about the origin. Nothing of this is a recursion between bodies'
    frames, nor code of what it checks.
    """
    n = tree.n
    inv = np.linalg.inv
    poses = []
    J = []
    V = []
    dV = []
    F = []
    for i, parent in enumerate(tree.parents):
        correction = expm(hat6(eta[i]))
        twist = correction @ hat6(tree.twists[i]) @ inv(correction)
        root = parent == BASE_BODY
        before = (np.eye(4) if root else poses[parent]) @ tree.placements[i]
        poses.append(before @ expm(twist * q[i]))
        J.append(before @ twist @ inv(before))
        V.append((0 if root else V[parent]) + J[i] * dq[i])
        start = hat6(np.append(-np.asarray(gravity), np.zeros(3))) if root else dV[parent]
        dV.append(start + J[i] * ddq[i] + (V[i] @ J[i] - J[i] @ V[i]) * dq[i])
        force = (dV[i] + V[i] @ V[i]) @ (poses[i] @ tree.inertias[i].pseudo_inertia() @ poses[i].T)
        F.append(force - force.T)
    tool = poses[tree.tool_body] @ expm(hat6(eta[n])) @ tree.tool_pose
    pull = hat6(tool_wrench)
    pull[3] = -pull[:, 3]
    F[tree.tool_body] = F[tree.tool_body] - tool @ pull @ tool.T
    for i in reversed(range(n)):
        if tree.parents[i] != BASE_BODY:
            F[tree.parents[i]] = F[tree.parents[i]] + F[i]
    poses, backs = np.array(poses), inv(poses)
    return {
        'twist': vee(backs @ V @ poses),
        'acceleration': vee(backs @ dV @ poses),
        'wrench': vee(backs @ F @ np.swapaxes(backs, 1, 2)),
        'tau': (vee(np.array(J)) * vee(np.array(F))).sum(axis=1) + tree.rotor_inertias * ddq,
        'pose': poses,
    }


def complex_step(tree, q, dq, ddq, gravity, tool_wrench):
    """Return all quantities of `slow_dynamics` differentiated by lambda, to rounding."""
    n = tree.n
    point = np.concatenate((np.zeros(6 * (n + 1)), q, dq, ddq)).astype(complex)
    columns = []
    for step in 1j * COMPLEX_STEP * np.eye(len(point)):
        eta, rest = np.split(point + step, [6 * (n + 1)])
        states = (eta.reshape(n + 1, 6), *rest.reshape(3, n))
        columns.append(slow_dynamics(tree, *states, gravity, tool_wrench))
    stacked = {name: np.stack([one[name] for one in columns], axis=-1) for name in columns[0]}
    return {name: value.imag / COMPLEX_STEP for name, value in stacked.items()}


VERTICAL = (0.0, 0.0, -9.81)
TILTED = (3.0, -5.0, -7.0)
GRAVITIES = (VERTICAL, TILTED, NO_GRAVITY, GRAVITY_BASIS_M_S2)


def random_tree_of_rows(seed, *, special=0.6, branching=0.5):
    """
    Return a tree of 2 to 8 joints, half of them slides.

    `special` is the probability of a zero length and of a turn from a short list, `branching`
    that a body hangs on any earlier one, or on the base, instead of on the last.
    """
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    arm, other = (make_random_arm([seed, k], n=n, special=special) for k in (0, 1))
    parents = [BASE_BODY] + [
        int(rng.integers(BASE_BODY, i)) if rng.random() < branching else i - 1 for i in range(1, n)
    ]
    placements = [
        replace(before.row, a=0.0, alpha=0.0).transform(Convention.MODIFIED)
        @ joint.row.transform(Convention.MODIFIED)
        for before, joint in zip(other.joints, arm.joints)
    ]
    revolute = np.array([joint.kind is JointKind.REVOLUTE for joint in arm.joints])
    twists = np.where(revolute[:, None], [0, 0, 0, 0, 0, 1.0], [0, 0, 1.0, 0, 0, 0])
    rotors = rng.uniform(0.01, 0.1, n)
    return BodyTree(tuple(parents), np.array(placements), twists, arm.links, rotors)
