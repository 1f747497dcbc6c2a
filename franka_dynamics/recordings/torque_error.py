# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The torque error E: the root mean square of measured minus predicted torques, and its unit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arm import ArmDescription, JointKind
from ..arrays import Array
from ..errors import RecordingError


@dataclass(frozen=True)
class TorqueErrorUnit:
    """
    Unit of the torque error E over all joints.

    `name` is 'N m', or '% of the limits' for arms with prismatic joints, whose efforts are in N.
    `per_joint` are the factors from each joint's effort [N m or N] to the unit.
    """

    name: str
    per_joint: tuple[float, ...]

    @classmethod
    def for_arm(cls, arm: ArmDescription) -> TorqueErrorUnit:
        """
        Return the unit of the torque error E of an arm.

        E is in % of the effort limits if the arm has a prismatic joint. Raises RecordingError if
        an arm with a prismatic joint has a joint without a finite effort limit above zero.
        """
        if all(joint.kind is JointKind.REVOLUTE for joint in arm.joints):
            return cls('N m', (1.0,) * arm.n)
        limit = arm.limit('effort')
        known = np.isfinite(limit) & (limit > 0.0)
        if not known.all():
            raise RecordingError(
                f'{arm.name} has prismatic joints, so that its efforts [N and N m] can only be '
                f'compared relative to their limits, and {arm.joint_names[int(np.argmin(known))]} '
                'has none: state its effort limit in the arm file.'
            )
        return cls('% of the limits', tuple((100.0 / limit).tolist()))


@dataclass(frozen=True, eq=False)
class ResidualRms:
    """
    Root mean square errors over time of predicted torques.

    `E` is the error of all joints together, the norm of `joints` after conversion to a
    `TorqueErrorUnit`; `joints` are the errors of single joints, shape (n,) [N m, of a prismatic
    joint N].
    """

    E: float
    joints: Array

    @classmethod
    def from_residuals(cls, residual: Array, unit: TorqueErrorUnit) -> ResidualRms:
        """Return the torque errors of `residual`: measured minus predicted torques, (N, n)."""
        return cls.from_squares(np.sum(residual * residual, axis=0), len(residual), unit)

    @classmethod
    def from_squares(cls, squares: Array, samples: int, unit: TorqueErrorUnit) -> ResidualRms:
        """Return the torque errors from each joint's sum of squared differences, shape (n,)."""
        mean = squares / samples
        return cls(float(np.sqrt(mean @ np.square(unit.per_joint))), np.sqrt(mean))
