# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What an identification is asked, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from numpy.typing import ArrayLike

from .consistent_fit import ConsistentFit
from .cross_validation import CrossValidation
from .least_squares import Estimate, Noise
from .torque_model import TorqueModel
from ..arm import ArmDescription
from ..dynamics.model import GRAVITY
from ..errors import IdentificationError
from ..recordings.replay import Errors
from ..typing import Array

VISCOUS_COULOMB, SIGMOID = 'viscous_coulomb', 'sigmoid'
FRICTIONS = (VISCOUS_COULOMB, SIGMOID)


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
    rotor_inertia : bool
        Whether each joint's rotor inertia is identified too.
    friction : str
        'viscous_coulomb' or 'sigmoid': what the arm is given.
    mass_factor : float
        How far a mass may be from the starting set's.
    folds : int
        Stretches of the training half for cross-validation.
    strength : float, optional
        Of the pull towards the starting set; chosen by cross-validation if not given.
    encoder_noise : (float, float), optional
        Standard deviations of position [rad] and velocity [rad/s] whose bias is wanted.

    """

    gravity: ArrayLike = GRAVITY
    friction_width: float = 0.02
    friction: str = VISCOUS_COULOMB
    rotor_inertia: bool = False
    mass_factor: float = 3.0
    folds: int = 5
    strength: float | None = None
    encoder_noise: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        """Refuse a friction model that does not exist."""
        if self.friction not in FRICTIONS:
            raise IdentificationError(f'There is no friction {self.friction!r}; choose '
                                      f'{" or ".join(FRICTIONS)}.')


@dataclass(frozen=True, eq=False)
class Score:
    """
    What one set of parameters predicts: errors on the training and on the unseen half.

    `other_cutoffs` holds the errors on the unseen half prepared at other
    cut-off frequencies [Hz].
    """

    name: str
    theta: Array
    train: Errors
    test: Errors
    test_unfiltered: Errors
    other_cutoffs: Mapping[float, Errors] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Identification:
    """
    All results of an identification.

    `unregularised` is None where the motion does not determine every parameter. `scores` are
    in the order unregularised, base, consistent, consistent with sigmoid friction (if that was
    asked for), published sets. `arm` is the result: the consistent one with the friction asked
    for, and `arm_score` what it predicts. `bias` is what encoder noise
    adds to the base estimate, shape (p,), if it was asked for.
    """

    model: TorqueModel
    start: ArmDescription
    options: IdentificationOptions
    noise: Noise
    filter_inflation: float
    validation: CrossValidation | None
    unregularised: Estimate | None
    base: Estimate
    consistent: ConsistentFit
    arm: ArmDescription
    arm_score: Score
    published: tuple[Score, ...]
    bias: Array | None
    scores: tuple[Score, ...]
    not_shown: tuple[str, ...]
    remarks: tuple[str, ...]
