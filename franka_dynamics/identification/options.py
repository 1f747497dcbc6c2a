# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What an identification can be asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from .cross_validation import REGULARIZATIONS
from .friction import DRIVE_FRICTION_PART, FRICTION_PART, TorqueModel
from ..arm import ArmDescription
from ..dynamics.model import GRAVITY
from ..errors import IdentificationError
from ..typing import Array

MAXWELL_SLIP, VISCOUS_COULOMB, SIGMOID = 'maxwell_slip', 'viscous_coulomb', 'sigmoid'
FRICTIONS = (MAXWELL_SLIP, VISCOUS_COULOMB, SIGMOID)
NEWTON_METRES, AMPERES = 'Nm', 'A'
EFFORT_UNITS = (NEWTON_METRES, AMPERES)
# One slip element for the pre-sliding of bearings and seals, one for the wind-up of the drive. An
# element longer than 0.3 rad is a spring to most motions, which is mistaken for gravity: on a real
# FER, 0.6 rad predicts a left-out stretch with 0.5 N m instead of 0.2.
_SHORT_REACHES, _LONG_REACHES = (0.002, 0.004, 0.008), (0.1, 0.2, 0.3)
_USUAL_REACHES = (0.004, 0.3)
_STRIBECK_VELOCITY = 0.1


@dataclass(frozen=True)
class IdentificationOptions:
    """
    Choices of an identification.

    Attributes
    ----------
    gravity : array_like, shape (3,)
        In the space frame [m/s^2].
    friction_width : float
        Where Coulomb friction has turned over [rad/s].
    friction : str
        'maxwell_slip', 'viscous_coulomb' or 'sigmoid': what the arm is given.
    rotor_inertia : bool
        Whether each joint's rotor inertia is identified too.
    mass_factor : float
        How far a mass may be from the starting set's.
    folds : int
        Stretches that a bag is parted into where there are fewer than three bags.
    regularization : float, optional
        Of the prior on inertias; chosen by cross-validation if not given.
    regularizations : sequence of float
        Among which it is chosen.
    encoder_noise : (float, float), optional
        Standard deviations of position [rad] and velocity [rad/s] whose bias is asked for.
    effort_unit : str
        'Nm', or 'A' where efforts are motor currents.
    effort_scale : sequence of float, optional
        What one unit of each joint's effort is in N m; found along with the rest for 'A'.
    anyway : bool
        Whether a recording that shows another hand than the named one is taken nevertheless.

    Raises
    ------
    IdentificationError
        If a value lies outside its range; the message names it.

    """

    gravity: ArrayLike = GRAVITY
    friction_width: float = 0.01
    friction: str = MAXWELL_SLIP
    rotor_inertia: bool = False
    mass_factor: float = 3.0
    folds: int = 5
    regularization: float | None = None
    regularizations: Sequence[float] = REGULARIZATIONS
    encoder_noise: tuple[float, float] | None = None
    effort_unit: str = NEWTON_METRES
    effort_scale: tuple[float, ...] | None = None
    anyway: bool = False

    def __post_init__(self) -> None:
        """Refuse what cannot be done."""
        if self.friction not in FRICTIONS:
            raise IdentificationError(
                f'There is no friction {self.friction!r}; choose '
                f'{", ".join(FRICTIONS[:-1])} or {FRICTIONS[-1]}.'
            )
        if self.effort_unit not in EFFORT_UNITS:
            raise IdentificationError(
                f'There is no effort unit {self.effort_unit!r}; choose '
                f'{" or ".join(EFFORT_UNITS)}.'
            )
        if self.folds < 2:
            raise IdentificationError(
                f'A bag is parted into {self.folds} stretches; at least '
                'two are needed to leave one out.'
            )
        if self.regularization is not None and not 0.0 < self.regularization < np.inf:
            raise IdentificationError(
                f'The precision of the prior is {self.regularization}; it must be '
                'positive, and 0.01 is next to none.'
            )
        if self.effort_scale is not None and not (
            np.isfinite(self.effort_scale).all() and np.all(self.effort_scale)
        ):
            raise IdentificationError(
                f'The effort scale is {list(self.effort_scale)}; it must be '
                'one number that is not zero per joint [N m per unit].'
            )

    @property
    def reach_choices(self) -> tuple[tuple[float, ...], ...]:
        """Reaches of the slip elements that are tried [rad], the usual ones first."""
        if self.friction != MAXWELL_SLIP:
            return ()
        return (
            _USUAL_REACHES,
            *(
                choice
                for choice in product(_SHORT_REACHES, _LONG_REACHES)
                if choice != _USUAL_REACHES
            ),
        )

    @property
    def usual_reaches(self) -> tuple[float, ...]:
        """The reaches under which noise is found; empty without slip elements."""
        return _USUAL_REACHES if self.friction == MAXWELL_SLIP else ()

    @property
    def scale_unknown(self) -> bool:
        """Whether what a unit of effort is in N m has to be found."""
        return self.effort_unit != NEWTON_METRES and self.effort_scale is None

    def known_scale(self, n: int) -> Array:
        """
        Return what one unit of effort is in N m, one where it is to be found, shape (n,).

        Raises
        ------
        IdentificationError
            If there is not one scale per joint.

        """
        given = self.effort_scale
        if given is not None and len(given) != n:
            raise IdentificationError(
                f'{len(given)} effort scales were given for {n} joints; '
                'give one per joint, from base to tip.'
            )
        return np.ones(n) if given is None else np.asarray(given, dtype=float)

    def torque_model(self, start: ArmDescription) -> TorqueModel:
        """Return what is identified of an arm."""
        slip = self.friction == MAXWELL_SLIP
        return TorqueModel.of(
            start,
            gravity=self.gravity,
            rotor_inertia=self.rotor_inertia,
            width=self.friction_width,
            stribeck_velocity=_STRIBECK_VELOCITY if slip else None,
            reaches=(*_SHORT_REACHES, *_LONG_REACHES) if slip else (),
            friction_part=FRICTION_PART
            if self.effort_unit == NEWTON_METRES
            else DRIVE_FRICTION_PART,
        )
