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
from dataclasses import dataclass, replace

import numpy as np

from .contact import contact_time, residual_per_second
from .gram_sums import (
    Fault,
    fault_columns,
    GramSums,
    gravity_axes,
    LOAD,
    period_of,
    SCALE,
)
from .mass_ambiguity import mass_ambiguity, MassAmbiguity
from .options import DEFAULT_PRIOR_PRECISION
from .prior import Prior
from .solve import common_noise, estimate, joint_noise, MIN_NOISE_RATIO, residual_weights
from .torque_model import COULOMB_SYMBOL, MAX_OFFSET_STD_RATIO, SLIP_SYMBOL, TorqueModel
from ..arm import ArmDescription
from ..recordings.preprocessing import Motion, without_rest
from ..recordings.replay import TorqueErrorUnit
from ..typing import Array

# Student's t of four degrees of freedom (five folds), one-sided, 95 %.
_SIGNIFICANT_T = 2.13
# A fault matters if gain times effect exceeds this. Of fourteen sound logs (two FER, an Airbot,
# an LBR Med7, five of a UR10e, five drawn arms) the largest is 1.09, of a FER, and the next 0.38;
# the smallest of a broken log of a FER that gives an arm worse than the published set is 1.16.
_MIN_EVIDENCE = 1.15
# Least effect of a fault that is named. Efforts of the Airbot's joint 4 times 0.5 look like a
# drift of joint 5 with a smaller one.
_NAMED_EFFECT = 1.5
# Precision of the prior that holds inertias, and the ratio to its size (or the inverse) that a
# named fault must show beside them. Gains of 0.8 at joints 2 and 4 look like one of 1.2 at joint
# 3, a zero of the Airbot's joint 2 like one of joint 3, and a gain of the Med7's joint 2 like one
# of joint 4, with ratios below 0.7 or above 1 / 0.7.
_HELD, _AGREES = 1e8, 0.7
# Gravity has its size within this share, or is left out.
_GRAVITY_SHARE = 0.05
# A base that is turned by more than _TURNED [rad] is a fault, from _TILTED on it is asked about:
# that of the sound Med7 is turned by 0.03.
_TILTED, _TURNED = 0.01, 0.05
_FAINT = 1e-9  # weight of a prior about zero on a fault's columns


@dataclass(frozen=True)
class Diagnosis:
    """
    A diagnosed fault of the recordings, or a question about one.

    `kind` and `joints` (indices from 0; of 'load' the quarter of the recording in which a load
    comes or goes) are those of `gram_sums.Fault`; 'contact' comes beside them. `values`, by kind:
    of 'gain' the ratio of recorded to real effort, of 'drift' this ratio at the beginning and the
    end, of 'delay' the time by which efforts are late [s], of 'lag' that of velocities, of
    'gravity' the components of gravity in the space frame [m/s^2], of 'load' mass [kg] and first
    moment in the flange frame [kg m], of 'zero' the error of the recorded position [rad], of
    'offset' that of the effort [N m], of 'exchanged' the share that is exchanged (1: all), of
    'contact' the start of the worst second [s]. `before` and `after` are E on left-out parts
    without and with the fault in the fit, `second` is E with the next best fault. `where` is the
    recording in which something touched the arm.
    """

    kind: str
    joints: tuple[int, ...]
    values: tuple[float, ...]
    before: float = np.nan
    after: float = np.nan
    second: float = np.nan
    where: str = ''


@dataclass(frozen=True, eq=False)
class Verdict:
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


class _FoldFits:
    """
    Fits with the columns of faults to all folds but one, to all, and with the arm's weights.

    All fits have the columns of the faults `given`, about which the user is asked: a common factor
    and a load (`mass_ambiguity`), later perhaps large offsets.
    """

    def __init__(
        self,
        sums: GramSums,
        prior: Prior,
        precision: float = DEFAULT_PRIOR_PRECISION,
        given: tuple[Fault, ...] = (SCALE, LOAD),
    ) -> None:
        self.sums, self.prior, self.places = sums, prior, fault_columns(prior.model)
        self.per_joint = np.array(TorqueErrorUnit.of(prior.reference).per_joint)
        self.least = np.maximum(MIN_NOISE_RATIO * sums.max_torque, 1e-12)
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
        self.given = given
        self.plain = _Fit(self)

    def give(self, fault: Fault) -> None:
        """Put the columns of a fault about which the user is asked into all fits."""
        self.given += (fault,)
        self.plain = _Fit(self)

    def tried(self) -> list[_Fit]:
        """Return the fits with the columns of one fault each, the largest gain first."""
        each = [_Fit(self, fault) for fault in self.places if fault not in self.given]
        return sorted(each, key=lambda fit: -float(fit.gains().mean()))


class _Fit:
    """
    A fit with the columns of a fault, or of none.

    `theta` (folds + 2, c) are the values of all columns in the fits of `_FoldFits`, `values` those
    of the fault in the fit to all folds, `squares` (folds, n) the mean squared residuals on
    left-out parts [N^2 m^2].
    """

    def __init__(self, fits: _FoldFits, fault: Fault = ('', ())) -> None:
        self.fits, self.fault, self.places = fits, fault, fits.places.get(fault, [])
        own = [*range(fits.p)]
        rows = fits.equations.copy()
        for one in (*fits.given, *((fault,) if fault[0] else ())):
            for k in fits.places[one]:
                if one[0] == 'offset':  # it loses its prior
                    rows[:, k, k] -= fits.prior.std[k] ** -2.0 - _FAINT
                else:
                    own.append(k)
        own = list(dict.fromkeys(own))  # a gain's column is also a drift's
        self.theta = np.zeros(rows.shape[:2])
        self.theta[:, own] = np.linalg.solve(rows[:, own][:, :, own], rows[:, own, -1:])[..., 0]
        self.values = self.theta[-2, self.places]
        residual = self.theta[:-2].copy()
        residual[:, -1] = -1.0
        squares = np.einsum('ka,kjab,kb->kj', residual, fits.products, residual)
        self.squares = np.maximum(squares / fits.samples[:, None], fits.least**2)

    def error(self) -> float:
        """Return E on left-out parts."""
        return float(np.sqrt(np.mean(self.squares, axis=0) @ self.fits.per_joint**2))

    def gains(self, than: _Fit | None = None) -> Array:
        """Return of each fold the sum over joints of ln(residual of `than` / residual)."""
        before = (self.fits.plain if than is None else than).squares
        return np.asarray(0.5 * np.log(before / self.squares).sum(axis=1))

    def better(self, than: _Fit | None = None) -> bool:
        """Return whether left-out parts are predicted significantly better."""
        gains = self.gains(than)
        spread = float(gains.std(ddof=1)) if len(gains) > 1 else np.inf
        return float(gains.mean()) > _SIGNIFICANT_T * spread / np.sqrt(len(gains))

    def effect(self) -> float:
        """Return how far the identified arm is off if the fault is real, as a multiple of E."""
        fits, change = self.fits, np.zeros(self.theta.shape[1])
        # What the arm takes from the recordings: inertias, factor, load and large offsets.
        moved = [
            *range(len(fits.prior.sqrt_precision)),
            *(k for one in fits.given for k in fits.places[one]),
        ]
        change[moved] = (fits.plain.theta - self.theta)[-1, moved]
        taken = fits.sums.squared_combination(change) / fits.sums.count @ fits.per_joint**2
        # The median fold: a load that comes in the last fold cannot be predicted there.
        after, before = (
            float(np.median(one.squares @ fits.per_joint**2)) for one in (self, fits.plain)
        )
        return float(np.sqrt((taken + max(before - after, 0.0)) / after))

    def matters(self) -> bool:
        """Return whether the fault makes recordings doubtful."""
        gains = self.gains()
        # A load that comes late shows in few folds.
        seen = self.better() or (self.fault[0] == 'load' and np.median(gains) > 0.0)
        return bool(seen and gains.mean() * self.effect() > _MIN_EVIDENCE)

    def agrees(self) -> bool:
        """Return whether the fault has about its size beside the starting set's inertias."""
        fits = _FoldFits(self.fits.sums, self.fits.prior, _HELD, ())
        held = _Fit(fits, self.fault).values
        return _AGREES < float(held @ self.values / (self.values @ self.values)) < 1.0 / _AGREES

    @property
    def family(self) -> Fault:
        """The fault, where a drift counts as a gain, and loads at any time as one."""
        kind, joints = self.fault
        return ('load', ()) if kind == 'load' else ('gain' if kind == 'drift' else kind, joints)

    def cause(self) -> Diagnosis:
        """Return the fault with its values in the user's terms (`Diagnosis`)."""
        (kind, joints), values = self.fault, self.values
        gravity = self.fits.prior.model.base.gravity[0]
        if kind == 'gain':
            values = 1.0 + values
        elif kind == 'drift':
            values = 1.0 + values[:-1].sum() + values[-1] * np.array([-0.5, 0.5])
        elif kind == 'gravity':
            values = gravity + values @ gravity_axes(gravity)
        return Diagnosis(kind, joints, tuple(values.tolist()))

    def possible(self) -> bool:
        """Return whether this can be a fault: efforts are exchanged as a whole, gravity turns."""
        kind = self.fault[0]
        if kind == 'exchanged':
            return bool(self.values[0] > 0.5)
        return kind != 'offset' and (kind != 'gravity' or self.turn() > _TURNED)

    def turn(self) -> float:
        """Return by how much gravity turns [rad], pi if it is left out, 0 if its size is wrong."""
        gravity, found = self.fits.prior.model.base.gravity[0], np.array(self.cause().values)
        declared, size = float(np.linalg.norm(gravity)), float(np.linalg.norm(found))
        if size < 0.5 * declared:
            return np.pi
        if abs(size / declared - 1.0) > _GRAVITY_SHARE:
            return 0.0  # a common factor
        return float(np.arccos(np.clip(gravity @ found / (declared * size), -1.0, 1.0)))

    def large_offset(self) -> bool:
        """Return whether this is a significant offset beyond what its prior expects."""
        return self.fault[0] == 'offset' and bool(
            abs(self.values[0]) > MAX_OFFSET_STD_RATIO * self.fits.prior.std[self.places[0]]
            and self.better()
        )


def diagnose(fits: _FoldFits) -> tuple[tuple[Diagnosis, ...], tuple[int, ...], float]:
    """
    Return the one fault that explains the residuals, or else the joints of several such faults.

    The third value is the share of E on left-out parts that the best fault leaves.
    """
    while True:
        tried = fits.tried()
        faults = [fit for fit in tried if fit.possible()]
        first = next(fit for fit in tried if fit in faults or fit.large_offset())
        if first in faults:
            break
        fits.give(first.fault)  # it would hide other faults
    best, plain = faults[0], fits.plain
    left = best.error() / plain.error()
    doubtful = [fit for fit in faults if fit.matters()]
    if not doubtful:
        return (), _driven(fits), left
    second = next(fit for fit in faults if fit.family != best.family)
    clear = best.better(second) and best.effect() > _NAMED_EFFECT
    simpler = (fit for fit in doubtful if fit.fault == best.family and not best.better(fit))
    named = next(simpler, best)
    if clear and named in doubtful and named.agrees():
        before, after, other = (one.error() for one in (plain, named, second))
        return (replace(named.cause(), before=before, after=after, second=other),), (), left
    each = np.log(plain.squares / doubtful[0].squares).mean(axis=0)
    return (), tuple(int(j) for j in np.flatnonzero(each >= 0.5 * each.max())), left


def _driven(fits: _FoldFits) -> tuple[int, ...]:
    """
    Return the joints whose Coulomb friction drives them on each fold.

    Their efforts have the other sign, and are nearly all friction. No sound log has one.
    """
    model, b = fits.prior.model, len(fits.prior.sqrt_precision)
    terms = fits.plain.theta[:-2, b : b + model.n * model.friction.term_count]
    signed = (COULOMB_SYMBOL, SLIP_SYMBOL)
    kinds = [k for k, one in enumerate(model.friction.symbols) if one[:2] in signed]
    friction = terms.reshape(-1, model.n, model.friction.term_count)[..., kinds].sum(axis=-1)
    return tuple(int(j) for j in np.flatnonzero(friction.max(axis=0) < 0.0))


def judge_motion(
    motion: Motion,
    model: TorqueModel,
    start: ArmDescription,
    published: Sequence[ArmDescription],
    name: str,
) -> Verdict:
    """
    Return the verdict on one prepared recording, called `name`.

    The motion's first columns are the friction columns of `model`; samples at rest do not count.
    """
    moving = without_rest(motion)
    sums = GramSums.of(model, start, moving, period=period_of(motion))
    prior, *sets = (Prior.centered_at(one, model, sums.max_torque) for one in (start, *published))
    return judge(sums, prior, sets, [(*residual_per_second(moving, sums, prior), name)])


def judge(
    sums: GramSums,
    prior: Prior,
    published: Sequence[Prior],
    each: Sequence[tuple[Array, Array, str]],
) -> Verdict:
    """
    Judge whether recordings can be trusted: name a fault, ask about one, or find them sound.

    `prior` is about the starting set, `published` are about published sets, of which those with
    its hand count: a set with a hand hides a load of its mass. Of several the one with the
    narrowest range of a factor counts, which agrees best with the torques. `each` has the results
    of `residual_per_second` and the name of each recording.
    """
    fits = _FoldFits(sums, prior)
    found, suspected, left = diagnose(fits)
    sets = [one for one in published if one.reference.hand == prior.reference.hand]
    ranges = [mass_ambiguity(sums, one) for one in sets]
    narrowest = min(ranges, key=lambda one: one.scale[1] - one.scale[0], default=None)
    if not found and narrowest is not None and narrowest.scale[1] < 0.0 and _driven(fits):
        # A fit of masses and friction below zero leaves no residual.
        found, suspected = (Diagnosis(*SCALE, (float(np.mean(narrowest.scale)),)),), ()
    if not found:
        touched = [(contact_time(starts, rms, left), name) for starts, rms, name in each]
        found = tuple(
            Diagnosis('contact', (), (at,), where=name) for at, name in touched if at is not None
        )
        suspected = () if found else suspected
    questions = () if found or suspected else tuple(_questions(fits))
    return Verdict(found, questions, suspected, narrowest)


def _questions(fits: _FoldFits) -> Iterator[Diagnosis]:
    """Yield a base that is not quite level, and offsets that are large and significant."""
    fit, base = fits.plain, _Fit(fits, ('gravity', ()))
    if _TILTED < base.turn() <= _TURNED and base.matters():
        fit = base  # a tilt looks like offsets
        yield base.cause()
    count = len(fits.samples)
    for (kind, joints), (column, *_) in fits.places.items():
        if kind == 'offset':
            value = float(fit.theta[-2, column])
            # The jackknife's standard error.
            error = float(np.sqrt((count - 1.0) * fit.theta[:count, column].var()))
            least = max(MAX_OFFSET_STD_RATIO * fits.prior.std[column], fit.error())
            if abs(value) > max(least, _SIGNIFICANT_T * error):
                yield Diagnosis(kind, joints, (value,))
