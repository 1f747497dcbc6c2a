# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Fits with the columns of a fault and without, by which left-out folds are predicted.

Cross-validation (Stone 1974, "Cross-validatory choice and assessment of statistical predictions",
J. R. Stat. Soc. B 36(2)): every fold is predicted by a fit to the others. Two fits are compared by
their log-likelihood ratio on left-out folds, whose mean is significant by its standard error over
folds (Breiman, Friedman, Olshen and Stone 1984, "Classification and Regression Trees", section
3.4). Joints are weighted by their own residuals in a fit to all folds, so that no level comes from
another arm.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from .faults import Diagnosis, Fault
from .faults.gain import Gain
from .faults.load import Load
from .faults.load_change import LoadChange
from .gram_sums import GramSums
from .options import DEFAULT_PRIOR_PRECISION
from .prior import log_evidence, Prior
from .solve import (
    common_noise,
    estimate,
    joint_noise,
    least_noise,
    residual_weights,
    square_root,
)
from ..recordings.replay import TorqueErrorUnit
from ..typing import Array

# Student's t of four degrees of freedom (five folds), one-sided, 95 %.
SIGNIFICANT_T = 2.13
# Least effect of a fault that is named, and of an offset that is asked about, as a multiple of E.
# Efforts of the Airbot's joint 4 times 0.5 look like a drift of joint 5 with a smaller one.
CLEAR_EFFECT = 1.5
# A fault matters if log-likelihood ratio times effect exceeds _EVIDENCE, it also shows beside the
# starting set's inertias, and the log evidence (`prior`) rises, or else if it exceeds _STRONG. One
# of clear effect matters from _WEAK on if the log evidence rises by _LIKELIER (5 is very strong:
# Kass and Raftery 1995, "Bayes factors", J. Am. Stat. Assoc. 90(430)). Of 68 sound logs (two FER,
# two of an Airbot, an LBR Med7, a UR10, a Rokae, five of a UR10e, 56 drawn arms) the largest are
# 0.75 and 1.4, above 0.04 without a rise. Of broken logs that give arms worse than the published
# set the smallest are 1.16 (FER), and 0.38 with a rise by 15 (a zero of a UR10e's joint 2).
_WEAK, _EVIDENCE, _STRONG, _LIKELIER = 0.12, 0.5, 2.5, 5.0
# Precision of the prior that holds inertias, and the ratio to its size (or the inverse) that a
# named fault must show beside them. Gains of 0.8 at joints 2 and 4 look like one of 1.2 at joint
# 3, a zero of the Airbot's joint 2 like one of joint 3, and a gain of the Med7's joint 2 like one
# of joint 4, with ratios below 0.7 or above 1 / 0.7.
_HELD, _AGREES = 1e8, 0.7
_FAINT = 1e-9  # weight of a prior about zero on a fault's columns
# Faults that look like other masses: all fits have them, and the user is asked (`mass_ambiguity`).
LIKE_MASSES: tuple[Fault, ...] = (Gain(), Load())


class CrossValidation:
    """
    The fits of a cross-validation: without each fold, to all, to all with the arm's weights.

    All fits have the columns of the faults `given`, about which the user is asked: those like
    masses, later perhaps large offsets. `plain` is the fit with no other.
    """

    def __init__(
        self,
        sums: GramSums,
        prior: Prior,
        precision: float = DEFAULT_PRIOR_PRECISION,
        given: tuple[Fault, ...] = LIKE_MASSES,
    ) -> None:
        self.sums, self.prior = sums, prior
        self.per_joint = np.array(TorqueErrorUnit.of(prior.reference).per_joint)
        self.least = least_noise(sums)
        common = noise = common_noise(sums, prior, precision, self.per_joint)
        for _ in range(2):
            noise = joint_noise(sums, estimate(sums, prior, precision, noise))
        rows, right = prior.least_squares_rows(precision)
        self.p, parts = len(right), np.flatnonzero(sums.samples)
        self.products, self.samples = sums.products[parts], sums.samples[parts]
        weights = residual_weights(noise)
        whole, each = sums.weighted(weights), np.einsum('j,kjab->kab', weights, self.products)
        known = _FAINT * np.eye(len(whole))
        known[: self.p, : self.p], known[: self.p, -1] = rows.T @ rows, rows.T @ right
        identified = sums.weighted(residual_weights(common))
        self.equations = known + np.stack([*(whole - each), whole, identified])
        self._whole = whole
        self.given = given
        self.asked: list[Diagnosis] = []
        self.plain = FoldFits(self)

    @cached_property
    def held(self) -> CrossValidation:
        """The cross-validation with inertias held at the starting set, without given faults."""
        return CrossValidation(self.sums, self.prior, _HELD, ())

    def give(self, fit: FoldFits) -> None:
        """Add the columns of a fault that is only a question to all fits."""
        self.given += (fit.fault,)
        self.asked.append(fit.diagnosis())
        self.plain = FoldFits(self)

    def unexplained(self) -> float:
        """Return the torque error E on left-out folds, divided by the rms of efforts."""
        efforts = self.sums.squared_residuals(np.zeros(0)) / self.sums.count
        return self.plain.error() / float(np.sqrt(efforts @ self.per_joint**2))

    def log_bayes_factor(self, fault: Fault) -> float:
        """
        Return the log evidence (`prior`) with a fault in the recordings less that without.

        The precision of the starting set is in each case the likeliest one: a fault counts that
        makes the recordings agree with published masses.
        """
        free = [k for k in self.free_places(fault) if k >= self.p]
        columns, units = [*range(self.p), *free], np.append(self.prior.std, np.ones(len(free)))
        triangle, right = square_root(self._whole, columns, units)
        known, unknown = np.split(triangle, [self.p], axis=1)
        asked = np.isin(free, self.free_places())
        more, less = (
            log_evidence((known, right), self.prior, one).max()
            for one in (unknown, unknown[:, asked])
        )
        return float(more - less)

    def free_places(self, fault: Fault | None = None) -> list[int]:
        """Return the numbers of the columns that fits with one more fault, or none, have free."""
        names = [name for one in self.given for name in one.asked]
        names += fault.names if fault else ()
        return self.sums.places([*dict.fromkeys(names)])  # a gain's column is also a drift's

    def fits_with(self, faults: list[Fault]) -> list[FoldFits]:
        """Return the fits with one of `faults` each, the largest likelihood first."""
        each = [FoldFits(self, fault) for fault in faults if fault not in self.given]
        return sorted(each, key=lambda fit: -float(fit.log_likelihood_ratios().mean()))


class FoldFits:
    """
    The fits of a `CrossValidation` with the columns of one more fault, or of none.

    `theta` (folds + 2, c) are the coefficients of all columns: without each fold, of all, and of
    all with the arm's weights. `squares` (folds, n) are the mean squared residuals on left-out
    folds [N^2 m^2].
    """

    def __init__(self, fits: CrossValidation, fault: Fault | None = None) -> None:
        self.fits, self._fault = fits, fault
        own = [*range(fits.p)]
        rows = fits.equations.copy()
        for k in fits.free_places(fault):
            if k < fits.p:  # a column of the model, such as an offset's, loses its prior
                rows[:, k, k] -= fits.prior.std[k] ** -2.0 - _FAINT
            else:
                own.append(k)
        self.theta = np.zeros(rows.shape[:2])
        self.theta[:, own] = np.linalg.solve(rows[:, own][:, :, own], rows[:, own, -1:])[..., 0]
        residual = self.theta[:-2].copy()
        residual[:, -1] = -1.0
        squares = np.einsum('ka,kjab,kb->kj', residual, fits.products, residual)
        self.squares = np.maximum(squares / fits.samples[:, None], fits.least**2)

    @property
    def fault(self) -> Fault:
        """The fault whose columns are in the fits."""
        assert self._fault is not None
        return self._fault

    @property
    def values(self) -> tuple[float, ...]:
        """The fault in the user's terms, by the fit to all folds."""
        found = dict(zip(self.fits.sums.names, self.theta[-2].tolist()))
        if self.fault.is_in_torques:
            found |= self._rigid_torque_by((Gain.kind, *self.fault.names))
        return tuple(self.fault.values(found, self.fits.prior.model.base.gravity[0]))

    def _rigid_torque_by(self, names: tuple[str, ...]) -> dict[str, float]:
        """Return the coefficients of columns by which they are all that is fitted but friction."""
        fits, rigid = self.fits, self.theta[-2].copy()
        rigid[len(fits.prior.sqrt_precision) : fits.p] = 0.0
        columns, products = fits.sums.places(names), fits.sums.weighted(fits.per_joint**2)
        found = np.linalg.solve(products[np.ix_(columns, columns)], products[columns] @ rigid)
        found[0] -= 1.0  # of the starting set's torque, as the others are beside it
        return dict(zip(names, found.tolist()))

    def possible(self) -> bool:
        """Return whether the fault can have these values."""
        return self.fault.possible(self.values, self.fits.prior.model.base.gravity[0])

    def diagnosis(self, other: FoldFits | None = None) -> Diagnosis:
        """Return the fault with E without it, with it, and with the fault of the `other` fit."""
        errors = (self.fits.plain.error(), self.error(), other.error()) if other else ()
        return Diagnosis(self.fault.kind, self.fault.joints, self.values, *errors)

    def error(self) -> float:
        """Return the torque error E on left-out folds."""
        return float(np.sqrt(np.mean(self.squares, axis=0) @ self.fits.per_joint**2))

    def log_likelihood_ratios(self, than: FoldFits | None = None) -> Array:
        """
        Return of each left-out fold the log-likelihood ratio per sample to another fit, (folds,).

        With Gaussian residuals of each fit's own variance it is the sum over joints of
        ln(rms residual of `than`, or of the plain fit / rms residual).
        """
        before = (self.fits.plain if than is None else than).squares
        return np.asarray(0.5 * np.log(before / self.squares).sum(axis=1))

    def better(self, than: FoldFits | None = None) -> bool:
        """Return whether the mean log-likelihood ratio is significantly above zero."""
        ratios = self.log_likelihood_ratios(than)
        spread = float(ratios.std(ddof=1)) if len(ratios) > 1 else np.inf
        return float(ratios.mean()) > SIGNIFICANT_T * spread / np.sqrt(len(ratios))

    def effect(self) -> float:
        """
        Return how far the identified arm is off if the fault is real, as a multiple of E.

        That is by the change of the torques of what the arm takes from the recordings (inertias,
        and the faults about which the user is asked), and by what the fault explains; E is that
        which remains on the median left-out fold with the fault in the fit.
        """
        fits, change = self.fits, np.zeros(self.theta.shape[1])
        moved = [*range(len(fits.prior.sqrt_precision)), *fits.free_places()]
        change[moved] = (fits.plain.theta - self.theta)[-1, moved]
        taken = fits.sums.squared_combination(change) / fits.sums.count @ fits.per_joint**2
        # The median fold: a load that comes in the last fold cannot be predicted there.
        after, before = (
            float(np.median(one.squares @ fits.per_joint**2)) for one in (self, fits.plain)
        )
        return float(np.sqrt((taken + max(before - after, 0.0)) / after))

    def matters(self) -> bool:
        """Return whether the fault is significant and large enough to doubt the recordings."""
        ratios = self.log_likelihood_ratios()
        evidence = float(ratios.mean()) * self.effect()
        # What changes late shows in few folds.
        seen = self.better() or (self.fault == LoadChange() and float(np.median(ratios)) > 0.0)
        if not seen or evidence < _WEAK:
            return False
        if evidence > _STRONG or not self.agrees():
            return evidence > _STRONG
        # A fault of a size that published masses do not need is less likely than none.
        rise = self.fits.log_bayes_factor(self.fault)
        if evidence > _EVIDENCE:
            return rise > 0.0
        return self.effect() > CLEAR_EFFECT and rise > _LIKELIER

    def agrees(self, names: tuple[str, ...] = ()) -> bool:
        """Return whether coefficients (default: all) keep their size beside fixed inertias."""
        columns = self.fits.sums.places(names or self.fault.names)
        fits = self, FoldFits(self.fits.held, self.fault)
        own, held = (one.theta[-2, columns] for one in fits)
        return _AGREES < float(held @ own / (own @ own)) < 1.0 / _AGREES

    def is_question(self) -> bool:
        """Return whether the fault is only a question for the user."""
        prior = self.fits.prior
        own = [k for k in self.fits.sums.places(self.fault.names) if k < self.fits.p]
        asked = self.fault.is_question(self.values, prior.model.base.gravity[0], prior.std[own])
        return asked and (
            self.better() if own else self.matters() and self.agrees(self.fault.asked)
        )

    def hides(self, best: FoldFits) -> bool:
        """Return whether the fault is a question, and explains as much as `best`."""
        if not self.is_question() or best.better(self):
            return False
        if self.fault.is_in_torques:
            return self.better(best)
        return float(self.log_likelihood_ratios(best).mean()) > 0.0 or not best.agrees()
