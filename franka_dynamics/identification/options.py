# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Options of an identification."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .prior import PRIOR_PRECISION
from .torque_model import SLIP_REACHES, TorqueModel
from ..arm import ArmDescription
from ..dynamics.model import GRAVITY
from ..errors import IdentificationError
from ..options import option
from ..recordings.recording import effort_scale_option, effort_scales
from ..typing import Array

MAXWELL_SLIP, VISCOUS_COULOMB = 'maxwell_slip', 'viscous_coulomb'
FRICTIONS = (MAXWELL_SLIP, VISCOUS_COULOMB)


@dataclass(frozen=True)
class IdentificationOptions:
    """
    Options of an identification; IdentificationError if a value is outside its range.

    The help texts of the command line describe the fields. `gravity` (3,) is in the space frame
    [m/s^2], `regularization` the precision of the prior on inertias, `effort_scale` the torque of
    one unit of recorded effort. With `anyway` an arm is also accepted if its recordings are not
    sound.
    """

    gravity: ArrayLike = GRAVITY
    friction: str = option('friction model to identify', choices=FRICTIONS, default=MAXWELL_SLIP)
    rotor_inertia: bool = option('identify one rotor inertia per joint as well', default=False)
    regularization: float = option(
        'how far the starting set is trusted: its masses have a relative standard deviation of '
        '1/sqrt(PRECISION), for example 10 % with 100',
        'PRECISION',
        flags=('--prior',),
        default=PRIOR_PRECISION,
    )
    effort_scale: tuple[float, ...] = effort_scale_option()
    anyway: bool = option(
        'accept recordings that are not sound, and an arm that is not better than the published '
        'sets',
        default=False,
    )

    def __post_init__(self) -> None:
        """Check every option's value."""
        if self.friction not in FRICTIONS:
            raise IdentificationError(
                f'There is no friction model {self.friction!r}; choose {" or ".join(FRICTIONS)}.'
            )
        if not 0.0 < self.regularization < np.inf:
            raise IdentificationError(
                f'The precision of the prior is {self.regularization}; it must be positive and '
                'finite. With 0.01 the prior has hardly any effect.'
            )

    def scale(self, n: int) -> Array:
        """Return N m per unit of effort, shape (n,); RecordingError for a wrong `effort_scale`."""
        return effort_scales(self.effort_scale, n)

    def torque_model(self, start: ArmDescription) -> TorqueModel:
        """Return the torque model of an arm."""
        return TorqueModel.of(
            start,
            gravity=self.gravity,
            rotor_inertia=self.rotor_inertia,
            reaches=SLIP_REACHES if self.friction == MAXWELL_SLIP else (),
        )
