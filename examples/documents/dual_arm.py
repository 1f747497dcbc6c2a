# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Two FR3 arms on a torso that turns, as one tree: base parameters, regressor, code, batches.

The torques are compared with Pinocchio's, whose model of the two arms is assembled from the
shipped URDF of the arm by `pin.appendModel`. Run `python examples/documents/dual_arm.py`.
"""

import numpy as np
import pinocchio as pin

from franka_dynamics.arm import load
from franka_dynamics.arm.bodies import Box
from franka_dynamics.batch.batch_model import BatchModel
from franka_dynamics.codegen.equations import customised_equations
from franka_dynamics.codegen.file_comments import operation_count
from franka_dynamics.constants import Quantity
from franka_dynamics.dynamics.body_tree import BASE_BODY, BodyTree
from franka_dynamics.dynamics.derivatives import dynamics_derivatives, tree_motion
from franka_dynamics.files import share_directory
from franka_dynamics.parameters.base_parameters import base_parameters

GRAVITY = (0.0, 0.0, -9.81)
# A waist that turns about the vertical axis: a uniform box of invented size and mass.
WAIST = Box(
    size=np.array([0.25, 0.45, 0.6]), center=np.array([0.02, 0.0, 0.3]), mass=25.0
).link_inertia()


def shoulder(side: float) -> np.ndarray:
    """Return the left (1) or right (-1) arm's pose in the waist's frame, 45 degrees outward."""
    c = s = np.sqrt(0.5)
    pose = np.eye(4)
    pose[:3, :3] = [[1.0, 0.0, 0.0], [0.0, c, side * s], [0.0, -side * s, c]]
    pose[:3, 3] = 0.0, side * 0.15, 0.5
    return pose


def dual_arm() -> BodyTree:
    """Return the tree of the waist and both arms, 15 joints; the waist carries the arms' bases."""
    described = load('fr3')
    arm = BodyTree.from_description(described)
    waist = WAIST
    base = described.base_link
    parents = [BASE_BODY]
    placements = [np.eye(4)[None]]
    names = ['waist']
    for side, prefix in ((1.0, 'left_'), (-1.0, 'right_')):
        placed = np.array(arm.placements)
        placed[0] = shoulder(side) @ placed[0]
        if base is not None:
            waist = waist + base.expressed_in(shoulder(side) @ described.base)
        parents += [0, *range(len(parents), len(parents) + arm.n - 1)]
        names += [prefix + name for name in arm.joint_names]
        placements.append(placed)
    return BodyTree(
        tuple(parents),
        np.concatenate(placements),
        np.vstack(([0.0, 0.0, 0.0, 0.0, 0.0, 1.0], arm.twists, arm.twists)),
        (waist, *arm.inertias, *arm.inertias),
        tool_pose=arm.tool_pose,
        joint_names=tuple(names),
    )


def pinocchio_dual_arm() -> pin.Model:
    """Return Pinocchio's model of waist and arms; only the arms come from the shipped URDF."""
    model = pin.Model()
    waist = model.addJoint(0, pin.JointModelRZ(), pin.SE3.Identity(), 'waist')
    center = WAIST.center_of_mass
    model.appendBodyToJoint(
        waist,
        pin.Inertia(WAIST.mass, center, WAIST.inertia_at_center_of_mass),
        pin.SE3.Identity(),
    )
    for side, prefix in ((1.0, 'left_'), (-1.0, 'right_')):
        frame = model.addFrame(
            pin.Frame(prefix + 'mount', waist, pin.SE3(shoulder(side)), pin.FrameType.OP_FRAME)
        )
        arm = pin.buildModelFromUrdf(str(share_directory() / 'urdf' / 'fr3.urdf'))
        for index in range(1, arm.njoints):
            arm.names[index] = prefix + arm.names[index]
        for entry in arm.frames:
            entry.name = prefix + entry.name
        model = pin.appendModel(model, arm, frame, pin.SE3.Identity())
    model.gravity.linear = np.array(GRAVITY)
    return model


def reference_torques(q: np.ndarray, dq: np.ndarray, ddq: np.ndarray) -> np.ndarray:
    """Return Pinocchio's torques in the tree's order of joints, shape (N, 15) [N m]."""
    model = pinocchio_dual_arm()
    data = model.createData()
    order = [model.joints[model.getJointId(name)].idx_q for name in dual_arm().joint_names]
    out = np.empty(q.shape)
    for row, *state in zip(out, q, dq, ddq):
        given = [np.empty(model.nq) for _ in state]
        for of_tree, of_arm in zip(given, state):
            of_tree[order] = of_arm
        row[:] = pin.rnea(model, data, *given)[order]
    return out


def draw(tree: BodyTree, path: str) -> None:
    """Draw waist and arms at one position as lines between the joints, and the mass matrix."""
    from matplotlib.figure import Figure

    home = load('fr3').home_position
    q = np.concatenate(([0.4], home, home))
    origins = tree.poses(q)[:, :3, 3]
    still = np.zeros(tree.n)
    mass = dynamics_derivatives(tree, q, still, still).tau.by_ddq
    figure = Figure(figsize=(11.0, 5.0), layout='constrained')
    space = figure.add_subplot(1, 2, 1, projection='3d')
    turned = tree.poses(q)[0]
    lines = {'waist': ['tab:gray', np.zeros(3), turned[:3, 3] + (0.0, 0.0, 0.5)]}
    for name, side, colour in (
        ('left', 1.0, 'tab:blue'),
        ('right', -1.0, 'tab:orange'),
    ):
        joints = [x for x, body in zip(origins, tree.joint_names) if body.startswith(name)]
        lines[name] = [
            colour,
            lines['waist'][2],
            (turned @ shoulder(side))[:3, 3],
            *joints,
        ]
    for name, (colour, *points) in lines.items():
        space.plot(*np.stack(points).T, 'o-', color=colour, linewidth=5, label=name)
    space.set(xlabel='x [m]', ylabel='y [m]', zlabel='z [m]', aspect='equal')
    space.view_init(elev=20, azim=60)
    space.legend()
    matrix = figure.add_subplot(1, 2, 2)
    shown = matrix.imshow(np.where(mass == 0.0, np.nan, np.abs(mass)), norm='log')
    short = [name.replace('_fr3_joint', ' ') for name in tree.joint_names]
    matrix.set_xticks(range(tree.n), short, rotation=90)
    matrix.set_yticks(range(tree.n), short)
    matrix.set_title('no coupling between the arms: white')
    figure.colorbar(shown, label='|M| [kg m^2]')
    figure.savefig(path, dpi=110)


def main() -> None:
    """Print the torques' differences from Pinocchio's, and draw the tree."""
    print('two FR3 on a waist that turns, 15 joints; 200 random states', flush=True)
    tree = dual_arm()
    states = np.random.default_rng(0).uniform(-2.0, 2.0, (3, 200, tree.n))
    expected = reference_torques(*states)

    def compared(what: str, torques: np.ndarray) -> None:
        print(
            f'{what}: {np.abs(torques - expected).max():.1e} N m from Pinocchio '
            f'(torques up to {np.abs(expected).max():.0f})'
        )

    compared('recursion of the tree', tree_motion(tree, *states).tau)
    found = base_parameters(tree)
    rank, _ = found.check_at_random_states()
    print(f'base parameters: {len(found)} of {10 * tree.n}; rank at other states {rank}')
    compared('base parameters', found.regressor(*states) @ found.values())
    equations = customised_equations(tree, Quantity.INVERSE_DYNAMICS, GRAVITY)
    print(
        'generated equations: {} multiplications, {} additions'.format(
            *operation_count(equations.program)
        )
    )
    compared('a batch', BatchModel(tree).inverse_dynamics(*states))
    draw(tree, 'dual_arm.png')


if __name__ == '__main__':
    main()
