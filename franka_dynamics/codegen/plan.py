# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
How an arm's equations are written: where frames stand, what is kept, which lengths are one.

All plans give the same torques; they differ in how many operations it takes. `plain_plan` chooses
what serves nearly every arm. The search accepts one change at a time for as long as one helps. It
is repeatable, and takes a second or two for seven joints, so that it is only done where it is
asked for: counts are compared with a paper's table then, or the code is to be kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
import functools
import math

from .chain import GeneratorChain
from .expression import Expression
from .program import operations
from .recursion import Style
from .regrouping import (
    Cancellation,
    regroup,
    RegroupedChain,
    solvable,
    with_shifted_origins,
    with_turned_tip,
)
from ..dynamics.body_tree import BASE

_ADDITION_COST = 0.99  # in multiplications: of two plans with one total, fewer of these


@dataclass(frozen=True)
class Plan:
    """
    One way to write an arm's equations.

    Parameters
    ----------
    shifts : tuple of float
        How far each frame's origin is moved along its own joint axis [m].
    turned_tip : bool
        Whether the last frame is turned until its link's first moment lies on x.
    cancellations : tuple of Cancellation
        Masses kept at joint origins, and the first moments that vanish by them.
    style : Style
        Units and manner of the recursion.
    classical : bool
        Whether the ten parameters of every link are kept as they are, in their own frames:
        nothing is regrouped, shifted, turned or cancelled.

    """

    shifts: tuple[float, ...]
    turned_tip: bool = False
    cancellations: tuple[Cancellation, ...] = ()
    style: Style = field(default_factory=Style)
    classical: bool = False

    def apply(self, chain: GeneratorChain) -> RegroupedChain:
        """Return the chain's base parameters as this plan has them."""
        if self.classical:
            return RegroupedChain(chain, (0.0,) * chain.n)
        chain = with_shifted_origins(chain, self.shifts)
        if self.turned_tip:
            chain = with_turned_tip(chain)
        return regroup(chain, self.cancellations)


def plain_plan(
    chain: GeneratorChain, *, movable_tip: bool = True, classical: bool = False
) -> Plan:
    """
    Return the plan that is taken without a search; parameters are those of `find_plan`.

    Origins lie at the common normals before their axes, and tips are written unturned. The last
    frame is not turned: to add an angle to that of many turns would cost digits.
    """
    unturned = frozenset(
        j
        for j, joint in enumerate(chain.joints)
        if j not in chain.parents
        and chain.parents[j] != BASE
        and joint.revolute
        and 0.0 in (joint.cos_alpha, joint.sin_alpha)
    )
    plan = Plan((0.0,) * chain.n, style=Style(unturned=unturned), classical=classical)
    if classical:
        return plan
    for j, joint in enumerate(chain.joints):
        fixed = j == chain.tip_body and not movable_tip
        if joint.revolute and chain.parents[j] != BASE and not fixed:
            shift = -_along_axis(chain, plan, j)
            plan = replace(plan, shifts=(*plan.shifts[:j], shift, *plan.shifts[j + 1 :]))
    return plan


def find_plan(
    chain: GeneratorChain,
    write: Callable[[Plan], Sequence[Expression]],
    *,
    turnable_tip: bool,
    movable_tip: bool,
    classical: bool = False,
) -> Plan:
    """
    Return the cheapest plan that single changes lead to.

    Parameters
    ----------
    chain : GeneratorChain
        The arm, with numbers for parameters.
    write : callable
        Returns the outputs that a plan leads to; their operations are what is counted.
    turnable_tip : bool
        Whether the last frame may be turned: not where its axes are the caller's, nor where
        its first moment is not known yet.
    movable_tip : bool
        Whether the origin of the frame that carries the tip may be moved along its axis.
    classical : bool
        Whether only units and manners may be chosen, the links' parameters being kept.

    """

    @functools.cache
    def cost(plan: Plan) -> float:
        if not solvable(with_shifted_origins(chain, plan.shifts), plan.cancellations):
            return math.inf
        multiplications, additions = operations(write(plan))
        return multiplications + additions * _ADDITION_COST

    plan = Plan(shifts=(0.0,) * chain.n, classical=classical)
    lowest = cost(plan)
    improved = True
    while improved:
        improved = False
        for choice in _choices(chain, turnable_tip, movable_tip, classical):
            for candidate in choice(plan):
                price = cost(candidate)
                if price < lowest:
                    plan, lowest, improved = candidate, price, True
    return plan


def _choices(
    chain: GeneratorChain,
    turnable_tip: bool,
    movable_tip: bool,
    classical: bool,
) -> Iterator[Callable[[Plan], Iterator[Plan]]]:
    """Yield what can be chosen, one after the other: a plan's alternatives in one respect."""
    if not classical:
        for j in range(1, chain.n):
            if j == chain.tip_body and not movable_tip:
                continue
            yield functools.partial(_other_shifts, chain, j=j)
    if turnable_tip and not classical:
        yield lambda plan: iter((replace(plan, turned_tip=not plan.turned_tip),))
    yield functools.partial(_other_units, chain)
    for j in range(chain.n):
        yield functools.partial(_other_manners, chain, j=j)
    for link in range(1, 0 if classical else chain.n - 1):
        yield functools.partial(_other_cancellations, chain, link=link)


def _other_shifts(chain: GeneratorChain, plan: Plan, *, j: int) -> Iterator[Plan]:
    """Yield joint j's origin at the common normal behind it, and at the one before it."""
    if chain.joints[j].revolute:
        for shift in (0.0, -_along_axis(chain, plan, j)):
            if shift != plan.shifts[j]:
                yield replace(plan, shifts=(*plan.shifts[:j], shift, *plan.shifts[j + 1 :]))


def _along_axis(chain: GeneratorChain, plan: Plan, j: int) -> float:
    """Return how far joint j's origin lies along its axis from the common normal before it."""
    joint = chain.joints[j]
    parent = chain.parents[j]
    before = 0.0 if parent == BASE else plan.shifts[parent]
    origin = (*joint.origin[:2], joint.origin[2] - before)
    return sum(a * b for a, b in zip(origin, joint.axis))


def _other_units(chain: GeneratorChain, plan: Plan) -> Iterator[Plan]:
    style = plan.style
    shifted = with_shifted_origins(chain, plan.shifts)
    lengths = {abs(x) for joint in shifted.joints for x in joint.origin if x} | {1.0}
    for length in sorted(lengths):
        yield replace(plan, style=replace(style, unit=length))


def _other_manners(chain: GeneratorChain, plan: Plan, *, j: int) -> Iterator[Plan]:
    """Yield the other manners in which one joint's part of the recursion can be written."""
    style = plan.style
    if chain.parents[j] == BASE or not chain.joints[j].revolute:
        return
    yield replace(plan, style=replace(style, unturned=style.unturned ^ {j}))
    for x, y in (({j}, {j}), ({j}, set()), (set(), {j})):
        yield replace(
            plan,
            style=replace(style, doubled_x=style.doubled_x ^ x, doubled_y=style.doubled_y ^ y),
        )


def _other_cancellations(chain: GeneratorChain, plan: Plan, *, link: int) -> Iterator[Plan]:
    """Yield other ways to cancel a link's first moment, not cancelling it among them."""
    without = tuple(
        c for c in plan.cancellations if all(element[0] != link for element in c.elements)
    )
    yield replace(plan, cancellations=without)
    for cancellation in _cancellations_of(chain, link):
        others = tuple(c for c in without if not set(c.joints) & set(cancellation.joints))
        changed = replace(plan, cancellations=(*others, cancellation))
        yield changed
        for j in cancellation.joints[:-1]:
            yield from _other_shifts(chain, changed, j=j)


def _cancellations_of(chain: GeneratorChain, link: int) -> Iterator[Cancellation]:
    """Yield what masses on the next joints could cancel of a link's first moment."""
    after = []
    for j in (link + 1, link + 2):
        if j >= chain.n or chain.parents[j] != j - 1:
            break
        if chain.joints[j].revolute:
            after.append(j)
    for j in after:
        for axis in (0, 1):
            yield Cancellation((j,), ((link, axis),))
    if len(after) == 2:
        yield Cancellation((after[0], after[1]), ((link, 0), (link, 1)))
