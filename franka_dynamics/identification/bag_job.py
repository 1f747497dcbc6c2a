# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
One bag's share of an identification: read, prepared and summarised where the bag lies.

Whether bags belong together, and the named hand fits them, is said before anything is estimated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from .friction import TorqueModel
from .least_squares import determined_parameters, Noise, solve_quickly
from .prior import Prior
from .qr_factors import BagSummary, QRFactors, residual_lag_sums, Summary, total
from ..arm import ArmDescription
from ..arm.hand_file import NO_HAND
from ..dynamics.model import GRAVITY
from ..errors import FrankaDynamicsError, IdentificationError, RecordingError
from ..recordings.mounted import held_sentence, mounted_verdict, unit_loads, weighed, Weighing
from ..recordings.plausibility import faults, suspicions
from ..recordings.preprocessing import Motion, prepare, SignalOptions, too_slow
from ..recordings.recording import HEADER, read_recording, Recording
from ..typing import Array


@dataclass(frozen=True, eq=False)
class BagJob:
    """
    How one bag is read and prepared.

    Attributes
    ----------
    path : str
        The bag.
    joint_names : tuple of str
        The arm's joints from base to tip.
    topic : str or None
        Of the joint states.
    stamps : str
        'header' or 'received'.
    signal : SignalOptions
        Rate, cut-off and trim.
    other_cutoffs : tuple of float
        Further cut-offs to report errors at [Hz].
    gravity : array_like, shape (3,)
        In the space frame [m/s^2].
    torque : bool
        Whether efforts are torques [N m], which limits and gravity can be compared with.
    effort_scale : tuple of float or None
        What one unit of each joint's effort is in N m, if it is known.
    anyway : bool
        Whether a bag is taken that looks like another unit, sign or effort without gravity.

    """

    path: str
    joint_names: tuple[str, ...]
    topic: str | None = None
    stamps: str = HEADER
    signal: SignalOptions = field(default_factory=SignalOptions)
    other_cutoffs: tuple[float, ...] = ()
    gravity: ArrayLike = GRAVITY
    torque: bool = True
    effort_scale: tuple[float, ...] | None = None
    anyway: bool = False

    @property
    def name(self) -> str:
        """The bag's name, as tables and sentences have it."""
        return Path(self.path).name

    def recording(self, progress: Callable[[int, int], None] | None = None) -> Recording:
        """Read the bag."""
        return read_recording(
            self.path, self.joint_names, topic=self.topic, stamps=self.stamps, progress=progress
        )

    def motions(
        self,
        recording: Recording,
        model: TorqueModel,
    ) -> tuple[Motion, dict[float, Motion]]:
        """
        Return the recording prepared for a model, and prepared at the other cut-offs.

        Of these, what the recording is too slow for is left out; the motion's remarks say so.
        """
        columns = model.friction.columns
        motion = prepare(recording, self.signal, columns=columns)
        others = {}
        for cutoff in self.other_cutoffs:
            if too_slow(recording, cutoff):
                remark = f'{recording.source} is too slow for figures at {cutoff:g} Hz beside'
                motion = replace(motion, remarks=(*motion.remarks, remark))
            elif cutoff != self.signal.cutoff:
                signal = replace(self.signal, cutoff=cutoff)
                others[cutoff] = prepare(recording, signal, columns=columns)
        return motion, others

    def note(self, recording: Recording, motion: Motion, arm: ArmDescription) -> BagNote:
        """
        Return what a report says of the recording.

        Raises
        ------
        RecordingError
            If every figure would be meaningless and the bag is not to be taken anyway.

        """
        looked_at = recording if self.effort_scale is None else recording.scaled(self.effort_scale)
        wrong = faults(looked_at, arm, gravity=self.gravity, torque=self.torque)
        if wrong and not self.anyway:
            raise RecordingError(
                f'{self.name}: {wrong[0]}. Correct the recording, or take it --anyway.'
            )
        warnings = suspicions(looked_at, arm, gravity=self.gravity) if self.torque else wrong
        return BagNote(
            recording.source,
            recording.topic,
            recording.joint_names[0],
            len(recording),
            recording.duration,
            len(motion),
            motion.remarks,
            warnings,
            sha256(recording.q.tobytes() + recording.effort.tobytes()).hexdigest()[:16],
        )


@dataclass(frozen=True)
class BagNote:
    """What a report says of one bag; `digest` tells whether two hold the same recording."""

    bag: str
    topic: str
    first_joint: str
    messages: int
    duration: float
    samples: int
    remarks: tuple[str, ...] = ()
    suspicions: tuple[str, ...] = ()
    digest: str = ''


@dataclass(frozen=True, eq=False)
class BagResult:
    """A bag's note and summary, or one sentence on why there are none."""

    note: BagNote | None
    summary: Summary | None
    failure: str = ''


def run_job(job: BagJob, model: TorqueModel, arm: ArmDescription, folds: int) -> BagResult:
    """Return a bag's result; a fault of the bag is a part of it, not an error."""
    try:
        recording = job.recording()
        motion, others = job.motions(recording, model)
        return BagResult(
            job.note(recording, motion, arm),
            Summary.of(model, motion, folds, others, job.name),
        )
    except FrankaDynamicsError as error:
        return BagResult(None, None, str(error))


def job_lag_sums(job: BagJob, model: TorqueModel, theta: Array, scale: Array) -> Array:
    """Return a bag's residual lag sums for parameters of shape (p,) and an effort scale (n,)."""
    motion = prepare(job.recording(), job.signal, columns=model.friction.columns)
    return residual_lag_sums(model, motion, theta, scale)


def require_one_arm(notes: Sequence[BagNote]) -> None:
    """Raise IdentificationError unless all bags name the same joints, and none comes twice."""
    first: dict[str, str] = {}
    for other in notes:
        if other.first_joint != notes[0].first_joint:
            raise IdentificationError(
                f'{notes[0].bag} was recorded from {notes[0].first_joint} ... but {other.bag} '
                f'from {other.first_joint} ...: these are different arms; identify each from '
                'its own recordings.'
            )
        if other.digest and other.digest in first:
            raise IdentificationError(
                f'{other.bag} holds the same recording as {first[other.digest]}: what was learnt '
                'from is not unseen, and would count twice; name it once.'
            )
        first[other.digest] = other.bag


# Bags that fit together leave at most this much more than each fitted by itself, per degree of
# freedom. Of two real FER's recordings halves to seventh parts leave 0.6 to 1.10 times as much,
# with a load of 0.2 kg added by calculation 1.54 to 3.5 times, both together 1.8 times; runs of
# simulated arms whose torque sensors drift, or third parts of them, 1.0 to 1.47 times.
TOGETHER_RATIO = 1.5
# Few samples tell little: what they leave together must also be beyond what noise alone exceeds
# with this probability.
_BY_CHANCE = 1e-3
_MOST_BAGS = 30  # up to which every pair is looked at
_MOST_PAIRS = 5  # that are named
_REGULARIZATION = 10.0  # of the prior on inertias: known to 32 %


def contradictions(bags: Sequence[BagSummary], noise: Noise, prior: Prior) -> tuple[str, ...]:
    """
    Return one sentence for each group of bags that cannot be of one arm in one state.

    Two bags contradict each other if one fit to both leaves much more than a fit to each. Both are
    counted per degree of freedom: a fit to a bag of few seconds takes much of its noise along.

    Parameters
    ----------
    bags : sequence of BagSummary
        One for each bag, their efforts torques [N m].
    noise : Noise
        The joints' noise in all of them; what each leaves by itself replaces its deviations.
    prior : Prior
        The prior with the friction terms that are fitted.

    """
    if len(bags) < 2 or len(bags) > _MOST_BAGS:
        return ()
    factors = [bag.whole.factors for bag in bags]
    names = [bag.whole.name for bag in bags]

    def left(samples: QRFactors, weights: Array) -> Array:
        return samples.squares(solve_quickly(samples.weighted(weights), prior, _REGULARIZATION))

    # Bags that do not belong together make all of their noise look large.
    alone = np.median([left(one, noise.weights) / one.samples for one in factors], axis=0)
    weights = replace(noise, deviation=np.sqrt(alone)).weights

    def fitted(samples: QRFactors) -> _Left:
        return _Left(
            float(left(samples, weights).sum()),
            float(np.sum(samples.samples / noise.inflation)),
            determined_parameters(samples.weighted(weights), prior, _REGULARIZATION),
        )

    own = [fitted(one) for one in factors]
    found = []
    for i, j in combinations(range(len(bags)), 2):
        both = factors[i] + factors[j]
        apart, together = own[i] + own[j], fitted(both)
        if _apart(apart, together):
            errors = np.sqrt(np.array([together.squares, apart.squares]) / both.samples)
            found.append((i, j, *errors))
    against = np.bincount([k for i, j, *_ in found for k in (i, j)], minlength=len(bags))
    odd = [k for k in range(len(bags)) if len(bags) > 2 and against[k] == len(bags) - 1]
    sentences = [f'{names[k]} contradicts every other bag{_CAUSES}' for k in odd]
    pairs = [one for one in found if not {one[0], one[1]} & set(odd)]
    sentences += [
        f'{names[i]} and {names[j]} contradict each other: fitted together they leave '
        f'{joint:.3f} N m, each by itself {alone:.3f} N m{_CAUSES}'
        for i, j, joint, alone in pairs[:_MOST_PAIRS]
    ]
    if len(pairs) > _MOST_PAIRS:
        sentences.append(f'{len(pairs) - _MOST_PAIRS} more pairs of bags contradict each other')
    return tuple(sentences)


_CAUSES = '; another arm, another load or a much warmer one? Identify them apart, or leave one out'


@dataclass(frozen=True)
class _Left:
    """What fits leave [N^2 m^2], of how many independent samples, by how many parameters."""

    squares: float
    samples: float
    parameters: float

    def __add__(self, other: _Left) -> _Left:
        """Return what two fits leave of their samples."""
        return _Left(
            self.squares + other.squares,
            self.samples + other.samples,
            self.parameters + other.parameters,
        )

    @property
    def freedom(self) -> float:
        """Degrees of freedom that are left."""
        return self.samples - self.parameters


def _apart(apart: _Left, together: _Left) -> bool:
    """Return whether one fit to two bags leaves too much beside a fit to each (an F test)."""
    from scipy.stats import f  # which fitting friction alike has asked for already

    terms = apart.parameters - together.parameters
    if apart.freedom <= 0.0 or terms <= 0.0:
        return False  # too short to tell
    each = apart.squares / apart.freedom
    if together.squares / together.freedom <= TOGETHER_RATIO**2 * each:
        return False
    chance = f.isf(_BY_CHANCE, terms, apart.freedom)
    return bool((together.squares - apart.squares) / terms > each * chance)


def residual_of_bags(bags: Sequence[BagSummary], theta: Array) -> tuple[tuple[str, float], ...]:
    """Return each bag's name and its residual's root mean square [N m] under parameters (p,)."""
    return tuple(
        (
            bag.whole.name,
            float(np.sqrt(bag.whole.factors.squares(theta).sum() / bag.whole.factors.samples)),
        )
        for bag in bags
    )


def hand_contradictions(
    bags: Sequence[BagSummary],
    model: TorqueModel,
    start: ArmDescription,
    candidates: Sequence[ArmDescription],
) -> tuple[str, ...]:
    """
    Return a sentence for each bag on which a hand is seen that was not named, or none that was.

    It is judged as `replay` does, by published sets with and without hands. Where a hand was not
    named and what is seen does not weigh what one does, its mass is said instead.

    Parameters
    ----------
    bags : sequence of BagSummary
        Their efforts torques [N m].
    model : TorqueModel
        What is identified.
    start : ArmDescription
        With the hand that was named.
    candidates : sequence of ArmDescription
        Published sets, bare and with each hand.

    """
    if not candidates:
        return ()
    friction = np.zeros(len(model.friction.names))
    values = [np.concatenate([model.base.values(arm), friction]) for arm in candidates]
    sentences = []
    for bag in bags:
        whole: QRFactors = total([bag.whole.factors])
        errors = [float(np.sqrt(whole.squares(theta).sum() / whole.samples)) for theta in values]
        seen = mounted_verdict(list(zip(candidates, errors)), partial(_weighed, whole, model))
        if seen.mounted is not None and seen.mounted != (start.hand != NO_HAND):
            named = 'no hand' if start.hand == NO_HAND else start.hand
            said = seen.sentence[:-1]
            sentences.append(
                f'{bag.whole.name}: {said}{"" if seen.load else f"; but {named} was named"}'
            )
    return tuple(sentences)


def held_loads(
    bags: Sequence[BagSummary],
    model: TorqueModel,
    start: ArmDescription,
    candidates: Sequence[ArmDescription],
) -> tuple[str, ...]:
    """
    Return a sentence if the hand that was named seems to hold something, in all bags together.

    Some bags of which alone it does contradict the others.

    Parameters
    ----------
    bags, model, start, candidates
        As for `hand_contradictions`.

    """
    named = [arm for arm in candidates if arm.hand == start.hand != NO_HAND]
    samples = total(bag.whole.factors for bag in bags)
    said = held_sentence([(arm, _weighed(samples, model, arm)) for arm in named])
    where = bags[0].whole.name if len(bags) == 1 else f'all {len(bags)} bags together'
    return (f'{where}: {said[:-1]}',) if said else ()


def _weighed(samples: QRFactors, model: TorqueModel, arm: ArmDescription) -> Weighing:
    """Return what hangs on the flange beyond what an arm's description has."""
    b = len(model.base)
    none = model.base.values(arm)
    columns = np.column_stack([model.base.values(one) - none for one in unit_loads(arm)])
    rows = samples.r_factors
    return weighed(
        rows[:, :, :b] @ columns,
        rows[:, :, b : b + 2],  # viscous and Coulomb, the first two terms of each joint
        rows[:, :, -2] - rows[:, :, :b] @ none,
        samples.samples,
    )
