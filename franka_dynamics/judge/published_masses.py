# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Distinguishes faults of recordings from errors of an arm's masses, by published masses.

A common factor of all efforts, or a load, adds torques that other masses could need as well: its
columns are sums of base parameters' columns in any recording. Those of a single joint's gain or
zero nearly are in some motions. So only published masses tell such faults from an arm with other
masses, and a range of sizes stays open, because real arms differ from what is published. (A turn
of the base about gravity has no column at all.) What is left open of single parameters:
`least_squares.std_to_prior_ratios`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .faults import Fault
from .faults.states import EncoderOffset
from .faults.torques import EffortGain, UndeclaredLoad
from ..arrays import Array
from ..fit import least_squares
from ..fit.least_squares import GramStack, TORQUE_COLUMN
from ..fit.prior import Prior, starting_set_precision, StartingSetPrecision
from ..fit.torque_model import MASS_AND_MOMENT_INDICES
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


class JointFaultRange(NamedTuple):
    """The range of one joint's effort gain or encoder offset [rad] that recordings allow."""

    kind: str
    joint: int
    low: float
    high: float


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

    scale_range: tuple[float, float]
    load_range: tuple[float, float]
    likeliest_scale_and_load: tuple[float, float]
    rules_out_faultless: bool
    published_set: str
    joint_ranges: tuple[JointFaultRange, ...] = ()

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

    How far the real masses are from the set's follows from the torques (`starting_set_precision`),
    with a common factor and a load free. The columns are those of `grams` and, behind them, five
    that are sums of base parameters' columns: a common factor of the set's torques, and the mass
    and first moments of a load. `fault_columns` has the indices of these five, by fault.
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
            if fault in self.fault_columns:
                columns += self.fault_columns[fault]
            else:
                columns += self.grams.column_indices(fault.column_names)
        information = np.array(self.information[np.ix_(columns, columns)], dtype=float)
        fault_indices = np.arange(self.p, len(columns))
        information[fault_indices, fault_indices] += _FAULT_PRIOR_INFORMATION
        covariance = np.linalg.inv(information)
        coefficients = covariance @ self.information[columns, self._torque_column]
        return columns, coefficients, covariance

    def mass_ambiguity(self) -> MassAmbiguity:
        """Return ranges of effort scale, load and joint faults that torques and masses allow."""
        gain = EffortGain()
        load = UndeclaredLoad()
        gain_error, gain_covariance = self.fit_faults(gain)  # (1,), (1, 1)
        load_moments, load_covariance = self.fit_faults(load)  # mass first, (4,), kg and kg m
        sizes_of_both, _ = self.fit_faults(gain, load)  # the gain's error, then the load's, (5,)
        scale_of_both = 1.0 + float(sizes_of_both[0])
        load_mass_of_both = float(sizes_of_both[1] / scale_of_both)
        two_std = 2.0 * np.array([-1.0, 1.0])
        scale_range = 1.0 + gain_error[0] + two_std * np.sqrt(gain_covariance[0, 0])
        load_range = load_moments[0] + two_std * np.sqrt(load_covariance[0, 0])
        no_gain = gain_error @ np.linalg.solve(gain_covariance, gain_error) <= _CHI_SQUARE_1
        no_load = load_moments @ np.linalg.solve(load_covariance, load_moments) <= _CHI_SQUARE_4
        published = self.prior.reference
        return MassAmbiguity(
            scale_range=tuple(scale_range.tolist()),
            load_range=tuple(load_range.tolist()),
            likeliest_scale_and_load=(scale_of_both, load_mass_of_both),
            rules_out_faultless=not (no_gain and no_load),
            published_set=f'{published.inertial_set} {hand_in_words(published.hand)}',
            joint_ranges=tuple(self.joint_fault_ranges()),
        )

    def joint_fault_ranges(self) -> Iterator[JointFaultRange]:
        """Yield ranges, wider than 0.2, of joints' effort gains and inner encoder zeros [rad]."""
        gains = EffortGain.for_joint_count(self.n)
        zeros = EncoderOffset.for_joint_count(self.n)
        for fault in (*gains, *zeros):
            if not fault.joints:  # the common gain, which `scale_range` is about
                continue
            error, variance = (float(number.item()) for number in self.fit_faults(fault))
            half_width = _RANGE_STD_COUNT * variance**0.5
            if half_width <= 0.5 * _MIN_MENTIONED_RANGE:
                continue
            low = min(error - half_width, 0.0)
            high = max(error + half_width, 0.0)
            if fault.kind == EffortGain.kind:  # said as effort / torque: 1 without a fault
                low += 1.0
                high += 1.0
            yield JointFaultRange(fault.kind, fault.joints[0], low, high)


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
