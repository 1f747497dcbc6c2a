# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Asks recordings whether friction grows with the load, before an arm is identified with it.

The column of such friction needs the torque of the rigid bodies. To ask, the starting set's is
good enough, and costs one more sum over each recording. Only if parts left out are predicted
better with it, recordings are summed once more with the identified arm's load.

Wrong masses and efforts also look like such friction. It is not chosen from recordings that are
not sound, nor if a joint would lose as much as the fit allows.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from .fit import DataSplit
from .least_squares import common_noise, fit_theta, GramStack
from .prior import Prior
from .result_parts import Estimate, Improvement
from .summary import RecordingSummary
from .torque_model import LOAD_SYMBOL, MAX_LOAD_FRICTION
from ..recordings.replay import TorqueErrorUnit

# A share is at its bound within this ratio: the solver stops before it.
_LARGEST_SHARE_TO_BOUND = 0.98


def predicts_left_out_parts(
    summaries: Sequence[RecordingSummary], prior: Prior, precision: float
) -> bool:
    """
    Return whether friction that grows with the starting set's load predicts left-out parts better.

    The parts are those of `DataSplit` without test recordings, the fits have no constraints, and
    the rule is that of `Improvement.better`. `prior` and `precision` are those of the arm without
    such friction.
    """
    plain_grams = [summary.grams for summary in summaries if summary.grams is not None]
    load_grams = [summary.load_grams for summary in summaries if summary.load_grams is not None]
    if len(load_grams) < len(plain_grams):
        return False
    load_model = prior.model.with_load_friction(prior.model.base.values())
    load_prior = replace(prior, model=load_model)
    plain_errors = [*_left_out_errors(plain_grams, prior, precision)]
    load_errors = [*_left_out_errors(load_grams, load_prior, precision)]
    return Improvement.from_fold_errors('', load_errors, plain_errors).better


def losses_are_possible(loaded: Estimate) -> bool:
    """
    Return whether no joint's friction takes the largest share of the load that a fit allows.

    That share stands for something else: of a Schunk LWA4P whose masses are guesses it is 0.9 at
    joint 2, and raises E on left-out recordings from 1.38 to 1.75 N m.
    """
    model = loaded.model
    bound = _LARGEST_SHARE_TO_BOUND * MAX_LOAD_FRICTION
    return all(
        share < bound
        for name, share in zip(model.parameter_names, loaded.theta.tolist())
        if name.startswith(LOAD_SYMBOL)
    )


def _left_out_errors(
    grams: Sequence[GramStack], prior: Prior, precision: float
) -> Iterator[float]:
    """Yield E on each left-out part, by a fit to the others without constraints."""
    unit = TorqueErrorUnit.for_arm(prior.reference)
    split = DataSplit.from_grams(grams, 0)
    for fitted, left_out in zip(split.fitted_grams, split.left_out_grams):
        noise_std = common_noise(fitted, prior, precision)
        theta = fit_theta(fitted, prior, precision, noise_std)
        yield left_out.torque_errors(theta, unit).E
