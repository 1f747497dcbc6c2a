# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What an identification can be asked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .prior import PRIOR_PRECISION
from .torque_model import (
    DRIVE_FRICTION_PART,
    FRICTION_PART,
    SLIP_REACHES,
    TorqueModel,
)
from ..arm import ArmDescription
from ..dynamics.model import GRAVITY
from ..errors import IdentificationError
from ..options import option
from ..recordings.recording import effort_scales
from ..typing import Array

MAXWELL_SLIP, VISCOUS_COULOMB = 'maxwell_slip', 'viscous_coulomb'
FRICTIONS = (MAXWELL_SLIP, VISCOUS_COULOMB)
NEWTON_METRES, AMPERES = 'Nm', 'A'
EFFORT_UNITS = (NEWTON_METRES, AMPERES)


@dataclass(frozen=True)
class IdentificationOptions:
    """
    Choices of an identification.

    Attributes
    ----------
    gravity : array_like, shape (3,)
        In the space frame [m/s^2].
    friction : str
        'maxwell_slip' or 'viscous_coulomb': what the arm is given.
    rotor_inertia : bool
        Whether each joint's rotor inertia is identified too; of motor currents it always is.
    regularization : float
        Precision P of the prior on inertias: masses have a relative deviation of 1 / sqrt(P).
    effort_unit : str
        'Nm', or 'A' where efforts are motor currents.
    effort_scale : sequence of float, optional
        What one unit of each joint's effort is in N m; found along with the rest for 'A'.
    anyway : bool
        Whether recordings are taken that seem to show another hand, unit, sign or arm.

    Raises
    ------
    IdentificationError
        If a value lies outside its range; the message names it.

    """

    gravity: ArrayLike = GRAVITY
    friction: str = option(
        'friction model of the arm file', choices=FRICTIONS, default=MAXWELL_SLIP
    )
    rotor_inertia: bool = option(
        'identify one rotor inertia per joint as well', default=False, rare=True
    )
    regularization: float = option(
        'how far the starting set is trusted: P means masses to 1/sqrt(P), such as 100 for 10 %',
        'PRECISION',
        flags=('--prior',),
        default=PRIOR_PRECISION,
    )
    effort_unit: str = option(
        "unit of the recorded efforts; with motor currents (A) each joint's torque constant and "
        'rotor inertia are identified as well',
        choices=EFFORT_UNITS,
        default=NEWTON_METRES,
    )
    effort_scale: tuple[float, ...] | None = option(
        'N m per unit of the recorded effort, if known: one number or one per joint',
        'NM_PER_UNIT',
        default=None,
        rare=True,
    )
    anyway: bool = option(
        'accept bags that seem wrong: another hand or arm than declared, another unit or sign, '
        'or a fault that explains the residual',
        default=False,
        rare=True,
    )

    def __post_init__(self) -> None:
        """Refuse what cannot be done."""
        if self.friction not in FRICTIONS:
            raise IdentificationError(
                f'There is no friction {self.friction!r} to identify; choose '
                f'{" or ".join(FRICTIONS)}.'
            )
        if self.effort_unit not in EFFORT_UNITS:
            raise IdentificationError(
                f'There is no effort unit {self.effort_unit!r}; choose '
                f'{" or ".join(EFFORT_UNITS)}.'
            )
        if not 0.0 < self.regularization < np.inf:
            raise IdentificationError(
                f'The precision of the prior is {self.regularization}; it must be '
                'positive, and 0.01 is next to none.'
            )

    @property
    def torque(self) -> bool:
        """Whether efforts are torques [N m] as recorded, or by a scale that is known."""
        return self.effort_unit == NEWTON_METRES

    @property
    def scale_unknown(self) -> bool:
        """Whether what a unit of effort is in N m has to be found."""
        return not self.torque and self.effort_scale is None

    def known_scale(self, n: int) -> Array:
        """Return what one unit of effort is in N m, one where it is to be found, shape (n,)."""
        return effort_scales(1.0 if self.effort_scale is None else self.effort_scale, n)

    @property
    def slip_reaches(self) -> tuple[tuple[float, ...], ...]:
        """Reaches of the slip elements to choose from, the usual ones first."""
        return SLIP_REACHES if self.friction == MAXWELL_SLIP else ((),)

    def torque_model(self, start: ArmDescription) -> TorqueModel:
        """Return what can be identified of an arm: with every slip element there may be."""
        return TorqueModel.of(
            start,
            gravity=self.gravity,
            rotor_inertia=self.rotor_inertia or not self.torque,
            reaches=tuple(sorted({one for pair in self.slip_reaches for one in pair})),
            friction_part=FRICTION_PART if self.torque else DRIVE_FRICTION_PART,
        )
