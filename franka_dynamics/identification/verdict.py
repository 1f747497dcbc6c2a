# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The verdict on recordings: whether they are sound, what is wrong, and what they cannot tell.

The recordings judge themselves. Each of the folds (`sums`) is predicted by a fit without it, with
the columns of one fault and without. Joints are weighted by their own residuals in a fit to all
folds, so that no level comes from another arm. Three numbers say how much a fault matters:

- gain: the mean over folds of the sum over joints of ln(residual without / residual with it);
- t: this mean divided by its standard error over folds;
- effect: how far a real fault would take the identified arm from the measured torques, in units
  of the error E on left-out parts that remains with the fault in the fit.

A fault is named if it is significant, matters, and is significantly better than any other one.
If none is, but one matters, the cause is unknown. Otherwise the recordings are sound: what is
wrong with them, if anything, changes the identified arm little.

A common factor of all efforts, or a load, looks like other masses. Only published masses can
tell, within what a real arm differs from them: `unknowable` gives the ranges that are left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .options import PRIOR_PRECISION
from .prior import inertia_covariance, Prior, supported_precision, SupportedPrecision
from .solve import common_noise, equations, estimate, INDEPENDENT, residuals
from .sums import directions, Fault, period_of, places, Sums
from .torque_model import COULOMB, LARGE_OFFSET, MASS_AND_MOMENT, SLIP, TorqueModel
from ..arm import ArmDescription
from ..recordings.preprocessing import Motion, without_rest
from ..recordings.replay import hand_in_words, Unit
from ..typing import Array

# Student's t of four degrees of freedom (five folds), one-sided: 90 % for a fault that makes a
# recording doubtful, 95 % for the better of two faults.
_DOUBTFUL_T, _BETTER_T = 1.53, 2.13
# A fault matters if its effect exceeds MIN_EFFECT, and gain times effect exceeds _MIN_EVIDENCE.
# Both chosen by hand: at 1 no sound log of `What was tried` is doubtful.
MIN_EFFECT, _MIN_EVIDENCE = 1.0, 1.0
# Least effect of a fault that is named. Efforts of an Airbot Play's joint 4 times 0.5 look like a
# drift of joint 5 with an effect of 1.0.
_NAMED_EFFECT = 1.5
# The better fault's gain exceeds the other's by at least this share of its own. Chosen by hand.
_BETTER_BY = 0.3
# Coulomb friction below -_DRIVES times a joint's residual on each fold drives the joint. No sound
# log has a negative one on each fold; with a reversed joint it is -0.3 to -13.
_DRIVES = 0.2
# Precision of the prior that holds inertias, and the ratio to its size (or the inverse) that a
# named fault must show beside them: gains of 0.8 at joints 2 and 4 look like one of 1.2 at joint
# 3, and of an LBR Med7 one of joint 2 like one of joint 4, 4.7 times as large beside them.
_HELD, _AGREES = 1e8, 0.55
# Two standard deviations (95.4 %) of one number and of four.
_CHI_SQUARE_1, _CHI_SQUARE_4 = 4.0, 9.7
_WEAK = 0.01  # weight of a prior about no factor and no load [kg, kg m]
_FAINT = 1e-9  # weight of a prior about zero on a fault's columns
_LEAST_SHARE = 1e-3  # smallest residual, as a share of a joint's largest effort: rounding
# [rad/s or m/s] A slower joint's friction may be anything up to its Coulomb friction. Without this
# two of nine sound logs of a UR10e, which begin or end at rest, seem touched there.
_SLIDES = 0.02
_TOUCHED = 0.15  # largest share of the seconds in which a contact has half its largest residual
_SCALE: Fault = ('gain', ())
_LOAD: Fault = ('load', ())


@dataclass(frozen=True)
class Cause:
    """
    A fault of the recordings that explains the residuals, or a question about them.

    `kind` and `joints` (indices from 0; of 'load' the quarter of the recording in which a load
    comes or goes) are those of `sums.Fault`; 'contact' comes beside them. `values`, by kind: of
    'gain' the ratio of recorded to real effort, of 'drift' this ratio at the beginning and the
    end, of 'delay' the time by which efforts are late [s], of 'lag' that of velocities, of
    'gravity' the components of gravity in the space frame [m/s^2], of 'load' mass [kg] and first
    moment in the flange frame [kg m], of 'zero' the error of the recorded position [rad], of
    'offset' that of the effort [N m], of 'exchanged' the share that is exchanged (1: all), of
    'contact' the begin of the worst second [s]. `before` and `after` are E on left-out parts
    without and with the fault in the fit, `second` is E with the next best fault.
    `where` is the recording in which something touched the arm.
    """

    kind: str
    joints: tuple[int, ...]
    values: tuple[float, ...]
    before: float = np.nan
    after: float = np.nan
    second: float = np.nan
    where: str = ''


@dataclass(frozen=True)
class Unknowable:
    """
    What a recording cannot tell, because it looks like other masses, as far as these are known.

    `scale` are the smallest and largest ratio of recorded to real effort, of all joints alike,
    that the torques and the published masses allow if the flange carries what is declared, `load`
    those of an undeclared mass on the flange [kg] if efforts are right. `together` are the
    likeliest ratio and mass if both may be wrong. `asks` says whether right efforts without a
    load, anywhere beyond the flange, are outside the ranges. `where` is the published set.
    """

    scale: tuple[float, float]
    load: tuple[float, float]
    together: tuple[float, float]
    asks: bool
    where: str


@dataclass(frozen=True, eq=False)
class Verdict:
    """
    What recordings show: a fault that explains their residuals, questions, and what stays open.

    `suspected` are the joints (indices from 0) whose residuals some fault explains much better,
    though it is not clear which. `unknowable` is None without a published set.
    """

    causes: tuple[Cause, ...] = ()
    questions: tuple[Cause, ...] = ()
    suspected: tuple[int, ...] = ()
    unknowable: Unknowable | None = None

    @property
    def sound(self) -> bool:
        """Whether there is no fault, named or not, that would make the identified arm wrong."""
        return not self.causes and not self.suspected

    @property
    def asks(self) -> bool:
        """Whether there is a question to the user."""
        return bool(self.questions) or (self.unknowable is not None and self.unknowable.asks)


@dataclass(frozen=True, eq=False)
class _Tried:
    """A fit with a fault's columns: its mean values, squares (folds, n) [N^2 m^2], arm (p,)."""

    values: Array
    squares: Array
    theta: Array


class _LeftOut:
    """Fits with the columns of faults to all folds but one, and to all of them."""

    def __init__(self, sums: Sums, prior: Prior, precision: float = PRIOR_PRECISION) -> None:
        self.sums, self.prior, self.places = sums, prior, places(prior.model)
        self.per_joint = np.array(Unit.of(prior.reference).per_joint)
        self._least = np.maximum(_LEAST_SHARE * sums.strongest, 1e-12)
        common = noise = common_noise(sums, prior, precision, self.per_joint)
        for _ in range(2):
            theta = estimate(sums, prior, precision, noise)
            noise = np.maximum(residuals(sums, theta), self._least)
        rows, right = prior.rows(precision)
        p = len(right)
        self._own, parts = list(range(p)), np.flatnonzero(sums.samples)
        self._products, self._samples = sums.products[parts], sums.samples[parts]
        whole = sums.weighted(1.0 / (INDEPENDENT * noise**2))
        weighted = np.einsum('j,kjab->kab', 1.0 / (INDEPENDENT * noise**2), self._products)
        known = _FAINT * np.eye(len(whole))
        known[:p, :p], known[:p, -1] = rows.T @ rows, rows.T @ right
        # Of all folds but one, of all, and of all with the weights of the identified arm's fit.
        identified = sums.weighted(1.0 / (INDEPENDENT * common**2))
        self._equations = known + np.stack([*(whole - weighted), whole, identified])
        self.given: list[Fault] = []
        self.give(())

    def give(self, harmless: Sequence[Fault]) -> None:
        """Put the columns of faults that do no harm into all fits, and take their prior away."""
        self.given += harmless
        self.plain = self.tried(())

    def tried(self, faults: Sequence[Fault]) -> _Tried:
        """Return the fit with the columns of faults, of which `values` are the last one's."""
        columns = [k for one in (*self.given, *faults) for k in self.places[one]]
        own = list(dict.fromkeys([*self._own, *columns]))
        rows = self._equations[:, own]
        for kind, joints in {*self.given, *faults}:
            if kind == 'offset':
                (k,) = self.places[kind, joints]
                rows[:, k, k] -= self.prior.deviations[k] ** -2.0 - _FAINT
        theta = np.linalg.solve(rows[:, :, own], rows[:, :, -1:])[..., 0]
        residual = np.zeros(self._equations.shape[:2])
        residual[:, own], residual[:, -1] = -theta, 1.0
        left = residual[:-2]
        squares = np.einsum('ka,kjab,kb->kj', left, self._products, left)
        mean = np.maximum(squares / self._samples[:, None], self._least**2)
        values = -residual[-2, self.places[faults[-1]]] if faults else np.zeros(0)
        return _Tried(values, mean, -residual)

    def error(self, tried: _Tried) -> float:
        """Return E on left-out parts."""
        return float(np.sqrt(np.mean(tried.squares, axis=0) @ self.per_joint**2))

    def gains(self, tried: _Tried, than: _Tried | None = None) -> Array:
        """Return of each fold the sum over joints of ln(residual of `than` / residual)."""
        before = (self.plain if than is None else than).squares
        return np.asarray(0.5 * np.log(before / tried.squares).sum(axis=1))

    def effect(self, tried: _Tried) -> float:
        """Return how far the identified arm is off if the fault is real, as a multiple of E."""
        moved = [
            *range(len(self.prior.root)),
            *(k for one in self.given for k in self.places[one]),
        ]
        change = np.zeros(self.sums.products.shape[-1])
        change[moved] = (self.plain.theta - tried.theta)[-1, moved]
        taken = self.sums.of_columns(change) / self.sums.count @ self.per_joint**2
        # The median fold: a load that comes in the last fold cannot be predicted there.
        after, before = (
            float(np.median(one.squares @ self.per_joint**2)) for one in (tried, self.plain)
        )
        return float(np.sqrt((taken + max(before - after, 0.0)) / after))

    def driven(self) -> tuple[int, ...]:
        """Return the joints whose Coulomb friction drives them on each fold."""
        model, b = self.prior.model, len(self.prior.root)
        end = b + model.n * model.friction.terms
        friction = self.plain.theta[:-2, b:end].reshape(-1, model.n, model.friction.terms)
        kinds = [k for k, one in enumerate(model.friction.symbols) if one[:2] in (COULOMB, SLIP)]
        least = friction[..., kinds].sum(axis=-1).max(axis=0)
        size = np.sqrt(self.plain.squares.mean(axis=0))
        return tuple(int(j) for j in np.flatnonzero(least < -_DRIVES * size))


def _t(values: Array) -> float:
    """Return the mean of values divided by its standard error."""
    spread = float(values.std(ddof=1)) / np.sqrt(len(values)) if len(values) > 1 else np.inf
    return float(values.mean()) / max(spread, 1e-12)


def _alike(one: Fault, other: Fault) -> bool:
    """Whether two faults contain each other: gain and drift, or a load at another time."""
    if one[0] == other[0] == 'load':
        return True
    return one == other or (one[1] == other[1] and {one[0], other[0]} == {'gain', 'drift'})


def _cause(fault: Fault, raw: Array, gravity: Array) -> Cause:
    """Return a fault with its values in the user's terms (`Cause`) from those of its columns."""
    kind, joints = fault
    values = np.array(raw)
    if kind == 'gain':
        values = 1.0 + raw
    elif kind == 'drift':
        values = 1.0 + raw[:-1].sum() + raw[-1] * np.array([-0.5, 0.5])
    elif kind == 'gravity':
        values = gravity + raw @ directions(gravity)
    return Cause(kind, joints, tuple(values.tolist()))


def _possible(cause: Cause, gravity: Array) -> bool:
    """
    Return whether a fault is one that can be, and not only columns that fit.

    Two efforts are exchanged as a whole. Gravity is left out, or has its size within 5 % and turns
    by 0.03 to 2.5 rad: a common factor changes its size, and a sign of all efforts turns it by pi.
    A common factor is a fault if it is negative; otherwise it looks like other masses.
    """
    if cause.kind == 'exchanged':
        return cause.values[0] > 0.5
    if (cause.kind, cause.joints) == _SCALE:
        return cause.values[0] < 0.0
    if cause.kind != 'gravity':
        return (cause.kind, cause.joints) != _LOAD
    declared, found = float(np.linalg.norm(gravity)), float(np.linalg.norm(cause.values))
    turn = np.arccos(np.clip(gravity @ np.array(cause.values) / (declared * found), -1.0, 1.0))
    size = abs(found / declared - 1.0) < 0.05
    return found < 0.5 * declared or bool(size and 0.03 < turn < 2.5)


def _harmless(fault: Fault, cause: Cause, fits: _LeftOut) -> bool:
    """
    Whether the fit should have the columns of a fault, because it then does no harm.

    It is a large offset, which is reported, or a factor of all efforts or a load, further from
    the starting set than its prior expects, about which `unknowable` asks.
    """
    if fault in fits.given:
        return False
    if fault[0] == 'offset':
        large = LARGE_OFFSET * fits.prior.deviations[fits.places[fault][0]]
        return abs(cause.values[0]) > large
    return fault == _LOAD or (fault == _SCALE and cause.values[0] > 0.0)


def causes(fits: _LeftOut) -> tuple[tuple[Cause, ...], tuple[int, ...], float]:
    """
    Return the fault that explains the residuals, or else the joints where some fault does.

    Then follows the share of E on left-out parts that the best fault leaves.
    """
    gravity = fits.prior.model.base.gravity[0]
    while True:
        tried = {fault: fits.tried([fault]) for fault in fits.places}
        found = {fault: _cause(fault, one.values, gravity) for fault, one in tried.items()}
        gain = {fault: float(fits.gains(one).mean()) for fault, one in tried.items()}
        usable = {
            fault
            for fault, cause in found.items()
            if _possible(cause, gravity) or _harmless(fault, cause, fits)
        }
        best = max(usable, key=lambda fault: gain[fault])
        if not _harmless(best, found[best], fits) or _t(fits.gains(tried[best])) < _BETTER_T:
            break
        fits.give([best])
    gain = {
        fault: one
        for fault, one in gain.items()
        if fault[0] != 'offset' and _possible(found[fault], gravity)
    }
    best, plain = max(gain, key=lambda fault: gain[fault]), fits.error(fits.plain)
    doubtful = [
        fault
        for fault in gain
        if (effect := fits.effect(tried[fault])) > MIN_EFFECT
        and gain[fault] * effect > _MIN_EVIDENCE
        and (
            _t(gains := fits.gains(tried[fault])) > _DOUBTFUL_T
            # What comes late in a recording shows in few folds.
            or (fault[0] == 'load' and float(np.median(gains)) > 0.0)
        )
    ]
    left = fits.error(tried[best]) / plain
    if not doubtful:
        return (), fits.driven(), left
    second = max((one for one in gain if not _alike(one, best)), key=lambda fault: gain[fault])
    better = fits.gains(tried[best], tried[second])
    clear = _t(better) > _BETTER_T and better.mean() > _BETTER_BY * gain[best]
    if best in doubtful and clear and fits.effect(tried[best]) > _NAMED_EFFECT:
        simpler = ('gain', best[1])
        if best[0] == 'drift' and _t(fits.gains(tried[best], tried[simpler])) < _BETTER_T:
            best = simpler if simpler in doubtful else best
        values, held = tried[best].values, _LeftOut(fits.sums, fits.prior, _HELD)
        beside = float(held.tried([best]).values @ values / (values @ values))
        agrees = _AGREES < beside < 1.0 / _AGREES
        after, other = fits.error(tried[best]), fits.error(tried[second])
        if agrees:
            return (replace(found[best], before=plain, after=after, second=other),), (), left
    best = max(doubtful, key=lambda fault: gain[fault])
    each = np.log(fits.plain.squares / tried[best].squares).mean(axis=0)
    return (), tuple(int(j) for j in np.flatnonzero(each >= 0.5 * each.max())), left


def unknowable(sums: Sums, prior: Prior) -> Unknowable:
    """
    Return the ranges of a common factor and of a load that torques and published masses allow.

    `prior` is about a published set. How far the real masses are from it follows from the torques
    (`supported_precision`), with the factor and the load free. The ranges are those of two
    standard deviations.
    """
    theta = estimate(sums, prior, PRIOR_PRECISION, prior.normal)
    noise = np.maximum(residuals(sums, theta), _LEAST_SHARE * sums.strongest)
    triangle, effort = equations(sums, prior, noise)
    b, known = len(prior.root), prior.reference
    scale = prior.center[:b, None]
    load = prior.model.loads(known)[:, MASS_AND_MOMENT]
    free = triangle[:, :b] @ np.concatenate([scale, load], axis=1)
    supported = supported_precision((triangle, effort), prior, free)
    supported = SupportedPrecision(max(supported.masses, 1.0), max(supported.inertias, 1.0))
    rows = np.diag(1.0 / prior.deviations)
    rows[:b, :b] = np.linalg.inv(np.linalg.cholesky(inertia_covariance(prior, supported)))
    p = len(rows)
    design = np.zeros((2 * p + 5, p + 5))
    design[:p, :p], design[:p, p:], design[p : 2 * p, :p] = triangle, free, rows
    design[2 * p :, p:] = _WEAK * np.eye(5)  # a short chain does not show all five
    right = np.concatenate([effort, rows @ prior.center, np.zeros(5)])

    def fitted(columns: Sequence[int]) -> tuple[Array, Array]:
        """Return values of some of the five columns, and their covariance."""
        chosen = [*range(len(rows)), *(len(rows) + k for k in columns)]
        covariance = np.linalg.inv(design[:, chosen].T @ design[:, chosen])
        values = covariance @ design[:, chosen].T @ right
        last = slice(-len(columns), None)
        return np.asarray(values[last]), np.asarray(covariance[last, last])

    (factor, spread), (loads, spreads) = fitted([0]), fitted([1, 2, 3, 4])
    both, _ = fitted(range(5))
    sides = 2.0 * np.array([-1.0, 1.0])
    return Unknowable(
        tuple((1.0 + factor[0] + sides * np.sqrt(spread[0, 0])).tolist()),
        tuple((loads[0] + sides * np.sqrt(spreads[0, 0])).tolist()),
        (1.0 + float(both[0]), float(both[1] / (1.0 + both[0]))),
        bool(
            factor @ np.linalg.solve(spread, factor) > _CHI_SQUARE_1
            or loads @ np.linalg.solve(spreads, loads) > _CHI_SQUARE_4
        ),
        f'{known.inertial_set} {hand_in_words(known.hand)}',
    )


def seconds(motion: Motion, sums: Sums, prior: Prior) -> tuple[Array, Array]:
    """
    Return the begin of each second of a motion [s] and its rms residual, of joints that move.

    Residuals are those of a fit to the motion's own sums, relative to each joint's usual one, by
    the median. What remains after the last full second of a piece is left out.
    """
    theta, count = estimate(sums, prior, PRIOR_PRECISION, prior.normal), round(motion.options.rate)
    pieces = list(motion.pieces())
    each = [piece.effort - prior.model.torque(piece, theta) for piece in pieces]
    usual = 1.48 * np.median(np.abs(np.concatenate(each)), axis=0)  # a Gaussian's deviation
    own = np.maximum(usual, _LEAST_SHARE * sums.strongest)
    begins, sizes = [], []
    for piece, residual in zip(pieces, each):
        # A constant offset does not count as contact, nor does the residual of a joint at rest,
        # whose static friction is unknown.
        squares = ((residual - residual.mean(axis=0)) / own) ** 2
        off = np.mean(np.where(np.abs(piece.dq) > _SLIDES, squares, 0.0), axis=1)
        whole = len(off) // count * count
        begins.append(piece.time[:whole:count])
        sizes.append(np.sqrt(off[:whole].reshape(-1, count).mean(axis=1)))
    return np.concatenate(begins), np.concatenate(sizes)


def contact(begins: Array, sizes: Array, where: str, left: float) -> Cause | None:
    """
    Return the cause 'contact' if a few seconds explain the residuals, or None.

    The seconds are those with at least half the worst one's residual. What they explain matters,
    and is clearly more than what the best other fault explains, which leaves the share `left`.
    """
    touched = sizes > 0.5 * sizes.max(initial=0.0)
    if not len(sizes) or touched.mean() > _TOUCHED:  # what lasts, such as a load, is no contact
        return None
    before, after = (float(np.sqrt(np.mean(one**2))) for one in (sizes, sizes[~touched]))
    if before**2 < (1.0 + MIN_EFFECT**2) * after**2 or after > left * before:
        return None
    return Cause('contact', (), (float(begins[np.argmax(sizes)]),), where=where)


def of_motion(
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
    sums = Sums.of(model, start, moving, period=period_of(motion))
    prior, *sets = (Prior.towards(one, model, sums.strongest) for one in (start, *published))
    return judge(sums, prior, sets, [(*seconds(moving, sums, prior), name)])


def judge(
    sums: Sums,
    prior: Prior,
    published: Sequence[Prior],
    each: Sequence[tuple[Array, Array, str]],
) -> Verdict:
    """
    Return the verdict on recordings.

    `prior` is about the starting set, `published` are about published sets, of which those with
    its hand count: a set with a hand hides a load of its mass. Of several the one with the
    narrowest range of a factor counts, which agrees best with the torques. `each` has begins and
    sizes (`seconds`) and the name of each recording.
    """
    fits = _LeftOut(sums, prior)
    found, suspected, left = causes(fits)
    sets = [one for one in published if one.reference.hand == prior.reference.hand]
    ranges = [unknowable(sums, one) for one in sets]
    narrowest = min(ranges, key=lambda one: one.scale[1] - one.scale[0], default=None)
    if not found and narrowest is not None and narrowest.scale[1] < 0.0:
        # A fit of masses and friction below zero leaves no residual: only masses tell the sign.
        found, suspected = (Cause(*_SCALE, (float(np.mean(narrowest.scale)),)),), ()
    if not found:
        touched = [contact(*one, left) for one in each]
        found = tuple(one for one in touched if one is not None)
        suspected = () if found else suspected
    offsets = tuple(
        Cause('offset', joints, (value,))
        for (kind, joints), places in fits.places.items()
        if kind == 'offset'
        and abs(value := float(fits.plain.theta[-2, places[0]]))
        > max(LARGE_OFFSET * prior.deviations[places[0]], MIN_EFFECT * fits.error(fits.plain))
    )
    return Verdict(found, () if found or suspected else offsets, suspected, narrowest)
