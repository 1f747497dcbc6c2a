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
from .torque_model import TorqueModel
from ..arm import ArmDescription
from ..arm.hand_file import NO_HAND
from ..errors import IdentificationError
from ..recordings.mounted import held_sentence, mounted_verdict, unit_loads, weighed, Weighing
from ..typing import Array

# Largest ratio of squared residuals, per degree of freedom, of one fit to two bags and separate
# fits. Of two real FER's recordings halves to seventh parts leave 0.6 to 1.10 times as much, with
# a load of 0.2 kg added by calculation 1.54 to 3.5 times, both together 1.8 times; runs of
# simulated arms whose torque sensors drift, or third parts of them, 1.0 to 1.47 times.
TOGETHER_RATIO = 1.5
# With few samples the ratio must also exceed the value that noise alone exceeds with this
# probability.
_BY_CHANCE = 1e-3
_COMPARED = 10  # number of other bags, evenly chosen, with which each bag is compared
_MOST_PAIRS = 5  # largest number of pairs listed
# Residual relative to the bags' median above which a bag does not belong to them.
_ODD_FACTOR = 3.0
_STILL = 0.01  # [rad/s]
_NAMED = 3  # largest number of parameters listed in a sentence
_SLOW_PART = 0.05  # fraction of the velocity limit below which viscous friction hardly shows


def contradictions(
    bags: Sequence[Part], noise: Noise, prior: Prior, theta: Array
) -> tuple[str, ...]:
    """
    Return one sentence for each group of bags that cannot come from one arm in one state.

    Two bags contradict each other if one fit to both has much larger residuals than separate fits.
    Residuals are counted per degree of freedom, because a fit to a short bag also fits its noise.

    Parameters
    ----------
    bags : sequence of Part
        One for each bag, their efforts torques [N m].
    noise : Noise
        The joints' noise in all bags; in separate fits each bag's own residuals replace its
        deviations.
    prior : Prior
        The prior.
    theta : ndarray, shape (p,)
        The parameters fitted to all bags; for a bag too short for a fit of its own, their residual
        decides.

    """
    if len(bags) < 2:
        return ()
    factors, names = [bag.factors for bag in bags], [bag.name for bag in bags]
    # Bags that do not belong together make the common noise look large.
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
        if _apart(own[i], own[j], together, noise.inflation):
            squares = np.array([together.squares, own[i].squares + own[j].squares])
            found.append((i, j, *np.sqrt(squares / both.samples)))
    against = np.bincount([k for i, j, *_ in found for k in (i, j)], minlength=len(bags))
    odd = [k for k in every if len(bags) > 2 and against[k] == looked_at[k]]
    sentences = [f'{names[k]} contradicts every other bag{_CAUSES}' for k in odd]
    pairs = [one for one in found if not {one[0], one[1]} & set(odd)]
    sentences += [
        f'{names[i]} and {names[j]} contradict each other: fitted together they leave '
        f'{joint:.3f} N m, each by itself {alone:.3f} N m{_CAUSES}'
        for i, j, joint, alone in pairs[:_MOST_PAIRS]
    ]
    if len(pairs) > _MOST_PAIRS:
        sentences.append(f'{len(pairs) - _MOST_PAIRS} more pairs of bags contradict each other')
    if not sentences and len(bags) > 2:
        left = np.array([np.sqrt(one.squares(theta).sum() / one.samples) for one in factors])
        usual = float(np.median(left))
        sentences += [
            f'{names[k]} leaves {left[k]:.3f} N m, where the others leave {usual:.3f} N m in '
            f'the median{_CAUSES}'
            for k in np.flatnonzero(left > _ODD_FACTOR * usual)
        ]
    return tuple(sentences)


_CAUSES = '; another arm, another load or a much warmer one? Identify them apart, or leave one out'


class _Fitted(NamedTuple):
    """What a fit leaves: squares of each joint (n,) [N^2 m^2], of how many samples by what."""

    of_joints: Array
    samples: int
    parameters: float

    @property
    def squares(self) -> float:
        """Sum over the joints [N^2 m^2]."""
        return float(self.of_joints.sum())


def _fitted(samples: QRFactors, weights: Array, prior: Prior) -> _Fitted:
    equations = samples.weighted(weights)
    found = estimate(equations, prior, PRIOR_PRECISION)
    return _Fitted(samples.squares(found.theta), samples.samples, found.determined(equations))


def _apart(one: _Fitted, other: _Fitted, together: _Fitted, inflation: Array) -> bool:
    """Return whether one fit to two bags is significantly worse than separate fits (an F test)."""
    from scipy.stats import f  # which fitting friction alike has asked for already

    parameters = one.parameters + other.parameters
    independent = float(np.sum(together.samples / inflation))
    freedom, terms = independent - parameters, parameters - together.parameters
    if freedom <= 0.0 or terms <= 0.0:
        return False  # too short to tell
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
    Return contradictions to the declared hand by bag, and the load it seems to hold.

    The former is judged as `replay` does. The latter is of all bags together: some bags of which
    alone it holds something contradict the others.

    Parameters
    ----------
    bags : sequence of Part
        Their efforts torques [N m].
    model : TorqueModel
        What is identified.
    start : ArmDescription
        With the hand that was named.
    candidates : sequence of ArmDescription
        Published sets, bare and with each hand.

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
    """Return the estimated mass on the flange beyond the arm's description."""
    b = len(model.base)
    none = model.base.values(arm)
    columns = np.column_stack([model.base.values(one) - none for one in unit_loads(arm)])
    rows = samples.r_factors
    return weighed(
        arm,
        rows[:, :, :b] @ columns,
        rows[:, :, b : b + 2],  # viscous and Coulomb, the first two terms of each joint
        rows[:, :, -2] - rows[:, :, :b] @ none,
        samples.samples,
    )


def require_motion(fastest: Array, model: TorqueModel) -> None:
    """Raise IdentificationError if no joint, of the largest speeds (n,) [rad/s], moves."""
    if fastest.max() < _STILL:
        moments = [name for name in model.base.names if name.startswith('m')]
        inertias = [name for name in model.base.names if not name.startswith('m')]
        raise IdentificationError(
            f'The arm stands still (no joint is faster than {fastest.max():.2g} rad/s), where '
            f'torque depends on {", ".join(moments[:_NAMED])} ... alone. The other '
            f'{len(inertias)} base parameters ({", ".join(inertias[:_NAMED])} ...) take '
            'acceleration to show, and friction takes velocity of both signs: record a motion '
            'that turns every joint to and fro, such as franka-dynamics identify plan makes.'
        )


def slow_joints(fastest: Array, arm: ArmDescription) -> tuple[str, ...]:
    """Return a sentence on joints that hardly moved, if any."""
    limit = np.where(np.isfinite(arm.limit('velocity')), arm.limit('velocity'), 1.0)
    slow = [
        f'{name} (at most {speed:.2g} rad/s)'
        for name, speed, bound in zip(arm.joint_names, fastest, limit)
        if speed < _SLOW_PART * bound
    ]
    if not slow:
        return ()
    return (
        f'{", ".join(slow)} hardly moved: friction there and inertias about those axes are '
        'not shown and stay at the prior; turn every joint, to and fro',
    )
