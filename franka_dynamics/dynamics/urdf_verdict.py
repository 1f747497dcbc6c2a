# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What became of holding a URDF against the described arm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..arm.finding import Finding

UNKNOWN = 'unknown'


@dataclass(frozen=True, eq=False)
class UrdfVerdict:
    """
    Whether a URDF is the described arm, and which published inertials it has.

    `inertial_set` and `hand` name the known set that it is, or UNKNOWN; `nearest` is the nearest
    set in words, `distance` the largest difference to it (kg, kg m, kg m^2), `exact` whether that
    is no more than the decimals of a text. `mount` is the pose of the arm's base link in the
    URDF's root link. `findings` are reasons for a refusal, `notes` are not.
    """

    source: str
    arm: str
    inertial_set: str
    hand: str
    nearest: str
    distance: float
    exact: bool
    mount: NDArray[np.float64]
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether nothing speaks against the URDF as the model."""
        return not self.findings

    def gravity_in_base(self, gravity: Sequence[float] = (0.0, 0.0, -9.81),
                        ) -> NDArray[np.float64]:
        """Return gravity in the arm's base frame [m/s^2], given it in the URDF's root frame."""
        return self.mount[:3, :3].T @ np.asarray(gravity, dtype=float)

    def sentences(self) -> tuple[str, ...]:
        """Return what the URDF is, then every finding, then the notes."""
        return (self.summary(), *map(str, self.findings), *self.notes)

    def summary(self) -> str:
        """Return the verdict in one sentence."""
        if not self.passed:
            count = len(self.findings)
            return (f'{self.source} is not the described {self.arm}: {count} '
                    f'{"difference" if count == 1 else "differences"} to {self.nearest}.')
        if self.inertial_set == UNKNOWN:
            return (f'{self.source} has the geometry of {self.arm} and inertials of no known set, '
                    f'accepted as told; the nearest is {self.nearest}, which differs by up to '
                    f'{self.distance:.3g} (kg, kg m, kg m^2).')
        how = 'exactly' if self.exact else 'within rounding'
        return (f'{self.source} has the geometry of {self.arm} and the inertials of '
                f'{self.nearest}, {how} (largest difference {self.distance:.2g}; kg, kg m, '
                'kg m^2).')
