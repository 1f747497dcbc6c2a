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
    `fault_columns` are their numbers, by fault.
    """

    def __init__(self, grams: GramStack, prior: Prior) -> None:
        """Set up the normal equations, with the masses' precision estimated from torques."""
        self.grams = grams
        self.prior = prior
        self.n = prior.model.n
        theta = least_squares.fit_theta(grams, prior)
        noise = least_squares.joint_noise(grams, theta)
        triangle, effort = least_squares.weighted_equations(grams, prior, noise)
        self.p = len(theta)
        b = len(prior.model.base)
        load = prior.model.payload_to_base_matrix[:, MASS_AND_MOMENT_INDICES]
        free = np.column_stack([prior.mean[:b], load])  # of this set, not of the start
        likely = starting_set_precision((triangle, effort), prior, triangle[:, :b] @ free)
        likely = StartingSetPrecision(*(max(one, 1.0) for one in likely))
        known = np.diag(prior.std**-2.0)
        known[:b, :b] = np.linalg.inv(likely.covariance(prior))
        self.first_fault_column = last = grams.matrices.shape[-1]
        self._wider = wider = np.eye(last, last + free.shape[1])
        wider[:b, last:] = free
        products = grams.gram_matrix(least_squares.residual_weights(noise))
        self.information = wider.T @ products @ wider
        self.information[: self.p, : self.p] += known
        self.information[: self.p, last - 1] += known @ prior.mean
        self.fault_columns = {
            EffortGain(): [last],
            UndeclaredLoad(): [*range(last + 1, last + 5)],
        }

    def fit_faults(self, *faults: Fault) -> tuple[Array, Array]:
        """Return values of `faults` fitted together with the arm, (k,), and their covariance."""
        _, values, covariance = self._fit(*faults)
        return values[self.p :], covariance[self.p :, self.p :]

    def torque_error(self, *faults: Fault) -> float:
        """Return E of the arm fitted together with `faults`, on the recordings [N m or %]."""
        own, values, _ = self._fit(*faults)
        residual = -self._wider[:, own] @ values
        residual[TORQUE_COLUMN] += 1.0
        squares = self.grams.sum_of_squares(residual) / self.grams.sample_count
        factors = np.array(TorqueErrorUnit.for_arm(self.prior.reference).factors)
        return float(np.sqrt(squares @ factors**2))

    def _fit(self, *faults: Fault) -> tuple[list[int], Array, Array]:
        """Return columns of the arm and of `faults`, their coefficients, and the covariance."""
        indices_of = self.grams.column_indices
        places_of = self.fault_columns.get
        places = (places_of(one) or indices_of(one.column_names) for one in faults)
        own = [*range(self.p), *(k for each in places for k in each)]
        known = np.diag(np.where(np.arange(len(own)) < self.p, 0.0, _FAULT_PRIOR_INFORMATION))
        covariance = np.linalg.inv(self.information[np.ix_(own, own)] + known)
        return own, covariance @ self.information[own, self.first_fault_column - 1], covariance

    def mass_ambiguity(self) -> MassAmbiguity:
        """Return ranges of effort scale, load and joint faults that torques and masses allow."""
        faults = EffortGain(), UndeclaredLoad()
        (scale, scale_spread), (load, load_spread) = map(self.fit_faults, faults)
        both, _ = self.fit_faults(*faults)
        sides = 2.0 * np.array([-1.0, 1.0])
        no_scale = scale @ np.linalg.solve(scale_spread, scale) <= _CHI_SQUARE_1
        no_load = load @ np.linalg.solve(load_spread, load) <= _CHI_SQUARE_4
        published = self.prior.reference
        return MassAmbiguity(
            scale_range=tuple((1.0 + scale[0] + sides * np.sqrt(scale_spread[0, 0])).tolist()),
            load_range=tuple((load[0] + sides * np.sqrt(load_spread[0, 0])).tolist()),
            likeliest_scale_and_load=(
                1.0 + float(both[0]),
                float(both[1] / (1.0 + both[0])),
            ),
            rules_out_faultless=not (no_scale and no_load),
            published_set=f'{published.inertial_set} {hand_in_words(published.hand)}',
            joint_ranges=tuple(self.joint_fault_ranges()),
        )

    def joint_fault_ranges(self) -> Iterator[JointFaultRange]:
        """Yield ranges, wider than 0.2, of joints' effort gains and inner encoder zeros [rad]."""
        for fault in (
            *EffortGain.for_joint_count(self.n),
            *EncoderOffset.for_joint_count(self.n),
        ):
            if not fault.joints:
                continue
            value, variance = (float(one.item()) for one in self.fit_faults(fault))
            reach = _RANGE_STD_COUNT * variance**0.5
            right = float(fault.kind == EffortGain.kind)
            if reach > 0.5 * _MIN_MENTIONED_RANGE:
                low = min(value - reach, 0.0)
                high = max(value + reach, 0.0)
                yield JointFaultRange(fault.kind, fault.joints[0], low + right, high + right)


def corrected_state_grams(
    model: TorqueModel, motion: Motion, noise_std: Array, unit_factors: Array
) -> tuple[Array, int]:
    """
    Return Gram matrices at recorded and at corrected states, and the number of samples.

    The matrices (2, 1 + faults, p + 1, p + 1) are weighted by each joint's `noise_std` (n,)
    [N m], and by `unit_factors` (n,), which converts efforts to the unit of E. The first is at the
    recorded states, the others with each of `possible_state_faults` corrected.
    """
    chosen = np.zeros(len(motion), dtype=bool)
    chosen[np.linspace(0, len(motion) - 1, min(len(motion), _MAX_SAMPLE_COUNT)).astype(int)] = True
    part = motion.select(chosen)
    friction = model.friction_columns(motion)[chosen]
    weights = np.stack([least_squares.residual_weights(noise_std), unit_factors**2])
    n = model.n
    found = []
    share = len(part) / len(motion)
    as_they_are = np.eye(n), np.zeros(n), np.eye(n)
    maps = [
        as_they_are,
        *(fault.state_and_torque_maps(n) for fault in possible_state_faults(n)),
    ]
    for real, error, recorded in maps:
        states = (part.q - error) @ real, part.dq @ real, part.ddq @ real
        rows = model.regressor(recorded @ model.base.regressor(*states), friction)
        rows = np.concatenate([rows, part.effort[..., None]], axis=-1).swapaxes(0, 1)
        found.append(np.tensordot(weights / share, rows.swapaxes(1, 2) @ rows, 1))
    return np.stack(found, axis=1), len(motion)


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
        fault = self.fault
        second = rival.error_after if rival else self.error_before
        errors = self.error_before, self.error_after, second
        return Diagnosis(
            fault.kind,
            fault.joints,
            fault.known_values,
            *errors,
            effect=self.error_growth,
        )


def state_fault_fits(grams: Array, sample_count: int, prior: Prior) -> list[StateFaultFit]:
    """
    Return fits of state faults likelier than recorded states, best first; [] if none is harmful.

    Fits for harmless faults are returned if one for a harmful fault is. `grams` are those of
    `corrected_state_grams`, of `sample_count` samples.
    """
    (own, *others), (plain, *rest) = grams
    theta = fit_theta_to_gram(own, prior, DEFAULT_PRIOR_PRECISION)
    before = _torque_error(plain, theta, sample_count)
    known = _log_evidence_of(own, prior)

    def fits(harmful: bool) -> Iterator[StateFaultFit]:
        """Yield likelier fits for faults that raise E by over 40 % if `harmful`, else others."""
        for fault, weighted, common in zip(possible_state_faults(prior.model.n), others, rest):
            corrected = fit_theta_to_gram(weighted, prior, DEFAULT_PRIOR_PRECISION)
            after = _torque_error(common, corrected, sample_count)
            effect = _torque_error(common, theta, sample_count) / after
            # One that fits worse than the recorded states by more than their E is none.
            if (effect > MIN_HARMFUL_ERROR_RATIO) is harmful and after < 2.0 * before:
                gain = _log_evidence_of(weighted, prior, known) - known
                if gain > 0.0:
                    yield StateFaultFit(fault, effect, gain, before, after)

    found = [*fits(True)]
    return sorted([*found, *(fits(False) if found else ())], key=lambda fit: -fit.log_bayes_factor)


def _torque_error(gram: Array, theta: Array, sample_count: int) -> float:
    """Return the torque error E of parameters, from the Gram matrix of `sample_count` samples."""
    residual = np.append(-theta, 1.0)
    return float(np.sqrt(max(residual @ gram @ residual, 0.0) / sample_count))


def _log_evidence_of(gram: Array, prior: Prior, min_evidence: float = -np.inf) -> float:
    """
    Return the largest log evidence with unknown offsets, factor, load; -inf below `min_evidence`.

    A load is free where that is likelier. Masses are known as well as in the fit, or better:
    those of a set that is good for nothing would explain the recorded states, too. Evidence that
    residuals alone make less than `min_evidence` is not computed: -inf is returned.
    """
    triangle, effort = least_squares.sqrt_equations(gram, [*range(len(prior.std))], prior.std)
    of_residuals = -0.5 * float(gram[-1, -1] - effort @ effort)
    if of_residuals < min_evidence:  # no prior makes it more
        return -np.inf
    load = prior.model.payload_to_base_matrix[:, MASS_AND_MOMENT_INDICES]
    b = len(prior.model.base)
    offsets = [name.startswith(OFFSET_SYMBOL) for name in prior.model.parameter_names]
    free = np.column_stack([triangle[:, :b] @ prior.mean[:b], triangle[:, offsets]])
    unknowns = free, np.column_stack([free, triangle[:, :b] @ load])
    equations = (triangle, effort)
    most = DEFAULT_PRIOR_PRECISION
    tables = (log_evidence(equations, prior, one, min_mass_precision=most) for one in unknowns)
    return max(float(table.max()) for table in tables) + of_residuals
