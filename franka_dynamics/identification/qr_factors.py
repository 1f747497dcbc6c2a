# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
All that least squares needs to know of any number of samples: one small triangle per joint.

With the rows [Y_j  F_j  tau_j] of joint j stacked over all samples and factored as Q_j R_j, only
R_j is kept (F_j are that joint's own friction columns). Two sets of samples are joined by
factoring their r_factors on top of each other, which is associative: samples can be streamed, and
bags mapped over machines and reduced as a tree. Factoring the rows, not their products, keeps the
full precision of the samples (Golub and Van Loan, "Matrix Computations", section 5.3; the
joint-wise r_factors let weights be chosen afterwards).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import pairwise
from operator import add

import numpy as np
from numpy.typing import ArrayLike

from .friction import TorqueModel
from .noise import lag_sums
from ..recordings.preprocessing import Motion
from ..typing import Array

_BLOCK = 1024  # samples factored at once: a few MB of regressor for a seven-joint arm
_EFFORTS = 2  # columns behind the regressor's: filtered, then unfiltered torque
# Bags from this number on are left out one by one; fewer are parted into stretches.
BY_BAG = 3
STRETCH = ', stretch '  # between the name of a bag and the number of a stretch of it
# Most parts that are left out in turn; beyond, each part holds several bags.
MOST_PARTS = 10


@dataclass(frozen=True, eq=False)
class QRFactors:
    """
    Triangular factors of the samples' equations, joint by joint.

    Attributes
    ----------
    r_factors : ndarray, shape (n, b + k + 2, b + k + 2)
        R_j of [Y_j, F_j, filtered torque, unfiltered torque], k friction terms a joint.
    terms : int
        k.
    samples : int
        How many samples they stand for.

    """

    r_factors: Array
    terms: int
    samples: int

    @classmethod
    def none(cls, model: TorqueModel) -> QRFactors:
        """Return the factors of no samples."""
        width = len(model.base) + model.friction.terms + _EFFORTS
        return cls(np.zeros((model.n, width, width)), model.friction.terms, 0)

    @classmethod
    def of(cls, model: TorqueModel, motion: Motion) -> QRFactors:
        """Return the factors of a motion's samples, in memory that its length does not change."""
        total = cls.none(model)
        for start in range(0, len(motion), _BLOCK):
            total = total + cls._of_block(model, motion.part(slice(start, start + _BLOCK)))
        return total

    @classmethod
    def _of_block(cls, model: TorqueModel, motion: Motion) -> QRFactors:
        efforts = np.stack([motion.effort, motion.effort_unfiltered], axis=-1)
        rows = np.concatenate([*model.blocks(motion), efforts], axis=-1)
        return cls(_r_factors(np.moveaxis(rows, 1, 0)), model.friction.terms, len(motion))

    def __add__(self, other: QRFactors) -> QRFactors:
        """Return the factors of both sets of samples."""
        stacked = np.concatenate([self.r_factors, other.r_factors], axis=1)
        return replace(self, r_factors=_r_factors(stacked), samples=self.samples + other.samples)

    def scaled(self, scale: ArrayLike) -> QRFactors:
        """Return the factors with each joint's torques multiplied by a scale of shape (n,)."""
        r_factors = self.r_factors.copy()
        r_factors[:, :, -_EFFORTS:] *= np.asarray(scale, dtype=float)[:, None, None]
        return replace(self, r_factors=r_factors)

    def less_rigid(
        self,
        base_values: ArrayLike,
        base_scale: Array | None = None,
    ) -> QRFactors:
        """
        Return the factors of what base parameters, (b,), leave of the filtered torque.

        Parameters
        ----------
        base_values : array_like, shape (b,)
            Base parameters.
        base_scale : ndarray, shape (n,), optional
            What each joint's rigid torque is multiplied by.

        """
        values = np.asarray(base_values, dtype=float)
        rigid = self.r_factors[:, :, : len(values)] @ values
        r_factors = self.r_factors.copy()
        r_factors[:, :, -_EFFORTS] -= rigid if base_scale is None else base_scale[:, None] * rigid
        return replace(self, r_factors=r_factors)

    def squares(
        self, theta: ArrayLike, *, unfiltered: bool = False, base_scale: ArrayLike = 1.0
    ) -> Array:
        """
        Return each joint's sum of squared residuals, shape (n,) [N^2 m^2].

        Parameters
        ----------
        theta : array_like, shape (p,)
            Base parameters, then friction.
        unfiltered : bool
            Whether against the unfiltered torque.
        base_scale : array_like, shape (n,)
            What each joint's rigid torque is multiplied by.

        """
        n, width, _ = self.r_factors.shape
        values, b = np.asarray(theta, dtype=float), width - _EFFORTS - self.terms
        base = np.multiply.outer(np.broadcast_to(base_scale, n), values[:b])
        own = np.concatenate([base, values[b:].reshape(n, -1)], axis=1)
        effort = self.r_factors[:, :, -1 if unfiltered else -2]
        residual = effort - np.einsum('jrc,jc->jr', self.r_factors[:, :, :-_EFFORTS], own)
        return np.asarray(np.sum(residual * residual, axis=1))

    @cached_property
    def _friction_first(self) -> Array:
        """R_j of [F_j, Y_j, filtered torque], shape (n, k + b + 1, k + b + 1), of any weights."""
        b = self.r_factors.shape[-1] - _EFFORTS - self.terms
        order = [*range(b, b + self.terms), *range(b), b + self.terms]
        return _r_factors(self.r_factors[:, :, order])

    def weighted(self, weights: ArrayLike) -> tuple[Array, Array]:
        """
        Return R, shape (p, p), and z, shape (p,), of the least squares with weighted joints.

        The sum over joints of weights_j^2 |residual_j|^2 is |R theta - z|^2 and a constant. R is
        not a triangle: a joint's friction is in its own rows alone, so these are found joint by
        joint, and only what they leave to the base parameters is factored for all joints together.
        """
        k = self.terms
        scaled = self._friction_first * np.asarray(weights, dtype=float)[:, None, None]
        n, width, _ = scaled.shape
        b = width - k - 1
        base = _r_factors(scaled[:, k:, k:].reshape(1, n * (b + 1), b + 1))[0]
        factor, effort = np.zeros((b + n * k, b + n * k)), np.zeros(b + n * k)
        factor[:b, :b], effort[:b] = base[:b, :b], base[:b, b]
        for joint in range(n):
            own = slice(b + joint * k, b + (joint + 1) * k)
            factor[own, :b], factor[own, own] = scaled[joint, :k, k:-1], scaled[joint, :k, :k]
            effort[own] = scaled[joint, :k, -1]
        return factor, effort


def total(factors: Iterable[QRFactors]) -> QRFactors:
    """Return the factors of all samples together; there must be some."""
    return reduce(add, factors)


@dataclass(frozen=True, eq=False)
class Part:
    """
    What an identification keeps of one bag, or of one stretch of it.

    Attributes
    ----------
    name : str
        Of the bag, and which stretch.
    factors : QRFactors
        Its samples.
    others : mapping of float to QRFactors
        The same prepared at other cut-offs [Hz].

    """

    name: str
    factors: QRFactors
    others: Mapping[float, QRFactors]

    def __add__(self, other: Part) -> Part:
        """Return both parts as one, under the first one's name."""
        return Part(
            self.name,
            self.factors + other.factors,
            {
                cutoff: factors + other.others[cutoff]
                for cutoff, factors in self.others.items()
                if cutoff in other.others
            },
        )

    def scaled(self, scale: ArrayLike) -> Part:
        """Return the part with each joint's torques multiplied by a scale of shape (n,)."""
        return Part(
            self.name,
            self.factors.scaled(scale),
            {cutoff: factors.scaled(scale) for cutoff, factors in self.others.items()},
        )


@dataclass(frozen=True, eq=False)
class BagSummary:
    """
    One bag as factors; its size does not depend on the bag's.

    Attributes
    ----------
    stretches : tuple of Part
        Consecutive stretches of the bag.
    fastest, strongest : ndarray, shape (n,)
        Largest speed [rad/s] and torque [N m] of each joint.

    """

    stretches: tuple[Part, ...]
    fastest: Array
    strongest: Array

    @cached_property
    def whole(self) -> Part:
        """All stretches as one part."""
        joined: Part = reduce(add, self.stretches)
        return replace(joined, name=joined.name.partition(STRETCH)[0])


@dataclass(frozen=True, eq=False)
class Summary:
    """Recordings as factors, bag by bag; `+` joins summaries."""

    bags: tuple[BagSummary, ...]

    @classmethod
    def of(
        cls,
        model: TorqueModel,
        motion: Motion,
        folds: int,
        others: Mapping[float, Motion] | None = None,
        name: str = 'recording',
    ) -> Summary:
        """
        Return the summary of one recording.

        Parameters
        ----------
        model : TorqueModel
            What is identified.
        motion : Motion
            The recording, prepared.
        folds : int
            Consecutive stretches that it is parted into.
        others : mapping of float to Motion, optional
            The recording prepared at other cut-offs [Hz].
        name : str
            Of the bag.

        """
        stretches = []
        for k, part in enumerate(_stretches(motion, folds), start=1):
            beside = {
                cutoff: QRFactors.of(model, _stretches(other, folds)[k - 1])
                for cutoff, other in (others or {}).items()
            }
            stretches.append(
                Part(f'{name}{STRETCH}{k} of {folds}', QRFactors.of(model, part), beside)
            )
        return cls(
            (
                BagSummary(
                    tuple(stretches),
                    np.abs(motion.dq).max(axis=0),
                    np.abs(motion.effort).max(axis=0),
                ),
            )
        )

    def __add__(self, other: Summary) -> Summary:
        """Return both summaries as one; from three bags on only whole bags are kept."""
        bags = (*self.bags, *other.bags)
        if len(bags) >= BY_BAG:
            bags = tuple(replace(bag, stretches=(bag.whole,)) for bag in bags)
        return Summary(bags)

    @property
    def fastest(self) -> Array:
        """Largest speed of each joint, shape (n,) [rad/s]."""
        return np.asarray(np.max([bag.fastest for bag in self.bags], axis=0))

    @property
    def strongest(self) -> Array:
        """Largest filtered torque of each joint, shape (n,) [N m]."""
        return np.asarray(np.max([bag.strongest for bag in self.bags], axis=0))

    @cached_property
    def factors(self) -> QRFactors:
        """All samples."""
        return total(bag.whole.factors for bag in self.bags)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """What is left out in turn: bags, or stretches where there are fewer than three bags."""
        if len(self.bags) < BY_BAG:
            return tuple(part for bag in self.bags for part in bag.stretches)
        wholes = [bag.whole for bag in self.bags]
        if len(wholes) <= MOST_PARTS:
            return tuple(wholes)
        groups = [wholes[k::MOST_PARTS] for k in range(MOST_PARTS)]
        return tuple(
            replace(reduce(add, group), name=f'{group[0].name} and {len(group) - 1} more')
            for group in groups
        )


def split(motions: Sequence[Motion], folds: int) -> list[list[Motion]]:
    """Return the samples behind each of the `parts` that the motions' joined summary has."""
    if len(motions) < BY_BAG:
        return [[part] for motion in motions for part in _stretches(motion, folds)]
    return [list(motions[k::MOST_PARTS]) for k in range(min(len(motions), MOST_PARTS))]


def residual_lag_sums(
    model: TorqueModel,
    motion: Motion,
    theta: Array,
    scale: ArrayLike = 1.0,
) -> Array:
    """Return the lag sums of a recording's residuals, its efforts scaled, piece by piece."""
    return lag_sums(
        (
            piece.effort * np.asarray(scale) - model.torque(piece, theta)
            for piece in motion.pieces()
        ),
        motion.options,
        model.n,
    )


def _stretches(motion: Motion, count: int) -> Sequence[Motion]:
    edges = np.linspace(0, len(motion), count + 1).round().astype(int)
    return [motion.part(slice(a, b)) for a, b in pairwise(edges)]


def _r_factors(rows: Array) -> Array:
    """Return the square triangle of every matrix of a stack, however few rows there are."""
    width = rows.shape[-1]
    if rows.shape[1] < width:
        missing = np.zeros((rows.shape[0], width - rows.shape[1], width))
        rows = np.concatenate([rows, missing], axis=1)
    return np.asarray(np.linalg.qr(rows, mode='r'))
