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

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import add

import numpy as np

from .consistent_fit import fit_consistent
from .cross_validation import cross_validate
from .errors_in_variables import encoder_bias
from .friction import fit_sigmoid
from .least_squares import Estimate, estimate, find_noise, fit_friction_alone, Noise
from .noise import filter_inflation, residual_inflation
from .prior import Pull
from .qr_factors import residual_lag_sums, Summary, TorqueFactors
from .result import Identification, IdentificationOptions, Score, SIGMOID
from .torque_model import TorqueModel
from ..arm import ArmDescription
from ..errors import IdentificationError
from ..recordings.preprocessing import Motion, prepare, SignalOptions
from ..recordings.recording import Recording
from ..recordings.replay import Errors, predicted_torque
from ..typing import Array

# A parameter of which the motion leaves this part of a weak prior's deviation is not shown.
NOT_SHOWN = 0.5
_STILL = 0.01  # [rad/s]


def identify(recordings: Sequence[Recording | Motion], start: ArmDescription,
             published: Sequence[ArmDescription] = (),
             options: IdentificationOptions | None = None, *,
             other_cutoffs: Mapping[float, Sequence[Motion]] | None = None) -> Identification:
    """
    Identify an arm from its recorded motions.

    Parameters
    ----------
    recordings : sequence of Recording or Motion
        All of the same arm with the same load; as recorded, or prepared alike.
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
    motions = [prepare(one) if isinstance(one, Recording) else one for one in recordings]
    _require_alike(motions)
    model = torque_model(start, chosen)
    prepared = other_cutoffs or {}
    summary = reduce(add, [
        Summary.of(model, motion, chosen.folds,
                   {cutoff: list(others)[i] for cutoff, others in prepared.items()})
        for i, motion in enumerate(motions)])

    def sums(theta: Array) -> Array:
        return np.sum([residual_lag_sums(model, motion, theta) for motion in motions], axis=0)

    result = identify_summary(summary, sums, model, start, published, chosen,
                              motions[0].options)
    said = tuple(remark for motion in motions for remark in motion.remarks)
    result = replace(result, remarks=(*said, *result.remarks))
    if chosen.encoder_noise is not None:
        result = replace(result, bias=_bias(result, motions, chosen.encoder_noise))
    if chosen.friction == SIGMOID:
        result = _with_sigmoid(result, motions, prepared)
    return result


def torque_model(start: ArmDescription, options: IdentificationOptions) -> TorqueModel:
    """Return what is identified of an arm under some options."""
    return TorqueModel.of(start, gravity=options.gravity, rotor_inertia=options.rotor_inertia,
                          width=options.friction_width)


def identify_summary(summary: Summary, residual_sums: Callable[[Array], Array],
                     model: TorqueModel, start: ArmDescription,
                     published: Sequence[ArmDescription], options: IdentificationOptions,
                     signal: SignalOptions) -> Identification:
    """
    Identify an arm from a summary, wherever the recordings themselves may be.

    Parameters
    ----------
    summary : Summary
        Of all recordings.
    residual_sums : callable
        Returns `residual_lag_sums` of all recordings for parameters of shape (p,).
    model : TorqueModel
        What is identified, as `torque_model` makes it of start and options.
    start, published, options
        As for `identify`; what the options say of sigmoid friction and encoder noise needs the
        samples and is left to it.
    signal : SignalOptions
        How the recordings were prepared.

    Raises
    ------
    IdentificationError
        If the arm stands still or there are too few samples.

    """
    _require_motion(summary, model)
    pull = Pull.towards(start, model)
    train = summary.train
    from_filter = filter_inflation(signal)
    noise = _noise(train, pull, from_filter, residual_sums)
    validation = None
    strength = options.strength
    if strength is None:
        validation = cross_validate(summary.folds, noise, pull)
        strength = validation.chosen
    unregularised = _unregularised(train, noise, pull)
    base = estimate(train, noise, pull, strength)
    consistent = fit_consistent(train, noise, pull, strength, start=start,
                                mass_factor=options.mass_factor)
    own = [_score('base parameters', base.theta, summary),
           _score('consistent', consistent.theta, summary)]
    if unregularised is not None:
        own.insert(0, _score('base parameters, no pull', unregularised.theta, summary))
    compared = tuple(
        _score(f'{one.inertial_set}, {one.hand}',
               fit_friction_alone(train, noise, model.base.values(one)), summary)
        for one in published)
    return Identification(
        model, start, options, noise, from_filter, validation, unregularised, base, consistent,
        consistent.arm, own[-1], compared, None, (*own, *compared),
        _not_shown(train, noise, pull), _still_joints(summary, start))


def _bias(result: Identification, motions: Sequence[Motion], encoder_noise: tuple[float, float],
          ) -> Array:
    position, velocity = encoder_noise
    return encoder_bias(
        [motion.halves()[0] for motion in motions], result.base.theta, result.noise,
        Pull.towards(result.start, result.model), result.base.strength, position=position,
        velocity=velocity)


def _with_sigmoid(result: Identification, motions: Sequence[Motion],
                  others: Mapping[float, Sequence[Motion]]) -> Identification:
    """Return the result with sigmoid friction, fitted to what the inertias leave."""
    gravity = result.options.gravity
    train = [motion.halves()[0] for motion in motions]
    left = [motion.effort - predicted_torque(result.arm, motion, gravity=gravity)
            for motion in train]
    velocity = np.concatenate([motion.dq for motion in train])
    arm = replace(result.arm, friction=fit_sigmoid(velocity, np.concatenate(left)))
    score = _sigmoid_score(arm, result.consistent.theta, motions, others, result.options)
    own = result.scores[:len(result.scores) - len(result.published)]
    return replace(result, arm=arm, arm_score=score, scores=(*own, score, *result.published))


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


def _require_alike(motions: Sequence[Motion]) -> None:
    if not motions:
        raise IdentificationError('There is no recording to identify from.')
    if any(motion.options != motions[0].options for motion in motions):
        raise IdentificationError('The recordings were not prepared alike.')


def _require_motion(summary: Summary, model: TorqueModel) -> None:
    fastest = float(summary.fastest.max())
    if fastest < _STILL:
        moments = [name for name in model.base.names if name.startswith('m')]
        inertias = [name for name in model.base.names if not name.startswith('m')]
        raise IdentificationError(
            f'The arm stands still (no joint is faster than {fastest:.2g} rad/s in the training '
            f'half), where torque depends on {", ".join(moments)} alone. The other '
            f'{len(inertias)} base parameters ({", ".join(inertias)}) take acceleration to show, '
            'and friction takes velocity of both signs: record a motion that turns every joint '
            'to and fro, such as franka-dynamics excite makes.')


def _noise(train: TorqueFactors, pull: Pull, from_filter: float,
           residual_sums: Callable[[Array], Array]) -> Noise:
    """Return the joints' noise, first as the filter makes it, then as the residuals have it."""
    first = find_noise(train, pull, np.full(pull.model.n, from_filter))
    theta = estimate(train, first, pull, 1.0).theta
    measured = residual_inflation(residual_sums(theta))
    return find_noise(train, pull, np.maximum(from_filter, measured))


def _unregularised(train: TorqueFactors, noise: Noise, pull: Pull) -> Estimate | None:
    try:
        return estimate(train, noise, pull, 0.0)
    except IdentificationError:
        return None


def _score(name: str, theta: Array, summary: Summary) -> Score:
    return Score(name, theta, _errors(summary.train, theta), _errors(summary.test, theta),
                 _errors(summary.test, theta, unfiltered=True),
                 {cutoff: _errors(factors, theta) for cutoff, factors in summary.others.items()})


def _errors(factors: TorqueFactors, theta: Array, *, unfiltered: bool = False) -> Errors:
    mean_squares = factors.squares(theta, unfiltered=unfiltered) / factors.samples
    return Errors(float(np.sqrt(mean_squares.sum())), np.sqrt(mean_squares))


def _not_shown(train: TorqueFactors, noise: Noise, pull: Pull) -> tuple[str, ...]:
    """Return the base parameters about which the motion says next to nothing."""
    left = estimate(train, noise, pull, 1.0).deviations[:len(pull.deviations)]
    return tuple(name for name, ratio in zip(pull.model.base.names, left / pull.deviations)
                 if ratio > NOT_SHOWN)


def _still_joints(summary: Summary, arm: ArmDescription) -> tuple[str, ...]:
    """Return a sentence on joints that hardly moved, if any."""
    still = [name for name, fastest in zip(arm.joint_names, summary.fastest) if fastest < _STILL]
    if not still:
        return ()
    return (f'{", ".join(still)} stood still in the training half: friction there and '
            'inertias about those axes are not shown; turn every joint, to and fro',)
