# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Faults of the recorded states: wrong zeros, reversed axes, exchanged columns of joints."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from .fault import Fault, TorqueSamples
from ...arrays import Array

_POSITION_STEP = 1e-4  # of central differences [rad or m]


class EncoderZero(Fault):
    """
    A wrong zero of a joint's encoder; its value is the error of the position [rad].

    That of the first joint is a turn of the base, which gravity names, that of the last joint a
    turn of the last link.
    """

    kind, is_in_states = 'zero', True
    text = (
        'The position of {joints} is off by {about}{0:.3f} rad. Calibrate its encoder, or '
        'subtract this from its column.'
    )

    @classmethod
    def for_joint_count(cls, n: int) -> list[Fault]:
        """Return the encoder fault of each joint but the first and the last."""
        return [cls((joint,)) for joint in range(1, n - 1)]

    def columns(self, at: TorqueSamples) -> list[Array]:
        """Return minus the derivative of the torques by the joint's position as a column."""
        step = _POSITION_STEP * np.eye(at.model.n)[self.joints[0]]
        q = np.stack([at.motion.q - step, at.motion.q + step])
        before, after = at.dynamics.inverse_dynamics(q, at.motion.dq, at.motion.ddq)
        return [(before - after) / (2.0 * _POSITION_STEP)]


class StateFault(Fault, ABC):
    """
    A fault of positions and velocities that is present in full or absent, without columns.

    It is found by fits to the model at the corrected states.
    """

    @property
    def column_names(self) -> tuple[str, ...]:
        """An empty tuple, as the fault has no columns."""
        return ()

    @property
    def known_values(self) -> tuple[float, ...]:
        """The fault's values in the units that users see, known without a fit."""
        return (1.0,)

    @abstractmethod
    def corrected_states(self, q: Array, dq: Array, ddq: Array) -> tuple[Array, Array, Array]:
        """Return the real q, dq, ddq (N, n) of recorded ones."""

    def as_recorded(self, torques: Array) -> Array:
        """Return torques at the real states, or columns (N, n, ...), as they would be recorded."""
        return torques


@dataclass(frozen=True)
class ReversedAxis(StateFault):
    """A joint recorded with reversed sign: states, and the effort as well if `effort`."""

    effort: bool = True
    kind = 'axis'
    text = (
        'Positions and velocities of {joints} have the wrong sign, its effort has it, too, or is '
        'the only one that has not: the axis points the other way. Reverse these columns.'
    )

    @classmethod
    def for_joint_count(cls, n: int) -> list[Fault]:
        """Return two faults of each joint, with and without a reversed effort."""
        return [cls((joint,), effort) for joint in range(n) for effort in (True, False)]

    def _axis_signs(self, n: int) -> Array:
        """Return -1 for the joint and 1 for the others, (n,)."""
        return np.where(np.arange(n) == self.joints[0], -1.0, 1.0)

    def corrected_states(self, q: Array, dq: Array, ddq: Array) -> tuple[Array, Array, Array]:
        """Return q, dq, ddq (N, n) with the joint's signs reversed."""
        sign = self._axis_signs(q.shape[1])
        return sign * q, sign * dq, sign * ddq

    def as_recorded(self, torques: Array) -> Array:
        """Return torques (N, n, ...) as the recording has them."""
        sign = self._axis_signs(torques.shape[1])
        return np.swapaxes(np.swapaxes(torques, 1, -1) * sign, 1, -1) if self.effort else torques


class ExchangedColumns(StateFault):
    """Exchanged positions, velocities and efforts of two joints."""

    kind, of_all, of_joint_pairs = 'columns', False, True
    text = 'All columns of {joints} are exchanged. Check the order of the joints.'

    def corrected_states(self, q: Array, dq: Array, ddq: Array) -> tuple[Array, Array, Array]:
        """Return q, dq, ddq (N, n) with the two joints' columns exchanged."""
        return self.as_recorded(q), self.as_recorded(dq), self.as_recorded(ddq)

    def as_recorded(self, torques: Array) -> Array:
        """Return torques (N, n, ...) as the recording has them."""
        order = np.arange(torques.shape[1])
        order[[*self.joints]] = self.joints[::-1]
        return torques[:, order]


@dataclass(frozen=True)
class QuarterTurn(StateFault):
    """A zero of a joint's position that is off by `turns` times pi/2."""

    turns: int = 1
    kind = 'quarter_turn'
    text = 'The zero of {joints} is off by {0:.4f} rad, quarter turns. Subtract this.'

    @classmethod
    def for_joint_count(cls, n: int) -> list[Fault]:
        """Return the faults of each joint but the first and the last (see `EncoderZero`)."""
        return [cls((joint,), turns) for joint in range(1, n - 1) for turns in (-1, 1, 2)]

    @property
    def known_values(self) -> tuple[float, ...]:
        """The error of the position [rad]."""
        return (0.5 * np.pi * self.turns,)

    def corrected_states(self, q: Array, dq: Array, ddq: Array) -> tuple[Array, Array, Array]:
        """Return q, dq, ddq (N, n) with the joint's error subtracted from its position."""
        return q - self.known_values[0] * (np.arange(q.shape[1]) == self.joints[0]), dq, ddq
