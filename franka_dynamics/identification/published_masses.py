# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Distinguishes faults of recordings from errors of an arm's masses, by published masses.

The columns of a common factor of all efforts, and of a load, are sums of base parameters' columns
in any recording; those of a single joint's gain or zero nearly are in some motions. Published
masses alone tell them apart, within what a real arm differs from these. (A turn of the base about
gravity has no column at all.) What is left open of single parameters:
`least_squares.std_to_prior_ratios`.

A reversed axis, a zero off by quarter turns and exchanged columns are far from the recording, and
other masses may explain them well. They are tried by fits with corrected states. What tells them
is the log evidence (`prior.log_evidence`): the right states need masses like the published ones.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from . import least_squares
from .faults import Diagnosis, Fault, MIN_HARMFUL_ERROR_RATIO, possible_state_faults
from .faults.states import EncoderOffset, StateFault
from .faults.torques import EffortGain, UndeclaredLoad
from .least_squares import fit_theta_to_gram, GramStack, TORQUE_COLUMN
from .options import DEFAULT_PRIOR_PRECISION
from .prior import log_evidence, Prior, starting_set_precision, StartingSetPrecision
from .torque_model import MASS_AND_MOMENT_INDICES, OFFSET_SYMBOL, TorqueModel
from .. import former_names
from ..arrays import Array
from ..recordings.preprocessing import Motion
from ..recordings.replay import hand_in_words, TorqueErrorUnit

# Chi square within which 95.4 % lie (two standard deviations of one number), by the number of
# numbers.
_CHI_SQUARE_1 = 4.0
_CHI_SQUARE_4 = 9.7
# Standard deviations to either side of single joints' ranges: with 95 % probability all of some
# twelve ranges are right.
_RANGE_STD_COUNT = 3.0
_MIN_MENTIONED_RANGE = 0.2  # [ratio or rad] of single joints; narrower ones are not mentioned
# Information that there is no fault: a short chain does not show all.
_FAULT_PRIOR_INFORMATION = 1e-4
_MAX_SAMPLE_COUNT = 300  # of a recording, spread over it, that stand for all


class JointFaultRange(NamedTuple):
    """The range of one joint's effort gain or encoder offset [rad] that recordings allow."""

    kind: str
    joint: int
    low: float
    high: float


@former_names.of_attributes(
    '0.3',
    excludes='rules_out_faultless',
    hidden='joint_ranges',
    is_undetermined='is_scale_undetermined',
    load='load_range',
    scale='scale_range',
    together='likeliest_scale_and_load',
    where='published_set',
)
@dataclass(frozen=True)
class MassAmbiguity:
    """
    Ranges of effort scale and load that both torques and published masses allow.

    `scale_range` are the smallest and largest ratio of recorded to real effort, of all joints
    alike, that the torques and the published masses allow if the flange carries what is declared,
    `load_range` those of an undeclared mass on the flange [kg] if efforts are right.
    `likeliest_scale_and_load` are those if both may be wrong. `rules_out_faultless` says whether
    right efforts without a load, anywhere beyond the flange, are outside the ranges.
    `published_set` is its name. `joint_ranges` are wide ranges of single joints' gains and zeros,
    extended to the faultless value.
    """

    scale_range: tuple[float, float] = field(metadata={'former_key': 'scale'})
    load_range: tuple[float, float] = field(metadata={'former_key': 'load'})
    likeliest_scale_and_load: tuple[float, float] = field(metadata={'former_key': 'together'})
    rules_out_faultless: bool = field(metadata={'former_key': 'excludes'})
    published_set: str = field(metadata={'former_key': 'where'})
    joint_ranges: tuple[JointFaultRange, ...] = field(
        default=(), metadata={'former_key': 'hidden'}
    )

    @property
    def is_scale_undetermined(self) -> bool:
        """Whether the range of recorded / real effort contains both 0 and 1."""
        return self.scale_range[0] <= 0.0 and self.scale_range[1] >= 1.0

    @property
    def has_questions(self) -> bool:
        """Whether the user must be asked about effort scale or load."""
        return self.rules_out_faultless or self.is_scale_undetermined


class FitsNearMasses:
    """
    Fits of faults together with an arm whose masses are near those of a set, as `prior` says.

    How far the real masses are from it follows from the torques (`starting_set_precision`), with a
    common factor and a load free.
    The columns are those of `grams`, and five more, which are sums of base parameters' columns: a
    common factor of the set's torques, and the mass and first moments of a load.
    `fault_columns` are the indices of these five, by fault.
    """

    def __init__(self, grams: GramStack, prior: Prior) -> None:
        """Set up the normal equations, with the masses' precision estimated from torques."""
        self.grams = grams
        self.prior = prior
        self.n = prior.model.n
        theta = least_squares.fit_theta(grams, prior)
        noise_std = least_squares.joint_noise(grams, theta)  # (n,), N m
        self.p = len(theta)
        b = len(prior.model.base)
        # Base parameters of the factor (those of this set, not of the start), and of the load.
        load_to_base = prior.model.payload_to_base_matrix[:, MASS_AND_MOMENT_INDICES]
        factor_and_load = np.column_stack([prior.mean[:b], load_to_base])  # (b, 5)
        equations = least_squares.weighted_equations(grams, prior, noise_std)
        prior_information = _likely_information(equations, prior, factor_and_load)
        column_count = grams.matrices.shape[-1]
        self._torque_column = column_count - 1
        # The map from the columns of `grams` to these and the five sums, (c, c + 5).
        self._column_map = np.eye(column_count, column_count + factor_and_load.shape[1])
        self._column_map[:b, column_count:] = factor_and_load
        gram = grams.gram_matrix(least_squares.residual_weights(noise_std))
        self.information = self._column_map.T @ gram @ self._column_map  # (c + 5, c + 5)
        self.information[: self.p, : self.p] += prior_information
        self.information[: self.p, self._torque_column] += prior_information @ prior.mean
        self.fault_columns = {
            EffortGain(): [column_count],
            UndeclaredLoad(): [*range(column_count + 1, column_count + 5)],
        }

    def fit_faults(self, *faults: Fault) -> tuple[Array, Array]:
        """Return values of `faults` fitted together with the arm, (k,), and their covariance."""
        _, coefficients, covariance = self._fit(*faults)
        return coefficients[self.p :], covariance[self.p :, self.p :]

    def torque_error(self, *faults: Fault) -> float:
        """Return E of the arm fitted together with `faults`, on the recordings [N m or %]."""
        columns, coefficients, _ = self._fit(*faults)
        residual = -self._column_map[:, columns] @ coefficients  # of the columns of `grams`, (c,)
        residual[TORQUE_COLUMN] += 1.0
        mean_squares = self.grams.sum_of_squares(residual) / self.grams.sample_count
        unit_factors = np.array(TorqueErrorUnit.for_arm(self.prior.reference).factors)
        return float(np.sqrt(mean_squares @ unit_factors**2))

    def _fit(self, *faults: Fault) -> tuple[list[int], Array, Array]:
        """Return columns of the arm and of `faults`, their coefficients, and the covariance."""
        columns = [*range(self.p)]
        for fault in faults:
            own_columns = self.fault_columns.get(fault)
            columns += own_columns or self.grams.column_indices(fault.column_names)
        is_fault = np.arange(len(columns)) >= self.p
        fault_information = np.diag(np.where(is_fault, _FAULT_PRIOR_INFORMATION, 0.0))
        information = self.information[np.ix_(columns, columns)] + fault_information
        covariance = np.linalg.inv(information)
        coefficients = covariance @ self.information[columns, self._torque_column]
        return columns, coefficients, covariance

    def mass_ambiguity(self) -> MassAmbiguity:
        """Return ranges of effort scale, load and joint faults that torques and masses allow."""
        gain = EffortGain()
        load = UndeclaredLoad()
        gain_error, gain_covariance = self.fit_faults(gain)  # (1,), (1, 1)
        load_moments, load_covariance = self.fit_faults(load)  # mass first, (4,), kg and kg m
        (gain_error_of_both, mass_of_both, *_), _ = self.fit_faults(gain, load)
        scale_of_both = 1.0 + float(gain_error_of_both)
        two_std = 2.0 * np.array([-1.0, 1.0])
        scale_range = 1.0 + gain_error[0] + two_std * np.sqrt(gain_covariance[0, 0])
        load_range = load_moments[0] + two_std * np.sqrt(load_covariance[0, 0])
        no_gain = gain_error @ np.linalg.solve(gain_covariance, gain_error) <= _CHI_SQUARE_1
        no_load = load_moments @ np.linalg.solve(load_covariance, load_moments) <= _CHI_SQUARE_4
        published = self.prior.reference
        return MassAmbiguity(
            scale_range=tuple(scale_range.tolist()),
            load_range=tuple(load_range.tolist()),
            likeliest_scale_and_load=(scale_of_both, float(mass_of_both / scale_of_both)),
            rules_out_faultless=not (no_gain and no_load),
            published_set=f'{published.inertial_set} {hand_in_words(published.hand)}',
            joint_ranges=tuple(self.joint_fault_ranges()),
        )

    def joint_fault_ranges(self) -> Iterator[JointFaultRange]:
        """Yield ranges, wider than 0.2, of joints' effort gains and inner encoder zeros [rad]."""
        for fault in (
            *EffortGain.for_joint_count(self.n),
            *EncoderOffset.for_joint_count(self.n),
        ):
            if not fault.joints:  # the common gain, which `scale_range` is about
                continue
            error, variance = (float(number.item()) for number in self.fit_faults(fault))
            reach = _RANGE_STD_COUNT * variance**0.5
            if reach > 0.5 * _MIN_MENTIONED_RANGE:
                low = min(error - reach, 0.0)
                high = max(error + reach, 0.0)
                # The size of a fault is 0 without one. A gain is given as effort / torque, which
                # is then 1.
                faultless = float(fault.kind == EffortGain.kind)
                yield JointFaultRange(
                    fault.kind, fault.joints[0], low + faultless, high + faultless
                )


def _likely_information(
    equations: tuple[Array, Array], prior: Prior, factor_and_load: Array
) -> Array:
    """
    Return the prior's information (p, p), with masses as near the set's as the torques say.

    `equations` are those of `least_squares.weighted_equations`. A factor and a load, whose base
    parameters are `factor_and_load` (b, 5), are free. Masses are known to 100 % at least.
    """
    reduced_regressor, _ = equations
    b = len(prior.model.base)
    free_columns = reduced_regressor[:, :b] @ factor_and_load
    likely_precision = starting_set_precision(equations, prior, free_columns)
    precision = StartingSetPrecision(*(max(likely, 1.0) for likely in likely_precision))
    information = np.diag(prior.std**-2.0)
    information[:b, :b] = np.linalg.inv(precision.covariance(prior))
    return information


def corrected_state_grams(
    model: TorqueModel, motion: Motion, noise_std: Array, unit_factors: Array
) -> tuple[Array, int]:
    """
    Return Gram matrices at recorded and at corrected states, and the number of samples.

    The matrices (2, 1 + faults, p + 1, p + 1) are weighted by each joint's `noise_std` (n,)
    [N m], and by `unit_factors` (n,), which converts efforts to the unit of E. The first is at the
    recorded states, the others with each of `possible_state_faults` corrected.
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
    return np.stack(grams, axis=1), len(motion)


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


def state_fault_fits(grams: Array, sample_count: int, prior: Prior) -> list[StateFaultFit]:
    """
    Return fits of state faults likelier than recorded states, best first; [] if none is harmful.

    Fits for harmless faults are returned if one for a harmful fault is. `grams` are those of
    `corrected_state_grams`, of `sample_count` samples.
    """
    weighted_grams, error_grams = grams
    recorded_theta = _identified_theta(error_grams[0], weighted_grams[0], sample_count, prior)
    recorded_error = _torque_error(error_grams[0], recorded_theta, sample_count)
    recorded_evidence = _log_evidence_of(weighted_grams[0], prior)

    def likelier_fits(harmful: bool) -> Iterator[StateFaultFit]:
        """Yield likelier fits for faults that raise E by over 40 % if `harmful`, else others."""
        state_faults = possible_state_faults(prior.model.n)
        for fault, weighted, unweighted in zip(state_faults, weighted_grams[1:], error_grams[1:]):
            corrected_theta = _identified_theta(unweighted, weighted, sample_count, prior)
            corrected_error = _torque_error(unweighted, corrected_theta, sample_count)
            error_growth = (
                _torque_error(unweighted, recorded_theta, sample_count) / corrected_error
            )
            is_harmful = error_growth > MIN_HARMFUL_ERROR_RATIO
            # One that fits worse than the recorded states by more than their E is none.
            fits_well_enough = corrected_error < 2.0 * recorded_error
            if is_harmful is not harmful or not fits_well_enough:
                continue
            corrected_evidence = _log_evidence_of(weighted, prior, recorded_evidence)
            log_bayes_factor = corrected_evidence - recorded_evidence
            if log_bayes_factor > 0.0:
                yield StateFaultFit(
                    fault, error_growth, log_bayes_factor, recorded_error, corrected_error
                )

    harmful_fits = [*likelier_fits(harmful=True)]
    if not harmful_fits:
        return []
    fits = [*harmful_fits, *likelier_fits(harmful=False)]
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
    evidence = max(
        float(
            log_evidence(
                equations, prior, free_columns, min_mass_precision=DEFAULT_PRIOR_PRECISION
            ).max()
        )
        for free_columns in (factor_and_offsets, with_load)
    )
    return evidence + residual_evidence
