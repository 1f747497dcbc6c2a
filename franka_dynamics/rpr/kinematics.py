# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Closed-form inverse kinematics of the RPR manipulator (Busellato 2023, section 1, corrected).

Joints q = (theta1, d2, theta3): a turn about the vertical, a horizontal slide, a turn about a
horizontal axis. With D = d2bar + d2 the end effector stands at

    p = (w S1 + a1 C1, -w C1 + a1 S1, d0 + a3 S3),    w = D + a3 C3.

Poses, Jacobians and dynamics of `config/arms/rpr.yaml` come from `Model`, as for any arm.
"""

from dataclasses import astuple, dataclass

import numpy as np

from ..arguments import with_argument_checks
from ..arm import ArmDescription, Convention, DHRow, JointKind
from ..arrays import Array, ArrayLike, as_joint_values
from ..errors import DescriptionError, UnreachableError

JOINT_SYMBOLS = ('theta1', 'd2', 'theta3')
_JOINT_KINDS = (JointKind.REVOLUTE, JointKind.PRISMATIC, JointKind.REVOLUTE)
# Signs of w = D + a3 C3 and of C3 in the four branches of the inverse kinematics.
_BRANCH_SIGNS = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
# Rounding error that is allowed beyond the edge of the workspace: in a height relative to a3, in a
# squared distance relative to a1^2.
_WORKSPACE_EDGE_TOLERANCE = 1e-12
# Rounding error that is allowed beyond a joint limit [rad or m].
_JOINT_LIMIT_TOLERANCE = 1e-9
# Smallest range by which distances from joint limits are divided [rad or m]: a joint that is held
# in one position has no range.
_MIN_JOINT_RANGE = 1e-6


@with_argument_checks
@dataclass(frozen=True)
class RprKinematics:
    """
    The four lengths of an RPR manipulator [m], and its inverse kinematics.

    `d0` is the height of the shoulder, `a1` the offset of the slide from the vertical axis,
    `d2bar` the extension of the slide at d2 = 0, `a3` the length of the last link.

    Raises
    ------
    DescriptionError
        If a1 is zero (over the vertical axis theta1 is then undetermined), a3 is not positive, or
        a length is not finite.

    """

    d0: float
    a1: float
    d2bar: float
    a3: float

    def __post_init__(self) -> None:
        """Raise DescriptionError if a1 is zero, a3 is not positive, or one is not finite."""
        if not (np.isfinite(astuple(self)).all() and self.a1 != 0.0 and self.a3 > 0.0):
            raise DescriptionError(f'Lengths must be finite, a1 not 0 and a3 above 0; got {self}.')

    @classmethod
    def from_description(cls, description: ArmDescription) -> 'RprKinematics':
        """
        Return the kinematics of an RPR arm.

        Raises
        ------
        DescriptionError
            If the arm is no RPR manipulator, or not in the frames of Busellato 2023. Its rows must
            have exactly those frames' numbers: an angle of 1.5707963 is not pi/2.

        """
        rows = [joint.row for joint in description.joints]
        if tuple(joint.kind for joint in description.joints) != _JOINT_KINDS:
            raise DescriptionError(
                f'{description.name} is no RPR manipulator: its joints are '
                f'{", ".join(joint.kind for joint in description.joints)}.'
            )
        quarter_turn = 0.5 * np.pi
        busellato_rows = (
            DHRow(a=rows[0].a, alpha=quarter_turn),
            DHRow(alpha=-quarter_turn, d=rows[1].d, theta=quarter_turn),
            DHRow(a=rows[2].a, theta=-quarter_turn),
            DHRow(),
        )
        base_height = description.base[2, 3]
        upright_base = np.eye(4)
        upright_base[2, 3] = base_height
        if (
            description.convention is not Convention.STANDARD
            or (*rows, description.flange) != busellato_rows
            or not np.array_equal(description.base, upright_base)
        ):
            raise DescriptionError(
                f'{description.name} is an RPR arm, but not in the frames of '
                'Busellato 2023, section 1.1: compare its rows and base with '
                'config/arms/rpr.yaml.'
            )
        return cls(base_height, rows[0].a, rows[1].d, rows[2].a)

    def inverse(self, position: ArrayLike) -> Array:
        """
        Return the four solutions (theta1, d2, theta3), (4, 3), for a position of {3}'s origin.

        Parameters
        ----------
        position : array_like, shape (3,)
            Position of the origin of {3} in {S} [m].

        Returns
        -------
        ndarray, shape (4, 3)
            A row (theta1, d2, theta3) for each pair of signs of (w, C3): (+, +), (+, -), (-, +),
            (-, -); theta1 and theta3 are in [-pi, pi]. On the edge of the workspace rows coincide.
            Joint limits are not checked. The formulas are those of Busellato 2023, section 1.3,
            except theta1 = atan2(w px + a1 py, a1 px - w py): both printed theta1 are wrong.

        Raises
        ------
        UnreachableError
            If px^2 + py^2 < a1^2 or |pz - d0| > a3.
        JointVectorError
            If `position` is not three finite numbers.

        """
        target = as_joint_values(position, 'position', 'xyz', allow_stack=False)
        x, y, z = target
        rise = (z - self.d0) / self.a3
        if abs(rise) > 1.0 + _WORKSPACE_EDGE_TOLERANCE:
            raise UnreachableError(
                f'{_position_text(target)} is out of reach: its height above the shoulder, '
                f'{z - self.d0:.6g} m, exceeds a3 = {self.a3:g} m.'
            )
        squared = x * x + y * y - self.a1**2
        if squared < -_WORKSPACE_EDGE_TOLERANCE * self.a1**2:
            raise UnreachableError(
                f'{_position_text(target)} is out of reach: it is {np.hypot(x, y):.6g} m from the '
                f'vertical axis, nearer than a1 = {abs(self.a1):g} m.'
            )
        sine = min(1.0, max(-1.0, rise))
        cosine = np.sqrt((1.0 - sine) * (1.0 + sine))
        reach = np.sqrt(max(0.0, squared))
        w = reach * _BRANCH_SIGNS[:, 0]
        c3 = cosine * _BRANCH_SIGNS[:, 1]
        theta1 = np.arctan2(w * x + self.a1 * y, self.a1 * x - w * y)
        d2 = w - self.a3 * c3 - self.d2bar
        theta3 = np.arctan2(sine, c3)
        return np.column_stack((theta1, d2, theta3))

    def inverse_within(self, position: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> Array:
        """
        Return the solutions within limits, (k, 3), the most central one first.

        Parameters
        ----------
        position : array_like, shape (3,)
            Position of the origin of {3} in {S} [m].
        lower, upper : array_like, shape (3,)
            Limits of theta1, d2 and theta3 [rad, m, rad], such as `description.limit('lower')`.

        Returns
        -------
        ndarray, shape (k, 3)
            One to four rows (theta1, d2, theta3), angles changed by multiples of 2 pi to be within
            the limits. The row furthest from the limits, relative to the joints' ranges, comes
            first.

        Raises
        ------
        UnreachableError
            If the position is out of reach, or no row is within the limits; the message names a
            joint beyond its limits in the row nearest to them.
        JointVectorError
            If a vector is not three finite numbers.

        """
        low = as_joint_values(lower, 'lower', JOINT_SYMBOLS, allow_stack=False)
        high = as_joint_values(upper, 'upper', JOINT_SYMBOLS, allow_stack=False)
        branches = self.inverse(position)
        # Each angle is turned by whole turns to the value nearest to the middle of its range.
        middle = 0.5 * (low + high)
        for angle in (0, 2):
            turns = np.round((branches[:, angle] - middle[angle]) / (2.0 * np.pi))
            branches[:, angle] -= 2.0 * np.pi * turns
        # A range whose ends are exchanged has no position within it.
        distances = np.minimum(branches - low, high - branches)  # from the nearer limit
        is_within = np.all(distances >= -_JOINT_LIMIT_TOLERANCE, axis=1)
        margins = distances / np.maximum(high - low, _MIN_JOINT_RANGE)
        most_central_first = np.argsort(-margins.min(axis=1), kind='stable')
        kept = most_central_first[is_within[most_central_first]]
        if not kept.size:
            nearest = int(most_central_first[0])
            joint = int(margins[nearest].argmin())
            raise UnreachableError(
                f'{_position_text(np.asarray(position, dtype=float))} is out of reach within the '
                f'joint limits: the nearest branch needs {JOINT_SYMBOLS[joint]} = '
                f'{branches[nearest, joint]:.6g}, outside {low[joint]:g} to {high[joint]:g}.'
            )
        return np.asarray(branches[kept])


def _position_text(position: Array) -> str:
    """Return a position as text, in metres."""
    return '(' + ', '.join(f'{value:g}' for value in position) + ') m'
