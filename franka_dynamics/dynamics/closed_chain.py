# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Mechanisms with loops, described as trees of bodies with loop constraints and motors.

The equations are those of Kwon, section 3, extended to any mechanism. Every loop is cut at one
joint, which leaves a tree. A `Loop` names two bodies and the directions in which the loop prevents
relative motion. The motors' torques follow from the tree's joint torques by virtual work. The
joint at a cut stays in the tree, where it moves a body without mass (Kwon's joint 5), so its
torque in the tree is zero.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .body_tree import as_body_tree, RobotLike
from .derivatives import dynamics_derivatives, tree_motion, TreeMotion
from .model import as_gravity_vector, as_joint_stack, solve_acceleration
from .sampling import JointStates
from ..arguments import with_argument_checks
from ..arrays import (
    Array,
    ArrayLike,
    as_array,
    as_joint_values,
    broadcast_leading_shape,
    freeze_arrays,
)
from ..constants import GRAVITY
from ..errors import JointVectorError, LoopError, short_repr, TreeError
from ..spatial import adjoint, as_rigid_transform, inverse_transform, log3, matvec

# Names of `Loop.directions`: the components of the relative twist (v, omega) in the space frame
# that a loop constrains to zero.
CONSTRAINED_DIRECTIONS = {
    'spatial': np.eye(6),
    'spherical': np.eye(6)[3:],
    'planar_xy': np.eye(6)[[0, 1, 5]],
}
_MAX_CLOSURE_ERROR = 1e-15  # [rad or m] closure error at which a loop is closed
# Below this closure error [rad or m] Newton's iteration also ends if two steps in a row do not
# reduce the error.
_MAX_STALLED_ERROR = 1e-12
_MAX_NEWTON_STEPS = 50
# Largest change of a joint in one Newton step [rad or m]: larger steps more easily lead to another
# assembly mode of the mechanism.
_MAX_NEWTON_STEP_SIZE = 0.5
# Condition number of g_p beyond which J_p (`passive_jacobian`) has lost half its digits.
_MAX_CONDITION_NUMBER = 1e8


@with_argument_checks
@dataclass(frozen=True, eq=False)
class Loop:
    """
    A loop constraint that keeps frames on two bodies of a cut tree together in `directions`.

    Parameters
    ----------
    first, second : int
        Numbers of the two bodies. `first_frame`, a pose in the first body, and `second_frame`, a
        pose in the second, must coincide (both the identity if not given).
    directions : str or array_like, shape (k, 6)
        'spherical', 'planar_xy', 'spatial' or rows. The loop makes the product of each row and the
        bodies' relative twist (v, omega) in the space frame zero. In the remaining directions the
        bodies must coincide by the mechanism's geometry. In a spherical mechanism, for example,
        all axes pass through one point, and positions agree by themselves.

    Raises
    ------
    TreeError
        If directions have another name or shape, or a loop frame is not a rigid transform.

    """

    first: int
    second: int
    directions: Any
    first_frame: Array = field(default_factory=lambda: np.eye(4))
    second_frame: Array = field(default_factory=lambda: np.eye(4))

    def __post_init__(self) -> None:
        """Check poses and shapes (TreeError), look up named directions and freeze the arrays."""
        for pose in (self.first_frame, self.second_frame):
            as_rigid_transform(pose, 'A loop frame', TreeError)
        if isinstance(self.directions, str):
            if self.directions not in CONSTRAINED_DIRECTIONS:
                raise TreeError(
                    f'A loop has the directions {self.directions!r}; give '
                    f'{", ".join(CONSTRAINED_DIRECTIONS)} or rows of shape (k, 6).'
                )
            object.__setattr__(self, 'directions', CONSTRAINED_DIRECTIONS[self.directions])
        shapes = {
            'directions': (None, 6),
            'first_frame': (4, 4),
            'second_frame': (4, 4),
        }
        freeze_arrays(self, TreeError, 'a loop', **shapes)


class ClosedChain:
    """
    A mechanism with closed loops: a tree, its loop constraints, and motors at some joints.

    Parameters
    ----------
    tree : BodyTree, ArmDescription, str or Path
        The mechanism after the cuts, which keeps the joints at the cuts (see the module).
    active : sequence of int
        The joints with motors. All others are passive; their number must be the number of
        directions that the loops close.
    loops : sequence of Loop
        The constraints that close the tree.
    gravity : array_like, shape (3,)
        Gravity in the space frame [m/s^2].

    Attributes
    ----------
    active, passive : ndarray of int
        Joints with and without motors.
    loop_signs : list of ndarray, shape (n,)
        For each loop, +1 for joints that move only its first body, -1 for joints that move only
        its second body, 0 for joints that move both or neither.

    Raises
    ------
    TreeError
        If there is no active joint or no loop, an active joint is repeated, an active joint or a
        loop's body does not exist, or the number of closed directions is not the number of
        passive joints.

    """

    @with_argument_checks
    def __init__(
        self,
        tree: RobotLike,
        active: Sequence[int],
        loops: Sequence[Loop],
        gravity: ArrayLike = GRAVITY,
    ) -> None:
        tree = self.tree = as_body_tree(tree)
        self.loops = tuple(loops)
        self.gravity = as_gravity_vector(gravity)
        self.active = np.array(active, dtype=int)
        self.passive = np.setdiff1d(np.arange(tree.n), self.active)
        closed = sum(len(loop.directions) for loop in self.loops)
        if len(self.active) + len(self.passive) != tree.n or not len(self.active):
            raise TreeError(
                f'The active joints must be different numbers from 0 to {tree.n - 1}; got '
                f'{short_repr([*active])}.'
            )
        if not closed:
            raise TreeError(
                'A ClosedChain needs at least one Loop with a direction. A tree needs none: '
                'BodyTree, dynamics_derivatives and tree_motion compute with it.'
            )
        if closed != len(self.passive):
            raise TreeError(
                f'The loops close {closed} directions, but {len(self.passive)} joints '
                'are passive; both numbers must be equal.'
            )
        for loop in self.loops:
            if not (0 <= loop.first < tree.n and 0 <= loop.second < tree.n):
                raise TreeError(
                    f'A loop joins bodies {loop.first} and {loop.second}; the bodies '
                    f'are 0..{tree.n - 1}.'
                )
        supports = tree.supports().astype(float)
        self.loop_signs = [supports[loop.first] - supports[loop.second] for loop in self.loops]

    def closure_error(self, q: ArrayLike) -> Array:
        """
        Return the closure error in the k directions of all loops (Kwon, (11)), shape (..., k).

        A loop's error is the translation [m] and rotation vector [rad] of T_1 T_2^-1, projected on
        the loop's directions; T_1 and T_2 are the poses of the loop's two frames in the space
        frame.
        """
        poses = self.tree.poses(q)
        errors = []
        for loop in self.loops:
            first = poses[..., loop.first, :, :] @ loop.first_frame
            off = first @ inverse_transform(poses[..., loop.second, :, :] @ loop.second_frame)
            error = np.concatenate((off[..., :3, 3], log3(off[..., :3, :3])), axis=-1)
            errors.append(error @ loop.directions.T)
        return np.concatenate(errors, axis=-1)

    def loop_jacobian(self, q: ArrayLike) -> Array:
        """Return the loop Jacobian g (..., k, n), with g dq = 0 while the loops stay closed."""
        columns = (adjoint(self.tree.poses(q)) @ self.tree.twists[:, :, None])[..., 0]
        twists = np.swapaxes(columns, -1, -2)
        rows = [
            loop.directions @ (signs * twists) for loop, signs in zip(self.loops, self.loop_signs)
        ]
        return np.concatenate(rows, axis=-2)

    def passive_jacobian(self, q: ArrayLike) -> Array:
        """
        Return J_p = d(passive q) / d(active q) (Kwon, (12)), shape (..., passive, active).

        J_p = -g_p^{-1} g_a, with g_p and g_a the columns of `loop_jacobian` for passive and active
        joints.

        Raises
        ------
        LoopError
            If g_p is singular at q: the motors then do not determine the passive joints.

        """
        g_p, g_a = self.split_loop_jacobian(self.loop_jacobian(q))
        return -_solve_linear_stack(g_p, g_a)

    def assemble(self, q_active: ArrayLike, guess: ArrayLike) -> Array:
        """
        Return joint positions (n,) that close the loops, near a guess; LoopError if none is found.

        Parameters
        ----------
        q_active : array_like, shape (active,)
            Positions of the motors [rad or m].
        guess : array_like, shape (n,)
            Positions of all joints near the wanted assembly mode. Newton's iteration starts from
            the passive joints' positions; those of the motors are replaced by `q_active`.

        Raises
        ------
        LoopError
            If the iteration does not close the loops, or meets a position with a singular g_p.

        """
        q = np.array(as_joint_values(guess, 'guess', self.tree.joint_names, allow_stack=False))
        q[self.active] = self._active_vector(q_active, 'q_active', allow_stack=False)
        best = np.inf
        steps_without_gain = 0
        for _ in range(_MAX_NEWTON_STEPS):
            error = self.closure_error(q)
            size = float(np.abs(error).max())
            steps_without_gain = 0 if size < best else steps_without_gain + 1
            best = min(best, size)
            is_stalled = best < _MAX_STALLED_ERROR and steps_without_gain >= 2
            if size <= _MAX_CLOSURE_ERROR or is_stalled:
                return q
            g_p, _ = self.split_loop_jacobian(self.loop_jacobian(q))
            step = -_solve_linear_stack(g_p, error[:, None])[:, 0]
            q[self.passive] += step * min(1.0, _MAX_NEWTON_STEP_SIZE / np.abs(step).max())
        raise LoopError(
            f'The loops cannot be closed with the motors at '
            f'{q[self.active].tolist()}: {best:.3g} rad or m remain open from the '
            'given guess. The position may be out of reach, or the guess too far '
            'away.'
        )

    def assemble_path(self, q_active: ArrayLike, guess: ArrayLike) -> Array:
        """
        Return all joint positions (N, n) that close the loops along a motor path (N, active).

        `guess` (n,) is near the first position; each position found is the guess for the next one.
        `assemble` raises LoopError for a position that cannot be reached.
        """
        path = []
        here = guess
        motor_path = as_array(q_active, (..., len(self.active)), 'q_active', JointVectorError)
        for motors in np.atleast_2d(motor_path):
            here = self.assemble(motors, here)
            path.append(here)
        return np.array(path).reshape(-1, self.tree.n)

    def motion(self, q: ArrayLike, dq_active: ArrayLike, ddq_active: ArrayLike) -> JointStates:
        """
        Return q, dq, ddq (..., n) of all joints, with loops closed, from the motors' dq and ddq.

        Parameters
        ----------
        q : array_like, shape (..., n)
            Positions with closed loops, from `assemble` or `assemble_path`.
        dq_active, ddq_active : array_like, shape (..., active)
            Velocities and accelerations of the motors.

        Raises
        ------
        LoopError
            If g_p is singular at a position (see `passive_jacobian`).
        JointVectorError
            If a vector has the wrong shape or is not finite, or the leading axes do not broadcast.

        """
        q, dq_a, ddq_a = self._broadcast(q, dq_active=dq_active, ddq_active=ddq_active)
        g_p, g_a = self.split_loop_jacobian(self.loop_jacobian(q))
        J_p = -_solve_linear_stack(g_p, g_a)
        dq = self._in_joint_order(dq_a, matvec(J_p, dq_a))
        # The spatial accelerations of a loop's two bodies differ by g ddq + dg/dt dq, with g the
        # loop Jacobian; gravity cancels. With passive joints that do not accelerate, the rest is
        # what these must make up for.
        passive_at_rest = np.zeros((*q.shape[:-1], len(self.passive)))
        start = tree_motion(self.tree, q, dq, self._in_joint_order(ddq_a, passive_at_rest))
        spatial = adjoint(self.tree.poses(q)) @ start.accelerations[..., None]
        ddq_p = -_solve_linear_stack(g_p, self.loop_differences(spatial))[..., 0]
        return JointStates(q, dq, self._in_joint_order(ddq_a, ddq_p))

    def inverse_dynamics(self, motion: JointStates) -> Array:
        """
        Return the motors' torques at a motion of all joints (Kwon, (13)), (..., active) [N m].

        They are tau_a + J_p^T tau_p [N m or N], where tau_a and tau_p are the torques of active
        and passive joints in the cut tree (`tree_dynamics`). tau_p need not be zero, although
        passive joints have no motors.
        """
        reduction = np.swapaxes(self.reduction_matrix(motion.q), -1, -2)
        return matvec(reduction, self.tree_dynamics(motion).tau)

    def tree_dynamics(self, motion: JointStates) -> TreeMotion:
        """Return poses, twists, accelerations, wrenches, torques of the cut tree at a motion."""
        return tree_motion(self.tree, *motion, gravity=self.gravity)

    def mass_matrix(self, q: ArrayLike) -> Array:
        """Return the mass matrix reduced to the motors, loops closed, (..., active, active)."""
        still = np.zeros(self.tree.n)
        M = dynamics_derivatives(self.tree, q, still, still, gravity=np.zeros(3)).tau.by_ddq
        reduction = self.reduction_matrix(q)
        return np.swapaxes(reduction, -1, -2) @ M @ reduction

    def forward_dynamics(self, q: ArrayLike, dq_active: ArrayLike, tau: ArrayLike) -> Array:
        """Return the motors' accelerations under `tau` and gravity, (..., active) [rad/s^2]."""
        q, dq_a, torque = self._broadcast(q, dq_active=dq_active, tau=tau)
        bias = self.inverse_dynamics(self.motion(q, dq_a, np.zeros_like(torque)))
        return solve_acceleration(self.mass_matrix(q), torque - bias)

    def loop_differences(self, vectors: Array) -> Array:
        """
        Return six-vectors' differences between each loop's bodies, in its directions, (..., k, K).

        `vectors`, shape (..., n, 6, K), holds K six-vectors (twists or their derivatives) of each
        body in the space frame. The differences, first body of a loop minus second body, are
        projected on the k directions of all loops.
        """
        rows = []
        for loop in self.loops:
            apart = vectors[..., loop.first, :, :] - vectors[..., loop.second, :, :]
            rows.append(loop.directions @ apart)
        return np.concatenate(rows, axis=-2)

    def split_loop_jacobian(self, jacobian: Array) -> tuple[Array, Array]:
        """
        Return a loop Jacobian's columns g_p (passive), g_a (active); LoopError if g_p is singular.

        Raises
        ------
        LoopError
            If g_p is singular at one of the positions.

        """
        g_p = jacobian[..., self.passive]
        g_a = jacobian[..., self.active]
        condition = np.max(np.linalg.cond(g_p))
        if not condition < _MAX_CONDITION_NUMBER:
            raise LoopError(
                'The motors do not determine the passive joints here: the loop '
                f'equations have a condition number of {condition:.2g}. Keep away '
                'from this position, where most likely passive axes or links line up.'
            )
        return g_p, g_a

    def reduction_matrix(self, q: ArrayLike) -> Array:
        """Return the derivatives of all joint positions by the motors', shape (..., n, active)."""
        columns = np.swapaxes(self.passive_jacobian(q), -1, -2)
        return np.swapaxes(self._in_joint_order(np.eye(len(self.active)), columns), -1, -2)

    def _in_joint_order(self, active_values: Array, passive_values: Array) -> Array:
        """Return values (..., n) of all joints from those of active and of passive joints."""
        stack = np.broadcast_shapes(active_values.shape[:-1], passive_values.shape[:-1])
        joined = np.empty((*stack, self.tree.n))
        joined[..., self.active] = active_values
        joined[..., self.passive] = passive_values
        return joined

    def _broadcast(self, q: ArrayLike, **motor_values: ArrayLike) -> list[Array]:
        """Return positions (..., n) and motors' values (..., active) with common leading axes."""
        arrays = {'q': as_joint_stack(self.tree, q, 'q')}
        for name, values in motor_values.items():
            arrays[name] = self._active_vector(values, name)
        shape = broadcast_leading_shape({name: array.shape for name, array in arrays.items()})
        return [
            np.array(np.broadcast_to(array, (*shape, array.shape[-1])))
            for array in arrays.values()
        ]

    def _active_vector(self, values: ArrayLike, name: str, *, allow_stack: bool = True) -> Array:
        """Return motors' values as floats, (..., active); JointVectorError for shape or NaN."""
        names = [self.tree.joint_names[i] for i in self.active]
        return as_joint_values(values, name, names, allow_stack=allow_stack)


def _solve_linear_stack(matrix: Array, rhs: Array) -> Array:
    """Return X of `matrix` X = `rhs`, for stacks of linear equations."""
    return np.asarray(np.linalg.solve(matrix, rhs), dtype=float)
