# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""All formulations of one arm against each other: every quantity, every pair, every link."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from .crosscheck import build, ComparedQuantity, consensus, evaluate, PER_LINK, QUANTITIES, scaled
from ..arm import ArmDescription
from ..arm.sampling import JointStates, sample_states
from ..dynamics.model import DynamicsModel, GRAVITY
from ..typing import Array

# Ten times the largest difference seen between the formulations of 1,000 random arms (8e-13).
AGREEMENT = 1e-11


@dataclass(frozen=True, eq=False)
class FaultLocation:
    """
    How far one formulation's links are from what it was compared with.

    `frames`, `twists`, `wrenches` have shape (n,): the largest difference of each link,
    |a - b| / max(1, |b|).
    """

    formulation: str
    frames: Array
    twists: Array
    wrenches: Array

    @property
    def origin(self) -> tuple[str, int] | None:
        """Where a difference comes from: a frame, twist or wrench, and its link, from 1."""
        # From the base to the tip; a twist needs its frame, which is named where both differ.
        moving = [
            (link, kind)
            for kind, values in (('frame', self.frames), ('twist', self.twists))
            if (link := _first(values)) is not None
        ]
        if moving:
            link, kind = min(moving)
            return kind, link
        from_tip = _first(self.wrenches[::-1])
        return None if from_tip is None else ('wrench', len(self.wrenches) + 1 - from_tip)

    @property
    def link(self) -> int | None:
        """The link that the difference comes from, counted from 1, or None."""
        return None if self.origin is None else self.origin[1]

    def sentence(self, quantities: Sequence[str] = ()) -> str:
        """Return where this formulation departs; `quantities` are those in which it does."""
        if self.origin is None:
            return (
                f'{self.formulation}: frames, twists and wrenches of all links agree; the '
                f'difference arises where it assembles {", ".join(quantities)}.'
            )
        kind, link = self.origin
        what = f' (it differs in {", ".join(quantities)})' if quantities else ''
        agree, end = ('frames and twists agree; ', 'tip') if kind == 'wrench' else ('', 'base')
        size = {'frame': self.frames, 'twist': self.twists, 'wrench': self.wrenches}[kind][
            link - 1
        ]
        return (
            f'{self.formulation}: {agree}the first link from the {end} whose {kind} differs is '
            f'link {link}, by {size:.2g}{what}.'
        )


def localize_faults(
    models: Mapping[str, DynamicsModel], states: JointStates
) -> tuple[FaultLocation, ...]:
    """Compare every model's links with the median of all; with two, both differ alike."""
    by_model: list[list[Array]] = [[] for _ in models]
    for quantity in PER_LINK:
        values = [evaluate(model, quantity, states) for model in models.values()]
        middle = consensus(values)
        for value, model, entry in zip(values, models.values(), by_model):
            entry.append(_per_link(value, middle, model.description.n))
    return tuple(FaultLocation(name, *entry) for name, entry in zip(models, by_model))


def _per_link(values: Array, expected: Array, n: int) -> Array:
    """Return each link's largest difference over states and entries; the flange is no link."""
    links = scaled(values - expected, expected)[:, :n]
    return np.moveaxis(links, 1, 0).reshape(n, -1).max(axis=1)


def _first(values: Array) -> int | None:
    """Return the place (from 1) of the first value beyond AGREEMENT; NaN counts as beyond."""
    beyond = np.flatnonzero(~(values <= AGREEMENT))
    return int(beyond[0]) + 1 if len(beyond) else None


@dataclass(frozen=True, eq=False)
class Agreement:
    """
    How far formulations of one arm are apart.

    Differences are |a - b| / max(1, |m|), m the median over the formulations; a NaN anywhere
    makes the difference NaN. `pairs[quantity]` is the largest for every pair, shape (f, f);
    `deviations`, shape (quantities, f), the largest from the median, where a formulation that is
    alone in its opinion stands out.

    Accelerations of the forward dynamics, under the torques that the median of the inverse
    dynamics asks for, count as the torques M ddq: a wrist of 1e-4 kg m^2 makes a large
    acceleration of what is rounding in a torque.

    Of the arm of a `description` under `gravity` [m/s^2], on `states` random states drawn from
    `seed`; every pair must agree to AGREEMENT. `faults` say which link a formulation that
    disagrees has wrong.
    """

    description: ArmDescription
    gravity: tuple[float, ...]
    states: int
    seed: int
    formulations: tuple[str, ...]
    pairs: dict[str, Array]
    deviations: Array
    faults: tuple[FaultLocation, ...]

    @property
    def largest(self) -> float:
        """The largest difference of any pair in any quantity; NaN if any is NaN."""
        return float(np.max([matrix.max() for matrix in self.pairs.values()]))

    @property
    def passed(self) -> bool:
        """Whether every pair agrees in every quantity and link; a NaN never does."""
        return self.largest <= AGREEMENT and all(fault.link is None for fault in self.faults)

    @property
    def findings(self) -> tuple[str, ...]:
        """One sentence for each formulation that is not like the others."""
        if self.passed:
            return ()
        odd = [
            fault.sentence(self.odd_quantities(i))
            for i, fault in enumerate(self.faults)
            if fault.link or self.odd_quantities(i)
        ]
        if len(odd) > 1:
            odd.append(
                'More than one formulation departs from the median, so it names no '
                'culprit by itself: compare the pairs.'
            )
        return tuple(odd)

    def odd_quantities(self, formulation: int) -> tuple[str, ...]:
        """Return the quantities in which a formulation departs from the median."""
        return tuple(
            quantity.name
            for quantity, row in zip(QUANTITIES, self.deviations)
            if not row[formulation] <= AGREEMENT
        )


def compare_formulations(
    description: ArmDescription,
    *,
    gravity: ArrayLike = GRAVITY,
    count: int = 300,
    seed: int = 0,
    models: Mapping[str, DynamicsModel] | None = None,
) -> Agreement:
    """
    Compare all formulations of an arm on random states within its limits.

    Parameters
    ----------
    description : ArmDescription
        The arm, with hand and payload.
    gravity : array_like, shape (3,)
        Gravity in the space frame [m/s^2].
    count, seed : int
        How many random states, and from which seed.
    models : mapping, optional
        What to compare, by name, in place of the package's formulations; at least two.

    Raises
    ------
    InertiaError
        If a link has a first moment but no mass.

    """
    compared = dict(build(description, gravity) if models is None else models)
    states = sample_states(description, count, seed)
    pairs, deviations = {}, []
    medians: dict[str, Array] = {}
    for quantity in QUANTITIES:
        values = [_value(model, quantity, states, medians) for model in compared.values()]
        middle = medians[quantity.name] = consensus(values)
        apart = np.array([scaled(value - middle, middle) for value in values])
        pairs[quantity.name] = _pairs(values, middle)
        deviations.append(apart.reshape(len(values), -1).max(axis=1))
    return Agreement(
        description,
        tuple(float(value) for value in np.asarray(gravity)),
        count,
        seed,
        tuple(compared),
        pairs,
        np.array(deviations),
        localize_faults(compared, states),
    )


def _value(
    model: DynamicsModel,
    quantity: ComparedQuantity,
    states: JointStates,
    medians: Mapping[str, Array],
) -> Array:
    """Return a quantity for every state; accelerations as the torques that they stand for."""
    if quantity.name != 'forward_dynamics':
        return evaluate(model, quantity, states)
    driven = states._replace(ddq=np.nan_to_num(medians['inverse_dynamics']))
    return np.einsum('sij,sj->si', medians['mass_matrix'], evaluate(model, quantity, driven))


def _pairs(values: list[Array], middle: Array) -> Array:
    out = np.zeros((len(values), len(values)))
    for i, j in combinations(range(len(values)), 2):
        out[i, j] = out[j, i] = scaled(values[i] - values[j], middle).max()
    return out
