# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
One bag's share of an identification: read, prepared and summarised where the bag lies.

Whether bags belong together, and the named hand fits them, is said before anything is believed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from .friction import TorqueModel
from .least_squares import Noise, solve_quickly
from .prior import Prior
from .qr_factors import BagSummary, QRFactors, residual_lag_sums, Summary, total
from ..arm import ArmDescription, LinkInertia
from ..arm.hand_file import NO_HAND
from ..dynamics.model import GRAVITY
from ..errors import FrankaDynamicsError, IdentificationError
from ..recordings.plausibility import suspicions
from ..recordings.preprocessing import Motion, prepare, SignalOptions
from ..recordings.recording import HEADER, read_recording, Recording
from ..recordings.replay import hand_verdict
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

    """

    path: str
    joint_names: tuple[str, ...]
    topic: str | None = None
    stamps: str = HEADER
    signal: SignalOptions = field(default_factory=SignalOptions)
    other_cutoffs: tuple[float, ...] = ()
    gravity: ArrayLike = GRAVITY
    torque: bool = True

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
        """Return the recording prepared for a model, and prepared at the other cut-offs."""
        columns = model.friction.columns
        return prepare(recording, self.signal, columns=columns), {
            cutoff: prepare(recording, replace(self.signal, cutoff=cutoff), columns=columns)
            for cutoff in self.other_cutoffs
            if cutoff != self.signal.cutoff
        }


@dataclass(frozen=True)
class BagNote:
    """What a report says of one bag."""

    bag: str
    topic: str
    first_joint: str
    messages: int
    duration: float
    samples: int
    remarks: tuple[str, ...] = ()
    suspicions: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class BagResult:
    """A bag's note and summary, or one sentence on why there are none."""

    note: BagNote | None
    summary: Summary | None
    failure: str = ''


def note(
    recording: Recording,
    motion: Motion,
    arm: ArmDescription,
    gravity: ArrayLike,
    *,
    torque: bool = True,
) -> BagNote:
    """Return what a report says of a recording."""
    return BagNote(
        recording.source,
        recording.topic,
        recording.joint_names[0],
        len(recording),
        recording.duration,
        len(motion),
        motion.remarks,
        suspicions(recording, arm, gravity=gravity) if torque else (),
    )


def run_job(job: BagJob, model: TorqueModel, arm: ArmDescription, folds: int) -> BagResult:
    """Return a bag's result; a fault of the bag is a part of it, not an error."""
    try:
        recording = job.recording()
        motion, others = job.motions(recording, model)
        return BagResult(
            note(recording, motion, arm, job.gravity, torque=job.torque),
            Summary.of(model, motion, folds, others, job.name),
        )
    except FrankaDynamicsError as error:
        return BagResult(None, None, str(error))


def job_lag_sums(job: BagJob, model: TorqueModel, theta: Array, scale: Array) -> Array:
    """Return a bag's residual lag sums for parameters of shape (p,) and an effort scale (n,)."""
    motion = prepare(job.recording(), job.signal, columns=model.friction.columns)
    return residual_lag_sums(model, motion, theta, scale)


def require_one_arm(notes: Sequence[BagNote]) -> None:
    """Raise IdentificationError unless all bags name the same joints."""
    for other in notes[1:]:
        if other.first_joint != notes[0].first_joint:
            raise IdentificationError(
                f'{notes[0].bag} was recorded from {notes[0].first_joint} ... but {other.bag} '
                f'from {other.first_joint} ...: these are different arms; identify each from '
                'its own recordings.'
            )


# Bags that fit together leave at most this much more than each fitted by itself. Halves of one
# recording of a real FER leave 0.94 to 1.03 times as much, recordings of two FER 1.9 times; runs
# of one simulated arm whose torque sensors drift 1.1 to 1.4 times.
TOGETHER_RATIO = 1.5
_MOST_BAGS = 30  # up to which every pair is looked at
_MOST_PAIRS = 5  # that are named
# What weighs more than this part less or more than the known hands is called a load, not a hand.
_HAND_PART = 0.3
_STRENGTH = 10.0  # of the prior on inertias: known to 32 %


def contradictions(bags: Sequence[BagSummary], noise: Noise, prior: Prior) -> tuple[str, ...]:
    """
    Return one sentence for each group of bags that cannot be of one arm in one state.

    Two bags contradict each other if one fit to both leaves much more than a fit to each.

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
        return samples.squares(solve_quickly(samples.weighted(weights), prior, _STRENGTH))

    # Bags that do not belong together make all of their noise look large.
    alone = np.median([left(one, noise.weights) / one.samples for one in factors], axis=0)
    weights = replace(noise, deviation=np.sqrt(alone)).weights
    own = [float(left(one, weights).sum()) for one in factors]
    found = []
    for i, j in combinations(range(len(bags)), 2):
        both = factors[i] + factors[j]
        together = float(left(both, weights).sum())
        if together > TOGETHER_RATIO**2 * (own[i] + own[j]):
            found.append(
                (i, j, np.sqrt(together / both.samples), np.sqrt((own[i] + own[j]) / both.samples))
            )
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
        seen = hand_verdict(list(zip(candidates, errors)))
        if seen.mounted is not None and seen.mounted != (start.hand != 'none'):
            named = 'no hand' if start.hand == 'none' else start.hand
            load = _no_hand(whole, model, candidates, values, errors) if seen.mounted else ''
            sentences.append(
                f'{bag.whole.name}: {load or f"{seen.sentence[:-1]}; but {named} was named"}'
            )
    return tuple(sentences)


def _no_hand(
    samples: QRFactors,
    model: TorqueModel,
    candidates: Sequence[ArmDescription],
    values: Sequence[Array],
    errors: Sequence[float],
) -> str:
    """Return what hangs on the flange in a sentence, where it weighs what no hand does, or ''."""
    best = candidates[int(np.argmin(errors))].inertial_set
    same = [k for k, arm in enumerate(candidates) if arm.inertial_set == best]
    bare = next(k for k in same if candidates[k].hand == NO_HAND)
    hands = [candidates[k].links[-1].mass - candidates[bare].links[-1].mass for k in same]
    mass = _mass_on_the_flange(samples, model, candidates[bare], values[bare])
    lightest, heaviest = min(hand for hand in hands if hand > 0.0), max(hands)
    if lightest * (1.0 - _HAND_PART) <= mass <= heaviest * (1.0 + _HAND_PART):
        return ''
    return (
        f'about {mass:.1f} kg more than the arm alone hangs on the flange, which is none of the '
        f'known hands (about {heaviest:.1f} kg): weigh it, and name its mass and where its centre '
        'is in the flange frame with --payload KG,X,Y,Z, or take it off'
    )


def _mass_on_the_flange(
    samples: QRFactors, model: TorqueModel, arm: ArmDescription, values: Array
) -> float:
    """
    Return the mass [kg] there that explains the torque best beside friction.

    Its centre is left free. Few motions show that: runs of one real arm with one beam gave masses
    of 0.31 to 0.39 kg, but centres on all sides.
    """
    b = len(model.base)
    none = model.base.values(arm)
    columns = [
        model.base.values(arm.with_payload(LinkInertia(mass, moment, np.zeros((3, 3))))) - none
        for mass, moment in ((1.0, np.zeros(3)), *((0.0, axis) for axis in np.eye(3)))
    ]
    rows, n = samples.r_factors, model.n
    rubbing = np.zeros((n, rows.shape[1], 2 * n))
    for joint in range(n):  # viscous and Coulomb, the first two terms of each joint
        rubbing[joint, :, 2 * joint : 2 * joint + 2] = rows[joint, :, b : b + 2]
    matrix = np.concatenate([rows[:, :, :b] @ np.column_stack(columns), rubbing], axis=2)
    left = rows[:, :, -2] - rows[:, :, :b] @ values[:b]
    return float(np.linalg.lstsq(matrix.reshape(-1, 4 + 2 * n), left.ravel(), rcond=None)[0][0])
