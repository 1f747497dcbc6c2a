# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The verdict on recordings: sound? normal? and what the published sets ask.

A fault of a recording is a few more columns of the regression (`sums`). A fault is named only if
the fit with its columns predicts left-out parts clearly better than the fit without them, and
clearly better than the fit with the columns of any other fault. One fault is named, or two
together. If residuals are too large and no fault is clear, the cause is unknown.

A common scale of all efforts, or a load on the flange, looks like other masses. Only published
masses can tell, and a real arm may differ from them. Such a doubt is a question, never a refusal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .options import PRIOR_PRECISION
from .prior import Prior
from .solve import estimate, INDEPENDENT
from .sums import directions, Fault, period_of, places, Sums
from .torque_model import LARGE_OFFSET, normal_residual, OFFSET, TorqueModel
from ..arm import ArmDescription
from ..arm.hand_file import NO_HAND
from ..recordings.preprocessing import Motion, without_rest
from ..recordings.replay import hand_in_words
from ..typing import Array

# Precision of the prior of inertias beside a fault: masses to 10 %. A wider prior lets inertias
# absorb the fault: with a gain of 1.3 at one of the joints 1 to 4 of two FER they halve it.
FITTED = 100.0
# Precision of a prior that nearly any arm's masses agree with: to 100 %.
_ANY = 1.0
# Precision of the prior of sets whose inertias are held, whatever the samples say.
_HELD = 1e8
# A fault is named if the residual on left-out parts is below _LESS times that without it and below
# _MARGIN times that with any other fault. On 60 sound drawn arms one fault was named, on 272
# drawn arms with a fault no wrong one (masses 15 % off, centres 10 mm).
_LESS, _MARGIN = 0.8, 0.9
# Residuals count at least as _RESOLVED normal residuals, so that no fault is found in noise.
_RESOLVED = 0.25
# At a single joint, residuals count at least as _FLOOR normal residuals: noise of 0.3 N m leaves
# 0.12 to 0.35 of them after the filter.
_FLOOR = 0.1
# Each column of a fault must lower the residual by 3 % for the fault to count as the better one,
# and each second of a contact.
_PER_COLUMN = 1.03
# Part of a fault that must show beside held inertias of the starting set. Gains of 0.8 at joints 2
# and 4 look like a gain of 1.2 at joint 3, of which .52 shows at a drawn arm, less at FERs; of
# right gains of 1.3 put into two FERs' recordings .51 to 1.04 shows, but .41 at one joint 4.
_AGREES = 0.55
# Gravity is named if its size is that on Earth within a share of _EARTH, with a turn of at least
# _TURN [rad], or if at most half of it is there. Set on a log of a Rokae AR5-5: 0.9 times all of
# its efforts look like gravity of 9.0 m/s^2, and half a joint's effort like a turn of 0.02 rad.
_EARTH, _TURN = 0.05, 0.03
# Smallest share of two joints' efforts that is exchanged, and largest distance of a load's centre
# of mass from the flange, in front of it.
_WHOLE, _FARTHEST_M = 0.5, 0.5
# A load is asked about if it leaves less than _OF_SCALE of what a common scale leaves: of 1 kg on
# seven drawn arms (masses 10 to 13 % off) .12 to .43, of efforts 1.1 or 1.2 times the torques .61
# and more, but for an arm that looks as if it carried a load anyway.
_OF_SCALE = 0.5
_FAINT = 1e-9  # weight of a prior about zero on a fault's columns
# Largest accepted ratio of a joint's residual on unseen parts to its normal residual. The worst
# joint's ratio is 0.4 for two FER, 1.5 for an FR3, 1.3 for a UR10e, 2.4 for a TX40 with a coupled
# wrist that is not modelled.
MOST_TIMES = 5.0
# [rad/s or m/s] A slower joint's friction may be anything up to its Coulomb friction. Without this
# two of nine sound logs of a UR10e, which begin or end at rest, seem touched there.
_SLIDES = 0.02
_TOUCHED = 0.15  # largest share of the seconds in which a contact has half its largest residual
_OTHER_UNIT = 3.0  # no real arm's masses differ so much from published ones
# Published sets predict recordings of two FER and an FR3 to 0.8, 1.1 and 1.5 normal residuals at
# the worst joint. Faults of the FER recordings that nothing else shows begin at 1.9.
_USUAL = 1.75


_SCALE: Fault = ('gain', ())
_LOAD: Fault = ('load', ())


@dataclass(frozen=True)
class Cause:
    """
    A fault of the recordings that explains the residuals, or a question about them.

    `kind` and `joints` (indices from 0; of 'load' the quarter of the recording in which a load
    comes or goes, or none) are those of `sums.Fault`; 'contact', 'unusual' and 'hidden' come
    beside them. `values`, by kind: of 'gain' the ratio of recorded to real effort, of 'drift' this
    ratio at the beginning and the end, of 'delay' the time by which efforts are late [s], of
    'gravity' the components of gravity in the space frame [m/s^2], of 'load' mass [kg] and first
    moment in the flange frame [kg m], of 'zero' the error of the recorded position [rad], of
    'offset' that of the effort [N m], of 'exchanged' the share that is exchanged (1: all), of
    'contact' the begin of the worst second [s]; of 'unusual' the largest ratio of the starting
    set's residual to the normal one, of 'hidden' the share that a fault leaves of the joint's
    residual. `before` and `after` are residuals on left-out parts without and with it, as
    multiples of normal ones, of 'hidden' this joint's.
    `where` is the recording in which something touched the arm, or the published set with which
    the recordings were compared.
    """

    kind: str
    joints: tuple[int, ...]
    values: tuple[float, ...]
    before: float
    after: float
    where: str = ''

    @property
    def asks(self) -> bool:
        """
        Whether this is a question, and the recordings are sound.

        A real arm's masses may look like a common scale or a load. An offset does no harm to the
        inertias, because the fit has a column for it.
        """
        if (self.kind, self.joints) == _SCALE:
            return _OTHER_UNIT**-1 < self.values[0] < _OTHER_UNIT
        return self.kind in ('offset', 'unusual', 'hidden') or (self.kind, self.joints) == _LOAD


@dataclass(frozen=True, eq=False)
class Verdict:
    """
    What recordings show: faults that explain their residuals, and questions to the user.

    `times` (n,) are residuals of a fit with the default prior on left-out folds, divided by normal
    residuals. `unclear` says that residuals are too large for a sound recording, because some
    fault explains them, though it is not clear which.
    """

    causes: tuple[Cause, ...]
    questions: tuple[Cause, ...]
    times: Array
    unclear: bool = False

    @property
    def abnormal(self) -> tuple[int, ...]:
        """Indices of joints whose residual on unseen parts exceeds five normal residuals."""
        return tuple(int(joint) for joint in np.flatnonzero(self.times > MOST_TIMES))

    @property
    def sound(self) -> bool:
        """Whether there is no fault, named or not, and every joint's residual is normal."""
        return not self.causes and not self.abnormal and not self.unclear


class _LeftOut:
    """
    Fits to all folds but one with the columns of faults, and residuals on the left-out fold.

    The other columns are base parameters and friction; of the offsets only `offsets`, indices.
    """

    def __init__(
        self, sums: Sums, prior: Prior, precision: float, offsets: Sequence[int] = ()
    ) -> None:
        self.prior, self.places = prior, places(prior.model)
        rows, right = prior.rows(precision)
        left = set(_offsets(prior)) - set(offsets)
        self._own = own = [k for k in range(len(right)) if k not in left]
        parts = np.flatnonzero(sums.samples)
        self._samples, self._products = sums.samples.sum(), sums.products[parts]
        weights = 1.0 / (INDEPENDENT * prior.normal**2)
        weighted = np.einsum('j,kjab->kab', weights, self._products)
        known = _FAINT * np.eye(weighted.shape[-1])
        known[np.ix_(own, own)] = (rows.T @ rows)[np.ix_(own, own)]
        known[own, -1] = (rows.T @ right)[own]
        self._equations = weighted.sum(axis=0) - weighted + known
        self._eliminated: dict[tuple[Fault, ...], tuple[list[int], Array, Array]] = {}

    def _without(self, given: tuple[Fault, ...]) -> tuple[list[int], Array, Array]:
        """
        Eliminate the other columns and those of the given faults from each fit's equations.

        Return their indices, their values for each column, and the equations that remain.
        """
        if given not in self._eliminated:
            own = [*self._own, *(k for one in given for k in self.places[one])]
            rows = self._equations[:, own]
            solved = np.linalg.solve(rows[:, :, own], rows)
            remaining = self._equations - self._equations[:, :, own] @ solved
            self._eliminated[given] = own, solved, remaining
        return self._eliminated[given]

    def times(self, faults: Sequence[Fault] = ()) -> tuple[Array, Array]:
        """Return residuals in normal ones, (n,), and the values of the last fault's columns."""
        own, solved, remaining = self._without(tuple(faults[:-1]))
        columns = self.places[faults[-1]] if faults else []
        new = [k for k in columns if k not in own]  # a drift has its gain's column, too
        values = np.zeros(remaining.shape[:2])
        some = remaining[:, new]
        values[:, new] = np.linalg.solve(some[:, :, new], some[:, :, -1:])[..., 0]
        residual = -values
        residual[:, own] = (solved @ values[..., None])[..., 0] - solved[..., -1]
        residual[:, -1] = 1.0
        left = (self._products @ residual[:, None, :, None])[..., 0]
        mean = np.maximum(np.einsum('kja,ka->j', left, residual), 0.0) / self._samples
        return np.sqrt(mean) / self.prior.normal, values[:, columns].mean(axis=0)

    def candidates(self) -> list[Fault]:
        """Return the faults that are not among the other columns, as usual offsets are."""
        own = set(self._own)
        return [one for one, columns in self.places.items() if not own.intersection(columns)]

    def likeliest(self, given: Sequence[Fault]) -> tuple[Fault, Array, float, float, float]:
        """
        Return the fault that lowers the residual most, beside the given ones, and its values.

        Then follow the residuals without it, with it, and with the second best.
        """
        tried = {}
        for one in self.candidates():
            if one not in given:
                times, values = self.times((*given, one))
                tried[one] = size(times), values
        best = min(tried, key=lambda one: tried[one][0] * _PER_COLUMN ** len(tried[one][1]))
        second = min(after for one, (after, _) in tried.items() if not _alike(one, best))
        after, values = tried[best]
        return best, values, size(self.times(given)[0]), after, second


def size(times: Array) -> float:
    """Return one number for the joints' residuals in normal ones (n,): their root mean square."""
    return float(np.sqrt(np.mean(np.maximum(times, _RESOLVED) ** 2)))


def _alike(one: Fault, other: Fault) -> bool:
    """Whether two faults contain each other: gain and drift, or a load at another time."""
    if one[0] == other[0] == 'load':
        return bool(one[1]) == bool(other[1])
    return one == other or (one[1] == other[1] and {one[0], other[0]} == {'gain', 'drift'})


def _clear(before: float, after: float, second: float) -> bool:
    return after < _LESS * before and after < _MARGIN * second


def _cause(fault: Fault, raw: Array, prior: Prior, before: float, after: float) -> Cause:
    """Return a fault with its values in the user's terms (`Cause`) from those of its columns."""
    (kind, joints), known, gravity = fault, prior.reference, prior.model.base.gravity[0]
    values = np.array(raw)
    if kind == 'gain':
        values = 1.0 + raw
    elif kind == 'drift':
        values = 1.0 + raw[0] + raw[1] * np.array([-0.5, 0.5])
    elif kind == 'gravity':
        values = gravity + raw @ directions(gravity)
    where = f'{known.inertial_set} {hand_in_words(known.hand)}'
    return Cause(kind, joints, tuple(values.tolist()), before, after, where)


def _possible(cause: Cause, gravity: Array) -> bool:
    """
    Return whether a fault is one that can be, and not only columns that fit.

    Gravity has the size and a turn that it can have, a load hangs beyond the flange, and efforts
    are exchanged as a whole.
    """
    if cause.kind == 'exchanged':
        return cause.values[0] > _WHOLE
    if cause.kind == 'load':
        mass, *moment = cause.values
        return mass * moment[2] > 0.0 and float(np.linalg.norm(moment)) < _FARTHEST_M * abs(mass)
    if cause.kind != 'gravity':
        return True
    declared, found = float(np.linalg.norm(gravity)), float(np.linalg.norm(cause.values))
    if found < 0.5 * declared:
        return True
    turn = np.arccos(np.clip(gravity @ np.array(cause.values) / (declared * found), -1.0, 1.0))
    return abs(found - declared) < _EARTH * declared and turn > _TURN


def _offsets(prior: Prior) -> list[int]:
    """Return the indices of the torque sensors' offsets among the parameters."""
    first, each = len(prior.root), prior.model.friction.terms
    k = prior.model.friction.symbols.index(OFFSET)
    return [first + k + each * joint for joint in range(prior.model.n)]


def _usual_offsets(sums: Sums, prior: Prior) -> list[int]:
    """Return the indices of offsets that are within their prior, so that they are no fault."""
    rows, right = prior.rows(FITTED)
    every = _offsets(prior)
    information = rows.T @ rows
    information[every, every] = _FAINT
    products, p = sums.weighted(1.0 / (INDEPENDENT * prior.normal**2)), len(right)
    free = np.linalg.solve(products[:p, :p] + information, products[:p, -1] + rows.T @ right)
    return [k for k in every if abs(free[k]) <= LARGE_OFFSET * prior.deviations[k]]


def _unseen(sums: Sums, prior: Prior) -> Array:
    """Return residuals of a fit with the default prior on left-out folds, in normal ones (n,)."""
    theta, b = estimate(sums, prior, PRIOR_PRECISION, prior.normal), len(prior.root)
    friction = np.zeros(sums.products.shape[-1])
    friction[b : len(theta)] = theta[b:]
    rubbing = np.sqrt(sums.of_columns(friction) / sums.count)
    times, _ = _LeftOut(sums, prior, PRIOR_PRECISION, _offsets(prior)).times()
    return np.asarray(times * prior.normal / normal_residual(prior.effort, rubbing))


def _hidden(sums: Sums, prior: Prior) -> Cause | None:
    """
    Return the question whether a fault hides in one joint's residual, or None.

    It does if some fault explains much of this residual, more than inertias alone do, both with
    the default prior and with one so wide that the masses are free. A fault of one joint of seven,
    or a short delay, may change the residual of all joints too little to be named.
    """
    every, gravity = _offsets(prior), prior.model.base.gravity[0]
    fit, wide = (_LeftOut(sums, prior, one, every) for one in (PRIOR_PRECISION, _ANY))
    before = np.maximum(np.minimum(fit.times()[0], wide.times()[0]), _FLOOR)
    found, least = None, _LESS
    for one in fit.candidates():
        times, values = fit.times([one])
        after = np.maximum(np.maximum(times, wide.times([one])[0]), _FLOOR)
        left = after / before * _PER_COLUMN ** len(values)
        joint = int(np.argmin(left))
        if left[joint] < least and _possible(_cause(one, values, prior, 1.0, least), gravity):
            least = float(left[joint])
            found = Cause('hidden', (joint,), (least,), float(before[joint]), float(after[joint]))
    return found


def causes(sums: Sums, prior: Prior) -> tuple[tuple[Cause, ...], bool, float]:
    """
    Return the faults that explain the residuals, at most two, and whether the fault is unclear.

    Then follows the share of the residuals that the best faults leave. The fault is unclear if
    some fault explains much, but not clearly more than others. `prior` is about the starting set.
    No fault is named that inertias explain as well which the fit allows; what shows at one joint
    ('hidden') is only asked. A fault must also show beside the starting set's own inertias, by
    most of its size: two faults together can otherwise look like a third. Two faults of one joint
    are never named: together they fit whatever the joint's model lacks.
    """
    offsets, gravity = _usual_offsets(sums, prior), prior.model.base.gravity[0]
    search = _LeftOut(sums, prior, FITTED, offsets)
    whole = size(search.times()[0])
    fit, wide = (
        _LeftOut(sums, prior, precision, offsets) for precision in (PRIOR_PRECISION, _ANY)
    )
    faults: list[Fault] = []
    found: list[Cause] = []
    count, least = 0, np.inf
    for _ in range(2):
        allowed = size(fit.times(faults)[0])
        fault, values, before, after, second = search.likeliest(faults)
        faults.append(fault)
        found.append(_cause(fault, values, prior, before, after))
        least = min(least, after)
        twice = len(faults) == 2 and faults[0][1] == fault[1] != ()
        if _clear(min(before, allowed), after, second) and not twice:
            count = len(faults)
    held = _LeftOut(sums, prior, _HELD, offsets)
    for k, fault in enumerate(faults[:count]):
        others = [one for one in faults[:count] if one != fault]
        (_, values), (_, shown) = (one.times([*others, fault]) for one in (search, held))
        # Alone, the first fault would take over part of the second one's effect.
        found[k] = _cause(fault, values, prior, found[k].before, found[k].after)
        if shown @ values < _AGREES * (values @ values):
            count = 0
            break
    if not all(_possible(one, gravity) for one in found[:count]):
        count = 0
    unclear = not count and least < _LESS * size(wide.times()[0])
    hidden = None if count or unclear else _hidden(sums, prior)
    if hidden is not None:
        found, count = [hidden], 1
    return tuple(found[:count]), unclear, least / whole


def questions(
    sums: Sums, start: Prior, published: Sequence[Prior], given: Sequence[Fault] = ()
) -> tuple[Cause, ...]:
    """
    Return what published sets ask.

    `start` is the prior about the starting set, `published` are those about published sets. Their
    inertias are held, and friction is fitted, and so are the faults `given`. A common scale and a
    load are compared with all other faults, and the sets after scaling; one is asked for if a set
    then predicts as published sets usually do, a load only if it leaves less than half of the
    residual that a scale leaves. Otherwise the starting set is asked whether it predicts so:
    another set may predict better only because efforts are scaled.
    """
    if not published:
        return ()
    searches = [_LeftOut(sums, prior, _HELD) for prior in published]
    best = min(searches, key=lambda one: size(one.times(given)[0]))
    times = best.times(given)[0]
    least = size(times)
    # Of a load the set that predicts best without it is asked: other sets differ by a hand.
    scaled = min(searches, key=lambda one: size(one.times([*given, _SCALE])[0]))
    after = {
        fault: size(search.times([*given, fault])[0])
        for fault, search in ((_SCALE, scaled), (_LOAD, best))
    }
    asked = min(after, key=lambda fault: after[fault])
    search = scaled if asked == _SCALE else best
    likeliest, values, _, left, second = search.likeliest(given)
    found: list[Cause] = []
    clear = likeliest == asked and _clear(least, left, min(second, max(after.values())))
    cause = _cause(asked, values, search.prior, least, left)
    # A bare arm carries no less than nothing.
    possible = asked == _SCALE or values[0] > 0.0 or search.prior.reference.hand != NO_HAND
    if times.max() > _USUAL and clear and possible and _possible(cause, np.zeros(3)):
        most = np.inf if asked == _SCALE else _OF_SCALE * after[_SCALE]
        if left < most and search.times([*given, asked])[0].max() <= _USUAL:
            found.append(cause)
    if not found:
        times = _LeftOut(sums, start, _HELD).times(given)[0]
        joint = int(np.argmax(times))
        if times[joint] > _USUAL:
            usual = float(times[joint])
            raw = np.array([usual])
            found.append(_cause(('unusual', (joint,)), raw, start, usual, usual))
    return tuple(found)


def seconds(motion: Motion, sums: Sums, prior: Prior) -> tuple[Array, Array]:
    """
    Return the begin of each second of a motion [s] and its rms residual in normal ones.

    The residuals are those of a fit to the motion's own sums, of joints that move. What remains
    after the last full second of a piece is left out.
    """
    theta, count = estimate(sums, prior, FITTED, prior.normal), round(motion.options.rate)
    begins, sizes = [], []
    for piece in motion.pieces():
        residual = piece.effort - prior.model.torque(piece, theta)
        # A constant offset does not count as contact, nor does the residual of a joint at rest,
        # whose static friction is unknown.
        squares = ((residual - residual.mean(axis=0)) / prior.normal) ** 2
        off = np.mean(np.where(np.abs(piece.dq) > _SLIDES, squares, 0.0), axis=1)
        whole = len(off) // count * count
        begins.append(piece.time[:whole:count])
        sizes.append(np.sqrt(off[:whole].reshape(-1, count).mean(axis=1)))
    return np.concatenate(begins), np.concatenate(sizes)


def contact(begins: Array, sizes: Array, where: str, left: float) -> Cause | None:
    """
    Return the cause 'contact' if a few seconds explain the residuals, or None.

    The seconds are those with at least half the worst one's residual. They explain the residuals
    as any other fault does: without them the residual is clearly smaller, and clearly smaller
    than the share `left` that the best other faults leave.
    """
    touched = sizes > 0.5 * sizes.max(initial=0.0)
    if not len(sizes) or touched.mean() > _TOUCHED:  # what lasts, such as a load, is no contact
        return None
    before, after = size(sizes), size(sizes[~touched])
    if not _clear(before, after * _PER_COLUMN ** np.count_nonzero(touched), left * before):
        return None
    return Cause('contact', (), (float(begins[np.argmax(sizes)]),), before, after, where)


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
    its hand are asked. `each` has begins and sizes (`seconds`) and the name of each recording.
    """
    # A set with a hand hides a load of its mass.
    hand = prior.reference.hand
    published = [one for one in published if one.reference.hand == hand]
    explained, unclear, left = causes(sums, prior)
    found = tuple(one for one in explained if not one.asks)
    asked = tuple(one for one in explained if one.asks)
    if not found and not any(one.kind in ('gain', 'load') for one in asked):
        touched = [contact(*one, left) for one in each]
        found = tuple(one for one in touched if one is not None)
        if not (found or unclear):
            given = [(one.kind, one.joints) for one in asked if one.kind == 'offset']
            told = questions(sums, prior, published, given)
            found = tuple(one for one in told if not one.asks)
            asked = (*asked, *told)
    if found:
        asked = ()
    return Verdict(found, asked, _unseen(sums, prior), unclear)
