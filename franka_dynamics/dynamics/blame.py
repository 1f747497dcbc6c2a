# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Where a formulation departs from the others: the first link, from the base or from the tip.

Poses and twists pass from the base to the tip, so the first link whose own is wrong has caused
what follows. Wrenches are summed from the tip to the base: with poses and twists right, the
first wrong wrench from the tip is the culprit's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .formulations import consensus, evaluate, PER_LINK, scaled
from .model import DynamicsModel
from .states import JointStates

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Blame:
    """
    How far one formulation's links are from what it was held against.

    `frames`, `twists`, `wrenches` have shape (n,): the largest difference of each link,
    |a - b| / max(1, |b|).
    """

    formulation: str
    tolerance: float
    frames: Array
    twists: Array
    wrenches: Array

    @property
    def frame_link(self) -> int | None:
        """The first link from the base whose frame differs, counted from 1."""
        return _first(self.frames, self.tolerance)

    @property
    def twist_link(self) -> int | None:
        """The first link from the base whose twist differs, counted from 1."""
        return _first(self.twists, self.tolerance)

    @property
    def wrench_link(self) -> int | None:
        """The first link from the tip whose wrench differs, counted from 1."""
        place = _first(self.wrenches[::-1], self.tolerance)
        return None if place is None else len(self.wrenches) + 1 - place

    @property
    def agrees(self) -> bool:
        """Whether every link's frame, twist and wrench is within the tolerance."""
        return self.frame_link is self.twist_link is self.wrench_link is None

    @property
    def link(self) -> int | None:
        """The link that the difference comes from, counted from 1, or None."""
        moving = [link for link in (self.frame_link, self.twist_link) if link is not None]
        return min(moving) if moving else self.wrench_link

    def sentence(self, quantities: Sequence[str] = ()) -> str:
        """Return where this formulation departs; `quantities` are those in which it does."""
        what = f' (it differs in {", ".join(quantities)})' if quantities else ''
        place = self.link
        if place is None:
            return (f'{self.formulation}: frames, twists and wrenches of all links agree; the '
                    f'difference arises where it assembles {", ".join(quantities)}.')
        if self.frame_link is None and self.twist_link is None:
            return (f'{self.formulation}: frames and twists agree; the first link from the tip '
                    f'whose wrench differs is link {place}, by {self.wrenches[place - 1]:.2g}'
                    f'{what}.')
        # A twist needs its frame: where both differ at one link, the frame is named.
        kind, values = (('frame', self.frames) if self.frame_link == place else
                        ('twist', self.twists))
        return (f'{self.formulation}: the first link from the base whose {kind} differs is link '
                f'{place}, by {values[place - 1]:.2g}{what}.')


def blame(model: DynamicsModel, reference: DynamicsModel, states: JointStates, *,
          tolerance: float, name: str = 'the model') -> Blame:
    """
    Hold one model's links against a trusted model's.

    Parameters
    ----------
    model, reference : DynamicsModel
        Of arms with the same number of joints.
    states : JointStates
        A stack of states.
    tolerance : float
        Largest difference allowed, of max(1, |value|).
    name : str
        What sentences call the model.

    """
    differences = []
    for quantity in PER_LINK:
        expected = evaluate(reference, quantity, states)
        differences.append(_per_link(evaluate(model, quantity, states), expected,
                                     reference.description.n))
    return Blame(name, tolerance, *differences)


def blame_each(models: Mapping[str, DynamicsModel], states: JointStates, tolerance: float,
               ) -> tuple[Blame, ...]:
    """Hold every model's links against the median of all; with two, both differ alike."""
    by_model: list[list[Array]] = [[] for _ in models]
    for quantity in PER_LINK:
        values = [evaluate(model, quantity, states) for model in models.values()]
        middle = consensus(values)
        for value, model, entry in zip(values, models.values(), by_model):
            entry.append(_per_link(value, middle, model.description.n))
    return tuple(Blame(name, tolerance, *entry) for name, entry in zip(models, by_model))


def _per_link(values: Array, expected: Array, n: int) -> Array:
    """Return each link's largest difference over states and entries; the flange is no link."""
    links = scaled(values - expected, expected)[:, :n]
    return np.moveaxis(links, 1, 0).reshape(n, -1).max(axis=1)


def _first(values: Array, tolerance: float) -> int | None:
    """Return the place (from 1) of the first value beyond a tolerance; NaN counts as beyond."""
    beyond = np.flatnonzero(~(values <= tolerance))
    return int(beyond[0]) + 1 if len(beyond) else None
