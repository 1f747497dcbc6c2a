# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
What would explain the torque that a fit leaves: faults of a log that a number or two describe.

Each candidate changes the recorded torques or adds columns to the regressor, and everything is
fitted again, under the same prior. All are linear in columns that the samples' factors hold beside
the regressor (`witnesses`), so that no recording is read twice:

- another gain of one joint's effort: a multiple of that joint's torque by the starting set;
- another sign of one joint's effort; the efforts of two joints exchanged;
- effort that is late or early, by its Taylor series to second order;
- a torque Ia ddq of each joint's rotor;
- gravity that points elsewhere, by the starting set's weight;
- a load on the flange that came or went between two stretches of a recording.

Nothing is applied. Every joint counts with the residual that such joints usually leave, because
what friction columns cannot describe is of that size and lasts longer than noise: the deviation of
a gain or a delay is then what such errors allow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from .joint_scale import scale_column
from .prior import Prior
from .samples import Part, QRFactors, total
from .solve import estimate, Noise, solve
from .torque_model import usual_residual
from .witnesses import ACCELERATION, CURVATURE, LEVEL, level, RATE
from ..recordings.mounted import unit_loads
from ..recordings.preprocessing import Motion
from ..typing import Array

# By how much the residuals must shrink: the sum over the joints of log(before / after). On sound
# logs (two FER, four runs of a UR10e, a TX40, 16 simulated FR3) a load reaches 0.1, a tilt and an
# exchange less; efforts exchanged reach 5 to 19, 0.3 kg halfway 2.9, gravity off by 10 degrees 11.
_CLEAR = {'sign': 0.4, 'exchanged': 0.5, 'delay': 0.0, 'tilt': 0.5, 'load': 0.5, 'contact': 1.0}
# The least that is a fault: a gain's logarithm, seconds, degrees, kilograms.
_LEAST = {'gain': 0.15, 'delay': 0.005, 'tilt': 2.0, 'load': 0.2}
# A gain or a delay must be this many of its deviations. Sound logs (two FER, 16 simulated FR3 with
# friction that no column describes) have gains up to a logarithm of 0.14 and 1.3 deviations.
_DEVIATIONS = 1.5
# Rotor inertia is no fault of a log: real arms have it. It is said from here on, and the other
# candidates are then tried beside it.
_ROTORS_BETTER = 0.3
# Residuals below this part of what such joints usually leave count as that.
_RESOLVED, _FINELY = 0.25, 0.02
_FIRST_DELAYS_S, _DELAY_ROUNDS = (-0.06, 0.0, 0.06), 4
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
        'gain', 'sign', 'exchanged', 'delay', 'rotors', 'tilt', 'load' or 'contact'.
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
        The same with a much smaller part: which of several candidates fits best.
    deviation : float
        Standard deviation of the size of a gain or a delay; zero for others.

    """

    kind: str
    values: tuple[float, ...]
    joints: tuple[int, ...]
    where: str
    before: Array
    after: Array
    better: float
    likely: float
    deviation: float = 0.0

    @property
    def is_fault(self) -> bool:
        """Whether it is a fault of the log, large and clear enough to be one."""
        if self.kind == 'rotors':
            return False
        return self.size >= self.least and self.better > _CLEAR.get(self.kind, -np.inf)

    @property
    def least(self) -> float:
        """How large it must be at least, in the units of _LEAST."""
        return max(_LEAST.get(self.kind, 0.0), _DEVIATIONS * self.deviation)

    @property
    def size(self) -> float:
        """How large the fault is, in the units of _LEAST."""
        if self.kind not in _LEAST:
            return 0.0
        first = self.values[0]
        if self.kind == 'gain':
            return abs(np.log(first)) if first > 0.0 else 1.0 - first
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
    scales_known: bool = True
    rotors: bool = False

    @cached_property
    def whole(self) -> QRFactors:
        return total(part.factors for part in self.parts)

    @cached_property
    def before(self) -> Array:
        """What is left without any candidate, shape (n,)."""
        return self.left(self.whole)[0]

    def left(self, factors: QRFactors) -> tuple[Array, Array, Array]:
        """
        Return the root mean square left of each joint, (n,), and the candidate's parameters.

        Parameters
        ----------
        factors : QRFactors
            Of the changed samples; base columns beyond the model's are the candidate's own.

        Returns
        -------
        tuple of ndarray, shapes (n,), (k,) and (k,)
            [N m]; the parameters of the candidate's own columns; their standard deviations.

        """
        b = len(self.prior.model.base)
        own = factors.base_count - b
        if self.rotors:
            factors = factors.with_shared(_rotor_columns(factors))
        more = factors.base_count - b
        known, center = self.prior.rows(self.regularization)
        friction = np.arange(b, len(known))
        left, braking = self.noise.deviation, self.prior.model.friction.braking
        for _ in range(_ROUNDS):
            noise = replace(self.noise, deviation=np.maximum(left, self.usual))
            triangle, effort = factors.weighted(noise.weights)
            rows = np.insert(known, np.full(more, b), 0.0, axis=1)
            faint = np.zeros((more, rows.shape[1]))
            faint[:, b : b + more] = _FAINT * (1.0 + np.linalg.norm(triangle)) * np.eye(more)
            found = solve([(triangle, effort), (rows, center), (faint, np.zeros(more))])
            left = np.sqrt(factors.squares(found.theta) / factors.samples)
            # Friction that would drive is held near zero, as the arm that is written has it: else
            # the effort of a joint that feels its friction alone would fit with either sign.
            driving = friction[braking & (found.theta[b + more :] < 0.0)]
            known[driving, driving] *= _HELD
        return left, found.theta[b : b + own], found.deviations[b : b + own]

    def tried(
        self, kind: str, factors: QRFactors, joints: tuple[int, ...] = (), where: str = ''
    ) -> Explanation:
        """Return a candidate; its values are the parameters of its own columns."""
        after, values, deviations = self.left(factors)
        shrunk = _shrunk(self.before, after, self.usual)
        spread = float(deviations[0]) if len(deviations) else 0.0
        return Explanation(
            kind, tuple(values.tolist()), joints, where, self.before, after, *shrunk, spread
        )

    @cached_property
    def gains(self) -> tuple[Explanation, ...]:
        """Gains of the joints' efforts, where the motion shows them."""
        if not self.scales_known:
            return ()
        shown = self.whole.shown
        joints = range(self.prior.model.n) if shown is None else np.flatnonzero(shown).tolist()
        return tuple(map(self.with_gain, joints))

    def with_gain(self, joint: int) -> Explanation:
        """Return the candidate that a joint's effort is a multiple of its torque."""
        column = scale_column(self.whole, self.prior, joint)
        found = self.tried('gain', self.whole.with_shared(column), (joint,))
        gain = 1.0 + found.values[0]
        # The deviation is that of the gain's logarithm, which a negative gain does not have.
        relative = gain if gain > 0.0 else 1.0
        return replace(found, values=(gain,), deviation=found.deviation / relative)

    def delayed(self, first: float) -> Explanation:
        """Return the candidate that efforts are late, found from a first guess [s]."""
        n, beside, delay = self.prior.model.n, self.whole.beside, first
        rate, curvature = beside[:, :, n + RATE], beside[:, :, n + CURVATURE]
        for _ in range(_DELAY_ROUNDS):
            moved = self.whole.effort + delay * rate + 0.5 * delay**2 * curvature
            column = -(rate + delay * curvature)[:, :, None]
            found = self.tried('delay', self.whole.with_effort(moved).with_shared(column))
            delay += found.values[0]
        return replace(found, values=(delay,))

    def rotating(self) -> Explanation:
        """Return the candidate that rotors have inertia."""
        return self.tried('rotors', self.whole.with_shared(_rotor_columns(self.whole)))

    def faults(self) -> Iterator[Explanation]:
        """Yield the best candidate of each kind of fault."""
        n, whole = self.prior.model.n, self.whole
        yield from self.gains
        for joint in range(n):
            turned = whole.scaled(np.where(np.arange(n) == joint, -1.0, 1.0))
            yield self.tried('sign', turned, (joint,))
        for one, other in combinations(range(n), 2):
            effort = whole.effort.copy()
            effort[one], effort[other] = whole.beside[one, :, other], whole.beside[other, :, one]
            yield self.tried('exchanged', whole.with_effort(effort), (one, other))
        yield max(map(self.delayed, _FIRST_DELAYS_S), key=_likely)
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
    gains : tuple of Explanation
        The gain of each joint's effort that fits best, fault or not; of joints whose motion does
        not show it, none.
    fault : Explanation or None
        The fault of the log that explains it.
    rotors : Explanation or None
        What rotor inertia would explain, if it is not identified.
    scale_doubts : tuple of str
        Why scales that were found for efforts cannot be believed, one sentence each.

    """

    times: Array
    gains: tuple[Explanation, ...]
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
    *,
    scales_known: bool = True,
) -> Diagnosis:
    """
    Return whether unseen residuals are usual, and what explains them.

    Parameters
    ----------
    unseen : ndarray, shape (n,)
        Root mean square of each joint's residual on what was left out [N m].
    parts : sequence of Part
        Stretches of all recordings with their `witnesses`, efforts torques [N m].
    prior, regularization
        Of the fit.
    noise : Noise
        Of the joints.
    theta : ndarray, shape (p,)
        What was fitted to all parts.
    scales_known : bool
        Whether efforts are torques by scales that were not found from these parts themselves.

    """
    whole = total(part.factors for part in parts)
    b, k = whole.base_count, whole.terms
    friction = np.einsum('jrk,jk->jr', whole.r_factors[:, :, b : b + k], theta[b:].reshape(-1, k))
    rubbing = np.linalg.norm(friction, axis=1) / np.sqrt(whole.samples)
    usual = usual_residual(prior.effort, rubbing)
    search = _Search(parts, prior, regularization, noise, usual, scales_known)
    rotors: Explanation | None = search.rotating()
    assert rotors is not None
    if prior.model.base.rotor_inertia or rotors.better < _ROTORS_BETTER:
        rotors = None
    best = _best(search)
    if rotors is not None and (best is None or rotors.better >= best.better):
        best = _best(replace(search, rotors=True))
    elif best is not None:
        rotors = None
    return Diagnosis(unseen / usual, search.gains, best, rotors)


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
        As for `diagnose`.

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
