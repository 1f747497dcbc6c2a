# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The verdict on recordings: whether they are sound, what is wrong, and what they cannot tell.

The recordings judge themselves. Each of the folds (`gram_sums`) is predicted by a fit without it,
with the columns of one fault and without. Joints are weighted by their own residuals in a fit to
all folds, so that no level comes from another arm. Three numbers say how much a fault matters:

- gain: the mean over folds of the sum over joints of ln(residual without / residual with it);
- t: this mean divided by its standard error over folds;
- effect: how far a real fault would take the identified arm from the measured torques, in units
  of the error E on left-out parts that remains with the fault in the fit.

A fault matters if its gain is significant, and gain times effect is large enough. It is named if
it also has a clear effect, is significantly better than any other fault, and has about its size
beside the starting set's inertias. If none is named, but one matters, the cause is unknown.
Otherwise the recordings are sound: what is wrong with them, if anything, changes the identified
arm little.

A common factor of all efforts, or a load, looks like other masses: `mass_ambiguity` gives the
ranges that published masses leave.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from .cross_validation import CLEAR_EFFECT, CrossValidation, FoldFits, SIGNIFICANT_T
from .faults import Diagnosis, faults_of
from .faults.contact import contact_time
from .faults.gain import Gain
from .faults.offset import Offset
from .faults.unexplained import ASKED, MOST, Unexplained
from .gram_sums import GramSums
from .mass_ambiguity import mass_ambiguity, MassAmbiguity
from .prior import Prior
from .summary import SourceNote, sum_up, Summary
from .torque_model import COULOMB_SYMBOL, MAX_OFFSET_STD_RATIO, SLIP_SYMBOL, TorqueModel
from ..arm import ArmDescription
from ..recordings.preprocessing import Motion

# All efforts more than so many times the torques, or as much smaller, are in another unit: the
# masses of no arm are so far off.
_MOST_SCALE = 2.0


@dataclass(frozen=True, eq=False)
class RecordingVerdict:
    """
    The judgement of recordings: a diagnosed fault, questions to the user, and mass ambiguities.

    `suspected` are the joints (indices from 0) whose residuals some fault explains much better,
    though it is not clear which. `mass_ambiguity` is None without a published set.
    """

    causes: tuple[Diagnosis, ...] = ()
    questions: tuple[Diagnosis, ...] = ()
    suspected: tuple[int, ...] = ()
    mass_ambiguity: MassAmbiguity | None = None

    @property
    def sound(self) -> bool:
        """Whether the recordings have no fault that would make the identified arm wrong."""
        return not self.causes and not self.suspected

    @property
    def has_questions(self) -> bool:
        """Whether the user must be asked about an offset, the effort scale or a load."""
        ambiguity = self.mass_ambiguity
        return bool(self.questions) or (ambiguity is not None and ambiguity.has_questions)


def diagnose(fits: CrossValidation) -> tuple[tuple[Diagnosis, ...], tuple[int, ...], float]:
    """
    Return the one fault that explains the residuals, or else the joints of several such faults.

    The third value is the share of E on left-out parts that the best fault leaves.
    """
    every = faults_of(fits.prior.model.n)
    while True:
        tried = fits.fits_with(every)
        faults = [fit for fit in tried if fit.possible()]
        best, doubtful = faults[0], [fit for fit in faults if fit.matters()]
        hiding = (fit for fit in tried if fit.hides(best))
        of_all = (fit for fit in tried if not (doubtful or fit.fault.joints) and fit.is_question())
        asked = next(chain(hiding, of_all), None)
        if asked is None:
            break
        fits.give(asked)  # it would hide other faults
    plain = fits.plain
    left = best.error() / plain.error()
    if not doubtful:
        return _driven(fits), (), left
    second = next(fit for fit in faults if fit.fault.simpler != best.fault.simpler)
    clear = best.better(second) and best.effect() > CLEAR_EFFECT
    simpler = (fit for fit in doubtful if fit.fault == best.fault.simpler and not best.better(fit))
    named = next(simpler, best)
    if clear and named in doubtful and named.agrees():
        return (named.diagnosis(second),), (), left
    each = np.log(plain.squares / doubtful[0].squares).mean(axis=0)
    return (), tuple(int(j) for j in np.flatnonzero(each >= 0.5 * each.max())), left


def _driven(fits: CrossValidation) -> tuple[Diagnosis, ...]:
    """Return the joints whose Coulomb friction drives them on each fold, beyond the residual."""
    model, b = fits.prior.model, len(fits.prior.sqrt_precision)
    terms = fits.plain.theta[:-2, b : b + model.n * model.friction.term_count]
    signed = (COULOMB_SYMBOL, SLIP_SYMBOL)
    kinds = [k for k, one in enumerate(model.friction.symbols) if one[:2] in signed]
    friction = terms.reshape(-1, model.n, model.friction.term_count)[..., kinds].sum(axis=-1)
    most = friction.max(axis=0)
    joints = np.flatnonzero(most < -np.sqrt(fits.plain.squares.mean(axis=0)))
    if not len(joints):
        return ()
    return (Diagnosis('driven', tuple(joints.tolist()), tuple(most[joints].tolist())),)


def judge_motion(
    motion: Motion,
    model: TorqueModel,
    start: ArmDescription,
    published: Sequence[ArmDescription],
    name: str,
) -> RecordingVerdict:
    """Return the verdict on one prepared motion, called `name`."""
    one = sum_up(motion, model, start, SourceNote(name, '', 0, 0.0, 0))
    assert one.sums is not None
    sets = (Prior.centered_at(each, model, one.sums.max_torque) for each in (start, *published))
    prior, *others = sets
    return judge_recordings(one.sums, prior, others, [one])


def judge_recordings(
    sums: GramSums, prior: Prior, published: Sequence[Prior], each: Sequence[Summary]
) -> RecordingVerdict:
    """
    Judge whether recordings can be trusted: name a fault, ask about one, or find them sound.

    `prior` is about the starting set, `published` are about published sets, of which those with
    its hand count: a set with a hand hides a load of its mass. Of several the one with the
    narrowest range of a factor counts, which agrees best with the torques. `each` are the
    recordings' summaries, `sums` all their sums.
    """
    fits = CrossValidation(sums, prior)
    before = Diagnosis(Unexplained.kind, (), (fits.unexplained(),))
    found, suspected, left = diagnose(fits)
    after = Diagnosis(Unexplained.kind, (), (fits.unexplained(),))  # beside what is asked about
    sets = [one for one in published if one.reference.hand == prior.reference.hand]
    ranges = [mass_ambiguity(sums, one) for one in sets]
    narrowest = min(ranges, key=lambda one: one.scale[1] - one.scale[0], default=None)
    unnamed = after.values[0] <= MOST and all(one.kind == 'driven' for one in found)
    if unnamed and narrowest is not None and _has_another_unit(narrowest.scale, fits):
        found, suspected = (Diagnosis(Gain.kind, (), (float(np.mean(narrowest.scale)),)),), ()
    if not found:
        touched = [(contact_time(*one.seconds, left), one.note.name) for one in each]
        found = tuple(
            Diagnosis('contact', (), (at,), where=name) for at, name in touched if at is not None
        )
        suspected = () if found else suspected
    if not found and after.values[0] > MOST:
        found, suspected = (after,), ()
    questions = () if found or suspected else tuple(_questions(fits))
    if not found and not suspected and before.values[0] > ASKED:
        questions = (before, *questions)
    return RecordingVerdict(found, questions, suspected, narrowest)


def _has_another_unit(scale: tuple[float, float], fits: CrossValidation) -> bool:
    """Return whether efforts within these multiples of the torques have another sign or unit."""
    low, high = scale
    if high < 0.0:  # a fit of masses and friction below zero leaves no residual
        return bool(_driven(fits))
    return -high < low < high < 1.0 / _MOST_SCALE or low > _MOST_SCALE


def _questions(fits: CrossValidation) -> Iterator[Diagnosis]:
    """Yield a base that is not quite level, and offsets that are large and significant."""
    yield from (one for one in fits.asked if not one.joints)
    fit = fits.plain
    count = len(fits.samples)
    for fault in faults_of(fits.prior.model.n):
        if fault.kind == Offset.kind:
            (column,) = fits.sums.places(fault.names)
            value = float(fit.theta[-2, column])
            # The jackknife's standard error.
            error = float(np.sqrt((count - 1.0) * fit.theta[:count, column].var()))
            clear = CLEAR_EFFECT * FoldFits(fits, fault).error()
            least = max(MAX_OFFSET_STD_RATIO * fits.prior.std[column], clear)
            if abs(value) > max(least, SIGNIFICANT_T * error):
                yield Diagnosis(fault.kind, fault.joints, (value,))
