# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Search for simple faults of recordings that explain the residual torque of a fit.

Each candidate fault changes the recorded efforts or adds columns to the regressor. All parameters
are fitted again with the candidate, under the same prior, and the residuals with and without the
candidate are compared. The columns were stored beside the regressor (`witnesses`), so that no
recording is read again for the following candidates:

- wrong gain of one joint's effort: the column is the joint's rigid-body torque, computed with the
  starting set;
- wrong sign of one joint's effort, or the efforts of two joints exchanged;
- effort delayed or early: the effort's Taylor series in time, to second order;
- rotor inertias: a torque Ia ddq of each joint;
- tilted gravity: the starting set's gravity torques under two horizontal accelerations;
- a load that was put on the flange or taken off between two stretches of a recording.

Contacts of the arm are searched for sample by sample (`contacts`). Faults are reported, never
corrected.

A joint's weight follows from its own residual or from its normal residual (`normal_residual`),
whichever is larger. Normal residuals contain errors of the model, so the standard deviations of
fitted faults include these errors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from .joint_scale import scale_column
from .prior import Prior
from .samples import Part, QRFactors, total, with_load
from .solve import estimate, Noise, solve
from .torque_model import MASS_AND_MOMENT, normal_residual
from .witnesses import ACCELERATION, CURVATURE, LEVEL, level, RATE
from ..recordings.preprocessing import Motion
from ..typing import Array

# Threshold by kind that `Explanation.better` (of gains: `likely`) of a reported fault exceeds. On
# sound bags (two FER, four runs of a UR10e, a TX40, 16 simulated FR3) `better` of 'load' is up to
# 0.1, of 'tilt' and 'exchanged' less. On faulty bags `better` is 5 to 19 for exchanged efforts,
# 2.9 for a load of 0.3 kg from the middle on, 11 for gravity tilted by 10 degrees. If the effort
# of any of the joints 1 to 6 of two FER is multiplied by 0.8 or 1.25, `likely` is at least 0.08;
# for the gain of 6.9 that is fitted to the TX40's coupled wrist, `likely` is 0.01.
_CLEAR = {
    'gain': 0.03,
    'sign': 0.4,
    'exchanged': 0.5,
    'delay': 0.0,
    'tilt': 0.5,
    'load': 0.5,
    'contact': 1.0,
}
# Smallest reported fault: logarithm of a gain, delay [s], tilt [degrees], mass of a load [kg].
_LEAST = {'gain': 0.15, 'delay': 0.005, 'tilt': 2.0, 'load': 0.2}
# A fault smaller than _DEVIATIONS times its standard deviation is not reported. On sound bags (two
# FER, 16 simulated FR3) no fitted gain's logarithm is above 0.14 or 1.2 standard deviations. Gains
# of 0.8 and 1.25 at the joints 1 to 6 of two FER are found with a logarithm of at least 0.16, and
# of at least 1.57 standard deviations.
_DEVIATIONS = 1.5
# Rotor inertia is no fault of a bag: real arms have it. Rotor inertia is reported if its `better`
# reaches _ROTORS_BETTER and is not below that of the likeliest fault; all faults are then tried
# again with rotor inertias in the fit.
_ROTORS_BETTER = 0.3
# For `better` residuals are raised to at least _RESOLVED times, for `likely` to _FINELY times the
# normal residual, because lowering an already small residual explains nothing.
_RESOLVED, _FINELY = 0.25, 0.02
_FIRST_DELAYS_S, _DELAY_ROUNDS = (-0.06, 0.0, 0.06), 4
_MOST_BAGS = 10  # number of bags in which a change of load is searched for
_ROUNDS = 3  # rounds, each with new weights and negative friction of the last round held near zero
_HELD = 1e4  # factor on the prior's rows of negative friction parameters
# Contact is assumed while the squared residual is above _CONTACT_FACTOR times its median, and for
# a margin before and after. If contact is assumed in more than _CONTACT_SHARE of a recording, the
# fit is taken as bad and no contact reported.
_CONTACT_ROUNDS, _CONTACT_FACTOR, _CONTACT_MARGIN_S, _CONTACT_SHARE = 4, 12.0, 0.2, 0.3
_FAINT = 1e-9  # weight of the prior about zero on a candidate's parameters, relative to samples


@dataclass(frozen=True, eq=False)
class Explanation:
    """
    A possible fault of a recording, and the residuals of a fit that includes the fault.

    `kind` is 'gain', 'sign', 'exchanged', 'delay', 'rotors', 'tilt', 'load' or 'contact', `joints`
    are the indices of the faulty joints (for the first three kinds, else empty), and `where` is
    the first stretch after a change of load, or the bag with contacts.

    `values` are fitted, by kind. 'gain': recorded effort over torque. 'delay': by how much efforts
    are late [s]. 'rotors': rotor inertias [kg m^2]. 'tilt': components of gravity along the two
    accelerations of `level`, relative to gravity. 'load': mass [kg] and first moment in the flange
    frame [kg m]. 'contact': begin and end of each contact in the times of the motion [s].
    `deviation` is the standard deviation of the first of `values` (for a positive gain, of its
    logarithm), or 0 for the kinds 'sign', 'exchanged' and 'contact'.

    `before` and `after` (n,) are root mean squares of each joint's residual without and with the
    fault in the fit [N m]; for contacts, over all samples and over the samples without contact.
    `better` is the sum over the joints of log(before / after), where residuals below a quarter of
    the normal residual are raised to that quarter. `likely` is the same sum with 2 % in place of a
    quarter. A fault is reported only if `better` (of a gain: `likely`) exceeds a threshold; of
    several such faults the one with the largest `likely` is reported.
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
    def spread(self) -> float:
        """Standard deviation of `values[0]`: of a gain itself, not of its logarithm."""
        gain = self.kind == 'gain' and self.values[0] > 0.0
        return self.deviation * self.values[0] if gain else self.deviation

    @property
    def is_fault(self) -> bool:
        """Whether this is a fault to report: not 'rotors', large, with clearly lower residuals."""
        if self.kind == 'rotors':
            return False
        shrunk = self.likely if self.kind == 'gain' else self.better
        return self.size >= self.least and shrunk > _CLEAR[self.kind]

    @property
    def least(self) -> float:
        """Smallest `size` that counts as a fault, in the unit of `size`."""
        deviation = np.degrees(self.deviation) if self.kind == 'tilt' else self.deviation
        return max(_LEAST.get(self.kind, 0.0), float(_DEVIATIONS * deviation))

    @property
    def size(self) -> float:
        """Size: |log gain| (1 - gain if negative), |delay| [s], tilt [deg], |load| [kg], or 0."""
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
    """
    The samples and settings with which every candidate fault is fitted.

    `normal` is each joint's normal residual (n,) [N m]. Gains of efforts are tried only if
    `scales_known`; with `rotors` every fit includes rotor inertias.
    """

    parts: Sequence[Part]
    prior: Prior
    regularization: float
    noise: Noise
    normal: Array
    scales_known: bool = True
    rotors: bool = False

    @cached_property
    def whole(self) -> QRFactors:
        """The QR factors of all parts together."""
        return total(part.factors for part in self.parts)

    @cached_property
    def before(self) -> Array:
        """Each joint's root mean square residual in a fit without any fault, shape (n,) [N m]."""
        return self.fitted(self.whole)[0]

    def fitted(self, factors: QRFactors) -> tuple[Array, Array, Array]:
        """
        Fit all parameters to `factors`, which already have a candidate fault's k columns.

        Returned are each joint's root mean square residual (n,) [N m], the parameters (k,) of the
        candidate's columns, and these parameters' standard deviations (k,).
        """
        b = len(self.prior.model.base)
        own = factors.base_count - b
        if self.rotors:
            factors = factors.with_shared(_rotor_columns(factors))
        more = factors.base_count - b
        residual, braking = self.noise.deviation, self.prior.model.friction.braking
        held = np.ones(b + more + len(braking))
        for _ in range(_ROUNDS):
            noise = replace(self.noise, deviation=np.maximum(residual, self.normal))
            equations = factors.weighted(noise.weights)
            wide = 1.0 / (_FAINT * (1.0 + np.linalg.norm(equations[0])))
            rows, right = self.prior.rows(self.regularization, np.full(more, wide))
            found = solve([equations, (held[:, None] * rows, right)])
            residual = np.sqrt(factors.squares(found.theta) / factors.samples)
            # Negative friction parameters are held near zero, as in the consistent arm, because a
            # joint whose torque is friction alone would fit with either sign of its effort.
            held[b + more :][braking & (found.theta[b + more :] < 0.0)] *= _HELD
        return residual, found.theta[b : b + own], found.deviations[b : b + own]

    def tried(
        self, kind: str, factors: QRFactors, joints: tuple[int, ...] = (), where: str = ''
    ) -> Explanation:
        """Fit a candidate fault and return it with the fitted parameters of its columns."""
        after, values, deviations = self.fitted(factors)
        shrunk = _shrunk(self.before, after, self.normal)
        spread = float(deviations[0]) if len(deviations) else 0.0
        return Explanation(
            kind, tuple(values.tolist()), joints, where, self.before, after, *shrunk, spread
        )

    @cached_property
    def shown(self) -> tuple[int, ...]:
        """The indices of joints whose torques determine base parameters (`QRFactors.shown`)."""
        shown = self.whole.shown
        return tuple(range(self.prior.model.n) if shown is None else np.flatnonzero(shown))

    @cached_property
    def gains(self) -> tuple[Explanation, ...]:
        """The candidate gains of the joints `shown`; none if effort scales are identified."""
        return tuple(map(self.with_gain, self.shown)) if self.scales_known else ()

    def with_gain(self, joint: int) -> Explanation:
        """
        Return the candidate 'gain': a joint's recorded effort is a multiple of its torque.

        The residuals are those of a fit with this gain alone. The gain and its deviation are from
        a fit with the gains of the neighbouring joints too: torques of neighbouring joints depend
        mostly on the same inertias, so that errors of the neighbours' torques could hide a wrong
        gain or look like one.
        """
        found = self.tried('gain', self._with_gains([joint]), (joint,))
        near = [one for one in (joint - 1, joint, joint + 1) if one in self.shown]
        _, values, deviations = self.fitted(self._with_gains(near))
        place = near.index(joint)
        gain = 1.0 + float(values[place])
        # The standard deviation of a positive gain is converted to that of its logarithm.
        spread = float(deviations[place]) / (gain if gain > 0.0 else 1.0)
        return replace(found, values=(gain,), deviation=spread)

    def _with_gains(self, joints: Sequence[int]) -> QRFactors:
        """Return the QR factors with one more column for each of `joints`, for its gain."""
        columns = [scale_column(self.whole, self.prior, joint) for joint in joints]
        return self.whole.with_shared(np.concatenate(columns, axis=2))

    def delayed(self, first: float) -> Explanation:
        """Return the candidate 'delay': efforts are late, iterated from a first guess [s]."""
        n, beside, delay = self.prior.model.n, self.whole.beside, first
        rate, curvature = beside[:, :, n + RATE], beside[:, :, n + CURVATURE]
        for _ in range(_DELAY_ROUNDS):
            moved = self.whole.effort + delay * rate + 0.5 * delay**2 * curvature
            column = -(rate + delay * curvature)[:, :, None]
            found = self.tried('delay', self.whole.with_effort(moved).with_shared(column))
            delay += found.values[0]
        return replace(found, values=(delay,))

    def rotating(self) -> Explanation:
        """Return the candidate 'rotors': every joint has a rotor inertia."""
        return self.tried('rotors', self.whole.with_shared(_rotor_columns(self.whole)))

    def faults(self) -> Iterator[Explanation]:
        """Yield all candidates but 'contact' and 'rotors'; of several delays the likeliest."""
        n, whole = self.prior.model.n, self.whole
        yield from self.gains
        for joint in range(n):
            flipped = whole.scaled(np.where(np.arange(n) == joint, -1.0, 1.0))
            yield self.tried('sign', flipped, (joint,))
        for one, other in combinations(range(n), 2):
            effort = whole.effort.copy()
            effort[one], effort[other] = whole.beside[one, :, other], whole.beside[other, :, one]
            yield self.tried('exchanged', whole.with_effort(effort), (one, other))
        yield max(map(self.delayed, _FIRST_DELAYS_S), key=_likely)
        yield self.tried('tilt', whole.with_shared(whole.beside[:, :, n:][:, :, LEVEL]))
        yield from self._loads()

    def _loads(self) -> Iterator[Explanation]:
        """Yield candidates 'load': a load comes or goes between two parts of a bag."""
        loads = self.prior.model.loads(self.prior.reference)[:, MASS_AND_MOMENT]
        bags = list(dict.fromkeys(part.bag for part in self.parts))[:_MOST_BAGS]
        for k, part in enumerate(self.parts):
            if k == 0 or part.bag not in bags or self.parts[k - 1].bag != part.bag:
                continue
            loaded = [later for later in self.parts[k:] if later.bag == part.bag]
            rest = [other for other in self.parts if other not in loaded]
            free, held = (total(one.factors for one in some) for some in (rest, loaded))
            yield self.tried('load', with_load(free, held, loads), where=part.name)


def _best(search: _Search) -> Explanation | None:
    """Return the likeliest fault that is large and clear enough to be reported, or None."""
    return max((one for one in search.faults() if one.is_fault), key=_likely, default=None)


def _likely(one: Explanation) -> float:
    return one.likely


def _shrunk(before: Array, after: Array, normal: Array) -> tuple[float, float]:
    """Return `better` and `likely` of an `Explanation`, from residuals and normal residual."""
    better, likely = (
        float(np.log(np.maximum(before, least) / np.maximum(after, least)).sum())
        for least in (_RESOLVED * normal, _FINELY * normal)
    )
    return better, likely


def _rotor_columns(factors: QRFactors) -> Array:
    """Return n columns, each with one joint's acceleration in that joint's rows, (n, rows, n)."""
    n = len(factors.r_factors)
    return np.eye(n)[:, None, :] * factors.beside[:, :, n + ACCELERATION, None]


def tilted_gravity(prior: Prior, explanation: Explanation) -> Array:
    """Return gravity in the space frame, (3,) [m/s^2], according to a 'tilt' explanation."""
    gravity = prior.model.base.gravity[0]
    along = gravity + np.asarray(explanation.values[:2]) @ level(prior.model)
    return np.asarray(along * np.linalg.norm(gravity) / np.linalg.norm(along))


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """
    Each joint's residual on unseen parts, and a fault of the recordings if one is clear.

    `times` (n,) are residuals on unseen parts divided by normal residuals. `gains` has the
    best-fitting effort gain, faulty or not, of each joint whose torque determines base parameters;
    it is empty if the effort scales were identified. `fault` is the fault that best explains the
    residuals, or None. `rotors` are rotor inertias that the model lacks, if they explain the
    residuals clearly, and at least as well as the likeliest fault does. `scale_doubts` are
    sentences with reasons not to believe identified effort scales.
    """

    times: Array
    gains: tuple[Explanation, ...]
    fault: Explanation | None = None
    rotors: Explanation | None = None
    scale_doubts: tuple[str, ...] = ()

    @property
    def suspicious_joints(self) -> tuple[int, ...]:
        """Indices of joints whose residual on unseen parts exceeds five normal residuals."""
        return tuple(int(joint) for joint in np.flatnonzero(self.times > MOST_TIMES))

    @property
    def sound(self) -> bool:
        """Whether no fault, no suspicious joint and no doubt about effort scales was found."""
        return self.fault is None and not self.suspicious_joints and not self.scale_doubts


# Largest accepted ratio of a joint's residual on unseen parts to its normal residual. The worst
# joint's ratio is 0.4 for two FER, 1.3 for a UR10e, 2.4 for a TX40 with a coupled wrist that is
# not modelled.
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
    Compare the residuals on unseen parts with normal residuals, and search for faults.

    `unseen` (n,) is the root mean square of each joint's residual on the unseen parts [N m].
    `parts` are stretches of all recordings with their `witnesses` columns, efforts in N m.
    `prior`, `regularization` (its precision) and `noise` are those of the fit to all parts, and
    `theta` (p,) the base and friction parameters of that fit. Effort gains are tried only if
    `scales_known`, because identified effort scales absorb wrong gains.
    """
    whole = total(part.factors for part in parts)
    alone = np.where(np.arange(len(theta)) < whole.base_count, 0.0, theta)
    friction_rms = np.linalg.norm(whole.predicted(alone), axis=1) / np.sqrt(whole.samples)
    normal = normal_residual(prior.effort, friction_rms)
    search = _Search(parts, prior, regularization, noise, normal, scales_known)
    rotating = search.rotating()
    known = prior.model.base.rotor_inertia or rotating.better < _ROTORS_BETTER
    rotors = None if known else rotating
    best = _best(search)
    if rotors is not None and (best is None or rotors.better >= best.better):
        best = _best(replace(search, rotors=True))
    elif best is not None:
        rotors = None
    return Diagnosis(unseen / normal, search.gains, best, rotors)


def contacts(
    motion: Motion, where: str, prior: Prior, regularization: float, noise: Noise
) -> Explanation | None:
    """
    Return the candidate 'contact': intervals in which the arm seems to touch something, or None.

    During a contact the residual of a fit to all samples without contact is far above its median;
    an interval includes 0.2 s before and after the contact. None is returned if there is no
    contact, if contacts cover more than 30 % of the motion, or if residuals outside contacts are
    not much lower than those of a fit to the whole motion. The motion's efforts are in N m,
    `where` is the bag's name; `prior`, `regularization` (its precision) and `noise` are those of
    the fit to all bags.
    """
    model = prior.model
    normal = normal_residual(prior.effort, np.zeros(model.n))
    touched, residuals = np.zeros(len(motion), dtype=bool), []
    for _ in range(_CONTACT_ROUNDS):
        factors = QRFactors.of(model, motion.part(~touched))
        theta = estimate(factors.weighted(noise.weights), prior, regularization).theta
        residual = motion.effort - model.torque(motion, theta)
        residuals.append(residual)
        size = np.sum((residual / normal) ** 2, axis=1)
        far = size > _CONTACT_FACTOR * np.median(size)
        window = 1 + 2 * round(_CONTACT_MARGIN_S * motion.options.rate)
        touched = np.convolve(far, np.ones(window), mode='same') > 0.5
        if not far.any() or touched.mean() > _CONTACT_SHARE:
            return None
    pair = residuals[0], residual[~touched]
    before, after = (np.sqrt(np.mean(one**2, axis=0)) for one in pair)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], touched, [False]]).astype(int)))
    ends = np.minimum(edges, len(motion) - 1)
    times, shrunk = tuple(motion.time[ends].tolist()), _shrunk(before, after, normal)
    found = Explanation('contact', times, (), where, before, after, *shrunk)
    return found if found.is_fault else None
