# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The checks of recordings for causes of unsoundness, one after the other."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .cross_validation import CrossValidation
from .faults import checks, Diagnosis, MIN_HARMFUL_ERROR_RATIO
from .faults.torques import EffortGain, WrongGravity
from .published_masses import FitsNearMasses, MassAmbiguity
from .recording_verdict import RecordingVerdict
from ..arrays import Array
from ..fit.least_squares import GramStack, TORQUE_COLUMN
from ..fit.prior import Prior

# What contradicts masses that nobody has measured says nothing about efforts.
UNMEASURED_MASSES = (Diagnosis(checks.UnmeasuredMasses.kind, (), ()),)


@dataclass(frozen=True, eq=False)
class PublishedRange:
    """The ranges of effort scale and load by a published set, and fits near its masses."""

    ambiguity: MassAmbiguity
    fits: FitsNearMasses

    @classmethod
    def of_best_set(
        cls, grams: GramStack, prior: Prior, published: Sequence[Prior]
    ) -> 'PublishedRange | None':
        """
        Return the ranges by the published set that agrees best with the torques, None without one.

        `published` are the priors about published sets. Those with the hand of the starting set,
        which `prior` is about, count: a set with another hand hides a load of its mass. That with
        the narrowest range of a factor agrees best.
        """
        all_fits = [
            FitsNearMasses(grams, of_set)
            for of_set in published
            if of_set.reference.hand == prior.reference.hand
        ]
        ranges = (cls(fits.mass_ambiguity(), fits) for fits in all_fits)
        return min(
            ranges, key=lambda found: float(np.ptp(found.ambiguity.scale_range)), default=None
        )


@dataclass(frozen=True, eq=False)
class Evidence:
    """
    What is known of recordings when causes are looked for.

    `system` are the fits to them, `by_fits` is the verdict by what faults explain there.
    `contacts` are those of single recordings, `published` is None without a published set.
    """

    system: CrossValidation
    by_fits: RecordingVerdict
    contacts: Sequence[Diagnosis]
    published: PublishedRange | None

    @cached_property
    def negative_friction(self) -> Sequence[Diagnosis]:
        """A list of one fault if friction would drive joints instead of braking them, else ()."""
        baseline = self.system.baseline
        return checks.negative_friction(
            self.system.prior.model,
            baseline.fold_thetas,
            baseline.squared_residuals,
            self.system.unit_factors,
        )

    def causes(self) -> tuple[Diagnosis, ...]:
        """Return what the first check finds that finds something, () if none does."""
        return next((tuple(found) for found in self._found_by_checks() if found), ())

    def _found_by_checks(self) -> Iterator[Sequence[Diagnosis]]:
        """Yield what each check finds, in the order in which one fault can cause another."""
        yield self._too_little_explained_by_named()
        yield self.by_fits.causes
        # A fault of the whole recording makes single seconds stand out as well.
        yield self.contacts
        # Ranges by masses hold only where the model fits.
        yield self._unexplained(self.system.baseline.test_error())
        yield from self._wrong_factor()
        # Last, because wrong efforts of any cause also make friction look wrong.
        if not self.by_fits.suspected_joints:
            yield [
                fault for fault in self.negative_friction if fault.effect > MIN_HARMFUL_ERROR_RATIO
            ]
            yield self._missing_gravity()

    def _unexplained(self, error: float) -> Sequence[Diagnosis]:
        """Return a list of one fault if E leaves too much of the efforts unexplained, else ()."""
        return checks.unexplained_efforts(self.system.relative_to_effort(error))

    def _too_little_explained_by_named(self) -> Sequence[Diagnosis]:
        """
        Return a list of one fault if much stays unexplained with the named one, else ().

        What a wrong gravity leaves is judged where it points (`verdict.with_gravity_refitted`).
        """
        named = self.by_fits.causes
        if not named or any(cause.kind == WrongGravity.kind for cause in named):
            return ()
        return self._unexplained(named[0].error_after)

    def _wrong_factor(self) -> Iterator[Sequence[Diagnosis]]:
        """Yield what a factor of all efforts that no published masses allow is due to."""
        if self.published is None:
            return
        wrong_factor = checks.wrong_factor(self.published.ambiguity.scale_range)
        if not wrong_factor:
            return
        if self._has_unmeasured_masses:
            yield UNMEASURED_MASSES
        # Such a factor is named only if the arm, with it, explains the efforts.
        yield self._unexplained(self.published.fits.torque_error(EffortGain()))
        yield wrong_factor

    def _missing_gravity(self) -> Sequence[Diagnosis]:
        """Return a list of one fault if efforts have nothing to do with gravity, else ()."""
        missing = checks.missing_gravity(self._gravity_and_effort_products())
        if missing and self._has_unmeasured_masses:
            return UNMEASURED_MASSES
        return missing

    @property
    def _has_unmeasured_masses(self) -> bool:
        """Whether nobody has measured the masses of the starting set."""
        return bool(self.system.prior.reference.unmeasured)

    def _gravity_and_effort_products(self) -> Array:
        """Return the sums (2, 2) of products of the starting set's gravity torque and efforts."""
        grams = self.system.grams
        *_, along_gravity = grams.column_indices(WrongGravity().column_names)
        columns = [along_gravity, TORQUE_COLUMN]
        return np.asarray(grams.total_matrices.sum(axis=0)[np.ix_(columns, columns)])
