# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Finds faults of recorded states by fits at corrected states, which published masses judge.

A reversed axis, a zero off by quarter turns and exchanged columns are far from the recording, and
have no regressor columns. Each is corrected on trial. A better fit alone does not show that the
correction is right, because other masses may explain the recorded states well, too. The log
evidence does (`prior.log_evidence`): at the right states the torques need masses like the
published ones.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .faults import Diagnosis, MIN_HARMFUL_ERROR_RATIO, possible_state_faults
from .faults.states import StateFault
from ..arrays import Array
from ..fit import least_squares
from ..fit.least_squares import fit_theta_to_gram, TORQUE_COLUMN
from ..fit.prior import log_evidence, Prior
from ..fit.prior_widths import DEFAULT_PRIOR_PRECISION
from ..fit.torque_model import MASS_AND_MOMENT_INDICES, OFFSET_SYMBOL, TorqueModel
from ..recordings.preprocessing import Motion

_MAX_SAMPLE_COUNT = 300  # of a recording, spread over it, that stand for all


@dataclass(frozen=True, eq=False)
class CorrectedStateGrams:
    """
    Gram matrices of the model's columns and the torque at recorded and at corrected states.

    `weighted` (1 + faults, p + 1, p + 1) are weighted by joints' noise, `in_error_unit` by the
    factors to the unit of E. The first is at the recorded states, the others with each of
    `possible_state_faults` corrected. `sample_count` is the number of samples.
    """

    weighted: Array
    in_error_unit: Array
    sample_count: int

    def __add__(self, other: 'CorrectedStateGrams') -> 'CorrectedStateGrams':
        """Return the matrices of both sets of samples."""
        return CorrectedStateGrams(
            self.weighted + other.weighted,
            self.in_error_unit + other.in_error_unit,
            self.sample_count + other.sample_count,
        )


def corrected_state_grams(
    model: TorqueModel, motion: Motion, noise_std: Array, unit_factors: Array
) -> CorrectedStateGrams:
    """
    Return Gram matrices at recorded and at corrected states.

    `noise_std` (n,) [N m] is each joint's noise, `unit_factors` (n,) convert efforts to the unit
    of E.
    """
    n = model.n
    chosen_count = min(len(motion), _MAX_SAMPLE_COUNT)
    is_chosen = np.zeros(len(motion), dtype=bool)  # evenly spread over the motion
    is_chosen[np.linspace(0, len(motion) - 1, chosen_count).astype(int)] = True
    chosen = motion.select(is_chosen)
    chosen_share = len(chosen) / len(motion)
    friction_columns = model.friction_columns(motion)[is_chosen]  # (samples, n, terms of a joint)
    weights = np.stack([least_squares.residual_weights(noise_std), unit_factors**2])  # (2, n)
    no_fault = np.eye(n), np.zeros(n), np.eye(n)
    maps = [no_fault, *(fault.state_and_torque_maps(n) for fault in possible_state_faults(n))]
    grams = []
    for state_map, position_error, torque_map in maps:
        real_columns = model.base.regressor(
            (chosen.q - position_error) @ state_map,
            chosen.dq @ state_map,
            chosen.ddq @ state_map,
        )
        model_columns = model.regressor(torque_map @ real_columns, friction_columns)
        rows = np.concatenate([model_columns, chosen.effort[..., None]], axis=-1)
        joint_rows = rows.swapaxes(0, 1)  # (n, samples, p + 1)
        joint_grams = joint_rows.swapaxes(1, 2) @ joint_rows  # (n, p + 1, p + 1)
        grams.append(np.tensordot(weights / chosen_share, joint_grams, 1))
    weighted, in_error_unit = np.stack(grams, axis=1)
    return CorrectedStateGrams(weighted, in_error_unit, len(motion))


class StateFaultFit(NamedTuple):
    """
    A fit at states corrected for a fault, compared with one at the recorded states.

    `error_growth` is the factor by which ignoring the fault raises E, `log_bayes_factor` the log
    evidence with the fault corrected less that at the recorded states.
    """

    fault: StateFault
    error_growth: float
    log_bayes_factor: float
    error_before: float
    error_after: float

    def diagnosis(self, rival: 'StateFaultFit | None' = None) -> Diagnosis:
        """
        Return a Diagnosis with torque errors without the fault, with it, and with `rival` instead.

        Without `rival` the third is the first.
        """
        return Diagnosis(
            self.fault.kind,
            self.fault.joints,
            self.fault.known_values,
            error_before=self.error_before,
            error_after=self.error_after,
            rival_error=rival.error_after if rival else self.error_before,
            effect=self.error_growth,
        )


class _Candidate(NamedTuple):
    """
    A fault of the states whose correction fits well enough, before its evidence is computed.

    `weighted_gram` (p + 1, p + 1) is that of the corrected states; `error_growth` and
    `error_after` are those of StateFaultFit.
    """

    fault: StateFault
    weighted_gram: Array
    error_growth: float
    error_after: float

    @property
    def is_harmful(self) -> bool:
        """Whether ignoring the fault raises E by over 40 %."""
        return self.error_growth > MIN_HARMFUL_ERROR_RATIO


def state_fault_fits(grams: CorrectedStateGrams, prior: Prior) -> list[StateFaultFit]:
    """
    Return fits of state faults likelier than recorded states, best first; [] if none is harmful.

    Fits for harmless faults are returned if one for a harmful fault is.
    """
    weighted_grams = grams.weighted
    error_grams = grams.in_error_unit
    sample_count = grams.sample_count
    recorded_theta = _identified_theta(error_grams[0], weighted_grams[0], sample_count, prior)
    recorded_error = _torque_error(error_grams[0], recorded_theta, sample_count)
    recorded_evidence = _log_evidence_of(weighted_grams[0], prior)

    def candidates() -> Iterator[_Candidate]:
        """Yield the faults that fit at most by as much worse as the recorded states err."""
        state_faults = possible_state_faults(prior.model.n)
        for fault, weighted, unweighted in zip(state_faults, weighted_grams[1:], error_grams[1:]):
            theta = _identified_theta(unweighted, weighted, sample_count, prior)
            error = _torque_error(unweighted, theta, sample_count)
            error_if_ignored = _torque_error(unweighted, recorded_theta, sample_count)
            if error < 2.0 * recorded_error:
                yield _Candidate(fault, weighted, error_if_ignored / error, error)

    def likelier_fits(tried: Iterable[_Candidate]) -> Iterator[StateFaultFit]:
        """Yield fits for the faults with which the torques are likelier than without."""
        for candidate in tried:
            evidence = _log_evidence_of(candidate.weighted_gram, prior, recorded_evidence)
            log_bayes_factor = evidence - recorded_evidence
            if log_bayes_factor > 0.0:
                yield StateFaultFit(
                    candidate.fault,
                    candidate.error_growth,
                    log_bayes_factor,
                    recorded_error,
                    candidate.error_after,
                )

    tried = list(candidates())
    harmful_fits = list(likelier_fits(one for one in tried if one.is_harmful))
    if not harmful_fits:  # the evidence of harmless ones, which takes long, is not needed
        return []
    harmless_fits = likelier_fits(one for one in tried if not one.is_harmful)
    fits = [*harmful_fits, *harmless_fits]
    return sorted(fits, key=lambda fit: -fit.log_bayes_factor)


def _identified_theta(
    error_gram: Array, weighted_gram: Array, sample_count: int, prior: Prior
) -> Array:
    """
    Return parameters of the arm that is identified, (p,), with one noise level for all joints.

    `error_gram` is in the unit of E; a fit to the same samples by `weighted_gram` gives the level.
    """
    first_theta = fit_theta_to_gram(weighted_gram, prior, DEFAULT_PRIOR_PRECISION)
    noise_std = _torque_error(error_gram, first_theta, sample_count) / np.sqrt(prior.model.n)
    weight = least_squares.residual_weights(noise_std)
    return fit_theta_to_gram(weight * error_gram, prior, DEFAULT_PRIOR_PRECISION)


def _torque_error(gram: Array, theta: Array, sample_count: int) -> float:
    """Return the torque error E of parameters, from the Gram matrix of `sample_count` samples."""
    residual = np.append(-theta, 1.0)  # measured torque minus the model's, by column
    return float(np.sqrt(max(residual @ gram @ residual, 0.0) / sample_count))


def _log_evidence_of(gram: Array, prior: Prior, min_evidence: float = -np.inf) -> float:
    """
    Return the largest log evidence with unknown offsets, factor, load; -inf below `min_evidence`.

    A load is free where that is likelier. Masses are known as well as in the fit, or better:
    those of a set that is good for nothing would explain the recorded states, too. Evidence that
    residuals alone make less than `min_evidence` is not computed: -inf is returned.
    """
    model = prior.model
    all_parameters = [*range(len(prior.std))]
    equations = least_squares.sqrt_equations(gram, all_parameters, prior.std)
    reduced_regressor, reduced_torque = equations
    torque_square = gram[TORQUE_COLUMN, TORQUE_COLUMN]
    residual_evidence = -0.5 * float(torque_square - reduced_torque @ reduced_torque)
    if residual_evidence < min_evidence:  # no prior makes it more
        return -np.inf
    base_columns = reduced_regressor[:, : len(model.base)]
    factor_column = base_columns @ prior.mean[: len(model.base)]
    is_offset = [name.startswith(OFFSET_SYMBOL) for name in model.parameter_names]
    factor_and_offsets = np.column_stack([factor_column, reduced_regressor[:, is_offset]])
    load_columns = base_columns @ model.payload_to_base_matrix[:, MASS_AND_MOMENT_INDICES]
    with_load = np.column_stack([factor_and_offsets, load_columns])
    evidences = [
        log_evidence(equations, prior, columns, min_mass_precision=DEFAULT_PRIOR_PRECISION).max()
        for columns in (factor_and_offsets, with_load)
    ]
    return float(max(evidences)) + residual_evidence
