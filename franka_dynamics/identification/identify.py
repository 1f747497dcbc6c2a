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
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from operator import add

import numpy as np
from numpy.typing import NDArray

from .consistent_fit import fit_consistent
from .cross_validation import cross_validate
from .encoder_bias import encoder_bias
from .estimate import Estimate, estimate, find_noise, fit_friction_alone, Noise
from .filter_noise import filter_inflation, residual_inflation
from .identification_result import Identification, IdentificationOptions, Score, SIGMOID
from .replay import Errors, predicted_torque
from .sigmoid_fit import fit_sigmoid
from .signal_processing import Motion
from .starting_set import Pull
from .torque_factors import TorqueFactors
from .torque_model import TorqueModel
from ..arm import ArmDescription
from ..errors import IdentificationError

Array = NDArray[np.float64]
# A parameter of which the motion leaves this part of a weak prior's deviation is not shown.
NOT_SHOWN = 0.5
_STILL = 0.01  # [rad/s]


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
    others = {cutoff: reduce(add, [TorqueFactors.of(model, motion.halves()[1])
                                   for motion in prepared])
              for cutoff, prepared in (other_cutoffs or {}).items()}

    def score(name: str, theta: Array) -> Score:
        return _score(name, theta, halves, others)

    own = [score('base parameters', base.theta), score('consistent', consistent.theta)]
    if unregularised is not None:
        own.insert(0, score('base parameters, no pull', unregularised.theta))
    arm = consistent.arm
    if chosen.friction == SIGMOID:
        arm = _with_sigmoid(arm, motions, chosen)
        own.append(_sigmoid_score(arm, consistent.theta, motions, other_cutoffs or {}, chosen))
    compared = tuple(
        score(f'{one.inertial_set}, {one.hand}',
              fit_friction_alone(halves.train, noise, model.base.values(one)))
        for one in published)
    return Identification(
        model, start, chosen, noise, from_filter, validation, unregularised, base, consistent,
        arm, own[-1], compared, bias, (*own, *compared),
        _not_shown(halves.train, noise, pull), _remarks(motions, start))


def _with_sigmoid(arm: ArmDescription, motions: Sequence[Motion], options: IdentificationOptions,
                  ) -> ArmDescription:
    """Return the arm with sigmoid friction fitted to what its inertias leave of the training."""
    train = [motion.halves()[0] for motion in motions]
    left = [motion.effort - predicted_torque(arm, motion, gravity=options.gravity)
            for motion in train]
    velocity = np.concatenate([motion.dq for motion in train])
    return replace(arm, friction=fit_sigmoid(velocity, np.concatenate(left)))


def _sigmoid_score(arm: ArmDescription, theta: Array, motions: Sequence[Motion],
                   others: Mapping[float, Sequence[Motion]], options: IdentificationOptions,
                   ) -> Score:
    """Return an arm's score from its samples: its friction is not linear in its parameters."""
    def errors(halves: Sequence[Motion], *, unfiltered: bool = False) -> Errors:
        assert arm.friction is not None
        return Errors.of(np.concatenate([
            (motion.effort_unfiltered if unfiltered else motion.effort)
            - predicted_torque(arm, motion, gravity=options.gravity)
            - arm.friction.torque(motion.dq) for motion in halves]))

    train, test = ([motion.halves()[half] for motion in motions] for half in (0, 1))
    return Score('consistent, sigmoid friction', theta, errors(train), errors(test),
                 errors(test, unfiltered=True),
                 {cutoff: errors([motion.halves()[1] for motion in prepared])
                  for cutoff, prepared in others.items()})


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
                 for motion in motions for half in motion.halves()[0].pieces())
    inflation = np.maximum(from_filter, residual_inflation(residuals, motions[0].options))
    return find_noise(train, pull, inflation), from_filter


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
