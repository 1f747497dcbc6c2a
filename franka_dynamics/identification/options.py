# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Options of an identification."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .prior import PRIOR_PRECISION
from .torque_model import (
    DRIVE_FRICTION_SHARE,
    FRICTION_SHARE,
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
    Options of an identification; IdentificationError if a value is outside its range.

    The help texts of the command line describe the fields. `gravity` (3,) is in the space frame
    [m/s^2], `regularization` the precision of the prior on inertias. Without `effort_scale` the
    scale is 1 for 'Nm', and identified for 'A'. With `anyway` an arm is also accepted if its
    recordings are not sound (`Diagnosis.sound`): a fault, a joint with a large unexplained
    residual, or doubtful effort scales.
    """

    gravity: ArrayLike = GRAVITY
    friction: str = option('friction model to identify', choices=FRICTIONS, default=MAXWELL_SLIP)
    rotor_inertia: bool = option(
        'identify one rotor inertia per joint as well', default=False, rare=True
    )
    regularization: float = option(
        'how far the starting set is trusted: its masses have a relative standard deviation of '
        '1/sqrt(PRECISION), for example 10 % with 100',
        'PRECISION',
        flags=('--prior',),
        default=PRIOR_PRECISION,
    )
    effort_unit: str = option(
        'whether recorded efforts are torques (Nm), which --effort-scale only converts, or motor '
        'currents (A), which also overcome gear friction and accelerate rotors; with A each '
        "joint's rotor inertia and, without --effort-scale, its torque constant are identified",
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
        'a fault, a joint with large unexplained residual, or doubtful effort scales',
        default=False,
        rare=True,
    )

    def __post_init__(self) -> None:
        """Check every option's value."""
        if self.friction not in FRICTIONS:
            raise IdentificationError(
                f'There is no friction model {self.friction!r}; choose {" or ".join(FRICTIONS)}.'
            )
        if self.effort_unit not in EFFORT_UNITS:
            raise IdentificationError(
                f'There is no effort unit {self.effort_unit!r}; choose '
                f'{" or ".join(EFFORT_UNITS)}.'
            )
        if not 0.0 < self.regularization < np.inf:
            raise IdentificationError(
                f'The precision of the prior is {self.regularization}; it must be positive and '
                'finite. With 0.01 the prior has hardly any effect.'
            )

    @property
    def torque(self) -> bool:
        """Whether `effort_unit` is N m: recorded efforts are torques, not motor currents."""
        return self.effort_unit == NEWTON_METRES

    @property
    def scale_unknown(self) -> bool:
        """Whether the effort scales [N m per A] must be identified."""
        return not self.torque and self.effort_scale is None

    def known_scale(self, n: int) -> Array:
        """Return N m per unit of effort, (n,); ones if `effort_scale` is None."""
        return effort_scales(1.0 if self.effort_scale is None else self.effort_scale, n)

    @property
    def slip_reaches(self) -> tuple[tuple[float, ...], ...]:
        """Candidate sets of displacements [rad] at which slip elements saturate, default first."""
        return SLIP_REACHES if self.friction == MAXWELL_SLIP else ((),)

    def torque_model(self, start: ArmDescription) -> TorqueModel:
        """Return the torque model of an arm, with all candidate slip elements."""
        return TorqueModel.of(
            start,
            gravity=self.gravity,
            rotor_inertia=self.rotor_inertia or not self.torque,
            reaches=tuple(sorted({one for pair in self.slip_reaches for one in pair})),
            friction_share=FRICTION_SHARE if self.torque else DRIVE_FRICTION_SHARE,
        )
