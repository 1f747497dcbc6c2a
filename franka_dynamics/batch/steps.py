# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Steps of an arm's motion in time, many at once, with their derivatives: for iLQR and shooting.

A state is x = (q, dq, tau), the input u is the torque's rate, constant over a step: the form in
which limits of torque and of torque rate are bounds. Steps are Runge and Kutta's of fourth order
(Hairer, Norsett and Wanner 1993, section II.1), each in as many parts as it is to be exact.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .batch_model import BatchModel
from ..errors import JointVectorError
from ..typing import Array

# Where the stages stand in the step, and their weights.
_STAGES = ((0.0, 1 / 6), (0.5, 1 / 3), (0.5, 1 / 3), (1.0, 1 / 6))


class StepDerivatives(NamedTuple):
    """
    Derivatives of K steps.

    `ends` (K, 3n, 4n + 1) is where they end by (x, u, h); `accelerations` (K, n, 3n) is ddq at
    their beginnings by x.
    """

    ends: Array
    accelerations: Array


class RungeKuttaSteps:
    """
    Steps of the rigid-body dynamics under torques that change at a constant rate.

    Joint friction is not in it. Stacks have shape (K, ...): K steps that do not depend on each
    other, such as the intervals of multiple shooting or of a rollout that was done before.

    Parameters
    ----------
    model : BatchModel
        The arm and gravity.
    parts : int
        How many steps of the method, one after the other, make one of these.

    Raises
    ------
    JointVectorError
        If parts is below one.

    """

    def __init__(self, model: BatchModel, parts: int = 1) -> None:
        if parts < 1:
            raise JointVectorError(f'parts is {parts}; a step has at least 1.')
        self.model, self.n, self.parts = model, model.description.n, parts

    def ends(self, x: ArrayLike, u: ArrayLike, h: ArrayLike) -> Array:
        """
        Return where steps end, shape (..., 3n).

        Parameters
        ----------
        x : array_like, shape (..., 3n)
            Positions, velocities and torques at the beginning [rad, rad/s, N m].
        u : array_like, shape (..., n)
            Rates of the torques [N m/s].
        h : array_like, shape (...)
            Durations [s]; one for all of them is allowed.

        Raises
        ------
        JointVectorError
            If a shape does not fit.

        """
        state, rate, duration = self._given(x, u, h)
        for _ in range(self.parts):
            state, _ = self._run(state, rate, duration / self.parts)
        return state

    def derivatives(self, x: ArrayLike, u: ArrayLike, h: ArrayLike) -> StepDerivatives:
        """
        Return the derivatives of `ends` by (x, u, h), and of the first accelerations by x.

        The chain rule through the four stages, with d(ddq) = M^-1 (dtau - dID/dq dq - dID/d(dq)
        d(dq)) at each of them; all stages of all steps are one batch of
        `BatchModel.inverse_dynamics_derivatives`.

        Parameters
        ----------
        x, u, h : array_like
            As `ends` takes them, with one leading axis.

        Raises
        ------
        JointVectorError
            If a shape does not fit.

        """
        start, rate, duration = self._given(x, u, h)
        if start.ndim != 2:
            raise JointVectorError(
                f'x has shape {start.shape}, expected (K, {3 * self.n}): a row per step.'
            )
        beginnings = [start]
        for _ in range(self.parts - 1):
            beginnings.append(self._run(beginnings[-1], rate, duration / self.parts)[0])
        many = self.parts, 1
        single, instant = self._derivatives(
            np.concatenate(beginnings),
            np.tile(rate, many),
            np.tile(duration / self.parts, many),
        )
        parts = single.reshape(self.parts, len(start), 3 * self.n, 4 * self.n + 1)
        total, width = parts[0].copy(), 3 * self.n
        total[..., -1] /= self.parts
        for part in parts[1:]:
            total = part[..., :width] @ total
            total[..., width:-1] += part[..., width:-1]
            total[..., -1] += part[..., -1] / self.parts
        return StepDerivatives(total, instant[: len(start)])

    def accelerations(self, x: ArrayLike) -> Array:
        """Return ddq at states (..., 3n), shape (..., n) [rad/s^2]."""
        return self.model.forward_dynamics(*np.split(np.asarray(x, dtype=float), 3, axis=-1))

    def _derivatives(self, start: Array, rate: Array, duration: Array) -> tuple[Array, Array]:
        """Return the derivatives of single steps, shape (K, 3n, 4n + 1), and of ddq at x."""
        n, h = self.n, duration[..., None]
        _, stages = self._run(start, rate, duration)
        velocity, acceleration = (np.array(part) for part in list(zip(*stages))[1:])
        positions = np.array([stage[0] for stage in stages])
        slope = self.model.inverse_dynamics_derivatives(positions, velocity, acceleration)
        by_torque = np.linalg.inv(slope.by_acceleration)
        by_motion = -by_torque @ np.concatenate((slope.by_position, slope.by_velocity), axis=-1)
        by_rate = (by_torque @ rate[..., None])[..., 0]
        # Position and velocity at the beginning of the step, and their rates in a stage.
        first = np.tile(np.eye(4 * n + 1)[: 2 * n], (len(start), 1, 1))
        moved, rates = np.zeros_like(first), np.zeros((len(start), 2 * n))
        total = first.copy()
        for stage, (where, weight) in enumerate(_STAGES):
            at = first + where * h * moved
            at[..., -1] += where * rates
            moved[:, :n] = at[:, n:]
            moved[:, n:] = by_motion[stage] @ at
            # The torque is tau + where h u.
            moved[:, n:, 2 * n : 3 * n] += by_torque[stage]
            moved[:, n:, 3 * n : -1] += where * h * by_torque[stage]
            moved[:, n:, -1] += where * by_rate[stage]
            rates = np.concatenate((velocity[stage], acceleration[stage]), axis=-1)
            total += weight * h * moved
            total[..., -1] += weight * rates
        torque = np.tile(np.eye(4 * n + 1)[2 * n : 3 * n], (len(start), 1, 1))
        torque[..., 3 * n : -1] = h * np.eye(n)
        torque[..., -1] = rate
        instant = np.concatenate((by_motion[0], by_torque[0]), axis=-1)
        return np.concatenate((total, torque), axis=1), instant

    def _run(self, x: Array, u: Array, h: Array) -> tuple[Array, list[tuple[Array, ...]]]:
        """Return where steps end, and (q, dq, ddq) at each of the four stages."""
        q, dq, tau = np.split(x, 3, axis=-1)
        rates = (dq, np.zeros_like(dq))
        change = [np.zeros_like(dq), np.zeros_like(dq)]
        stages: list[tuple[Array, ...]] = []
        for where, weight in _STAGES:
            at = [a + where * h * b for a, b in zip((q, dq, tau), (*rates, u))]
            rates = at[1], self.model.forward_dynamics(*at)
            change = [a + weight * b for a, b in zip(change, rates)]
            stages.append((at[0], *rates))
        return x + h * np.concatenate((*change, u), axis=-1), stages

    def _given(self, x: ArrayLike, u: ArrayLike, h: ArrayLike) -> tuple[Array, Array, Array]:
        """Return x, u and h, the last of shape (..., 1)."""
        start, rate = np.asarray(x, dtype=float), np.asarray(u, dtype=float)
        duration = np.asarray(h, dtype=float)
        for name, array, width in (('x', start, 3 * self.n), ('u', rate, self.n)):
            if array.ndim < 1 or array.shape[-1] != width:
                raise JointVectorError(
                    f'{name} has shape {array.shape}, expected (..., {width}): '
                    f'{"q, dq and tau" if name == "x" else "a torque rate"} per joint.'
                )
        if start.shape[:-1] != rate.shape[:-1] or duration.shape not in ((), start.shape[:-1]):
            raise JointVectorError(
                f'x, u and h have shapes {start.shape}, {rate.shape} and {duration.shape}; '
                'give every step its own x and u, and its own h or one for all.'
            )
        return start, rate, np.broadcast_to(duration, start.shape[:-1])[..., None]
