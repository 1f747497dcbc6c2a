# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The decision on recordings: which of the table's faults they have, and what is asked about.

A fault is *likely* if its t is above 2.13, its effect above 1.4, and if E on all left-out folds
falls by 1.05 (of a change by 1.4, because it was tried at many places), and if no fault with a
smaller effect predicts left-out folds significantly better: that one is meant then. Let the best
be the likely fault with the largest gain on left-out folds. It is *harmful* if E falls by 1.18,
the square root of 1.4 (of a change by 1.4), if its size is within a factor of 2 the same if masses
are held, and if the smaller of both sizes has an effect above 1.4, too. If it is not harmful, it
is a question: its columns go into every fit, and all faults are tried once more. What is likely
then is a question, too.

DECISION has the verdicts; the first whose condition holds is given.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from .fits import CRITICAL_T_VALUE, Fits, Found, HARM, MAX_SIZE_RATIO, TORQUE
from .sums import Sums
from .table import are_related, Fault, is_change, passes, row_of
from .values import is_possible, values_of
from .verdict import Diagnosis, RecordingVerdict
from ..arrays import Array
from ..fit.torque_model import (
    COULOMB_SYMBOL,
    MAX_OFFSET_STD_COUNT,
    OFFSET_SYMBOL,
    SLIP_SYMBOL,
)

MAX_QUESTION_COUNT = 2
# E on left-out parts falls by so much at least with what is asked about: by the 5 % from which on
# an identified arm counts as better than a published set.
MIN_ASKED_FALL = 1.05
# Of eighteen sound logs of seven arms E is 0.4 to 9 % of the efforts' root mean square, of one
# 15 %. Of two joints exchanged with all their columns it is 12 to 99 %.
MAX_ERROR_TO_EFFORT = 0.2
# Nothing is explained of a joint whose residual is more than this share of its effort: at most 0.6
# of two sound logs of FERs, in rows that come in bursts of five.
MAX_UNEXPLAINED_OF_JOINT = 0.9
# The cosine of sound logs of nine arms is 0.71 and more. Of six without gravity it is -0.03 to
# 0.35, and 0.61 of one in which the fits find that.
MIN_COSINE = 0.5
# All efforts more than so many times the torques, or as much smaller, are in another unit: the
# masses of no arm are so far off.
MAX_EFFORT_FACTOR = 2.0
MIN_TOUCHED_TO_USUAL = 3.0  # residual of a second in which somebody may touch the arm
MAX_TOUCHED_SHARE = 0.25  # of all seconds: if there are more, they are no contacts
# Accelerations of the base take at least so many times more of the residuals than in other poses:
# 0.9 to 1.6 of sound logs of four arms, 4 and more of carts where the effect is 2 and more. Of
# efforts with the wrong sign it was 3.4, with an effect of 1.5.
MIN_EXPLAINED_BY_BASE = 3.0
MIN_SHOWN_SHARE = 0.5  # of the largest gain in log-likelihood, at a joint where a fault shows
_TOUCH_SEARCH_COUNT = 3  # each by the arm fitted to what the last one left untouched


@dataclass
class Evidence:
    """
    All that the decision rests on, for recordings called `name` in sentences.

    `tried` are all possible faults that were fitted, the one with the largest gain first, `likely`
    those of them that are likely, `asked` those that became questions.
    """

    fits: Fits
    name: str
    asked: list[Diagnosis] = field(default_factory=list)
    tried: list[Found] = field(default_factory=list)
    likely: list[Found] = field(default_factory=list)

    @property
    def best(self) -> Found | None:
        """The likely fault with the largest gain, None if none is likely."""
        return self.likely[0] if self.likely else None

    @property
    def sums(self) -> Sums:
        """The recordings' sums."""
        return self.fits.sums

    @property
    def is_harmful(self) -> bool:
        """Whether the best fault makes the recordings unsound."""
        if self.best is None or self.asked:
            return False
        min_fall = HARM if is_change(self.best.fault) else HARM**0.5
        if not self._falls_by(min_fall, self.best):
            return False
        likeness = self.fits.likeness(self.best)
        smaller = self.best._replace(size=min(likeness, 1.0) * self.best.size)
        has_its_size = 1.0 / MAX_SIZE_RATIO < likeness < MAX_SIZE_RATIO
        return has_its_size and self.fits.effect(smaller) > HARM

    def _falls_by(self, ratio: float, found: Found) -> bool:
        """Return whether E on left-out folds is more than so many times that with a fault."""
        return found.error * ratio < self.fits.without.error

    def _is_worth_a_question(self, found: Found) -> bool:
        """Return whether E on left-out folds falls enough with a fault to ask about it."""
        min_fall = HARM if is_change(found.fault) else MIN_ASKED_FALL
        return self._falls_by(min_fall, found)

    @cached_property
    def effort(self) -> float:
        """The root mean square of all efforts, in the unit of E."""
        return float(np.sqrt(self.fits.efforts @ self.fits.unit_factors**2))

    def try_all(self) -> None:
        """Fit all faults whose columns are not in every fit."""
        common = set(self.fits.fitted.common)
        fitted = (
            self.fits.fit(fault)
            for fault, columns in self.fits.faults.items()
            if not common.issuperset(columns) and not _is_of_the_model(fault)
        )
        self.tried = sorted(filter(is_possible, fitted), key=lambda one: -one.gains.mean())
        better = [
            one for one in self.tried if self._is_worth_a_question(one) and one.better_than()
        ]
        better = [one._replace(effect=self.fits.effect(one)) for one in better]
        harmless = [one for one in better if one.effect <= HARM]
        self.likely = [
            one
            for one in better
            if one.effect > HARM
            and not any(
                other.better_than(one) and not are_related(other.fault, one.fault)
                for other in harmless
            )
        ]

    def diagnosis(self, found: Found, rival: Found | None = None) -> Diagnosis:
        """Return a fault as what the user is told."""
        changes = is_change(found.fault)
        kind = 'changed' if changes else found.fault.kind
        if passes(found.fault):
            kind = 'contact'
        # Masses that are fitted would explain a part of times, and of a turn.
        if found.fault.kind == 'time':
            found = found._replace(size=self.fits.held_size(found))
        elif found.is_turned:
            found = found._replace(size=self.fits.turned_size(found))
        without = self.fits.without.error
        gravity = self.fits.prior.model.gravity
        return Diagnosis(
            kind,
            found.fault.joints,
            values_of(found, gravity, self.sums.within),
            error_before=without,
            error_after=found.error,
            rival_error=without if rival is None else rival.error,
            recording=self.name if changes else '',
            effect=found.effect,
        )


def _is_of_the_model(fault: Fault) -> bool:
    """Return whether the torque model has a fault's columns: a constant offset's."""
    return fault.kind == 'offset' and not is_change(fault)


class Outcome(NamedTuple):
    """What a row of the decision finds: causes, or joints that are suspected."""

    causes: Sequence[Diagnosis] = ()
    joints: tuple[int, ...] = ()


def _named(evidence: Evidence) -> Outcome | None:
    """Return the best harmful fault, the simplest form that is as good, if no rival is as good."""
    best, fits = evidence.best, evidence.fits
    if best is None or not evidence.is_harmful:
        return None
    related = [one for one in evidence.likely[1:] if are_related(one.fault, best.fault)]
    as_good = [
        one for one in related if not best.better_than(one) or one.error < HARM**0.5 * best.error
    ]
    simplest = min([best, *as_good], key=lambda one: len(one.size))
    others = (one for one in evidence.tried if not are_related(one.fault, best.fault))
    rival = next(others, None)
    is_clear = rival is None or best.better_than(rival) or rival.error > HARM * best.error
    may_leave_more = row_of(best.fault).whole or best.fault.kind == 'gravity'
    explains = best.error < MAX_ERROR_TO_EFFORT * evidence.effort
    if is_clear and (may_leave_more or explains):
        return Outcome([evidence.diagnosis(simplest, rival)])
    gains = np.log(fits.without.squares.mean(axis=0) / best.squares.mean(axis=0))
    shown = np.flatnonzero(gains > MIN_SHOWN_SHARE * gains.max())
    return Outcome(joints=tuple(shown.tolist()))


def _beside(fits: Fits, column: int) -> tuple[float, float]:
    """Return the cosine of all efforts to a column, and their share of it."""
    rows = np.ix_([column, TORQUE], [column, TORQUE])
    sums = sum(factor**2 * one[rows] for factor, one in zip(fits.unit_factors, fits.total))
    (own, common), (_, of_efforts) = np.asarray(sums).tolist()
    return common / max(own * of_efforts, 1e-300) ** 0.5, common / max(own, 1e-300)


def _without_gravity(evidence: Evidence) -> Outcome | None:
    """Return efforts that have nothing to do with a large gravity torque of the starting set."""
    *_, along_gravity = evidence.fits.faults[Fault('gravity')]
    cosine, share = _beside(evidence.fits, along_gravity)
    # Of a gravity torque of half the efforts a share of 1 is a cosine of half.
    if abs(cosine) < MIN_COSINE and abs(share) < abs(cosine) / MIN_COSINE:
        return Outcome([Diagnosis('gravity', (), (0.0, 0.0, 0.0))])
    return None


def _base_moves(evidence: Evidence) -> Outcome | None:
    """
    Return accelerations of the base, if they explain what fits leave, and have an effect.

    Any three columns a sample take a part of the residuals, and more of large ones of few joints:
    as much as the same accelerations take that are put into other poses of the recording. A base
    moves in more than a few seconds: what touches the arm does not, and could be taken for it.
    """
    fits = evidence.fits
    within = evidence.sums.within
    if within is None or within.still is None or within.elsewhere is None:
        return None
    whole = np.tensordot(within.seconds, within.expected**-2.0, (1, 0))  # (seconds, p + 1, p + 1)
    theta, *beside_base = (
        fits.solve(one.sum(axis=0)) for one in (whole, within.still, within.elsewhere)
    )

    def squares(grams: Array, theta: Array) -> Array:
        residual = np.append(-theta, 1.0)
        return np.maximum((grams @ residual) @ residual, 1e-12)

    left, by_chance = (
        squares(one, fitted) for one, fitted in zip((within.still, within.elsewhere), beside_base)
    )
    all_squares = squares(whole, theta)
    taken = np.sqrt(np.median(all_squares / left) / np.median(all_squares / by_chance))
    effect = float(np.sqrt(squares(within.still, theta).sum() / left.sum()))
    if not (taken > MIN_EXPLAINED_BY_BASE and effect > HARM**2):
        return None
    square = max(all_squares.sum() - left.sum(), 0.0)
    acceleration = float(np.sqrt(square / within.base_squares))
    return Outcome([Diagnosis('base', (), (acceleration,), effect=effect)])


def _touched(evidence: Evidence) -> Outcome | None:
    """Return the worst second, if the arm is better identified without large residuals."""
    fits = evidence.fits
    within = evidence.sums.within
    if within is None:
        return None
    noise = fits.prior.expected_residual
    first = theta = fits.model_fit(within.seconds.sum(axis=0), noise)
    kept = np.ones(len(within.starts), dtype=bool)
    relative = np.zeros(len(kept))
    for _ in range(_TOUCH_SEARCH_COUNT):
        residual = np.append(-theta, 1.0)
        squares = (within.seconds @ residual) @ residual  # (seconds, n)
        squares = np.maximum(squares, 0.0) / within.second_counts[:, None]
        usual = np.maximum(np.median(squares, axis=0), fits.floor**2)
        relative = np.sqrt((squares / usual).mean(axis=1))
        most = np.quantile(relative, 1.0 - MAX_TOUCHED_SHARE)
        kept = relative <= max(MIN_TOUCHED_TO_USUAL * float(np.median(relative)), float(most))
        if kept.all():
            return None
        untouched = within.seconds[kept].sum(axis=0)
        theta = fits.model_fit(untouched, noise)
    count = int(within.second_counts[kept].sum())
    before, after = (fits.error(fits.squares(untouched, one, count)) for one in (first, theta))
    if not before > HARM * after:
        return None
    second = float(within.starts[np.argmax(relative)])
    found = Diagnosis(
        'contact',
        (),
        (second,),
        error_before=before,
        error_after=after,
        recording=evidence.name,
        effect=before / after,
    )
    return Outcome([found])


def _unexplained(evidence: Evidence) -> Outcome | None:
    """Return efforts that fits leave, of all, or of joints whose residuals are most of E."""
    fits = evidence.fits
    left = fits.without.error / evidence.effort
    if left > MAX_ERROR_TO_EFFORT:
        return Outcome([Diagnosis('unexplained', (), (left,))])
    squares = fits.without.squares.mean(axis=0) * fits.unit_factors**2
    efforts = fits.efforts * fits.unit_factors**2
    is_of_joint = squares > MAX_UNEXPLAINED_OF_JOINT**2 * efforts
    effect = float(np.sqrt(squares.sum() / max(squares[~is_of_joint].sum(), 1e-300)))
    if not effect > HARM:
        return None
    joints = tuple(np.flatnonzero(is_of_joint).tolist())
    share = float(np.sqrt(squares[is_of_joint].sum() / efforts[is_of_joint].sum()))
    return Outcome([Diagnosis('unexplained', joints, (share,), effect=effect)])


def _wrong_factor(evidence: Evidence) -> Outcome | None:
    """Return efforts that are another multiple of the starting set's torques: a unit or sign."""
    (column,) = evidence.fits.faults[Fault('gain')]
    cosine, share = _beside(evidence.fits, column)
    if abs(cosine) < MIN_COSINE or 1.0 / MAX_EFFORT_FACTOR < share < MAX_EFFORT_FACTOR:
        return None
    kind = 'not_measured' if 0.0 < share < 1.0 else 'gain'
    return Outcome([Diagnosis(kind, (), (share,))])


def _driven(evidence: Evidence) -> Outcome | None:
    """Return joints which friction drives in each fit by more than the residual."""
    fits = evidence.fits
    model = fits.prior.model
    is_dry = [name[:2] in (COULOMB_SYMBOL, SLIP_SYMBOL) for name in model.friction.symbols]
    own = [fits.fitted.common.index(k) for k in range(fits.p)]
    friction = fits.fitted.solved[:-1, own, TORQUE][:, model.friction_slice]
    largest = friction.reshape(-1, fits.n, len(is_dry))[..., is_dry].sum(axis=-1).max(axis=0)
    joints = np.flatnonzero(largest < -np.sqrt(fits.without.squares.mean(axis=0)))
    # Friction of the other sign is twice as far off.
    wrong = 2.0 * np.linalg.norm((largest * fits.unit_factors)[joints])
    effect = float(np.hypot(1.0, wrong / fits.without.error))
    if not effect > HARM:
        return None
    values = tuple(largest[joints].tolist())
    return Outcome([Diagnosis('driven', tuple(joints.tolist()), values, effect=effect)])


class Step(NamedTuple):
    """
    A row of the decision: its condition and verdict in words, and the function that decides.

    Where joints are suspected already, a row that is `of_its_own` says more than they, and another
    one is passed over.
    """

    condition: str
    verdict: str
    find: Callable[[Evidence], Outcome | None]
    of_its_own: bool = True


DECISION = (
    Step(
        'the best fault is harmful. It is better than the likeliest rival (t above 2.13, or E 1.4 '
        'times lower), and it is whole, of gravity, or leaves less than 20 % of the efforts',
        'it is **named**, with its size; else the **joints** where it shows (half of the largest '
        'gain or more), beside what the next rows say',
        _named,
    ),
    Step(
        'a large gravity torque of the starting set (half of the efforts) has a cosine below 0.5 '
        'to the efforts',
        '**gravity left out**',
        _without_gravity,
    ),
    Step(
        'without seconds of three times the usual residual (at most a quarter) the arm is better '
        'by 1.4',
        '**touched**, at the worst second',
        _touched,
    ),
    Step(
        'accelerations of the base, free at each sample, take 3 times more of the residuals in '
        'most seconds than in poses of another time, and the arm is better by 2 beside them',
        '**the base moves**',
        _base_moves,
        of_its_own=False,
    ),
    Step(
        'fits leave 20 % of the efforts; or 90 % of joints without which E were 1.4 times lower',
        '**does not fit**: all, or these joints',
        _unexplained,
    ),
    Step(
        "the efforts are less than half, more than twice, or minus the starting set's torques",
        '**unit or sign** of all; below half: **not measured** (currents, external torques, '
        'commands)',
        _wrong_factor,
    ),
    Step(
        'dry friction drives a joint on each fit by more than the residual, and the other sign '
        'would have an effect of 1.4',
        '**driven**: compensated, or of another joint',
        _driven,
        of_its_own=False,
    ),
)


def decide(fits: Fits, name: str) -> RecordingVerdict:
    """Return the verdict on recordings, called `name` in sentences."""
    evidence = Evidence(fits, name)
    checks = _driven(evidence)
    offsets = [*_large_offsets(fits)]
    while len(evidence.asked) < MAX_QUESTION_COUNT:
        evidence.try_all()
        if evidence.best is None or evidence.is_harmful:
            break
        evidence.asked.append(evidence.diagnosis(evidence.best))
        fits.give(evidence.best.fault)
    causes: tuple[Diagnosis, ...] = ()
    joints: tuple[int, ...] = ()
    for step in DECISION:
        if joints and not step.of_its_own:
            continue
        found = checks if step.find is _driven else step.find(evidence)
        if found is not None and found.causes:
            causes = tuple(found.causes)
            joints = ()  # causes say more
            break
        joints = joints or (found.joints if found is not None else ())
    if causes or joints:
        return RecordingVerdict(causes, suspected_joints=joints)
    return RecordingVerdict(questions=(*evidence.asked, *offsets))


def _large_offsets(fits: Fits) -> Iterator[Diagnosis]:
    """
    Yield the offsets of efforts that are surely there, matter, and are not usual.

    An offset is sure by its deviation over folds, matters beside E on left-out folds, and is usual
    within some standard deviations of its prior.
    """
    names = fits.prior.model.parameter_names
    common = fits.fitted.common
    for joint in range(fits.n):
        column = names.index(f'{OFFSET_SYMBOL}_{joint + 1}')  # to which a free one is added
        both = [common.index(k) for k in (column, *fits.faults[Fault('offset', (joint,))])]
        *folds, size = fits.fitted.solved[:, both, TORQUE].sum(axis=1)
        std = float(np.sqrt((len(folds) - 1) * np.var(folds)))
        max_usual = MAX_OFFSET_STD_COUNT * fits.prior.std[column]
        if abs(size) > max(HARM * fits.without.error, CRITICAL_T_VALUE * std, max_usual):
            yield Diagnosis('offset', (joint,), (float(size),))
