# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The widths of the prior, chosen by the log evidence of the measured torques.

The evidence is the likelihood of the torques with all parameters integrated out (MacKay 1992,
"Bayesian interpolation", Neural Computation 4(3)). At its maximum the parameters of a group differ
from the prior's mean as much as the group's width says, of those that the torques determine. Steps
towards that need the sums over samples only; each joint's noise is estimated alike.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace

import numpy as np

from .least_squares import (
    GramStack,
    min_noise,
    residual_weights,
    SAMPLES_PER_INDEPENDENT_SAMPLE,
    TORQUE_COLUMN,
)
from .prior import Prior
from .prior_widths import PriorWidths, TERMS_TO_LEAVE_OUT
from .torque_model import WIDTH_OF_SYMBOL
from ..arrays import Array

# Where the steps start: narrow, middle and wide. One start may end at a lower maximum: of a log of
# 293 samples nine starts end 23 % apart in E on one fifth.
_STARTS = (
    PriorWidths(10.0, 0.02, 0.02, 0.02, 0.2, 0.02),
    PriorWidths(0.3, 0.02, 0.02, 0.02, 0.2, 0.02),
    PriorWidths(300.0, 0.006, 0.006, 0.006, 0.06, 0.006),
)
_PRECISION_RANGE = 1e-2, 1e3
_WIDTH_RANGE = 1e-5, 10.0  # at its ends a width is as good as zero, or as none
# A term stays where it raises the log evidence by so much: 5 is very strong for independent
# samples (Kass and Raftery 1995, "Bayes factors"), and residuals last longer than the filter.
MIN_TERM_EVIDENCE = 10.0
# Friction that falls with the speed stays where it raises it at all: its width holds it back
# enough. On an Airbot Play it raises the evidence by 1 to 4 only, and lowers E on left-out parts
# by 7 %.
_MIN_STRIBECK_EVIDENCE = 0.0
_MAX_STEP_COUNT = 40
_MIN_STEP_COUNT = 4
_EVIDENCE_TOLERANCE = 0.05
_MIN_SQUARE = 1e-300
_MIN_DETERMINED = 1e-3  # parameters of a group that torques determine, for a group of none


@dataclass(frozen=True)
class Choice:
    """Chosen widths, and the log evidence of the torques with them (a constant is left out)."""

    widths: PriorWidths
    log_evidence: float


def choose_widths(grams: GramStack, prior: Prior, fixed: Mapping[str, float]) -> Choice:
    """
    Return the widths at which measured torques are likeliest, `fixed` ones as they are.

    `grams` are sums over the samples of the model of `prior`, which has all terms. A term is left
    out unless the torques are clearly likelier with it.
    """
    present = {WIDTH_OF_SYMBOL[symbol[:2]] for symbol in prior.model.friction.symbols}
    absent = {name: 0.0 for name in TERMS_TO_LEAVE_OUT if name not in present}
    given = {**fixed, **absent}
    every = {each.name for each in fields(PriorWidths)}
    if every <= given.keys():
        return Choice(PriorWidths(**given), float('nan'))
    evidence = _Evidence(grams, prior)
    starts = dict.fromkeys(replace(start, **given) for start in _STARTS)
    best = max(
        (evidence.climbed(start, given) for start in starts),
        key=lambda found: found.log_evidence,
    )
    for name in TERMS_TO_LEAVE_OUT:
        if name in given or not getattr(best.widths, name):
            continue
        without = {**given, name: 0.0}
        found = evidence.climbed(replace(best.widths, **without), without)
        least = _MIN_STRIBECK_EVIDENCE if name == 'stribeck' else MIN_TERM_EVIDENCE
        if best.log_evidence - found.log_evidence < least:
            best = found
    return best


class _Evidence:
    """The log evidence of measured torques, by the widths of a prior of all terms."""

    def __init__(self, grams: GramStack, prior: Prior) -> None:
        """Keep the sums of the model's columns and the torque."""
        p = len(prior.mean)
        columns = [*range(p), TORQUE_COLUMN]
        self._matrices = grams.total_matrices[:, columns][:, :, columns]  # (n, p + 1, p + 1)
        self._sample_count = grams.sample_count
        self._min_noise = min_noise(grams)
        self._prior = prior
        b = len(prior.model.base)
        self._base = slice(0, b)
        # Covariances of the base parameters at precision one, due to masses and to inertias, in
        # units of the prior's deviations.
        to_base = prior.model.base.matrix / prior.std[self._base, None]
        of_masses, of_inertias = prior.covariance_parts
        self._base_std = prior.std[self._base]
        self._mass_covariance = to_base @ of_masses @ to_base.T
        self._inertia_covariance = to_base @ of_inertias @ to_base.T
        # The places of each width's parameters, and their deviations at a width of one.
        unit = PriorWidths(1.0, 1.0, 1.0, 1.0, 1.0, 1.0)
        friction = prior.model.friction
        unit_std = friction.prior_std(prior.effort_limit, prior.velocity_limit, unit)
        width_names = np.tile(
            [WIDTH_OF_SYMBOL[symbol[:2]] for symbol in friction.symbols], friction.n
        )
        self._groups = {
            str(name): (b + np.flatnonzero(width_names == name), unit_std[width_names == name])
            for name in np.unique(width_names)
        }

    def climbed(self, start: PriorWidths, fixed: Mapping[str, float]) -> Choice:
        """Return the widths of the maximum that steps from `start` end at, `fixed` ones held."""
        noise_std = self._prior.expected_residual
        widths = start
        former = -np.inf
        for step in range(_MAX_STEP_COUNT):
            theta, covariance, evidence = self._fit(widths, noise_std)
            if step >= _MIN_STEP_COUNT and abs(evidence - former) < _EVIDENCE_TOLERANCE:
                break
            former = evidence
            stepped = dict(self._stepped(widths, theta, covariance, fixed))
            noise_std = self._noise(theta, covariance)
            widths = replace(
                widths, **{name: value for name, value in stepped.items() if name not in fixed}
            )
        return Choice(widths, evidence)

    def _fit(self, widths: PriorWidths, noise_std: Array) -> tuple[Array, Array, float]:
        """Return parameters (p,), their covariance (p, p), zero of left-out ones, evidence."""
        p = len(self._prior.mean)
        information = np.zeros((p, p))
        base_information, log_det = self._base_information(widths)
        information[self._base, self._base] = base_information
        fitted = np.zeros(p, dtype=bool)
        fitted[self._base] = True
        for name, (places, unit_std) in self._groups.items():
            width = getattr(widths, name)
            if width:
                information[places, places] = (width * unit_std) ** -2.0
                log_det -= 2.0 * float(np.log(width * unit_std).sum())
                fitted[places] = True
        weights = residual_weights(noise_std)
        gram = np.tensordot(weights, self._matrices, 1)
        used = np.ix_(fitted, fitted)
        mean = self._prior.mean[fitted]
        normal = gram[:p, :p][used] + information[used]
        right_hand_side = gram[:p, TORQUE_COLUMN][fitted] + information[used] @ mean
        scale = 1.0 / np.sqrt(np.diag(normal))
        root = np.linalg.inv(np.linalg.cholesky(normal * scale * scale[:, None])) * scale
        theta = np.zeros(p)
        covariance = np.zeros((p, p))
        covariance[used] = root.T @ root
        theta[fitted] = covariance[used] @ right_hand_side
        cost = gram[TORQUE_COLUMN, TORQUE_COLUMN] + mean @ information[used] @ mean
        cost -= theta[fitted] @ right_hand_side
        log_det_covariance = 2.0 * float(np.log(np.abs(np.diag(root))).sum())
        independent_count = self._sample_count / SAMPLES_PER_INDEPENDENT_SAMPLE
        evidence = 0.5 * (log_det + log_det_covariance - cost)
        return theta, covariance, float(evidence - independent_count * np.log(noise_std).sum())

    def _base_information(self, widths: PriorWidths) -> tuple[Array, float]:
        """Return the prior information (b, b) of base parameters, and its log-determinant."""
        covariance = self._mass_covariance + widths.inertia**2 * self._inertia_covariance
        root = np.linalg.cholesky(covariance / widths.regularization)
        whitening = np.linalg.inv(root) / self._base_std
        log_det = -2.0 * float(np.log(np.diag(root) * self._base_std).sum())
        return whitening.T @ whitening, log_det

    def _stepped(
        self, widths: PriorWidths, theta: Array, covariance: Array, fixed: Mapping[str, float]
    ) -> Iterator[tuple[str, float]]:
        """Yield each width's name and its next value, by MacKay's step."""
        yield from self._stepped_inertias(widths, theta, covariance, fixed)
        for name, (places, unit_std) in self._groups.items():
            width = getattr(widths, name)
            if width:
                left = np.sum(np.diag(covariance)[places] / (width * unit_std) ** 2)
                determined = max(len(places) - left, _MIN_DETERMINED)
                square = np.sum((theta[places] / unit_std) ** 2)
                yield name, float(np.clip(np.sqrt(square / determined), *_WIDTH_RANGE))

    def _stepped_inertias(
        self, widths: PriorWidths, theta: Array, covariance: Array, fixed: Mapping[str, float]
    ) -> Iterator[tuple[str, float]]:
        """Yield the next precision of masses, and how many times as wide inertias are."""
        own = covariance[self._base, self._base] / np.outer(self._base_std, self._base_std)
        information = self._base_information(widths)[0] * np.outer(self._base_std, self._base_std)
        change = information @ ((theta - self._prior.mean)[self._base] / self._base_std)
        shown = information - information @ own @ information

        def variance(share: Array) -> float:
            """Return by how much the variance of a share (b, b) of the covariance grows."""
            determined = max(float(np.sum(shown * share)), _MIN_DETERMINED)
            return max(float(change @ share @ change), _MIN_SQUARE) / determined

        of_masses = self._mass_covariance / widths.regularization
        of_inertias = self._inertia_covariance * (widths.inertia**2 / widths.regularization)
        if 'inertia' in fixed:  # they vary together
            precision = widths.regularization / variance(of_masses + of_inertias)
            yield 'regularization', float(np.clip(precision, *_PRECISION_RANGE))
            return
        precision = widths.regularization / variance(of_masses)
        precision = fixed.get('regularization', float(np.clip(precision, *_PRECISION_RANGE)))
        inertia_precision = widths.regularization / widths.inertia**2 / variance(of_inertias)
        inertia_precision = float(np.clip(inertia_precision, *_PRECISION_RANGE))
        yield 'regularization', precision
        yield 'inertia', float(np.sqrt(precision / inertia_precision))

    def _noise(self, theta: Array, covariance: Array) -> Array:
        """Return each joint's noise, of residuals and of what is uncertain in them, (n,)."""
        residual = np.append(-theta, 1.0)
        squares = np.einsum('jab,a,b->j', self._matrices, residual, residual)
        p = len(theta)
        squares += np.einsum('jab,ab->j', self._matrices[:, :p, :p], covariance)
        noise = np.sqrt(np.maximum(squares, 0.0) / self._sample_count)
        return np.asarray(np.maximum(noise, self._min_noise))
