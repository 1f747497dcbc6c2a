# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Checks of recordings: the same arm and load, the declared hand, enough motion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from .prior import Prior, PRIOR_PRECISION
from .samples import Part, QRFactors, total
from .solve import estimate, Noise
from .torque_model import MASS_AND_MOMENT, TorqueModel
from ..arm import ArmDescription
from ..arm.hand_file import NO_HAND
from ..errors import IdentificationError
from ..recordings.mounted import held_sentence, mounted_verdict, weighed, Weighing
from ..typing import Array

# Two bags contradict each other only if a fit to both has a residual (root mean square, per degree
# of freedom) above TOGETHER_RATIO times the residual of separate fits. Measured ratios: 0.6 to
# 1.14 for halves to sevenths of the recordings of two real FER, 1.54 to 3.5 with 0.2 kg added to
# one part by calculation, 1.8 for the two FER together, 1.0 to 1.47 for runs of simulated arms
# with drifting torque sensors.
TOGETHER_RATIO = 1.5
_BY_CHANCE = 1e-3  # significance level of the F test that a contradiction must also pass
_COMPARED = 10  # at most this many evenly chosen bags are compared with all other bags
_MOST_PAIRS = 5  # largest number of contradicting pairs listed
_OUTLIER_FACTOR = 3.0  # an outlier's residual exceeds the bags' median times this factor
_STILL = 0.01  # [rad/s]; the arm stands still if every joint is slower
_NAMED = 3  # number of parameter names listed in a sentence
_SLOW_SHARE = 0.05  # fraction of the velocity limit below which viscous friction hardly shows


def contradictions(
    bags: Sequence[Part], noise: Noise, prior: Prior, theta: Array
) -> tuple[str, ...]:
    """
    Return sentences on bags that seem to come from different arms or loads.

    Two bags contradict each other if one fit to both has much larger residuals than separate fits,
    per degree of freedom. With three or more bags there is one sentence for each bag that
    contradicts every bag it was compared with. At most five other contradicting pairs get a
    sentence each, and one sentence counts further pairs. If none of three or more bags contradict
    each other, bags are reported whose residual under `theta` (p,), the parameters fitted to all
    bags, is far above the median bag's. Efforts are in N m; `noise` is from the fit to all bags.
    """
    if len(bags) < 2:
        return ()
    factors, names = [bag.factors for bag in bags], [bag.name for bag in bags]
    # The joints' weights are from separate fits, because a fit to contradicting bags overestimates
    # the noise.
    alone = np.median(
        [_fitted(one, noise.weights, prior).of_joints / one.samples for one in factors], axis=0
    )
    weights = replace(noise, deviation=np.sqrt(alone)).weights
    every = range(len(bags))
    compared = np.linspace(0, len(bags) - 1, min(len(bags), _COMPARED)).round().astype(int)
    own = [_fitted(one, weights, prior) for one in factors]
    found, looked_at = [], np.zeros(len(bags), dtype=int)
    for i, j in sorted({(min(i, j), max(i, j)) for i in every for j in compared if i != j}):
        both = factors[i] + factors[j]
        together = _fitted(both, weights, prior)
        looked_at[[i, j]] += 1
        if _contradict(own[i], own[j], together, noise.inflation):
            squares = np.array([together.squares, own[i].squares + own[j].squares])
            found.append((i, j, *np.sqrt(squares / both.samples)))
    against = np.bincount([k for i, j, *_ in found for k in (i, j)], minlength=len(bags))
    alien = [k for k in every if len(bags) > 2 and against[k] == looked_at[k]]
    sentences = [f'{names[k]} contradicts every bag it was compared with{_CAUSES}' for k in alien]
    pairs = [one for one in found if not {one[0], one[1]} & set(alien)]
    sentences += [
        f'{names[i]} and {names[j]} contradict each other: the residual of one fit to both is '
        f'{joint:.3f} N m, of separate fits {alone:.3f} N m{_CAUSES}'
        for i, j, joint, alone in pairs[:_MOST_PAIRS]
    ]
    if len(pairs) > _MOST_PAIRS:
        sentences.append(f'{len(pairs) - _MOST_PAIRS} more pairs of bags contradict each other')
    if not sentences and len(bags) > 2:
        residuals = np.array([np.sqrt(one.squares(theta).sum() / one.samples) for one in factors])
        median = float(np.median(residuals))
        sentences += [
            f'{names[k]} has a residual of {residuals[k]:.3f} N m, where the median over the bags '
            f'is {median:.3f} N m{_CAUSES}'
            for k in np.flatnonzero(residuals > _OUTLIER_FACTOR * median)
        ]
    return tuple(sentences)


_CAUSES = (
    '; is it another arm, another load or a much warmer arm? Identify the bags separately, or '
    'leave one out'
)


class _Fitted(NamedTuple):
    """Squared residuals by joint (n,) [N^2 m^2], numbers of samples and effective parameters."""

    of_joints: Array
    samples: int
    parameters: float

    @property
    def squares(self) -> float:
        """Sum of squared residuals over all joints [N^2 m^2]."""
        return float(self.of_joints.sum())


def _fitted(samples: QRFactors, weights: Array, prior: Prior) -> _Fitted:
    """Return a fit of all parameters with the joints' weights (n,) and the default precision."""
    equations = samples.weighted(weights)
    found = estimate(equations, prior, PRIOR_PRECISION)
    return _Fitted(samples.squares(found.theta), samples.samples, found.determined(equations))


def _contradict(one: _Fitted, other: _Fitted, together: _Fitted, inflation: Array) -> bool:
    """Return whether TOGETHER_RATIO and an F test find one fit to two bags worse than two fits."""
    from scipy.stats import f  # scipy is installed: `friction_alone` ran before

    parameters = one.parameters + other.parameters
    independent = float(np.sum(together.samples / inflation))
    freedom, terms = independent - parameters, parameters - together.parameters
    if freedom <= 0.0 or terms <= 0.0:
        return False  # too few independent samples for a decision
    squares = one.squares + other.squares
    each = squares / freedom
    if together.squares / (independent - together.parameters) <= TOGETHER_RATIO**2 * each:
        return False
    chance = f.isf(_BY_CHANCE, terms, freedom)
    return bool((together.squares - squares) / terms > each * chance)


def about_hands(
    bags: Sequence[Part],
    model: TorqueModel,
    start: ArmDescription,
    candidates: Sequence[ArmDescription],
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """
    Return sentences on bags that contradict the declared hand, and at most one on the load.

    The first tuple's sentences name bags with something on the flange though no hand is declared,
    or with nothing though a hand is declared. The second tuple is empty or has one sentence, which
    says that the flange carries more or less than the declared hand.

    `bags` holds one `Part` for each bag, efforts in N m. `mounted_verdict` judges each bag by
    `candidates`: published sets without a hand and with each hand. The load in the declared hand
    is estimated from all bags together, because `contradictions` reports bags with different
    loads.
    """
    named = 'no hand' if start.hand == NO_HAND else start.hand
    contradictions = []
    for bag in bags:
        seen = mounted_verdict([_weighed(bag.factors, model, arm) for arm in candidates])
        if seen.mounted is not None and seen.mounted != (start.hand != NO_HAND):
            said = seen.sentence if seen.load else f'{seen.sentence[:-1]}; but {named} was named.'
            contradictions.append(f'{bag.name}: {said[:-1]}')
    every = total(bag.factors for bag in bags)
    held = held_sentence([_weighed(every, model, arm) for arm in candidates], start.hand)
    where = bags[0].name if len(bags) == 1 else f'all {len(bags)} bags together'
    return tuple(contradictions), (f'{where}: {held[:-1]}',) if held else ()


def _weighed(samples: QRFactors, model: TorqueModel, arm: ArmDescription) -> Weighing:
    """Return the mass on the flange that the arm's description lacks, estimated from samples."""
    b = len(model.base)
    rows = samples.r_factors
    return weighed(
        arm,
        rows[:, :, :b] @ model.loads(arm)[:, MASS_AND_MOMENT],
        rows[:, :, b : b + 2],  # viscous and Coulomb, the first two terms of each joint
        samples.less_rigid(model.base.values(arm)).effort,
        samples.samples,
    )


def require_motion(fastest: Array, model: TorqueModel) -> None:
    """Raise IdentificationError if the largest speeds (n,) of all joints are below 0.01 rad/s."""
    if fastest.max() < _STILL:
        moments = [name for name in model.base.names if name.startswith('m')]
        inertias = [name for name in model.base.names if not name.startswith('m')]
        raise IdentificationError(
            f'The arm stands still (no joint is faster than {fastest.max():.2g} rad/s). Its '
            f'torque then depends only on {", ".join(moments[:_NAMED])} ...: the other '
            f'{len(inertias)} base parameters ({", ".join(inertias[:_NAMED])} ...) can only be '
            'identified from acceleration, and friction from velocity of both signs. Record a '
            'motion that turns every joint to and fro, such as franka-dynamics identify plan '
            'makes.'
        )


def slow_joints(fastest: Array, arm: ArmDescription) -> tuple[str, ...]:
    """Return one sentence on all joints that hardly moved, or an empty tuple."""
    limit = np.where(np.isfinite(arm.limit('velocity')), arm.limit('velocity'), 1.0)
    slow = [
        f'{name} (at most {speed:.2g} rad/s)'
        for name, speed, bound in zip(arm.joint_names, fastest, limit)
        if speed < _SLOW_SHARE * bound
    ]
    if not slow:
        return ()
    return (
        f'{", ".join(slow)} hardly moved: their friction and the inertias about their axes are '
        'hardly identified and stay near the prior; record a motion that turns every joint to and '
        'fro',
    )
