# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
From recorded motions to an arm that predicts its own torques: the whole procedure.

The first half of every recording trains, the second tests. On the training half the joints'
noise is found, the strength of the pull towards a starting set is chosen by cross-validation,
and base parameters with friction are fitted, then standard parameters that are physically
consistent. Published sets get friction fitted on the same data, so that only inertias differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import pairwise
from operator import add

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .consistent_fit import ConsistentFit, fit_consistent
from .cross_validation import cross_validate, CrossValidation
from .encoder_bias import encoder_bias
from .estimate import Estimate, estimate, find_noise, fit_friction_alone, Noise
from .filter_noise import filter_inflation, residual_inflation
from .replay import Errors
from .signal_processing import Motion
from .starting_set import Pull
from .torque_factors import TorqueFactors
from .torque_model import TorqueModel
from ..arm import ArmDescription
from ..dynamics.model import GRAVITY
from ..errors import IdentificationError

Array = NDArray[np.float64]
# A parameter of which the motion leaves this part of a weak prior's deviation is not shown.
NOT_SHOWN = 0.5
_STILL = 0.01  # [rad/s]


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
    rotor_inertia: bool = False
    mass_factor: float = 3.0
    folds: int = 5
    strength: float | None = None
    encoder_noise: tuple[float, float] | None = None


@dataclass(frozen=True, eq=False)
class Score:
    """
    What one set of parameters predicts: errors on the training and on the unseen half.

    `other_cutoffs` holds (filtered, unfiltered) errors on the unseen half prepared at other
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
    in the order unregularised, base, consistent, published sets. `bias` is what encoder noise
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
    bias: Array | None
    scores: tuple[Score, ...]
    not_shown: tuple[str, ...]
    remarks: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class HalvedFactors:
    """A recording's samples as factors: stretches of the training half, and the test half."""

    folds: tuple[TorqueFactors, ...]
    test: TorqueFactors

    @classmethod
    def of(cls, model: TorqueModel, motion: Motion, folds: int) -> HalvedFactors:
        """Return the factors of one recording, its first half in consecutive stretches."""
        train, test = motion.halves()
        edges = np.linspace(0, len(train), folds + 1).round().astype(int)
        parts = [train.part(slice(a, b)) for a, b in pairwise(edges)]
        return cls(tuple(TorqueFactors.of(model, part) for part in parts),
                   TorqueFactors.of(model, test))

    def __add__(self, other: HalvedFactors) -> HalvedFactors:
        """Return both recordings' factors, stretch by stretch."""
        return HalvedFactors(tuple(map(add, self.folds, other.folds)), self.test + other.test)

    @property
    def train(self) -> TorqueFactors:
        """The whole training half."""
        return reduce(add, self.folds)


def identify(motions: Sequence[Motion], start: ArmDescription,
             published: Sequence[ArmDescription] = (),
             options: IdentificationOptions | None = None, *,
             other_cutoffs: Mapping[float, Sequence[Motion]] | None = None) -> Identification:
    """
    Identify an arm from its recorded motions.

    Parameters
    ----------
    motions : sequence of Motion
        One per recording, all of the same arm with the same load, prepared alike.
    start : ArmDescription
        The starting set: geometry, the reference of the pull, the middle of the mass bounds.
    published : sequence of ArmDescription
        Sets to be compared with, friction fitted alike.
    options : IdentificationOptions, optional
        See there.
    other_cutoffs : mapping of float to sequence of Motion, optional
        The same recordings prepared at other cut-offs [Hz], for the scores alone.

    Raises
    ------
    IdentificationError
        If the arm stands still or the recordings are too short.

    """
    chosen = IdentificationOptions() if options is None else options
    _require_motion(motions)
    model = TorqueModel.of(start, gravity=chosen.gravity, rotor_inertia=chosen.rotor_inertia,
                           width=chosen.friction_width)
    pull = Pull.towards(start, model)
    halves = reduce(add, [HalvedFactors.of(model, motion, chosen.folds) for motion in motions])
    noise, from_filter = _noise(motions, model, pull, halves.train)
    validation = None
    strength = chosen.strength
    if strength is None:
        validation = cross_validate(halves.folds, noise, pull)
        strength = validation.chosen
    unregularised = _unregularised(halves.train, noise, pull)
    base = estimate(halves.train, noise, pull, strength)
    consistent = fit_consistent(halves.train, noise, pull, strength, start=start,
                                mass_factor=chosen.mass_factor)
    bias = None
    if chosen.encoder_noise is not None:
        position, velocity = chosen.encoder_noise
        bias = encoder_bias([motion.halves()[0] for motion in motions], base.theta, noise, pull,
                            strength, position=position, velocity=velocity)
    thetas = {**({} if unregularised is None else
                 {'base parameters, no pull': unregularised.theta}),
              'base parameters': base.theta, 'consistent': consistent.theta,
              **{f'{arm.inertial_set}, {arm.hand}':
                 fit_friction_alone(halves.train, noise, model.base.values(arm))
                 for arm in published}}
    others = {cutoff: reduce(add, [TorqueFactors.of(model, motion.halves()[1])
                                   for motion in prepared])
              for cutoff, prepared in (other_cutoffs or {}).items()}
    scores = tuple(_score(name, theta, halves, others) for name, theta in thetas.items())
    return Identification(
        model, start, chosen, noise, from_filter, validation, unregularised, base, consistent,
        bias, scores, _not_shown(halves.train, noise, pull), _remarks(motions, start))


def _require_motion(motions: Sequence[Motion]) -> None:
    if not motions:
        raise IdentificationError('There is no recording to identify from.')
    if any(motion.options != motions[0].options for motion in motions):
        raise IdentificationError('The recordings were not prepared alike.')
    fastest = max(float(np.abs(motion.dq).max()) for motion in motions)
    if fastest < _STILL:
        raise IdentificationError(
            f'The arm stands still (no joint is faster than {fastest:.2g} rad/s), which shows '
            'neither inertia nor friction; record a motion that turns every joint to and fro.')


def _noise(motions: Sequence[Motion], model: TorqueModel, pull: Pull, train: TorqueFactors,
           ) -> tuple[Noise, float]:
    """Return the joints' noise and by how much the filter alone makes samples repeat."""
    from_filter = filter_inflation(motions[0].options)
    first = find_noise(train, pull, np.full(model.n, from_filter))
    theta = estimate(train, first, pull, 1.0).theta
    residuals = (half.effort - model.torque(half, theta)
                 for motion in motions for half in _pieces(motion.halves()[0]))
    inflation = np.maximum(from_filter, residual_inflation(residuals, motions[0].options))
    return find_noise(train, pull, inflation), from_filter


def _pieces(motion: Motion) -> list[Motion]:
    return [motion.part(motion.piece == number) for number in np.unique(motion.piece)]


def _unregularised(train: TorqueFactors, noise: Noise, pull: Pull) -> Estimate | None:
    try:
        return estimate(train, noise, pull, 0.0)
    except IdentificationError:
        return None


def _score(name: str, theta: Array, halves: HalvedFactors,
           others: Mapping[float, TorqueFactors]) -> Score:
    return Score(name, theta, _errors(halves.train, theta), _errors(halves.test, theta),
                 _errors(halves.test, theta, unfiltered=True),
                 {cutoff: _errors(factors, theta) for cutoff, factors in others.items()})


def _errors(factors: TorqueFactors, theta: Array, *, unfiltered: bool = False) -> Errors:
    mean_squares = factors.squares(theta, unfiltered=unfiltered) / factors.samples
    return Errors(float(np.sqrt(mean_squares.sum())), np.sqrt(mean_squares))


def _not_shown(train: TorqueFactors, noise: Noise, pull: Pull) -> tuple[str, ...]:
    """Return the base parameters about which the motion says next to nothing."""
    left = estimate(train, noise, pull, 1.0).deviations[:len(pull.deviations)]
    return tuple(name for name, ratio in zip(pull.model.base.names, left / pull.deviations)
                 if ratio > NOT_SHOWN)


def _remarks(motions: Sequence[Motion], arm: ArmDescription) -> tuple[str, ...]:
    """Return sentences on joints that hardly moved."""
    reach = np.max([np.abs(motion.halves()[0].dq).max(axis=0) for motion in motions], axis=0)
    still = [name for name, fastest in zip(arm.joint_names, reach) if fastest < _STILL]
    said = [remark for motion in motions for remark in motion.remarks]
    if still:
        said.append(f'{", ".join(still)} stood still in the training half: friction there and '
                    'inertias about those axes are not shown; turn every joint, to and fro')
    return tuple(said)
