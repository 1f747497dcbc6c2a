# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Random trees of bodies, the same trees in Pinocchio, and a slow oracle for complex steps."""

import numpy as np
import pinocchio as pin
from scipy.linalg import expm

from franka_dynamics.arm import JointKind, LinkInertia
from franka_dynamics.dynamics.body_tree import BASE, BodyTree
from franka_dynamics.dynamics.pinocchio_model import pinocchio_inertia
from franka_dynamics.spatial import exp3, joint_twist

COMPLEX_STEP = 1e-30  # far below rounding of the real part, far above underflow


def random_pose(rng):
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = exp3(rng.normal(size=3)), rng.uniform(-0.4, 0.4, 3)
    return pose


def random_link(rng):
    masses, points = rng.uniform(0.1, 0.8, 6), rng.uniform(-0.2, 0.2, (6, 3))
    second = np.einsum('i,ij,ik->jk', masses, points, points)
    return LinkInertia(masses.sum(), masses @ points, np.trace(second) * np.eye(3) - second)


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
        tool=random_pose(rng),
    )


def pinocchio_tree(tree):
    """Return the tree as a Pinocchio model, with a frame 'tool'."""
    model, offsets, joints = pin.Model(), [], []
    for i, parent in enumerate(tree.parents):
        v, omega = tree.twists[i, :3], tree.twists[i, 3:]
        foot = pin.SE3(np.eye(3), np.cross(omega, v))  # the axis's point nearest to the origin
        joint = (
            pin.JointModelRevoluteUnaligned(omega)
            if omega.any()
            else pin.JointModelPrismaticUnaligned(v)
        )
        carrier = (0, pin.SE3.Identity()) if parent == BASE else (joints[parent], offsets[parent])
        joints.append(
            model.addJoint(
                carrier[0],
                joint,
                carrier[1] * pin.SE3(np.array(tree.placements[i])) * foot,
                tree.names[i],
            )
        )
        offsets.append(foot.inverse())
        model.appendBodyToJoint(joints[-1], pinocchio_inertia(tree.inertias[i]), offsets[-1])
    model.addFrame(
        pin.Frame(
            'tool',
            joints[tree.tool_body],
            0,
            offsets[tree.tool_body] * pin.SE3(np.array(tree.tool)),
            pin.FrameType.OP_FRAME,
        )
    )
    model.armature = np.array(tree.rotor_inertias)
    return model


def hat6(twist):
    """Return the (4, 4) matrix of (v, omega), real or complex."""
    v, (x, y, z) = twist[:3], twist[3:]
    return np.array([[0, -z, y, v[0]], [z, 0, -x, v[1]], [-y, x, 0, v[2]], [0, 0, 0, 0]])


def skew(a):
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def adjoint(T):
    R = T[:3, :3]
    return np.block([[R, skew(T[:3, 3]) @ R], [np.zeros((3, 3)), R]])


def ad(V):
    return np.block([[skew(V[3:]), skew(V[:3])], [np.zeros((3, 3)), skew(V[3:])]])


def inverse(T):
    out = np.eye(4, dtype=T.dtype)
    out[:3, :3], out[:3, 3] = T[:3, :3].T, -T[:3, :3].T @ T[:3, 3]
    return out


def slow_dynamics(tree, eta, q, dq, ddq, gravity, tool_wrench):
    """
    Return the motion from sums in the space frame, with matrix exponentials, real or complex.

    Everything is evaluated in one fixed frame, V = sum of J dq, and carried into the bodies'
    frames at the end, so that it shares neither recursion nor code with what it checks.
    """
    n, kind = tree.n, np.result_type(eta, q, dq, ddq, float)
    poses, V, dV, J = [], [], [], np.zeros((6, n), dtype=kind)
    start = np.concatenate((-np.asarray(gravity), np.zeros(3)))
    for i, parent in enumerate(tree.parents):
        twist = adjoint(expm(hat6(eta[i]))) @ tree.twists[i]
        before = (np.eye(4) if parent == BASE else poses[parent]) @ tree.placements[i]
        poses.append(before @ expm(hat6(twist) * q[i]))
        J[:, i] = adjoint(before) @ twist
        V.append((0 if parent == BASE else V[parent]) + J[:, i] * dq[i])
        dV.append(
            (start if parent == BASE else dV[parent])
            + J[:, i] * ddq[i]
            + ad(V[i]) @ J[:, i] * dq[i]
        )
    tool = poses[tree.tool_body] @ expm(hat6(eta[n])) @ tree.tool
    F = []
    for i in range(n):
        back = adjoint(inverse(poses[i]))
        h = skew(tree.inertias[i].first_moment)
        body = np.block([[tree.inertias[i].mass * np.eye(3), -h], [h, tree.inertias[i].inertia]])
        G = back.T @ body @ back
        F.append(G @ dV[i] - ad(V[i]).T @ G @ V[i])
    F[tree.tool_body] = F[tree.tool_body] - adjoint(inverse(tool)).T @ tool_wrench
    for i in reversed(range(n)):
        if tree.parents[i] != BASE:
            F[tree.parents[i]] = F[tree.parents[i]] + F[i]
    tau = np.array([J[:, i] @ F[i] for i in range(n)]) + tree.rotor_inertias * ddq
    backs = [adjoint(inverse(pose)) for pose in poses]
    return {
        'twist': np.array([back @ v for back, v in zip(backs, V)]),
        'acceleration': np.array([back @ a for back, a in zip(backs, dV)]),
        'wrench': np.array([adjoint(pose).T @ f for pose, f in zip(poses, F)]),
        'tau': tau,
        'pose': np.array(poses),
    }


def complex_step(tree, q, dq, ddq, gravity, tool_wrench):
    """Return all quantities of `slow_dynamics` differentiated by lambda, to rounding."""
    n = tree.n
    point = np.concatenate((np.zeros(6 * (n + 1)), q, dq, ddq)).astype(complex)
    columns = []
    for k in range(len(point)):
        moved = point.copy()
        moved[k] += 1j * COMPLEX_STEP
        eta, rest = moved[: 6 * (n + 1)].reshape(n + 1, 6), moved[6 * (n + 1) :].reshape(3, n)
        values = slow_dynamics(tree, eta, *rest, gravity, tool_wrench)
        columns.append({name: value.imag / COMPLEX_STEP for name, value in values.items()})
    return {name: np.stack([column[name] for column in columns], axis=-1) for name in columns[0]}
