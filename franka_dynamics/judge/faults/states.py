# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Faults of recorded states and times, such as encoder zeros, axis signs, lags and stamps."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from .fault import Fault, TorqueSamples
from .torques import EffortGain
from ...arrays import Array

_POSITION_STEP_RAD = 1e-4  # of central differences [rad or m]
_DIFF_STEP_S = 1e-4  # of forward differences
_MAX_TIME_SCALE = 2.5  # with a larger ratio gravity is missing


class EncoderOffset(Fault):
    """
    A wrong zero of a joint's encoder; its value is recorded minus real position [rad].

    A wrong zero of the first joint is a turn of the base, which the fault `WrongGravity`
    describes, one of the last joint a turn of the last link.
    """

    kind = 'zero'
    message = (
        'The position of {joints} is off by {about}{0:.3f} rad. Calibrate its encoder, or '
        'subtract this from its column.'
    )

    @classmethod
    def for_joint_count(cls, n: int) -> list[Fault]:
        """Return the encoder fault of each joint but the first and the last."""
        return [cls((joint,)) for joint in range(1, n - 1)]

    def regressor_columns(self, samples: TorqueSamples) -> list[Array]:
        """Return minus the derivative of the torques by the joint's position as a column."""
        step = _POSITION_STEP_RAD * np.eye(samples.model.n)[self.joints[0]]
        q = np.stack([samples.motion.q - step, samples.motion.q + step])
        below, above = samples.dynamics.inverse_dynamics(q, samples.motion.dq, samples.motion.ddq)
        return [(below - above) / (2.0 * _POSITION_STEP_RAD)]


class StateFault(Fault, ABC):
    """
    A fault of recorded positions and velocities, found by correcting them on trial.

    It is likely if the model then fits better; it has no regressor columns.
    """

    @property
    def column_names(self) -> tuple[str, ...]:
        """An empty tuple, as the fault has no columns."""
        return ()

    @property
    def known_values(self) -> tuple[float, ...]:
        """The fault's values for the user, which are known without a fit."""
        return (1.0,)

    @abstractmethod
    def state_and_torque_maps(self, n: int) -> tuple[Array, Array, Array]:
        """
        Return S (n, n), e (n,), T (n, n): real q = (q - e) S, recorded torque = T times real one.

        The real states are (q - e) S, dq S and ddq S of the recorded ones, with S (n, n) and e
        (n,); torques tau at the real states are recorded as T tau, with T (n, n).
        """


@dataclass(frozen=True)
class ReversedAxis(StateFault):
    """A joint whose states and, if `effort_reversed`, effort are recorded with reversed sign."""

    effort_reversed: bool = True
    kind = 'axis'
    message = (
        'Positions and velocities of {joints} have the wrong sign, its effort has it, too, or is '
        'the only one that has not: the axis points the other way. Reverse these columns.'
    )

    @classmethod
    def for_joint_count(cls, n: int) -> list[Fault]:
        """Return two faults of each joint, with and without a reversed effort."""
        return [cls((joint,), effort) for joint in range(n) for effort in (True, False)]

    def state_and_torque_maps(self, n: int) -> tuple[Array, Array, Array]:
        """Return S, e, T that reverse the joint's state and, if `effort_reversed`, its effort."""
        signs = np.diag(np.where(np.arange(n) == self.joints[0], -1.0, 1.0))
        return signs, np.zeros(n), signs if self.effort_reversed else np.eye(n)


@dataclass(frozen=True)
class ExchangedJoints(StateFault):
    """Exchanged positions and velocities of two joints and, if `effort_exchanged`, efforts."""

    effort_exchanged: bool = True
    kind = 'columns'
    joint_counts = (2,)
    message = (
        'Columns of {joints} are exchanged: all of them, or all but the efforts. Check the order '
        'of the joints.'
    )

    @classmethod
    def for_joint_count(cls, n: int) -> list[Fault]:
        """Return two faults of each pair of joints, with and without exchanged efforts."""
        pairs = combinations(range(n), 2)
        return [cls(pair, effort) for pair in pairs for effort in (True, False)]

    def state_and_torque_maps(self, n: int) -> tuple[Array, Array, Array]:
        """Return S, e, T (see StateFault) that exchange the two joints' states and torques."""
        exchange = np.eye(n)
        exchange[[*self.joints]] = exchange[[*self.joints[::-1]]]
        return exchange, np.zeros(n), exchange if self.effort_exchanged else np.eye(n)


@dataclass(frozen=True)
class QuarterTurn(StateFault):
    """A joint's wrong encoder zero, by which positions are `turns` times pi/2 [rad] too large."""

    turns: int = 1
    kind = 'quarter_turn'
    message = 'The zero of {joints} is off by {0:.4f} rad, quarter turns. Subtract this.'

    @classmethod
    def for_joint_count(cls, n: int) -> list[Fault]:
        """Return the faults of -1, 1 and 2 turns of each joint but the first and the last."""
        return [cls((joint,), turns) for joint in range(1, n - 1) for turns in (-1, 1, 2)]

    @property
    def known_values(self) -> tuple[float, ...]:
        """The recorded minus the real position of the joint [rad], in a tuple."""
        return (0.5 * np.pi * self.turns,)

    def state_and_torque_maps(self, n: int) -> tuple[Array, Array, Array]:
        """Return S, e and T: unit matrices (n, n); e (n,) has the joint's wrong angle [rad]."""
        error = np.where(np.arange(n) == self.joints[0], self.known_values[0], 0.0)
        return np.eye(n), error, np.eye(n)


class EffortDelay(Fault):
    """A delay of efforts; its value is the time by which they lag the positions [s]."""

    kind = 'delay'
    asks_if_harmless = True
    message = (
        'Every effort is {ms:.0f} ms {late_or_early} against the positions. Record both in one '
        'message, or move the effort columns.'
    )

    def regressor_columns(self, samples: TorqueSamples) -> list[Array]:
        """Return minus the torques' rates as a column."""
        return [-samples.torque_rate]


class VelocityDelay(Fault):
    """A lag of velocities; its value is the time by which they lag the positions [s]."""

    kind = 'lag'
    message = (
        'Velocities are {ms:.0f} ms {late_or_early} against positions, as behind a filter. Record '
        'raw velocities, or import the log with --velocity derived.'
    )

    def regressor_columns(self, samples: TorqueSamples) -> list[Array]:
        """Return as a column the change of torques if velocities and accelerations lag by 1 s."""
        motion = samples.motion
        real_dq = motion.dq + _DIFF_STEP_S * motion.ddq
        real_ddq = motion.ddq + _DIFF_STEP_S * samples.jerk
        real_torque = samples.dynamics.inverse_dynamics(motion.q, real_dq, real_ddq)
        return [(real_torque - samples.rigid_torque) / _DIFF_STEP_S]


class TimeScale(Fault):
    """
    Wrong time stamps; its value is the ratio of recorded to real time.

    Torques of inertias, of centrifugal and Coriolis forces go with the inverse square of time,
    those of gravity do not. The column is exact, as friction is fitted anyway.
    """

    kind = 'time'
    value_is_from_torques = True
    asks_if_harmless = True
    message = (
        'Recorded times are {0:.3g} times real ones: torques of accelerations have another size '
        'than those of gravity. Check the unit or rate of the stamps (of a log: --stamp-unit, '
        '--log-rate).'
    )

    def regressor_columns(self, samples: TorqueSamples) -> list[Array]:
        """Return the rigid-body torques without gravity torques as a column."""
        return [samples.rigid_torque - samples.dynamics.gravity(samples.motion.q)]

    def at_real_states(self, coefficients: Array) -> Array:
        """Return the coefficient (1,) for real accelerations, whose torques are larger."""
        return coefficients * (1.0 + coefficients)

    def reported_values(self, coefficients: Mapping[str, float], gravity: Array) -> list[float]:
        """Return the ratio of recorded to real time, corrected for a common factor of efforts."""
        common_gain = 1.0 + coefficients[EffortGain().kind]
        squared_ratio = 1.0 + coefficients[self.kind] / common_gain
        return [float(np.sqrt(max(squared_ratio, 0.0)))]

    def counts_as_fault(self, reported_values: Sequence[float], gravity: Array) -> bool:
        """Return whether the ratio of times is near enough to 1 to come from wrong stamps."""
        return 1.0 / _MAX_TIME_SCALE < reported_values[0] < _MAX_TIME_SCALE
