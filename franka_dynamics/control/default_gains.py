# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Weak gains for an arm that nobody else closes a loop around, and how late its states may come.

An arm held by feedforward alone has nothing that takes a disturbance away. Gains that are stiff
enough to be felt, though, become unstable as soon as states are some milliseconds old, and the
gravity torque of an old state is itself destabilising: where gravity topples the arm, with
accelerations of 31 rad/s^2 per radian at a Franka's home pose, no proportional-derivative
feedback at all is stable with states older than sqrt(2 / 31) = 0.25 s.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..arm import ArmDescription
from ..dynamics.derivatives import Linearization
from ..dynamics.model import DynamicsModel
from ..errors import SettingsError
from ..typing import Array

# kd = RATE m and kp = RATIO kd, with m the inertia that each joint shows at home while the others
# are free, 1 / (M^-1)_ii. RATE is where the shipped arms hold still with the oldest states: for
# FER, FR3 and FR3v2, bare or with the hand, torques may be held for 0.21 s (0.20 s at 5 and 0.15 s
# at 6 1/s), and constant delays reach 0.10 s.
RATE, RATIO = 4.0, 1.5  # [1/s]
# Semi-implicit integration of dq' = -M^-1 kd dq is stable up to 2, and without a change of sign
# up to 1.
_MOST_PER_STEP = 1.0
# Where the frequency response is looked at [rad/s].
_FREQUENCIES = np.geomspace(1e-2, 1e4, 4000)


@dataclass(frozen=True, eq=False)
class DefaultGains:
    """
    Gains of a joint PD: `kp` [N m/rad or N/m] and `kd` [N m s/rad or N s/m], shape (n,).

    `per_step` is the largest eigenvalue of M^-1 kd dt at home: the share of a velocity that one
    step takes away.
    """

    kp: Array
    kd: Array
    per_step: float


def default_gains(
    model: DynamicsModel,
    home: ArrayLike | None = None,
    *,
    rate: float = RATE,
    ratio: float = RATIO,
    timestep: float = 1e-3,
) -> DefaultGains:
    """
    Return weak gains in proportion to the inertia that each joint has at the home pose.

    Parameters
    ----------
    model : DynamicsModel
        The arm with all that it carries.
    home : array_like, shape (n,), optional
        Where M is evaluated [rad or m]; the description's home pose if not given, or the
        position nearest to zero where it has none.
    rate : float
        kd over inertia [1/s]: how fast a velocity of one joint decays.
    ratio : float
        kp over kd [1/s]: how fast a position comes back at the end.
    timestep : float
        Period of the torques [s].

    Raises
    ------
    SettingsError
        If rate, ratio or timestep is not positive, or the rate is too large for the time step.
    JointVectorError
        If `home` has another shape or is not finite.

    """
    for name, value in (('rate', rate), ('ratio', ratio), ('timestep', timestep)):
        if not 0.0 < value < np.inf:
            raise SettingsError(f'{name} must be a positive number; got {value}.')
    pose = home_pose(model.description) if home is None else home
    inverse = np.linalg.inv(model.mass_matrix(pose))
    kd = rate / np.diag(inverse)
    per_step = float(np.linalg.eigvals(inverse * kd).real.max()) * timestep
    if per_step > _MOST_PER_STEP:
        raise SettingsError(
            f'a rate of {rate:g} 1/s takes {per_step:.3g} of a velocity away in a step of '
            f'{timestep:g} s, at most {_MOST_PER_STEP:g} is stable; make the rate smaller than '
            f'{rate * _MOST_PER_STEP / per_step:.3g} 1/s.'
        )
    return DefaultGains(ratio * kd, kd, per_step)


def home_pose(description: ArmDescription) -> Array:
    """Return an arm's home pose, or the position nearest to zero where it has none, shape (n,)."""
    if description.home is not None:
        return np.array(description.home, dtype=float)
    return np.clip(np.zeros(description.n), description.limit('lower'), description.limit('upper'))


def delay_margin(linear: Linearization, kp: ArrayLike, kd: ArrayLike) -> float:
    """
    Return the constant delay at which the closed loop becomes unstable [s].

    The loop is tau = g(q_d) - kp (q_d - q0) - kd dq_d about an equilibrium, with q_d the position
    a delay ago: with A and B of the linearisation and G = dg/dq, an undamped root i w of
    det(w^2 + A_qq + z B (G - kp - i w kd)) = 0 at |z| = 1 belongs to the delay -arg(z) / w
    (frequency sweeping: Gu, Kharitonov, Chen 2003, Stability of Time-Delay Systems, section 2.3).

    Parameters
    ----------
    linear : Linearization
        Of the forward dynamics at rest, where dq0 = ddq0 = 0.
    kp, kd : array_like, shape (n,)
        Gains.

    Returns
    -------
    float
        Infinity if no delay makes the loop unstable, 0 if it is so without one.

    """
    by_q, by_dq, per_torque = _blocks(linear)
    n = len(by_q)
    stiffness, damping = _feedback(linear, kp, kd)
    undelayed = np.block(
        [
            [np.zeros((n, n)), np.eye(n)],
            [by_q - per_torque @ stiffness, by_dq - per_torque @ damping],
        ]
    )
    if np.linalg.eigvals(undelayed).real.max() >= 0.0:
        return 0.0

    def solutions(w: Array) -> Array:
        """Return z for which i w is a root, sorted by magnitude, shape (k, n)."""
        s = 1j * w[:, None, None]
        free = s * s * np.eye(n) - by_q - s * by_dq
        z = np.linalg.eigvals(-np.linalg.solve(per_torque @ (stiffness + s * damping), free))
        ordered: Array = np.take_along_axis(z, np.argsort(np.abs(z), axis=1), axis=1)
        return ordered

    # Sorted, magnitudes are continuous in w, whatever the eigenvalues do.
    grown = np.abs(solutions(_FREQUENCIES)) > 1.0
    margin = np.inf
    for place, branch in np.argwhere(grown[1:] != grown[:-1]):
        low, high = _FREQUENCIES[place], _FREQUENCIES[place + 1]
        for _ in range(40):
            middle = 0.5 * (low + high)
            above = np.abs(solutions(np.array([middle]))[0, branch]) > 1.0
            low, high = (middle, high) if above == grown[place, branch] else (low, middle)
        z = solutions(np.array([high]))[0, branch]
        margin = min(margin, float((-np.angle(z)) % (2.0 * np.pi) / high))
    return margin


def hold_radius(
    linear: Linearization, kp: ArrayLike, kd: ArrayLike, period: float, age: float = 0.0
) -> float:
    """
    Return the spectral radius when each torque is held for a period [s]; stable below 1.

    That is a loop in which states come once per period, and are that old when they come: the age
    of the state that a torque belongs to grows from `age` to `age` + `period`, as it does while
    joint states are silent. Exact: one step takes the state from one sample to the next, through
    the torque before last and the last one, which the age puts there (Astrom, Wittenmark 1997,
    Computer-Controlled Systems, section 2.3).

    Parameters
    ----------
    linear : Linearization
        Of the forward dynamics at rest, without dependence on velocity.
    kp, kd : array_like, shape (n,)
        Gains of tau = g(q) - kp (q - q0) - kd dq.
    period : float
        How long a torque is held [s].
    age : float
        How old a state is when its torque begins to act [s].

    """
    by_q, _, per_torque = _blocks(linear)
    stiffness, damping = _feedback(linear, kp, kd)
    # M^-1 dg/dq is similar to a symmetric matrix, so that the modes decouple.
    squares, modes = np.linalg.eig(by_q)
    back = np.linalg.inv(modes)
    root = np.sqrt(squares.astype(complex))
    gain = np.hstack((stiffness, damping))

    def matrix(diagonal: Array) -> Array:
        result: Array = ((modes * diagonal) @ back).real
        return result

    def flow(time: float) -> tuple[Array, Array]:
        """Return what a while makes of a state, and a constant feedback of it."""
        small = np.abs(root * time) < 1e-4
        safe = np.where(small, 1.0, root)
        grow = np.cosh(root * time)
        drift = np.where(small, time, np.sinh(safe * time) / safe)
        lift = np.where(small, 0.5 * time**2, (np.cosh(safe * time) - 1.0) / safe**2)
        free = np.block([[matrix(grow), matrix(drift)], [matrix(squares * drift), matrix(grow)]])
        return free, -np.vstack((matrix(lift), matrix(drift))) @ per_torque @ gain

    # From one sampled state to the next the torque of the sample `whole` + 1 before acts first,
    # for `rest`, then that of the sample `whole` before.
    whole = int(age / period)
    rest = age - whole * period
    (free, _), (then, late), (_, early) = flow(period), flow(period - rest), flow(rest)
    size = len(free)
    closed = np.eye(size * (whole + 2), k=-size)
    closed[:size] = 0.0
    closed[:size, :size] = free
    closed[:size, size * whole : size * (whole + 1)] += late
    closed[:size, size * (whole + 1) :] += then @ early
    return float(np.abs(np.linalg.eigvals(closed)).max())


def _blocks(linear: Linearization) -> tuple[Array, Array, Array]:
    """Return d ddq/dq, d ddq/d dq and d ddq/d tau, each (n, n)."""
    n = len(linear.ddq)
    return linear.A[n:, :n], linear.A[n:, n:], linear.B[n:]


def _feedback(linear: Linearization, kp: ArrayLike, kd: ArrayLike) -> tuple[Array, Array]:
    """Return -dtau/dq and -dtau/d dq of the delayed feedback; g(q) is part of it."""
    by_q, _, per_torque = _blocks(linear)
    gravity = -np.linalg.solve(per_torque, by_q)  # dg/dq, because A_qq = -M^-1 dg/dq at rest
    return np.diag(np.asarray(kp, dtype=float)) - gravity, np.diag(np.asarray(kd, dtype=float))
