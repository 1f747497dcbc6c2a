# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Faults that are undone by other positions, velocities and accelerations, all or nothing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from .fault import Fault
from ...typing import Array


class Restated(Fault, ABC):
    """A fault without columns: the model is evaluated at other states, and fitted again."""

    kind = 'restated'

    @property
    def names(self) -> tuple[str, ...]:
        """No columns."""
        return ()

    @property
    def found(self) -> tuple[float, ...]:
        """The fault's values in user units."""
        return (1.0,)

    @abstractmethod
    def states(self, q: Array, dq: Array, ddq: Array) -> tuple[Array, Array, Array]:
        """Return the real states (N, n) of recorded ones."""

    def recorded(self, torques: Array) -> Array:
        """Return torques at the real states, or columns of them (N, n, ...), as recorded."""
        return torques


@dataclass(frozen=True)
class ReversedAxis(Restated):
    """A joint whose states are recorded the other way, with its `effort` or without."""

    effort: bool = True
    kind = 'axis'
    text = (
        'Positions and velocities of {joints} have the wrong sign, its effort has it, too, or is '
        'the only one that has not: the axis points the other way. Reverse these columns.'
    )

    @classmethod
    def every(cls, n: int) -> list[Fault]:
        """Return both faults of each joint."""
        return [cls((joint,), effort) for joint in range(n) for effort in (True, False)]

    def _signs(self, n: int) -> Array:
        return np.where(np.arange(n) == self.joints[0], -1.0, 1.0)

    def states(self, q: Array, dq: Array, ddq: Array) -> tuple[Array, Array, Array]:
        """Return the states with the joint reversed."""
        sign = self._signs(q.shape[1])
        return sign * q, sign * dq, sign * ddq

    def recorded(self, torques: Array) -> Array:
        """Return torques (N, n, ...) as the recording has them."""
        sign = self._signs(torques.shape[1])
        return np.swapaxes(np.swapaxes(torques, 1, -1) * sign, 1, -1) if self.effort else torques


class ExchangedColumns(Restated):
    """Exchanged positions, velocities and efforts of two joints."""

    kind, of_all, of_pairs = 'columns', False, True
    text = 'All columns of {joints} are exchanged. Check the order of the joints.'

    def states(self, q: Array, dq: Array, ddq: Array) -> tuple[Array, Array, Array]:
        """Return the states with the columns exchanged back."""
        return self.recorded(q), self.recorded(dq), self.recorded(ddq)

    def recorded(self, torques: Array) -> Array:
        """Return torques (N, n, ...) as the recording has them."""
        order = np.arange(torques.shape[1])
        order[[*self.joints]] = self.joints[::-1]
        return torques[:, order]


@dataclass(frozen=True)
class QuarterTurn(Restated):
    """A zero of a joint's position that is off by `turns` times pi/2."""

    turns: int = 1
    kind = 'quarter_turn'
    text = 'The zero of {joints} is off by {0:.4f} rad, quarter turns. Subtract this.'

    @classmethod
    def every(cls, n: int) -> list[Fault]:
        """Return those of each joint but the first and the last (see `EncoderZero`)."""
        return [cls((joint,), turns) for joint in range(1, n - 1) for turns in (-1, 1, 2)]

    @property
    def found(self) -> tuple[float, ...]:
        """The error of the position [rad]."""
        return (0.5 * np.pi * self.turns,)

    def states(self, q: Array, dq: Array, ddq: Array) -> tuple[Array, Array, Array]:
        """Return the states with the joint's encoder turned back by the angle that was found."""
        return q - self.found[0] * (np.arange(q.shape[1]) == self.joints[0]), dq, ddq
