# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Trees of rigid bodies on a fixed base, with joints described by twists (Kwon, section 1)."""

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from .model import as_joint_stack
from ..arguments import with_argument_checks
from ..arm import ArmDescription, LinkInertia
from ..arm.frames import FLANGE, Frame, frame_placement
from ..arm_io import ArmLike, as_description
from ..arrays import Array, ArrayLike, as_array, freeze_arrays, NDArray, ValueEquality
from ..errors import FrameError, short_repr, TreeError
from ..spatial import (
    adjoint,
    as_rigid_transform,
    exp6,
    hat,
    inverse_transform,
    joint_twist,
)

BASE_BODY = -1
# Tolerance for |omega| = 1 and omega . v = 0, or |v| = 1, of a unit twist (v, omega): far above
# rounding errors, far below the error of a mistyped twist.
_UNIT_TWIST_TOLERANCE = 1e-9


@with_argument_checks
@dataclass(frozen=True, eq=False, repr=False)
class BodyTree(ValueEquality):
    """
    A tree of bodies, each moved by one joint, with a tool fixed to one of them.

    The pose of body i in its parent is T_{parent,i} = M_i exp([A_i] q_i) (Kwon, (1); Kwon later
    sets M_i = 1). Twists are (v, omega) and wrenches (force, moment); Kwon prints (omega, v) and
    (moment, force).

    Parameters
    ----------
    parents : sequence of int, length n
        Number of each body's parent, BASE_BODY (-1) for the ground; parents come before children.
    placements : array_like, shape (n, 4, 4)
        M_i, the pose of body i in its parent at q_i = 0.
    twists : array_like, shape (n, 6)
        A_i in body i's own frame: revolute |omega| = 1, omega . v = 0; prismatic |v| = 1.
    inertias : sequence of LinkInertia, length n
        Inertia of each body about its frame's origin, in its axes.
    rotor_inertias : array_like, shape (n,), optional
        Reflected rotor inertia of each joint [kg m^2; kg if prismatic]; zero if not given.
    tool_body : int
        The body that carries the tool; the last one if not given.
    tool_pose : array_like, shape (4, 4), optional
        Pose of the tool's frame in that body; the identity if not given.
    joint_names : sequence of str, optional
        Names of the joints, for messages; by default 'joint 1', 'joint 2', ...

    Raises
    ------
    TreeError
        If a number of entries, a shape, parent, pose, twist or tool body is not valid.

    """

    parents: tuple[int, ...]
    placements: Array
    twists: Array
    inertias: tuple[LinkInertia, ...]
    rotor_inertias: Array = field(default_factory=lambda: np.zeros(0))
    tool_body: int = -1
    tool_pose: Array = field(default_factory=lambda: np.eye(4))
    joint_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check the fields (TreeError), fill in defaults and make the arrays read-only."""
        parents = tuple(int(parent) for parent in self.parents)
        n = len(parents)
        names = tuple(self.joint_names) or tuple(f'joint {i + 1}' for i in range(n))
        rotors = as_array(self.rotor_inertias, (None,), 'The rotor inertias of a tree', TreeError)
        object.__setattr__(self, 'rotor_inertias', rotors if rotors.size else np.zeros(n))
        shapes = {'placements': (n, 4, 4), 'twists': (n, 6), 'rotor_inertias': (n,)}
        freeze_arrays(self, TreeError, f'a tree of {n} bodies', tool_pose=(4, 4), **shapes)
        counts = {'inertias': len(self.inertias), 'joint names': len(names)}
        for what, count in counts.items():
            if count != n:
                raise TreeError(f'A tree of {n} bodies needs {n} {what}; got {count}.')
        as_rigid_transform(self.tool_pose, 'The pose of the tool', TreeError)
        for i, (parent, twist) in enumerate(zip(parents, self.twists)):
            as_rigid_transform(self.placements[i], f'The pose of {names[i]}', TreeError)
            if not BASE_BODY <= parent < i:
                raise TreeError(
                    f'The parent of the body moved by {names[i]} is body {parent}; it must be one '
                    f'of {BASE_BODY} (the base)..{i - 1}, because parents come before their '
                    'children.'
                )
            _require_unit_twist(twist, names[i])
        if not -n <= self.tool_body < n:
            raise TreeError(f'The tool is on body {self.tool_body}, but bodies are 0..{n - 1}.')
        checked = {
            'parents': parents,
            'joint_names': names,
            'tool_body': self.tool_body % n,
            'inertias': tuple(self.inertias),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        """Return one line with the number of bodies."""
        return f'<BodyTree of {self.n} bodies>'

    @classmethod
    def from_description(cls, description: ArmLike, frame: Frame = FLANGE) -> 'BodyTree':
        """
        Return an arm, given or by name or file, as a tree with a tool at `frame`, which must move.

        Each body's frame is the DH frame fixed to its link, and the tool's frame is the flange, or
        another `frame` of the arm (FrameError if it has none of that name, or the base has it).
        """
        description = as_description(description)
        joint, tool = frame_placement(frame, description)
        if joint == 0:
            raise FrameError(
                f'The frame {short_repr(frame)} does not move, so that it cannot be a tool.'
            )
        placements = np.array(description.joint_transforms(np.zeros(description.n)))
        placements[0] = description.base @ placements[0]
        return cls(
            parents=tuple(range(-1, description.n - 1)),
            placements=placements,
            twists=joint_twists(description),
            inertias=description.links,
            rotor_inertias=np.array([j.rotor_inertia for j in description.joints]),
            tool_body=joint - 1,
            tool_pose=tool,
            joint_names=description.joint_names,
        )

    @property
    def n(self) -> int:
        """Number of joints, and of bodies."""
        return len(self.parents)

    def with_twist_corrections(self, eta: ArrayLike) -> 'BodyTree':
        """
        Return the tree with joint twists and tool pose corrected by `eta` (Kwon, (6)).

        Parameters
        ----------
        eta : array_like, shape (n + 1, 6)
            Row i < n is a displacement (v, omega) of joint i's axis in body i's frame, A_i <-
            Ad(exp([eta_i])) A_i; the last row moves the tool, T <- exp([eta_n]) T. Corrected
            twists are unit twists again: |omega| = 1 and omega . v = 0 do not change.

        Raises
        ------
        TreeError
            If `eta` has another shape or a value is no finite number.

        """
        words = 'The corrections of the joints and the tool'
        motions = exp6(as_array(eta, (self.n + 1, 6), words, TreeError))
        twists = np.einsum('ijk,ik->ij', adjoint(motions[:-1]), self.twists)
        return replace(self, twists=twists, tool_pose=motions[-1] @ self.tool_pose)

    def supports(self) -> NDArray[np.bool_]:
        """Return booleans of shape (n, n), whose entry [b, j] is whether joint j moves body b."""
        supports = np.eye(self.n, dtype=bool)
        for body, parent in enumerate(self.parents):
            if parent != BASE_BODY:
                supports[body] |= supports[parent]
        return supports

    def transforms(self, q: ArrayLike) -> Array:
        """Return the bodies' poses in their parents, M_i exp([A_i] q_i), shape (..., n, 4, 4)."""
        # For every unit twist, exp([A] x) = 1 + sin x [A] + (1 - cos x) [A]^2 + (x - sin x) ([A] +
        # [A]^3). For a revolute joint [A]^3 = -[A], so the last term is zero but for rounding
        # errors; for a prismatic joint [A]^2 = 0.
        positions = np.moveaxis(as_joint_stack(self, q, 'q'), -1, 0)  # shape (n, ...)
        sine = np.sin(positions)
        versine = 2.0 * np.sin(0.5 * positions) ** 2
        weights = np.stack((sine, versine, positions - sine), axis=-1)
        A = hat(self.twists)
        first = self.placements @ A
        second = first @ A
        changes = np.stack((first, second, first + second @ A), axis=1).reshape(self.n, 3, 16)
        moved = weights.reshape(self.n, -1, 3) @ changes + self.placements.reshape(self.n, 1, 16)
        return np.moveaxis(moved.reshape(*positions.shape, 4, 4), 0, -3)

    def poses(self, q: ArrayLike) -> Array:
        """Return the bodies' poses in the space frame, shape (..., n, 4, 4)."""
        motions = self.transforms(q)
        for body, parent in enumerate(self.parents):
            if parent != BASE_BODY:
                motions[..., body, :, :] = motions[..., parent, :, :] @ motions[..., body, :, :]
        return motions

    def values_of_parents(self, values: Array, base: Array) -> Array:
        """Return the row of `values` (..., n, 6) of each body's parent, `base` (6,) for roots."""
        ground = np.broadcast_to(base, (*values.shape[:-2], 1, 6))
        return np.concatenate((values, ground), axis=-2)[..., self.parents, :]

    def sweep_outward(self, Ad_inverse: Array, terms: Array, base: Array | None = None) -> Array:
        """
        Change `terms` in place to X_i = Ad(T_{parent,i})^-1 X_parent + terms_i, and return it.

        `Ad_inverse`, shape (..., n, 6, 6), are Ad(T_{parent,i})^-1, `terms` has shape
        (..., n, 6, K), and `base` is X of the base. Columns are twists or like them.
        """
        for body, parent in enumerate(self.parents):
            if parent != BASE_BODY:
                terms[..., body, :, :] += Ad_inverse[..., body, :, :] @ terms[..., parent, :, :]
            elif base is not None:
                terms[..., body, :, :] += Ad_inverse[..., body, :, :] @ base
        return terms

    def sweep_inward(self, Ad_inverse: Array, terms: Array) -> Array:
        """
        Change `terms` in place to Y_i = terms_i + sum of Ad(T_{i,c})^-T Y_c, and return it.

        The sum is over the children c of body i. Shapes are those of `sweep_outward`; columns are
        wrenches or like them.
        """
        for body in reversed(range(self.n)):
            if self.parents[body] != BASE_BODY:
                back = np.swapaxes(Ad_inverse[..., body, :, :], -1, -2)
                terms[..., self.parents[body], :, :] += back @ terms[..., body, :, :]
        return terms

    def spatial_inertias(self) -> Array:
        """Return the bodies' spatial inertias, acting on (v, omega) in body frames, (n, 6, 6)."""
        return np.array([inertia.spatial_inertia() for inertia in self.inertias])


# An arm or a tree, or the name or the file of an arm.
RobotLike = ArmDescription | BodyTree | str | Path


def as_body_tree(robot: RobotLike) -> BodyTree:
    """Return a BodyTree unchanged, and an arm (or the arm of a name or file) as a BodyTree."""
    return robot if isinstance(robot, BodyTree) else BodyTree.from_description(robot)


def joint_twists(description: ArmDescription) -> Array:
    """
    Return the joints' unit twists (v, omega) in the DH frames of the moved links, (n, 6).

    The joints' twists in these link frames do not change with q, in either DH convention and for
    both kinds of joints.
    """
    twists = []
    for joint, (_, behind_axis) in zip(description.joints, description.joint_placements()):
        axis_frame = inverse_transform(behind_axis)
        twists.append(joint_twist(axis_frame[:3, 2], axis_frame[:3, 3], joint.kind))
    return np.array(twists)


def _require_unit_twist(twist: Array, name: str) -> None:
    """Raise TreeError unless a twist is that of a unit rotation or translation."""
    v = twist[:3]
    omega = twist[3:]
    pitch_tolerance = _UNIT_TWIST_TOLERANCE * (1.0 + np.linalg.norm(v))
    turns = abs(omega @ omega - 1.0) <= _UNIT_TWIST_TOLERANCE and abs(omega @ v) <= pitch_tolerance
    slides = not omega.any() and abs(v @ v - 1.0) <= _UNIT_TWIST_TOLERANCE
    if not (turns or slides):
        raise TreeError(
            f'The twist (v, omega) of {name} is {twist.tolist()}; a revolute '
            'joint has |omega| = 1 and omega . v = 0, a prismatic one omega = 0, '
            '|v| = 1.'
        )
