# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The ranges of faults that published masses allow where torques alone cannot tell them.

A common factor of all efforts, or a load, adds torques that other masses could need as well: its
columns are sums of base parameters' columns in any recording. Those of a single joint's gain or
zero nearly are in some motions. So only published masses tell such faults from an arm with other
masses, and a range of sizes stays open, because real arms differ from what is published. (A turn
of the base about gravity has no column at all.)
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .sums import Sums
from .table import Fault
from ..arrays import Array
from ..fit.least_squares import sqrt_equations
from ..fit.prior import Prior, starting_set_precision, StartingSetPrecision
from ..fit.torque_model import MASS_AND_MOMENT_INDICES
from ..recordings.replay import hand_in_words

# Chi square within which 95.4 % lie (two standard deviations), of a load's mass and moments.
_MAX_CHI_SQUARE = 9.7
# Standard deviations to either side of the printed ranges of single joints: with 95 % probability
# all of some twelve ranges are right.
_RANGE_STD_COUNT = 3.0
# A joint's effort gain is doubted whose range, of two deviations, is beyond this factor, if it is
# known this well, and if the joint bears weight: inertias alone are known too badly. Both bounds
# were chosen on a real FR3, two FERs, a Med7, a UR10 and a heavy arm.
_MAX_GAIN_FACTOR = 1.5
_MAX_GAIN_STD = 0.25
_MIN_GRAVITY_TO_EFFORT = 0.5
MIN_MENTIONED_RANGE = 0.2  # [ratio or rad] of single joints; narrower ones are not mentioned
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
    efforts as recorded, or an undeclared load of zero, are outside the ranges.
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
    def allows_recorded_scale(self) -> bool:
        """Whether efforts may be as large as recorded, or nothing is known of their size."""
        return self.scale_range[0] <= 1.0 <= self.scale_range[1]

    @property
    def has_questions(self) -> bool:
        """Whether the user must be asked about effort scale or load."""
        return self.rules_out_faultless


class FitsNearMasses:
    """
    Fits of faults together with an arm whose masses are near those of a set, as `prior` says.

    How far the real masses are from the set's follows from the torques (`starting_set_precision`),
    with a common factor and a load free. `weights` (n,) are those of the joints' residuals. The
    columns of `given` faults are in all fits.
    """

    def __init__(
        self, sums: Sums, prior: Prior, weights: Array, given: Sequence[Fault] = ()
    ) -> None:
        """Set up the normal equations, with the masses' precision estimated from torques."""
        self.prior = prior
        self.p = p = sums.p
        b = len(prior.model.base)
        gram = np.einsum('j,kjab->ab', weights, sums.folds)
        # Root mean squares, of a joint's column by its number, and of efforts.
        mean_squares = sums.folds.sum(axis=0) / sums.counts.sum()
        self._rms = np.sqrt(np.einsum('jaa->a', mean_squares))
        self._effort_rms = np.sqrt(mean_squares[:, -1, -1])
        # Base parameters of the factor (those of this set, not of the start), and of the load.
        load_to_base = prior.model.payload_to_base_matrix[:, MASS_AND_MOMENT_INDICES]
        factor_and_load = np.column_stack([prior.mean[:b], load_to_base])  # (b, 5)
        equations = sqrt_equations(gram, [*range(p)], prior.std)
        likely = starting_set_precision(equations, prior, equations[0][:, :b] @ factor_and_load)
        precision = StartingSetPrecision(*(max(one, 1.0) for one in likely))
        own = np.diag(prior.std**-2.0)
        own[:b, :b] = np.linalg.inv(precision.covariance(prior))
        # The five sums of base columns stand behind all columns, and the efforts last.
        c = len(gram) - 1
        column_map = np.zeros((c + 1, c + 6))
        column_map[:c, :c] = np.eye(c)
        column_map[:b, c : c + 5] = factor_and_load
        column_map[-1, -1] = 1.0
        self.information = column_map.T @ gram @ column_map
        self.information[:p, :p] += own
        self.information[:p, -1] += own @ prior.mean
        self.fault_columns = {
            **sums.faults,
            Fault('gain'): [c],
            Fault('load'): [*range(c + 1, c + 5)],
        }
        self.given = [k for fault in given for k in self.fault_columns[fault]]

    def fit_faults(self, *faults: Fault) -> tuple[Array, Array]:
        """Return values of faults fitted together with the arm, (k,), and their covariance."""
        own = [k for fault in faults for k in self.fault_columns[fault]]
        columns = [*range(self.p), *(k for k in self.given if k not in own), *own]
        information = self.information[np.ix_(columns, columns)].copy()
        of_faults = np.arange(self.p, len(columns))
        information[of_faults, of_faults] += _FAULT_PRIOR_INFORMATION
        covariance = np.linalg.inv(information)
        coefficients = covariance @ self.information[columns, -1]
        return coefficients[-len(own) :], covariance[-len(own) :, -len(own) :]

    def mass_ambiguity(self) -> MassAmbiguity:
        """Return ranges of effort scale, load and joint faults that torques and masses allow."""
        gain = Fault('gain')
        load = Fault('load')
        gain_error, gain_covariance = self.fit_faults(gain)  # (1,), (1, 1)
        load_moments, load_covariance = self.fit_faults(load)  # mass first, (4,), kg and kg m
        sizes_of_both, _ = self.fit_faults(gain, load)  # the gain's error, then the load's, (5,)
        scale_of_both = 1.0 + float(sizes_of_both[0])
        load_mass_of_both = float(sizes_of_both[1] / scale_of_both)
        two_std = 2.0 * np.array([-1.0, 1.0])
        scale_range = 1.0 + gain_error[0] + two_std * np.sqrt(gain_covariance[0, 0])
        load_range = load_moments[0] + two_std * np.sqrt(load_covariance[0, 0])
        allows_scale = scale_range[0] <= 1.0 <= scale_range[1]
        chi_square = load_moments @ np.linalg.solve(load_covariance, load_moments)
        has_no_load = load_range[0] <= 0.0 <= load_range[1] or chi_square <= _MAX_CHI_SQUARE
        published = self.prior.reference
        return MassAmbiguity(
            scale_range=tuple(scale_range.tolist()),
            load_range=tuple(load_range.tolist()),
            likeliest_scale_and_load=(scale_of_both, load_mass_of_both),
            rules_out_faultless=not (allows_scale and has_no_load),
            published_set=f'{published.inertial_set} {hand_in_words(published.hand)}',
            joint_ranges=tuple(self.joint_fault_ranges()),
        )

    def joint_numbers(self, kind: str) -> Iterator[tuple[int, float, float]]:
        """Yield each joint, the size of its fault of a kind, and its standard deviation."""
        for fault in self.fault_columns:
            if fault.kind == kind and fault.joints:
                size, variance = (float(number.item()) for number in self.fit_faults(fault))
                yield fault.joints[0], size, variance**0.5

    def doubted_gains(self) -> Iterator[tuple[int, float]]:
        """Yield joints whose efforts can hardly be torques of such masses, and their gain."""
        for joint, size, std in self.joint_numbers('gain'):
            (column,) = self.fault_columns[Fault('gravity', (joint,))]
            bears_weight = self._rms[column] > _MIN_GRAVITY_TO_EFFORT * self._effort_rms[joint]
            gain, half_width = 1.0 + size, 2.0 * std
            is_beyond = (
                gain + half_width < 1.0 / _MAX_GAIN_FACTOR or gain - half_width > _MAX_GAIN_FACTOR
            )
            if bears_weight and is_beyond and std < _MAX_GAIN_STD:
                yield joint, gain

    def joint_fault_ranges(self) -> Iterator[JointFaultRange]:
        """Yield ranges, wider than 0.2, of joints' effort gains and inner encoder zeros [rad]."""
        for kind, faultless in (('gain', 1.0), ('zero', 0.0)):  # a gain is said as effort / torque
            for joint, size, std in self.joint_numbers(kind):
                half_width = _RANGE_STD_COUNT * std
                if half_width > 0.5 * MIN_MENTIONED_RANGE:
                    low = min(size - half_width, 0.0)
                    high = max(size + half_width, 0.0)
                    yield JointFaultRange(kind, joint, faultless + low, faultless + high)


def fits_near_published_set(
    sums: Sums, prior: Prior, published: Sequence[Prior], weights: Array, given: Sequence[Fault]
) -> FitsNearMasses | None:
    """
    Return fits near the masses of the published set that counts, or None.

    `published` are the priors about published sets, `prior` that about the starting set. Sets
    with its hand count, as another hand hides a load of its mass. The starting set counts if it is
    published, because it was chosen before anything was recorded; else that with the narrowest
    range of a factor.
    """
    with_hand = [one for one in published if one.reference.hand == prior.reference.hand]
    starting_set = prior.reference.inertial_set
    fits = [
        FitsNearMasses(sums, one, weights, given)
        for one in [p for p in with_hand if p.reference.inertial_set == starting_set] or with_hand
    ]
    return min(fits, key=lambda one: one.fit_faults(Fault('gain'))[1].item(), default=None)
