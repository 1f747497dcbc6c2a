# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
What would explain the torque that a fit leaves: faults of a log that a number or two describe.

Each candidate changes the recorded torques or adds columns to the regressor, and everything is
fitted again. All are linear in columns that the samples' factors hold besides the regressor
(`witnesses`), so that no recording is read twice:

- another gain or sign of one joint's effort; the efforts of two joints exchanged;
- effort that is late or early, by its Taylor series to second order;
- a torque Ia ddq of each joint's rotor;
- gravity that points elsewhere, by the starting set's weight;
- a load on the flange that came or went between two stretches of a recording.

Nothing is applied. A candidate counts by the logarithm of how much smaller the joints' residuals
become (the gain in log likelihood of a sample whose deviation is fitted as well).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from .prior import Prior
from .samples import Part, QRFactors, total
from .solve import estimate, Noise, solve
from .torque_model import usual_residual
from .witnesses import ACCELERATION, CURVATURE, LEVEL, level, RATE
from ..recordings.mounted import unit_loads
from ..recordings.preprocessing import Motion
from ..typing import Array

# A fault shrinks the residuals by more than exp(clear) in all, and is larger than this: a gain's
# logarithm, seconds, degrees, kilograms. On sound logs (two FER, four runs of
# a UR10e, a TX40, 16 simulated FR3) gains of any size reach 0.2, a load 0.1, a delay 0.1, a tilt
# and an exchange less; a gain of 0.8 to 2 on joints that carry something 0.5 to 12, efforts
# exchanged 5 to 19, 10 ms of delay 0.4 to 1.1, 0.3 kg halfway 2.9, gravity off by 10 degrees 11.
_CLEAR = {'gain': 0.4, 'exchanged': 0.5, 'delay': 0.3, 'tilt': 0.5, 'load': 0.5, 'contact': 1.0}
_LARGE = {'gain': 0.17, 'exchanged': 0.0, 'delay': 0.008, 'tilt': 2.0, 'load': 0.2, 'contact': 0.0}
# Rotor inertia is no fault of a log: real arms have it. It is said from here on, and the other
# candidates are then tried beside it.
_ROTORS_BETTER = 0.3
# Residuals below this part of what such joints usually leave count as that.
_RESOLVED, _FINELY = 0.25, 0.02
_GAINS = tuple(
    sign * size for sign in (1, -1) for size in (0.4, 0.5, 0.63, 0.8, 1.25, 1.6, 2, 2.5)
)
_DELAYS_S = tuple(0.01 * k for k in range(-10, 11) if k)
_MOST_BAGS = 10  # in which a load is looked for
_ROUNDS = 3  # of weights, and of friction that must brake, in turn
_HELD = 1e4  # by which the prior of friction that would drive is stronger
# Contact: how far a residual is beyond the median, what is taken along on either side, and how
# much of a recording may be.
_CONTACT_ROUNDS, _CONTACT_FACTOR, _CONTACT_MARGIN_S, _CONTACT_PART = 4, 12.0, 0.2, 0.3
_FAINT = 1e-9  # prior of a candidate's own columns, relative to the samples


@dataclass(frozen=True, eq=False)
class Explanation:
    """
    One fault that a log may have, and what a fit that allows for it leaves.

    Attributes
    ----------
    kind : str
        'gain', 'exchanged', 'delay', 'rotors', 'tilt', 'load' or 'contact'.
    values : tuple of float
        What was fitted: the gain; seconds; rotor inertias [kg m^2]; parts of gravity along the
        two directions of `level`; mass [kg] and first moment [kg m] of a load; seconds from and
        to of each contact.
    joints : tuple of int
        The joints that are meant, if not all.
    where : str
        From which stretch on, or in which bag.
    before, after : ndarray, shape (n,)
        Root mean square of each joint's residual without and with it [N m].
    better : float
        Sum over the joints of log(before / after), residuals below a part of what such joints
        leave counting as that.
    likely : float
        The same with a much smaller part: which of several values fits best.

    """

    kind: str
    values: tuple[float, ...]
    joints: tuple[int, ...]
    where: str
    before: Array
    after: Array
    better: float
    likely: float

    @property
    def is_fault(self) -> bool:
        """Whether it is a fault of the log, large and clear enough to be one."""
        return (
            self.kind in _CLEAR
            and self.better > _CLEAR[self.kind]
            and self._size > _LARGE[self.kind]
        )

    @property
    def _size(self) -> float:
        """How large the fault is, in the units of _LARGE."""
        if self.kind in ('exchanged', 'contact'):
            return 1.0
        first = self.values[0]
        if self.kind == 'gain':
            return float(abs(np.log(first))) if first > 0.0 else np.inf
        if self.kind == 'tilt':
            return float(np.degrees(np.arctan(np.hypot(first, self.values[1]))))
        return abs(first)


@dataclass(frozen=True, eq=False)
class _Search:
    """The samples, what they are fitted with, and the columns every candidate has beside."""

    parts: Sequence[Part]
    prior: Prior
    regularization: float
    noise: Noise
    usual: Array
    rotors: bool = False

    @cached_property
    def whole(self) -> QRFactors:
        return total(part.factors for part in self.parts)

    @cached_property
    def before(self) -> Array:
        """What is left without any candidate, shape (n,)."""
        return self.left(self.whole)[0]

    def left(self, factors: QRFactors, gain: Array | float = 1.0) -> tuple[Array, Array]:
        """
        Return the root mean square left of each joint, (n,), and the candidate's parameters.

        Parameters
        ----------
        factors : QRFactors
            Of the changed samples; base columns beyond the model's are the candidate's own.
        gain : ndarray, shape (n,)
            What their torques were divided by: what is left counts as it was recorded.

        """
        b = len(self.prior.model.base)
        own = factors.base_count - b
        if self.rotors:
            factors = factors.with_shared(_rotor_columns(factors))
        more = factors.base_count - b
        known, center = self.prior.rows(self.regularization)
        friction = np.arange(b, len(known))
        noise, braking = self.noise, self.prior.model.friction.braking
        for _ in range(_ROUNDS):
            triangle, effort = factors.weighted(noise.weights * gain)
            rows = np.insert(known, np.full(more, b), 0.0, axis=1)
            faint = np.zeros((more, rows.shape[1]))
            faint[:, b : b + more] = _FAINT * (1.0 + np.linalg.norm(triangle)) * np.eye(more)
            theta = solve([(triangle, effort), (rows, center), (faint, np.zeros(more))]).theta
            left = gain * np.sqrt(factors.squares(theta) / factors.samples)
            noise = replace(noise, deviation=np.maximum(left, _RESOLVED * self.usual))
            # Friction that would drive is held near zero, as the arm that is written has it: else
            # the effort of a joint that feels its friction alone would fit with either sign.
            driving = friction[braking & (theta[b + more :] < 0.0)]
            known[driving, driving] *= _HELD
        return np.asarray(left), theta[b : b + own]

    def tried(
        self,
        kind: str,
        factors: QRFactors,
        values: tuple[float, ...] | None = None,
        joints: tuple[int, ...] = (),
        where: str = '',
        gain: Array | float = 1.0,
    ) -> Explanation:
        """Return a candidate; its values are what is fitted if they are not given."""
        after, fitted = self.left(factors, gain)
        found = tuple(fitted.tolist()) if values is None else values
        shrunk = _shrunk(self.before, after, self.usual)
        return Explanation(kind, found, joints, where, self.before, after, *shrunk)

    def with_gain(self, joint: int, gain: float) -> Explanation:
        """Return the candidate that a joint's effort was recorded `gain` times too large."""
        each = np.ones(self.prior.model.n)
        each[joint] = gain
        factors = self.whole.scaled(1.0 / each)
        return self.tried('gain', factors, (gain,), (joint,), gain=np.abs(each))

    def delayed(self, delay: float) -> Explanation:
        """Return the candidate explanation that efforts are delayed [s]."""
        n, beside = self.prior.model.n, self.whole.beside
        moved = delay * beside[:, :, n + RATE] + 0.5 * delay**2 * beside[:, :, n + CURVATURE]
        factors = self.whole.with_effort(self.whole.effort + moved)
        return self.tried('delay', factors, (delay,))

    def rotating(self) -> Explanation:
        """Return the candidate that rotors have inertia."""
        return self.tried('rotors', self.whole.with_shared(_rotor_columns(self.whole)))

    def faults(self) -> Iterator[Explanation]:
        """Yield the best candidate of each kind of fault."""
        n, whole = self.prior.model.n, self.whole
        yield _refined(
            max(
                (self.with_gain(joint, gain) for joint in range(n) for gain in _GAINS),
                key=_likely,
            ),
            lambda found, change: self.with_gain(
                found.joints[0], found.values[0] * float(np.exp(change))
            ),
            0.25,
        )
        for one, other in combinations(range(n), 2):
            effort = whole.effort.copy()
            effort[one], effort[other] = whole.beside[one, :, other], whole.beside[other, :, one]
            yield self.tried('exchanged', whole.with_effort(effort), (), (one, other))
        yield _refined(
            max(map(self.delayed, _DELAYS_S), key=_likely),
            lambda found, change: self.delayed(found.values[0] + change),
            0.01,
        )
        yield self.tried('tilt', whole.with_shared(whole.beside[:, :, n:][:, :, LEVEL]))
        yield from self._loads()

    def _loads(self) -> Iterator[Explanation]:
        """Yield a load that came or went, for each boundary of stretches inside a bag."""
        base = self.prior.model.base
        arm = self.prior.reference
        none, b = base.values(arm), len(base)
        loads = np.column_stack([base.values(one) - none for one in unit_loads(arm)])
        bags = list(dict.fromkeys(part.bag for part in self.parts))[:_MOST_BAGS]
        for k, part in enumerate(self.parts):
            if k == 0 or part.bag not in bags or self.parts[k - 1].bag != part.bag:
                continue
            loaded = [later for later in self.parts[k:] if later.bag == part.bag]
            rest = [other for other in self.parts if other not in loaded]
            held, free = (total(one.factors for one in some) for some in (loaded, rest))
            none_there = np.zeros((len(held.r_factors), held.r_factors.shape[1], 4))
            both = free.with_shared(none_there) + held.with_shared(
                held.r_factors[:, :, :b] @ loads
            )
            yield self.tried('load', both, where=part.name)


def explanations(
    parts: Sequence[Part], prior: Prior, regularization: float, noise: Noise, usual: Array
) -> tuple[Explanation | None, Explanation | None]:
    """
    Return the fault of a log that explains what a fit leaves, and what rotor inertia explains.

    Parameters
    ----------
    parts : sequence of Part
        Stretches of all recordings with their `witnesses`, efforts torques [N m].
    prior, regularization
        Of the fit.
    noise : Noise
        Of the joints.
    usual : ndarray, shape (n,)
        What such joints leave, `usual_residual` [N m].

    Returns
    -------
    tuple of (Explanation or None, Explanation or None)
        None where nothing does.

    """
    search = _Search(parts, prior, regularization, noise, usual)
    rotors: Explanation | None = search.rotating()
    assert rotors is not None
    if prior.model.base.rotor_inertia or rotors.better < _ROTORS_BETTER:
        rotors = None
    best = _best(search)
    if rotors is not None and (best is None or rotors.better >= best.better):
        return _best(replace(search, rotors=True)), rotors
    return best, rotors if best is None else None


def _best(search: _Search) -> Explanation | None:
    return max((one for one in search.faults() if one.is_fault), key=_likely, default=None)


def _likely(one: Explanation) -> float:
    return one.likely


def _shrunk(before: Array, after: Array, usual: Array) -> tuple[float, float]:
    """Return sums of log(before / after), residuals resolved to two parts of the usual ones."""
    each = (
        np.log(np.maximum(before, part * usual) / np.maximum(after, part * usual)).sum()
        for part in (_RESOLVED, _FINELY)
    )
    better, likely = map(float, each)
    return better, likely


def _refined(
    found: Explanation, changed: Callable[[Explanation, float], Explanation], width: float
) -> Explanation:
    """Return the best of the candidates around one, by golden section."""
    from scipy.optimize import minimize_scalar  # which fitting friction alike has asked for

    if not found.better > 0.0:
        return found  # nothing to refine
    best = minimize_scalar(
        lambda change: -changed(found, change).likely,
        bounds=(-width, width),
        method='bounded',
        options={'xatol': 0.01 * width},
    )
    return max(found, changed(found, float(best.x)), key=_likely)


def _rotor_columns(factors: QRFactors) -> Array:
    """Return a column for each joint that holds its own acceleration, (n, rows, n)."""
    n, rows = factors.r_factors.shape[:2]
    columns = np.zeros((n, rows, n))
    joints = np.arange(n)
    columns[joints, :, joints] = factors.beside[:, :, n + ACCELERATION]
    return columns


def tilted_gravity(prior: Prior, explanation: Explanation) -> Array:
    """Return the gravity vector that an explanation of kind 'tilt' found, (3,) [m/s^2]."""
    gravity = prior.model.base.gravity[0]
    along = gravity + np.asarray(explanation.values[:2]) @ level(prior.model)
    return np.asarray(along * np.linalg.norm(gravity) / np.linalg.norm(along))


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """
    Whether what is left of unseen torque is what such joints leave, and if not, why.

    Attributes
    ----------
    times : ndarray, shape (n,)
        Each joint's unseen residual as a multiple of what such joints leave.
    fault : Explanation or None
        The fault of the log that explains it.
    rotors : Explanation or None
        What rotor inertia would explain, if it is not identified.
    scale_doubts : tuple of str
        Why scales that were found for efforts cannot be believed, one sentence each.

    """

    times: Array
    fault: Explanation | None = None
    rotors: Explanation | None = None
    scale_doubts: tuple[str, ...] = ()

    @property
    def odd_joints(self) -> tuple[int, ...]:
        """Joints that leave far more than such joints do."""
        return tuple(int(joint) for joint in np.flatnonzero(self.times > MOST_TIMES))

    @property
    def sound(self) -> bool:
        """Whether nothing speaks against the recordings."""
        return self.fault is None and not self.odd_joints and not self.scale_doubts


# Sound logs stay below: the worst joints of two FER leave 0.4 times what such joints do, of a
# UR10e 1.3 times, of a TX40 with a coupled wrist that is not modelled 2.4 times.
MOST_TIMES = 5.0


def diagnose(
    unseen: Array,
    parts: Sequence[Part],
    prior: Prior,
    regularization: float,
    noise: Noise,
    theta: Array,
) -> Diagnosis:
    """
    Return whether unseen residuals are usual, and what explains them.

    Parameters
    ----------
    unseen : ndarray, shape (n,)
        Root mean square of each joint's residual on what was left out [N m].
    parts, prior, regularization, noise
        As for `explanations`.
    theta : ndarray, shape (p,)
        What was fitted to all parts.

    """
    whole = total(part.factors for part in parts)
    b, k = whole.base_count, whole.terms
    friction = np.einsum('jrk,jk->jr', whole.r_factors[:, :, b : b + k], theta[b:].reshape(-1, k))
    rubbing = np.linalg.norm(friction, axis=1) / np.sqrt(whole.samples)
    usual = usual_residual(prior.effort, rubbing)
    found = explanations(parts, prior, regularization, noise, usual)
    return Diagnosis(unseen / usual, *found)


def contacts(
    motion: Motion, where: str, prior: Prior, regularization: float, noise: Noise
) -> Explanation | None:
    """
    Return the intervals of a motion that hold most of what is left, if there are such.

    They are where the residual, fitted without them, is far beyond its median.

    Parameters
    ----------
    motion : Motion
        Its efforts torques [N m].
    where : str
        The bag's name.
    prior, regularization, noise
        As for `explanations`.

    """
    model = prior.model
    usual = usual_residual(prior.effort, np.zeros(model.n))
    touched = np.zeros(len(motion), dtype=bool)
    start: Array | None = None
    for _ in range(_CONTACT_ROUNDS):
        factors = QRFactors.of(model, motion.part(~touched))
        theta = estimate(factors.weighted(noise.weights), prior, regularization).theta
        residual = motion.effort - model.torque(motion, theta)
        start = residual if start is None else start
        size = np.sum((residual / usual) ** 2, axis=1)
        far = size > _CONTACT_FACTOR * np.median(size)
        window = 1 + 2 * round(_CONTACT_MARGIN_S * motion.options.rate)
        touched = np.convolve(far, np.ones(window), mode='same') > 0.5
        if not far.any() or touched.mean() > _CONTACT_PART:
            return None
    assert start is not None
    before, after = (np.sqrt(np.mean(one**2, axis=0)) for one in (start, residual[~touched]))
    edges = np.flatnonzero(np.diff(np.concatenate([[False], touched, [False]]).astype(int)))
    ends = np.minimum(edges, len(motion) - 1)
    found = Explanation(
        'contact',
        tuple(motion.time[ends].tolist()),
        (),
        where,
        before,
        after,
        *_shrunk(before, after, usual),
    )
    return found if found.is_fault else None
