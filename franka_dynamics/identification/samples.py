# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The samples' least-squares equations, reduced to one small triangular matrix per joint.

The rows [Y_j  F_j  tau_j] of joint j, stacked over all samples, are factored as Q_j R_j: Y_j are
the base parameters' columns of the regressor, F_j the joint's friction columns, and tau_j the
joint's measured torque. Only R_j is kept. Two sets of samples are joined by stacking their R_j and
factoring again, in any order, so that samples can be streamed, and bags summarised on several
machines. A QR factorisation keeps the precision that the normal equations would lose (Golub and
Van Loan, "Matrix Computations", section 5.3). Because every joint has its own R_j, the joints'
weights can be chosen afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import pairwise
from operator import add

import numpy as np
from numpy.typing import ArrayLike

from .torque_model import OFFSET, TorqueModel
from .witnesses import ACCELERATION, witnesses
from ..recordings.preprocessing import Motion, ORDER, SignalOptions
from ..recordings.replay import ResidualRms, Unit
from ..typing import Array

_BLOCK = 1024  # samples factored at once: a few MB of regressor for a seven-joint arm
_EFFORTS = 2  # number of last columns: filtered, then unfiltered torque
# From BY_BAG bags on, the parts left out of fits are whole bags; fewer bags are divided into
# stretches.
BY_BAG = 3
_STRETCHES = 5  # number of stretches of a recording
STRETCH = ', stretch '  # separates a bag's name from its stretch's number
# Largest number of parts left out of fits in turn; with more bags, some parts hold several bags.
MOST_PARTS = 10
_WINDOW_S = 1.0  # largest lag of the residual's autocorrelation
_FREQUENCIES = 1 << 14


@dataclass(frozen=True, eq=False)
class QRFactors:
    """
    Triangular factors of the samples' equations, joint by joint.

    `r_factors` (n, b + k + w + 2, b + k + w + 2) are R_j of [Y_j, F_j, W_j, filtered torque,
    unfiltered torque]: b base parameters, k = `terms` friction terms of a joint, and w =
    `witnesses` columns W_j (possibly none), with which `explanations` tries faults of a recording.
    `samples` is the number of factored samples. `shown` (n,) of bool tells which joints' torques
    determine base parameters (None: all joints'); another joint's torques determine only that
    joint's friction.
    """

    r_factors: Array
    terms: int
    samples: int
    witnesses: int = 0
    shown: Array | None = None

    @classmethod
    def of(cls, model: TorqueModel, motion: Motion, beside: Array | None = None) -> QRFactors:
        """
        Return the QR factors of a motion's N samples, computed block by block to save memory.

        `beside`, (N, n, w), are the columns that `witnesses()` returns for the motion.
        """
        blocks = (slice(k, k + _BLOCK) for k in range(0, len(motion), _BLOCK))
        rows = (
            _rows(model, motion.part(k), None if beside is None else beside[k]) for k in blocks
        )
        return cls._factored(model, rows, len(motion), 0 if beside is None else beside.shape[-1])

    @classmethod
    def of_windows(cls, model: TorqueModel, motion: Motion) -> QRFactors:
        """
        Return the QR factors of sums of a motion's equations over moving windows of one second.

        Every sum is divided by the square root of the window's number of samples. The ratio of the
        sums' squared residuals to the samples' squared residuals is one plus twice the sum of the
        residual's autocorrelation with Bartlett's weights (Newey and West 1987). This ratio is the
        number of samples per independent sample (`residual_inflation`).
        """
        length = 1 + max(1, round(_WINDOW_S * motion.options.rate))
        windows = (rows for piece in motion.pieces() for rows in _windows(model, piece, length))
        return cls._factored(model, windows, len(motion))

    @classmethod
    def _factored(
        cls, model: TorqueModel, blocks: Iterable[Array], samples: int, witnesses: int = 0
    ) -> QRFactors:
        width = len(model.base) + model.friction.terms + witnesses + _EFFORTS
        found = np.zeros((model.n, width, width))
        for rows in blocks:
            found = _r_factors(np.concatenate([found, np.moveaxis(rows, 1, 0)], axis=1))
        return cls(found, model.friction.terms, samples, witnesses)

    def __add__(self, other: QRFactors) -> QRFactors:
        """Return the QR factors of this and another set of samples together."""
        stacked = np.concatenate([self.r_factors, other.r_factors], axis=1)
        return replace(self, r_factors=_r_factors(stacked), samples=self.samples + other.samples)

    @property
    def base_count(self) -> int:
        """Number of columns before the friction columns: base parameters' and `with_shared`'s."""
        return self.r_factors.shape[-1] - _EFFORTS - self.terms - self.witnesses

    def scaled(self, scale: ArrayLike) -> QRFactors:
        """Return the factors with each joint's efforts multiplied by `scale`, shape (n,)."""
        factor, n = np.asarray(scale, dtype=float), len(self.r_factors)
        r_factors = self.r_factors.copy()
        r_factors[:, :, -_EFFORTS:] *= factor[:, None, None]
        if self.witnesses:
            first = self.base_count + self.terms
            r_factors[:, :, first : first + n] *= factor
            r_factors[:, :, first + n : first + n + ACCELERATION] *= factor[:, None, None]
        return replace(self, r_factors=r_factors)

    @property
    def beside(self) -> Array:
        """Columns of every R_j for the w columns of `witnesses()`, shape (n, rows of R_j, w)."""
        first = self.base_count + self.terms
        return self.r_factors[:, :, first : first + self.witnesses]

    @property
    def effort(self) -> Array:
        """Column of every R_j for the filtered torque, shape (n, rows of R_j)."""
        return self.r_factors[:, :, -_EFFORTS]

    def with_effort(self, effort: Array) -> QRFactors:
        """Return the factors with `effort`, (n, rows of R_j), in place of the filtered torque."""
        r_factors = self.r_factors.copy()
        r_factors[:, :, -_EFFORTS] = effort
        return replace(self, r_factors=r_factors)

    def with_shared(self, columns: Array) -> QRFactors:
        """Return the factors with `columns`, (n, rows of R_j, e), before the friction columns."""
        before, after = np.split(self.r_factors, [self.base_count], axis=2)
        return replace(self, r_factors=np.concatenate([before, columns, after], axis=2))

    def with_terms(self, kept: Sequence[int]) -> QRFactors:
        """Return the factors with only the friction terms of indices `kept`, at every joint."""
        b, width = self.base_count, self.r_factors.shape[-1]
        order = [*range(b), *(b + k for k in kept), *range(b + self.terms, width)]
        return replace(self, r_factors=_r_factors(self.r_factors[:, :, order]), terms=len(kept))

    def with_rigid_scaled(self, scale: Array) -> QRFactors:
        """Return the factors with each joint's base columns multiplied by `scale`, (n,)."""
        r_factors = self.r_factors.copy()
        r_factors[:, :, : self.base_count] *= scale[:, None, None]
        return replace(self, r_factors=r_factors)

    def less_rigid(self, base_values: Array) -> QRFactors:
        """Return the factors with the filtered torque reduced by that of `base_values`, (b,)."""
        rigid = self.r_factors[:, :, : len(base_values)] @ base_values
        return self.with_effort(self.effort - rigid)

    def squares(self, theta: ArrayLike, *, unfiltered: bool = False) -> Array:
        """
        Return each joint's sum of squared torque residuals, shape (n,) [N^2 m^2].

        `theta` are base parameters, then friction parameters, (p,), or base parameters alone,
        (b,). With `unfiltered` the predicted torque is compared with the unfiltered measured
        torque.
        """
        effort = self.r_factors[:, :, -1 if unfiltered else -2]
        residual = effort - self.predicted(np.asarray(theta, dtype=float))
        return np.asarray(np.sum(residual * residual, axis=1))

    def predicted(self, theta: Array) -> Array:
        """Return the torque of `theta` (see `squares`) in the rows of R_j, (n, rows of R_j)."""
        n, b = len(self.r_factors), self.base_count
        torque = self.r_factors[:, :, :b] @ theta[:b]
        if len(theta) > b:
            friction = theta[b:].reshape(n, -1)
            columns = self.r_factors[:, :, b : b + self.terms]
            torque += np.einsum('jrk,jk->jr', columns, friction)
        return np.asarray(torque)

    def squares_beside_friction(self, model: TorqueModel, base: Array) -> Array:
        """
        Return each joint's sum of squared torque residuals, (n,), after fitting its friction.

        The base parameters `base` (b,) are not fitted. The friction has no offset, because an
        offset would absorb errors of gravity.
        """
        b, terms = self.base_count, model.friction.symbols
        without_offset = [b + k for k, symbol in enumerate(terms) if symbol != OFFSET]
        columns = self.less_rigid(base).r_factors[:, :, [*without_offset, -_EFFORTS]]
        return np.asarray(_r_factors(columns)[:, -1, -1] ** 2)

    @cached_property
    def _friction_first(self) -> Array:
        """R_j for columns ordered friction, base, filtered torque, (n, k + b + 1, k + b + 1)."""
        b = self.base_count
        order = [*range(b, b + self.terms), *range(b), -_EFFORTS]
        return _r_factors(self.r_factors[:, :, order])

    def weighted(self, weights: ArrayLike) -> tuple[Array, Array]:
        """
        Return R (p, p) and z (p,) of the equations R theta = z, with weights (n,) of the joints.

        |R theta - z|^2 plus a constant is the sum over joints of weights_j^2 |residual_j|^2, where
        joints not `shown` count for their friction alone. R is not triangular: rows with friction
        parameters are factored joint by joint, and only rows without friction parameters are
        factored over all joints.
        """
        k, b = self.terms, self.base_count
        scaled = self._friction_first * np.asarray(weights, dtype=float)[:, None, None]
        n = len(scaled)
        rigid = scaled[:, k:, k:] if self.shown is None else scaled[self.shown, k:, k:]
        base = _r_factors(rigid.reshape(1, -1, b + 1))[0]
        factor, effort = np.zeros((b + n * k, b + n * k)), np.zeros(b + n * k)
        factor[:b, :b], effort[:b] = base[:b, :b], base[:b, b]
        for joint in range(n):
            own = slice(b + joint * k, b + (joint + 1) * k)
            factor[own, :b], factor[own, own] = scaled[joint, :k, k:-1], scaled[joint, :k, :k]
            effort[own] = scaled[joint, :k, -1]
        return factor, effort


def total(factors: Iterable[QRFactors]) -> QRFactors:
    """Return one set of factors for all samples; `factors` must hold at least one set."""
    return reduce(add, factors)


def with_load(free: QRFactors, loaded: QRFactors, loads: Array) -> QRFactors:
    """
    Return the QR factors of samples recorded without and with a load, with k columns for the load.

    Column i of `loads` (b, k) is the change of the base parameters by a unit of load parameter i.
    """
    columns = loaded.r_factors[:, :, : len(loads)] @ loads
    return free.with_shared(np.zeros_like(columns)) + loaded.with_shared(columns)


@dataclass(frozen=True, eq=False)
class Part:
    """
    The samples of a bag, of a stretch of a bag, or of several bags, as QR factors.

    `name` is the (first) bag's name, followed by the number of a stretch or of further bags, if
    any.
    """

    name: str
    factors: QRFactors

    @property
    def bag(self) -> str:
        """The part's name without a stretch's number."""
        return self.name.partition(STRETCH)[0]

    def error(self, theta: Array, unit: Unit) -> float:
        """Return E of `theta` (p,), the norm of the joints' root mean square errors, in `unit`."""
        return ResidualRms.of_squares(
            self.factors.squares(theta), self.factors.samples, unit
        ).whole

    def __add__(self, other: Part) -> Part:
        """Return the samples of both parts as one part, with the first part's name."""
        return Part(self.name, self.factors + other.factors)


@dataclass(frozen=True, eq=False)
class Summary:
    """
    One recording reduced to QR factors, whose size does not depend on the recording's length.

    `stretches` are five consecutive stretches that cover the recording, and `windows` the result
    of `QRFactors.of_windows`. `fastest` and `strongest` (n,) are each joint's largest filtered
    speed [rad/s] and filtered effort, in the recording's unit.
    """

    stretches: tuple[Part, ...]
    windows: QRFactors
    fastest: Array
    strongest: Array

    @classmethod
    def of(
        cls,
        model: TorqueModel,
        motion: Motion,
        name: str = 'recording',
        place: tuple[float, float] = (0.0, 1.0),
    ) -> Summary:
        """
        Return the summary of a recording or of a piece of one; summaries of pieces can be added.

        `place` holds the piece's begin and end as fractions of the recording, between 0 and 1.
        """
        beside = witnesses(model, motion)
        return cls(
            tuple(
                Part(
                    f'{name}{STRETCH}{k + 1} of {_STRETCHES}',
                    QRFactors.of(model, motion.part(part), beside[part]),
                )
                for k, part in enumerate(_stretches(motion, place))
            ),
            QRFactors.of_windows(model, motion),
            np.abs(motion.dq).max(axis=0),
            np.abs(motion.effort).max(axis=0),
        )

    def __add__(self, other: Summary) -> Summary:
        """Return the summary of two pieces of a recording together."""
        return Summary(
            tuple(one + more for one, more in zip(self.stretches, other.stretches, strict=True)),
            self.windows + other.windows,
            np.maximum(self.fastest, other.fastest),
            np.maximum(self.strongest, other.strongest),
        )

    @cached_property
    def whole(self) -> Part:
        """All stretches of the recording as one part."""
        joined: Part = reduce(add, self.stretches)
        return replace(joined, name=joined.bag)


def parts(summaries: Sequence[Summary]) -> list[Part]:
    """
    Return the parts to leave out of fits: bags or groups of bags.

    If there are fewer than BY_BAG bags, the parts are the stretches of each bag.
    """
    if len(summaries) < BY_BAG:
        return [part for one in summaries for part in one.stretches]
    wholes = [one.whole for one in summaries]
    if len(wholes) <= MOST_PARTS:
        return wholes
    groups = [wholes[k::MOST_PARTS] for k in range(MOST_PARTS)]
    return [
        replace(reduce(add, group), name=f'{group[0].name} and {len(group) - 1} more')
        if len(group) > 1
        else group[0]
        for group in groups
    ]


def filter_inflation(options: SignalOptions) -> float:
    """
    Return the number of filtered samples of white noise per independent sample.

    White noise after the zero-phase filter has the spectrum S = |H|^4. A sum of filtered samples
    with slowly varying weights has S(0) / mean(S) times the variance that the sum would have if
    the samples were independent. Variances of estimates are multiplied by S(0) / mean(S), which
    gives the sandwich estimator if the regressor lies inside the pass band, and else an upper
    bound.
    """
    # The bilinear transform that designs the digital filter warps frequency by the tangent.
    edge = np.tan(np.pi * options.cutoff / options.rate)
    half = (np.arange(_FREQUENCIES) + 0.5) / _FREQUENCIES * 0.5 * np.pi
    spectrum = (1.0 + (np.tan(half) / edge) ** (2 * ORDER)) ** -2
    return float(1.0 / spectrum.mean())


def residual_inflation(squares: Array, of_windows: Array) -> Array:
    """
    Return the number of residual samples per independent sample, joint by joint, shape (n,).

    The number exceeds `filter_inflation` if errors of the model are correlated for longer than
    filtered noise. `squares` (n,) are sums of the samples' squared residuals, `of_windows` (n,)
    those of moving sums of the residuals (`QRFactors.of_windows`).
    """
    return np.maximum(1.0, of_windows / np.where(squares > 0.0, squares, 1.0))


def _rows(model: TorqueModel, motion: Motion, beside: Array | None = None) -> Array:
    """Return the equations of N samples, (N, n, columns), columns as in `QRFactors.r_factors`."""
    efforts = np.stack([motion.effort, motion.effort_unfiltered], axis=-1)
    columns = [*model.blocks(motion), *([] if beside is None else [beside]), efforts]
    return np.concatenate(columns, axis=-1)


def _windows(model: TorqueModel, piece: Motion, length: int) -> Iterator[Array]:
    """Yield blocks of `_rows` summed over every window of a piece, divided by sqrt(`length`)."""
    last = np.zeros((length, piece.q.shape[1], 0))  # the last rows before the block
    for first in range(0, len(piece) + length - 1, _BLOCK):
        part = piece.part(slice(first, min(first + _BLOCK, len(piece))))
        rows = _rows(model, part) if len(part) else last[:0]
        if not first:
            last = np.zeros((length, *rows.shape[1:]))
        after = min(_BLOCK, len(piece) + length - 1 - first) - len(rows)
        held = np.concatenate([last, rows, np.zeros((after, *last.shape[1:]))])
        sums = np.cumsum(held, axis=0)
        yield (sums[length:] - sums[:-length]) / np.sqrt(length)
        last = held[-length:]


def _stretches(motion: Motion, place: tuple[float, float]) -> list[slice]:
    """Return, for each stretch of a recording, the slice of the piece's samples in it."""
    within = (np.linspace(0.0, 1.0, _STRETCHES + 1) - place[0]) / (place[1] - place[0])
    edges = (np.clip(within, 0.0, 1.0) * len(motion)).round().astype(int)
    return [slice(a, b) for a, b in pairwise(edges)]


def _r_factors(rows: Array) -> Array:
    """Return the square triangular factor R of every matrix of a stack, by QR factorisation."""
    width = rows.shape[-1]
    if rows.shape[1] < width:
        missing = np.zeros((rows.shape[0], width - rows.shape[1], width))
        rows = np.concatenate([rows, missing], axis=1)
    return np.asarray(np.linalg.qr(rows, mode='r'))
